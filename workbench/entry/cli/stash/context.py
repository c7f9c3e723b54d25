"""`workbench stash merge|prune`: what goes back into a context, and what may leave one that is too large."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from workbench.entry.cli import exits
from workbench.entry.cli.frame import Invocation, command
from workbench.entry.cli.inputs import IDENTIFIERS
from workbench.entry.cli.output import shorten
from workbench.entry.cli.project.plan import copy_text
from workbench.entry.cli.session import stash_session
from workbench.entry.cli.stash.find import say_cost, summarizer
from workbench.text.counts import plural
from workbench.text.sanitize import visible_line

if TYPE_CHECKING:
    from workbench.entry.services.stash_context import TranscriptPruning
    from workbench.stash.pruning import PrunedPiece
    from workbench.stash.service import StashAddition

_WIDTH = 44


@command
@IDENTIFIERS
@click.option(
    "--references",
    "hops",
    type=click.IntRange(0, 10),
    default=0,
    metavar="N",
    help="With the segments linked with them, N references away.",
)
@click.option(
    "--neighbours",
    type=click.IntRange(0, 100),
    default=0,
    metavar="N",
    help="With the N segments of their session just before and after.",
)
@click.option("--session", default="", metavar="ID", help="The session that they are merged into.")
@click.option("--summary", is_flag=True, help="Let the language model of models.llm condense them.")
@click.option("--task", default="", metavar="TEXT", help="With --summary: what they are condensed for.")
@click.option("--copy", is_flag=True, help="Copy the text to the clipboard as well.")
@click.option("--remove", is_flag=True, help="Remove them from the stash; `stash undo` brings them back.")
def merge(
    identifiers: Sequence[str],
    hops: int,
    neighbours: int,
    session: str,
    summary: bool,
    task: str,
    copy: bool,
    remove: bool,
) -> None:
    """Print segments as one text to be taken back into a context, in the order of their times.

    Each is framed as a quotation, with what it is, how old and from which session. What two of them hold is
    printed once, of a file that was read twice the later reading; what was left out and why, decisions that
    contradict each other and the number of tokens go to stderr. It is recorded that they were useful.

    With --summary the text is what the language model that you set up says of them, each sentence with its
    segments; where there is none, or it fails, the segments are printed as they are.
    """
    from workbench.entry.services.stash_context import merge_for

    with stash_session("stash-edit" if remove else "stash") as work:
        response = merge_for(
            work.service,
            identifiers,
            hops=hops,
            neighbours=neighbours,
            remove=remove,
            session_id=session,
            summarize=partial(summarizer(work), task) if summary else None,
        )
        work.measurement.tokens = response.tokens_added
    out = work.here.out
    if not work.here.wrote_json(response):
        out.data(response.text.removesuffix("\n"))
        for one in response.left_out:
            out.say(f"left out: {visible_line(one.segment_id)}: {one.reason}")
        for earlier, later in response.conflicts:
            out.say(f"these contradict each other: {visible_line(earlier)}, {visible_line(later)}")
        if response.summary is not None:
            for note in response.summary.notes:
                out.say(note)
            say_cost(out, response.summary)
        gone = ", removed from the stash" if remove else ""
        out.say(f"{plural(response.merged_count, 'segment')}, {plural(response.tokens_added, 'token')}{gone}")
    if copy:
        out.say(copy_text(response.text, work.opened.config.clipboard, work.opened.location.root))


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
    from workbench.entry.services.stash_context import prune_response, prune_transcript, stash_proposal

    with stash_session("stash-prune") as work:
        pruning = prune_transcript(work.opened, transcript, budget=budget, task=task, latest=latest)
        expires_at = None if days is None else work.service.in_days(days)
        title = f"prune {transcript.name} to {budget:,} tokens"
        added = stash_proposal(work.service, pruning, expires_at=expires_at, title=title) if apply else None
        work.measurement.candidates = len(pruning.proposal.pieces)
    if work.here.flags.json:
        work.here.out.json(prune_response(pruning, added))
    else:
        _show_pruning(work.here, pruning, added)
    return exits.OK if pruning.proposal.fits else exits.ERROR


def _show_pruning(here: Invocation, pruning: TranscriptPruning, addition: StashAddition | None) -> None:
    out, proposal = here.out, pruning.proposal
    if pruning.note:
        here.note(pruning.note)
    out.say(f"task: {shorten(proposal.task)}")
    for title, pieces in (("put aside", proposal.aside), ("keep", proposal.kept)):
        tokens = sum(piece.tokens for piece in pieces)
        out.data(f"{title}: {plural(len(pieces), 'piece')}, {plural(tokens, 'token')}")
        for one in pieces:
            out.data(_piece_line(one))
    before, after = proposal.tokens_before, proposal.tokens_after
    out.data(f"{before:,} tokens before, {after:,} after, budget {proposal.budget:,}")
    if not proposal.fits:
        over = proposal.tokens_after - proposal.budget
        out.warn(f"what must stay is {plural(over, 'token')} too large; fewer --latest turns keep less")
    if addition is None:
        out.say("nothing is changed; --apply stashes what is put aside")
    elif not addition.segments:
        out.say("nothing had to be put aside")
    else:
        out.say(f"{addition.summary}; `workbench stash undo` takes this step back")


def _piece_line(one: PrunedPiece) -> str:
    place = one.segment.metadata.get("place", one.segment.source).rpartition("#")[2]
    what = shorten(one.segment.text, _WIDTH)
    return f"  #{place:<6} {one.segment.type:<13} {one.tokens:>7,}  {what:<{_WIDTH}}  {visible_line(one.why)}"
