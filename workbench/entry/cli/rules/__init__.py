"""`workbench rules`: the group and the registry of its commands, each imported when invoked."""

from __future__ import annotations

import click

from workbench.entry.cli.frame import LazyGroup, lazy_commands

COMMANDS = lazy_commands(
    "workbench.entry.cli.rules",
    {
        "list": ("show", "List the rules in force, by file and line."),
        "show": ("show", "Show one rule in full: its text, its place and when it holds."),
        "match": ("show", "Show which rules a task calls for, with the parts of their scores."),
        "search": ("search", "Find rules by a query, best first, among those the filters let through."),
        "import": (
            "files",
            "Import rule files by name, whatever they are called; `rules undo` takes it back.",
        ),
        "export": (
            "files",
            "Write the rules in force into the files of other agents, next to what people wrote there.",
        ),
        "drift": (
            "files",
            "Show what changed in rule files and not in the store, and the other way round.",
        ),
        "conflicts": (
            "conflicts",
            "Find rules that say the same twice or contradict each other, and settle them.",
        ),
        "add": ("edit", "Add a rule, or several at once from JSON lines."),
        "edit": ("edit", "Change a rule; without options its text opens in an editor."),
        "enable": ("edit", "Switch rules on again."),
        "disable": ("edit", "Switch rules off: they stay, and match nothing."),
        "remove": ("edit", "Remove rules; they stay in the history."),
        "undo": ("workbench.entry.cli.undo:undo_rules", "Take back the last step."),
        "redo": ("workbench.entry.cli.undo:redo_rules", "Do the step again that was undone last."),
        "history": (
            "history",
            "Show what was done to all rules, or to one and its earlier versions, with differences.",
        ),
        "usage": ("history", "Show how often rules were given to sessions, or note that they were."),
        "examples": ("examples", "Show or change the example messages a rule is relevant to."),
        "tags": (
            "search",
            "List the tags in use, how many rules have each, and what is wrong with any.",
        ),
        "check": (
            "check",
            "Say whether a tool call may run, and which rule says so; propose checks for rules.",
        ),
        "violations": ("violations", "Count breaches of rules in transcripts of Claude Code and Codex."),
    },
)


@click.group(
    cls=LazyGroup,
    lazy=COMMANDS,
    examples=("workbench rules list", 'workbench rules match "add a migration"'),
)
def rules() -> None:
    """Find, edit and settle rules, and keep CLAUDE.md, AGENTS.md and their like up to date."""
