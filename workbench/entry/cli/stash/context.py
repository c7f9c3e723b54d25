"""`workbench stash merge`: segments taken back into a context, as one text."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import click

from workbench.entry.cli.frame import command
from workbench.entry.cli.listing import IDENTIFIERS
from workbench.entry.cli.project.plan import copy_text
from workbench.entry.cli.session import stash_session
from workbench.entry.cli.stash.summaries import say_cost, summarizer
from workbench.text.counts import counted
from workbench.text.sanitize import visible_line


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
        found = merge_for(
            work.service,
            identifiers,
            hops=hops,
            neighbours=neighbours,
            remove=remove,
            session_id=session,
            summarize=partial(summarizer(work), task) if summary else None,
        )
        work.measurement.tokens = found.tokens_added
    out = work.here.out
    if work.here.flags.json:
        out.json(found)
    else:
        out.data(found.text.removesuffix("\n"))
        for one in found.left_out:
            out.say(f"left out: {visible_line(one.segment_id)}: {one.reason}")
        for earlier, later in found.conflicts:
            out.say(f"these contradict each other: {visible_line(earlier)}, {visible_line(later)}")
        if found.summary is not None:
            for note in found.summary.notes:
                out.say(note)
            say_cost(out, found.summary)
        gone = ", removed from the stash" if remove else ""
        out.say(f"{counted(found.merged_count, 'segment')}, {counted(found.tokens_added, 'token')}{gone}")
    if copy:
        out.say(copy_text(found.text, work.opened.config.clipboard, work.opened.location.root))
