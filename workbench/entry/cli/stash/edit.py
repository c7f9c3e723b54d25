"""`workbench stash add|list|show`: segments put aside and looked at; steps that `stash undo` takes back."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from workbench.beneath import open_beneath
from workbench.entry.cli.frame import command
from workbench.entry.cli.inputs import WHY, limit_option, list_options, read_input, words_or_stdin
from workbench.entry.cli.output import Output, shorten
from workbench.entry.cli.session import stash_session
from workbench.entry.project import OpenedProject
from workbench.errors import UsageError
from workbench.lists.segments import SEGMENTS, SegmentRow
from workbench.lists.tables import read_page
from workbench.records.segments import ContextSegment, SegmentType
from workbench.stash.jsonl import segment_parts
from workbench.stash.lifecycle import StashCollection
from workbench.stash.segmenttype import SHORT
from workbench.text.counts import plural
from workbench.text.sanitize import visible, visible_line

WIDTH = 96  # characters of a segment in a list
TYPES = [one.value for one in SegmentType]
_MOST_BYTES = 64 << 20
_SHOWN = 3  # parts of a long text
_UTF16 = (b"\xff\xfe", b"\xfe\xff")


@command
@click.argument("text", nargs=-1)
@click.option("--file", "file", metavar="PATH", help="Put aside what this file holds.")
@click.option(
    "--type", "kind", type=click.Choice(TYPES), help="What it is (message; file_content of a file)."
)
@click.option("--id", "identifier", default="", metavar="ID", help="Its id (default: from its content).")
@click.option("--session", default="", metavar="ID", help="The session it is from.")
@click.option("--topic", metavar="NAME", help="What it is about, to filter by.")
@click.option("--source", default="", metavar="TEXT", help="Where it is from: a path, a message's id.")
@click.option("--at", "timestamp", default="", metavar="TIME", help="When it was created (default: now).")
@click.option("--reference", "references", multiple=True, metavar="ID", help="A segment it refers to.")
@click.option("--expires-in", "days", type=click.FloatRange(min=0), help="Days until it expires.")
@click.option("--protect", "protected", is_flag=True, help="Keep it from expiring and from `gc`.")
@WHY
def add(
    text: Sequence[str],
    file: str | None,
    kind: str | None,
    identifier: str,
    session: str,
    topic: str | None,
    source: str,
    timestamp: str,
    references: Sequence[str],
    days: float | None,
    protected: bool,
    reason: str,
) -> None:
    """Put a segment aside: TEXT, what a file holds, or `-` for stdin. Secrets in it are masked.

    The same text of the same session and source is the same segment: adding it again changes nothing. A text
    of more than a million characters is put aside in parts.
    """
    from workbench.entry.services.stash import collect_daily

    with stash_session("stash-edit") as work:
        if file is not None and text:
            raise UsageError("the text was given twice", hint="Give words, - or --file.")
        content: str | bytes
        if file is not None:
            content, source = _file_content(work.opened, file), source or str(Path(file))
        else:
            content = words_or_stdin(work.here, text, not text, "text", _MOST_BYTES + 1)
        given = ContextSegment(
            text=content if isinstance(content, str) else _decode(content, file or "stdin"),
            segment_id=identifier,
            session_id=session,
            type=SegmentType(kind or ("message" if file is None else "file_content")),
            timestamp=timestamp,
            topic=topic,
            source=source,
            references=tuple(references),
            expires_at=None if days is None else work.service.in_days(days),
            protected=protected,
        )
        collected = collect_daily(work.opened, work.service)
        made = work.service.add_many(segment_parts(given), reason=reason)
    one, out = made.segments[0], work.here.out
    if work.here.flags.json:
        ids = [part.segment_id for part in made.segments]
        out.json({"segment": one, "segment_ids": ids, "added": bool(made.added)})
        return
    for part in made.segments[:_SHOWN]:
        out.paint(line_of(out, part))
    if len(made.segments) > _SHOWN:
        out.say(f"a text too long for one segment: {len(made.segments):,} parts, all of one step")
    say_collected(out, collected)
    if not made.added:
        out.say("it is in the stash already")


@command
@click.argument("identifier", metavar="ID")
def show(identifier: str) -> None:
    """Show a segment: its text, where it is from, and how often it came back."""
    with stash_session("stash") as work:
        one = work.service.find(identifier)
        uses = work.service.uses(one.id)
        referring = work.opened.referring_segments([one.id])[one.id]
    out = work.here.out
    if work.here.wrote_json({"segment": one, "referenced_by": referring, **asdict(uses)}):
        return
    out.paint(f"{out.style(one.id, '1')}  {one.type.value}  {plural(one.tokens, 'token')}")
    for name, value in _facts(one, referring):
        out.data(f"  {name:<11} {visible_line(value)}")
    out.data(f"  {'used':<11} shown {uses.shown:,}, merged {uses.merged:,}")
    out.data("")
    out.data(visible(one.text))


@command
@list_options(SEGMENTS)
@limit_option()
def list_(text: Sequence[str], sort: str, cursor: str | None, limit: int) -> None:
    """List segments, newest first; better matches of FILTER's words come first.

    Its fields: text, topic, source, id, type, session, created, stashed, expires, tokens, age (days),
    protected, expired, merged and shown (how often). Texts are cut after 2,000 characters; `show` has all.
    """
    with stash_session("stash") as work:
        page = read_page(work.opened.segment_list, SEGMENTS.query(" ".join(text), sort), cursor, limit)
        work.measurement.candidates = page.total
    out = work.here.out
    if work.here.flags.json:
        found = [row_document(row) for row in page.rows]
        out.json({"total_count": page.total, "segments": found, "next_cursor": page.cursor})
        return
    for row in page.rows:
        out.paint(line_of(out, row.segment, expired=row.expired))
    more = f"; go on with --cursor {page.cursor}" if page.cursor else ""
    nothing = "no segment matches" if text else "the stash is empty"
    out.say(f"{len(page.rows):,} of {plural(page.total, 'segment')}{more}" if page.rows else nothing)


def row_document(row: SegmentRow) -> dict[str, Any]:
    """Return a row of the list as JSON has it: the segment's fields, and what is counted of it."""
    counts = {"age": row.age, "expired": row.expired, "shown": row.shown, "merged": row.merged}
    return {**asdict(row.segment), **counts}


