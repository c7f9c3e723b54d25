"""Rules enforced: whether a tool call may run, and which rules could have a check."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from workbench.entry.cli import exits
from workbench.entry.cli.frame import Invocation, command, current
from workbench.entry.cli.inputs import decode_json, read_input
from workbench.entry.cli.rules.context import context_fields, context_options
from workbench.entry.services.rule_checks import (
    ToolCallContext,
    check_response,
    check_tool_call,
    current_rules,
    origin_of,
)
from workbench.errors import UsageError
from workbench.records.rules import Decision
from workbench.text.sanitize import visible_line

if TYPE_CHECKING:
    from workbench.rules.enforcement.checks import Verdict
    from workbench.rules.ruleset import RuleSet

_MAX_INPUT = 16 << 20  # bytes
_CODES = {Decision.ALLOW: exits.OK, Decision.ASK: exits.ASK, Decision.DENY: exits.DENY}
_COLORS = {Decision.ALLOW: "32", Decision.ASK: "33", Decision.DENY: "31"}


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
    verdict = check_tool_call(here.project, rules_in_force(here).checked(), tool, value, known)
    _show_verdict(here, verdict)
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
    out.painted(f"{decision}  {visible_line(verdict.why)}")
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
        out.painted(f"{out.style(visible_line(origin_of(one.rule)), '36')}  {words}")
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
