"""`workbench memory list|show|history`: the learnings there are, looked at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from workbench.curation.concurrency import writer
from workbench.curation.records import RecordChange
from workbench.entry.cli.curation import (
    SHOWN_STEPS,
    ChangeRow,
    ChangeView,
    at_text,
    change_document,
    show_steps,
)
from workbench.entry.cli.frame import command
from workbench.entry.cli.inputs import limit_option, list_options
from workbench.entry.cli.output import Output, shorten
from workbench.entry.cli.session import learning_session
from workbench.lists.filters import Facet
from workbench.lists.learnings import LEARNINGS
from workbench.lists.tables import read_page
from workbench.memory.learnings.learningtype import SHORT, stale_days
from workbench.memory.learnings.prompt import source_of
from workbench.records.learnings import FeatureLearning, LearningKind, LearningSource, LearningState
from workbench.text.counts import plural
from workbench.text.sanitize import visible, visible_line

if TYPE_CHECKING:
    from workbench.lists.tables import ListQuery

_STATES = [state.value for state in LearningState]
WIDTH = 96  # characters of a learning in a list


@command
@list_options(LEARNINGS)
@click.option("--feature", metavar="NAME", help="Only those of a feature.")
@click.option("--task", metavar="ID", help="Only those of a task.")
@click.option("--kind", type=click.Choice([kind.value for kind in LearningKind]), help="Only this kind.")
@click.option("--source", type=click.Choice([one.value for one in LearningSource]), help="Only from there.")
@click.option("--state", type=click.Choice(_STATES), help="Only in this state (with --all).")
@click.option("--unreviewed", is_flag=True, help="Only those that nobody reviewed.")
@click.option("--grep", metavar="TEXT", default="", help="Only those that say it, in any case.")
@click.option("--all", "gone", is_flag=True, help="Those that were rejected, retired, merged and so on, too.")
@limit_option()
def list_(text: Sequence[str], sort: str, cursor: str | None, limit: int, grep: str, **options: Any) -> None:
    """List learnings, reviewed ones first, newest first.

    FILTER is that of the app (see docs/memory.md); better matches of its words come first. With it, --sort or
    --cursor live ones come first, then the newest, in pages.
    """
    if text or sort or cursor is not None:
        _list_page(LEARNINGS.query(" ".join(text), sort), cursor, limit, grep, **options)
    else:
        _list_all(limit, grep, **options)


def _list_page(
    query: ListQuery,
    cursor: str | None,
    limit: int,
    grep: str,
    *,
    unreviewed: bool,
    gone: bool,
    **facets: str | None,
) -> None:
    """Print a page of the list that every face shows, of the learnings that the options let through."""
    terms = [
        Facet(name, (value,))
        for name, value in facets.items()
        if value is not None and value != LearningState.LIVE
    ]
    terms += [Facet("reviewed", ("no",))] if unreviewed else []
    terms += [Facet("text", (grep,))] if grep else []
    live = facets["state"] == LearningState.LIVE or (facets["state"] is None and not gone)
    terms += [Facet("live", ("yes",))] if live else []
    query = replace(query, filter=replace(query.filter, terms=(*query.filter.terms, *terms)))
    with learning_session("memory") as work:
        page = read_page(work.opened.learning_list, query, cursor, limit)
        work.measurement.candidates = page.total
    found, out, now = [row.learning for row in page.rows], work.here.out, work.store.now()
    if work.here.wrote_json({"total_count": page.total, "learnings": found, "next_cursor": page.cursor}):
        return
    for one in found:
        out.paint(line_of(out, one, now))
    more = f"; go on with --cursor {page.cursor}" if page.cursor else ""
    shown = f"{len(found):,} of {plural(page.total, 'learning')}{more}"
    out.say(shown if found else "no learning matches")


def _list_all(
    limit: int,
    text: str,
    *,
    feature: str | None,
    task: str | None,
    kind: str | None,
    source: str | None,
    state: str | None,
    unreviewed: bool,
    gone: bool,
) -> None:
    with learning_session("memory") as work:
        found = [
            learning
            for learning in work.service.learnings(gone=gone or state is not None)
            if (feature is None or learning.feature == feature)
            and (task is None or learning.task_id == task)
            and (kind is None or learning.kind == kind)
            and (source is None or learning.source == source)
            and (state is None or learning.state == state)
            and not (unreviewed and learning.reviewed)
            and text.casefold() in learning.text.casefold()
        ]
        found.sort(key=lambda one: one.id)
        found.sort(key=lambda one: one.timestamp, reverse=True)
        found.sort(key=lambda one: not one.reviewed)
        work.measurement.candidates = len(found)
    out, now = work.here.out, work.store.now()
    if work.here.wrote_json({"total_count": len(found), "learnings": found[:limit]}):
        return
    for one in found[:limit]:
        out.paint(line_of(out, one, now))
    more = f"; the first {limit:,} are shown" if len(found) > limit else ""
    out.say(f"{plural(len(found), 'learning')}{more}" if found else "nothing was learned yet")


@command
@click.argument("identifier", metavar="ID")
def show(identifier: str) -> None:
    """Show a learning with where it comes from, why it exists, and what spoke for and against it."""
    with learning_session("memory") as work:
        one = work.service.find(identifier)
        ledger = work.store.ledger()
    out = work.here.out
    hits, against = ledger.hits.get(one.id, ()), ledger.contradictions.get(one.id, ())
    if work.here.wrote_json({"learning": one, "hits": hits, "contradictions": against}):
        return
    out.paint(f"{out.style(one.id, '1')}  {one.state.value}  confidence {one.confidence:.2f}")
    out.data(visible(one.text))
    out.data("")
    for name, value in _facts(one, work.store.now()):
        out.data(f"  {name:<10} {visible_line(value)}")
    for name, notes in (("found", hits), ("against", against)):
        for note in notes:
            out.data(f"  {name:<10} {at_text(note.at)}  {visible_line(note.why)}")


def _facts(one: FeatureLearning, now: float) -> list[tuple[str, str]]:
    facts = [
        ("source", f"{one.source.value}; {source_of(one, now)}"),
        ("feature", one.feature),
        ("task", one.task_id or ""),
        ("session", one.session_id),
        ("reason", one.reason),
        ("seen", one.evidence),
        ("files", ", ".join(one.files)),
        ("scope", ", ".join(one.scope)),
        ("reviewed", f"{one.reviewed_at} by {one.reviewed_by}" if one.reviewed else ""),
        ("merged from", ", ".join(one.merged_from)),
        ("successor", one.successor),
        ("last seen", f"{stale_days(one, now)} days ago"),
    ]
    return [(name, value) for name, value in facts if value]


@command
@click.argument("identifier", metavar="[ID]", required=False)
@limit_option(SHOWN_STEPS)
def history(identifier: str | None, limit: int) -> None:
    """Show the history of all learnings, newest first, or of one, oldest first. Times are in UTC."""
    with learning_session("memory") as work:
        ledger, names = work.store.ledger(), work.store.names()
        wanted = work.service.identifier(identifier) if identifier else ""
    out = work.here.out
    if wanted:
        changes = [change for change in ledger.changes if change.record_id == wanted][-limit:]
        if work.here.flags.json:
            out.json({"id": wanted, "changes": [_change(change) for change in changes]})
            return
        for change in changes:
            after = change.after
            state = "undone" if after is None else f"{after.state.value}  {shorten(after.text, WIDTH)}"
            by = visible_line(writer(change.by, change.machine, names))
            out.data(f"{at_text(change.at)}  {by:<12}  {state}")
            if change.reason:
                out.data(f"    {visible_line(change.reason)}")
        return
    show_steps(work.here, ledger, LEARNING_CHANGES, limit, names)


_change = partial(change_document, "learning")


def _change_row(change: RecordChange[FeatureLearning]) -> ChangeRow:
    before, after = change.before, change.after
    shown = after or before
    what = "removed" if after is None else "added" if before is None else "changed"
    if before is not None and after is not None:
        if before.state is not after.state:
            what = "restored" if after.live else after.state.value
        elif after.reviewed and not before.reviewed:
            what = "reviewed"
    return ChangeRow(what, change.record_id[:SHORT], "" if shown is None else shown.text)


def _change_lines(out: Output, change: RecordChange[FeatureLearning]) -> list[str]:
    row = _change_row(change)
    return [f"    {row.what:<9} {out.style(row.identifier, '2')}  {out.style(shorten(row.text, WIDTH), '0')}"]


LEARNING_CHANGES = ChangeView(lambda ledger, changes: changes, _change_row, _change_lines, _change)


def line_of(out: Output, one: FeatureLearning, now: float) -> str:
    """Return a learning in two lines: id, state and source, then what it says."""
    state = one.state.value if not one.live else "reviewed" if one.reviewed else "unreviewed"
    color = "32" if one.reviewed and one.live else "33" if one.live else "2"
    head = f"{out.style(one.id[:SHORT], '2')}  {out.style(f'{state:<10}', color)}  {one.confidence:.2f}"
    where = source_of(one, now).partition("; ")[2]
    task = f"  task {visible_line(one.task_id)}" if one.task_id else ""
    return f"{head}  {one.kind.value:<10}  {out.style(where, '36')}{task}\n    {shorten(one.text, WIDTH)}"
