"""Breaches in transcripts are counted once, with what became of the call."""

from __future__ import annotations

from typing import Any

from workbench.records.rules import Authority, Check, Decision, Rule
from workbench.sessions.importers.transcripts import CallOutcome, Event, ToolResult, ToolUse, Unreadable
from workbench.sessions.violations import Count, count_breaches

FORCE = Rule(
    id="force", name="n", rule="r", authority=Authority.ABSOLUTE, check=Check(command="git push --force")
)
LOCKS = Rule(id="locks", name="n", rule="r", check=Check(paths=("src/*.lock",), writes=True))
OFF = Rule(id="off", name="n", rule="r", enabled=False, check=Check(tools=("*",)))
ALLOWED = Rule(id="allowed", name="n", rule="r", check=Check(tools=("*",), decision=Decision.ALLOW))


def use(identifier: str, line: str = "git push -f", **fields: Any) -> ToolUse:
    base: dict[str, Any] = {"at": "2026-01-02T00:00:00Z", "session": "s", "cwd": "/p", "agent": "claude"}
    return ToolUse(identifier, "Bash", {"command": line}, **{**base, **fields})


def counted(*events: Event, count: Count | None = None, **options: Any) -> Count:
    count = Count() if count is None else count
    count_breaches([FORCE, LOCKS, OFF, ALLOWED], events, "f.jsonl", count, **options)
    return count


def test_a_breach_has_its_place_and_its_fate() -> None:
    """The rule, where and when, what was run, and whether it was then rejected or failed."""
    count = counted(
        use("a", line="git push -f", subagent=True), use("b", "ls"), use("c"), use("d"),
        ToolResult("a", CallOutcome.REJECTED), ToolResult("c", CallOutcome.FAILED),
        ToolResult("x", CallOutcome.RAN),
    )  # fmt: skip
    assert (count.calls, [one.outcome for one in count.violations]) == (4, ["rejected", "failed", "unknown"])
    first = count.violations[0]
    assert (first.rule_id, first.session, first.subagent, first.file) == ("force", "s", True, "f.jsonl")
    assert first.excerpt == "it runs `git push -f`"
    assert first.decides


def test_what_is_told_twice_counts_once() -> None:
    """The same call in two files is one; calls without an id are each their own."""
    count = counted(use("a"), use("a"), use(""), use(""))
    assert counted(use("a"), count=count).calls == 3
    assert len(count.violations) == 3


def test_paths_are_those_of_the_session() -> None:
    """Relative to where it began, or to the project it worked in."""
    line = "cd src && touch a.lock"
    assert len(counted(use("a", line, cwd="/q")).violations) == 1
    assert len(counted(use("a", "touch a.lock", cwd="/q/src")).violations) == 0
    assert len(counted(use("a", "touch a.lock", cwd="/q/src"), root="/q").violations) == 1
    assert [violation.decides for violation in counted(use("a", line)).violations] == [False]


def test_since_leaves_out_what_is_older() -> None:
    """Times of any zone compare; a call without a time counts."""
    times = ("2026-01-01T23:59:59Z", "2026-01-02T01:00:00+02:00", "2026-01-02T00:00:00.5Z", "", "odd")
    events = [use(str(number), at=at) for number, at in enumerate(times)]
    assert counted(*events, since="2026-01-02T00:00:00+00:00").calls == 3


def test_unreadable_lines_are_counted_and_some_named() -> None:
    """The first are named with file and line."""
    count = counted(*(Unreadable(line, "x") for line in range(1, 31)))
    assert (count.unreadable, len(count.named), count.named[0]) == (30, 20, "f.jsonl:1: x")


def test_excerpts_hold_no_secrets() -> None:
    """A password in a command is not repeated, even where the excerpt is cut."""
    secret = "ghp_" + "a1B2" * 9
    line = f"git push --force https://kim:hunter22@example.org/{'x' * 70}/{secret}"
    excerpt = counted(use("a", line)).violations[0].excerpt
    assert "hunter22" not in excerpt
    assert "a1B2" not in excerpt
