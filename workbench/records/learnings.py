"""Learnings: what past iterations found out, one short text each, with where it comes from [ralph].

A learning is an observation, never an instruction: the next iteration gets it to verify. `reviewed` says that
somebody looked at it, not that it is true (F27). A correction is what a user said of how things are done.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum
from typing import Any, Final

from workbench.records.dataclass import dataclass

MAX_TEXT: Final = 500
MAX_REASON: Final = 300
MAX_FILES: Final = 20


class LearningSource(StrEnum):
    """Who wrote a learning down. `rank` orders them: auto, agent, human, reviewed by the stronger model."""

    AUTO = "auto"
    AGENT = "agent"
    HUMAN = "human"
    OPUS_REVIEWED = "opus_reviewed"

    @property
    def rank(self) -> int:
        """Return the place in the order of [ralph], 0 for the least trusted."""
        return tuple(LearningSource).index(self)


class LearningKind(StrEnum):
    """What a learning is about."""

    NOTE = "note"  # written down by a person or an agent
    ERROR = "error"  # an error and what made it go away
    COMMAND = "command"  # a command that fails here and the one that works
    DECISION = "decision"  # what was decided and why
    CORRECTION = "correction"  # what the user corrected


class LearningState(StrEnum):
    """Whether a learning is offered to iterations, and if not, what became of it."""

    LIVE = "live"
    REJECTED = "rejected"  # it is wrong or worthless, and is not learned again
    RETIRED = "retired"  # it was right once
    PRUNED = "pruned"  # automatic, never reviewed, never seen again
    MERGED = "merged"  # another learning says it
    SUPERSEDED = "superseded"  # a newer learning took its place
    PROMOTED = "promoted"  # a rule says it


BASE_CONFIDENCE: Final = {
    LearningSource.AUTO: 0.4,
    LearningSource.AGENT: 0.5,
    LearningSource.HUMAN: 0.9,
    LearningSource.OPUS_REVIEWED: 0.8,
}
"""How far a learning is trusted before anything speaks for or against it, by its source."""


@dataclass(frozen=True, slots=True)
class FeatureLearning:
    """A learning with its provenance (F3), why it exists (F31) and what happened to it.

    `text` has at most MAX_TEXT characters (F2). `task_id` limits it to a task, None is the whole feature
    (F25). `scope` are globs of files it is limited to. `hit_count` counts the sessions that found it out, 1
    at first, and `confidence` in [0, 1] what speaks for it; both follow from the journals. `iteration` is
    None where nobody counted; `session_id`, `files` and `evidence` say where it was seen. `trigger` is what
    went wrong, in the form in which it is recognised again, `remedy` the command that helped.
    `conflicts_with` are learnings it contradicted when it came. `successor` is the learning or rule that says
    it now. `project_id` None makes it the person's own. Times are ISO 8601 in UTC.
    """

    id: str
    text: str
    reason: str
    source: LearningSource
    iteration: int | None = None
    timestamp: str = ""
    feature: str = ""
    task_id: str | None = None
    kind: LearningKind = LearningKind.NOTE
    hit_count: int = 1
    reviewed: bool = False
    confidence: float = 0.5
    session_id: str = ""
    files: tuple[str, ...] = ()
    scope: tuple[str, ...] = ()
    evidence: str = ""
    trigger: str = ""
    remedy: str = ""
    state: LearningState = LearningState.LIVE
    successor: str = ""
    conflicts_with: tuple[str, ...] = ()
    merged_from: tuple[str, ...] = ()
    project_id: str | None = None
    updated_at: str = ""
    reviewed_at: str = ""
    reviewed_by: str = ""
    last_hit: str = field(default="", compare=False)

    @property
    def live(self) -> bool:
        """Whether iterations may be given it."""
        return self.state is LearningState.LIVE

    @classmethod
    def auto_extracted(
        cls, text: str, iteration: int | None, task_id: int | str | None = None, *, reason: str = ""
    ) -> FeatureLearning:
        """Return a learning nobody reviewed, as extraction finds it; longer texts are cut (F2)."""
        return cls(
            id="",
            text=shorten(text, MAX_TEXT),
            reason=shorten(reason or "found in an iteration's output", MAX_REASON),
            source=LearningSource.AUTO,
            iteration=iteration,
            task_id=None if task_id is None else str(task_id),
            confidence=BASE_CONFIDENCE[LearningSource.AUTO],
        )


STALE_DAYS: Final = 180
"""Days after which a reviewed learning of which nothing was heard waits for a person again."""

PROMOTE_HITS: Final = 3
"""Sessions that found a learning out until it could be a rule."""

SAID_SESSIONS: Final = 2
SAID_TIMES: Final = 3
"""In how many sessions, or how often, a correction is said until it could be a rule."""

REVIEWED: Final = 0.8
DOUBT_LEFT: Final = 0.85
MOST_HITS: Final = 5


def confidence_of(learning: FeatureLearning, hits: int, contradictions: int) -> float:
    """Return the confidence in [0, 1] after further hits, and contradictions since the last review."""
    start = max(learning.confidence, REVIEWED) if learning.reviewed else learning.confidence
    supported = 1.0 - (1.0 - start) * DOUBT_LEFT ** min(hits, MOST_HITS)
    return round(supported * (1 + hits) / (1 + hits + contradictions), 4)


@dataclass(frozen=True, slots=True)
class Unique:
    """A text that says something new."""


@dataclass(frozen=True, slots=True)
class LearningDuplicate:
    """A text that says what the learning at `existing_index` says."""

    existing_index: int
    why: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class LearningConflict:
    """A text that contradicts the learning at `existing_index`; a person decides (F21)."""

    existing_index: int
    new_text: str
    why: str = field(default="", compare=False)


DeduplicationResult = Unique | LearningDuplicate | LearningConflict


def shorten(text: str, most: int) -> str:
    """Return a text of at most `most` characters, cut at a word with an ellipsis."""
    if len(text) <= most:
        return text
    head = text[: most - 1]
    at = head.rfind(" ")
    return (head[:at] if at > most // 2 else head).rstrip() + "…"


class Strength(StrEnum):
    """How surely a sentence is meant for more than the task at hand."""

    STANDING = "standing"  # it says so itself: always, never, from now on
    CORRECTING = "correcting"  # one way instead of another, after an agent did something
    PASSING = "passing"  # it may be for now: it counts once it is said again


@dataclass(frozen=True, slots=True)
class Correction:
    """A correction that was said. `at` is when (ISO 8601), `prompt` its number in the session, from 1.

    `key` is the rule as it was first said, shared by all repetitions; `text` as it was said now, `quote`
    the sentence. `learning_id` is empty while nothing was learned of it. `rule` is the text of a rule in
    force that says so already, or, with `against`, that says otherwise. `template` is a digest of a sentence
    in a long prompt, else empty.
    """

    at: str
    key: str
    text: str
    quote: str
    session_id: str
    prompt: int
    strength: str
    feature: str = ""
    learning_id: str = ""
    rule: str = ""
    against: bool = False
    template: str = ""


def correction_body(one: Correction) -> dict[str, Any]:
    """Return a correction as a journal body."""
    return {name: getattr(one, name) for name in Correction.__slots__}


def read_correction(body: Mapping[str, Any]) -> Correction | None:
    """Return the correction of a journal body, None for a malformed one (F36: nothing is guessed)."""
    import msgspec

    from workbench.records.conversion import convert

    try:
        return convert({name: body[name] for name in Correction.__slots__ if name in body}, Correction)
    except msgspec.ValidationError:
        return None
