"""Every failure as the server answers it: one form, a status, and the next thing to try."""

from __future__ import annotations

from typing import Final

from workbench.curation.conflicts import RecordChanged
from workbench.curation.steps import BuiltUpon
from workbench.entry.http.answers import ErrorAnswer, FailureText
from workbench.errors import (
    ModelError,
    ProjectError,
    StaleProject,
    StoreBusy,
    Unasked,
    UnknownRecord,
    UsageError,
    WorkbenchError,
)
from workbench.records.conversion import encode_whole

RETRY: Final = 1
"""Seconds after which a busy server is to be asked again."""

_STATUSES: Final[tuple[tuple[type[WorkbenchError], int, str], ...]] = (
    (UnknownRecord, 404, "not_found"),
    (RecordChanged, 409, "changed"),
    (BuiltUpon, 409, "changed"),
    (UsageError, 400, "invalid_request"),
    (StaleProject, 409, "stale"),
    (Unasked, 409, "not_agreed"),
    (ProjectError, 409, "project"),
    (ModelError, 409, "model"),
    (StoreBusy, 503, "busy"),
    (WorkbenchError, 500, "failed"),
)
_CODES: Final = {404: "not_found", 405: "method_not_allowed"}


class RequestRefused(WorkbenchError):
    """What the server itself refuses, with the status it answers."""

    def __init__(self, status: int, code: str, message: str, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.status = status
        self.code = code


def status_of(error: WorkbenchError) -> tuple[int, str]:
    """Return the status of an answer to what failed, and its code for programs."""
    if isinstance(error, RequestRefused):
        return error.status, error.code
    return next((status, code) for kind, status, code in _STATUSES if isinstance(error, kind))


def error_body(code: str, message: str, hint: str = "") -> bytes:
    """Return the body that every failure has."""
    return encode_whole(ErrorAnswer(FailureText(code, message, hint)))


def defect(error: BaseException) -> bytes:
    """Return the body for what should never happen: no trace, no path, no value of anybody."""
    return error_body(
        "defect",
        f"{type(error).__name__} in the server",
        "This is a defect of the workbench; its stderr has the trace.",
    )


def http_failure(status: int, method: str, path: str) -> bytes:
    """Return the body for an address that is not there, or not for this method."""
    what = f"{method} {path[:200]!r}" if status == 405 else f"{path[:200]!r}"
    return error_body(
        _CODES.get(status, "refused"), f"there is no {what} here", "GET /v1/openapi.json lists what there is."
    )
