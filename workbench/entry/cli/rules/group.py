"""`workbench rules`: the group and the registry of its commands, each imported when invoked."""

from __future__ import annotations

import click

from workbench.entry.cli.frame import Lazy, LazyGroup

_PLACE = "workbench.entry.cli"

COMMANDS = {
    "list": Lazy(f"{_PLACE}.rules.show:list_", "List the rules in force, by file and line."),
    "show": Lazy(
        f"{_PLACE}.rules.show:show",
        "Show one rule whole: its text, where it stands and when it holds.",
    ),
    "match": Lazy(
        f"{_PLACE}.rules.show:match",
        "Show which rules a task calls for, with the parts of their scores.",
    ),
    "search": Lazy(
        f"{_PLACE}.rules.search:search",
        "Find rules by a query, best first, among those the filters let through.",
    ),
    "import": Lazy(
        f"{_PLACE}.rules.files:import_",
        "Import rule files by name, whatever they are called; `rules undo` takes it back.",
    ),
    "export": Lazy(
        f"{_PLACE}.rules.files:export",
        "Write the rules in force into the files of other agents, next to what people wrote there.",
    ),
    "drift": Lazy(
        f"{_PLACE}.rules.files:drift",
        "Say what changed in rule files behind the store's back, and in the store behind the files'.",
    ),
    "conflicts": Lazy(
        f"{_PLACE}.rules.conflicts:conflicts",
        "Find rules that say the same twice or contradict each other, and settle them.",
    ),
    "add": Lazy(f"{_PLACE}.rules.edit:add", "Add a rule, or several at once from JSON lines."),
    "edit": Lazy(f"{_PLACE}.rules.edit:edit", "Change a rule; without options its text opens in an editor."),
    "enable": Lazy(f"{_PLACE}.rules.edit:enable", "Switch rules on again."),
    "disable": Lazy(f"{_PLACE}.rules.edit:disable", "Switch rules off: they stay, and match nothing."),
    "remove": Lazy(f"{_PLACE}.rules.edit:remove", "Put rules out of force; they stay in the history."),
    "undo": Lazy(f"{_PLACE}.rules.history:undo", "Take back the last step."),
    "redo": Lazy(f"{_PLACE}.rules.history:redo", "Do the step again that was undone last."),
    "history": Lazy(
        f"{_PLACE}.rules.history:history",
        "Show what was done to all rules, or to one and its earlier versions, with differences.",
    ),
    "usage": Lazy(
        f"{_PLACE}.rules.history:usage",
        "Show how often rules were given to sessions, or note that they were.",
    ),
    "examples": Lazy(
        f"{_PLACE}.rules.examples:examples",
        "Show or change the example messages a rule answers to.",
    ),
    "tags": Lazy(
        f"{_PLACE}.rules.tags:tags",
        "List the tags in use with the number of their rules, and what is wrong with any.",
    ),
    "check": Lazy(
        f"{_PLACE}.rules.check:check",
        "Say whether a tool call may run, and which rule says so; propose checks for rules.",
    ),
    "violations": Lazy(
        f"{_PLACE}.rules.violations:violations",
        "Count breaches of rules in transcripts of Claude Code and Codex.",
    ),
}


@click.group(
    cls=LazyGroup,
    lazy=COMMANDS,
    examples=("workbench rules list", 'workbench rules match "add a migration"'),
)
def rules() -> None:
    """Find, edit and settle rules, and keep CLAUDE.md, AGENTS.md and their like in step."""
