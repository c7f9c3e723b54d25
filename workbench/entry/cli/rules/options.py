"""The filters that commands about rules share, and moments in time as people write them."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

import click

from workbench.entry.cli.frame import with_options
from workbench.errors import UsageError
from workbench.records.dataclass import dataclass
from workbench.records.rules import Authority, Category, Rule
from workbench.rules.taxonomy import check_tag, choose, taxonomy


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
