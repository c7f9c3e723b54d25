"""The answers to a task: the plan [img 8.1], field for field, and the ranking of files."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from workbench.records.answers.base import Answer, Count, Different, Numbers, Share, Text, Texts
from workbench.records.plan import QueryType, Representation, Risk
from workbench.records.project import CacheStatus, Freshness, Layer
from workbench.records.rules import Authority
from workbench.records.segments import SegmentType

Line = Annotated[int, Meta(ge=1)]
NotNegative = Annotated[float, Meta(ge=0)]


class PlanIntent(Answer, frozen=True):
    """What kind of task it is."""

    predicted: QueryType
    confidence: Annotated[
        Share,
        Meta(
            description="The probability that predicted is right; 0 for unknown, 1 where the request gave it."
        ),
    ]
    task_fingerprint: Text
    tags: Annotated[
        Different, Meta(description="Areas the task touches, such as authentication or database.")
    ]
    risk: Annotated[
        Risk, Meta(description="What a mistake would cost: high for incidents, access, money and secrets.")
    ]


class BudgetReport(Answer, frozen=True, omit_defaults=True):
    """Tokens by the named tokenizer, and how good the packing is."""

    token_budget: Count
    estimated_used: Annotated[
        Count,
        Meta(
            description="Tokens of context.text as a whole by the named tokenizer; never above token_budget."
        ),
    ]
    efficiency_score: Annotated[
        Share,
        Meta(description="Achieved utility over upper_bound; 0 of an empty pack."),
    ]
    tokenizer: Annotated[str, Meta(extra_json_schema={"enum": ["o200k_base", "cl100k_base", "utf8-bound"]})]
    upper_bound: Annotated[
        NotNegative,
        Meta(description="Utility of the linear relaxation of the packing problem: worth less price."),
    ]
    segments: Annotated[
        Count, Meta(description="Tokens that segments of the stash take; left out where there are none.")
    ] = 0


class PackedSegment(Answer, frozen=True):
    """A segment of the stash that is in the text: what it is, how old, where from and why it came back."""

    segment_id: Text
    type: SegmentType
    session_id: str
    timestamp: Annotated[str, Meta(description="When it was created, ISO 8601 in UTC.")]
    age_days: Annotated[NotNegative, Meta(description="Days since then; 0 if that is in the future.")]
    source: Annotated[str, Meta(description="A file's path, a message's id or a place in a transcript.")]
    tokens: Annotated[Count, Meta(description="Tokens in the text, with its label.")]
    similarity: Annotated[Share, Meta(description="At 0.5 it is as likely relevant as not.")]
    score: Annotated[Share, Meta(description="What it was ordered by: similarity, its age, time stashed.")]
    part: Annotated[bool, Meta(description="Whether only a part of it is in the text.")]
    why: str


class PackedLine(Answer, frozen=True):
    """A line of the text that is neither a file nor a passage, such as where a definition is used."""

    section: Annotated[Text, Meta(description="The heading that it is under, such as Used by.")]
    subject: Annotated[str, Meta(description="The definition, past task or file that it is about.")]
    text: Text


class PlanContext(Answer, frozen=True, omit_defaults=True):
    """What an agent is given."""

    layers: Annotated[tuple[Layer, ...], Meta(extra_json_schema={"uniqueItems": True})]
    files: Annotated[
        Different, Meta(description="Paths in the order of the text, those that are only named last.")
    ]
    text: str
    segments: Annotated[
        tuple[PackedSegment, ...],
        Meta(description="The segments of the text, in its order; left out where there are none."),
    ] = ()
    lines: Annotated[
        tuple[PackedLine, ...],
        Meta(description="Lines about the files shown, in the text's order; left out where there are none."),
    ] = ()


class DroppedCandidate(Answer, frozen=True):
    """What is not in the pack, and why."""

    file: Text
    reason: Text


class NamedPlace(Answer, frozen=True):
    """A definition, or a part of one, to look at: its name after that of what it is in, its lines."""

    name: str
    start: Line
    end: Line


FileRole = Annotated[
    str, Meta(description="source, test, docs, changelog, config, build, ci, data or other, by its path.")
]


class SelectedFile(Answer, frozen=True):
    """A file of the text: how it is shown there, and what ranked it."""

    path: Text
    role: FileRole
    representation: Representation
    tokens: Count
    spans: Annotated[
        tuple[tuple[Line, Line], ...], Meta(description="Line ranges shown, 1-based, both ends included.")
    ]
    lines: Annotated[str, Meta(description="The same ranges as text, 12-40,55.")]
    score: float
    utility: NotNegative
    why: str
    sources: tuple[str, ...]
    features: Numbers
    contributions: Numbers
    together: Annotated[
        str, Meta(description="Why a file that is only named changes with those shown, else empty.")
    ] = ""
    places: Annotated[
        tuple[NamedPlace, ...],
        Meta(description="Where to look in it besides what is shown, likeliest first."),
    ] = ()
    reasons: Annotated[
        Texts,
        Meta(description="What matched, in sentences: words, definitions, past tasks, files near it."),
    ] = ()


class PackedPassage(Answer, frozen=True):
    """A rule, learning or segment of the text; `origin` is where it is from, such as file:line."""

    id: Text
    section: str
    origin: str
    authority: Authority
    score: float
    why: str


class PlanConfidence(Answer, frozen=True):
    """How likely all files that a task needs are where a plan has them: no file is missing."""

    first_ten: Annotated[
        Share, Meta(description="Calibrated probability that all right files are among the first ten.")
    ]
    pack: Annotated[
        Share | None, Meta(description="The same of the files that the pack shows; null without a pack.")
    ] = None


_CONFIDENCE = Meta(
    description="Null where the model was not calibrated, for the baseline, and with low_confidence."
)
_KNOWN = Meta(
    description="Whether the task says anything about this project. Where it does not, nothing is packed."
)


class PlanResponse(Answer, frozen=True):
    """What `workbench plan --format json` prints and POST /v1/plan-context answers."""

    cache_status: Annotated[
        CacheStatus,
        Meta(
            description="How much of what the answer rests on was at hand: hit, all of it; partial, files, "
            "past tasks or rules changed and were read first; miss, the index was built."
        ),
    ]
    freshness: Annotated[
        Freshness, Meta(description="Whether the index described the files on disk when the plan was made.")
    ]
    intent: PlanIntent
    budget_report: BudgetReport
    context: PlanContext
    decision_trace: Annotated[
        tuple[str, ...],
        Meta(description="One line for each thing that is in: how it is in the text, and why."),
    ]
    dropped_candidates: tuple[DroppedCandidate, ...]
    selection: Annotated[tuple[SelectedFile, ...], Meta(description="The files of the text, in its order.")]
    rules: Annotated[
        tuple[PackedPassage, ...],
        Meta(description="Rules and other passages of the text, with where each one is (file:line)."),
    ]
    degraded: Annotated[Texts, Meta(description="Parts that were missing for this answer.")]
    timing: Annotated[
        Numbers,
        Meta(description="Milliseconds by stage; all else is the same for equal requests of one state."),
    ]
    low_confidence: Annotated[
        bool,
        Meta(
            description="Whether no file is likely enough to be relied on: search further (hooks.threshold)."
        ),
    ]
    confidence: Annotated[PlanConfidence | None, _CONFIDENCE] = None
    known: Annotated[bool, _KNOWN] = True


class RankedPath(Answer, frozen=True):
    """A file with what ranked it."""

    path: Text
    role: FileRole
    score: float
    features: Numbers
    reasons: Annotated[Texts, Meta(description="What matched, in sentences, the strongest first.")] = ()


class RankResponse(Answer, frozen=True):
    """What `workbench rank --json` prints: files for a task, where work begins first.

    Of the first ten, tests, documents and changelogs follow what is edited by hand, unless the task asks for
    them or they are clearly likelier.
    """

    files: tuple[RankedPath, ...]
    low_confidence: Annotated[
        bool,
        Meta(
            description="Whether no file is likely enough to be relied on: search further (hooks.threshold)."
        ),
    ]
    confidence: Annotated[PlanConfidence | None, _CONFIDENCE] = None
    known: Annotated[bool, _KNOWN] = True
