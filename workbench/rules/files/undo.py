"""Curation steps taken back and done again, together with what they wrote into rule files.

What the program wrote belongs to the step whose words it wrote: undoing the step puts the file's lines back,
where they still say what was written. Where they do not, or never got there, the files stay as they are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from workbench.curation import CURATION
from workbench.curation.records import EntryDraft, StepDraft, WalkedStep
from workbench.curation.store import preview, record
from workbench.errors import ParseError
from workbench.records.dataclass import dataclass
from workbench.records.rules import Rule
from workbench.rules.curation.ledger import AUTOMATIC, Anchor, FileState, RuleLedger, Undo
from workbench.rules.curation.lineage import text_digest
from workbench.rules.curation.rulestore import LOCK, RuleStore
from workbench.rules.curation.ruletype import PUT, REMOVED
from workbench.rules.curation.versions import past_ids
from workbench.rules.files.drift import Written, edit_for, record_written, rule_sources, write_edits
from workbench.rules.files.edits import try_edits, undo_edits
from workbench.rules.files.merge import FileMerge, Pending
from workbench.rules.files.sync import sync_files
from workbench.rules.files.unit_edits import parse
from workbench.rules.reading.construction import rule_text
from workbench.rules.reading.discovery import RuleSource, read_source


@dataclass(frozen=True, slots=True)
class Walked(WalkedStep):
    """A step that was undone or done again: what it was called, and the rule files it was written into."""

    written: tuple[Written, ...] = ()

    @property
    def summary(self) -> str:
        """The title and what became of its files, on one line."""
        files = ", ".join(item.file for item in self.written if item.changed)
        refused = "; ".join(f"{item.file}: {reason}" for item in self.written for reason in item.refused)
        return f"{self.title}{f', also in {files}' if files else ''}{f' ({refused})' if refused else ''}"


def walk_step(
    store: RuleStore,
    candidates: Sequence[str],
    make: Callable[[RuleLedger], StepDraft[Rule]],
    *,
    by: str,
    back: bool,
) -> Walked:
    """Undo a step (`back`) or do it again as `make` drafts it, also in the files it was written into.

    What is done again is written where its undo was. Raises: UsageError as `make`; StoreError.
    """
    with store.lock(LOCK):
        sources = rule_sources(store, candidates)
        ledger = store.ledger()
        before = sync_files(store, ledger, list(sources.values()))
        record(store, before.drafts, by=AUTOMATIC)
        only, undos = None if back else _undo_wrote(ledger), dict(ledger.undos)
        drafts = make(ledger)
        if not _changes_words(ledger, drafts):
            record(store, drafts.entries, by=by)
            return Walked(drafts.title)
        preview(store, drafts.entries, by=by, ledger=ledger)
        edits = {
            file: pending
            for file, pending in _to_write(
                ledger, before.merges, _merge_files(store, ledger, sources), sources
            )
            if only is None or file in only
        }
        # Journal first: whoever is ended between the two finds the files waiting to be written.
        record(store, _mark_files(drafts.entries, sorted(edits)), by=by)
        written = [
            write_edits(store, sources[file], edits[file], dry_run=False, restore=_restorer(undos.get(file)))
            for file in sorted(edits)
        ]
        if written:
            record_written(store, sources, written)
    return Walked(drafts.title, tuple(written))


def preview_step(
    store: RuleStore,
    candidates: Callable[[], Sequence[str]] | None,
    make: Callable[[RuleLedger], StepDraft[Rule]],
    *,
    by: str,
) -> tuple[StepDraft[Rule], tuple[Written, ...]]:
    """Return a step as `make` drafts it, and what it leaves to be written into the files of its rules.

    Nothing is changed; the files are asked for only where rules come or go. Raises: as `make`; StoreError.
    """
    with store.lock(LOCK):
        ledger = store.ledger()
        drafts = make(ledger)
        if candidates is None or not _changes_words(ledger, drafts):
            return drafts, ()
        sources = rule_sources(store, candidates())
        preview(store, drafts.entries, by=by, ledger=ledger)
        rules = [ledger.versions.get(draft.body.get("id", "")) for draft in drafts.entries]
        mine = {one for rule in rules if rule is not None for one in (rule.id, *past_ids(rule))}
        return drafts, tuple(
            write_edits(store, sources[merge.state.file], merge.pending, dry_run=True)
            for merge in _merge_files(store, ledger, sources)
            if merge.state.file in sources and any(_ids(one) & mine for one in merge.pending)
        )


def _ids(pending: Pending) -> set[str]:
    return {side.id for side in (pending.base, pending.rule) if side is not None}


def _undo_wrote(ledger: RuleLedger) -> tuple[str, ...]:
    """Return the files that the undo of the step to be done again was written into."""
    last = ledger.undone[-1] if ledger.undone else ""
    walks = (ledger.steps[identifier] for identifier in reversed(ledger.walks.get(last, ())))
    return next((walk.writes for walk in walks if walk.undoes == last), ())


def _restorer(undo: Undo | None) -> Callable[[bytes, bytes], bytes]:
    """Return what prefers the bytes that were written over to new ones that say the same."""

    def restore(before: bytes, after: bytes) -> bytes:
        if undo is None:
            return after
        try:
            known = undo_edits(before, undo)
        except ParseError:
            return after
        return known if _count_texts(known) == _count_texts(after) else after

    return restore


def _count_texts(data: bytes) -> Counter[str]:
    return Counter(text_digest(rule_text(unit)) for unit in parse(data).units)


def _merge_files(store: RuleStore, ledger: RuleLedger, sources: Mapping[str, RuleSource]) -> list[FileMerge]:
    return sync_files(store, ledger, list(sources.values())).merges


def _changes_words(ledger: RuleLedger, drafts: StepDraft[Rule]) -> bool:
    """Whether rules come or go, as all do whose words change; what changes in place is in no file."""
    return any(
        draft.kind == REMOVED
        or (draft.kind == PUT and draft.body["id"] not in ledger.live)
        or any(old in ledger.live for old in draft.body.get("replaces", ()))
        for draft in drafts.entries
    )


def _mark_files(entries: Sequence[EntryDraft], files: Sequence[str]) -> list[EntryDraft]:
    """Return the entries of a step that say which files it is written into."""
    if not files:
        return list(entries)
    return [
        replace(entry, body={**entry.body, CURATION: {**entry.body[CURATION], "writes": list(files)}})
        for entry in entries
    ]


def _to_write(
    ledger: RuleLedger,
    before: Sequence[FileMerge],
    after: Sequence[FileMerge],
    sources: Mapping[str, RuleSource],
) -> Iterator[tuple[str, list[Pending]]]:
    """Yield what a step leaves to be written into each file that agreed with the store before it."""
    waited = {_key(pending) for merge in before for pending in merge.pending}
    for merge in after:
        file = merge.state.file
        found = [
            placed
            for pending in merge.pending
            if _key(pending) not in waited
            and (placed := _place(ledger, merge.state, pending, sources.get(file))) is not None
        ]
        if found and file in sources:
            yield file, found


def _key(pending: Pending) -> tuple[str, int, str]:
    """Return what identifies a pending change: their lines, or the rule that is to be added."""
    rule = pending.rule
    if pending.base is not None or rule is None:
        return pending.file, pending.line, ""
    return pending.file, 0, (*past_ids(rule), rule.id)[0]


def _place(
    ledger: RuleLedger, state: FileState, pending: Pending, source: RuleSource | None
) -> Pending | None:
    """Return a change with the line where its rule was before; None for a rule that never was in the file."""
    if pending.base is not None or pending.rule is None or source is None:
        return pending
    former = _former(ledger, state.file, {*past_ids(pending.rule), pending.rule.id})
    if former is None:
        return None
    placed = replace(pending, after=_line_before(ledger, state, *former))
    refused = try_edits(read_source(source), [edit_for(placed)]).refused
    return pending if refused else placed


def _former(ledger: RuleLedger, file: str, ids: set[str]) -> tuple[FileState, int] | None:
    """Return a file as it was when it last had a rule, and which of its anchors that was."""
    for state in ledger.past_states(file):
        for at, anchor in enumerate(state.anchors):
            if anchor.rule_id in ids and anchor.line:
                return state, at
    return None


def _line_before(ledger: RuleLedger, now: FileState, then: FileState, at: int) -> int:
    """Return the line of today's file that was above a rule: as far below the rule before it as it was."""
    here: dict[str, Anchor] = {}
    for anchor in now.anchors:
        rule = ledger.current(anchor.rule_id)
        if rule is not None and anchor.line:
            here[rule.id] = anchor
    line = then.anchors[at].line - 1
    gone = 0
    for anchor in reversed(then.anchors[:at]):
        rule = ledger.current(anchor.rule_id)
        if rule is not None and rule.id in here:
            return here[rule.id].end_line + line - anchor.end_line - gone
        gone += anchor.end_line - anchor.line + 1
    return line - gone
