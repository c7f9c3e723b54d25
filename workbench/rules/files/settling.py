"""Which side holds where a rule file and the store differ: one is taken, or a file's change is put back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from workbench.curation.records import EntryDraft, StepDraft, StepMarks, new_marks
from workbench.curation.store import record
from workbench.errors import UsageError
from workbench.records.rules import Rule
from workbench.rules.curation.ledger import AUTOMATIC, Anchor, FileState, RuleLedger, synced_draft
from workbench.rules.curation.lineage import text_digest
from workbench.rules.curation.rulestore import LOCK, RuleStore
from workbench.rules.curation.ruletype import RULES
from workbench.rules.curation.versions import free_id, next_version, with_words
from workbench.rules.files.drift import Written, rule_sources, write_edits
from workbench.rules.files.merge import FileConflict, FileMerge, Incoming, Pending
from workbench.rules.files.sync import sync_files


def settle(
    store: RuleStore, candidates: Sequence[str], identifier: str, side: str, *, by: str
) -> FileConflict:
    """Say which side of a conflict holds: `ours` is the store's, to be written, `theirs` the file's.

    `identifier` is the id of any version of the rule. Raises: UsageError if it is in no conflict.
    """
    with store.lock(LOCK):
        ledger = store.ledger()
        found = sync_files(store, ledger, list(rule_sources(store, candidates).values()))
        merge, conflict = _conflict(found.merges, identifier)
        record(store, found.drafts, by=AUTOMATIC)
        settlement = _keep_theirs if side == "theirs" else _keep_ours
        drafts = settlement(ledger, merge.state, conflict, store.moment())
        record(store, drafts.entries, by=by)
    return conflict


def put_back(
    store: RuleStore, candidates: Sequence[str], identifier: str, *, dry_run: bool = False
) -> Written | None:
    """Have a file say again what the store says, where the file alone changed a rule, lost it or got it.

    `identifier` is the rule's id, of one that the store lacks the file's. Returns None where a file changed
    nothing about it, or no more than its place. Other changes of the file stay. Raises: StoreError.
    """
    with store.lock(LOCK):
        sources = rule_sources(store, candidates)
        for merge in sync_files(store, store.ledger(), list(sources.values())).merges:
            for change in merge.incoming:
                rule = change.before or change.after
                source = sources.get(merge.state.file)
                if change.what not in _PUT_BACK or rule is None or source is None:
                    continue
                if rule.id.startswith(identifier):
                    where = None if change.after is None else change.after.provenance
                    end = change.line if where is None else where.end_line
                    pending = Pending(
                        merge.state.file,
                        change.line,
                        end,
                        change.after,
                        change.before,
                        max(change.line - 1, 0),
                    )
                    return write_edits(store, source, [pending], dry_run=dry_run)
    return None


_PUT_BACK = (Incoming.ADDED, Incoming.CHANGED, Incoming.REMOVED)


def _conflict(merges: Sequence[FileMerge], identifier: str) -> tuple[FileMerge, FileConflict]:
    for merge in merges:
        for conflict in merge.conflicts:
            known = [side.id for side in (conflict.base, conflict.ours) if side is not None]
            if any(found.startswith(identifier) for found in known):
                return merge, conflict
    raise UsageError(
        f"{identifier} is in no conflict with its file", hint="`workbench rules drift` lists conflicts."
    )


def _keep_ours(ledger: RuleLedger, state: FileState, conflict: FileConflict, now: str) -> StepDraft[Rule]:
    """The file's words become what both sides agreed on last, so that the store's are a change of them."""
    del ledger, now
    marks = new_marks(f"drift {conflict.base.id[:13]}: ours", f"our words hold, not those of {state.file}")
    if conflict.theirs is None:
        anchors = [anchor for anchor in state.anchors if not _is_of(anchor, conflict)]
    else:
        digest = text_digest(conflict.theirs.rule)
        anchors = [
            replace(anchor, digest=digest) if _is_of(anchor, conflict) else anchor for anchor in state.anchors
        ]
    return StepDraft(marks.title, (synced_draft(replace(state, anchors=tuple(anchors)), marks),))


def _keep_theirs(ledger: RuleLedger, state: FileState, conflict: FileConflict, now: str) -> StepDraft[Rule]:
    """The file's words become the rule's next version, or the rule goes as it went from the file."""
    marks = new_marks(f"drift {conflict.base.id[:13]}: theirs", f"the words of {state.file} hold")
    entries: list[EntryDraft] = []
    rule = _take_version(ledger, conflict, marks, now)
    if rule is None:
        if conflict.ours is not None:
            entries.append(RULES.removed_draft(conflict.ours, marks))
        anchors = [anchor for anchor in state.anchors if not _is_of(anchor, conflict)]
    else:
        entries.append(RULES.put_draft(rule, marks))
        place = Anchor(rule.id, conflict.line, conflict.end_line, text_digest(rule.rule))
        anchors = [place if _is_of(anchor, conflict) else anchor for anchor in state.anchors]
    entries.append(synced_draft(replace(state, anchors=tuple(anchors)), marks))
    return StepDraft(marks.title, tuple(entries), () if rule is None else (rule,))


def _take_version(ledger: RuleLedger, conflict: FileConflict, marks: StepMarks, now: str) -> Rule | None:
    theirs, ours = conflict.theirs, conflict.ours
    if theirs is None:
        return None
    owner = theirs.project_id or "home"
    identifier = free_id(owner, conflict.file, theirs.rule, ledger.versions)
    if ours is None:
        return replace(theirs, id=identifier)
    words = replace(with_words(ours, theirs), id=identifier)
    return next_version(ours, words, reason=marks.reason, now=now)


def _is_of(anchor: Anchor, conflict: FileConflict) -> bool:
    return (anchor.rule_id, anchor.line) == (conflict.base.id, conflict.line)
