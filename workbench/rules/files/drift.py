"""Drift between rule files and the store: finding it, syncing both sides, settling conflicts.

Finding it changes nothing. Syncing takes what only files changed into the store and writes what only
the store changed into the files, each edit into its own lines; what both changed stays as it is on both sides
until a person says which of the two holds.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path

from workbench.curation.records import StepDraft
from workbench.curation.store import record
from workbench.errors import ParseError, UsageError
from workbench.records.dataclass import dataclass
from workbench.records.rules import Rule
from workbench.rules.curation.ledger import AUTOMATIC, EXPORT, FileState, RuleLedger, Undo, with_undo
from workbench.rules.curation.lineage import text_digest
from workbench.rules.curation.rulestore import LOCK, RuleStore
from workbench.rules.curation.ruletype import PUT, from_body
from workbench.rules.files.edits import try_edits, undo_between
from workbench.rules.files.merge import FileConflict, FileMerge, FromFile, Incoming, Pending
from workbench.rules.files.sync import SyncResult, find_named_sources, sync_files
from workbench.rules.files.unit_edits import Delete, Edit, Insert, Replace
from workbench.rules.reading.discovery import RuleSource, read_source
from workbench.rules.reading.imports import content_digest
from workbench.rules.rulestate import find_sources


@dataclass(frozen=True, slots=True)
class _WordPlace:
    """A file that is to say a rule's words, and the edit that makes it. `state` is None for an unread one."""

    file: str
    state: FileState | None
    edit: Edit


def refuse_unwritable(
    store: RuleStore,
    candidates: Callable[[], Sequence[str]],
    ledger: RuleLedger,
    drafts: StepDraft[Rule],
    known: Container[str],
) -> None:
    """Raise UsageError if a file would not be read back with the words of a step that it is to say.

    `known` are the ids of the rules there were before the step. Files that changed since they were last read
    are passed over: what becomes of them is seen when they are merged.
    """
    new = [from_body(draft.body) for draft in drafts.entries if draft.kind == PUT]
    places = [place for rule in new if rule.id not in known for place in _word_places(ledger, rule)]
    if not places:
        return
    sources = rule_sources(store, candidates())
    for place in places:
        source = sources.get(place.file)
        try:
            data = None if source is None else read_source(source)
        except (OSError, ParseError):
            continue
        if data is None or (place.state is not None and place.state.digest != content_digest(data)):
            continue
        for refused in try_edits(data, [place.edit]).refused:
            where = f"{place.file}:{refused.line}" if refused.line else place.file
            raise UsageError(f"{where} cannot say this: it {refused.reason}", hint=refused.hint)


def _word_places(ledger: RuleLedger, rule: Rule) -> Iterator[_WordPlace]:
    said = text_digest(rule.rule)
    found = False
    for name in sorted(ledger.files):
        state = ledger.files[name]
        for anchor in state.anchors:
            if not anchor.line or not _is_version_of(ledger, anchor.rule_id, rule):
                continue
            found = True
            if anchor.digest != said:
                yield _WordPlace(name, state, Replace(anchor.line, anchor.end_line, rule.rule))
    where = rule.provenance
    if not found and where is not None:
        yield _WordPlace(where.file, ledger.files.get(where.file), Insert(rule.rule, section=where.section))


def _is_version_of(ledger: RuleLedger, identifier: str, rule: Rule) -> bool:
    current = ledger.current(identifier)
    return current is not None and (current.id == rule.id or current.id in rule.replaces)


@dataclass(frozen=True, slots=True)
class FileDrift:
    """What is not synced about one file.

    `incoming` only the file changed, `pending` only the store, `conflicts` both.
    """

    file: str
    incoming: tuple[FromFile, ...] = ()
    pending: tuple[Pending, ...] = ()
    conflicts: tuple[FileConflict, ...] = ()


@dataclass(frozen=True, slots=True)
class Written:
    """A file that was written, or would be: its bytes before and after, and what could not be written.

    `notes` say what else reads differently now, such as rules whose introduction was edited. `undo` takes it
    back byte for byte while the file is as it was written.
    """

    file: str
    before: bytes
    after: bytes
    refused: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    undo: Undo | None = None

    @property
    def changed(self) -> bool:
        """Whether anything of it was, or would be, written."""
        return self.before != self.after


@dataclass(slots=True)
class SyncOutcome:
    """What syncing did. `drift` is what is left of it."""

    taken: list[FileDrift] = field(default_factory=list)
    written: list[Written] = field(default_factory=list)
    drift: list[FileDrift] = field(default_factory=list)
    warnings: tuple[str, ...] = ()


def find_drift(store: RuleStore, candidates: Sequence[str]) -> SyncOutcome:
    """Return what is not synced, changing nothing. Raises: StoreError."""
    ledger = store.ledger()
    found = sync_files(store, ledger, find_sources(store, candidates))
    return SyncOutcome(drift=drifts(found.merges), warnings=found.warnings)