def line_of(out: Output, one: ContextSegment, *, expired: bool = False) -> str:
    """Return a segment in two lines: id, type, time and topic, then how its text begins."""
    head = f"{out.style(one.id[:SHORT], '2')}  {one.type.value:<12}  {one.timestamp[:16].replace('T', ' ')}"
    marks = "".join(
        f"  {word}"
        for word in (
            f"#{visible_line(one.topic)}" if one.topic else "",
            visible_line(one.source),
            out.style("protected", "32") if one.protected else "",
            out.style("expired", "33") if expired else "",
            f"expires {one.expires_at[:10]}" if one.expires_at and not one.protected | expired else "",
        )
        if word
    )
    return f"{head}  {one.tokens:>6,}{marks}\n    {shorten(one.text, WIDTH)}"


def say_collected(out: Output, done: StashCollection | None) -> None:
    """Say what retention removed by itself, if it did."""
    if done is not None:
        reasons = Counter(one.reason.value for one in done.disposals)
        why = ", ".join(f"{count:,} {reason}" for reason, count in reasons.items())
        removed = plural(len(done.disposals), "segment")
        out.say(f"{removed} removed first ({why}; stash.collect): `workbench stash history` has each")


def _facts(one: ContextSegment, referring: Sequence[str]) -> list[tuple[str, str]]:
    facts = [
        ("session", one.session_id),
        ("source", one.source),
        ("topic", one.topic or ""),
        ("created", one.timestamp),
        ("stashed", one.stashed_at),
        ("expires", "never: it is protected" if one.protected else one.expires_at or ""),
        ("refers to", ", ".join(one.references)),
        ("referred by", ", ".join(referring)),
        *((visible_line(name), value) for name, value in sorted(one.metadata.items())),
    ]
    return [(name, value) for name, value in facts if value]


def _file_content(project: OpenedProject, name: str) -> bytes:
    """Return what a file holds; one of the project's is reached without leaving it. Raises: UsageError."""
    from workbench.sessions.importers.exclusions import path_filter

    root, path = project.root, Path(os.path.abspath(Path(name).expanduser()))
    if name != "-" and path_filter(project.config.privacy.exclude, [str(root)])(str(path)):
        raise UsageError(
            f"{name} is excluded from what is read (privacy.exclude)",
            hint="Put the part aside that may be kept.",
        )
    if name == "-" or not path.is_relative_to(root):
        return read_input(name, "the file", _MOST_BYTES)
    try:
        with open(open_beneath(str(root), path.relative_to(root).as_posix()), "rb") as stream:
            return stream.read(_MOST_BYTES + 1)
    except OSError as error:
        raise UsageError(
            f"{name} cannot be read: {error.strerror}",
            hint="Name a file of the project that is not a link out of it.",
        ) from error


def _decode(data: bytes, what: str) -> str:
    """Return bytes as text: by their mark, as UTF-8, else as Latin-1. Raises: UsageError for other files."""
    if len(data) > _MOST_BYTES:
        raise UsageError(f"{what} is larger than {_MOST_BYTES >> 20} MB", hint="Give the part that matters.")
    if b"\0" in data[:8192] and not data.startswith(_UTF16):
        raise UsageError(
            f"{what} is not text", hint="The stash keeps texts; describe an image or a binary file in words."
        )
    from workbench.project.scan import decode

    return decode(data)
