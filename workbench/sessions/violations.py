"""Breaches of rules in transcripts: which calls broke which rule, when, and what became of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from workbench.records.rules import Decision, Rule
from workbench.rules.enforcement.calls import ToolCall
from workbench.rules.enforcement.checks import check_call
from workbench.sessions.importers.transcripts import CallOutcome, Event, ToolResult, ToolUse, Unreadable

MAX_NAMED = 20  # unreadable lines that are named; the rest is counted
_HOME = re.compile(r"/(?:home|Users)/[^/]+|/root(?=/|$)")


@dataclass(frozen=True, slots=True)
class Violation:
    """A call that broke a rule. `excerpt` is the part that did, without secrets; `decides` as in a breach.

    `call` is the agent's own id of it.
    """

    rule_id: str
    session: str
    at: str
    tool: str
    decision: Decision
    decides: bool
    excerpt: str
    doubt: str
    file: str
    line: int
    subagent: bool
    outcome: CallOutcome = CallOutcome.UNKNOWN
    call: str = ""


@dataclass(slots=True)
class Count:
    """What was read so far: calls, breaches in the order of the files, and lines that could not be read."""

    calls: int = 0
    violations: list[Violation] = field(default_factory=list)
    unreadable: int = 0
    named: list[str] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)


def count_breaches(
    rules: Sequence[Rule],
    events: Iterable[Event],
    file: str,
    count: Count,
    *,
    root: str = "",
    since: str = "",
) -> None:
    """Add the breaches in a transcript to a count.

    A call is counted once, however many files record it. Paths are compared with the project's `root` where
    the session worked below it, else with its first directory. `since` is ISO 8601 in UTC; calls without a
    time count.
    """
    enforced = [rule for rule in rules if rule.check is not None and rule.enabled]
    waiting: dict[str, list[int]] = {}
    home, began = "", ""
    for event in events:
        if isinstance(event, Unreadable):
            count.unreadable += 1
            if len(count.named) < MAX_NAMED:
                count.named.append(f"{file}:{event.line}: {event.reason}")
        elif isinstance(event, ToolResult):
            for place in waiting.pop(event.id, ()):
                count.violations[place] = replace(count.violations[place], outcome=event.outcome)
        else:
            if event.id and event.id in count.seen:
                continue
            count.seen.add(event.id)
            if since and event.at and _utc(event.at) < since:
                continue
            count.calls += 1
            began = began or event.cwd
            home = home or ((match := _HOME.match(event.cwd)) and match[0]) or ""
            below = root and (event.cwd == root or event.cwd.startswith(root.rstrip("/") + "/"))
            violations = _find_violations(enforced, event, file, root if below else began, home)
            if violations:
                first = len(count.violations)
                count.violations.extend(violations)
                waiting[event.id] = list(range(first, first + len(violations)))


def _find_violations(rules: Sequence[Rule], use: ToolUse, file: str, root: str, home: str) -> list[Violation]:
    call = ToolCall(use.tool, use.input, use.cwd or root, root, home, use.agent)
    return [
        Violation(
            rule_id=breach.rule.id,
            session=use.session,
            at=use.at,
            tool=use.tool,
            decision=breach.decision,
            decides=breach.decides,
            excerpt=breach.found,
            doubt=breach.doubt,
            file=file,
            line=use.line,
            subagent=use.subagent,
            call=use.id,
        )
        for breach in check_call(rules, call, disk=False).breaches
        if breach.decision is not Decision.ALLOW
    ]


def _utc(at: str) -> str:
    """Return a time so that it compares with others as text: seconds in UTC; as it is if unreadable."""
    from datetime import UTC, datetime

    try:
        moment = datetime.fromisoformat(at)
    except ValueError:
        return at
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return aware.astimezone(UTC).isoformat(timespec="seconds")
