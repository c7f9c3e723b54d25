"""What every type of curated record has from Python: its history, undo and redo."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from workbench.entry.services.opening import ProjectHost

if TYPE_CHECKING:
    from workbench.curation.records import Record, RecordChange
    from workbench.curation.service import CurationService

RecordT = TypeVar("RecordT", bound="Record")


class CuratedRecords(Generic[RecordT]):
    """Records of a type in a project that is kept open; subclasses say which and hold their service."""

    _operation: ClassVar[str]
    """What questions are measured as; changes are `<operation>-edit`."""

    def __init__(self, host: ProjectHost) -> None:
        """Take what keeps the project open; `project.rules` is one."""
        self._host = host

    def _hold_service(self, operation: str) -> AbstractContextManager[CurationService[Any, Any]]:
        """Hold the service that curates the records, and measure that as an operation."""
        raise NotImplementedError

    def history(self, identifier: str = "") -> tuple[RecordChange[RecordT], ...]:
        """Return every change of a record, or of all, oldest first.

        Raises: UsageError for an unknown one; StoreError.
        """
        with self._hold_service(self._operation) as service:
            return service.history(identifier)

    def undo(self, step: str = "") -> str:
        """Take back the last step, or the one with this id, with what it wrote into files; return its title.

        Raises: UsageError if there is none; BuiltUpon if its records were changed since; StoreError.
        """
        with self._hold_service(f"{self._operation}-edit") as service:
            return service.undo(step).title

    def redo(self) -> str:
        """Do the last undone step again; return its title. Raises: as `undo`."""
        with self._hold_service(f"{self._operation}-edit") as service:
            return service.redo().title
