"""`workbench rules`: the group and the registry of its commands, each imported when invoked."""

from __future__ import annotations

import click

from workbench.entry.cli.frame import Lazy, LazyGroup

_PLACE = "workbench.entry.cli"

COMMANDS = {
    "list": Lazy(f"{_PLACE}.rules_show_commands:list_", "List the rules in force, by file and line."),
    "show": Lazy(
        f"{_PLACE}.rules_show_commands:show",
        "Show one rule whole: its text, where it stands and when it holds.",
    ),
    "match": Lazy(
        f"{_PLACE}.rules_show_commands:match",
        "Show which rules a task calls for, with the parts of their scores.",
    ),
    "examples": Lazy(
        f"{_PLACE}.rules_examples_commands:examples",
        "Show or change the example messages a rule answers to.",
    ),
    "tags": Lazy(
        f"{_PLACE}.rules_tags_commands:tags",
        "List the tags in use with the number of their rules, and what is wrong with any.",
    ),
}


@click.group(
    cls=LazyGroup,
    lazy=COMMANDS,
    examples=("workbench rules list", 'workbench rules match "add a migration"'),
)
def rules() -> None:
    """Find, edit and settle rules, and keep CLAUDE.md, AGENTS.md and their like in step."""
