"""The errors in the output of an iteration's tools, whatever tool printed them: each told once, in order.

Which text is looked at matters more than how: a file that is read or searched is full of errors that nobody
made, so only what programs printed and what calls answered that failed is taken.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import chain
from typing import Any, Final

from workbench.memory.extraction import compiled, elixir, javascript, located, python
from workbench.memory.extraction.found import Found, plain
from workbench.memory.extraction.shell import failure, shell_errors
from workbench.records.iterations import ErrorType, ToolUseEvent
from workbench.sessions.importers.touches import shell_commands
from workbench.sessions.importers.transcripts import ToolUse
from workbench.shell.wrappers import program_name

MAX_SEEN: Final = 400
"""Errors of one output that are looked at: a broken build tells thousands."""

PARSERS = tuple(chain(python.PARSERS, javascript.PARSERS, compiled.PARSERS, elixir.PARSERS, located.PARSERS))

# One of these is in whatever a parser finds; most outputs hold none, and are not looked at any further.
_SIGNS = (
    "rror", "Traceback", "ERR", "FAIL", "fail", "panic", "Exception", "Throwable", "--> ", ".go:", ".py:",
    ".pyi:", ".ipynb:", "not ok ", "undefined ", "━━", "✘", "e: ", " > ", "● ", "** (", ") test ", "Failed",
    "Failure",
)  # fmt: skip

_READERS = frozenset(
    "cat head tail less more bat batcat nl sed awk gawk grep egrep fgrep rg ag ack find fd ls tree wc jq yq "
    "echo printf diff cut sort uniq column stat file cd pwd true export which type strings xxd od hexdump "
    "tac tee tr xargs".split()
)
_PURPOSES = (
    (
        ErrorType.TEST,
        re.compile(r"(?:^|[ :/])(?:tests?|pytest|jest|vitest|rspec|phpunit|mocha|tox|nox|ctest)(?= |$|:)"),
    ),
    (
        ErrorType.LINT,
        re.compile(r"(?:^|[ :/])(?:lint|eslint|biome|ruff|mypy|flake8|pylint|clippy|phpstan)(?= |$|:)"),
    ),
    (
        ErrorType.COMPILE,
        re.compile(r"(?:^|[ :/])(?:build|compile|tsc|typecheck|type-check|make|gcc|clang|javac)(?= |$|:)"),
    ),
)
_EXCEPTION = re.compile(r"(?:[\w.]+\.)?[A-Z]\w*(?:Error|Exception)(?:$|[: ])")
_GIT_READERS = frozenset("show log diff blame grep status branch cat-file ls-files rev-parse stash".split())
_REMOTE_READERS = frozenset("view list diff api logs log search describe get".split())


def find_errors(text: str) -> list[Found]:
    """Return the errors that a text holds in a format some tool prints, in its order, none inside another."""
    if _signs().search(text.encode("utf-8", "surrogatepass")) is None:
        return []
    text = plain(text)
    taken: list[Found] = []
    for parser in PARSERS:
        if not any(trigger in text for trigger in parser.triggers):
            continue
        spans = [(one.start, one.end) for one in taken]
        for found in parser.find(text):
            if not any(start <= found.start < end for start, end in spans):
                taken.append(found)
            if len(taken) >= MAX_SEEN:
                return _ordered(taken)
    return _ordered(taken)


@cache
def _signs() -> Any:
    """Return an automaton that finds the first sign in UTF-8, however many signs there are."""
    import re2

    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.never_capture = True
    return re2.compile("|".join(map(re2.escape, _SIGNS)).encode(), options=options)


def _ordered(found: Sequence[Found]) -> list[Found]:
    kept = {(one.message, one.places[:1]): one for one in sorted(found, key=lambda one: -one.start)}
    return sorted(kept.values(), key=lambda one: (one.start, one.message))


def errors_of(use: ToolUseEvent, cwd: str = "") -> Iterator[Found]:
    """Yield the errors that a call's answer tells."""
    if not use.result:
        return
    if use.rejected:
        found = failure(use.result, rejected=True)
        if found is not None:
            yield found
        return
    if not use.failed and only_reads(use, cwd):
        return
    errors = find_errors(use.result)
    if not errors and use.failed:
        text = plain(use.result)
        errors = list(shell_errors(text))[:5]
        last = None if errors else failure(text, rejected=False)
        errors = errors if last is None else [_of_command(last, use, cwd)]
    yield from errors


def _of_command(found: Found, use: ToolUseEvent, cwd: str) -> Found:
    """Return an error of unknown type with the one that the command it came from suggests."""
    if found.type is not ErrorType.UNKNOWN:
        return found
    commands, _ = shell_commands(ToolUse(use.id, use.name, use.input, "", "", cwd, ""))
    words = " ".join(word for command in commands for word in command.words if not _reads(command.words))
    for kind, pattern in _PURPOSES:
        if pattern.search(words):
            return replace(found, type=kind)
    named = _EXCEPTION.match(found.message)
    return replace(found, type=ErrorType.RUNTIME) if named else found


def only_reads(use: ToolUseEvent, cwd: str = "") -> bool:
    """Whether a call's answer is what stands somewhere, and not what a program that ran has to say."""
    call = ToolUse(use.id, use.name, use.input, "", "", cwd, "")
    commands, _ = shell_commands(call)
    if not commands:
        return True
    return all(_reads(command.words) for command in commands)


def _reads(words: Sequence[str]) -> bool:
    if not words:
        return True
    name = program_name(words[0])
    if name == "git":
        return next((word for word in words[1:] if not word.startswith("-")), "") in _GIT_READERS
    if name in ("gh", "kubectl", "docker", "glab"):
        return any(word in _REMOTE_READERS for word in words[1:4])
    return name in _READERS
