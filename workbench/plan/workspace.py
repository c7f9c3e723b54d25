"""A project opened for planning: what is known, kept in step with the disk, in memory and in generations.

Every plan begins with `Workspace.sync`: the disk is compared with the index, changed files are re-indexed in
place, new commits become episodes, changed rule files become rules. Nothing stale is ever served.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from workbench import __version__
from workbench.errors import GitError, ParseError, StaleProject, StoreError
from workbench.plan.adapters import Adapters, Limits, VersionControl
from workbench.plan.intent import parse_intent
from workbench.plan.signals import ProjectView, view_project
from workbench.ports import Damaged
from workbench.project import freshness as freshness_check
from workbench.project.freshness import FreshnessLimits, FreshnessReport
from workbench.project.index import ProjectIndex
from workbench.project.saved import load_index, save_index
from workbench.project.scan import Scan, ScanLimits, scan
from workbench.project.snapshot import Snapshot, advance, pack, take_snapshot, unpack
from workbench.records.project import Freshness, Skipped
from workbench.rules.rulebook import (
    Rulebook,
    RuleStore,
    load_rulebook,
    rule_candidates,
    stored_rulebook,
)
from workbench.sessions.history import History, empty_history
from workbench.sessions.past import GENERATION as HISTORY
from workbench.sessions.past import Past, PastKeeper, PastStore, PastSync

if TYPE_CHECKING:
    from workbench.project.indexing import Extraction

__all__ = ["Adapters", "Limits", "Progress", "Stored", "Synced", "VersionControl", "Workspace"]

Progress = Callable[[str, int, int], None]

PROJECT = "project"
_SNAPSHOT = "snapshot.bin"
_REPORT = "scan.json"
_PUBLISH_FROM = 8  # fewer changed files than this are cheaper to re-extract than a generation is to write
_DAMAGE = (OSError, ValueError, KeyError, TypeError, IndexError, ParseError, msgspec.MsgspecError)


@dataclass(frozen=True, slots=True)
class Synced:
    """What one sync found and did.

    `cache` is hit (nothing to do), partial (mended) or miss (built). `stages` are milliseconds. `notes` say
    in sentences what the user should know: what was damaged, missing or could not be kept.
    """

    freshness: Freshness
    cache: str
    changed: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    episodes: int = 0
    forgotten: int = 0
    reason: str = ""
    stages: Mapping[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


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

    def __init__(self, adapters: Adapters, limits: Limits) -> None:
        self.adapters = adapters
        self.limits = limits
        self.scan_report: Mapping[str, object] = {}
        self._index: ProjectIndex | None = None
        self._snapshot: Snapshot | None = None
        self._past = PastKeeper(_past_store(adapters), limits.workers)
        self._rulebook: Rulebook | None = None
        self._view: ProjectView | None = None
        self._last_view: ProjectView | None = None  # of before the last change: paths are mostly the same
        self._touched: tuple[str, ...] = ()
        self._candidates: tuple[Mapping[str, int], tuple[str, ...]] | None = None
        self._notes: list[str] = []

    @property
    def indexed(self) -> bool:
        """Whether an index is at hand, in memory or on disk."""
        return self._index is not None or self.adapters.latest(PROJECT) is not None

    @property
    def index(self) -> ProjectIndex:
        """The index as of the last sync."""
        if self._index is None:
            raise StoreError("the project has not been indexed", hint="run `workbench index`")
        return self._index

    @property
    def snapshot(self) -> Snapshot:
        """What the index was made from."""
        if self._snapshot is None:
            raise StoreError("the project has not been indexed", hint="run `workbench index`")
        return self._snapshot

    @property
    def history(self) -> History:
        """Past tasks as of the last sync."""
        return self._past.past.history if self._past.past is not None else empty_history()

    @property
    def task_heads(self) -> tuple[str, ...]:
        """First lines of the past tasks, newest first."""
        return self._past.past.heads if self._past.past is not None else ()

    @property
    def rulebook(self) -> Rulebook:
        """The rules as of the last sync."""
        if self._rulebook is None:
            raise StoreError("the rules have not been read", hint="run `workbench index`")
        return self._rulebook

    @property
    def view(self) -> ProjectView:
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
        """Bring everything in step with the disk.

        A few changed files are mended in memory alone, which is cheaper than writing an index; with `settle`
        the index on disk holds them, too, so that the next process finds it fresh.

        Raises: StaleProject if `strict` and the index on disk was not up to date. Ctrl-C leaves the last
        generation.
        """
        self._notes = []
        stages: dict[str, float] = {}
        head = self._head()
        started = time.perf_counter()
        synced = self._sync_index(head, strict, progress, rebuild, settle)
        stages["index"] = _since(started)
        started = time.perf_counter()
        before = self._past.past
        past = self._past.sync(
            head, limit=max(self.limits.history_commits, 0), progress=progress, rebuild=rebuild
        )
        self._notes += past.notes
        stages["history"] = _since(started)
        started = time.perf_counter()
        self._rulebook = load_rulebook(
            self._rule_store(), self._rule_files(), self._rulebook, rebuild=rebuild
        )
        self._notes += self._rulebook.notes
        stages["rules"] = _since(started)
        if not self.index.positions:
            self._notes.append("the project has no files to plan from")
        same_past = before is not None and before.history is past.past.history
        if synced.cache != "hit" or not same_past or self._view is None:
            self._touched = self._uncommitted(head)
            self._view = None
        return replace(
            synced,
            episodes=past.imported,
            forgotten=past.forgotten,
            stages=stages,
            notes=tuple(dict.fromkeys(self._notes)),
        )

    def look(self) -> Stored:
        """Return what is stored and how it compares with the disk; nothing is brought in step."""
        self._notes = []
        head = self._head()
        report = None
        if self._index is not None or self._open_index():
            limits = FreshnessLimits(max_bytes=self.limits.max_bytes)
            report = freshness_check.check(
                self.snapshot, self.adapters.root, self.adapters.lister, head=head, limits=limits
            )
        rules = self._rulebook or stored_rulebook(self._rule_store())
        return Stored(report, self._past.stored(), rules, tuple(dict.fromkeys(self._notes)))

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

    def _head(self) -> str | None:
        try:
            return self.adapters.head()
        except GitError as error:
            self._notes.append(f"history is left out: {error.message}")
            return None

    def _uncommitted(self, head: str | None) -> tuple[str, ...]:
        control = self.adapters.control
        if control is None or head is None:
            return ()
        try:
            return control.touched()
        except GitError as error:
            self._notes.append(f"uncommitted changes are not considered: {error.message}")
            return ()

    def _rule_files(self) -> tuple[str, ...]:
        positions = self.index.positions
        if self._candidates is None or self._candidates[0] is not positions:
            self._candidates = (positions, rule_candidates(positions))
        return self._candidates[1]

    def _rule_store(self) -> RuleStore:
        adapters = self.adapters
        return RuleStore(
            root=adapters.root,
            project_id=adapters.project_id,
            home=adapters.home,
            journal=adapters.journal,
            home_journal=adapters.home_journal,
            latest=partial(_usable, adapters),
            publish=adapters.publish,
            lock=adapters.lock,
            now=adapters.now,
            count_tokens=adapters.count_tokens,
        )

    def _sync_index(
        self, head: str | None, strict: bool, progress: Progress | None, rebuild: bool, settle: bool
    ) -> Synced:
        if rebuild or (self._index is None and not self._open_index()):
            if strict and not rebuild:
                raise StaleProject(
                    "the project has no index yet", hint="run `workbench index`, or leave out --strict"
                )
            with self.adapters.lock("index"):
                # Another process may have built it while this one waited.
                if rebuild or not self._open_index():
                    self._build(head, progress)
                    return Synced(Freshness.FRESH, "miss", reason="built")
        limits = FreshnessLimits(max_bytes=self.limits.max_bytes)
        report = freshness_check.check(
            self.snapshot, self.adapters.root, self.adapters.lister, head=head, limits=limits
        )
        self._snapshot = report.snapshot
        if report.state is Freshness.FRESH:
            return Synced(Freshness.FRESH, "hit")
        if strict:
            raise StaleProject(
                f"the index is {report.state}: {report.reason}",
                hint="run `workbench refresh`, or leave out --strict",
            )
        differing = len(report.changed) + len(report.added) + len(report.removed)
        outdated = report.state is Freshness.STALE and not report.head_moved and not differing
        if outdated or differing > self.limits.max_mended:
            with self.adapters.lock("index"):
                self._build(head, progress)
            return Synced(report.state, "miss", reason=report.reason)
        self._mend(report, head, progress, settle)
        return Synced(
            report.state, "partial", report.changed, report.added, report.removed, reason=report.reason
        )

    def _open_index(self) -> bool:
        directory = self.adapters.latest(PROJECT)
        if directory is None:
            return False
        try:
            if isinstance(directory, Damaged):
                raise ValueError(directory.reason)
            index = load_index(directory)
            snapshot = unpack((directory / _SNAPSHOT).read_bytes())
            report = json.loads((directory / _REPORT).read_bytes())
            if not isinstance(report, dict) or (index.count and not snapshot.paths):
                raise ValueError("its parts do not belong together")
        except _DAMAGE as error:
            self._notes.append(f"the stored index could not be used ({error}); it was built anew")
            return False
        if report.get("made_for") != self._made_for():
            return False  # other limits, other exclusions or another version: another set of files or facts
        self.scan_report = report
        self._index, self._snapshot, self._view = index, snapshot, None
        return True

    def _made_for(self) -> list[object]:
        """Return everything besides the files that decides what an index holds."""
        limits = self.limits
        return [__version__, limits.max_files, limits.max_bytes, list(limits.excluded)]

    def _build(self, head: str | None, progress: Progress | None) -> None:
        from workbench.project.indexing import extract_all  # parsers, for those who read files
        from workbench.project.updating import IndexBuilder

        scanned = self._scan(progress)
        builder = IndexBuilder()
        extraction = extract_all(
            self.adapters.root,
            [found.path for found in scanned.files],
            cap=self.limits.max_bytes,
            take=builder.add,
            progress=_stage(progress, "reading files"),
            workers=self.limits.workers,
        )
        self._index = builder.finish()
        control = self.adapters.control
        self._snapshot = take_snapshot(
            self.adapters.root,
            scanned,
            extraction.hashes,
            head=head,
            inputs=() if control is None else control.inputs(),
        )
        report = _scan_report(scanned, extraction, self._index.count)
        self.scan_report = {**report, "made_for": self._made_for()}
        self._publish_index()

    def _scan(self, progress: Progress | None) -> Scan:
        limits = ScanLimits(max_files=self.limits.max_files, max_bytes=self.limits.max_bytes)
        return scan(self.adapters.root, self.adapters.lister, limits, _stage(progress, "listing files"))

    def _mend(
        self, report: FreshnessReport, head: str | None, progress: Progress | None, settle: bool
    ) -> None:
        from workbench.project.indexing import extract_all
        from workbench.project.updating import update_index

        wanted = sorted({*report.changed, *report.added})
        extraction = extract_all(
            self.adapters.root,
            wanted,
            cap=self.limits.max_bytes,
            progress=_stage(progress, "reading changed files"),
        )
        gone = [*report.removed, *(path for path in wanted if path not in extraction.facts)]
        changed = {path: (facts, extraction.stats[path].size) for path, facts in extraction.facts.items()}
        if changed or gone:
            self._index = update_index(self.index, changed, gone)
        self._snapshot = advance(
            report.snapshot,
            {path: (found, extraction.hashes[path]) for path, found in extraction.stats.items()},
            [path for path in gone if path not in extraction.stats],
            seen_ns=report.checked_ns,
            head=head,
        )
        self._view = None
        if settle or len(wanted) + len(gone) >= _PUBLISH_FROM or report.state is Freshness.STALE:
            with self.adapters.lock("index"):
                self._publish_index()

    def _publish_index(self) -> None:
        index, snapshot, document = self.index, self.snapshot, dict(self.scan_report)

        def write(directory: Path) -> None:
            save_index(index, directory)
            (directory / _SNAPSHOT).write_bytes(pack(snapshot))
            (directory / _REPORT).write_text(json.dumps(document, sort_keys=True), encoding="utf-8")

        self._view = None
        try:
            self._index = load_index(self.adapters.publish(PROJECT, write))
        except StoreError as error:
            self._notes.append(f"the index is not kept for the next run: {error.message}")


def _past_store(adapters: Adapters) -> PastStore:
    control = adapters.control
    return PastStore(
        project_id=adapters.project_id,
        journal=adapters.journal,
        open=partial(adapters.latest, HISTORY),
        publish=partial(adapters.publish, HISTORY),
        lock=partial(adapters.lock, HISTORY),
        understand=partial(parse_intent, project_id=adapters.project_id),
        commits=None if control is None else control.commits,
    )


def _usable(adapters: Adapters, kind: str) -> Path | None:
    """Return the current generation of a kind that is made anew without a word when it is damaged."""
    found = adapters.latest(kind)
    return None if isinstance(found, Damaged) else found


def _scan_report(scanned: Scan, extraction: Extraction, files: int) -> dict[str, object]:
    counts = dict(scanned.skipped_counts)
    for skipped in extraction.skipped:
        counts[skipped.reason] = counts.get(skipped.reason, 0) + 1
    listed: list[Skipped] = [*scanned.skipped, *extraction.skipped]
    return {
        "files": files,
        "capped": scanned.capped,
        "skipped": dict(sorted(counts.items())),
        "examples": [
            [found.path.encode("utf-8", "replace").decode(), found.reason] for found in listed[:200]
        ],
        "notes": list(scanned.notes),
    }


def _stage(progress: Progress | None, name: str) -> Callable[[int, int], None] | None:
    return None if progress is None else lambda done, total: progress(name, done, total)


def _since(started: float) -> float:
    return round((time.perf_counter() - started) * 1000, 3)
