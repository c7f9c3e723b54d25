"""The plan's request [img 8.1], field for field, and what the stages hand on; the response is an answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum
from typing import Final

from workbench.records.dataclass import dataclass

AFFINITIES: Final = ("affinity", "affinity_head")
"""The signals by which past tasks speak for a file."""


class QueryType(StrEnum):
    """The kinds of task the specification routes by."""

    BUGFIX = "bugfix"
    FEATURE = "feature"
    REFACTOR = "refactor"
    INCIDENT = "incident"
    GENERAL = "general"
    UNKNOWN = "unknown"


class Risk(StrEnum):
    """What is at stake in a task."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


class Detail(StrEnum):
    """How much of each layer `explore` shows, and of each file a pack."""

    COMPACT = "compact"
    NORMAL = "normal"
    VERBOSE = "verbose"


class MlMode(StrEnum):
    """Which models a plan asks [img §7.4]."""

    OFF = "off"  # none: structure and words alone
    FAST = "fast"  # embeddings, and a local search program that was turned on
    FULL = "full"  # a second stage that ranks the best again


class Representation(StrEnum):
    """How a file appears in a pack, cheapest first."""

    PATH = "path"
    OUTLINE = "outline"
    SNIPPETS = "snippets"
    FULL = "full"


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """What a caller asks for. `token_budget` counts tokens of the rendered text as a whole.

    `pinned` and `excluded` name files by their paths and rules by their ids. `feature` and `task_id` say what
    is worked on, for what was learned of it; without a feature all learnings may be about the task.
    `session_id` names the episode the pack is handed over to. `tool` is the agent it is for; `contexts`,
    `facts` (name, values), `scenario` and `step` say what else is known of the work, for rules that hold only
    there. `received` are paths and ids that the session has already and that are not repeated, whether they
    are still there or not; a file less likely to be needed than `least_chance` is neither shown nor named.
    Without `stash` no segment of the stash is in the pack. `detail` compact shows no file as a whole, verbose
    none as an outline. Other programs and models are waited for while `latency_budget_ms` lasts.
    """

    project_root: str
    task: str
    query_type: QueryType | None = None
    token_budget: int = 4000
    strict: bool = False
    session_id: str | None = None
    pinned: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    feature: str | None = None
    task_id: str | None = None
    tool: str = ""
    contexts: tuple[str, ...] = ()
    facts: tuple[tuple[str, tuple[str, ...]], ...] = ()
    scenario: str = ""
    step: str = ""
    received: tuple[str, ...] = ()
    least_chance: float = 0.0
    stash: bool = True
    ml_mode: MlMode = MlMode.FAST
    detail: Detail = Detail.NORMAL
    latency_budget_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Entities:
    """What a task names explicitly."""

    paths: tuple[str, ...] = ()
    symbols: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()
    frames: tuple[tuple[str, int, str], ...] = ()  # (path, line, function)
    issue_refs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TaskText:
    """A task as given (`raw`) and cleaned (`text`): `head` says what is to be done, `body` is the rest."""

    raw: str
    text: str
    head: str
    body: str


@dataclass(frozen=True, slots=True)
class Intent:
    """A task understood [img 7.1]. `terms` are the query's terms with their weights, in order.

    `confidence` is the probability that `predicted` is right, 1 where it was given; `tags` are the areas
    that the task touches.
    """

    task: TaskText
    predicted: QueryType
    confidence: float
    task_fingerprint: str
    entities: Entities
    terms: tuple[tuple[str, float], ...]
    tags: tuple[str, ...] = ()
    risk: Risk = Risk.MEDIUM


@dataclass(frozen=True, slots=True)
class RankedFile:
    """A candidate after ranking. `features` are the named inputs of the linear score; `sources` found it."""

    path: str
    score: float
    features: Mapping[str, float]
    contributions: Mapping[str, float] = field(default_factory=dict)
    sources: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Dropped:
    """A candidate that is not in the pack, and why. `id` is a passage's own where `file` is its origin."""

    file: str
    reason: str
    id: str = ""
    pinned: bool = False
