"""The service that curates records of a type: each call is one step, recorded before it returns.

What somebody decides about records as they saw them is refused once somebody else decided otherwise. Secrets
in what is decided are masked before a record is made of it, so that what is returned is what is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from typing import Any, ClassVar, Generic

from workbench.curation.concurrency import draft_choice, find_edit
from workbench.curation.conflicts import (
    CONFLICT_SHOWN,
    ConflictDecision,
    check_open,
    check_unchanged,
    draft_settlement,
)
from workbench.curation.ledger import L
from workbench.curation.records import (
    AGENTS,
    EntryDraft,
    R,
    RecordChange,
    StepDraft,
    StepMarks,
    WalkedStep,
    combine,
    new_marks,
)
from workbench.curation.steps import draft_addition, draft_edit, draft_redo, draft_removal, draft_undo
from workbench.curation.store import CurationStore, preview, record
from workbench.errors import UsageError
from workbench.records.dataclass import dataclass
from workbench.text.counts import plural
from workbench.text.redact import redact_values


@dataclass(frozen=True, slots=True)
class CurationService(Generic[L, R]):
    """Curates the records of a project and of its user. `by` is the face that acts: cli, tui, http, mcp.

    All methods raise StoreError for what cannot be read or written, and then nothing was.
    """

    store: CurationStore[L]
    by: str

    LOCK: ClassVar[str]
    """The lock that is held while a step is made."""

    def records(self) -> tuple[R, ...]:
        """Return the records that are in use, by id."""
        ledger = self.store.ledger()
        self.store.reader.save()
        found = (ledger.find(identifier) for identifier in sorted(ledger.records))
        return tuple(one for one in found if one is not None and ledger.type.in_use(one))

    def create(self, new: R, *, reason: str = "") -> R:
        """Add a record, whose id is made here. Raises: UsageError for an invalid one."""
        mine, why, now = redact_values(new), redact_values(reason), self.store.moment()
        return self.step(lambda ledger: draft_addition(ledger, mine, reason=why, now=now)).records[0]

    def edit(self, identifier: str, *, reason: str = "", seen: R | None = None, **changes: Any) -> R:
        """Change fields of a record.

        `seen` is the record as it was when the change was decided: what others decided since is not
        overwritten. Raises: RecordChanged if they did; UsageError for an unknown record or field or an
        invalid value.
        """

        def make(ledger: L) -> StepDraft[R]:
            check_unchanged(ledger, () if seen is None else (seen,))
            return self._draft_edit(ledger, identifier, changes, reason)

        return self.step(make).records[0]

    def edit_each(
        self, changes: Mapping[str, Mapping[str, Any]], *, reason: str = "", title: str = ""
    ) -> list[R]:
        """Change several records, each in its own way by id, in one step, or none. Raises: as `edit`."""

        def make(ledger: L) -> StepDraft[R]:
            parts = [self._draft_edit(ledger, found, mine, reason) for found, mine in changes.items()]
            name = title or f"edit {plural(len(parts), ledger.type.noun)}"
            return combine(parts, title=redact_values(name), reason=redact_values(reason))

        return list(self.step(make).records)

    def remove(self, identifiers: Sequence[str], *, reason: str = "") -> None:
        """Remove records; they stay in the history. Raises: UsageError for an unknown one."""
        why = redact_values(reason)
        self.step(lambda ledger: draft_removal(ledger, identifiers, reason=why))

    def resolve(self, decision: ConflictDecision, *, seen: Iterable[R] = ()) -> tuple[R, ...]:
        """Settle a conflict; return the records that hold because of it.

        `seen` are its records as they were when it was decided. Raises: ConflictSettled, RecordChanged if
        others were faster; UsageError.
        """

        def make(ledger: L) -> StepDraft[R]:
            _check_seen(ledger, decision, seen)
            return self._settlement(ledger, decision)

        return self.step(make).records

    def resolve_all(
        self, decisions: Sequence[ConflictDecision], *, seen: Mapping[str, R] | None = None
    ) -> tuple[tuple[ConflictDecision, ...], tuple[str, ...]]:
        """Settle conflicts as one step, in order; return those that were settled, and why others were not.

        A record that an earlier decision took out of use is in no conflict any more; `seen` are records by id
        as they were when it was decided, and what others changed or settled since is left alone.
        """
        done: list[ConflictDecision] = []
        skipped: list[str] = []
        entries: list[EntryDraft] = []
        known = seen or {}
        step = new_marks(f"settle {plural(len(decisions), 'conflict')}")
        with self.store.lock(self.LOCK):
            ledger = self.store.team_reader.ledger()
            checked: list[ConflictDecision] = []
            for decision in decisions:
                # All of them before the first: this step's own changes are nobody else's.
                both = [known[one] for one in (decision.left, decision.right) if one in known]
                try:
                    _check_seen(ledger, decision, both)
                    checked.append(decision)
                except UsageError as error:
                    skipped.append(f"{decision.conflict[:CONFLICT_SHOWN]}: {error.message}")
            for decision in checked:
                try:
                    drafts = self._settlement(ledger, decision, step)
                    self.check(ledger, drafts, ledger.versions)
                except UsageError as error:
                    skipped.append(f"{decision.conflict[:CONFLICT_SHOWN]}: {error.message}")
                    continue
                preview(self.store, drafts.entries, by=self.by, ledger=ledger)
                entries += drafts.entries
                done.append(decision)
            record(self.store, entries, by=self.by)
        return tuple(done), tuple(skipped)

    def with_texts(self, records: Sequence[R]) -> Sequence[R]:
        """Return records with the texts that their ledger does not hold. Raises: StoreError."""
        return records

    def undo(self, step: str = "") -> WalkedStep:
        """Take back the last step, or the one whose id begins so.

        Raises: UsageError if there is none; BuiltUpon if its records were changed since.
        """
        return self.walk(lambda ledger: draft_undo(ledger, step), back=True)

    def redo(self) -> WalkedStep:
        """Do the last undone step again. Raises: as `undo`."""
        return self.walk(draft_redo, back=False)

    def walk(self, make: Callable[[L], StepDraft[R]], *, back: bool) -> WalkedStep:
        """Undo a step (`back`) or do it again. A type overrides it that has more to take back."""
        return WalkedStep(self.step(make).title)

    def history(self, identifier: str = "") -> tuple[RecordChange[R], ...]:
        """Return every change of a record, or of all, oldest first. Raises: UsageError for an unknown one."""
        ledger = self.store.ledger()
        wanted = self.identify(ledger, identifier) if identifier else ""
        if wanted and wanted not in ledger.versions:
            ledger.require(wanted)
        return tuple(change for change in ledger.changes if not wanted or change.record_id == wanted)

    def step(self, make: Callable[[L], StepDraft[R]]) -> StepDraft[R]:
        """Make a step of the ledger as it is now and record it. Raises: what `make` does."""
        with self.store.lock(self.LOCK):
            ledger = self.store.ledger()
            known = frozenset(ledger.versions)
            drafts = make(ledger)
            self.check(ledger, drafts, known)
            record(self.store, drafts.entries, by=self.by)
        self.store.reader.save()
        return drafts

    def check(self, ledger: L, drafts: StepDraft[R], known: Container[str]) -> None:
        """Refuse a step by raising UsageError; `known` are the ids of the records there were before it."""

    def prepared_changes(self, before: R, changes: Mapping[str, Any]) -> dict[str, Any]:
        """Return changes of a record, without secrets that it did not have."""
        return {
            name: value if value == getattr(before, name, None) else redact_values(value)
            for name, value in changes.items()
        }

    def prepared_decision(self, decision: ConflictDecision) -> ConflictDecision:
        """Return a decision as it is carried out."""
        return redact_values(decision)

    def _settlement(
        self, ledger: L, decision: ConflictDecision, step: StepMarks | None = None
    ) -> StepDraft[R]:
        """Draft what is decided about two records, or about two versions of one."""
        mine, now = self.prepared_decision(decision), self.store.moment()
        edit = find_edit(ledger, mine.conflict)
        if edit is None:
            if "@" in mine.right:
                raise UsageError(
                    f"{mine.conflict[:CONFLICT_SHOWN]} is no longer there: a version was changed since",
                    hint=f"`workbench {ledger.type.group} history` shows how.",
                )
            count = self.store.count_tokens
            drafts = draft_settlement(ledger, mine, now=now, by=self.by, count=count, step=step)
            sides = [ledger.require(one) for one in (mine.left, mine.right)]
            self._check_agent(ledger, sides, drafts)
            self._check_shared(ledger, sides, drafts)
            return drafts
        text = mine.text.strip()
        changes = self.prepared_changes(edit.record, {ledger.type.words: text}) if text else {}
        drafts = draft_choice(ledger, edit, mine, changes, now=now, step=step)
        self._check_agent(ledger, [edit.left.after] if edit.left.after is not None else [], drafts)
        return drafts

    def _check_agent(self, ledger: L, sides: Iterable[R], drafts: StepDraft[R]) -> None:
        """Refuse an agent a settlement after which what a person confirmed does not hold as it is."""
        kind = ledger.type
        for side in sides if self.by in AGENTS else ():
            if kind.is_confirmed(side) and not any(kind.same_content(side, held) for held in drafts.records):
                raise UsageError(
                    f"a person confirmed {kind.short(side.id)}: no agent takes it out of force",
                    hint=f"Ask the user to settle it, in the app or by `workbench {kind.group}`.",
                )

    def _check_shared(self, ledger: L, sides: Iterable[R], drafts: StepDraft[R]) -> None:
        """Refuse a settlement that leaves what is a person's own in the place of what a team has."""
        short = ledger.type.short
        own = {side.id: side.project_id is None for side in sides} if self.store.team else {}
        if len(set(own.values())) > 1 and all(one.project_id is None for one in drafts.records):
            (mine,), (shared,) = ([short(one) for one in own if own[one] is kept] for kept in (True, False))
            raise UsageError(
                f"{mine} is your own and {shared} the team's, which all others would lose",
                hint="Keep the team's, or both.",
            )

    def identify(self, ledger: L, beginning: str) -> str:
        """Return the id that is meant. Raises: UsageError where there is none."""
        return beginning

    def _draft_edit(
        self, ledger: L, identifier: str, changes: Mapping[str, Any], reason: str
    ) -> StepDraft[R]:
        identifier = self.identify(ledger, identifier)
        mine = self.prepared_changes(ledger.require(identifier), changes)
        return draft_edit(ledger, identifier, mine, reason=redact_values(reason), now=self.store.moment())


def _check_seen(ledger: Any, decision: ConflictDecision, seen: Iterable[Any]) -> None:  # noqa: ANN401 - any record
    """Raise ConflictSettled or RecordChanged if others settled a conflict or changed its records since."""
    check_open(ledger, decision.conflict)
    check_unchanged(ledger, seen)
