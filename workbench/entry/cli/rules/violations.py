"""Breaches of rules in transcripts, by rule and session."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from workbench.entry.cli.arguments import since_time
from workbench.entry.cli.frame import Invocation, command, current
from workbench.entry.cli.output import shorten
from workbench.entry.cli.rules.check import rules_in_force
from workbench.errors import UsageError
from workbench.records.rules import Rule
from workbench.rules.descriptions import origin
from workbench.text.counts import counted
from workbench.text.sanitize import visible_line

if TYPE_CHECKING:
    from workbench.sessions.violations import Count, Violation

_SESSION = 8  # characters of a session's id that are shown
_NAMED = 10  # files that are no transcripts


@command
@click.argument("places", metavar="SESSION...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--since", default="", metavar="WHEN", help="Only calls since: a span (24h, 7d) or a date.")
def violations(places: Sequence[Path], since: str) -> None:
    """Count breaches of rules in transcripts of Claude Code and Codex: files, or directories of them.

    Every enabled rule with a check counts, default ones as well. Sub-agents are included.
    """
    here = current()
    for place in places:
        if not place.exists():
            raise UsageError(f"{place} does not exist", hint="Give a transcript or a directory of them.")
    start = since_time(since).isoformat(timespec="seconds") if since else ""
    rules = [rule for rule in rules_in_force(here).checked() if rule.enabled]
    if not rules:
        here.out.say("no rule has a check: `workbench rules check --suggest` proposes some")
    count, files, others = _count(here, rules, places, start)
    _show_violations(here, rules, count, files, others)


def _count(
    here: Invocation, rules: Sequence[Rule], places: Iterable[Path], since: str
) -> tuple[Count, int, list[str]]:
    """Read the transcripts; return (count, how many there were, files that are not transcripts)."""
    from workbench.sessions.importers.readers import read_events
    from workbench.sessions.importers.transcripts import find_transcripts
    from workbench.sessions.violations import Count, count_breaches

    count, files, others = Count(), 0, list[str]()
    paths = find_transcripts(places)
    out = here.out
    with out.progress("Reading transcripts") as line:
        for done, path in enumerate(paths):
            line(done, len(paths))
            try:
                events = read_events(path)
                if events is None:
                    others.append(str(path))
                    continue
                count_breaches(rules, events, str(path), count, root=str(here.project), since=since)
                files += 1
            except OSError as error:
                out.warn(f"{path} cannot be read: {error.strerror}")
    return count, files, others


def _show_violations(
    here: Invocation, rules: Sequence[Rule], count: Count, files: int, others: Sequence[str]
) -> None:
    out = here.out
    groups = _by_rule(rules, count.violations)
    if here.flags.json:
        out.json(
            {
                "files": files,
                "calls": count.calls,
                "rules": [_document(rule, found) for rule, found in groups],
                "unreadable": {"lines": count.unreadable, "named": count.named},
                "not_transcripts": list(others),
            }
        )
        return
    for rule, found in groups:
        head = f"{_breaches(found)} in {counted(len({one.session for one in found}), 'session')}"
        place = out.style(visible_line(origin(rule)), "36")
        out.painted(f"{out.style(rule.id[:13], '2')}  {place}  {shorten(rule.rule)}")
        out.data(f"  {head}{_fates(found)}")
        for one in found:
            helper = " (sub-agent)" if one.subagent else ""
            doubt = f" ({one.doubt})" if one.doubt else ""
            out.data(
                visible_line(
                    f"  {_when(one.at)}  {one.session[:_SESSION]}  {one.tool}{helper}  {one.outcome}: "
                    f"{one.excerpt}{doubt}"
                )
            )
    out.say(
        f"{_breaches(count.violations)} in {counted(count.calls, 'call')} of {counted(files, 'transcript')}"
    )
    for name in others[:_NAMED]:
        out.say(f"{name} is not a transcript of a known agent")
    if len(others) > _NAMED:
        out.say(f"and {len(others) - _NAMED:,} more are not transcripts")
    if count.unreadable:
        out.warn(f"{counted(count.unreadable, 'line')} could not be read and did not count:")
        for name in count.named:
            out.say(f"  {name}")


def _breaches(found: Sequence[Violation]) -> str:
    return "1 breach" if len(found) == 1 else f"{len(found):,} breaches"


def _by_rule(rules: Sequence[Rule], found: Iterable[Violation]) -> list[tuple[Rule, list[Violation]]]:
    """Return the breaches of each rule that has some, the most broken first, in order of time."""
    by_rule: dict[str, list[Violation]] = {}
    for one in found:
        by_rule.setdefault(one.rule_id, []).append(one)
    groups = [
        (rule, sorted(by_rule[rule.id], key=lambda one: (one.at, one.file, one.line)))
        for rule in rules
        if rule.id in by_rule
    ]
    return sorted(groups, key=lambda group: (-len(group[1]), -group[0].priority, group[0].id))


def _fates(found: Sequence[Violation]) -> str:
    """Return how many of the calls did not run, or failed: ` (1 rejected, 2 failed)`."""
    from workbench.sessions.importers.transcripts import CallOutcome

    counts = [
        f"{number} {outcome}"
        for outcome in (CallOutcome.REJECTED, CallOutcome.FAILED, CallOutcome.UNKNOWN)
        if (number := sum(one.outcome is outcome for one in found))
    ]
    return f" ({', '.join(counts)})" if counts else ""


def _document(rule: Rule, found: Sequence[Violation]) -> dict[str, Any]:
    sessions: dict[str, int] = {}
    for one in found:
        sessions[one.session] = sessions.get(one.session, 0) + 1
    return {
        "id": rule.id,
        "origin": origin(rule),
        "rule": rule.rule,
        "count": len(found),
        "sessions": dict(sorted(sessions.items())),
        "violations": list(found),
    }


def _when(at: str) -> str:
    return at[:16].replace("T", " ") or "no time"
