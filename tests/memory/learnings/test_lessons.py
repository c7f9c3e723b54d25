"""What an iteration teaches, kind by kind: what is a lesson and, as important, what is none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.memory.learnings.conftest import call
from workbench.memory.learnings.commands import command_lessons
from workbench.memory.learnings.corrections.extract import correction_of
from workbench.memory.learnings.lessons import decision_lessons, error_signature, extract_cause
from workbench.records.iterations import DecisionEntry, RawIterationOutput, ToolUseEvent


def texts(*uses: ToolUseEvent) -> list[str]:
    """Return what a run of calls teaches."""
    return [lesson.text for lesson in command_lessons(RawIterationOutput(tool_uses=uses, cwd="/p"))]


def failed(command: str, said: str) -> ToolUseEvent:
    return call(command, said, failed=True)


def test_a_command_under_a_wrapper_that_does_not_know_it() -> None:
    """The same command without the wrapper is the way."""
    found = texts(failed("rtk bun run test", "error: unrecognized subcommand 'bun'"), call("bun run test"))
    assert found == [
        "`rtk bun run test` does not run here (unrecognized subcommand 'bun'); `bun run test` does."
    ]


def test_a_command_that_needs_another_one_first() -> None:
    """It failed, one thing was built, installed or formatted, and it worked."""
    found = texts(
        failed("bun run typecheck", "error: script exited with code 127"),
        call("git status"),
        call("bun install"),
        call("bun run typecheck"),
    )
    assert found == [
        "`bun run typecheck` fails (error: script exited with code 127) until `bun install` has run."
    ]


def test_the_same_command_elsewhere_or_with_a_variable() -> None:
    """A directory or a variable makes the difference."""
    lint = failed("npm run lint", "npm ERR! Missing script: lint")
    assert "`cd web && npm run lint` does." in texts(lint, call("cd web && npm run lint"))[0]
    test = failed("mix test", "** (RuntimeError) no :secret_key_base configuration found")
    assert "`MIX_ENV=test mix test` does." in texts(test, call("MIX_ENV=test mix test"))[0]


@pytest.mark.parametrize(
    "uses",
    [
        (failed("bun test src", "Cannot find module 'x'"), call("bun test src/a.test.ts")),
        (failed("make lint", "1 error"), call("ruff check --fix src/a.py"), call("make lint")),
        (failed("make test", "1 failed"), call("python fix.py && make build"), call("make test")),
        (failed("make test", "1 failed"), call("make test")),
        (failed("git push", "fatal: no upstream"), call("git status")),
        (failed("/home/me/x/run.sh", "permission denied"), call("bash /home/me/x/run.sh")),
    ],
)
def test_what_is_narrower_a_retry_or_for_once_teaches_nothing(uses: tuple[ToolUseEvent, ...]) -> None:
    """Other operands, one file, several commands at once, a flaky test: nobody can tell what helped."""
    assert texts(*uses) == []


@pytest.mark.parametrize(
    ("sentence", "cause"),
    [
        (
            "The issue is that `Bun.spawn` doesn't throw on non-zero exit codes.",
            "`Bun.spawn` doesn't throw on non-zero exit codes.",
        ),
        (
            "Found it! The root cause was that `a.ts` never awaits `load()`.",
            "`a.ts` never awaits `load()`.",
        ),
        ("The issue might be that `a.ts` never awaits `load()`.", ""),
        ("The issue is the test.", ""),
        ("The error is `ENOENT: no such file` during `start()`.", ""),
        ("Is the problem that `a.ts` never awaits `load()`?", ""),
        ("Let me check whether `a.ts` never awaits `load()`.", ""),
    ],
)
def test_a_cause_is_a_mechanism_with_a_name(sentence: str, cause: str) -> None:
    """Guesses, questions, plans and bare messages are no causes."""
    assert extract_cause(sentence) == cause


@pytest.mark.parametrize(
    ("sentence", "later", "rule"),
    [
        ("No, use `uv` instead of `pip`.", True, "Use `uv` instead of `pip`."),
        ("Always run `make lint` before you commit.", False, "Always run `make lint` before you commit."),
        ("Always run `make lint` before a commit.", False, "Always run `make lint` before a commit."),
        ("Use `uv` instead of `pip` for this task.", True, ""),
        ("Can you use `uv` instead of `pip`?", True, ""),
        ("Fix the login in `auth.ts`.", True, ""),
        ("If we use `uv` then `pip` is not needed.", True, ""),
        ("don't commit", True, ""),
    ],
)
def test_a_correction_says_how_things_are_done(sentence: str, later: bool, rule: str) -> None:
    """Requests, tasks of the moment and musings are none."""
    correction = correction_of(sentence, later=later)
    assert (correction.text if correction is not None else "") == rule


def test_a_decision_needs_a_choice_and_a_reason_of_its_own() -> None:
    """What points at something else or gives no reason is left out; who decided is taken off."""
    decisions = [
        DecisionEntry("I'll use `msgspec` instead of `json`", "it rejects unknown fields"),
        DecisionEntry("I'll use `msgspec` instead of `json`", "strict decoding rejects unknown fields early"),
        DecisionEntry("Let me check `a.py`", "the tests of that module fail on Windows"),
        DecisionEntry("I'll use `msgspec`"),
    ]
    assert [lesson.text for lesson in decision_lessons(decisions)] == [
        "Use `msgspec` instead of `json` because strict decoding rejects unknown fields early."
    ]


def test_an_error_is_known_again_by_what_does_not_change() -> None:
    """Numbers, addresses and paths differ from run to run."""
    one = "Timeout of 5000 ms in '/srv/a/x.py' at 0x7f3a"
    other = "timeout of 2000 ms in '/srv/b/x.py' at 0x11ff"
    assert error_signature(one) == error_signature(other)


@given(st.lists(st.tuples(st.text(max_size=60), st.text(max_size=60), st.booleans()), max_size=6))
def test_no_output_breaks_the_reading(calls: list[tuple[str, str, bool]]) -> None:
    """Whatever was called and answered, lessons are texts and nothing is raised."""
    uses = [call(command, said, failed=bad) for command, said, bad in calls]
    assert all(text for text in texts(*uses))
