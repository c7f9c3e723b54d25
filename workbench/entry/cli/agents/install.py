"""Agents set up to use the workbench, and restored: a diff first, then a question, then one write a file."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

from workbench.entry.cli.frame import Invocation, command, current, with_options
from workbench.errors import UsageError
from workbench.text.counts import plural
from workbench.text.sanitize import visible_line

if TYPE_CHECKING:
    from workbench.entry.install.agents import AgentPlaces, CodingAgent
    from workbench.entry.install.changes import SettingsChange
    from workbench.entry.install.setup import AgentState

_NAMES = ("claude", "codex", "cursor", "gemini", "copilot", "vscode", "zed", "opencode")
_KINDS = ("mcp", "hooks", "rules")
_DEFAULT = {False: "mcp,hooks", True: "mcp,hooks,rules"}
_STATES = {True: "installed", None: "out of date", False: "-"}

_CHOICE = with_options(
    click.option(
        "--agent",
        "names",
        multiple=True,
        type=click.Choice(_NAMES),
        help="Only this agent (repeatable; default: those found).",
    ),
    click.option(
        "--what",
        metavar="KINDS",
        help="mcp, hooks, rules, with commas (default: mcp,hooks; all to take out).",
    ),
    click.option(
        "--user", "level", flag_value="user", default="user", help="In your own settings (default)."
    ),
    click.option("--in-project", "level", flag_value="project", help="In the project's, shared by all."),
    click.option("--dry-run", is_flag=True, help="Show the lines that would change, and write nothing."),
    click.option("--yes", "-y", is_flag=True, help="Write without asking."),
)


@command
@_CHOICE
@click.option("--status", is_flag=True, help="Show which agents are here and what is installed.")
def install(
    names: Sequence[str], what: str | None, level: str, dry_run: bool, yes: bool, status: bool
) -> int:
    """Set up the coding agents on this machine to use the workbench.

    Shows the lines that would change in their settings and asks. Comments, order and indentation stay as they
    are, a copy of each file is kept, and `workbench uninstall` takes out what was added and nothing else. A
    second run changes nothing. Files that are links, read-only or malformed are left alone, and named.
    """
    here = current()
    places, kinds = _places(here), _kinds(what or (",".join(_KINDS) if status else _DEFAULT[False]))
    if status:
        _show_states(here, places, kinds, _wanted_agents(names))
        return 0
    agents = _wanted_agents(names) or _find_agents(here, places)
    return _change(here, places, agents, kinds, level, dry_run=dry_run, yes=yes, uninstall=False)


@command
@_CHOICE
def uninstall(names: Sequence[str], what: str | None, level: str, dry_run: bool, yes: bool) -> int:
    """Take out of the settings of coding agents what `workbench install` added.

    What you changed in these files since then stays; a file that was made for it goes, with its directory if
    that is empty then.
    """
    from workbench.entry.install.agents import AGENTS

    here = current()
    agents = _wanted_agents(names) or list(AGENTS.values())
    kinds = _kinds(what or _DEFAULT[True])
    return _change(here, _places(here), agents, kinds, level, dry_run=dry_run, yes=yes, uninstall=True)


def _places(here: Invocation) -> AgentPlaces:
    from workbench.entry.install.agents import AgentPlaces
    from workbench.entry.install.program import installed_from, own_program

    return AgentPlaces(os.environ, here.project, own_program(os.environ, source=installed_from()))


def _wanted_agents(names: Sequence[str]) -> list[CodingAgent]:
    from workbench.entry.install.agents import AGENTS

    return [AGENTS[name] for name in dict.fromkeys(names)]


def _find_agents(here: Invocation, places: AgentPlaces) -> list[CodingAgent]:
    from workbench.entry.install.setup import agents_here

    agents = agents_here(places.environment)
    if not agents:
        raise UsageError("no coding agent was found on this machine", hint="Name one with --agent.")
    here.out.say(f"found {', '.join(agent.title for agent in agents)}")
    return agents


def _kinds(given: str) -> list[str]:
    """Return what is to be installed. Raises: UsageError for what is nothing of it."""
    from workbench.suggest import did_you_mean

    names = [name.strip() for name in given.split(",") if name.strip()]
    for name in names:
        if name not in _KINDS:
            hint = did_you_mean(name, _KINDS, f"One of {', '.join(_KINDS)}.")
            raise UsageError(f"--what does not know {name!r}", hint=hint)
    return names


def _change(
    here: Invocation,
    places: AgentPlaces,
    agents: Sequence[CodingAgent],
    kinds: Sequence[str],
    level: str,
    *,
    dry_run: bool,
    yes: bool,
    uninstall: bool,
) -> int:
    from workbench.entry.install.agents import DISTRIBUTION, HOOKS, USER
    from workbench.entry.install.program import installed_from, require_source
    from workbench.entry.install.setup import apply_changes, installed_files, plan_changes, settings_files

    files = (installed_files if uninstall else settings_files)(places, agents, kinds, level)
    if not uninstall and level == USER and any(file.entries for file in files):
        require_source(source=installed_from())
    changes = plan_changes(files, places.environment, uninstall=uninstall)
    refused = [change for change in changes if change.refused]
    pending = [change for change in changes if change.is_change]
    if here.flags.json:
        here.out.json([_document(change) for change in changes])
    else:
        for one in pending:
            for line in _diff(one):
                here.out.paint(line)
    for one in refused:
        here.out.warn(f"{visible_line(one.refused)}. {one.hint}")
    if not pending:
        here.out.say("nothing to change" if files else f"none of them has settings for that in the {level}'s")
        return 1 if refused else 0
    if dry_run or not (yes or _confirm(pending)):
        here.out.say("nothing was written")
        return 1 if refused else 0
    apply_changes(pending, places.environment)
    for path, after in {one.file.path: one.after for one in pending}.items():
        here.out.say(f"{'removed' if after is None else 'written'}: {path}")
    if not uninstall:
        hooked = {one.file.agent for one in pending if one.file.kind == HOOKS}
        for agent in agents:
            if agent.note and agent.name in hooked:
                here.out.say(agent.note)
        if places.program[-1] == DISTRIBUTION:
            again = f"uv tool install {shlex.quote(places.program[-2])}"
            here.out.say(
                f"Hooks answer sooner after `{again}` and `workbench install`."
                if level == USER
                else f"The project's settings name `workbench`: they do nothing without `{again}`."
            )
        here.out.say("Context comes in projects that are indexed: `workbench index` in each.")
    return 1 if refused else 0


def _confirm(pending: Sequence[SettingsChange]) -> bool:
    """Ask whether files are to be written. Raises: UsageError where nobody can be asked."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UsageError("nobody can be asked here: nothing was written", hint="--yes writes it.")
    return click.confirm(f"Write {plural(len(pending), 'file')}?", default=False, err=True)


