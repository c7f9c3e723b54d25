"""`workbench rules tags`: the tags in use, and which of them are probably misspelt."""

from __future__ import annotations

import click

from workbench.entry.cli.frame import command, current
from workbench.entry.cli.rules.session import rule_session
from workbench.rules.taxonomy import CLOSED, CUSTOM, PREDEFINED, TagUse, extra_problem, tag_uses, taxonomy
from workbench.text.sanitize import visible_line


@command(examples=("workbench rules tags", "workbench rules tags --known", "workbench rules tags --json"))
@click.option("--known", is_flag=True, help="List the tags that are known instead of those in use.")
def tags(known: bool) -> None:
    """List the tags in use with the number of their rules, and what is wrong with any.

    A tag is written category:value. Values beyond the known ones are fine, custom:anything is too, and the
    setting rules.tags makes further ones known.
    """
    with rule_session("rules") as work:
        extra = work.config.rules.tags
    out = work.here.out
    for tag in extra:
        if problem := extra_problem(tag):
            out.warn(f"rules.tags: {visible_line(tag)} is left out: {problem}")
    if known:
        _known(work.here.flags.json, extra)
        return
    uses = tag_uses(work.book.rules, extra)
    if work.here.flags.json:
        out.json({"tags": uses})
        return
    for use in uses:
        mark = out.style(_said(use), "33") if use.problem else ""
        out.painted(f"{use.rules:>6}  {out.style(visible_line(use.tag), '36')}{mark}")
    if not uses:
        out.say("no rule has a tag")


def _known(as_json: bool, extra: tuple[str, ...]) -> None:
    out = current().out
    found = taxonomy(extra)
    ordered = {
        category: [*PREDEFINED.get(category, ()), *sorted(values.difference(PREDEFINED.get(category, ())))]
        for category, values in found.items()
    }
    if as_json:
        out.json({"categories": ordered, "closed": sorted(CLOSED), "free": CUSTOM})
        return
    for category, values in ordered.items():
        more = "" if category in CLOSED else ", …"
        out.data(f"{category}: {', '.join(values)}{more}")
    out.data(f"{CUSTOM}: anything")


def _said(use: TagUse) -> str:
    if use.problem is None:
        return ""
    hint = f" Did you mean {visible_line(use.problem.suggestion)}?" if use.problem.suggestion else ""
    return f"  {visible_line(use.problem.message)}.{hint}"
