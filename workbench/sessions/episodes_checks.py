"""What may be recorded about an episode: values checked, paths made project-relative, secrets taken out.

Everything a hook, a client or a person gives passes here before it is journalled. What is wrong is refused
with what was probably meant.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from typing import Any, Final, TypeVar

from workbench.errors import UnknownRecord, UsageError
from workbench.ports import Entry
from workbench.records.episodes import ChangeKind
from workbench.sessions.episodes_fold import IMPORTED, STARTED
from workbench.suggest import did_you_mean
from workbench.text.redact import redact, redact_values
from workbench.text.sanitize import visible_line

MAX_TASK: Final = 20_000  # characters
MAX_TEXT: Final = 4_000
MAX_PAYLOAD: Final = 64_000
MAX_DEPTH: Final = 20
MAX_WHOLE: Final = 2**53

_NAME: Final = 40  # characters
_NAME_WORDS: Final = 6
_WORD = re.compile(r"[a-z0-9]+")
_SESSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:@#/+-]{0,199}")
_COMMIT = re.compile(r"[0-9a-fA-F]{7,64}")

V = TypeVar("V", bound=StrEnum)


def session_id(given: str) -> str:
    """Return the id of a session. Raises UsageError for an invalid one."""
    if _SESSION.fullmatch(given):
        return given
    raise UsageError(
        f"{_short(given)!r} cannot be the id of a session",
        hint="Up to 200 letters, digits and ._:@#/+- make an id; leave it out to get one.",
    )


def name_of(task: str) -> str:
    """Return words of a task as an id, without its secrets; `task` where it has none in Latin letters."""
    plain = unicodedata.normalize("NFKD", redact(_storable(task[:MAX_TEXT])).text).encode("ascii", "ignore")
    words = [word for word in _WORD.findall(plain.decode().lower()) if len(word) > 2 or word.isdigit()]
    name = ""
    for word in words[:_NAME_WORDS]:
        longer = f"{name}-{word}".lstrip("-")
        if len(longer) > _NAME:
            break
        name = longer
    return name or "task"


def task_text(given: str) -> str:
    """Return a task without secrets, cut to what is weighed. Raises UsageError for an empty one."""
    text = redact(_storable(given)).text[:MAX_TASK].strip()
    if not text:
        raise UsageError("the task is empty", hint='Say what is to be done: episode start "fix the login".')
    return text


def remark(given: str) -> str:
    """Return why somebody judges as they do, without secrets."""
    return redact(_storable(given)).text[:MAX_TEXT].strip()


def one_of(kind: type[V], given: str, what: str) -> V:
    """Return the value of an enumeration that a text names. Raises UsageError with the nearest one."""
    known = [member.value for member in kind]
    wanted = given.strip().lower()
    if wanted in known:
        return kind(wanted)
    listed = f"One of {', '.join(known)}."
    raise UsageError(f"{_short(given)!r} is not a valid {what}", hint=did_you_mean(given, known, listed))


def commit_sha(given: str) -> str:
    """Return a commit's id in lower case, empty if none is given. Raises UsageError."""
    if not given or _COMMIT.fullmatch(given):
        return given.lower()
    raise UsageError(f"{_short(given)!r} is not a commit id", hint="`git rev-parse HEAD` prints one.")


def whole(given: int | None, what: str) -> int | None:
    """Return a count. Raises UsageError for a negative or impossible one."""
    if given is None or (type(given) is int and 0 <= given <= MAX_WHOLE):
        return given
    raise UsageError(f"{what} is {given}", hint="It is a whole number, 0 or more.")


def project_path(root: str, given: str, base: str = "") -> str:
    """Return the path of a file relative to the project, with slashes and without secrets.

    A relative one starts at `base`, an absolute directory (default: the project). Links are looked through
    only where the names alone lead outside. Raises: UsageError for a path that is not below the project.
    """
    if not given or "\0" in given:
        raise UsageError("a file has an empty name", hint="Give its path, as in --file src/auth.py.")
    path = os.path.normpath(os.path.join(base or root, redact_values(given)))
    for top, found in ((root, path), (os.path.realpath(root), os.path.realpath(path))):
        relative = os.path.relpath(found, top)
        if relative != os.curdir and relative.split(os.sep, 1)[0] != os.pardir:
            return relative.replace(os.sep, "/")
    raise UsageError(
        f"{visible_line(given)} is not a file of this project",
        hint=f"Only files below {visible_line(root)} are recorded.",
    )


def payload(given: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return what an event carries, without secrets. Raises UsageError for what is not JSON or too large."""
    return {} if not given else _clean_object(given, [MAX_PAYLOAD], 0)


def edit_payload(found: dict[str, Any], kind: str, path_of: Callable[[str], str]) -> dict[str, Any]:
    """Return the payload of an edit: its kind and its former path checked. Raises UsageError."""
    wanted = kind or found.get("kind") or ChangeKind.MODIFIED.value
    edited = {**found, "kind": one_of(ChangeKind, str(wanted), "kind of change").value}
    if old := found.get("old_path"):
        edited["old_path"] = path_of(str(old))
    return edited


def unknown_session(given: str, known: Iterable[str]) -> UnknownRecord:
    """Return the error for an unknown session, with the nearest one."""
    nearest = did_you_mean(given, known, "`workbench episode list` shows the sessions that are known.")
    return UnknownRecord(f"there is no session {_short(given)}", hint=nearest)


def _clean_object(value: Mapping[str, Any], room: list[int], depth: int) -> dict[str, Any]:
    return {_clean(str(name), room, depth): _clean(inner, room, depth + 1) for name, inner in value.items()}


def _clean(value: Any, room: list[int], depth: int) -> Any:  # noqa: ANN401 - JSON of any shape
    """Return a JSON value without secrets; `room` is how many characters may still come."""
    room[0] -= len(value) if isinstance(value, str) else 8
    if room[0] < 0 or depth > MAX_DEPTH:
        raise UsageError(
            f"the payload is larger than {MAX_PAYLOAD:,} characters or deeper than {MAX_DEPTH} levels",
            hint="Record what matters of it: an event says what happened, not what was read.",
        )
    if isinstance(value, str):
        return redact(_storable(value)).text
    if isinstance(value, Mapping):
        return _clean_object(value, room, depth)
    if isinstance(value, list | tuple):
        return [_clean(inner, room, depth + 1) for inner in value]
    if value is None or isinstance(value, bool | int | float):
        return value
    raise UsageError(f"a payload cannot hold a {type(value).__name__}", hint="Give what JSON can hold.")


def _storable(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8").replace("\0", "")


def _short(text: str) -> str:
    return visible_line(text)[:60]


def named_sessions(entries: Iterable[Entry], given: str) -> list[str]:
    """Return the session that is named, else those whose ids begin so, as they first occur."""
    named = [str(entry.body.get("session_id")) for entry in entries if entry.kind in (STARTED, IMPORTED)]
    if given in named:
        return [given]
    return list(dict.fromkeys(session for session in named if session.startswith(given)))
