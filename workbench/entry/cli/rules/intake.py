"""Where rules to be added come from: arguments, stdin, lines of JSON."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from workbench.entry.cli.frame import Invocation
from workbench.entry.cli.inputs import words_or_stdin
from workbench.errors import ParseError, UsageError
from workbench.rules.fields import Line, read_lines
from workbench.text.counts import counted

MAX_LINES_BYTES = 64 * 1024 * 1024
_FAULTS = 20


def read_text(here: Invocation, words: Sequence[str], from_stdin: bool) -> str:
    """Return the text of the arguments or of stdin. Raises UsageError for bytes that are no UTF-8."""
    found = words_or_stdin(here, words, from_stdin, "text of the rule")
    if isinstance(found, str):
        return found
    try:
        return found.removeprefix(b"\xef\xbb\xbf").decode("utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(f"stdin is not UTF-8: {error}", hint="Convert it first: iconv -t utf-8") from error


def read_rules(here: Invocation, name: str, tags: tuple[str, ...]) -> list[Line]:
    """Return the rules of JSON lines. Raises: ParseError for the first bad line, the others are reported."""
    data = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    if len(data) > MAX_LINES_BYTES:
        raise UsageError(f"{name} is larger than {MAX_LINES_BYTES // 2**20} MB", hint="Split it.")
    lines, faults = read_lines("stdin" if name == "-" else name, data, tags)
    if not faults and not lines:
        raise UsageError(f"{name} has no rules", hint='One object a line: {"rule": "Use tabs."}')
    for fault in faults[1:_FAULTS]:
        here.out.fail(f"{fault.path}:{fault.line}: {fault.message}", fault.hint)
    if len(faults) > _FAULTS:
        here.out.say(f"and {counted(len(faults) - _FAULTS, 'more line')}")
    if faults:
        here.out.say(
            f"nothing was added: {len(faults):,} of {counted(len(faults) + len(lines), 'line')} are wrong"
        )
        first = faults[0]
        raise ParseError(first.message, path=first.path, line=first.line, hint=first.hint)
    return lines
