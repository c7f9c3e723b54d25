"""The answers about a project itself: what is known of it, whether it is sound, what an index run changed."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated

from msgspec import Meta

from workbench.records.answers.base import Answer, Count, Numbers, Share, Text, Texts
from workbench.records.episodes import ChangeKind
from workbench.records.plan import Detail, QueryType
from workbench.records.project import CacheStatus, Freshness, Layer
from workbench.records.worktree import Hunk


class SessionFigures(Answer, frozen=True):
    """How many sessions tell a whole story [img 13]. Commits are no sessions."""

    causal_trace_completeness: Annotated[
        Share | None, Meta(description="full over ended; null where no session has ended.")
    ]
    ended: Count
    traced: Annotated[
        Count, Meta(description="Ended ones with a task, a file read or edited, and a known outcome.")
    ]
    full: Annotated[Count, Meta(description="Traced ones with both reads and edits.")]
    open: Count
    agents: Annotated[
        Count, Meta(description="Agents' sessions that the ended ones are prompts of; 0 where not counted.")
    ] = 0
    whole: Annotated[
        Count, Meta(description="Those with a task, reads, edits and a known outcome among their prompts.")
    ] = 0


class ImportedSessions(Answer, frozen=True):
    """What imports of transcripts brought so far, and what they keep copies of."""

    sessions: Count
    archived: Annotated[Count, Meta(description="Files of which a copy is kept.")]
    archived_bytes: Count


class TableFigures(Answer, frozen=True):
    """The file of tables that lists and figures are read from."""

    bytes: Count
    behind: Annotated[
        tuple[str, ...], Meta(description="Journal streams that changed since; the next reader catches up.")
    ]


class IndexPart(Answer, frozen=True):
    """What a stored index is searched by: texts of one kind, by words or by vectors."""

    records: Annotated[str, Meta(description="What the texts are of: tasks, rules, learnings, iterations.")]
    count: Count
    method: Annotated[str, Meta(description="bm25s for words; exact or sketch for vectors.")]
    model: Annotated[str, Meta(description="The embedding model; empty for words.")]


class StoredIndex(Answer, frozen=True):
    """The current generation of an index: what it holds, how large and how old it is."""

    name: Text
    bytes: Count
    created_at: Annotated[float, Meta(description="Seconds since the epoch; 0 where it cannot be read.")]
    parts: tuple[IndexPart, ...]
    faults: tuple[str, ...]
    text: Annotated[str, Meta(description="All of it in a line.")]


class ProjectStatus(Answer, frozen=True):
    """What `workbench status --json` prints: what is known of a project, looked at and not changed."""

    root: Text
    repository: Annotated[bool, Meta(description="Whether the project is a git repository.")]
    head: str | None
    branch: str | None
    state_directory: Text
    fallback_reason: Annotated[
        str, Meta(description="Why the state is not in the project; empty where it is.")
    ]
    indexed: bool
    files: Annotated[Count, Meta(description="Files of the index.")]
    max_files: Count
    capped: Annotated[bool, Meta(description="Whether there are more files than max_files.")]
    skipped: Annotated[
        Mapping[str, Count], Meta(description="How many files are not indexed, by the reason.")
    ]
    skipped_examples: tuple[tuple[str, str], ...]
    freshness: Annotated[
        Freshness | None, Meta(description="Whether the index describes the files; null without one.")
    ]
    reason: str
    changed: Annotated[
        Count, Meta(description="Files that were changed, added or removed since the last sync.")
    ]
    episodes: Annotated[Count, Meta(description="Past tasks that plans weigh.")]
    sessions: SessionFigures
    imported: ImportedSessions
    tables: Annotated[TableFigures | None, Meta(description="null before anything was read from tables.")]
    indexes: Annotated[tuple[StoredIndex, ...], Meta(description="By name.")]
    rules: Annotated[Count, Meta(description="Rules in force.")]
    rule_files: Texts
    segments: Annotated[Count, Meta(description="Segments of the stash.")]
    segment_models: Annotated[
        Mapping[str, str], Meta(description="Embedding models of types of segments that have their own.")
    ]
    ranking_model: Text
    embedding_model: str | None
    tokenizer: Text
    degraded: Annotated[Texts, Meta(description="Parts that plans have to do without.")]
    notes: tuple[str, ...]


class State(StrEnum):
    """How a thing is: ok, a note (missing, and the rest works without it) or broken."""

    OK = "ok"
    NOTE = "note"
    BROKEN = "broken"


class DoctorFinding(Answer, frozen=True):
    """What is known of one part of the program or the project."""

    name: Text
    state: State
    text: str
    step: Annotated[str, Meta(description="What to do next; empty where nothing is to be done.")] = ""


class DoctorReport(Answer, frozen=True):
    """What `workbench doctor --json` prints: whether everything the workbench rests on is sound."""

    sound: Annotated[bool, Meta(description="Whether nothing is broken.")]
    findings: tuple[DoctorFinding, ...]


class IndexReport(Answer, frozen=True):
    """What `workbench index --json` and `workbench refresh --json` print: the index, and what it took up."""

    was: Annotated[Freshness, Meta(description="What the index was before.")]
    cache_status: CacheStatus
    files: Count
    changed: tuple[str, ...]
    added: tuple[str, ...]
    removed: tuple[str, ...]
    episodes: Annotated[Count, Meta(description="Past tasks that plans weigh.")]
    imported: Annotated[Count, Meta(description="Commits that became past tasks.")]
    forgotten: Annotated[Count, Meta(description="Past tasks whose commits are gone.")]
    rules: Annotated[Count, Meta(description="Rules in force.")]
    notes: tuple[str, ...]
    timing: Annotated[Numbers, Meta(description="Milliseconds by stage.")]


class ShownEntry(Answer, frozen=True):
    """An entry of a layer: a file, a module, a dependency."""

    path: Annotated[str, Meta(description="The file it is in; empty where it is in none.")]
    text: str
    details: tuple[str, ...]


class ShownLayer(Answer, frozen=True):
    """A layer, cut to the detail asked for."""

    layer: Layer
    title: Text
    total: Annotated[Count, Meta(description="Entries of the whole layer.")]
    entries: tuple[ShownEntry, ...]


class ExploreResponse(Answer, frozen=True):
    """What `workbench explore --json` prints: the layers that a kind of task is routed to."""

    query_type: QueryType
    detail: Detail
    layers: tuple[ShownLayer, ...]


class OperationStats(Answer, frozen=True):
    """One operation's figures. Times are in milliseconds."""

    operation: str
    count: Count
    failed: Count
    p50: float
    p95: float
    p99: float
    hit_ratio: Annotated[
        Mapping[str, Share], Meta(description="Share of questions answered, by cache level that was asked.")
    ]
    stages: Annotated[Numbers, Meta(description="The median of each stage.")]
    tokens_median: float | None
    candidates_median: float | None
    fallback_rate: Annotated[Share, Meta(description="The share of calls that were degraded.")]
    missing: Annotated[Mapping[str, Count], Meta(description="How often each part was missing.")]
    rerank_rate: Annotated[Share, Meta(description="The share of calls that asked a second stage.")] = 0.0
    model_fallback_rate: Annotated[
        Share, Meta(description="The share of calls that went without a model or program they wanted.")
    ] = 0.0
    lock_wait_p95: Annotated[
        float, Meta(description="What a call waited for locks that others held, calls that did not as 0.")
    ] = 0.0


