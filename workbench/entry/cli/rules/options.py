"""The options that commands about rules share: filters, and what rules are to hold for."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import click

from workbench.entry.cli.frame import Invocation, with_options
from workbench.errors import UsageError
from workbench.records.dataclass import dataclass
from workbench.records.rules import Authority, Category, Rule
from workbench.rules.taxonomy import check_tag, choose, taxonomy
from workbench.text.sanitize import visible_line

AGENT = click.option(
    "--tool",
    "--agent",
    "tool",
    metavar="NAME",
    help="The agent it is for, claude or codex: rules for one agent hold for that alone.",
)

context_options = with_options(
    click.option(
        "--context", "contexts", multiple=True, metavar="NAME", help="A context in force. Repeatable."
    ),
    click.option(
        "--fact",
        "facts",
        multiple=True,
        metavar="NAME=VALUE",
        help="A fact for conditions of rules, such as phase=release. Repeatable.",
    ),
    click.option("--scenario", metavar="NAME", help="The active scenario (default: the session's)."),
    click.option("--step", metavar="NAME", help="The active step of the work (default: the session's)."),
    click.option(
        "--session",
        "session_id",
        metavar="ID",
        help="The session that asks: its scenario and step hold, and use is recorded for it.",
    ),
)
"""The options of `context_fields`, apart from the agent."""


@dataclass(frozen=True, slots=True)
class FilterOptions:
    """The filters of a command line, checked; `enabled` None lets disabled rules through, too."""

    scope: tuple[str, ...] = ()
    category: Category | None = None
    authority: Authority | None = None
    tools: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    file: str | None = None
    enabled: bool | None = None

    def of_file(self, rules: Iterable[Rule], root: Path) -> list[Rule]:
        """Return the rules of the file asked for, by any of its names, all rules if none is.

        A path below the project's `root` or the user's home may be given whole.
        """
        if self.file is None:
            return list(rules)
        names = {os.path.normpath(self.file)}
        for base, mark in ((root, ""), (Path.home(), "~/")):
            if (path := Path(self.file)).is_relative_to(base):
                names.add(mark + path.relative_to(base).as_posix())
        known = [(rule, rule.provenance) for rule in rules if rule.provenance is not None]
        return [rule for rule, where in known if not names.isdisjoint((where.file, *where.names))]


filter_options = with_options(
    click.option(
        "--scope",
        metavar="NAME",
        multiple=True,
        help="Only rules that hold here: a context name, or path:FILE (repeatable).",
    ),
    click.option("--category", metavar="NAME", help="Only preference, behavior or agent."),
    click.option("--authority", metavar="NAME", help="Only absolute or default."),
    click.option(
        "--tool", "tools", metavar="NAME", multiple=True, help="Only rules for this tool (repeatable)."
    ),
    click.option("--tag", "tags", metavar="TAG", multiple=True, help="Only rules with one of these tags."),
    click.option("--file", metavar="PATH", help="Only rules of this file."),
)
"""The options of `read_filters`: scope, category, authority, tools, tags, file."""


def read_filters(
    *,
    scope: tuple[str, ...],
    category: str | None,
    authority: str | None,
    tools: tuple[str, ...],
    tags: tuple[str, ...],
    file: str | None,
    enabled: bool | None = None,
    extra_tags: tuple[str, ...] = (),
) -> FilterOptions:
    """Check the values of filters. Raises: UsageError, with what was probably meant.

    A tag in no list is asked for as it is, unless its category is unknown: then no rule can have it.
    """
    known = taxonomy(extra_tags)
    for tag in tags:
        problem = check_tag(tag, known)
        if problem is not None and problem.refused:
            hint = (
                f"Did you mean {problem.suggestion}?" if problem.suggestion else "See workbench rules tags."
            )
            raise UsageError(f"no rule can have the tag {tag!r}: {problem.message}", hint=hint)
    return FilterOptions(
        scope,
        None if category is None else choose(Category, category),
        None if authority is None else choose(Authority, authority),
        tools,
        tags,
        file,
        enabled,
    )


def context_fields(
    here: Invocation,
    *,
    tool: str | None,
    contexts: Sequence[str],
    facts: Sequence[str],
    scenario: str | None,
    step: str | None,
    session_id: str | None,
) -> dict[str, Any]:
    """Return the options as fields of a plan's request.

    Raises: UsageError for what is not a fact; StoreError.
    """
    active = ("", "")
    if session_id and (scenario is None or step is None):
        from workbench.entry.cli.session import episode_service_of  # opens projects, which a hook need not

        active = episode_service_of(here).active(session_id)
    return {
        "tool": here.settings().config.rules.tool if tool is None else tool,
        "contexts": tuple(dict.fromkeys(contexts)),
        "facts": _facts(facts),
        "scenario": active[0] if scenario is None else scenario,
        "step": active[1] if step is None else step,
        "session_id": session_id,
    }


def _facts(given: Sequence[str]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    found: dict[str, list[str]] = {}
    for text in given:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not (name and equals and value):
            raise UsageError(
                f"{visible_line(text)!r} is not a fact", hint="Write NAME=VALUE: --fact phase=release"
            )
        found.setdefault(name, []).append(value)
    return tuple((name, tuple(values)) for name, values in found.items())
