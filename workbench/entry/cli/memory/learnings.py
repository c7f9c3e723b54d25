"""`workbench memory list|show|history|queue|conflicts|audit|prompt`: the learnings there are, looked at."""

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
from workbench.entry.cli.session import LearningSession, learning_session
from workbench.lists.filters import Facet
from workbench.lists.learnings import LEARNINGS
from workbench.lists.tables import read_page
from workbench.memory.learnings.corrections.report import (
    CorrectionReport,
    CorrectionStatus,
    report_corrections,
    texts_in_force,
)
from workbench.memory.learnings.echoes import note_injected
from workbench.memory.learnings.learningtype import SHORT, stale_days
from workbench.memory.learnings.prompt import memory_prompt, source_of
from workbench.memory.learnings.review import ConflictFound, ReviewItem, Why, conflict_rows
from workbench.records.conflicts import ConflictKind
from workbench.records.learnings import FeatureLearning, LearningKind, LearningSource, LearningState
from workbench.text.counts import plural
from workbench.text.sanitize import visible, visible_line

if TYPE_CHECKING:
    from workbench.lists.tables import ListQuery

_STATES = [state.value for state in LearningState]
WIDTH = 96  # characters of a learning in a list
_QUOTES = 3
_COLORS = {
    CorrectionStatus.SUGGESTED: "32",
    CorrectionStatus.CONTRADICTS: "31",
    CorrectionStatus.IGNORED: "33",
}


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
            one
            for one in work.service.learnings(gone=gone or state is not None)
            if (feature is None or one.feature == feature)
            and (task is None or one.task_id == task)
            and (kind is None or one.kind == kind)
            and (source is None or one.source == source)
            and (state is None or one.state == state)
            and not (unreviewed and one.reviewed)
            and text.casefold() in one.text.casefold()
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
        changes = [one for one in ledger.changes if one.record_id == wanted][-limit:]
        if work.here.flags.json:
            out.json({"id": wanted, "changes": [_change(one) for one in changes]})
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


@command
@click.option("--why", type=click.Choice([why.value for why in Why]), help="Only those that wait for this.")
@limit_option()
def queue(why: str | None, limit: int) -> None:
    """List what waits for you, most urgent first: conflicts, contradicted ones, what nobody reviewed."""
    with learning_session("memory") as work:
        found = [item for item in work.service.review_queue() if why is None or item.why == why]
    out, now = work.here.out, work.store.now()
    if work.here.wrote_json({"total_count": len(found), "items": found[:limit]}):
        return
    for item in found[:limit]:
        _show_item(out, item, now)
    out.say(f"{plural(len(found), 'learning')} waiting" if found else "nothing waits for you")


def line_of(out: Output, one: FeatureLearning, now: float) -> str:
    """Return a learning in two lines: id, state and source, then what it says."""
    state = one.state.value if not one.live else "reviewed" if one.reviewed else "unreviewed"
    color = "32" if one.reviewed and one.live else "33" if one.live else "2"
    head = f"{out.style(one.id[:SHORT], '2')}  {out.style(f'{state:<10}', color)}  {one.confidence:.2f}"
    where = source_of(one, now).partition("; ")[2]
    task = f"  task {visible_line(one.task_id)}" if one.task_id else ""
    return f"{head}  {one.kind.value:<10}  {out.style(where, '36')}{task}\n    {shorten(one.text, WIDTH)}"


def _show_item(out: Output, item: ReviewItem, now: float) -> None:
    out.paint(line_of(out, item.learning, now))
    out.paint(f"    {out.style(item.why.value, '33')}: {visible_line(item.sentence)}")
    if item.other is not None:
        out.data(f"    {item.other.id[:SHORT]}: {shorten(item.other.text, WIDTH)}")


@command
@limit_option()
def conflicts(limit: int) -> None:
    """List pairs of learnings that contradict or repeat each other, with evidence and a suggested resolution.

    `workbench memory resolve` settles one.
    """
    with learning_session("memory") as work:
        found = work.service.conflicts()
        work.opened.conflicts.keep("learning", conflict_rows(found))
    out = work.here.out
    if work.here.wrote_json({"total_count": len(found), "conflicts": found[:limit]}):
        return
    for one in found[:limit]:
        _show_conflict(out, one)
    out.say(
        f"{plural(len(found), 'pair')} to settle"
        if found
        else "no two learnings contradict or repeat each other"
    )


def _show_conflict(out: Output, one: ConflictFound) -> None:
    color = "31" if one.verdict == "conflict" else "33"
    way = one.suggestion.value.replace("_", "-")
    kind = ConflictKind.CONCURRENT if one.concurrent else one.verdict
    head = f"{out.style(one.id[:SHORT], '2')}  {out.style(f'{kind.value:<10}', color)}"
    out.paint(f"{head}  {one.score:.2f}  {way}")
    out.data(f"    {one.left.id[:SHORT]}: {shorten(one.left.text, WIDTH)}")
    out.data(f"    {one.right.id[:SHORT]}: {shorten(one.right.text, WIDTH)}")
    for item in one.evidence if one.concurrent else one.evidence[:2]:
        out.data(f"    {item.test}: {visible_line(item.detail)}")


