"""A project opened for planning: what is known, synced with the disk, in memory and in generations.

Every plan begins with `Workspace.sync`: the disk is compared with the index, changed files are re-indexed in
place, new commits become episodes, changed rule files become rules. Nothing stale is ever served.
"""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.errors import GitError, StoreError
from workbench.plan.adapters import Adapters, WorkspaceLimits
from workbench.plan.view import RankingView, view_project
from workbench.project.freshness import FreshnessReport
from workbench.project.index import ProjectIndex
from workbench.project.scan import Lister, ScanLimits, scan
from workbench.project.snapshot import Snapshot
from workbench.project.upkeep import PROJECT, HeldIndex, IndexKeeper, IndexLimits
from workbench.records.dataclass import dataclass
from workbench.records.episodes import Completeness
from workbench.records.project import CacheStatus, Freshness
from workbench.records.worktree import Listing
from workbench.rules.curation.rulestore import CONFLICTS, RuleStore
from workbench.rules.reading.discovery import MAX_FILES
from workbench.rules.rulebook import (
    Rulebook,
    follow_rulebook,
    load_rulebook,
    rule_candidates,
    stored_rulebook,
)
from workbench.sessions.edits import EditKeeper, Edits
from workbench.sessions.history import History, empty_history
from workbench.sessions.past import Past, PastKeeper, PastSync

if TYPE_CHECKING:
    from workbench.memory.learnings.keeping import Kept
    from workbench.records.rules import Rule
    from workbench.rules.conflicts.findings import Duplicate
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