def files_behind(
    store: RuleStore, candidates: Callable[[], Sequence[str]], rules: Iterable[Rule]
) -> tuple[str, ...]:
    """Return which files of the rules, sorted, do not say what was decided of them; files gone are such, too.

    The project's rule files are asked for only if a rule is in one. Raises: StoreError.
    """
    files = {rule.provenance.file for rule in rules if rule.provenance is not None}
    if not files:
        return ()
    behind = {
        drift.file for drift in find_drift(store, candidates()).drift if drift.pending or drift.conflicts
    }
    return tuple(file for file in sorted(files) if file in behind or not _exists(store, file))


def _exists(store: RuleStore, file: str) -> bool:
    if file.startswith("~/"):
        return store.home is not None and (store.home / file[2:]).exists()
    return (store.root / file).exists()


def drifts(merges: Sequence[FileMerge]) -> list[FileDrift]:
    """Return what merges found not synced, by file; files that agree with the store are left out."""
    found = []
    for merge in merges:
        incoming = tuple(change for change in merge.incoming if change.what is not Incoming.REFRESHED)
        if incoming or merge.pending or merge.conflicts:
            pending, conflicts = tuple(merge.pending), tuple(merge.conflicts)
            found.append(FileDrift(merge.state.file, incoming, pending, conflicts))
    return sorted(found, key=lambda drift: drift.file)


def write_pending(
    store: RuleStore, candidates: Sequence[str], *, files: Sequence[str] = (), dry_run: bool = False
) -> SyncOutcome:
    """Sync files and store, all of them or those named; with `dry_run` only say how.

    A file is replaced in one piece, and only while it is as it was read. Raises: StoreError; what was written
    before stays, and the next run goes on.
    """
    with store.lock(LOCK):
        sources = rule_sources(store, candidates)
        ledger = store.ledger()
        found = sync_files(store, ledger, list(sources.values()))
        outcome = SyncOutcome(warnings=found.warnings)
        outcome.taken = [
            FileDrift(drift.file, drift.incoming) for drift in drifts(found.merges) if drift.incoming
        ]
        if not dry_run:
            record(store, found.drafts, by=AUTOMATIC)
        for merge in found.merges:
            source = sources.get(merge.state.file)
            if merge.pending and source is not None and (not files or source.path in files):
                outcome.written.append(write_edits(store, source, merge.pending, dry_run=dry_run))
        if not dry_run:
            found = record_written(store, sources, [item for item in outcome.written if item.changed])
        outcome.drift = drifts(found.merges)
    return outcome


def rule_sources(store: RuleStore, candidates: Sequence[str]) -> dict[str, RuleSource]:
    """Return the rule files there are by path: those that are found by themselves and those named."""
    sources = {source.path: source for source in find_sources(store, candidates)}
    named = find_named_sources(store, store.ledger(), set(sources))
    return sources | {source.path: source for source in named}


def record_written(
    store: RuleStore, sources: Mapping[str, RuleSource], written: Sequence[Written]
) -> SyncResult:
    """Read the files again and remember that those written say what the store says, and how they said it."""
    ledger = store.ledger()
    title = f"write {written[0].file if len(written) == 1 else f'{len(written):,} rule files'}"
    found = sync_files(store, ledger, list(sources.values()), title=title if written else "")
    undos = {item.file: item.undo for item in written if item.undo is not None}
    drafts = [with_undo(draft, undos.get(str(draft.body.get("file")))) for draft in found.drafts]
    record(store, drafts, by=EXPORT if written else AUTOMATIC)
    return found


def write_edits(
    store: RuleStore,
    source: RuleSource,
    pending: Sequence[Pending],
    *,
    dry_run: bool,
    restore: Callable[[bytes, bytes], bytes] | None = None,
) -> Written:
    """Write the store's changes into a file, and into identical files of other names.

    `restore` is given the file's bytes before and after the edits and may know better ones that say the same.
    Raises: StoreError.
    """
    before = read_source(source)
    result = try_edits(before, [edit_for(change) for change in pending])
    if restore is not None and not result.refused:
        result = replace(result, data=restore(before, result.data))
    refused = tuple(f"line {one.line}: {one.reason}" for one in result.refused)
    if not dry_run and result.data != before:
        location = Path(source.location)
        store.replace_file(location, result.data, before)
        for name in source.names:
            copy = _location(store, name, source)
            if copy is not None and not os.path.samefile(copy, location) and copy.read_bytes() == before:
                store.replace_file(copy, result.data, before)
    others = (f"line {one.line} reads otherwise: {one.after or one.before}" for one in result.changed)
    undo = undo_between(before, result.data)
    return Written(source.path, before, result.data, refused, (*result.notes, *others), undo)


def edit_for(change: Pending) -> Edit:
    """Return a pending change as an edit of its file."""
    if change.base is None:
        assert change.rule is not None  # what is neither in the file nor in the store is not pending
        if change.after is not None:
            return Insert(change.rule.rule, change.after)
        section = None if change.rule.provenance is None else change.rule.provenance.section
        return Insert(change.rule.rule, section=section or ())
    if change.rule is None:
        return Delete(change.line, change.end_line)
    return Replace(change.line, change.end_line, change.rule.rule)


def _location(store: RuleStore, name: str, source: RuleSource) -> Path | None:
    if not source.home:
        return store.root / name
    return None if store.home is None else store.home / name.removeprefix("~/")
