"""`workbench stash edit|protect|expire|remove|gc|undo|redo|history`: how long texts stay, and ways back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import click

from workbench.curation.concurrency import writer
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
from workbench.entry.cli.inputs import IDENTIFIERS, WHY, limit_option
from workbench.entry.cli.output import Output
from workbench.entry.cli.session import StashSession, stash_session
from workbench.entry.cli.stash.edit import TYPES, line_of
from workbench.errors import UsageError
from workbench.records.segments import ContextSegment, SegmentType
from workbench.stash.lifecycle import Disposal, StashCollection
from workbench.stash.segmenttype import SHORT
from workbench.text.counts import plural
from workbench.text.sanitize import visible_line

_change = partial(change_document, "segment")


@command
@click.argument("identifier", metavar="ID")
@click.option("--type", "kind", type=click.Choice(TYPES), help="What it is.")
@click.option("--topic", metavar="NAME", help="What it is about; empty for nothing in particular.")
@click.option("--source", metavar="TEXT", help="Where it is from.")
@click.option("--session", metavar="ID", help="The session it is from.")
@click.option("--at", "timestamp", metavar="TIME", help="When it was created.")
@click.option("--reference", "references", multiple=True, metavar="ID", help="All it refers to from now on.")
@WHY
def edit(
    identifier: str,
    kind: str | None,
    topic: str | None,
    source: str | None,
    session: str | None,
    timestamp: str | None,
    references: Sequence[str],
    reason: str,
) -> None:
    """Change what is known of a segment. Its text never changes: it is what was said."""
    given: dict[str, Any] = {"source": source, "session_id": session, "timestamp": timestamp}
    changes = {name: value for name, value in given.items() if value is not None}
    if kind is not None:
        changes["type"] = SegmentType(kind)
    if topic is not None:
        changes["topic"] = topic or None
    if references:
        changes["references"] = tuple(dict.fromkeys(references))
    if not changes:
        raise UsageError("there is nothing to change", hint="Pass --topic, --type, --source or --reference.")
    _step(lambda work: [work.service.edit(identifier, reason=reason, **changes)])


@command
@IDENTIFIERS
@click.option("--off", is_flag=True, help="Protect them no longer.")
@WHY
def protect(identifiers: Sequence[str], off: bool, reason: str) -> None:
    """Protect segments: they never expire, and neither `gc` nor `remove` takes them."""
    _step(lambda work: (work.service.unprotect if off else work.service.protect)(identifiers, reason=reason))


@command
@IDENTIFIERS
@click.option("--days", type=click.FloatRange(min=0), help="Days from now.")
@click.option("--on", "moment", metavar="TIME", help="A date or a time.")
@click.option("--never", is_flag=True, help="Let them expire no longer.")
@WHY
def expire(
    identifiers: Sequence[str], days: float | None, moment: str | None, never: bool, reason: str
) -> None:
    """Set when segments expire: from then on no query finds them, and `gc` removes them."""
    if (days is not None) + (moment is not None) + never != 1:
        raise UsageError("say when they expire", hint="Pass one of --days, --on and --never.")

    def step(work: StashSession) -> Sequence[ContextSegment]:
        if days is not None:
            return work.service.expire_in(identifiers, days, reason=reason)
        return work.service.expire_at(identifiers, moment, reason=reason)

    _step(step)


@command
@IDENTIFIERS
@WHY
def remove(identifiers: Sequence[str], reason: str) -> None:
    """Remove segments from the stash; `undo` brings them back. Protected ones are refused."""
    with stash_session("stash-edit") as work:
        gone = [one.id for one in work.service.find_all(identifiers)]
        work.service.remove(gone, reason=reason)
    out = work.here.out
    if work.here.wrote_json({"removed": gone}):
        return
    out.say(f"{plural(len(gone), 'segment')} removed")


@command
@click.option("--dry-run", is_flag=True, help="List what would go, and change nothing.")
@click.option("--max-age", type=click.FloatRange(min=0), help="Days without being needed (stash.keep_days).")
@click.option("--max-segments", type=click.IntRange(min=0), help="Segments that are kept; 0 for all.")
@click.option("--max-tokens", type=click.IntRange(min=0), help="Tokens that are kept; 0 for all.")
def gc(dry_run: bool, max_age: float | None, max_segments: int | None, max_tokens: int | None) -> None:
    """Remove what expired, what nobody needed for 30 days, copies of a text, and what is beyond the limits.

    A segment is needed when it is created, stashed or merged. Protected ones stay. It is one step: `undo`
    brings everything back. The settings stash.* are the usual limits.
    """
    from workbench.entry.services.stash import retention_policy

    with stash_session("stash-edit") as work:
        policy = retention_policy(
            work.opened.config.stash, keep_days=max_age, max_segments=max_segments, max_tokens=max_tokens
        )
        done = work.service.collect(policy, dry_run=dry_run)
    out = work.here.out
    if work.here.flags.json:
        out.json(_collection_document(done, dry_run))
        return
    for one in done.disposals:
        head = f"{out.style(one.segment.id[:SHORT], '2')}  {out.style(f'{one.reason.value:<9}', '33')}"
        out.paint(f"{head}  {one.segment.tokens:>6,}  {visible_line(one.why)}")
    would = "would be removed" if dry_run else "removed"
    out.say(
        f"{plural(len(done.disposals), 'segment')} of {plural(done.tokens, 'token')} {would}; "
        f"{done.kept:,} of {plural(done.kept_tokens, 'token')} stay, {done.protected:,} of them protected"
    )


def _collection_document(done: StashCollection, dry_run: bool) -> dict[str, Any]:
    return {
        "dry_run": dry_run,
        "removed": [_disposal(disposal) for disposal in done.disposals],
        "removed_tokens": done.tokens,
        "kept": done.kept,
        "kept_tokens": done.kept_tokens,
        "protected": done.protected,
    }


def _disposal(one: Disposal) -> dict[str, Any]:
    return {
        "segment_id": one.segment.id,
        "reason": one.reason.value,
        "why": one.why,
        "tokens": one.segment.tokens,
        "successor": one.successor or None,
    }


def _step(make: Callable[[StashSession], Sequence[ContextSegment]]) -> None:
    with stash_session("stash-edit") as work:
        done = work.service.with_texts(make(work))
    out = work.here.out
    if work.here.wrote_json({"segments": done}):
        return
    for one in done:
        out.paint(line_of(out, one))


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
        ledger, names = work.service.store.ledger(), work.service.store.names()
    out = work.here.out
    if not identifier:
        show_steps(work.here, ledger, SEGMENT_CHANGES, limit, names)
    elif work.here.flags.json:
        out.json({"id": changes[0].record_id, "changes": [_change(change) for change in changes]})
    else:
        for one in changes:
            row = _change_row(one)
            by = visible_line(writer(one.by, one.machine, names))
            out.data(f"{at_text(one.at)}  {by:<12}  {row.what:<9}  {row.text}")
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
