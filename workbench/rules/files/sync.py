"""Rule files synced with the store: every file that changed is merged, and the outcome drafted."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import field, replace

from workbench.curation.records import EntryDraft, StepMarks, new_marks
from workbench.curation.store import preview
from workbench.records.dataclass import dataclass
from workbench.records.rules import Rule
from workbench.rules.curation.ledger import (
    AUTOMATIC,
    SLOT_MARK,
    FileState,
    RuleLedger,
    file_slot,
    forgotten_draft,
    synced_draft,
)
from workbench.rules.curation.lineage import text_digest
from workbench.rules.curation.rulestore import RuleStore
from workbench.rules.curation.ruletype import RULES
from workbench.rules.files.merge import FileMerge, Incoming, merge_file
from workbench.rules.reading.discovery import RuleSource, read_source
from workbench.rules.reading.imports import RuleImport, import_rules

_REASONS = {
    Incoming.ADDED: "new in {file}",
    Incoming.CHANGED: "changed in {file}",
    Incoming.MOVED: "moved to {file}",
    Incoming.REMOVED: "no longer in {file}",
    Incoming.REFRESHED: "read differently in {file}",
}


@dataclass(slots=True)
class SyncResult:
    """What syncing files comes to. `changed` counts rules, `merges` are by file, in order."""

    drafts: list[EntryDraft] = field(default_factory=list)
    merges: list[FileMerge] = field(default_factory=list)
    warnings: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    changed: int = 0

    @property
    def pending(self) -> int:
        """How many changes of the store wait to be written to files."""
        return sum(len(merge.pending) for merge in self.merges)

    @property
    def conflicts(self) -> int:
        """How many rules file and store changed differently."""
        return sum(len(merge.conflicts) for merge in self.merges)


def sync_files(
    store: RuleStore,
    ledger: RuleLedger,
    sources: Sequence[RuleSource],
    *,
    named: bool = False,
    title: str = "",
) -> SyncResult:
    """Import rule files and merge each with the store.

    The ledger is brought along; the drafts are what has to be written so that the journals agree with it.
    Files known from before that are gone take their rules with them; files that cannot be read change
    nothing. With `named` only the given files are looked at, and they are remembered as imported by name.
    `title` is what the history calls it.
    """
    known = {source.path for source in sources}
    others = [] if named else find_named_sources(store, ledger, known)
    imported = import_rules(
        [*sources, *others],
        read_source,
        project_id=store.project_id,
        project_root=str(store.root),
        count_tokens=store.count_tokens,
        now=store.moment(),
    )
    found = SyncResult(
        warnings=tuple(f"{warning.file}:{warning.line}: {warning.message}" for warning in imported.warnings),
        files=imported.files,
    )
    marks = new_marks(title or f"import {_several(imported.files)}")
    _draft(found, store, ledger, _adoptions(ledger, marks))
    merging = _Merging(store, ledger, imported, _by_file(imported), marks, named)
    rounds = [_merge_all(found, merging, complete=False)]
    if any(merge.unknown for merge in rounds[0]):
        rounds.append(_merge_all(found, merging, complete=True))
    if _reaches_other_files(rounds, ledger):
        rounds.append(_merge_all(found, merging, complete=True))
    found.merges = rounds[-1]
    for earlier in rounds[:-1]:
        incoming = {merge.state.file: merge.incoming for merge in earlier}
        for merge in found.merges:
            merge.incoming = [*incoming.get(merge.state.file, ()), *merge.incoming]
    return found


def _adoptions(ledger: RuleLedger, marks: StepMarks) -> list[EntryDraft]:
    """Draft that rules of files are what other machines of the team made of them.

    Each machine reads files for itself, so that the same rule has an id on each; what was decided of one is
    of all. A removal is of what was read before it: whoever writes the words again later means them.
    """
    drafts: list[EntryDraft] = []
    mine = replace(marks, reason="edited on another machine")
    for slot in [head for head in ledger.heads if SLOT_MARK in head]:
        winner = ledger.changes[ledger.heads[slot][-1]]
        heir = ledger.current(winner.record_id)
        slots = (slot,) if heir is None else (slot, file_slot(heir))  # git may have been faster
        for identifier in ledger.by_file.get(slot.rpartition(SLOT_MARK)[0], ()):
            rule = ledger.live[identifier]
            if (heir is not None and heir.id == identifier) or file_slot(rule) not in slots:
                continue
            last = ledger.last_change(identifier)
            if last is not None and last.by == AUTOMATIC and (heir is not None or last.at <= winner.at):
                drafts.append(RULES.removed_draft(rule, mine, "" if heir is None else heir.id))
    return drafts


@dataclass(frozen=True, slots=True)
class _Merging:
    store: RuleStore
    ledger: RuleLedger
    imported: RuleImport
    rules: dict[str, list[Rule]]
    marks: StepMarks
    named: bool


def _merge_all(found: SyncResult, work: _Merging, *, complete: bool) -> list[FileMerge]:
    """Merge every file, those that are gone last, and draft what each brings."""
    store, ledger, now = work.store, work.ledger, work.store.moment()
    gone = () if work.named else _find_gone(store, ledger, work.imported)
    moved = _find_moved(ledger, work.rules, gone)
    merges = []
    for read in work.imported.read:
        before = ledger.files.get(read.file)
        state = before or FileState(read.file, read.format, "", home=read.home)
        named = state.named or work.named
        fresh = replace(state, format=read.format, digest=read.digest, home=read.home, named=named)
        rules = work.rules[read.file]
        merge = merge_file(ledger, fresh, rules, now=now, moved=moved, complete=complete)
        _take_in(found, store, ledger, before, merge, work.marks)
        merges.append(merge)
    for state in gone:
        merge = merge_file(ledger, replace(state, digest=""), (), now=now, moved=moved)
        _take_in(found, store, ledger, state, merge, work.marks)
        if not merge.state.anchors:
            _draft(found, store, ledger, [forgotten_draft(state, work.marks)])
        merges.append(merge)
    return merges


def _find_moved(
    ledger: RuleLedger, rules: Mapping[str, Sequence[Rule]], gone: Sequence[FileState]
) -> dict[str, Rule]:
    """Return the rules, by the digest of their text, that leave one file while another one gets them."""
    leaving: dict[str, Rule] = {}
    arriving: set[str] = set()
    away = {state.file for state in gone}
    for file in sorted({*rules, *ledger.files}):
        state = ledger.files.get(file)
        if file not in rules and file not in away:
            continue
        here = {text_digest(rule.rule) for rule in rules.get(file, ())}
        anchors = () if state is None else state.anchors
        arriving |= here - {anchor.digest for anchor in anchors}
        for anchor in anchors:
            rule = ledger.live.get(anchor.rule_id)
            where = None if rule is None else rule.provenance
            if anchor.digest not in here and rule is not None and where is not None and where.file == file:
                leaving[anchor.digest] = rule
    return {digest: rule for digest, rule in leaving.items() if digest in arriving}


def _reaches_other_files(rounds: Sequence[Sequence[FileMerge]], ledger: RuleLedger) -> bool:
    """Whether a file changed rules that are in another one, too: that one is now behind."""
    files = defaultdict(set)
    for state in ledger.files.values():
        for anchor in state.anchors:
            files[anchor.rule_id].add(state.file)
    return any(
        files[change.before.id] - {merge.state.file}
        for merges in rounds
        for merge in merges
        for change in merge.incoming
        if change.before is not None and change.what not in (Incoming.REFRESHED, Incoming.MOVED)
    )


def find_named_sources(store: RuleStore, ledger: RuleLedger, known: set[str]) -> list[RuleSource]:
    """Return the files imported by name that are still there, besides those already known."""
    found = []
    for state in ledger.files.values():
        if not state.named or state.file in known or state.home:
            continue
        location = state.file if os.path.isabs(state.file) else str(store.root / state.file)
        if os.path.isfile(location):
            inside = "" if os.path.isabs(state.file) else str(store.root)
            found.append(RuleSource(state.file, state.format, location, inside=inside))
    return sorted(found, key=lambda source: source.path)


def _take_in(
    found: SyncResult,
    store: RuleStore,
    ledger: RuleLedger,
    before: FileState | None,
    merge: FileMerge,
    marks: StepMarks,
) -> None:
    """Draft what a merge brings into the store."""
    drafts: list[EntryDraft] = []
    for change in merge.incoming:
        mine = replace(marks, reason=_REASONS[change.what].format(file=merge.state.file))
        if change.after is not None:
            drafts.append(RULES.put_draft(change.after, mine))
        elif change.before is not None:
            drafts.append(RULES.removed_draft(change.before, mine))
        found.changed += change.what is not Incoming.REFRESHED
    for gone, earlier in merge.revived:
        rule = ledger.live.get(gone)
        if rule is not None:
            mine = replace(marks, reason=f"changed back in {merge.state.file}")
            drafts.append(RULES.removed_draft(rule, mine, earlier))
    if merge.state != before:
        drafts.append(synced_draft(merge.state, marks))
    _draft(found, store, ledger, drafts)


def _draft(found: SyncResult, store: RuleStore, ledger: RuleLedger, drafts: Sequence[EntryDraft]) -> None:
    found.drafts += drafts
    preview(store, drafts, by=AUTOMATIC, ledger=ledger)


def _several(files: Sequence[str]) -> str:
    return files[0] if len(files) == 1 else f"{len(files)} rule files"


def _by_file(imported: RuleImport) -> dict[str, list[Rule]]:
    rules: dict[str, list[Rule]] = defaultdict(list)
    for rule in imported.rules:
        if rule.provenance is not None:
            rules[rule.provenance.file].append(rule)
    return rules


def _find_gone(store: RuleStore, ledger: RuleLedger, imported: RuleImport) -> list[FileState]:
    """Return the files that were there before and are not, of those that were looked for."""
    looked_for = [
        state
        for state in ledger.files.values()
        if (store.home is not None if state.home else not os.path.isabs(state.file))
    ]
    there = {*imported.files, *imported.unreadable}
    return sorted((state for state in looked_for if state.file not in there), key=lambda state: state.file)
