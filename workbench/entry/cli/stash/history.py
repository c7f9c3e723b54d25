"""`workbench stash undo|redo|history`: the last step taken back, done again, and all that was done."""

from __future__ import annotations

from functools import partial

import click

from workbench.curation.records import RecordChange
from workbench.entry.cli.curation import (
    LISTED,
    SHOWN_STEPS,
    STEP,
    ChangeRow,
    ChangeView,
    at_text,
    change_document,
    show_steps,
    show_walk,
)
from workbench.entry.cli.frame import command
from workbench.entry.cli.inputs import limit_option
from workbench.entry.cli.output import Output
from workbench.entry.cli.session import stash_session
from workbench.records.segments import ContextSegment
from workbench.stash.segmenttype import SHORT
from workbench.text.sanitize import visible_line

_change = partial(change_document, "segment")


@command
@STEP
@LISTED
def undo(step: str, listed: bool) -> None:
    """Undo the last step, or STEP of --list: an addition, an import, a removal, what `gc` took.

    How often segments were used is no step and stays. `redo` does the step again.
    """
    with stash_session("stash" if listed else "stash-edit") as work:
        walk = None if listed else partial(work.service.undo, step)
        show_walk(work.here, work.service, SEGMENT_CHANGES, walk)


@command
@LISTED
def redo(listed: bool) -> None:
    """Redo the step that was undone last."""
    with stash_session("stash" if listed else "stash-edit") as work:
        show_walk(work.here, work.service, SEGMENT_CHANGES, None if listed else work.service.redo)


@command
@click.argument("identifier", metavar="[ID]", required=False)
@limit_option(SHOWN_STEPS)
def history(identifier: str | None, limit: int) -> None:
    """Show the history of the stash, newest first, or of one segment, oldest first. Times are in UTC."""
    with stash_session("stash") as work:
        changes = work.service.history(identifier)[-limit:] if identifier else ()
        ledger = work.service.store.ledger()
    out = work.here.out
    if not identifier:
        show_steps(work.here, ledger, SEGMENT_CHANGES, limit)
    elif work.here.flags.json:
        out.json({"id": changes[0].record_id, "changes": [_change(one) for one in changes]})
    else:
        for one in changes:
            row = _change_row(one)
            out.data(f"{at_text(one.at)}  {visible_line(one.by):<12}  {row.what:<9}  {row.text}")
            if one.reason:
                out.data(f"    {visible_line(one.reason)}")


def _change_row(change: RecordChange[ContextSegment]) -> ChangeRow:
    before, after = change.before, change.after
    shown = after or before
    what = "removed" if after is None else "added" if before is None else "changed"
    if before is not None and after is not None and before.protected is not after.protected:
        what = "protected" if after.protected else "unprotected"
    text = "" if shown is None else f"{shown.type.value}  {visible_line(shown.topic or shown.source)}"
    return ChangeRow(what, change.record_id[:SHORT], text)


def _change_lines(out: Output, change: RecordChange[ContextSegment]) -> list[str]:
    row = _change_row(change)
    return [f"    {row.what:<11} {out.style(row.identifier, '2')}  {out.style(row.text, '0')}"]


SEGMENT_CHANGES = ChangeView(lambda ledger, changes: changes, _change_row, _change_lines, _change)
