"""The errors users can meet.

    WorkbenchError
    ├── UsageError            the request itself makes no sense (exit 2)
    │   ├── ConfigError       a setting is wrong; names the file, key and value
    │   └── UnknownRecord     nothing has the id that was given
    ├── ProjectError          the project directory cannot be used
    │   ├── Unasked           so much outside of a repository that a person is asked first
    │   ├── StaleProject      --strict was asked and files changed since the index
    │   └── GitError          git failed; carries its message
    ├── StoreError            the store on disk cannot be read or written
    │   ├── JournalError      a journal cannot be appended to
    │   ├── StoreBusy         another process held a lock for too long
    │   └── TeamError         the server of a team refuses, or holds what it should not
    │       ├── LoginRefused  it lets nobody in by this URL
    │       └── ServerUnreachable   it cannot be asked at the moment; work stays local
    ├── ProcessError          a program that was started did not do its work
    ├── ModelError            an embedding or ranking model cannot be loaded
    └── ParseError            a file is malformed; names file and line

Every error says what happened, to what, and what to try next (`hint`).
"""

from __future__ import annotations

from pathlib import Path


class WorkbenchError(Exception):
    """Root of all errors meant for users. `hint` is the next step, one sentence."""

    exit_code = 1

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    @property
    def with_hint(self) -> str:
        """What went wrong and the next step, for a note."""
        return f"{self.message}. {self.hint}" if self.hint else self.message


class UsageError(WorkbenchError):
    """The request makes no sense as given."""

    exit_code = 2


class ConfigError(UsageError):
    """A setting has a wrong name or value."""


class UnknownRecord(UsageError):
    """Nothing has the id that was given."""


class ProjectError(WorkbenchError):
    """The project directory cannot be used."""


class Unasked(ProjectError):
    """A directory outside of any repository holds so much that a person is asked before it is indexed."""

    def __init__(self, root: Path, reason: str) -> None:
        super().__init__(
            f"{root} {reason}, and is not a git repository",
            hint="`workbench index` there indexes all of it; --project names another directory, "
            "`git init` makes this one a repository.",
        )
        self.root = root


class StaleProject(ProjectError):
    """Files changed since the index was made and the caller asked for strictness."""

    exit_code = 3


class GitError(ProjectError):
    """The git program failed or is missing."""


class StoreError(WorkbenchError):
    """The store cannot be read or written."""


class JournalError(StoreError):
    """A journal line could not be written or read."""


class StoreBusy(StoreError):
    """Another process kept a lock longer than the wait allowed."""


class TeamError(StoreError):
    """The server of a team refused, or holds something else than it should."""


class LoginRefused(TeamError):
    """The server of a team lets nobody in by this URL."""


class ServerUnreachable(TeamError):
    """The server of a team cannot be asked at the moment."""


class ProcessError(WorkbenchError):
    """A program that was started failed or answered what cannot be read."""


class ModelError(WorkbenchError):
    """A model is missing, damaged or of another shape than expected."""


class ParseError(WorkbenchError):
    """A file is malformed. `path` and `line` (1-based, 0 if unknown) say where."""

    def __init__(self, message: str, *, path: str = "", line: int = 0, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.path = path
        self.line = line
