"""`workbench memory queue|conflicts|corrections|audit|prompt`: what waits for a person or for a prompt."""

from __future__ import annotations

import click

from workbench.entry.cli.frame import command
from workbench.entry.cli.inputs import limit_option
from workbench.entry.cli.memory.learnings import WIDTH, line_of
from workbench.entry.cli.output import Output, shorten
from workbench.entry.cli.session import learning_session
from workbench.memory.learnings.corrections.report import (
    CorrectionReport,
    CorrectionStatus,
    report_corrections,
    texts_in_force,
)
from workbench.memory.learnings.echoes import note_injected
from workbench.memory.learnings.learningtype import SHORT
from workbench.memory.learnings.lessons import was_cut
from workbench.memory.learnings.prompt import memory_prompt
from workbench.memory.learnings.review import ConflictFound, ReviewItem, Why, conflict_rows
from workbench.records.conflicts import ConflictKind
from workbench.text.counts import plural
from workbench.text.sanitize import visible_line

_QUOTES = 3
_COLORS = {
    CorrectionStatus.SUGGESTED: "32",
    CorrectionStatus.CONTRADICTS: "31",
    CorrectionStatus.IGNORED: "33",
}


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


def _show_item(out: Output, item: ReviewItem, now: float) -> None:
    out.paint(line_of(out, item.learning, now))
    out.paint(f"    {out.style(item.why.value, '33')}: {visible_line(item.sentence)}")
    if was_cut(item.learning):
        out.data(f"    {shorten(item.learning.evidence, WIDTH)}")
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
        from workbench.memory.learnings.keeping import load_kept

        known, now = load_kept(work.store).known, work.store.now()
        made = memory_prompt(known, now, work.store.count_tokens, feature=feature, task=task, budget=budget)
        work.measurement.tokens, work.measurement.candidates = made.tokens, len(made.given)
        given = {one.id: one.text for one in made.given}
        note_injected(work.store, given, surface="memory-prompt", session=session)
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
