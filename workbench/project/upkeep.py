"""The project index kept up to date with the disk: opened, checked, mended in place, rebuilt, stored.

What is on disk is one generation of the index with the snapshot it was made from, and beside it what later
checks have verified of the same files, with the few that differ. Nothing is served that a check has found to
be stale.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from workbench import __version__
from workbench.errors import ParseError, StaleProject, StoreError
from workbench.ports import Damaged
from workbench.project import freshness as freshness_check
from workbench.project.freshness import FreshnessLimits, FreshnessReport
from workbench.project.index import ProjectIndex, load_index
from workbench.project.overlay import Overlay, apply_overlay, extend_overlay, pack_overlay, unpack_overlay
from workbench.project.scan import Lister, Scan, ScanLimits, scan
from workbench.project.snapshot import Snapshot, advance, pack, take_snapshot, unpack
from workbench.records.dataclass import dataclass
from workbench.records.project import CacheStatus, Freshness, Skipped

if TYPE_CHECKING:
    from workbench.project.extraction import Extraction, TextKeeper

Progress = Callable[[str, int, int], None]

PROJECT = "project"
SEEN = "seen"
_SNAPSHOT = "snapshot.bin"
_REPORT = "scan.json"
_BASE = "base"
_OVERLAY = "overlay.bin"
_SEEN_FROM = 20  # rows or names verified again that are worth keeping for the next process
_PUBLISH_FROM = 8  # fewer files than this are applied to a generation faster than a new one is written
_DAMAGE = (OSError, ValueError, KeyError, TypeError, IndexError, ParseError, msgspec.MsgspecError)


@dataclass(frozen=True, slots=True)
class IndexStore:
    """Where the index of a project comes from and goes to.

    `latest(kind)` gives the directory of the current generation, `publish(kind, write)` makes a new one.
    `inputs()` are files outside the project that decide which names are listed. `texts` keeps what is made of
    files beside the index.
    """

    root: Path
    lister: Lister
    inputs: Callable[[], tuple[str, ...]]
    latest: Callable[[str], Path | Damaged | None]
    publish: Callable[[str, Callable[[Path], None]], Path]
    lock: Callable[[], AbstractContextManager[None]]
    texts: TextKeeper | None = None


@dataclass(frozen=True, slots=True)
class IndexLimits:
    """Bounds of what is indexed. With other files, bytes or exclusions it is another index."""

    max_files: int
    max_bytes: int
    excluded: tuple[str, ...]
    max_mended: int
    workers: int | None


@dataclass(frozen=True, slots=True)
class IndexSync:
    """What a sync found and did. `cache` is hit (nothing to do), partial (mended) or miss (built)."""

    freshness: Freshness
    cache: CacheStatus
    changed: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    reason: str = ""


@dataclass(frozen=True, slots=True)
class HeldIndex:
    """An index in memory and the snapshot of the files it describes.

    `base` is the generation it was read from, None where none could be written. `ground` is the index of that
    and `overlay` what `index` differs in from it.
    """

    index: ProjectIndex
    snapshot: Snapshot
    report: Mapping[str, object]
    base: Path | None
    ground: ProjectIndex
    overlay: Overlay = field(default_factory=Overlay)


class IndexKeeper:
    """Keeps one project's index; not thread-safe. `notes` say what was damaged or could not be kept."""

    def __init__(self, store: IndexStore) -> None:
        self.store = store
        self.held: HeldIndex | None = None
        self.notes: list[str] = []

    def sync(
        self,
        head: str | None,
        limits: IndexLimits,
        *,
        strict: bool = False,
        rebuild: bool = False,
        settle: bool = False,
        progress: Progress | None = None,
    ) -> IndexSync:
        """Bring the index up to date with the disk; `head` is the commit checked out.

        A few changed files are kept beside the generation, with `settle` in a new one. Raises: StaleProject
        if `strict` and the index was not up to date. Ctrl-C leaves what was there before.
        """
        held = None if rebuild else self.held or self._open(limits)
        if held is None:
            if strict and not rebuild:
                raise StaleProject(
                    "the project has no index for these settings yet",
                    hint="run `workbench index`, or leave out --strict",
                )
            with self.store.lock():
                # Another process may have built it while this one waited.
                held = None if rebuild else self._open(limits)
                if held is None:
                    self.held = self._build(head, limits, progress)
                    return IndexSync(Freshness.FRESH, CacheStatus.MISS, reason="built")
        report = self._check(held, head, limits)
        held = self.held = self._note_verified(held, report)
        if report.state is Freshness.FRESH:
            if settle and (held.base is None or held.overlay):
                self.held = self._publish(held)
            return IndexSync(Freshness.FRESH, CacheStatus.HIT)
        if strict:
            raise StaleProject(
                f"the index is {report.state}: {report.reason}",
                hint="run `workbench refresh`, or leave out --strict",
            )
        differing = len(report.changed) + len(report.added) + len(report.removed)
        outdated = report.state is Freshness.STALE and not report.head_moved and not differing
        if outdated or differing > limits.max_mended:
            with self.store.lock():
                self.held = self._build(head, limits, progress)
            return IndexSync(report.state, CacheStatus.MISS, reason=report.reason)
        held = self.held = self._mend(held, report, head, limits, progress)
        if settle or len(held.overlay) >= _PUBLISH_FROM:
            with self.store.lock():
                self.held = self._publish(held)
        else:
            self._keep_seen(held)
        paths = (report.changed, report.added, report.removed)
        return IndexSync(report.state, CacheStatus.PARTIAL, *paths, report.reason)

    def stored_index(self, limits: IndexLimits) -> HeldIndex | None:
        """Return the index on disk, which the last sync of any process left; None without one."""
        return self._open(limits)

    def look(self, head: str | None, limits: IndexLimits) -> FreshnessReport | None:
        """Return how the stored index compares with the disk, None without one; nothing is changed."""
        self.held = self.held or self._open(limits)
        return None if self.held is None else self._check(self.held, head, limits)

    def _check(self, held: HeldIndex, head: str | None, limits: IndexLimits) -> FreshnessReport:
        bounds = FreshnessLimits(max_bytes=limits.max_bytes)
        return freshness_check.check(
            held.snapshot, self.store.root, self.store.lister, head=head, limits=bounds
        )

    def _open(self, limits: IndexLimits) -> HeldIndex | None:
        directory = self.store.latest(PROJECT)
        if directory is None:
            return None
        try:
            if isinstance(directory, Damaged):
                raise ValueError(directory.reason)
            index = load_index(directory)
            snapshot = unpack((directory / _SNAPSHOT).read_bytes())
            report = json.loads((directory / _REPORT).read_bytes())
            if not isinstance(report, dict) or (index.count and not snapshot.paths):
                raise ValueError("its parts do not belong together")
        except _DAMAGE as error:
            self.notes.append(f"the stored index could not be used ({error}) and is rebuilt")
            return None
        if report.get("made_for") != _made_for(limits):
            return None  # another set of files, or facts that another version extracted
        return self._with_seen(HeldIndex(index, snapshot, report, directory, index), directory)

    def _with_seen(self, held: HeldIndex, base: Path) -> HeldIndex:
        """Return a generation with what later checks have verified and found to differ."""
        directory = self.store.latest(SEEN)
        if not isinstance(directory, Path):
            return held
        try:
            if (directory / _BASE).read_text(encoding="utf-8") != base.name:
                return held
            overlay = unpack_overlay((directory / _OVERLAY).read_bytes())
            snapshot = unpack((directory / _SNAPSHOT).read_bytes())
            index = apply_overlay(held.ground, overlay)
            return HeldIndex(index, snapshot, held.report, base, held.ground, overlay)
        except _DAMAGE:
            return held  # what is beside the index is as true, only older

    def _note_verified(self, held: HeldIndex, report: FreshnessReport) -> HeldIndex:
        """Return what is held with what a check verified, and keep that for the next process if it pays.

        Not when files came or went: their directories count as looked into from then on, which is only true
        for whoever indexes the files as well.
        """
        found = replace(held, snapshot=report.snapshot)
        if not report.added and not report.removed and _is_worth_keeping(held.snapshot, report.snapshot):
            self._keep_seen(found)
        return found

    def _keep_seen(self, held: HeldIndex) -> None:
        base = held.base
        if base is None:
            return

        def write(directory: Path) -> None:
            (directory / _SNAPSHOT).write_bytes(pack(held.snapshot))
            (directory / _OVERLAY).write_bytes(pack_overlay(held.overlay))
            (directory / _BASE).write_text(base.name, encoding="utf-8")

        try:
            self.store.publish(SEEN, write)
        except StoreError as error:
            self.notes.append(f"what was verified is not kept for the next run: {error.message}")

    def _build(self, head: str | None, limits: IndexLimits, progress: Progress | None) -> HeldIndex:
        from workbench.project.extraction import extract_all  # parsers, for those who read files
        from workbench.project.updates import IndexBuilder

        store = self.store
        bounds = ScanLimits(max_files=limits.max_files, max_bytes=limits.max_bytes)
        scanned = scan(store.root, store.lister, bounds, _stage(progress, "listing files"))
        builder = IndexBuilder()
        extraction = extract_all(
            store.root,
            [file.path for file in scanned.files],
            cap=limits.max_bytes,
            take=builder.add,
            keeper=store.texts,
            progress=_stage(progress, "reading files"),
            workers=limits.workers,
        )
        if store.texts is not None:
            store.texts.tidy()
        index = builder.finish()
        snapshot = take_snapshot(store.root, scanned, extraction.hashes, head=head, inputs=store.inputs())
        report = {**_scan_report(scanned, extraction, index.count), "made_for": _made_for(limits)}
        return self._publish(HeldIndex(index, snapshot, report, None, index))

    def _mend(
        self,
        held: HeldIndex,
        report: FreshnessReport,
        head: str | None,
        limits: IndexLimits,
        progress: Progress | None,
    ) -> HeldIndex:
        from workbench.project.extraction import extract_all

        wanted = sorted({*report.changed, *report.added})
        extraction = extract_all(
            self.store.root,
            wanted,
            cap=limits.max_bytes,
            keeper=self.store.texts,
            progress=_stage(progress, "reading changed files"),
            workers=limits.workers,
        )
        gone = [*report.removed, *(path for path in wanted if path not in extraction.facts)]
        changed = {path: (facts, extraction.stats[path].size) for path, facts in extraction.facts.items()}
        snapshot = advance(
            held.snapshot,
            {path: (found, extraction.hashes[path]) for path, found in extraction.stats.items()},
            [path for path in gone if path not in extraction.stats],
            seen_ns=report.checked_ns,
            head=head,
        )
        if not changed and not gone:  # HEAD moved, and the files are those of before
            return replace(held, snapshot=snapshot)
        index, overlay = extend_overlay(held.ground, held.overlay, held.index, changed, gone)
        return replace(held, index=index, snapshot=snapshot, overlay=overlay)

    def _publish(self, held: HeldIndex) -> HeldIndex:
        """Write what is held as a new generation and return it read back, or as it was if that fails."""
        from workbench.project.updates import save_index  # resolvers, which no reader needs

        document = dict(held.report)

        def write(directory: Path) -> None:
            save_index(held.index, directory)
            (directory / _SNAPSHOT).write_bytes(pack(held.snapshot))
            (directory / _REPORT).write_text(json.dumps(document, sort_keys=True), encoding="utf-8")

        try:
            directory = self.store.publish(PROJECT, write)
            index = load_index(directory)
            return HeldIndex(index, held.snapshot, held.report, directory, index)
        except StoreError as error:
            self.notes.append(f"the index is not kept for the next run: {error.message}")
        except _DAMAGE:
            return held  # others published twice meanwhile and removed it: what is in memory is as good
        return held


def _made_for(limits: IndexLimits) -> list[object]:
    """Return everything besides the files that decides what an index holds."""
    return [__version__, limits.max_files, limits.max_bytes, list(limits.excluded)]


def _is_worth_keeping(before: Snapshot, after: Snapshot) -> bool:
    """Whether a check verified so much again that the next process should not have to do it again."""
    if before is after:
        return False
    if before.inputs != after.inputs or before.inputs_seen != after.inputs_seen:
        return True
    if before.paths != after.paths or before.directories != after.directories:
        return True
    rows = int((before.seen != after.seen).sum())
    return rows + len(before.others ^ after.others) >= _SEEN_FROM


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
