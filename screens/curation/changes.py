"""Changes of records from a review screen: the form, the step in a job, and what others did meanwhile.

One behaviour for every type of record. An edit is saved over the record as it was seen. Where somebody else
changed it, both sides are shown field by field; where it was removed, it can be added again with what was
written. Nothing that was written is dropped unasked.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from screens.base import SectionScreen
from screens.curation.dialog import Dialog
from screens.curation.overtaken import OvertakenRecord, field_merges
from screens.curation.record_form import RecordFields, RecordForm
from screens.curation.steps import StepQueue
from screens.curation.walking import UNDOES
from screens.jobs import Failure, Job
from screens.widgets.dialogs import Confirm
from screens.widgets.form import FormField
from workbench.curation.records import Record

RecordT = TypeVar("RecordT", bound=Record)
ResultT = TypeVar("ResultT")
Refused = Callable[[str, str], None]
"""Is given why a step was refused and what to try."""


@dataclass(frozen=True, slots=True)
class Saved(Generic[RecordT]):
    """Records as they are after a step, files that were written with it, and files that are out of date."""

    records: tuple[RecordT, ...]
    outdated: tuple[str, ...] = ()
    written: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Overtaken(Generic[RecordT]):
    """A record that somebody else changed while it was edited; `now` is None where it was removed."""

    seen: RecordT
    now: RecordT | None
    changes: Mapping[str, Any]


class RecordWriter(Protocol[RecordT]):
    """What saves edits of one type of record. Called in jobs only; all methods raise WorkbenchError."""

    def save(
        self, seen: RecordT, changes: Mapping[str, Any], job: Job
    ) -> Saved[RecordT] | Overtaken[RecordT]:
        """Change fields of a record as it was seen, or say what others did to it."""
        ...

    def add_again(self, found: Overtaken[RecordT], job: Job) -> Saved[RecordT]:
        """Bring a record back that was removed while it was edited, with what was written."""
        ...


class RecordChanges(ABC, Generic[RecordT]):
    """Changes records for a screen. Subclasses say how their type is named, written and saved."""

    noun: ClassVar[str]

    def __init__(self, section: SectionScreen) -> None:
        self._section = section
        self.steps = StepQueue(section)

    # What a type of record says.

    @property
    @abstractmethod
    def service(self) -> RecordWriter[RecordT]:
        """What saves edits."""

    @property
    @abstractmethod
    def fields(self) -> RecordFields:
        """How the fields are called, written and read."""

    @abstractmethod
    def form_fields(self, record: RecordT) -> Sequence[FormField]:
        """Return the fields that people decide."""

    @abstractmethod
    def edit_command(self, identifier: str, changes: Mapping[str, Any]) -> list[str]:
        """Return the command that makes changes of a record."""

    @abstractmethod
    def again_commands(self, found: Overtaken[RecordT]) -> list[list[str]]:
        """Return the commands that bring a removed record back."""

    @abstractmethod
    def saved_text(self, seen: RecordT, after: RecordT) -> str:
        """Return what is said of an edit that was saved, in the record's words."""

    def edit_ended(self, seen: RecordT) -> None:
        """Take note that an edit is saved or discarded."""

    # Editing.

    def edit(self, record: RecordT) -> None:
        """Edit a record in a form."""
        self._open(
            f"Edit the {self.noun}",
            self.form_fields(record),
            lambda form, changes: self.save(record, changes, form),
        )

    def save(
        self,
        seen: RecordT,
        changes: Mapping[str, Any],
        *forms: Dialog[bool],
        command: Sequence[str] = (),
    ) -> None:
        """Save an edit; what others did meanwhile is shown first.

        `forms` are the dialogs it was made in, each above the one before: they stay open until it is saved.
        """
        arguments = command or self.edit_command(seen.id, changes)
        service = self.service

        def then(saved: Saved[RecordT] | Overtaken[RecordT]) -> None:
            if isinstance(saved, Overtaken):
                self._offer_overtaken(saved, *forms)
            else:
                self._close(seen, *forms)
                self.report(self.saved_text(seen, saved.records[0]), [arguments], saved)

        def work(job: Job) -> Saved[RecordT] | Overtaken[RecordT]:
            return service.save(seen, changes, job)

        self.step("Saving", work, then, command=arguments, refused=_refusal_of(forms))

    def _offer_overtaken(self, found: Overtaken[RecordT], *forms: Dialog[bool]) -> None:
        refusal = f"the {self.noun} was changed by somebody else meanwhile: nothing was saved"
        if forms:
            forms[-1].show_refusal(refusal)
        now = found.now
        if now is None:
            self._offer_add_again(found, *forms)
            return

        def closed(saved: bool | None) -> None:
            if not saved:
                self._section.bench.report(f"{refusal}. What you wrote is kept.", severity="warning")

        def save(dialog: OvertakenRecord, changes: dict[str, Any]) -> None:
            if changes:
                self.save(now, changes, *forms, dialog)
            else:
                self._close(found.seen, *forms, dialog)
                self._section.bench.report("kept their version, your edit was discarded")
                self._section.mark_stale()

        merges = field_merges(self.fields.mergeable_fields(found.changes), found.seen, now, found.changes)
        dialog = OvertakenRecord(self.noun, merges, self.fields, save)
        self._section.app.push_screen(dialog, closed)

    def _offer_add_again(self, found: Overtaken[RecordT], *forms: Dialog[bool]) -> None:
        """The record was removed meanwhile: offer to add it again."""
        service, commands = self.service, self.again_commands(found)

        def then(saved: Saved[RecordT]) -> None:
            self._close(found.seen, *forms)
            self.report(f"added the {self.noun} again", commands, saved)

        def answered(yes: bool | None) -> None:
            if yes:
                self.step(
                    "Adding",
                    lambda job: service.add_again(found, job),
                    then,
                    command=commands[0],
                    refused=_refusal_of(forms),
                )

        body = "Somebody else removed it while you edited it. Add it again with what you wrote?"
        self._section.app.push_screen(
            Confirm(f"The {self.noun} was removed meanwhile", body, yes="Add"), answered
        )
        self._section.mark_stale()

    # Steps.

    def step(
        self,
        name: str,
        work: Callable[[Job], ResultT],
        then: Callable[[ResultT], None],
        *,
        command: Sequence[str],
        refused: Refused | None = None,
        returned: Callable[[], None] = lambda: None,
    ) -> None:
        """Carry out a step in a job; a refusal is said in its form, or over the screen, and logged.

        `returned` is called where nothing was done, by refusal or because it was cancelled.
        """
        show = refused or self.report_refused

        def failed(failure: Failure) -> None:
            show(failure.message, failure.hint)
            self._section.bench.log_action(command, failure.details or failure.message, failed=True)
            returned()

        def stopped() -> None:
            if refused is not None:
                refused("It was cancelled.", "")
            returned()

        leads = refused is not None  # from a form: it closes, or something opens over it
        self.steps.submit(name, work, then, failed=failed, stopped=stopped, leads=leads)

    def report_refused(self, message: str, hint: str = "") -> None:
        """Say over the screen why nothing was done."""
        self._section.bench.report(f"{message}\n{hint}".strip(), severity="error")

    def report(
        self, text: str, commands: Sequence[Sequence[str]], saved: Saved[RecordT] | None = None
    ) -> None:
        """Say what was done and which files are out of date; have the cursor on the record."""
        outdated = () if saved is None else saved.outdated
        lines = [
            f"{text} · {UNDOES}",
            *(f"{file} is out of date: D shows what is to be written" for file in outdated),
        ]
        self._section.bench.report("\n".join(lines))
        for command in commands:
            self._section.bench.log_action(command, text)
        if saved is not None and len(saved.records) == 1:
            self._section.go_to(saved.records[0].id)
        self._section.mark_stale()

    # Forms.

    def _open(
        self,
        title: str,
        fields: Sequence[FormField],
        save: Callable[[RecordForm, dict[str, Any]], None],
        *,
        new: bool = False,
    ) -> None:
        record = self.fields
        form = RecordForm(title, fields, save, validate=record.problems, convert=record.read, new=new)
        self._section.app.push_screen(form)

    def _close(self, seen: RecordT, *forms: Dialog[bool]) -> None:
        for form in reversed(forms):
            form.dismiss(True)
        self.edit_ended(seen)


def _refusal_of(forms: Sequence[Dialog[bool]]) -> Refused | None:
    return forms[-1].show_refusal if forms else None
