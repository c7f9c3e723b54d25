"""`workbench stash import` and `stash export`: transcripts and JSON lines in, JSON lines out."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from workbench.entry.cli import exits
from workbench.entry.cli.frame import Invocation, command
from workbench.entry.cli.inputs import WHY
from workbench.entry.cli.session import StashSession, stash_session
from workbench.entry.cli.stash.edit import TYPES, say_collected
from workbench.text.counts import plural
from workbench.text.sanitize import visible_line

if TYPE_CHECKING:
    from workbench.entry.services.stash_import import StashFileReport
    from workbench.records.answers.stash import ImportResponse

_NAMED = 20  # malformed lines of a file that are named
_SHOWN = 8  # files that are listed
_FORMATS = ("auto", "claude_code", "claude_stream", "codex", "jsonl")


@command
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--session", default="", metavar="ID", help="The session they are of, instead of their own.")
@click.option(
    "--format", "form", type=click.Choice(_FORMATS), default="auto", show_default=True, help="Their format."
)
@click.option("--expires-in", "days", type=click.FloatRange(min=0), help="Days until they expire.")
@click.option("--again", is_flag=True, help="Take up what was removed since an earlier import, too.")
@WHY
def import_(
    files: Sequence[Path], session: str, form: str, days: float | None, again: bool, reason: str
) -> int:
    """Put aside what transcripts of agents hold, or segments given as JSON lines; - reads stdin.

    Transcripts of Claude Code, output of `claude -p --output-format stream-json` and rollouts of Codex become
    messages, code, files, outputs, errors with their stacks, decisions, plans and research. Of a directory
    all .jsonl files below it are read. A line of JSON is {segment_id?, session_id, type, text, timestamp?,
    topic?, source?, references?}, as `stash export` writes it. What was imported before adds nothing; secrets
    are masked. Malformed lines are named, the others kept, and the exit code is 1.
    """
    from workbench.entry.services.stash import collect_daily
    from workbench.entry.services.stash_import import StashImportRequest, import_files, import_response

    started = time.perf_counter()
    with stash_session("stash-import") as work:
        expires_at = None if days is None else work.service.in_days(days)
        request = StashImportRequest(session, form, expires_at, reason, again)
        collected = collect_daily(work.opened, work.service)
        with work.here.out.progress("Importing segments, MB") as line:
            reports = list(
                import_files(
                    work.service,
                    files,
                    request,
                    progress=lambda at, total: line(at >> 20, max(total >> 20, 1)),
                )
            )
        work.measurement.candidates = sum(report.added for report in reports)
        seconds = time.perf_counter() - started
        notes = _embed(work) if any(report.added for report in reports) else []
    spent = time.perf_counter() - started - seconds
    say_collected(work.here.out, collected)
    timing = {"import": round(seconds * 1000, 3), "embedding": round(spent * 1000, 3)}
    response = import_response(reports, notes, timing)
    if not work.here.wrote_json(response):
        _show(work.here, reports, response, seconds)
    return exits.ERROR if any(report.failed for report in reports) else exits.OK


def _embed(work: StashSession) -> list[str]:
    """Bring the index up to what was imported; return what is missing, such as a model."""
    from workbench.entry.services.stash_search import open_stash_search

    with work.here.out.progress("Embedding segments") as line:
        return open_stash_search(work.opened, progress=line).notes


def _show(
    here: Invocation, reports: Sequence[StashFileReport], response: ImportResponse, seconds: float
) -> None:
    """Print what was imported, what was left out and why, and what could not be read."""
    out = here.out
    more = f", {response.removed:,} removed before" if response.removed else ""
    out.data(
        f"{plural(response.added, 'segment')} added, {response.known:,} known{more} "
        f"({plural(response.lines, 'line')} of {plural(len(reports), 'file')} in {seconds:.1f} s)"
    )
    for name, count in response.types.items():
        out.data(f"  {count:>6,}  {name}")
    if response.removed:
        out.say("what was removed stays removed; --again brings it back")
    if response.left_out:
        parts = ", ".join(f"{reason} ({count:,})" for reason, count in response.left_out.items())
        out.say(f"left out: {parts}")
    if response.masked:
        out.say(f"{plural(sum(response.masked.values()), 'secret')} masked")
    read = [report for report in reports if report.format]
    for one in read[:_SHOWN] if len(reports) > 1 else ():
        out.say(f"{visible_line(one.path)} ({one.format}): {one.added:,} added, {one.known:,} known")
    if len(read) > _SHOWN:
        out.say(f"… and {len(read) - _SHOWN:,} more files; --json lists all")
    for one in reports:
        _show_faults(here, one)
    for note in response.notes:
        out.say(note)


def _show_faults(here: Invocation, report: StashFileReport) -> None:
    name = visible_line(report.path)
    if report.fault:
        here.out.warn(f"{name}: read as far as it goes: {visible_line(report.fault)}")
    elif not report.format:
        hint = "it is neither a transcript of a known agent nor JSON lines of segments"
        (here.out.warn if report.named else here.out.say)(f"{name}: {hint}")
    for error in sorted(report.errors, key=lambda one: one.line)[:_NAMED]:
        here.out.warn(f"{name}, line {error.line}: {visible_line(error.reason)}")
    if report.malformed > _NAMED:
        here.out.warn(f"{name}: {report.malformed - _NAMED:,} more malformed lines; --json lists them")


@command
@click.option("--out", "target", metavar="FILE", type=click.Path(path_type=Path), help="Instead of stdout.")
@click.option(
    "--type", "types", type=click.Choice(TYPES), multiple=True, help="Only of this type. Repeatable."
)
@click.option("--session", "sessions", multiple=True, metavar="ID", help="Only of this session. Repeatable.")
def export(target: Path | None, types: Sequence[str], sessions: Sequence[str]) -> None:
    """Write segments with their texts as JSON lines, oldest first: what `workbench stash import` reads."""
    from workbench.entry.services.stash_import import exported_segments

    with stash_session("stash") as work:
        lines = (
            json.dumps(segment, ensure_ascii=True) + "\n"
            for segment in exported_segments(work.service, frozenset(types), frozenset(sessions))
        )
        if target is None:
            sys.stdout.writelines(lines)
            return
        with target.open("w", encoding="utf-8") as file:
            count = sum(bool(file.write(line)) for line in lines)
    work.here.out.say(f"{plural(count, 'segment')} written to {target}")
