"""Rules enforced: whether a tool call may run, which rules could have a check, breaches in transcripts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from workbench.entry.cli import exits
from workbench.entry.cli.arguments import since_time
from workbench.entry.cli.frame import Invocation, command, current
from workbench.entry.cli.inputs import decode_json, read_input
from workbench.entry.cli.output import shorten
from workbench.entry.cli.rules.options import context_fields, context_options
from workbench.entry.services.rule_checks import (
    ToolCallContext,
    check_response,
    check_tool_call,
    current_rules,
    origin_of,
)
from workbench.errors import UsageError
from workbench.records.rules import Decision, Rule
from workbench.rules.descriptions import origin
from workbench.text.counts import plural
from workbench.text.sanitize import visible_line

if TYPE_CHECKING:
    from workbench.rules.enforcement.checks import Verdict
    from workbench.rules.ruleset import RuleSet
    from workbench.sessions.violations import Count, Violation

_MAX_INPUT = 16 << 20  # bytes
_CODES = {Decision.ALLOW: exits.OK, Decision.ASK: exits.ASK, Decision.DENY: exits.DENY}
_COLORS = {Decision.ALLOW: "32", Decision.ASK: "33", Decision.DENY: "31"}

_NO_CHECK = "no rule has a check: `workbench rules check --suggest` proposes some"
_SESSION = 8  # characters of a session's id that are shown
_NAMED = 10  # files that are no transcripts


@command
@click.option("--tool", metavar="NAME", help="The tool's name, such as Bash or mcp__github__push_files.")
@click.option("--input", "given", metavar="JSON", help="The call's input: JSON, `-` for stdin, or @FILE.")
@click.option("--cwd", metavar="DIR", help="Where the call runs (default: here).")
@click.option("--agent", metavar="NAME", help="The agent, for rules that are for one: claude, codex.")
@context_options
@click.option("--suggest", is_flag=True, help="Propose checks for absolute rules that have none.")
def check(
    tool: str | None, given: str | None, cwd: str | None, agent: str | None, suggest: bool, **limits: Any
) -> int:
    """Say whether a tool call may run: allow (exit 0), ask (exit 10) or deny (exit 11), and by which rule.

    Only absolute rules with a check decide. Nothing is run. A rule that is limited to a context, a fact, a
    scenario or a step is asked where that is given or follows from the call and git; one for an agent is
    asked where no agent is named as well, for the call may be its.
    """
    here = current()
    if suggest:
        if tool or given:
            raise UsageError("--suggest takes no call", hint="Leave out --tool and --input.")
        _suggest(here)
        return exits.OK
    if not tool or given is None:
        raise UsageError(
            "a call has a tool and an input", hint="""Such as: --tool Bash --input '{"command": "ls"}'"""
        )
    asked = context_fields(here, tool=agent, **limits)
    known = ToolCallContext(
        cwd=cwd or "",
        agent=asked["tool"],
        contexts=asked["contexts"],
        facts=dict(asked["facts"]),
        scenario=asked["scenario"],
        step=asked["step"],
    )
    value = decode_json(_read(given), "input", "--input", '{"command": "ls"}')
    rules = rules_in_force(here).checked_rules()
    verdict = check_tool_call(here.project, rules, tool, value, known)
    _show_verdict(here, verdict)
    if not rules:
        here.out.say(_NO_CHECK)
    return _CODES[verdict.decision]


def rules_in_force(here: Invocation) -> RuleSet:
    """Return the rules in force; what is odd about them is reported. Raises: WorkbenchError."""
    rules, notes = current_rules(here.project, here.settings().config)
    for note in notes:
        here.out.warn(note)
    return rules


def _read(given: str) -> str:
    """Return the text of `--input`: itself, of stdin or of a file."""
    if given != "-" and not given.startswith("@"):
        return given
    name = given.removeprefix("@")
    return read_input(name, "the input", _MAX_INPUT).decode("utf-8", "replace")


def _show_verdict(here: Invocation, verdict: Verdict) -> None:
    out = here.out
    if here.flags.json:
        out.json(check_response(verdict))
        return
    decision = out.style(str(verdict.decision), _COLORS[verdict.decision])
    out.paint(f"{decision}  {visible_line(verdict.why)}")
    for breach in verdict.breaches:
        says = str(breach.decision) if breach.decides else f"would {breach.decision}, a default rule"
        place = f"{breach.rule.id[:13]}  {visible_line(origin_of(breach.rule))}"
        out.data(f"  {place}  {says}: {visible_line(breach.found)}")
    for note in verdict.notes:
        out.say(note)


def _suggest(here: Invocation) -> None:
    from workbench.rules.enforcement.suggestions import could_be_checked, suggest_checks

    rules = rules_in_force(here)
    found, others = suggest_checks(rules), could_be_checked(rules)
    out = here.out
    if here.flags.json:
        out.json(
            [
                {
                    "id": one.rule.id,
                    "origin": origin_of(one.rule),
                    "words": one.words,
                    "check": one.check,
                    "accept": one.accept,
                }
                for one in found
            ]
        )
        return
    for one in found:
        words = visible_line(one.words)
        out.paint(f"{out.style(visible_line(origin_of(one.rule)), '36')}  {words}")
        out.data(f"  {visible_line(one.accept)}")
    if not found:
        out.say("no absolute rule without a check names a command, a path or a token that can be checked")
    else:
        out.say(f"{len(found)} proposed; a check holds once you run the command under its rule")
    if others:
        first = f"workbench rules edit {others[0].id} --authority absolute"
        out.say(
            f"{len(others)} more name what can be checked, but are default rules and decide nothing: {first}"
        )


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
    rules = [rule for rule in rules_in_force(here).checked_rules() if rule.enabled]
    if not rules:
        here.out.say(_NO_CHECK)
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
        head = f"{_breaches(found)} in {plural(len({one.session for one in found}), 'session')}"
        place = out.style(visible_line(origin(rule)), "36")
        out.paint(f"{out.style(rule.id[:13], '2')}  {place}  {shorten(rule.rule)}")
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
        f"{_breaches(count.violations)} in {plural(count.calls, 'call')} of {plural(files, 'transcript')}"
    )
    for name in others[:_NAMED]:
        out.say(f"{name} is not a transcript of a known agent")
    if len(others) > _NAMED:
        out.say(f"and {len(others) - _NAMED:,} more are not transcripts")
    if count.unreadable:
        out.warn(f"{plural(count.unreadable, 'line')} could not be read and did not count:")
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
