"""`workbench stash search|references`: segments that matter for a query, and those linked with one.

Summaries are asked for here as other commands ask for them: who is asked, and what it took, is on stderr.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import click

from workbench.entry.cli import exits
from workbench.entry.cli.frame import Invocation, command
from workbench.entry.cli.inputs import format_option, open_input, words_or_stdin
from workbench.entry.cli.output import Output, shorten, to_json
from workbench.entry.cli.session import StashSession, stash_session
from workbench.errors import UsageError, WorkbenchError
from workbench.records.answers.stash import RetrievedSegment, RetrieveResponse, StashSummary
from workbench.records.segments import ContextSegment, FoundSegment, SegmentType
from workbench.stash.segmenttype import SHORT
from workbench.stash.stashstore import ReferenceDirection, follow_references, stash_links
from workbench.text.counts import plural
from workbench.text.sanitize import visible_line

WIDTH = 96  # characters of a segment in a list
_BAR = 10
_LONGEST = 1 << 20  # bytes of a line of queries
_MOST_BYTES = 1 << 20
_TYPES = [one.value for one in SegmentType]


@command
@click.argument("text", nargs=-1)
@click.option("--task", default="", metavar="TEXT", help="The task at hand.")
@click.option("--message", "messages", multiple=True, metavar="TEXT", help="A recent message, oldest first.")
@click.option("--file", "files", multiple=True, metavar="PATH", help="A file that is open.")
@click.option("--top-k", type=click.IntRange(1, 1000), metavar="N", help="At most so many (stash.top_k).")
@click.option(
    "--min-similarity",
    type=click.FloatRange(0, 1),
    metavar="SHARE",
    help="Leave out what is less relevant (stash.min_similarity); 0.5 is as likely relevant as not.",
)
@click.option("--type", "types", multiple=True, type=click.Choice(_TYPES), help="Only of this type.")
@click.option("--topic", "topics", multiple=True, metavar="NAME", help="Only of this topic.")
@click.option("--session", "sessions", multiple=True, metavar="ID", help="Only of this session.")
@click.option("--source", "sources", multiple=True, metavar="GLOB", help="Only from such sources.")
@click.option("--since", default="", metavar="TIME", help="Only what was created then or later.")
@click.option("--until", default="", metavar="TIME", help="Only what was created then or before.")
@click.option("--explain", is_flag=True, help="Show what each score is made of.")
@click.option("--summary", is_flag=True, help="Let the language model of models.llm condense what is found.")
@click.option("--queries", metavar="FILE", help="Answer the queries of a file of JSON lines, `-` for stdin.")
@format_option("Output format; those of --queries are JSON lines anyway.")
def search(
    text: Sequence[str],
    task: str,
    messages: Sequence[str],
    files: Sequence[str],
    top_k: int | None,
    min_similarity: float | None,
    types: Sequence[str],
    topics: Sequence[str],
    sessions: Sequence[str],
    sources: Sequence[str],
    since: str,
    until: str,
    explain: bool,
    summary: bool,
    queries: str | None,
    form: str,
) -> int:
    """Find segments by what TEXT means and says, by a task, recent messages and open files, best first.

    What is relevant is ordered by similarity, age and time in the stash. --queries answers a file of JSON
    objects {query, top_k, min_similarity, filters, task, messages, files} with a line each, in their order; a
    line that is invalid is answered by {error} in its place, and the exit code is then 2. --summary sends
    what is found to the language model that you set up, and prints its sentences with their segments first.
    """
    from workbench.entry.services.stash_queries import answer, make_filters

    filters = make_filters(
        types=types, topics=topics, sessions=sessions, sources=sources, start_time=since, end_time=until
    )
    with stash_session("stash-search") as work:
        if queries is not None:
            if text or task or messages or files:
                raise UsageError("there are queries besides --queries", hint="Give one or the other.")
            if summary:
                raise UsageError("--summary is for one query", hint="Leave --queries or --summary out.")
            return _answer_all(work, queries)
        words = ""
        if text or not (task or messages or files):
            words = str(words_or_stdin(work.here, text, not text, "query", _MOST_BYTES))
        searcher = _open_search(work)
        query = searcher.query(
            words,
            task=task,
            messages=messages,
            files=files,
            top_k=top_k,
            min_similarity=min_similarity,
            filters=filters,
        )
        found = answer(searcher, query, summarizer(work) if summary else None)
        work.measurement.candidates = found.total_found
    _print(work.here, found, explain=explain, lines=form == "jsonl")
    return exits.OK


@command
@click.argument("identifier", metavar="ID")
@click.option("--hops", type=click.IntRange(1, 100), default=2, show_default=True, help="At most so far.")
@click.option(
    "--direction",
    type=click.Choice([one.value for one in ReferenceDirection]),
    default=ReferenceDirection.BOTH.value,
    show_default=True,
    help="To what it refers, from what refers to it, or both.",
)
def references(identifier: str, hops: int, direction: str) -> None:
    """List the segments that are linked with one, those nearest first, each once."""
    with stash_session("stash") as work:
        start = work.service.find(identifier)
        links = stash_links(work.service.store, ReferenceDirection(direction))
        walk = follow_references(start.id, links, hops)
        found = work.service.find_all([one.segment_id for one in walk]) if walk else ()
    out = work.here.out
    if work.here.flags.json:
        reached = [
            {"segment": one, "hops": step.hops, "via": step.via}
            for step, one in zip(walk, found, strict=True)
        ]
        out.json({"segment_id": start.id, "references": reached})
        return
    for step, one in zip(walk, found, strict=True):
        head = f"{'  ' * (step.hops - 1)}{out.style(one.id[:SHORT], '2')}  {one.type.value}"
        out.paint(f"{head}  {shorten(one.text, WIDTH - 2 * step.hops)}")
    out.say(f"{plural(len(found), 'segment')} linked with {start.id}")


def _open_search(work: StashSession) -> Any:  # noqa: ANN401 - importing its type takes as long as searching
    from workbench.entry.services.stash_search import open_stash_search

    with work.here.out.progress("Embedding segments") as line:
        return open_stash_search(work.opened, progress=line)


def _answer_all(work: StashSession, name: str) -> int:
    """Answer the queries of a file, one line each; return the exit code."""
    from workbench.entry.services.stash_queries import answer, read_query

    searcher = _open_search(work)
    for note in searcher.notes:
        work.here.out.say(note)
    failed = count = 0
    with open_input(name) as stream:
        while line := stream.readline(_LONGEST + 1):
            if not line.strip():
                continue
            count += 1
            reply: Any
            try:
                reply = answer(searcher, read_query(searcher, _decode_line(line)))
            except WorkbenchError as error:
                failed += 1
                reply = {"line": count, "error": error.message}
                while not line.endswith(b"\n") and line:
                    line = stream.readline(_LONGEST)
            _write_line(reply)
    work.measurement.candidates = count
    if failed:
        work.here.out.say(f"{failed:,} of {plural(count, 'query', 'queries')} failed")
    return exits.USAGE if failed else exits.OK


def _decode_line(line: bytes) -> object:
    if len(line) > _LONGEST:
        raise UsageError("the line has more than 1 MB", hint="Give the part that matters.")
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:
        raise UsageError(
            f"the line is not JSON: {error}", hint='{"query": "how do we store sessions?"}'
        ) from error


def _write_line(value: object) -> None:
    text = json.dumps(json.loads(to_json(value)), ensure_ascii=False, separators=(",", ":"))
    sys.stdout.buffer.write(text.encode("utf-8", "backslashreplace") + b"\n")


def _print(here: Invocation, found: RetrieveResponse, *, explain: bool, lines: bool) -> None:
    out = here.out
    if lines:
        _write_line(found)
        return
    if here.wrote_json(found):
        return
    if found.summary is not None:
        if found.summary.text:
            out.data(found.summary.text.removesuffix("\n"))
        say_cost(out, found.summary)
    for one in found.segments:
        out.paint(_line(out, one))
        if explain:
            for row in _score_lines(one):
                out.data(row)
    for note in found.notes:
        out.say(note)
    if not found.segments:
        out.say("the stash has nothing that is relevant")


def _line(out: Output, one: RetrievedSegment) -> str:
    marks = [
        one.type.value,
        f"{int(one.age_days):,} d",
        visible_line(one.source),
        one.topic and f"#{visible_line(one.topic)}",
    ]
    head = f"{out.style(one.segment_id[:SHORT], '2')}  {one.score:.2f}  {'  '.join(filter(None, marks))}"
    return f"{head}\n    {shorten(one.text, WIDTH)}"


def _score_lines(one: RetrievedSegment) -> list[str]:
    rows = [("similarity", one.similarity), *((f"  {name}", part) for name, part in one.parts.items())]
    rows += [("age", one.temporal), ("in stash", one.recency)]
    shown = [f"    {name:<12} {value:6.2f}  {'#' * round(abs(value) * _BAR)}" for name, value in rows]
    return [f"    {visible_line(one.why)}", *(row.rstrip() for row in shown)]


def summarizer(work: StashSession) -> Callable[[str, Sequence[FoundSegment | ContextSegment]], StashSummary]:
    """Return what condenses segments to what matters for words, and says whom it asks."""
    from workbench.entry.services.stash import summarize_segments

    return partial(summarize_segments, work.opened, tell=work.here.out.say)


def say_cost(out: Output, summary: StashSummary) -> None:
    """Say what a summary took, nothing where no model was asked."""
    if summary.prompt_tokens:
        asked = "answered the same before" if summary.cached else "asked"
        took = f"{summary.prompt_tokens:,} tokens sent, {summary.answer_tokens:,} received"
        out.say(f"{asked}: {visible_line(summary.model)}, {took}")