class Workspace:
    """One project's knowledge. Not thread-safe: callers serialise `sync` and `view`."""

    def __init__(self, adapters: Adapters, limits: WorkspaceLimits) -> None:
        self.adapters = adapters
        self.limits = limits
        self._indexed = IndexKeeper(adapters.index_store())
        self._past = PastKeeper(adapters.past_store(limits), limits.workers)
        self._edits = EditKeeper(adapters.edit_store())
        self._rule_store: RuleStore | None = None
        self._rulebook: Rulebook | None = None
        self._listed: _ListedRuleFiles | None = None
        self._learnings: Kept | None = None
        self._view: RankingView | None = None
        self._last_view: RankingView | None = None  # of before the last change: paths are mostly the same
        self._touched: tuple[str, ...] = ()
        self._synced_head: str | None = None
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
    def rulebook(self) -> Rulebook:
        """The rules as of the last sync."""
        if self._rulebook is None:
            raise StoreError("the rules have not been read", hint="run `workbench index`")
        return self._rulebook

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
        keeper, index_before = self._indexed, self._indexed.held
        keeper.notes = notes
        found = keeper.sync(
            head, self._index_limits(), strict=strict, rebuild=rebuild, settle=settle, progress=progress
        )
        stages["index"] = _since(started)
        started = time.perf_counter()
        before = self._past.past
        past = self._past.sync(
            head, limit=max(self.limits.history_commits, 0), progress=progress, rebuild=rebuild
        )
        notes += past.notes
        if settle:
            notes += self._sync_edits(head, rebuild)
        stages["history"] = _since(started)
        started = time.perf_counter()
        known = self._rulebook
        book = load_rulebook(self.rule_store(), self._rule_files(), known, rebuild=rebuild)
        self._rulebook = book
        notes += book.notes
        stages["rules"] = _since(started)
        if not self.index.positions:
            notes.append("the project has no files to plan from")
        hit = found.cache is CacheStatus.HIT
        same = hit and index_before is not None and index_before.index is self.index
        if not same or before is None or before.history is not past.past.history:
            self._touched = self._find_uncommitted(head, notes)
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

    def sync_rules(
        self, *, rebuild: bool = False, listed_for: float = 0.0
    ) -> tuple[Rulebook, tuple[str, ...]]:
        """Sync the rules alone with rule files and journals; return them and notes.

        The project's names are listed and nothing is indexed, which takes a fraction of a `sync`. Names that
        were listed in the last `listed_for` seconds are not listed again where no rule file changed. Raises:
        StoreError.
        """
        adapters, at, former = self.adapters, time.monotonic(), self._listed
        if self._rulebook is not None and former is not None and at - former.at < listed_for and not rebuild:
            book = follow_rulebook(self.rule_store(), former.names, self._rulebook)
            if book is not None:
                self._rulebook = book
                return book, (*former.notes, *book.notes)
        names, notes = listed_rule_files(adapters.root, adapters.lister, self.limits.max_bytes)
        self._rulebook = load_rulebook(self.rule_store(), names, self._rulebook, rebuild=rebuild)
        self._listed = _ListedRuleFiles(at, names, notes)
        return self._rulebook, (*notes, *self._rulebook.notes)

    def rule_files(self) -> tuple[str, ...]:
        """Return the project's rule files by listing its names, sorted."""
        adapters = self.adapters
        return listed_rule_files(adapters.root, adapters.lister, self.limits.max_bytes)[0]

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
        return []

    def _find_uncommitted(self, head: str | None, notes: list[str]) -> tuple[str, ...]:
        control = self.adapters.control
        if control is None or head is None:
            return ()
        try:
            return control.touched()
        except GitError as error:
            notes.append(f"uncommitted changes are not considered: {error.message}")
            return ()

    def _rule_files(self) -> tuple[str, ...]:
        snapshot, limit = self.snapshot, self.limits.max_bytes
        if snapshot.capped:
            return listed_rule_files(self.adapters.root, self.adapters.lister, limit)[0]
        if self._candidates is None or self._candidates[0].paths is not snapshot.paths:
            self._candidates = (snapshot, indexed_rule_files(snapshot, limit))
        return self._candidates[1]

    def learnings(self) -> Kept | None:
        """Return what was learned of the project, None where no iteration was ever recorded.

        Raises: StoreError.
        """
        from workbench.memory.learnings.kinds import has_memory

        if not has_memory(self.adapters.journal) and not has_memory(self.adapters.home_journal):
            return None
        from workbench.memory.learnings.keeping import load_kept
        from workbench.memory.learnings.learningstore import store_of

        rules = self.rule_store()
        self._learnings = load_kept(store_of(rules), rules.latest, rules.publish, self._learnings)
        return self._learnings

    def rule_store(self) -> RuleStore:
        """Return where the project's rules come from and go to; what it folded once is not folded again."""
        if self._rule_store is None:
            self._rule_store = self.adapters.rule_store()
        return self._rule_store

    def known_duplicates(self, rules: Mapping[str, Rule]) -> tuple[Duplicate, ...]:
        """Return which of some rules in force, by id, are known duplicates of another of them."""
        directory = self.adapters.usable(CONFLICTS)
        if directory is None:
            return ()
        from workbench.rules.conflicts.findings import known_duplicates

        return known_duplicates(directory, rules, self.rulebook.settled)


def indexed_rule_files(snapshot: Snapshot, max_bytes: int) -> tuple[str, ...]:
    """Return the rule files among the files an index was made from, sorted.

    A capped index leaves names out: list those instead.
    """
    paths, sizes = snapshot.paths, snapshot.sizes
    return tuple(path for path in rule_candidates(paths) if sizes[bisect_left(paths, path)] <= max_bytes)


@dataclass(frozen=True, slots=True)
class _ListedRuleFiles:
    """The rule files among a project's names, when they were listed (monotonic seconds), and notes."""

    at: float
    names: tuple[str, ...]
    notes: tuple[str, ...]


def listed_rule_files(root: Path, lister: Lister, max_bytes: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return (rule files by listing the project's names, sorted; notes). Nothing is read or indexed."""

    def only_rules(only: Sequence[str] | None) -> Listing:
        return Listing(rule_candidates(lister(only).paths))

    found = scan(root, only_rules, ScanLimits(max_files=MAX_FILES, max_bytes=max_bytes))
    return rule_candidates(entry.path for entry in found.files), found.notes


def _since(started: float) -> float:
    return round((time.perf_counter() - started) * 1000, 3)
