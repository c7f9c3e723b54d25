"""`workbench import sessions` and `export sessions`: what agents did here, in and out."""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from workbench.entry.cli.arguments import since_time
from workbench.entry.cli.frame import Invocation, command, current
from workbench.entry.project import open_workspace
from workbench.errors import UsageError
from workbench.text.counts import plural
from workbench.text.sanitize import visible_line

if TYPE_CHECKING:
    from workbench.entry.services.transcripts import Imported
    from workbench.sessions.importers.importer import ImportReport
    from workbench.sessions.importers.transcripts import ReadTally

_SHOWN = 12
_UNSOUND = 0.99  # files of which less was understood are named


@command
@click.argument("paths", metavar="[PATH...]", nargs=-1, type=click.Path(path_type=Path))
@click.option("--since", default="", metavar="WHEN", help="Only prompts since: a span (24h, 7d) or a date.")
@click.option(
    "--root",
    "roots",
    multiple=True,
    metavar="DIR",
    help="Where the project was when sessions ran, if elsewhere; * stands for any name. Repeatable.",
)
@click.option("--archived", is_flag=True, help="Read the copies that earlier imports made.")
@click.option("--again", is_flag=True, help="Read unchanged files, too, and take up what was forgotten.")
@click.option("--dry-run", is_flag=True, help="List what would be imported, and write nothing.")
def import_sessions(
    paths: Sequence[Path], since: str, roots: Sequence[str], archived: bool, again: bool, dry_run: bool
) -> None:
    """Turn sessions of coding agents into past tasks that plans learn from.

    Without PATH it finds this project's transcripts of Claude Code and Codex on this machine. Otherwise
    files, or directories of them: transcripts, output of `claude -p --output-format stream-json`, or what
    `workbench export sessions` wrote. Each prompt becomes a task with the files read and changed for it
    and how it ended. Only what is new is read; secrets and other projects' paths stay out.
    """
    from workbench.entry.services.transcripts import import_sessions as run_import
    from workbench.sessions.importers.importer import ImportRequest

    if archived and paths:
        raise UsageError("--archived and PATH contradict each other", hint="Give one of them.")
    here = current()
    config = here.settings().config
    wanted = ImportRequest(
        max(0, int(since_time(since).timestamp())) if since else 0,
        tuple(map(_absolute, roots)),
        dry_run,
        again,
    )
    opened = open_workspace(here.project, config)
    started = time.perf_counter()
    with here.out.progress("Reading sessions") as line:
        done = run_import(
            opened,
            config.sessions,
            paths,
            wanted,
            archived=archived,
            progress=lambda stage, at, total: line(
                at >> 20, max(total >> 20, 1), f"{stage.capitalize()}, MB"
            ),
        )
    seconds = time.perf_counter() - started
    if here.flags.json:
        here.out.json(_facts(done, seconds, dry_run=dry_run))
    else:
        _show_import(here, done, seconds, dry_run=dry_run)


@command
@click.option("--out", "target", metavar="FILE", type=click.Path(path_type=Path), help="Instead of stdout.")
def export_sessions(target: Path | None) -> None:
    """Write the sessions as JSON lines, for `workbench import sessions` elsewhere or other programs.

    Those that ended, recorded here or imported. Paths are the project's and secrets are out. Commits are left
    out: every clone has them.
    """
    from workbench.entry.services.sessions import session_entries
    from workbench.sessions.importers.export import exported_lines

    here = current()
    opened = open_workspace(here.project, here.settings().config)
    lines = (json.dumps(line) + "\n" for line in exported_lines(session_entries(opened)))
    if target is None:
        sys.stdout.writelines(lines)
        return
    with target.open("w", encoding="utf-8") as file:
        count = 0
        for text in lines:
            file.write(text)
            count += 1
    here.out.say(f"{plural(count - 1, 'task')} written to {target}")


def _absolute(root: str) -> str:
    path = Path(root).expanduser()
    return str(path) if path.is_absolute() or root[1:2] == ":" else str(Path.cwd() / path)


