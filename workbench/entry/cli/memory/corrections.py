"""`workbench memory corrections`: what was said of how things are done, and why it is suggested or not."""

from __future__ import annotations

import click

from workbench.entry.cli.frame import command
from workbench.entry.cli.memory.session import learning_session, short
from workbench.entry.cli.output import Output
from workbench.memory.learnings.corrections.report import (
    CorrectionReport,
    CorrectionStatus,
    report_corrections,
    texts_in_force,
)
from workbench.memory.learnings.learningtype import SHORT
from workbench.text.counts import counted
from workbench.text.sanitize import visible_line

_QUOTES = 3
_COLORS = {
    CorrectionStatus.SUGGESTED: "32",
    CorrectionStatus.CONTRADICTS: "31",
    CorrectionStatus.IGNORED: "33",
}


@command(
    examples=(
        "workbench memory corrections",
        "workbench memory corrections --status suggested",
        'workbench memory corrections --json | jq -r ".corrections[] | [.status, .text] | @tsv"',
    )
)
@click.option(
    "--status", type=click.Choice([one.value for one in CorrectionStatus]), help="Only with this status."
)
@click.option("--limit", type=click.IntRange(1), default=50, show_default=True, help="At most so many.")
def corrections(status: str | None, limit: int) -> None:
    """List corrections found in prompts, with quotes, and why each is or is not a suggested rule.

    `ingest` and `collect` find them. What was said in two sessions, three times, or as something that always
    holds is suggested; `memory promote` makes it a rule, `memory reject` ends it for good.
    """
    with learning_session("memory") as work:
        said = report_corrections(work.store.ledger(), texts_in_force(work.store))
        found = [one for one in said if status is None or one.status == status]
        work.told.candidates = len(found)
    out = work.here.out
    if work.here.flags.json:
        out.json({"total_count": len(found), "corrections": found[:limit]})
        return
    for one in found[:limit]:
        _tell(out, one)
    more = f"; the first {limit:,} are shown" if len(found) > limit else ""
    out.say(
        f"{counted(len(found), 'correction')}{more}" if found else "no corrections were found in prompts yet"
    )


def _tell(out: Output, one: CorrectionReport) -> None:
    head = out.style(f"{one.status.value:<11}", _COLORS.get(one.status, "2"))
    identifier = out.style(one.learning_id[:SHORT] or "-", "2")
    out.painted(f"{head}  {identifier:<17}  {short(one.text)}")
    out.data(f"    {visible_line(one.why)}")
    for said in one.said[-_QUOTES:]:
        where = f"session {visible_line(said.session_id[:8])}, " if said.session_id else ""
        out.data(f"    {visible_line(said.at[:10])}  {where}prompt {said.prompt}: “{short(said.quote, 80)}”")
    if len(one.said) > _QUOTES:
        out.data(f"    and {len(one.said) - _QUOTES:,} more before")
