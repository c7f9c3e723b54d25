"""Rules of the store written into the files of an agent, and remembered as copies there."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from workbench.curation.store import record
from workbench.errors import ParseError
from workbench.rules.curation.ledger import AUTOMATIC, RuleLedger
from workbench.rules.curation.rulestore import LOCK, RuleStore
from workbench.rules.files.drift import write_pending
from workbench.rules.files.export import ExportedFile, export_files, is_of
from workbench.rules.files.placement import TARGETS, target_name
from workbench.rules.files.sync import SyncResult, sync_files
from workbench.rules.reading.discovery import RuleSource, read_source
from workbench.rules.rulebook import visible_rules
from workbench.rules.rulestate import find_sources


@dataclass(frozen=True, slots=True)
class Published:
    """What an export did, or would do: the target's files, and sentences about what could not be done."""

    files: tuple[ExportedFile, ...]
    notes: tuple[str, ...] = ()


def publish(
    store: RuleStore,
    candidates: Sequence[str],
    target: str,
    *,
    directories: Collection[str] | None = None,
    include_home: bool = False,
    dry_run: bool = False,
) -> Published:
    """Write the rules in force into the files of a target; with `dry_run` only say how.

    Edits that wait for the target's own files are written first. Files with conflicts are left alone.
    Raises: UsageError for an unknown target; ParseError where a file can't be added to; StoreError.
    """
    target = target_name(target)
    notes: list[str] = []
    mine = [path for path in candidates if _is_in(path, target)]
    if not dry_run and mine:
        done = write_pending(store, candidates, files=mine)
        notes += [f"{written.file}: {reason}" for written in done.written for reason in written.refused]
    with store.lock(LOCK):
        sources = find_sources(store, candidates)
        ledger = store.ledger()
        found = sync_files(store, ledger, sources)
        files = _export(store, ledger, found, sources, target, directories, include_home, notes)
        if not dry_run:
            record(store, found.drafts, by=AUTOMATIC)
            for file in files:
                if file.changed:
                    store.replace_file(store.root / file.path, file.data, file.before)
            _remember(store, candidates, files)
    return Published(files, tuple(notes))


def _export(
    store: RuleStore,
    ledger: RuleLedger,
    found: SyncResult,
    sources: Sequence[RuleSource],
    target: str,
    directories: Collection[str] | None,
    include_home: bool,
    notes: list[str],
) -> tuple[ExportedFile, ...]:
    """Work out the target's files from the rules in force."""
    rules = visible_rules(ledger.with_places().values(), store.project_id, home=store.home is not None)
    conflicted = {merge.state.file for merge in found.merges if merge.conflicts}
    waiting = {
        pending.rule.id: merge.state.file
        for merge in found.merges
        for pending in merge.pending
        if pending.base is None and pending.rule is not None
    }
    existing: dict[str, bytes] = {}
    unread: dict[str, Exception] = {}
    for source in sources:
        if source.home or not _is_in(source.path, target):
            continue
        try:
            existing[source.path] = read_source(source)
        except (OSError, ParseError) as error:
            unread[source.path] = error
    removed: set[str] = set()
    anchors: dict[str, list[tuple[str, int, int]]] = {}
    for path in existing:
        for anchor in ledger.files[path].anchors if path in ledger.files else ():
            rule = ledger.current(anchor.rule_id)
            if rule is None:
                removed.add(anchor.rule_id)
            if anchor.line:
                identifier = anchor.rule_id if rule is None else rule.id
                anchors.setdefault(path, []).append((identifier, anchor.line, anchor.end_line))
    going = [rule for rule in rules if not _is_in(waiting.get(rule.id, ""), target)]
    files = export_files(
        going,
        target,
        existing,
        anchors=anchors,
        removed=removed,
        directories=directories,
        include_home=include_home,
    )
    for file in files:
        if file.changed and file.path in unread:
            raise ParseError(
                f"is not written: {unread[file.path].__cause__ or unread[file.path]}",
                path=file.path,
                hint="Replace it by a file of the project, or export to another agent.",
            )
    notes += [f"{path}: {error}" for path, error in sorted(unread.items())]
    left = sorted(conflicted & {file.path for file in files if file.changed})
    notes += [f"{path} has conflicts and is left alone: workbench rules drift" for path in left]
    return tuple(file for file in files if file.path not in conflicted)


def _remember(store: RuleStore, candidates: Sequence[str], files: Sequence[ExportedFile]) -> None:
    """Read the files again, so that what was written is known as copies of the rules it says."""
    there = {file.path for file in files if file.data is not None}
    sources = find_sources(store, sorted({*candidates, *there}))
    found = sync_files(store, store.ledger(), sources)
    record(store, found.drafts, by=AUTOMATIC)


def _is_in(path: str, target: str) -> bool:
    return target in TARGETS and is_of(path, TARGETS[target])
