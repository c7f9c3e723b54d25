"""What a replay of a project's own history leaves: rows of tasks, scores of systems, and the run of both.

The engine writes these, reports and gates read them. They hold plain values only, so that a run written as
JSON today can be compared with one of next year.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

FORMAT: Final = 1

RANKING_MEASURES: Final = ("precision_at_10", "recall_at_5", "recall_at_10", "mrr", "ndcg_at_10")
PACK_MEASURES: Final = (
    "packed_recall",
    "line_coverage",
    "first_pass_success",
    "context_tokens",
    "named_recall",
)
OPERATION_MEASURES: Final = (
    "affinity_hit_rate",
    "rerank_invocation_rate",
    "fallback_rate",
    "cache_hit_ratio",
    "latency_ms",
)
FIRST_MEASURES: Final = ("recall_at_1", "recall_at_3")
EXPLORED_MEASURES: Final = ("explored_recall", "explored_tokens")
MEASURES: Final = (
    *RANKING_MEASURES,
    *PACK_MEASURES,
    *OPERATION_MEASURES,
    *FIRST_MEASURES,
    *EXPLORED_MEASURES,
)
"""The names of what is measured of each task and system; those of packs are absent where none was made,
`FIRST_MEASURES` where files are ranked, and only the baseline has those of the compact exploration.
"""

LESS_IS_BETTER: Final = frozenset({"context_tokens", "latency_ms", "fallback_rate"})
BASELINE: Final = "baseline"


@dataclass(frozen=True, slots=True)
class Gap:
    """How far a system's mean of a measure lies above another's: 95 % interval and two-sided p.

    Of `context_tokens` it is the difference of medians. Both resample and exchange whole clusters of tasks.
    """

    value: float
    low: float
    high: float
    p: float


@dataclass(frozen=True, slots=True)
class SystemScore:
    """What a system is worth over the tasks of a run: means in [0, 1] unless said otherwise.

    Figures of packs are over the `packed_tasks` tasks a pack was made for, and None without any.
    `context_tokens_median` is in tokens, `latency_p50_ms` and `latency_p95_ms` in milliseconds a task.
    `affinity_hit_rate` is the share of tasks for which past tasks speak for a file that is among the first
    ten and right; `rerank_invocation_rate` and `fallback_rate` are the shares for which a second stage was
    asked and for which the system had to do without a part of itself; `cache_hit_ratio` is the share of a
    tree's files that were known when the task began. `intervals` are 95 % by measure; `gaps` are to the
    baseline by measure, empty for the baseline itself and where it was not run. Of the baseline alone,
    `explored_recall` is the share of right files that the compact exploration of the kind of task names, and
    `explored_tokens_median` what that costs.
    """

    system: str
    tasks: int
    precision_at_10: float
    recall_at_5: float
    recall_at_10: float
    mrr: float
    ndcg_at_10: float
    packed_tasks: int = 0
    packed_recall: float | None = None
    line_coverage: float | None = None
    first_pass_success: float | None = None
    context_tokens_median: float | None = None
    affinity_hit_rate: float = 0.0
    rerank_invocation_rate: float = 0.0
    fallback_rate: float = 0.0
    cache_hit_ratio: float = 0.0
    latency_p50_ms: float = 0.0
    latency_p95_ms: float = 0.0
    intervals: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    gaps: Mapping[str, Gap] = field(default_factory=dict)
    named_recall: float | None = None
    recall_at_1: float | None = None
    recall_at_3: float | None = None
    explored_recall: float | None = None
    explored_tokens_median: float | None = None


@dataclass(frozen=True, slots=True)
class SystemRow:
    """What a system did with one task.

    `ranking` holds its first 20 paths, `measures` a value by name (see `MEASURES`). `packed` maps the paths
    in the pack to how each is shown (path, outline, snippets, full); it is empty and `tokens` None where no
    pack was made. `contributions` maps the first ten files and the missed ones that were candidates to
    what each feature added to their score, the largest first; only systems that weigh features have any.
    `reasons` maps these files to the sentences a plan would have shown of them (none in older runs).
    `missed` maps each relevant file that is not among the first ten to a sentence on why.
    """

    ranking: tuple[str, ...]
    measures: Mapping[str, float]
    packed: Mapping[str, str] = field(default_factory=dict)
    tokens: int | None = None
    contributions: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    missed: Mapping[str, str] = field(default_factory=dict)
    reasons: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TaskRow:
    """One replayed task. `systems` maps a system's name to what it did.

    `session` is the cluster that tests resample: the session of a prompt, or a commit's own id. `source` is
    `commit` or `session`; `head` the first line of the task. `revision` is the commit whose tree the systems
    saw, empty where no repository was left; `at` the second since the epoch as of which they knew. `commit`
    is the one that answers the task, if known. `truth` are the relevant files, sorted. `missing` are relevant
    files that nobody could have found: they did not exist in what the systems saw. `fault` says why a task
    could not be replayed; `systems` is then empty.
    """

    id: str
    session: str
    source: str
    head: str
    revision: str
    commit: str
    at: int
    query_type: str
    truth: tuple[str, ...]
    systems: Mapping[str, SystemRow]
    missing: tuple[str, ...] = ()
    fault: str = ""


@dataclass(frozen=True, slots=True)
class ReplayRun:
    """A finished replay. `at` is in ISO 8601, `version` the program's and its engine's.

    `settings` are what decided the rows (source, tasks, budget, systems, models …), `notes` sentences for the
    reader, `degraded` the names of parts that were missing. `complete` is False after an interruption.
    `kinds` are the scores by kind of question, where questions have kinds.
    """

    id: str
    at: str
    project: str
    version: str
    settings: Mapping[str, Any]
    systems: tuple[SystemScore, ...]
    rows: tuple[TaskRow, ...]
    notes: tuple[str, ...] = ()
    degraded: tuple[str, ...] = ()
    complete: bool = True
    format: int = FORMAT
    kinds: Mapping[str, tuple[SystemScore, ...]] = field(default_factory=dict)

    @property
    def baseline(self) -> str:
        """The system that the others are compared with."""
        return str(self.settings.get("baseline", BASELINE))


def run_to_json(run: ReplayRun) -> dict[str, Any]:
    """Return a run as values JSON can hold; its rows are called `tasks` there.

    What only segments have is left out where files were ranked, and what only the baseline has elsewhere.
    """
    import msgspec

    found: dict[str, Any] = msgspec.to_builtins(run)
    found["tasks"] = found.pop("rows")
    if not found["kinds"]:
        del found["kinds"]
    for score in found["systems"]:
        for name in (*FIRST_MEASURES, "explored_recall", "explored_tokens_median"):
            if score[name] is None:
                del score[name]
    return found


def run_from_json(document: Mapping[str, Any]) -> ReplayRun:
    """Undo `run_to_json`. Raises: ValueError naming what is wrong."""
    from workbench.records.conversion import convert

    if document.get("format") != FORMAT:
        raise ValueError(f"a replay run of format {document.get('format')!r}, expected {FORMAT}")
    renamed = {"rows" if name == "tasks" else name: value for name, value in document.items()}
    return convert(renamed, ReplayRun)


def row_to_json(row: TaskRow) -> dict[str, Any]:
    """Return a row as values JSON can hold."""
    import msgspec

    found: dict[str, Any] = msgspec.to_builtins(row)
    return found


def row_from_json(document: Mapping[str, Any]) -> TaskRow:
    """Undo `row_to_json`. Raises: ValueError naming what is wrong."""
    from workbench.records.conversion import convert

    return convert(document, TaskRow)


@dataclass(frozen=True, slots=True)
class MeasureChange:
    """The mean of a measure of a system before and after, over the same tasks; `gap` is after - before.

    `verdict` is `better`, `worse`, or `no difference shown`.
    """

    system: str
    measure: str
    tasks: int
    before: float
    after: float
    gap: Gap
    verdict: str


@dataclass(frozen=True, slots=True)
class TaskMeasureChange:
    """A task whose measure changed. `lost` and `found` are relevant files that left or joined the top ten."""

    id: str
    session: str
    head: str
    before: float
    after: float
    lost: tuple[str, ...] = ()
    found: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SessionChange:
    """The mean of the measure over the common tasks of a session, before and after."""

    session: str
    tasks: int
    before: float
    after: float


@dataclass(frozen=True, slots=True)
class RunComparison:
    """How the run `after` differs from `before`.

    `settings` maps what was set otherwise to both values. `common` tasks are compared, `only_before` and
    `only_after` count the others, `answers` those whose right answers changed. `sessions` and `tasks` are
    those of `system` that changed in `measure`, the worst regressions first.
    """

    before: str
    after: str
    system: str
    measure: str
    settings: Mapping[str, tuple[Any, Any]]
    common: int
    only_before: int
    only_after: int
    answers: int
    changes: tuple[MeasureChange, ...]
    sessions: tuple[SessionChange, ...]
    tasks: tuple[TaskMeasureChange, ...]

    def change(self, system: str, measure: str) -> MeasureChange | None:
        """Return how a measure of a system changed, None if it was not measured in both runs."""
        found = (change for change in self.changes if (change.system, change.measure) == (system, measure))
        return next(found, None)
