"""What speaks for how a task ended."""

from __future__ import annotations

import pytest

from workbench.records.episodes import CommittedPaths
from workbench.sessions.importers.evidence import (
    Committed,
    commit_of,
    commit_taking,
    says_wrong,
    suite_result,
)
from workbench.sessions.importers.transcripts import CallOutcome
from workbench.shell.lines import read_shell

MADE = "[main 0123abc] Refresh the token\n 1 file changed"


@pytest.mark.parametrize(
    ("command", "told", "expected"),
    [
        ("git commit -m x", MADE, Committed("0123abc")),
        ("git add a && git -C web commit -qm x", "", Committed()),
        ("git commit -m x", "On branch main\nnothing to commit, working tree clean", None),
        ("git commit -m x", "fatal: not a git repository", None),
        ("git commit --dry-run", "", None),
        ("git log --grep commit", MADE, None),
        ("echo git commit", MADE, None),
        (
            "git commit -m x && git status",
            f"{MADE}\nnothing to commit, working tree clean",
            Committed("0123abc"),
        ),
        ("git commit -m a; git commit -m b", f"{MADE}\n[main (root-commit) 9999999] b", Committed("9999999")),
    ],
)
def test_commits_count_when_they_were_made(command: str, told: str, expected: Committed | None) -> None:
    """By the program that ran and what it printed."""
    assert expected == commit_of(read_shell(command).commands, CallOutcome.RAN, told)


def test_commits_that_failed_are_none() -> None:
    """Rejected, failed and never answered calls made no commit."""
    commands = read_shell("git commit -m x").commands
    assert [
        commit_of(commands, outcome, MADE)
        for outcome in (CallOutcome.FAILED, CallOutcome.REJECTED, CallOutcome.UNKNOWN)
    ] == [None] * 3


@pytest.mark.parametrize(
    ("command", "told", "failed", "expected"),
    [
        ("pytest -q", "5 passed in 1s", False, True),
        ("uv run pytest", "1 failed, 5 passed in 1s", True, False),
        ("python -m pytest | tail -3", "1 failed, 5 passed in 1s", False, False),
        ("python -m unittest", "Ran 3 tests\n\nOK", False, True),
        ("mix test 2>&1 | tail -5", "14 doctests, 65 tests, 0 failures", False, True),
        ("mix test", "12 tests, 1 failure", True, False),
        (
            "bun run test",
            "a test failed on purpose: 2 failed\n 1216 pass\n 0 fail\nRan 1216 tests",
            False,
            True,
        ),
        ("cargo test", "test result: FAILED. 1 passed; 2 failed;", True, False),
        ("cargo test", "test result: ok. 5 passed; 0 failed; 0 ignored", False, True),
        ("go test ./...", "ok  \tpkg/a\t0.1s\nFAIL\tpkg/b\t0.1s\nFAIL", True, False),
        ("go test ./...", "ok  \tpkg/a\t0.1s", False, True),
        ("npm test", "Tests:       1 failed, 5 passed, 6 total\nTime: 1s", True, False),
        ("npm run test:unit", "Tests:       6 passed, 6 total", False, True),
        ("make test", "", True, False),
        ("make test", "", False, True),
        ("make test | tail -1", "", False, None),
        ("make build", "0 failures", False, None),
        ("cat pytest.ini", "5 passed", False, None),
    ],
)
def test_runs_of_tests_count_by_what_they_printed(
    command: str, told: str, failed: bool, expected: bool | None
) -> None:
    """The last summary counts, else the exit where no pipe hides it."""
    outcome = CallOutcome.FAILED if failed else CallOutcome.RAN
    assert expected is suite_result(read_shell(command).commands, outcome, told)


def test_runs_that_did_not_run_say_nothing() -> None:
    """A rejected call ran no tests."""
    assert None is suite_result(read_shell("pytest").commands, CallOutcome.REJECTED, "5 passed")


@pytest.mark.parametrize(
    "prompt",
    [
        "no, use the cache",
        "That's wrong: it is a 401",
        "it still doesn't work",
        "still failing",
        "not what I asked for",
        "You broke the login",
        "revert that please",
        "I still have weird display issues",
        "wrong file",
        "that didn't help",
    ],
)
def test_corrections_are_heard(prompt: str) -> None:
    """Words that hardly mean anything else."""
    assert says_wrong(prompt)


@pytest.mark.parametrize(
    "prompt",
    [
        "no problem, commit it",
        "now add tests",
        "note that it works",
        "fix the wrong colour of the button",
        "the user is not found",
        "nothing else",
        "Not bad! Next: the form",
        "that works",
        "is this right?",
        "",
    ],
)
def test_other_prompts_correct_nothing(prompt: str) -> None:
    """What only sounds alike."""
    assert not says_wrong(prompt)


@pytest.mark.parametrize(
    ("at", "paths", "expected"),
    [
        (100, {"a", "b"}, 2),
        (99, {"a", "b"}, None),  # before the task
        (200 + 3_600, {"a", "b"}, 2),
        (201 + 3_600, {"a", "b"}, None),  # more than an hour after it
        (150, {"a", "c", "d"}, None),  # a third of its files
        (150, {"a", "b", *map(str, range(400))}, None),  # a change of everything
    ],
)
def test_a_commit_takes_what_a_task_changed(at: int, paths: set[str], expected: int | None) -> None:
    """It was written from the task's start to an hour after its end, and holds half of its files."""
    commits = [CommittedPaths("f" * 40, at, frozenset(paths))]
    assert commit_taking(["a", "b", "x"], 100, 200, commits) == (expected and ("f" * 40, expected))
