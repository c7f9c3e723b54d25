"""The planner: models, tokenizer and limits, and the ranking of a project's files that a plan begins with.

How often all right files are where a plan says is a calibrated probability. Two numbers decide: the log-odds
that nothing outside is needed, each file looked at by itself, and those of the likeliest file, which say how
well the task points at anything. A logistic over both is fitted with every model, on the tasks it is trained
on, for several sizes of what is inside; `python -m bench confidence` measures it on repositories that no
model has seen.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import field
from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from workbench.plan.intent import understand_prompt
from workbench.plan.matching import LEARNINGS, RuleMatcher
from workbench.plan.overrides import Overrides, resolve_overrides
from workbench.plan.places import ChunkModel
from workbench.plan.ranking import SUMMED, RankingModel, log_odds, rank_files
from workbench.plan.reading import READ, read_first
from workbench.plan.relevance import is_about
from workbench.plan.representations import Contents, digests_of
from workbench.plan.response import EMBEDDINGS
from workbench.plan.semantics import KnownPast, TaskVector, known_past
from workbench.plan.view import RankingView
from workbench.plan.workspace import Progress, Synced, Workspace
from workbench.plan.written import WrittenPlace
from workbench.records.answers.plan import PlanConfidence
from workbench.records.dataclass import dataclass
from workbench.records.plan import Intent, QueryType, RankedFile
from workbench.rules.matching.match import MatchParams, RuleMatch
from workbench.text.templates import OwnWords
from workbench.text.terms import parse_task, word_terms
from workbench.text.tokens import TokenCounter

if TYPE_CHECKING:
    from workbench.models.rerank import SecondStage
    from workbench.ports import TextVectors
    from workbench.rules.matching.recheck import Rechecked


Recheck = Callable[[Sequence[RuleMatch], str], "Rechecked"]

_LEAST_NAME = 3  # letters of a project's name that does not count in its tasks
_NAME_SHARE = 0.1  # of the files that have it
NAMED = 80  # further candidates that may at least be named


@dataclass(frozen=True, slots=True)
class CandidateSource:
    """Another program that finds files: `find` takes a task and seconds and returns scores by path.

    It raises a WorkbenchError where it cannot. It is waited for `timeout` seconds at most.
    """

    timeout: float
    find: Callable[[str, float], Mapping[str, float]]


@dataclass(frozen=True, slots=True)
class Planner:
    """What planning needs besides a workspace: models, tokenizer, limits.

    `plain_ranking` loads what ranks where past tasks are not known by meaning. `own` takes either and the
    fingerprint of a task, and returns what the project's own models make of it, and why they cannot be used.
    `recheck` takes matches and the message and returns what a language model leaves of them; None: no model.
    `search` finds more candidates; `second_stage` opens what rates the first files again, None: no model.
    Segments may take `segment_share` of a budget. An answer without a file that is needed with a chance of
    `confident` is of low confidence.
    """

    ranking: RankingModel
    chunks: ChunkModel
    counter: TokenCounter
    contents: Contents
    matching: MatchParams
    plain_ranking: Callable[[], RankingModel] | None = None
    own: Callable[[RankingModel, str], tuple[RankingModel, str]] | None = None
    embedder: TextVectors | None = None
    embedder_note: str = ""
    matcher: RuleMatcher = field(default_factory=RuleMatcher)
    learned: RuleMatcher = field(default_factory=partial(RuleMatcher, LEARNINGS))
    recheck: Recheck | None = None
    search: CandidateSource | None = None
    second_stage: Callable[[], SecondStage | None] | None = None
    segment_share: float = 0.15
    confident: float = 0.3
    read: int = READ
    named: int = NAMED


@dataclass(frozen=True, slots=True)
class Ranking:
    """Files in order, the model that ordered them, and what was known of past tasks by meaning.

    `view` and `heads`, the first lines of past tasks, are what they were ranked by, for the reasons. `own` is
    what of a task that follows a template is its own; `note` is why the project's own models do not
    rank, empty if they do or there are none. A task that is not `known` says nothing about this project: its
    order of files means nothing. `written` are the places that the task means by their names.
    """

    intent: Intent
    files: tuple[RankedFile, ...]
    synced: Synced
    model: RankingModel
    past: KnownPast
    vector: TaskVector
    view: RankingView
    heads: tuple[str, ...]
    overrides: Overrides = field(default_factory=Overrides)
    own: OwnWords | None = None
    note: str = ""
    known: bool = True
    written: tuple[WrittenPlace, ...] = ()


def rank(
    workspace: Workspace,
    planner: Planner,
    task: str,
    *,
    query_type: QueryType | None = None,
    strict: bool = False,
    progress: Progress | None = None,
    pinned: Sequence[str] = (),
    excluded: Sequence[str] = (),
) -> Ranking:
    """Rank the project's files for a task, best first; pinned ones are among them.

    Raises: UsageError for something pinned or excluded that is not there.
    """
    synced = workspace.sync(strict=strict, progress=progress)
    overrides = resolve_overrides(
        pinned,
        excluded,
        workspace.index.positions.keys(),
        overridable_ids(workspace) if pinned or excluded else (),
    )
    past = known_past(planner.embedder, workspace.task_heads)
    needed = past.index is not None or bool(workspace.rulebook.rules)
    text = parse_task(task)
    intent, own = understand_prompt(
        text,
        workspace.templates,
        project_id=workspace.adapters.project_id,
        query_type=query_type,
        name=_own_name(workspace),
    )
    vector = TaskVector(planner.embedder if needed else None, intent.task)
    model = planner.ranking
    if past.index is None and planner.plain_ranking is not None:
        model = planner.plain_ranking()
    note = ""
    if planner.own is not None:
        model, note = planner.own(model, intent.task_fingerprint)
        if past.index is not None and model.adapter is not None and model.adapter.embedding != vector.model:
            note = note or f"the project's adapter is not used: it maps vectors of {model.adapter.embedding}"
    ranked = rank_files(
        workspace.view,
        intent,
        model,
        semantic=lambda: past.cosines(vector, model.adapter),
        also=overrides.pinned,
    )
    known = is_about(workspace.view, intent, log_odds(model, [one.score for one in ranked]))
    if known:
        ranked, model = read_files(workspace, planner, intent, ranked, model)
    return Ranking(
        intent,
        ranked,
        synced,
        model,
        past,
        vector,
        workspace.view,
        workspace.task_heads,
        overrides,
        own,
        note,
        known,
    )


def read_files(
    workspace: Workspace,
    planner: Planner,
    intent: Intent,
    files: Sequence[RankedFile],
    model: RankingModel,
) -> tuple[tuple[RankedFile, ...], RankingModel]:
    """Return files in the order that reading the first ones gives, and the model of their chances."""
    if planner.chunks.files is None:
        return (*files,), model
    digests = digests_of(workspace.snapshot)
    read = partial(planner.contents.read, index=workspace.index, digests=digests)
    ordered = read_first(planner.chunks.files, model, intent, files, read)
    planner.contents.flush()
    return ordered


def _own_name(workspace: Workspace) -> str:
    """Return the project's name where much of it has that name, else an empty text: a folder has any name."""
    name, index = workspace.adapters.root.name, workspace.index
    terms = word_terms(name)
    held = index.frequency("body", terms[-1]) if len(name) >= _LEAST_NAME and terms else 0
    return name if held >= _NAME_SHARE * index.count else ""


