"""What speaks for how a task ended: commits, test runs, and the user's next words.

Conservative: a test run counts by what it printed, or by its exit where nothing hides it; a correction by
words that hardly mean anything else at the beginning of a prompt.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Sequence
from typing import Final

from workbench.records.dataclass import dataclass
from workbench.records.episodes import CommittedPaths
from workbench.sessions.importers.transcripts import CallOutcome
from workbench.shell.words import Simple
from workbench.shell.wrappers import program_name
from workbench.text.expressions import read_expressions, read_words

_FORMS: Final = read_expressions(__package__, "evidence.toml")
_WORDS: Final = read_words(__package__, "evidence.toml")


_SOON = 3_600  # seconds after a task in which a commit of half of its files is a commit of its work
_SWEEPING = 400  # files of a commit that is about no task
_SHOWN = 8_000  # characters at either end of a result
_RUNNERS = {
    "npm": ("test", "t"), "pnpm": ("test", "t"), "yarn": ("test",), "bun": ("test",), "deno": ("test",),
    "cargo": ("test", "nextest"), "go": ("test",), "mix": ("test",), "make": ("test", "check", "tests"),
    "gradle": ("test", "check"), "gradlew": ("test", "check"), "mvn": ("test", "verify"), "dotnet": ("test",),
    "swift": ("test",), "rake": ("test", "spec"), "just": ("test",), "rails": ("test",), "zig": ("test",),
    "bazel": ("test",), "flutter": ("test",), "hatch": ("test",), "sbt": ("test",), "stack": ("test",),
}  # fmt: skip
_LAUNCHERS = frozenset("npx bunx uvx pnpx poetry pipenv uv rye bundle run exec python python3 -m".split())


@dataclass(frozen=True, slots=True)
class Committed:
    """A commit was made; `sha` is empty where the output does not show it."""

    sha: str = ""


def commit_of(commands: Sequence[Simple], outcome: CallOutcome, output: str) -> Committed | None:
    """Return the last commit that a shell call made, None if it made none."""
    if outcome is not CallOutcome.RAN or not any(map(_commits, commands)):
        return None
    shas = _FORMS["sha"].findall(output)
    if shas:
        return Committed(shas[-1])
    output = output[:_SHOWN] + output[-_SHOWN:]
    return (
        None if _FORMS["no_commit"].search(output) or _FORMS["commit_failed"].search(output) else Committed()
    )


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
        if _FORMS["failed"].search(line):
            return False
        if _FORMS["passed"].search(line):
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
    if name == "unittest" or name in _WORDS["testers"]:
        return True
    wanted = _RUNNERS.get(name)
    return wanted is not None and bool(rest) and rest[0].split(":")[0].lstrip("/") in wanted


def says_wrong(prompt: str) -> bool:
    """Whether a prompt calls what was done before it wrong."""
    return _FORMS["wrong"].match(prompt.strip()[:200]) is not None


def commit_taking(
    paths: Collection[str], started: int, ended: int, commits: Sequence[CommittedPaths]
) -> tuple[str, int] | None:
    """Return (sha, how many of a task's paths it took) of the first commit that took half of them at least.

    It was written since the task started and within an hour after it ended. `commits` are in that order.
    """
    for commit in commits[bisect_left(commits, started, key=lambda commit: commit.at) :]:
        if commit.at > ended + _SOON:
            return None
        taken = len(commit.paths.intersection(paths))
        if taken and 2 * taken >= len(paths) and len(commit.paths) <= _SWEEPING:
            return commit.sha, taken
    return None
