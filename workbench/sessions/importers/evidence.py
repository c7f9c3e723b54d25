"""What speaks for how a task ended: commits, test runs, and the user's next words.

Conservative: a test run counts by what it printed, or by its exit where nothing hides it; a correction by
words that hardly mean anything else at the beginning of a prompt.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from workbench.sessions.importers.transcripts import CallOutcome
from workbench.shell.words import Simple
from workbench.shell.wrappers import program_name

_SHOWN = 8_000  # characters at either end of a result
_SHA = re.compile(r"^\[[^\]\n]{1,200}? ([0-9a-f]{7,40})\] ", re.MULTILINE)
_NO_COMMIT = re.compile(r"nothing (?:added )?to commit|no changes added to commit|nothing to commit")
_COMMIT_FAILED = re.compile(r"^(?:fatal|error): ", re.MULTILINE)
_TESTERS = frozenset(
    "pytest py.test tox nox jest vitest mocha ava rspec phpunit ctest minitest karma cypress playwright "
    "nextest".split()
)
_RUNNERS = {
    "npm": ("test", "t"), "pnpm": ("test", "t"), "yarn": ("test",), "bun": ("test",), "deno": ("test",),
    "cargo": ("test", "nextest"), "go": ("test",), "mix": ("test",), "make": ("test", "check", "tests"),
    "gradle": ("test", "check"), "gradlew": ("test", "check"), "mvn": ("test", "verify"), "dotnet": ("test",),
    "swift": ("test",), "rake": ("test", "spec"), "just": ("test",), "rails": ("test",), "zig": ("test",),
    "bazel": ("test",), "flutter": ("test",), "hatch": ("test",), "sbt": ("test",), "stack": ("test",),
}  # fmt: skip
_LAUNCHERS = frozenset("npx bunx uvx pnpx poetry pipenv uv rye bundle run exec python python3 -m".split())
_FAILED = re.compile(
    r"\b([1-9]\d*) (?:tests? )?(?:failed|failures?|failing|errors?)\b|\b([1-9]\d*) fail$|^FAILED\b|"
    r"^test result: FAILED|^--- FAIL|^FAIL[\t ]|^Tests: +.*?[1-9]\d* failed|BUILD FAILED|FAILURES!",
    re.MULTILINE,
)
_PASSED = re.compile(
    r"\b[1-9]\d* (?:tests? )?(?:passed|passing|pass)\b|\b0 fail(?:ures|ed)?\b|^test result: ok|"
    r"^ok[ \t]+\S+\t|^OK(?: \(|$)|\bAll tests passed|BUILD SUCCESS",
    re.MULTILINE | re.IGNORECASE,
)
_NOT_MEANT = r"(?!\s*(?:problem|worries|need|rush|thanks|idea|one|longer|matter))"
_THAT = r"(?:that|this|it)"
_NOT = r"(?:does ?n[o']?t|did ?n[o']?t|doesnt|didnt|does not|did not)"
_WRONG = re.compile(
    rf"(?:(?:oh |um |hm+,? |wait,? )?(?:no+|nope|wrong|incorrect)\b{_NOT_MEANT}|"
    rf"{_THAT}(?:'s| is|s) (?:still )?(?:wrong|not (?:right|correct|what i|working|it\b)|broken|incorrect)|"
    rf"{_THAT} (?:still )?{_NOT} (?:work|help|fix)|"
    r"not what i (?:asked|meant|wanted)|you (?:broke|misunderstood|forgot|missed|still have)|"
    rf"still (?:broken|fail(?:s|ing)|wrong|not|{_NOT}|the same|an? error|have|having|get(?:ting)?|seeing?)\b|"
    r"i (?:still|am still|'m still) (?:have|get|getting|see|seeing)\b|"
    r"(?:please )?(?:revert|undo) (?:that|this|it|your|the last)|"
    r"i (?:said|told you|asked (?:you )?(?:for|to))\b)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Committed:
    """A commit was made; `sha` is empty where the output does not show it."""

    sha: str = ""


def commit_of(commands: Sequence[Simple], outcome: CallOutcome, output: str) -> Committed | None:
    """Return the last commit that a shell call made, None if it made none."""
    if outcome is not CallOutcome.RAN or not any(map(_commits, commands)):
        return None
    shas = _SHA.findall(output)
    if shas:
        return Committed(shas[-1])
    output = output[:_SHOWN] + output[-_SHOWN:]
    return None if _NO_COMMIT.search(output) or _COMMIT_FAILED.search(output) else Committed()


def _commits(command: Simple) -> bool:
    if not command.words or program_name(command.words[0]) != "git":
        return False
    rest = list(command.words[1:])
    while len(rest) > 1 and rest[0] in ("-C", "-c"):
        rest = rest[2:]
    return rest[:1] == ["commit"] and "--dry-run" not in rest


def suite_result(commands: Sequence[Simple], outcome: CallOutcome, output: str) -> bool | None:
    """Return whether the tests that a shell call ran passed, None if it ran none or shows no result."""
    runs = [place for place, command in enumerate(commands) if runs_tests(command)]
    if not runs or outcome in (CallOutcome.REJECTED, CallOutcome.UNKNOWN):
        return None
    shown = output if len(output) <= 2 * _SHOWN else f"{output[:_SHOWN]}\n{output[-_SHOWN:]}"
    for line in reversed(
        shown.splitlines()
    ):  # the last summary counts: tests print all sorts of things before
        if _FAILED.search(line):
            return False
        if _PASSED.search(line):
            return True
    if outcome is CallOutcome.FAILED:
        return False
    return True if runs[-1] == len(commands) - 1 and len(commands) == 1 else None


def runs_tests(command: Simple) -> bool:
    """Whether a command runs a test suite."""
    words = list(command.words)
    while words and (program_name(words[0]) in _LAUNCHERS or words[0].startswith("-")):
        words = words[1:]
    if not words:
        return False
    name = program_name(words[0])
    rest = [word for word in words[1:] if not word.startswith("-") and word != "run"]
    if name == "unittest" or name in _TESTERS:
        return True
    wanted = _RUNNERS.get(name)
    return wanted is not None and bool(rest) and rest[0].split(":")[0].lstrip("/") in wanted


def says_wrong(prompt: str) -> bool:
    """Whether a prompt calls what was done before it wrong."""
    return _WRONG.match(prompt.strip()[:200]) is not None
