"""Memory of iterations [ralph]: what one run of an agent loop did, found out and stumbled over.

An iteration is one run of an agent on one task of one feature. The records hold what was extracted from
its output, bounded and free of secrets; nothing in them is interpreted.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum
from typing import Any

from workbench.records.dataclass import dataclass

MAX_SUMMARY = 2_000  # characters
MAX_EMBEDDING = 4_000
ELLIPSIS = "…"


class IterationOutcome(StrEnum):
    """How an iteration ended."""

    SUCCESS = "success"
    FAILURE = "failure"
    PARTIAL = "partial"
    TIMEOUT = "timeout"
    RATE_LIMITED = "rate_limited"


class ErrorType(StrEnum):
    """What kind of error it was."""

    RUNTIME = "runtime"
    COMPILE = "compile"
    TEST = "test"
    LINT = "lint"
    PERMISSION = "permission"
    LOGIC = "logic"
    UNKNOWN = "unknown"


class FileAction(StrEnum):
    """What was done to a file."""

    CREATED = "created"
    MODIFIED = "modified"
    READ = "read"
    DELETED = "deleted"


class ModelTier(StrEnum):
    """How large a model is, whoever made it: small ones do tasks, large ones review [ralph]."""

    HAIKU = "haiku"
    OPUS = "opus"


class PointType(StrEnum):
    """What a point of the search index represents."""

    ITERATION = "iteration"
    FEATURE_SNAPSHOT = "feature_snapshot"


@dataclass(frozen=True, slots=True)
class ErrorEntry:
    """An error that an iteration met. `file_path` is relative to the project, None where not known."""

    message: str
    error_type: ErrorType | None = None
    file_path: str | None = None
    line: int | None = None


@dataclass(frozen=True, slots=True)
class DecisionEntry:
    """What the agent decided, in its own words, and why if it said so."""

    description: str
    rationale: str | None = None


@dataclass(frozen=True, slots=True)
class FileTouched:
    """A file of the project and what was done to it.

    Raises: ValueError for a path that is absolute, leads upwards, or is empty.
    """

    path: str
    action: FileAction

    def __post_init__(self) -> None:
        if reason := unsafe_path(self.path):
            raise ValueError(f"{self.path[:200]!r} {reason}")


@dataclass(frozen=True, slots=True)
class IterationRecord:
    """One iteration [ralph]: the unit of a feature's memory.

    `iteration_number` counts from 1 within the feature. `timestamp` is ISO 8601, when it ended. `model` is
    the model's own name, of which `model_tier` is the size. `tokens_used` leaves out what a cache answered.
    """

    iteration_number: int
    task_id: str
    task_title: str
    feature: str
    discipline: str
    timestamp: str
    outcome: IterationOutcome
    summary: str
    errors: tuple[ErrorEntry, ...] = ()
    decisions: tuple[DecisionEntry, ...] = ()
    files_touched: tuple[FileTouched, ...] = ()
    tokens_used: int | None = None
    duration_ms: int | None = None
    model_tier: ModelTier = ModelTier.HAIKU
    model: str = ""


@dataclass(frozen=True, slots=True)
class Task:
    """What an iteration was for, as whoever started it says. Empty where nobody did."""

    feature: str
    task_id: str = ""
    title: str = ""
    discipline: str = ""
    model: str = ""


@dataclass(frozen=True, slots=True)
class ToolUseEvent:
    """A tool was called. `result` is what it answered, cut; None where no answer was seen.

    `failed` says that the answer was an error, `rejected` that a person or a rule refused the call,
    `created` that a file was made that was not there; `subagent` that a helper of the agent called it.
    """

    name: str
    input: Mapping[str, Any]
    id: str = ""
    result: str | None = None
    failed: bool = False
    rejected: bool = False
    created: bool = False
    subagent: bool = False


@dataclass(frozen=True, slots=True)
class ResultEvent:
    """What the run said of itself at its end; `subtype` is e.g. `success` or `error_max_turns`."""

    subtype: str
    is_error: bool = False
    text: str = ""
    duration_ms: int | None = None
    tokens: int | None = None
    turns: int | None = None


@dataclass(frozen=True, slots=True)
class RawIterationOutput:
    """What was seen of one iteration, in order, each text cut to a bound.

    `anchor` is an id that only this iteration has, `place` which one of its session it is. `texts` are the
    agent's own words. `result` is None if the stream ended before the run did; `stopped`
    then says why, as far as it is known (`interrupted`, `terminated`, `truncated`, or empty). `limited` says
    that the provider refused for reasons of rate or quota. `started_at` and `ended_at` are ISO 8601 or empty,
    `elapsed_ms` is what somebody who listened measured.
    """

    source: str = ""
    session: str = ""
    anchor: str = ""
    place: int = 0
    cwd: str = ""
    branch: str = ""
    model: str = ""
    prompt: str = ""
    texts: tuple[str, ...] = ()
    tool_uses: tuple[ToolUseEvent, ...] = ()
    result: ResultEvent | None = None
    tokens: int | None = None
    started_at: str = ""
    ended_at: str = ""
    elapsed_ms: int | None = None
    stopped: str = ""
    limited: bool = False
    api_error: str = ""
    omitted: int = 0


@dataclass(frozen=True, slots=True)
class ExtractionResult:
    """What was found in an iteration's output: the bridge to its record [ralph].

    `dropped` counts what was left out and why: paths outside of the project, errors beyond the bound.
    `redacted` counts the secrets taken out, by kind.
    """

    outcome: IterationOutcome
    summary: str
    errors: tuple[ErrorEntry, ...] = ()
    decisions: tuple[DecisionEntry, ...] = ()
    files_touched: tuple[FileTouched, ...] = ()
    tokens_used: int | None = None
    duration_ms: int | None = None
    model_tier: ModelTier = ModelTier.HAIKU
    model: str = ""
    dropped: Mapping[str, int] = field(default_factory=dict)
    redacted: Mapping[str, int] = field(default_factory=dict)


_DRIVE = re.compile(r"[A-Za-z]:")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_MAX_PATH = 1_000


def unsafe_path(path: str) -> str:
    """Return why a path cannot be one inside of a project, empty if it can."""
    if not path or path in (".", "./"):
        return "names no file"
    if len(path) > _MAX_PATH:
        return f"is longer than {_MAX_PATH} characters"
    if _CONTROL.search(path):
        return "holds control characters"
    if path.startswith(("/", "\\", "~")) or _DRIVE.match(path):
        return "is not relative to the project"
    if ".." in re.split(r"[/\\]", path):
        return "leads upwards"
    return ""


def cut(text: str, limit: int) -> str:
    """Return at most `limit` characters of a text, the last one an ellipsis where something was cut."""
    return text if len(text) <= limit else text[: limit - 1].rstrip() + ELLIPSIS


_LARGE = re.compile(
    r"opus|fable|ultra|heavy|(?:^|[-/ ])(?:o1|o3|large|max|pro|r1|405b)(?:[-_ ]|$)|gpt-[4-9]", re.IGNORECASE
)
_SMALL = re.compile(r"haiku|\bmini|flash|nano|\blite|small|tiny|\bfast|instant|spark", re.IGNORECASE)


def model_tier(model: str) -> ModelTier:
    """Return the tier of a model by its name; one that does not say it is large does tasks."""
    if _SMALL.search(model) and "opus" not in model.casefold():
        return ModelTier.HAIKU
    return ModelTier.OPUS if _LARGE.search(model) else ModelTier.HAIKU
