"""A project opened for planning: what is known, kept in step with the disk, in memory and in generations.

Every plan begins with `Workspace.sync`: the disk is compared with the index, changed files are re-indexed in
place, new commits become episodes, changed rule files become rules. Nothing stale is ever served.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import msgspec

from workbench.errors import StaleProject, StoreError
from workbench.plan.intent import parse_intent
from workbench.plan.signals import ProjectView, view_project
from workbench.ports import Journal
from workbench.project import freshness as freshness_check
from workbench.project.index import ProjectIndex, build_index, update_index
from workbench.project.indexing import Extraction, extract_all
from workbench.project.saved import load_index, save_index
from workbench.project.scan import Lister, Scan, ScanLimits, scan
from workbench.project.snapshot import Snapshot, advance, pack, take_snapshot, unpack
from workbench.records.episodes import Commit
from workbench.records.project import Freshness, Skipped
from workbench.rules.rulebook import Rulebook, RuleStore, load_rulebook, rule_candidates
from workbench.sessions.history import History, empty_history, load_history, save_history
from workbench.sessions.importers.git import KIND, SOURCE, commit_episodes
from workbench.sessions.remember import FORGOTTEN, STREAM, recall

Progress = Callable[[str, int, int], None]

PROJECT = "project"
HISTORY = "history"
_SNAPSHOT = "snapshot.bin"
_REPORT = "scan.json"
_HISTORY_META = "meta.msgpack"
_BATCH = 500
_PUBLISH_FROM = 8  # fewer changed files than this are cheaper to re-extract than a generation is to write


@dataclass(frozen=True, slots=True)
class VersionControl:
    """What a repository answers.

    `commits(limit)` yields the newest `limit` commits (all of them for None), oldest first. `reachable()`
    are the ids
    of all commits that any reference still holds. `touched()` are paths with uncommitted changes. `inputs()`
    are files outside the project that decide which names are listed.
    """

    head: Callable[[], str | None]
    inputs: Callable[[], Sequence[str]]
    commits: Callable[[int | None], Iterator[Commit]]
    count_commits: Callable[[], int]
    is_ancestor: Callable[[str, str], bool]
    reachable: Callable[[], frozenset[str]]
    touched: Callable[[], tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Adapters:
    """Everything a workspace needs from outside: the store, version control, the clock.

    `latest(kind)` gives the directory of the current generation or None, and `publish(kind, write)` makes a
    new one
    and returns its directory. `home` is the user's home, None when rule files there are not to be read.
    `control` is None outside a repository. `degraded` names what is missing, `notes` say why in sentences.
    """

    root: Path
    project_id: str
    home: Path | None
    journal: Journal
    home_journal: Journal
    count_tokens: Callable[[str], int]
    latest: Callable[[str], Path | None]
    publish: Callable[[str, Callable[[Path], None]], Path]
    lock: Callable[[str], AbstractContextManager[None]]
    now: Callable[[], float]
    lister: Lister
    control: VersionControl | None = None
    degraded: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def head(self) -> str | None:
        """Return the commit checked out, None without one."""
        return None if self.control is None else self.control.head()


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of what is indexed and remembered."""

    max_files: int = 50_000
    max_bytes: int = 1_000_000
    history_commits: int = 2000
    max_mended: int = 2000
    excluded: tuple[str, ...] = ()
    workers: int | None = None


@dataclass(frozen=True, slots=True)
class Synced:
    """What one sync found and did. `cache` is hit (nothing to do), partial (mended) or miss (built)."""

    freshness: Freshness
    cache: str
    changed: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    episodes: int = 0
    forgotten: int = 0
    reason: str = ""
    stages: Mapping[str, float] = field(default_factory=dict)


@dataclass(slots=True)
class _Remembered:
    history: History
    heads: tuple[str, ...]
    journal_size: int
    tip: str | None


