"""`workbench stash conflicts|resolve`: what machines of a team decided of segments apart, to be settled."""

from __future__ import annotations

from collections.abc import Sequence

import click

from workbench.curation.conflicts import CONFLICT_SHOWN
from workbench.entry.cli.curation import VERSION_ACTIONS, decide_all, find_conflict, settle_conflicts
from workbench.entry.cli.frame import command
from workbench.entry.cli.inputs import WHY, limit_option
from workbench.entry.cli.output import shorten
from workbench.entry.cli.session import stash_session
from workbench.errors import UsageError
from workbench.stash.concurrency import conflict_rows
from workbench.stash.segmenttype import SHORT
from workbench.text.counts import plural
from workbench.text.sanitize import visible_line

_WIDTH = 90


@command
@limit_option()
def conflicts(limit: int) -> None:
    """List segments that machines of a team changed apart, with who changed what and a suggested resolution.

    The later change is in force. `workbench stash resolve` settles one.
    """
    with stash_session("stash") as work:
        found = work.service.conflicts()
    out = work.here.out
    if work.here.wrote_json({"total_count": len(found), "conflicts": found[:limit]}):
        return
    for one in found[:limit]:
        way = one.suggestion.action.value.replace("_", "-")
        out.paint(f"{out.style(one.id[:CONFLICT_SHOWN], '2')}  {one.segment_id[:SHORT]}  {way}")
        out.data(f"    {shorten(one.left.text, _WIDTH)}")
        for item in one.evidence:
            out.data(f"    {item.test}: {visible_line(item.detail)}")
    out.say(f"{plural(len(found), 'conflict')} to settle" if found else "no segment was changed apart")


@command
@click.argument("identifiers", metavar="ID...", nargs=-1, required=True)
@click.option(
    "--action",
    type=click.Choice(VERSION_ACTIONS),
    help="keep-left: the one in force; merge: both, and of what both changed the one in force.",
)
@click.option("--suggested", is_flag=True, help="Do what is suggested.")
@WHY
def resolve(identifiers: Sequence[str], action: str | None, suggested: bool, reason: str) -> None:
    """Settle what `conflicts` lists, as one step, for the whole team; `undo` undoes it."""
    if (action is None) is not suggested:
        raise UsageError("say what to do", hint=f"--action {'|'.join(VERSION_ACTIONS)}, or --suggested.")

    with stash_session("stash-edit") as work:
        waiting = conflict_rows(work.service.conflicts())
        chosen = [find_conflict(waiting, one, "stash") for one in dict.fromkeys(identifiers)]
        settle_conflicts(work.here, work.service, decide_all(chosen, action, "", None, (), reason))