def _document(change: SettingsChange) -> dict[str, object]:
    return {
        "agent": change.file.agent,
        "what": change.file.kind,
        "path": str(change.file.path),
        "changed": change.is_change,
        "refused": change.refused,
        "diff": [click.unstyle(line) for line in _diff(change)] if change.is_change else [],
    }


def _diff(change: SettingsChange) -> Iterator[str]:
    """Yield the lines of a change as a unified diff, coloured."""
    from workbench.entry.cli.rules.diff import line_diff, line_paint

    out = current().out
    name = str(change.file.path)
    old, new = (
        [] if side is None else side.decode("utf-8").splitlines() for side in (change.before, change.after)
    )
    before, after = (os.devnull if side is None else name for side in (change.before, change.after))
    for line in line_diff(old, new, before, after):
        shown = visible_line(line)
        yield out.style(shown, line_paint(shown))


def _show_states(
    here: Invocation, places: AgentPlaces, kinds: Sequence[str], agents: Sequence[CodingAgent]
) -> None:
    from workbench.entry.install.agents import AGENTS
    from workbench.entry.install.setup import agent_states

    states = agent_states(places, kinds, agents or tuple(AGENTS.values()))
    if here.wrote_json(states):
        return
    for one in states:
        if one.is_there or one.installed is not False:
            here.out.data(_state_line(one))
    missing = dict.fromkeys(one.title for one in states if not one.is_there)
    if missing:
        here.out.say(f"not on this machine: {', '.join(missing)}")


def _state_line(one: AgentState) -> str:
    return f"{one.title:<12}  {one.kind:<5}  {one.level:<7}  {_STATES[one.installed]:<11}  {one.path}"
