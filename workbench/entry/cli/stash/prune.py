"""`workbench stash prune`: what to put aside of a context that is too large, and why."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from workbench.entry.cli import exits
from workbench.entry.cli.frame import Invocation, command
from workbench.entry.cli.output import shorten
from workbench.entry.cli.session import stash_session
from workbench.text.counts import counted
from workbench.text.sanitize import visible_line

if TYPE_CHECKING:
    from workbench.entry.services.stash_prune import TranscriptPruning
    from workbench.stash.pruning import PrunedPiece

_WIDTH = 44


@command
@click.argument("transcript", metavar="TRANSCRIPT", type=click.Path(path_type=Path))
@click.option("--budget", type=click.IntRange(min=1), required=True, help="Maximum tokens of what stays.")
@click.option("--task", default="", metavar="TEXT", help="The current task (default: the last request).")
@click.option(
    "--latest", type=click.IntRange(min=1), default=6, show_default=True, help="Turns at the end that stay."
)
@click.option("--apply", "apply", is_flag=True, help="Stash the proposal; `stash undo` takes it back.")
@click.option(
    "--expires-in", "days", type=click.FloatRange(min=0), help="With --apply: days until it expires."
)
def prune(transcript: Path, budget: int, task: str, latest: int, apply: bool, days: float | None) -> int:
    """Propose what to put aside so that an agent's context fits a budget of tokens, and say why.

    The context is what TRANSCRIPT holds since its last compaction. The task, the latest turns, open errors,
    decisions, plans and what later turns refer to stay. Of the rest goes what a later reading supersedes,
    then what is old, large and far from the task. The agent's own context is not changed: with --apply the
    proposal is in the stash, and the agent can start afresh with what stays. Exit code 1: what must stay is
    larger than the budget.
    """
    from workbench.entry.services.stash_prune import prune_response, prune_transcript, stash_proposal

    with stash_session("stash-prune") as work:
        pruning = prune_transcript(work.opened, transcript, budget=budget, task=task, latest=latest)
        expires_at = None if days is None else work.service.in_days(days)
        title = f"prune {transcript.name} to {budget:,} tokens"
        added = stash_proposal(work.service, pruning, expires_at=expires_at, title=title) if apply else None
        work.measurement.candidates = len(pruning.proposal.pieces)
    if work.here.flags.json:
        work.here.out.json(prune_response(pruning, added.segments if added else ()))
    else:
        _show(work.here, pruning, None if added is None else len(added.segments))
    return exits.OK if pruning.proposal.fits else exits.ERROR


def _show(here: Invocation, pruning: TranscriptPruning, stashed: int | None) -> None:
    out, proposal = here.out, pruning.proposal
    if pruning.note:
        here.note(pruning.note)
    out.say(f"task: {shorten(proposal.task)}")
    for title, pieces in (("put aside", proposal.aside), ("keep", proposal.kept)):
        tokens = sum(one.tokens for one in pieces)
        out.data(f"{title}: {counted(len(pieces), 'piece')}, {counted(tokens, 'token')}")
        for one in pieces:
            out.data(_line(one))
    before, after = proposal.tokens_before, proposal.tokens_after
    out.data(f"{before:,} tokens before, {after:,} after, budget {proposal.budget:,}")
    if not proposal.fits:
        over = proposal.tokens_after - proposal.budget
        out.warn(f"what must stay is {counted(over, 'token')} too large; fewer --latest turns keep less")
    if stashed is None:
        out.say("nothing is changed; --apply stashes what is put aside")
    else:
        out.say(f"{counted(stashed, 'segment')} in the stash; `workbench stash undo` takes it back")


def _line(one: PrunedPiece) -> str:
    place = one.segment.metadata.get("place", one.segment.source).rpartition("#")[2]
    what = shorten(one.segment.text, _WIDTH)
    return f"  #{place:<6} {one.segment.type:<13} {one.tokens:>7,}  {what:<{_WIDTH}}  {visible_line(one.why)}"