def _facts(done: Imported, seconds: float, *, dry_run: bool) -> dict[str, Any]:
    report = done.report
    return {
        "dry_run": dry_run,
        "files": report.files,
        "read": report.read,
        "bytes": report.bytes,
        "sessions": report.sessions,
        "tasks": {"new": report.new, "updated": report.updated, "unchanged": report.unchanged},
        "edits": report.edits,
        "reads": report.reads,
        "outcomes": _by_count(report.outcomes),
        "skipped": _by_count(report.skipped),
        "other_projects": _by_count(report.elsewhere),
        "masked": _by_count(report.masked),
        "understood": _tally_row(report.tally),
        "archive": {"files": report.archived, "dropped": done.dropped, "refused": done.refused},
        "details": [
            {"path": file.path, "source": file.source, "tasks": file.tasks, **_tally_row(file.tally)}
            for file in report.details
        ],
        "notes": list(report.notes),
        "timing": {"total": round(seconds * 1000, 3)},
    }


def _tally_row(tally: ReadTally) -> dict[str, Any]:
    return {
        "lines": tally.lines,
        "lines_understood": tally.lines_understood,
        "share_of_lines": round(tally.share_of_lines, 6),
        "events": tally.events,
        "events_understood": tally.events_understood,
        "share_of_events": round(tally.share_of_events, 6),
        "reasons": _by_count(tally.reasons),
        "passed_over": _by_count(tally.passed),
        "bytes_cut": tally.bytes_cut,
    }


def _by_count(counts: Counter[str]) -> dict[str, int]:
    return dict(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])))


def _show_import(here: Invocation, done: Imported, seconds: float, *, dry_run: bool) -> None:
    out, report = here.out, done.report
    verb = "would be imported" if dry_run else "imported"
    more = [f"{report.updated:,} brought up to date"] if report.updated else []
    more += [f"{report.unchanged:,} known before"] if report.unchanged else []
    tasks = ", ".join((f"{plural(report.new, 'task')} {verb}", *more))
    out.data(f"{tasks} from {plural(report.sessions, 'session')} of this project ({seconds:.1f} s)")
    if report.new or report.updated:
        ends = ", ".join(f"{count:,} {name}" for name, count in _by_count(report.outcomes).items())
        out.data(f"{plural(report.edits, 'edit')} and {plural(report.reads, 'read')} of files; ended: {ends}")
    if report.read:
        tally = report.tally
        size = f"{report.bytes / 1e6:,.1f} MB"
        out.data(
            f"understood {tally.share_of_lines:.2%} of {plural(tally.lines, 'line')}, "
            f"{tally.share_of_events:.2%} of {plural(tally.events, 'event')} ({size} read)"
        )
    if report.archived:
        out.data(f"{plural(report.archived, 'file')} archived; sessions.archive says whether")
    _show_skipped(here, report)
    if done.dropped:
        out.say(f"{plural(done.dropped, 'archived file')} went for room: sessions.archive_mb says how much")
    if done.refused:
        out.say(f"{plural(done.refused, 'file')} did not fit into the archive (sessions.archive_mb)")
    if not report.files:
        out.say(
            "no transcripts were found: give files or directories, or set CLAUDE_CONFIG_DIR or CODEX_HOME"
        )


def _show_skipped(here: Invocation, report: ImportReport) -> None:
    out = here.out
    for reason, count in _by_count(report.skipped).items():
        out.say(f"skipped: {count:,} × {reason}")
    for reason, count in _by_count(report.tally.reasons).items():
        out.say(f"not understood: {count:,} × {reason}")
    for file in [detail for detail in report.details if detail.tally.share_of_lines < _UNSOUND][:_SHOWN]:
        out.say(
            f"  {visible_line(file.path)}: {file.tally.share_of_lines:.2%} of "
            f"{plural(file.tally.lines, 'line')}, {file.tally.share_of_events:.2%} of events"
        )
    foreign = list(_by_count(report.elsewhere).items())
    for place, count in foreign[:_SHOWN]:
        out.say(f"of another project: {visible_line(place)} ({plural(count, 'session')})")
    if len(foreign) > _SHOWN:
        out.say(f"and {len(foreign) - _SHOWN:,} more directories (all of them with --json)")
    if foreign:
        out.say("if one of them is where this project was, give it as --root")
    for note in report.notes[:_SHOWN]:
        out.say(visible_line(note))