@command
@limit_option(10, "Maximum number shown of each kind.")
def audit(limit: int) -> None:
    """List what looks like junk, by kind, and what `prune` would take out. Changes nothing."""
    with learning_session("memory") as work:
        found = work.service.audit()
    out = work.here.out
    if work.here.flags.json:
        junk = [
            {"kind": one.kind, "id": one.learning.id, "why": one.why, "other": one.other}
            for one in found.junk
        ]
        prunable = [one.id for one in found.prunable]
        document = {"total_count": found.total, "counts": found.counts(), "junk": junk, "prunable": prunable}
        out.json(document)
        return
    for kind, number in found.counts().items():
        if not number:
            continue
        out.paint(out.style(f"{kind}: {number:,}", "1"))
        for one in [one for one in found.junk if one.kind == kind][:limit]:
            other = f" ({one.other[:SHORT]})" if one.other else ""
            out.data(f"  {one.learning.id[:SHORT]}  {visible_line(one.why)}{other}")
            out.data(f"    {shorten(one.learning.text, WIDTH)}")
    out.say(
        f"{plural(len(found.junk), 'finding')} among {plural(found.total, 'learning')}; "
        f"`workbench memory prune` would take out {len(found.prunable):,}"
    )


@command
@click.option("--feature", metavar="NAME", required=True, help="The feature that is worked on.")
@click.option("--task", metavar="ID", help="The task; what was learned about other tasks is left out.")
@click.option(
    "--budget",
    type=click.IntRange(1),
    default=800,
    show_default=True,
    metavar="N",
    help="Maximum tokens in the prompt.",
)
@click.option("--session", metavar="ID", default="", help="The session that gets it, for the record.")
def prompt(feature: str, task: str | None, budget: int, session: str) -> None:
    """Print what was learned, for the prompt of an iteration: observations to verify, reviewed first.

    What is printed is remembered: when a transcript repeats it, it is not learned again.
    """
    with learning_session("memory") as work:
        ledger, now = work.store.ledger(), work.store.now()
        made = memory_prompt(ledger, now, work.store.count_tokens, feature=feature, task=task, budget=budget)
        work.measurement.tokens, work.measurement.candidates = made.tokens, len(made.given)
        _note(work, made.given, session)
    out = work.here.out
    if work.here.flags.json:
        left_out = [{"id": identifier, "reason": reason} for identifier, reason in made.left_out]
        document = {"text": made.text, "tokens": made.tokens, "budget": budget}
        out.json({**document, "learnings": [one.id for one in made.given], "left_out": left_out})
        return
    if made.text:
        out.data(made.text.rstrip("\n"))
    out.say(
        f"{plural(len(made.given), 'learning')}, {made.tokens:,} of {budget:,} tokens; "
        f"{len(made.left_out):,} left out (--json says why)"
    )


def _note(work: LearningSession, given: tuple[FeatureLearning, ...], session: str) -> None:
    note_injected(work.store, {one.id: one.text for one in given}, surface="memory-prompt", session=session)


@command
@click.option(
    "--status", type=click.Choice([one.value for one in CorrectionStatus]), help="Only with this status."
)
@limit_option()
def corrections(status: str | None, limit: int) -> None:
    """List corrections found in prompts, with quotes, and why each is or is not a suggested rule.

    `ingest` and `collect` find them. One from two sessions, found three times, or worded as always holding is
    suggested; `memory promote` makes it a rule, `memory reject` ends it for good.
    """
    with learning_session("memory") as work:
        said = report_corrections(work.store.ledger(), texts_in_force(work.store))
        found = [one for one in said if status is None or one.status == status]
        work.measurement.candidates = len(found)
    out = work.here.out
    if work.here.wrote_json({"total_count": len(found), "corrections": found[:limit]}):
        return
    for one in found[:limit]:
        _show_correction(out, one)
    more = f"; the first {limit:,} are shown" if len(found) > limit else ""
    out.say(
        f"{plural(len(found), 'correction')}{more}" if found else "no corrections were found in prompts yet"
    )


def _show_correction(out: Output, one: CorrectionReport) -> None:
    head = out.style(f"{one.status.value:<11}", _COLORS.get(one.status, "2"))
    identifier = out.style(one.learning_id[:SHORT] or "-", "2")
    out.paint(f"{head}  {identifier:<17}  {shorten(one.text, WIDTH)}")
    out.data(f"    {visible_line(one.why)}")
    for said in one.said[-_QUOTES:]:
        where = f"session {visible_line(said.session_id[:8])}, " if said.session_id else ""
        out.data(
            f"    {visible_line(said.at[:10])}  {where}prompt {said.prompt}: “{shorten(said.quote, 80)}”"
        )
    if len(one.said) > _QUOTES:
        out.data(f"    and {len(one.said) - _QUOTES:,} more before")
