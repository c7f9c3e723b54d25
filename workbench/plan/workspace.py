"""A project opened for planning: what is known, synced with the disk, in memory and in generations.

Every plan begins with `Workspace.sync`: the disk is compared with the index, changed files are re-indexed in
place, new commits become episodes, changed rule files become rules. Nothing stale is ever served.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import field
from functools import partial
from typing import TYPE_CHECKING

from workbench.errors import GitError, StoreError
from workbench.plan.adapters import Adapters, WorkspaceLimits
from workbench.plan.rule_workspace import RuleWorkspace, indexed_rule_files
from workbench.plan.view import RankingView, view_project
from workbench.project import uncommitted
from workbench.project.freshness import FreshnessReport
from workbench.project.index import ProjectIndex
from workbench.project.snapshot import Snapshot
from workbench.project.upkeep import PROJECT, HeldIndex, IndexKeeper, IndexLimits, IndexSync
from workbench.records.dataclass import dataclass
from workbench.records.episodes import Completeness
from workbench.records.project import CacheStatus, Freshness
from workbench.rules.keptbook import Rulebook, stored_rulebook
from workbench.rules.rulebook import load_rulebook
from workbench.sessions.edits import EditKeeper, Edits
from workbench.sessions.history import History, empty_history
from workbench.sessions.past import Past, PastKeeper, PastSync
from workbench.text.counts import plural

if TYPE_CHECKING:
    from workbench.sessions.episode_ledger import Moves

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Synced:
    """What one sync found and did.

    `cache` is of the index: hit (nothing to do), partial (mended) or miss (built). `renewed` is set where
    past tasks or rules were brought up to date. `stages` are milliseconds. `notes` are sentences the
    user should know: what was damaged, missing or could not be kept.
    """

    freshness: Freshness
    cache: CacheStatus
    changed: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    episodes: int = 0
    forgotten: int = 0
    reason: str = ""
    stages: Mapping[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    renewed: bool = False

    @property
    def cache_status(self) -> CacheStatus:
        """How much of what an answer rests on was at hand: hit (all), partial, or miss (no index)."""
        return CacheStatus.PARTIAL if self.renewed and self.cache is CacheStatus.HIT else self.cache


@dataclass(frozen=True, slots=True)
class Stored:
    """What the store holds of a project, compared with the disk and left as it is; None where it holds none.

    `notes` are sentences about what is damaged or cannot be asked.
    """

    report: FreshnessReport | None
    past: Past | None
    rules: Rulebook | None
    notes: tuple[str, ...] = ()


class Workspace(RuleWorkspace):
    """One project's knowledge. Not thread-safe: callers serialise `sync` and `view`."""

    def __init__(self, adapters: Adapters, limits: WorkspaceLimits) -> None:
        super().__init__(adapters, limits)
        self._indexed = IndexKeeper(adapters.index_store())
        self._past = PastKeeper(adapters.past_store(limits), limits.workers)
        self._edits = EditKeeper(adapters.edit_store())
        self._view: RankingView | None = None
        self._last_view: RankingView | None = None  # of before the last change: paths are mostly the same
        self._touched: tuple[str, ...] = ()
        self._touched_at: tuple[ProjectIndex, str | None] | None = None  # what `_touched` and the view are of
        self._synced_head: str | None = None
        self.past_may_lag = False  # where what just ended is remembered by a process beside this one
        self._candidates: tuple[Snapshot, tuple[str, ...]] | None = None

    @property
    def indexed(self) -> bool:
        """Whether an index is at hand, in memory or on disk."""
        return self._indexed.held is not None or self.adapters.latest(PROJECT) is not None

    @property
    def index(self) -> ProjectIndex:
        """The index as of the last sync."""
        return self._require_index().index

    @property
    def snapshot(self) -> Snapshot:
        """What the index was made from."""
        return self._require_index().snapshot

    @property
    def scan_report(self) -> Mapping[str, object]:
        """What was found and left out when the index was built; empty before."""
        return {} if self._indexed.held is None else self._indexed.held.report

    def _require_index(self) -> HeldIndex:
        if self._indexed.held is None:
            raise StoreError("the project has not been indexed", hint="run `workbench index`")
        return self._indexed.held

    @property
    def history(self) -> History:
        """Past tasks as of the last sync."""
        return self._past.past.history if self._past.past is not None else empty_history()

    @property
    def task_heads(self) -> tuple[str, ...]:
        """First lines of the past tasks, newest first."""
        return self._past.past.heads if self._past.past is not None else ()

    @property
    def templates(self) -> Mapping[int, int]:
        """What prompts of several sessions share, as `templates.shared_shingles` has it."""
        return self._past.past.templates if self._past.past is not None else {}

    @property
    def uncommitted(self) -> tuple[str, ...]:
        """Files of the index with uncommitted changes, as of the last sync."""
        return tuple(path for path in self._touched if path in self.index.positions)

    @property
    def view(self) -> RankingView:
        """Index and history with everything about them that no task changes."""
        if self._view is None:
            self._view = view_project(
                self.index, self.history, touched=self._touched, previous=self._last_view
            )
            self._last_view = self._view
        return self._view

    def sync(
        self,
        *,
        strict: bool = False,
        progress: Progress | None = None,
        rebuild: bool = False,
        settle: bool = False,
    ) -> Synced:
        """Sync everything with the disk.

        A few changed files are kept beside the index on disk, which is cheaper than writing it again; with
        `settle` the index itself holds them.

        Raises: StaleProject if `strict` and the index on disk was not up to date. Ctrl-C leaves the last
        generation.
        """
        notes: list[str] = []
        stages: dict[str, float] = {}
        head = self._synced_head = self._head(notes)
        started = time.perf_counter()
        keeper = self._indexed
        keeper.notes = notes
        found = keeper.sync(
            head, self._index_limits(), strict=strict, rebuild=rebuild, settle=settle, progress=progress
        )
        stages["index"] = _since(started)
        started = time.perf_counter()
        before = self._past.past
        past = self._past.sync(
            head,
            limit=max(self.limits.history_commits, 0),
            progress=progress,
            rebuild=rebuild,
            may_lag=self.past_may_lag,
        )
        notes += past.notes
        if settle:
            notes += self._sync_edits(head, rebuild)
        stages["history"] = _since(started)
        started = time.perf_counter()
        known = self._rulebook
        if progress is not None:
            progress("reading rules", 0, 0)
        book = load_rulebook(self.rule_store(), self._rule_files(), known, rebuild=rebuild)
        self._rulebook = book
        notes += book.notes
        stages["rules"] = _since(started)
        if not self.index.positions:
            notes.append("the project has no files to plan from")
        at = self._touched_at
        same = at is not None and at[0] is self.index and at[1] == head
        if not same or before is None or before.history is not past.past.history:
            self._touched = self._find_uncommitted(head, notes, found.freshness is Freshness.FRESH)
            self._touched_at = (self.index, head)
            self._view = None
        return Synced(
            found.freshness,
            found.cache,
            found.changed,
            found.added,
            found.removed,
            past.imported,
            past.forgotten,
            found.reason,
            stages,
            tuple(dict.fromkeys(notes)),
            bool(past.imported or past.forgotten)
            or (book.renewed and (known is None or known.signature != book.signature)),
        )

    def sync_past(self) -> None:
        """Sync the past alone, and which lines commits changed, where there is a past. Raises: StoreError."""
        notes: list[str] = []
        head = self._head(notes)
        if self._past.stored_past() is not None:
            self._past.sync(head, limit=max(self.limits.history_commits, 0))
            self._sync_edits(head, rebuild=False)

    def sync_index(self, progress: Progress | None = None) -> IndexSync:
        """Sync the files alone, for what asks neither history nor rules. Raises: StoreError."""
        notes: list[str] = []
        self._indexed.notes = notes
        return self._indexed.sync(self._head(notes), self._index_limits(), progress=progress)

    def directories(self) -> frozenset[str]:
        """Return the project's directories that hold listed files, without the root."""
        found: set[str] = set()
        for path in self.adapters.lister(None).paths:
            parent = path.rpartition("/")[0]
            while parent and parent not in found:
                found.add(parent)
                parent = parent.rpartition("/")[0]
        return frozenset(found)

    def look(self) -> Stored:
        """Return what is stored and how it compares with the disk; nothing is synced."""
        notes: list[str] = []
        self._indexed.notes = notes
        report = self._indexed.look(self._head(notes), self._index_limits())
        rules = self._rulebook or stored_rulebook(self.rule_store())
        return Stored(report, self._past.stored_past(), rules, tuple(dict.fromkeys(notes)))

    def stored_index(self) -> tuple[ProjectIndex, Snapshot] | None:
        """Return the index as of the last sync of any process and what it was made from, None before."""
        held = self._indexed.stored_index(self._index_limits())
        return None if held is None else (held.index, held.snapshot)

    def stored_past(self) -> Past | None:
        """Return the past as of the last sync of any process, None before."""
        return self._past.stored_past()

    @property
    def unreadable_commits(self) -> int:
        """How many commits the past of the last sync lacks, because git cannot read them."""
        past = self.stored_past()
        return 0 if past is None or past.mark is None else past.mark.unreadable

    def move_past(self, moves: Moves) -> None:
        """Go along with a journal of sessions that was written again; the next `sync` keeps what is known."""
        self._past.move(moves)

    def session_stories(self) -> tuple[Completeness, int]:
        """Return how complete the stories of sessions are, and how many journal entries are malformed.

        Raises: StoreError.
        """
        return self._past.stories(max(self.limits.history_commits, 0))

    def import_commits(self, *, limit: int | None, progress: Progress | None = None) -> PastSync:
        """Import the newest `limit` commits (None: all) that are not yet episodes.

        Raises: GitError, StoreError.
        """
        head = self.adapters.head()
        if head is None:
            return PastSync(self._past.sync(None, limit=self.limits.history_commits).past)
        found = self._past.import_commits(
            head, depth=limit, limit=self.limits.history_commits, progress=progress
        )
        self._view = None
        return found

    def _index_limits(self) -> IndexLimits:
        limits = self.limits
        return IndexLimits(
            limits.max_files, limits.max_bytes, limits.excluded, limits.max_mended, limits.workers
        )

    def _head(self, notes: list[str]) -> str | None:
        try:
            return self.adapters.head()
        except GitError as error:
            notes.append(f"history is left out: {error.message}")
            return None

    def edits(self) -> Edits | None:
        """Return the lines that commits changed, None before `workbench index` read any."""
        return self._edits.at(self._synced_head, self.limits.history_commits)

    def _sync_edits(self, head: str | None, rebuild: bool) -> list[str]:
        try:
            self._edits.sync(head, self.limits.history_commits, rebuild=rebuild)
        except (GitError, StoreError) as error:
            return [f"which lines commits changed is not known: {error.message}"]
        edits, named = self.edits(), self.unreadable_commits
        if edits is not None and edits.unreadable > named:
            count = plural(edits.unreadable - named, "commit")
            return [f"which lines {count} changed is not known: git cannot read them; see `git fsck`"]
        return []

    def _find_uncommitted(self, head: str | None, notes: list[str], is_fresh: bool) -> tuple[str, ...]:
        control = self.adapters.control
        if control is None or head is None:
            return ()
        state = uncommitted.state_of(head, self.snapshot)
        known = uncommitted.read_paths(self.adapters.usable(uncommitted.KIND), state)
        if known is not None:
            return known
        try:
            paths = control.touched()
        except GitError as error:
            notes.append(f"uncommitted changes are not considered: {error.with_hint}")
            return ()
        if is_fresh:  # nothing moved since the last process looked, nor maybe until the next does
            with suppress(StoreError):
                write = partial(uncommitted.write_paths, state=state, paths=paths)
                self.adapters.publish(uncommitted.KIND, write)
        return paths

    def _rule_files(self) -> tuple[str, ...]:
        snapshot = self.snapshot
        if snapshot.capped:
            return self.rule_files()
        if self._candidates is None or self._candidates[0].paths is not snapshot.paths:
            self._candidates = (snapshot, indexed_rule_files(snapshot, self.limits.max_bytes))
        return self._candidates[1]


def _since(started: float) -> float:
    return round((time.perf_counter() - started) * 1000, 3)
