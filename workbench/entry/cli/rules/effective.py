"""`workbench rules effective`: which rule files an agent loads for a file, in its order."""

from __future__ import annotations

from collections.abc import Iterator

import click

from workbench.entry.cli.frame import command
from workbench.entry.cli.output import Output, shorten
from workbench.entry.cli.session import rule_session
from workbench.entry.services.rule_precedence import effective_response, place_in
from workbench.records.answers.rules import EffectiveFile, EffectiveResponse
from workbench.records.rules import Activation
from workbench.rules.precedence.agents import PRECEDENCE
from workbench.text.counts import plural
from workbench.text.sanitize import visible_line

_WHEN = {
    Activation.ALWAYS: "at start",
    Activation.PATHS: "for paths",
    Activation.REQUESTED: "if asked",
    Activation.MANUAL: "by name",
}


@command
@click.argument("file", metavar="FILE")
@click.option(
    "--agent",
    type=click.Choice(list(PRECEDENCE)),
    default="claude",
    show_default=True,
    help="The agent whose own precedence counts.",
)
@click.option("--cwd", metavar="DIR", default="", help="Where its session starts (default: the root).")
def effective(file: str, agent: str, cwd: str) -> None:
    """Show which rule files an agent loads for a file, in its order, and what it leaves out.

    The order is the agent's own, as it documents it: managed, user, root to --cwd, nested, globs, imports.
    Where its hooks report what it loads, the report is beside the prediction. Nothing is changed.
    """
    with rule_session("rules") as work:
        place = place_in(work.store.root, file, "the file")
        start = place_in(work.store.root, cwd, "the directory") if cwd else ""
        listed = work.opened.workspace.rule_files()
        response = effective_response(work.opened, work.book, listed, agent, place, start)
    out = work.here.out
    if work.here.wrote_json(response):
        return
    for line in _lines(out, response):
        out.paint(line)
    for note in response.notes:
        out.say(visible_line(note))


def _lines(out: Output, found: EffectiveResponse) -> Iterator[str]:
    title = PRECEDENCE[found.agent].title
    started = f", started in {visible_line(found.cwd)}" if found.cwd else ""
    yield out.style(f"{title}, {visible_line(found.file) or 'the root'}{started}", "1")
    for number, one in enumerate(found.loaded, 1):
        name = out.style(visible_line(one.file), "36")
        yield f"{number:>3}  {_WHEN[one.when]:<9}  {name}  {_facts(found, one)}"
        for rule in one.rules:
            off = "" if rule.enabled else "  (disabled, and loaded all the same)"
            yield f"       {rule.line:>5}  {shorten(rule.rule, 96)}{off}"
    if not found.loaded:
        yield "  it loads no rule file"
    else:
        yield (
            f"{found.tokens_at_start:,} tokens at start, {found.tokens:,} with what this file brings; "
            f"{found.order}"
        )
    if found.left_out:
        yield out.style("left out", "1")
    for left in found.left_out:
        yield f"  {out.style(visible_line(left.file), '36')}: {visible_line(left.why)}"
    for name in found.unpredicted:
        yield f"  {out.style(visible_line(name), '33')}: reported by sessions at their start, not predicted"


def _facts(found: EffectiveResponse, one: EffectiveFile) -> str:
    facts = [visible_line(one.why), f"{one.tokens:,} tokens", plural(len(one.rules), "rule")]
    if one.cut:
        facts.append("only its beginning")
    if one.seen:
        facts.append(f"seen in {plural(one.seen, 'session')}")
    elif one.seen == 0 and one.when is Activation.ALWAYS:
        facts.append(f"predicted but never reported by {plural(found.sessions, 'session')}")
    return ", ".join(fact for fact in facts if fact)