def overridable_ids(workspace: Workspace) -> frozenset[str]:
    """Return the ids of the passages that can be pinned and excluded: rules, learnings and segments."""
    kept, stash = workspace.learnings(), workspace.adapters.stash()
    learned = () if kept is None else kept.rules.ids
    put_aside = () if stash is None else stash.ids()
    rules = workspace.rulebook.rules
    return frozenset((*rules.ids, *learned, *put_aside))


def missing_parts(workspace: Workspace, planner: Planner, past: KnownPast) -> tuple[str, ...]:
    """Return what a plan has to do without here: embeddings also where past tasks have no vectors yet."""
    missing = (EMBEDDINGS,) if planner.embedder is None or past.missing else ()
    return (*workspace.adapters.degraded, *missing)


def meaning_notes(planner: Planner, ranking: Ranking) -> tuple[str, ...]:
    """Return why past tasks are not compared with this one by meaning, and what changes that."""
    if ranking.vector.failure:
        return (f"the task was not compared by meaning: {ranking.vector.failure}",)
    reason = ranking.past.missing or (planner.embedder_note if planner.embedder is None else "")
    return (f"past tasks are not compared by meaning: {reason}",) if reason else ()


def is_unprepared(planner: Planner, ranking: Ranking) -> bool:
    """Whether a plan would be better informed after `workbench model prepare`."""
    return bool(planner.embedder_note or ranking.past.missing or planner.matcher.note)


FIRST_FILES: Final = 10
_BOUND: Final = 10.0  # log-odds beyond which nothing is surer


def confidence_inputs(odds: NDArray[np.float64], inside: NDArray[np.bool_]) -> tuple[float, float]:
    """Return the log-odds that no file outside is needed, and those of the likeliest file.

    odds: float64 [n], log-odds of each file, best first; inside: bool [n].
    """
    outside = odds[:SUMMED][~inside[:SUMMED]]
    nothing = -float(np.logaddexp(0.0, outside).sum())  # the logarithm of the product of 1 - chance
    logit = nothing - math.log(-math.expm1(min(nothing, -1e-9)))
    return max(-_BOUND, min(_BOUND, logit)), float(odds.max(initial=-_BOUND))


def chance_of_all(
    model: RankingModel, files: Sequence[RankedFile], inside: Collection[str], pinned: Collection[str] = ()
) -> float | None:
    """Return the probability that all right files are inside; None for a model that was not calibrated.

    files: best first. What is pinned counts as inside and says nothing of the others.
    """
    free = [one for one in files if one.path not in pinned]
    if model.confidence is None or not free:
        return None
    within = np.asarray([one.path in inside for one in free])
    nothing, likeliest = confidence_inputs(log_odds(model, [one.score for one in free]), within)
    slope, rise, offset = model.confidence
    return round(1.0 / (1.0 + math.exp(-(slope * nothing + rise * likeliest + offset))), 4)


def plan_confidence(ranking: Ranking, shown: Collection[str] = ()) -> PlanConfidence | None:
    """Return how often all right files are among the first ten, and among the files shown, if any are.

    None without calibration and where nothing matches.
    """
    pinned = ranking.overrides.pinned
    first = [one.path for one in ranking.files[:FIRST_FILES]]
    within = chance_of_all(ranking.model, ranking.files, first, pinned) if ranking.known else None
    if within is None:
        return None
    packed = chance_of_all(ranking.model, ranking.files, shown, pinned) if shown else None
    return PlanConfidence(within, packed)