class Workspace:
    """One project's knowledge. Not thread-safe: callers serialise `sync` and `view`."""

    def __init__(self, adapters: Adapters, limits: Limits) -> None:
        self.adapters = adapters
        self.limits = limits
        self.scan_report: Mapping[str, object] = {}
        self._index: ProjectIndex | None = None
        self._snapshot: Snapshot | None = None
        self._remembered: _Remembered | None = None
        self._rulebook: Rulebook | None = None
        self._view: ProjectView | None = None
        self._touched: tuple[str, ...] = ()
        self._candidates: tuple[ProjectIndex, tuple[str, ...]] | None = None

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
        return self._remembered.history if self._remembered is not None else empty_history()

    @property
    def task_heads(self) -> tuple[str, ...]:
        """First lines of the past tasks, newest first."""
        return self._remembered.heads if self._remembered is not None else ()

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
            self._view = view_project(self.index, self.history, touched=self._touched)
        return self._view

    def sync(
        self, *, strict: bool = False, progress: Progress | None = None, rebuild: bool = False
    ) -> Synced:
        """Bring everything in step with the disk.

        Raises: StaleProject if `strict` and the index on disk was not up to date. Ctrl-C leaves the last
        generation.
        """
        stages: dict[str, float] = {}
        started = time.perf_counter()
        synced = self._sync_index(strict, progress, rebuild)
        stages["index"] = _since(started)
        started = time.perf_counter()
        imported, forgotten = self._sync_history(progress, rebuild)
        stages["history"] = _since(started)
        started = time.perf_counter()
        self._rulebook = load_rulebook(self._rule_store(), self._rule_files(), self._rulebook)
        stages["rules"] = _since(started)
        if synced.cache != "hit" or imported or forgotten or self._view is None:
            control = self.adapters.control
            self._touched = control.touched() if control is not None and control.head() else ()
            self._view = None
        return replace(synced, episodes=imported, forgotten=forgotten, stages=stages)

    def _rule_files(self) -> tuple[str, ...]:
        if self._candidates is None or self._candidates[0] is not self._index:
            self._candidates = (self.index, rule_candidates(self.index.positions))
        return self._candidates[1]

    def _rule_store(self) -> RuleStore:
        adapters = self.adapters
        return RuleStore(
            root=adapters.root,
            project_id=adapters.project_id,
            home=adapters.home,
            journal=adapters.journal,
            home_journal=adapters.home_journal,
            latest=adapters.latest,
            publish=adapters.publish,
            now=adapters.now,
            count_tokens=adapters.count_tokens,
        )

    def _sync_index(self, strict: bool, progress: Progress | None, rebuild: bool) -> Synced:
        if rebuild or (self._index is None and not self._open_index()):
            if strict and not rebuild:
                raise StaleProject(
                    "the project has no index yet", hint="run `workbench index`, or leave out --strict"
                )
            with self.adapters.lock("index"):
                if rebuild or not self._open_index():
                    self._build(progress)
                    return Synced(Freshness.FRESH, "miss", reason="built")
        report = freshness_check.check(
            self.snapshot, self.adapters.root, self.adapters.lister, head=self.adapters.head()
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
                self._build(progress)
            return Synced(report.state, "miss", reason=report.reason)
        self._mend(report, progress)
        return Synced(
            report.state, "partial", report.changed, report.added, report.removed, reason=report.reason
        )

    def _open_index(self) -> bool:
        directory = self.adapters.latest(PROJECT)
        if directory is None:
            return False
        try:
            index = load_index(directory)
            snapshot = unpack((directory / _SNAPSHOT).read_bytes())
            self.scan_report = json.loads((directory / _REPORT).read_text(encoding="utf-8"))
        except (OSError, ValueError, KeyError, msgspec.MsgspecError):
            return False  # a damaged generation is as good as none: the caller builds a new one
        if not snapshot.paths and index.count:
            return False
        self._index, self._snapshot, self._view = index, snapshot, None
        return True

    def _build(self, progress: Progress | None) -> None:
        scanned = self._scan(progress)
        paths = [found.path for found in scanned.files]
        extraction = extract_all(
            self.adapters.root,
            paths,
            cap=self.limits.max_bytes,
            progress=_stage(progress, "reading files"),
            workers=self.limits.workers,
        )
        readable = [path for path in paths if path in extraction.facts]
        self._index = build_index(
            readable,
            [extraction.facts[path] for path in readable],
            [extraction.stats[path].size for path in readable],
        )
        self._snapshot = take_snapshot(
            self.adapters.root,
            scanned,
            extraction.hashes,
            head=self.adapters.head(),
            inputs=control.inputs() if (control := self.adapters.control) is not None else (),
        )
        self.scan_report = _scan_report(scanned, extraction)
        self._publish_index()

    def _scan(self, progress: Progress | None) -> Scan:
        limits = ScanLimits(max_files=self.limits.max_files, max_bytes=self.limits.max_bytes)
        return scan(self.adapters.root, self.adapters.lister, limits, _stage(progress, "listing files"))

    def _mend(self, report: freshness_check.FreshnessReport, progress: Progress | None) -> None:
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
            head=self.adapters.head(),
        )
        self._view = None
        if len(wanted) + len(gone) >= _PUBLISH_FROM or report.state is Freshness.STALE:
            with self.adapters.lock("index"):
                self._publish_index()

    def _publish_index(self) -> None:
        index, snapshot, document = self.index, self.snapshot, dict(self.scan_report)

        def write(directory: Path) -> None:
            save_index(index, directory)
            (directory / _SNAPSHOT).write_bytes(pack(snapshot))
            (directory / _REPORT).write_text(json.dumps(document, sort_keys=True), encoding="utf-8")

        self._index = load_index(self.adapters.publish(PROJECT, write))
        self._view = None

    def _sync_history(self, progress: Progress | None, rebuild: bool) -> tuple[int, int]:
        adapters = self.adapters
        if self._remembered is None and not rebuild:
            self._open_history()
        tip = adapters.head()
        known = self._remembered
        imported = forgotten = 0
        if tip is not None and (known is None or known.tip != tip):
            imported, forgotten = self.import_commits(limit=self.limits.history_commits, progress=progress)
        size = adapters.journal.size(STREAM)
        if (
            rebuild
            or self._remembered is None
            or self._remembered.journal_size != size
            or self._remembered.tip != tip
        ):
            self._remember(size, tip)
        return imported, forgotten

    def _open_history(self) -> None:
        directory = self.adapters.latest(HISTORY)
        if directory is None:
            return
        try:
            history = load_history(directory)
            meta = msgspec.msgpack.decode((directory / _HISTORY_META).read_bytes())
            heads = tuple(str(head) for head in meta["heads"])
            if len(heads) == history.size:
                self._remembered = _Remembered(history, heads, int(meta["journal_size"]), meta["tip"])
        except (OSError, ValueError, KeyError, TypeError, msgspec.MsgspecError):
            return  # damaged: made anew from the journal below

    def import_commits(self, *, limit: int | None, progress: Progress | None = None) -> tuple[int, int]:
        """Import commits the journal does not have; returns (imported, forgotten).

        Incremental: only commits after the last imported one, unless the history was rewritten or `limit`
        asks for
        more of the past than there is. Episodes whose commit no reference holds any more are forgotten.
        """
        adapters = self.adapters
        control = adapters.control
        if control is None:
            return 0, 0
        with adapters.lock("history"):
            known = _known_commits(adapters.journal)
            forgotten = self._forget_rewritten(known)
            pending: list[Mapping[str, object]] = []
            imported = 0
            understand = partial(parse_intent, project_id=adapters.project_id)
            total = limit or control.count_commits()
            for seen, body in enumerate(
                commit_episodes(control.commits(limit), adapters.project_id, understand), 1
            ):
                if body["commit_sha"] not in known:
                    pending.append(body)
                if len(pending) >= _BATCH:
                    imported += len(adapters.journal.append(STREAM, KIND, pending, by=SOURCE, sync=False))
                    pending.clear()
                if progress is not None and seen % 50 == 0:
                    progress("reading history", min(seen, total), total)
            imported += len(adapters.journal.append(STREAM, KIND, pending, by=SOURCE)) if pending else 0
        return imported, forgotten

    def _forget_rewritten(self, known: frozenset[str]) -> int:
        adapters = self.adapters
        tip = self._remembered.tip if self._remembered is not None else None
        head = adapters.head()
        if not known or adapters.control is None or tip is None or head is None:
            return 0
        if adapters.control.is_ancestor(tip, head):
            return 0
        gone = sorted(known - adapters.control.reachable())
        if gone:
            body = {
                "session_ids": [f"git:{sha}" for sha in gone],
                "reason": "no reference holds these commits any more",
            }
            adapters.journal.append(STREAM, FORGOTTEN, [body], by=SOURCE)
        return len(gone)

    def _remember(self, size: int, tip: str | None) -> None:
        limit = max(self.limits.history_commits, 1)
        entries = (entry for _, entry in self.adapters.journal.read(STREAM))
        history, heads, _ = recall(entries, limit)

        def write(directory: Path) -> None:
            save_history(history, directory)
            meta = {"heads": heads, "journal_size": size, "tip": tip}
            (directory / _HISTORY_META).write_bytes(msgspec.msgpack.encode(meta))

        self.adapters.publish(HISTORY, write)
        self._remembered = _Remembered(history, heads, size, tip)
        self._view = None


def _known_commits(journal: Journal) -> frozenset[str]:
    known: set[str] = set()
    for _, entry in journal.read(STREAM):
        if entry.kind == KIND:
            known.add(str(entry.body.get("commit_sha", "")))
        elif entry.kind == FORGOTTEN:
            known.difference_update(
                session.removeprefix("git:") for session in entry.body.get("session_ids", ())
            )
    return frozenset(known)


def _scan_report(scanned: Scan, extraction: Extraction) -> dict[str, object]:
    counts = dict(scanned.skipped_counts)
    for skipped in extraction.skipped:
        counts[skipped.reason] = counts.get(skipped.reason, 0) + 1
    listed: list[Skipped] = [*scanned.skipped, *extraction.skipped]
    return {
        "files": len(extraction.facts),
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
