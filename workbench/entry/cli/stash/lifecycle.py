"""`workbench stash edit|protect|expire|remove|gc`: what is kept and how long, in steps that can be undone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import click

from workbench.entry.cli.frame import command
from workbench.entry.cli.inputs import IDENTIFIERS, WHY
from workbench.entry.cli.session import StashSession, stash_session
from workbench.entry.cli.stash.edit import TYPES, line_of
from workbench.errors import UsageError
from workbench.records.segments import ContextSegment, SegmentType
from workbench.stash.lifecycle import Disposal, StashCollection
from workbench.stash.segmenttype import SHORT
from workbench.text.counts import counted
from workbench.text.sanitize import visible_line


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
    out.say(f"{counted(len(gone), 'segment')} removed")


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
        out.painted(f"{head}  {one.segment.tokens:>6,}  {visible_line(one.why)}")
    would = "would be removed" if dry_run else "removed"
    out.say(
        f"{counted(len(done.disposals), 'segment')} of {counted(done.tokens, 'token')} {would}; "
        f"{done.kept:,} of {counted(done.kept_tokens, 'token')} stay, {done.protected:,} of them protected"
    )


def _collection_document(done: StashCollection, dry_run: bool) -> dict[str, Any]:
    return {
        "dry_run": dry_run,
        "removed": [_disposal(one) for one in done.disposals],
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
        out.painted(line_of(out, one))
