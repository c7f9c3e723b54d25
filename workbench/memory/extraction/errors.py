"""The errors in the output of an iteration's tools, whatever tool printed them: each once, in order.

Which text is looked at matters more than how: a file that is read or searched is full of errors that nobody
made, so only what programs printed and what calls answered that failed is taken.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, Final

from workbench.memory.extraction import reports, stacks
from workbench.memory.extraction.patterns import FoundError, Parser, message_of, patterns_of, strip_escapes
from workbench.records.iterations import ErrorType, ToolUseEvent
from workbench.sessions.importers.touches import shell_commands
from workbench.sessions.importers.transcripts import ToolUse
from workbench.shell.wrappers import program_name

MAX_SEEN: Final = 400
"""Errors of one output that are looked at: a broken build reports thousands."""

PARSERS = (
    Parser("pytest", ("FAILED ", "ERROR ", "____ "), report=reports.read_pytest),
    Parser(
        "python",
        ("Traceback (most recent call last)", "SyntaxError: ", "IndentationError: "),
        report=stacks.read_tracebacks,
    ),
    Parser("ruff", (".py:", ".pyi:", ".ipynb:", "--> "), patterns_of("python_linters")),
    Parser("jest", ("  ● ",), report=reports.read_jest),
    Parser("vitest", (" > ", "FAIL  "), patterns_of("vitest_suites"), reports.read_vitest),
    Parser("bun", ("(fail) ",), report=reports.read_bun),
    Parser("bundlers", (" ━━", "✘ [ERROR]"), patterns_of("bundlers")),
    Parser("tap", ("not ok ",), report=reports.read_tap),
    Parser("node", ("Error: ", "Error [", "Exception: "), report=stacks.read_node_stacks),
    Parser("eslint", (" error ", "Error - ", "[Error/"), patterns_of("eslint_lines"), reports.read_eslint),
    Parser("cargo", ("panicked at", "... FAILED"), report=stacks.read_rust_panics),
    Parser("rustc", ("--> ",), patterns_of("rust")),
    Parser("go test", ("--- FAIL: ",), report=reports.read_go_tests),
    Parser("go panic", ("panic: ", "fatal error: "), report=stacks.read_go_panics),
    Parser("java test", ("[ERROR] ", " FAILED\n"), patterns_of("java_tests")),
    Parser("java", ("\tat ", " at "), report=stacks.read_java_stacks),
    Parser("exunit", (") test ",), patterns_of("exunit")),
    Parser("elixir", ("└─ ", "** ("), patterns_of("elixir")),
    Parser("located", (" error", " Error", ":error"), patterns_of("located")),
    Parser("numbered", ("): error ", "): fatal error ", "error TS"), patterns_of("numbered")),
    Parser("go", (".go:",), patterns_of("go_compiler")),
    Parser("linker", ("undefined reference", "undefined symbol"), patterns_of("linkers")),
    Parser("scripts", ("atal error: ", "arse error: ", ":in "), patterns_of("scripts")),
    Parser("builds", ("CMake Error", "e: ", "[ERROR] "), patterns_of("builds")),
)
"""In the order in which they take what is theirs: a stack inside of a failed test is the test's."""

_SHELL = Parser("shell", (), patterns_of("shell"))

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


def find_errors(text: str) -> list[FoundError]:
    """Return the errors that a text holds in a format some tool prints, in its order, none inside another."""
    if _signs().search(text.encode("utf-8", "surrogatepass")) is None:
        return []
    text = strip_escapes(text)
    taken: list[FoundError] = []
    for parser in PARSERS:
        if not any(trigger in text for trigger in parser.triggers):
            continue
        spans = [(one.start, one.end) for one in taken]
        for found in parser.find(text):
            if not any(start <= found.start < end for start, end in spans):
                taken.append(found)
            if len(taken) >= MAX_SEEN:
                return _order(taken)
    return _order(taken)


@cache
def _signs() -> Any:  # noqa: ANN401 - re2 has no types
    """Return an automaton that finds the first sign in UTF-8, however many signs there are."""
    import re2

    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.never_capture = True
    return re2.compile("|".join(map(re2.escape, _SIGNS)).encode(), options=options)


def _order(found: Sequence[FoundError]) -> list[FoundError]:
    kept = {(one.message, one.places[:1]): one for one in sorted(found, key=lambda one: -one.start)}
    return sorted(kept.values(), key=lambda one: (one.start, one.message))


def errors_of(use: ToolUseEvent, cwd: str = "") -> Iterator[FoundError]:
    """Yield the errors in a call's answer."""
    if not use.result:
        return
    if use.rejected:
        failure = extract_failure(use.result, rejected=True)
        if failure is not None:
            yield failure
        return
    if not use.failed and only_reads(use, cwd):
        return
    errors = find_errors(use.result)
    if not errors and use.failed:
        text = strip_escapes(use.result)
        errors = list(_SHELL.find(text))[:5]
        last = None if errors else extract_failure(text, rejected=False)
        errors = errors if last is None else [_of_command(last, use, cwd)]
    yield from errors


def _of_command(found: FoundError, use: ToolUseEvent, cwd: str) -> FoundError:
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
    """Whether a call's answer is what a file holds, and not what a program that ran has to say."""
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


def extract_failure(text: str, *, rejected: bool) -> FoundError | None:
    """Return what a call that failed says of it, None where it says nothing, as a search without hits."""
    ended = _EXIT.search(text[:_HEAD]) is not None
    body = _TAGS.sub("", _OUTPUT.sub("", _EXIT.sub("", text, count=1))).strip()
    if rejected:
        return FoundError(
            message_of(_first_line(body) or "the call was refused"), ErrorType.PERMISSION, 0, len(text)
        )
    if not body or _NO_ERROR.match(body):
        return None
    said = _SAID.search(body)
    if said is not None:
        line = said[1]
    else:
        lines = [line.strip() for line in body.splitlines() if line.strip()]
        line = next((line for line in lines if _TOLD.search(line) and not _PASSED.match(line)), "")
        if not line and ended:
            return None  # output of a program that ended otherwise than well, and does not say why
        line = line or lines[0]
    kind = ErrorType.LOGIC if _LOGIC.search(body[:2_000]) else ErrorType.UNKNOWN
    return FoundError(message_of(line), kind, 0, len(text))


def _first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "")
