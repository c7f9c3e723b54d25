"""Errors that no format of a tool tells: of the shell, git, package managers, the agent's own tools."""

from __future__ import annotations

import re
from collections.abc import Iterator

from workbench.memory.extraction.found import Found, message_of
from workbench.records.iterations import ErrorType

_DENIED = re.compile(
    r"^(.{0,300}(?:[Pp]ermission denied|Operation not permitted|EACCES|EPERM)\b.{0,200})$", re.MULTILINE
)
_MISSING = re.compile(
    r"^(?:(?:/bin/)?(?:ba|z|da|k)?sh: )?(?:line \d+: |eval: |\d+: )*([^\s:]{1,100}): (?:command )?not found$"
    r"|^zsh: command not found: (\S+)$",
    re.MULTILINE,
)
_SAID = re.compile(
    r"^[ \t]*((?:fatal|error|ERROR|Error|ERR!|FATAL|CONFLICT|abort|E:|npm (?:ERR!|error)|"
    r"make(?:\[\d+\])?: \*\*\*|\w+: error|[\w./-]+: cannot|[\w./-]+: No such file|\[Errno \d+\])\b.{0,400})$",
    re.MULTILINE,
)
_EXIT = re.compile(
    r"^(?:Error: )?(?:Exit code:?|Command failed with exit code|Process exited with code) -?\d+"
    r"\.?[ \t]*(?:\n|\Z)",
    re.MULTILINE,
)
_NO_ERROR = re.compile(r"\A(?:Sibling tool call errored|Cancelled: parallel tool call)")
_TAGS = re.compile(r"</?(?:tool_use_error|error|system)>")
_OUTPUT = re.compile(
    r"^(?:Chunk ID|Wall time|Original token count|Total output lines|Output):.*(?:\n|\Z)", re.MULTILINE
)
_LOGIC = re.compile(
    r"string to replace not found|has not been read|been modified since|no changes to make|old_string|"
    r"found \d+ matches|file does not exist|is a directory|InputValidationError|required parameter|"
    r"exceeds maximum",
    re.IGNORECASE,
)
_TOLD = re.compile(
    r"error|fail|not found|denied|cannot|can't|invalid|unknown|missing|refused|timed? ?out|no such",
    re.IGNORECASE,
)
_PASSED = re.compile(
    r"\(?(?:pass|ok|skip)\b|[✓✔√]|\d+ \||\d+ (?:pass|expect)|Found \d+ errors?\b", re.IGNORECASE
)
_HEAD = 400


def shell_errors(text: str) -> Iterator[Found]:
    """Yield what a shell could not do: programs it does not have, places it may not go."""
    for match in _MISSING.finditer(text):
        message = f"{match[1] or match[2]}: command not found"
        yield Found(message, ErrorType.RUNTIME, match.start(), match.end())
    for match in _DENIED.finditer(text):
        yield Found(message_of(match[1]), ErrorType.PERMISSION, match.start(), match.end())


def failure(text: str, *, rejected: bool) -> Found | None:
    """Return what a call that failed says of it, None where it says nothing, as a search without hits."""
    ended = _EXIT.search(text[:_HEAD]) is not None
    body = _TAGS.sub("", _OUTPUT.sub("", _EXIT.sub("", text, count=1))).strip()
    if rejected:
        return Found(
            message_of(_first_line(body) or "the call was refused"), ErrorType.PERMISSION, 0, len(text)
        )
    if not body or _NO_ERROR.match(body):
        return None
    said = _SAID.search(body)
    if said is not None:
        line = said[1]
    else:
        lines = [line.strip() for line in body.splitlines() if line.strip()]
        line = next((one for one in lines if _TOLD.search(one) and not _PASSED.match(one)), "")
        if not line and ended:
            return None  # output of a program that ended otherwise than well, and does not say why
        line = line or lines[0]
    kind = ErrorType.LOGIC if _LOGIC.search(body[:2_000]) else ErrorType.UNKNOWN
    return Found(message_of(line), kind, 0, len(text))


def _first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "")