class LockWaits(Answer, frozen=True):
    """How long calls waited for a lock that others held, in milliseconds."""

    lock: Annotated[str, Meta(description="Its name; empty for all locks together, over all calls.")]
    calls: Annotated[Count, Meta(description="Calls that waited for it; of all locks together all calls.")]
    p50: float
    p95: float
    longest: float


class StatsReport(Answer, frozen=True):
    """What was measured of operations within a span of time, and of sessions so far."""

    since: Annotated[str, Meta(description="The span that was asked for: 30m, 24h, 7d.")]
    operations: tuple[OperationStats, ...]
    sessions: SessionFigures
    figures: Annotated[
        Mapping[str, float],
        Meta(description="By the names of [img 13]; what there is no evidence for is left out."),
    ] = {}
    locks: Annotated[
        tuple[LockWaits, ...],
        Meta(description="All together, then by lock; those nobody waited for are left out."),
    ] = ()
    events: Annotated[
        Mapping[str, int],
        Meta(description="What was recorded, by kind: read, edit, delta, decision, handover, call, …"),
    ] = {}


class DeltaFile(Answer, frozen=True):
    """A file that differs from the revision. Lines are counted over committed and uncommitted work."""

    path: str
    kind: ChangeKind
    added: Count
    removed: Count
    old_path: Annotated[str, Meta(description="The name it had, empty unless it was renamed.")]
    commits: Annotated[Count, Meta(description="Commits that touched it.")]
    last_at: Annotated[int, Meta(description="When the last of them did, seconds since 1970; 0 without any.")]
    uncommitted: bool
    hunks: Annotated[tuple[Hunk, ...], Meta(description="In lines of the revision and of the disk.")] = ()


class DeltaCommit(Answer, frozen=True):
    """A commit of the digest."""

    sha: str
    at: int
    subject: str
    files: Annotated[Count, Meta(description="Paths that it touched.")]


class Delta(Answer, frozen=True):
    """What changed since a revision: commits newest first, files most recent first.

    Totals count what limits cut off, too.
    """

    since: str
    head: str | None
    commits: tuple[DeltaCommit, ...]
    files: tuple[DeltaFile, ...]
    total_commits: Count
    total_files: Count
    total_added: Count
    total_removed: Count
    unreadable: Annotated[Count, Meta(description="Commits left out because git cannot read them.")] = 0


class StoredKind(Answer, frozen=True):
    """A kind of what is kept: a journal with its copy, an index, tables, copies of transcripts."""

    name: Text
    bytes: Count
    records: Annotated[Count | None, Meta(description="Entries or files; null where they are not counted.")]
    growth: Annotated[float | None, Meta(description="Bytes a day, over the last 30 days; null if unknown.")]
    limit: Annotated[int | None, Meta(description="Bytes at which it stops growing; null without a limit.")]
    limit_on: Annotated[
        str, Meta(description="The day on which that is reached as it grows; empty if never.")
    ]
    note: Annotated[str, Meta(description="What happens at the limit.")]


class StorageReport(Answer, frozen=True):
    """What `workbench stats --storage --json` prints: room by kind, and when the disk is full."""

    state_directory: Text
    kinds: Annotated[tuple[StoredKind, ...], Meta(description="The largest first.")]
    bytes: Count
    growth: Annotated[float, Meta(description="Bytes a day of all that has no limit or has not reached it.")]
    free: Annotated[Count, Meta(description="Bytes free on the disk.")]
    full_on: Annotated[str, Meta(description="The day on which the disk is full by that; empty if never.")]
    keep_days: Annotated[Count, Meta(description="Days that records of sessions are kept; 0 for ever.")]
