"""`workbench explore`, `delta` and `watch`: the project itself, without a task."""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import click

from workbench.entry.cli.frame import command, current
from workbench.entry.cli.project.plan import QUERY_TYPES
from workbench.entry.cli.session import session
from workbench.entry.project import delta as delta_since
from workbench.errors import ProjectError
from workbench.records.answers.project import Delta
from workbench.records.plan import Detail, QueryType
from workbench.sessions.importers.git import unreadable_sentence
from workbench.text.counts import plural
from workbench.text.sanitize import visible_line

_SHOWN_COMMITS = 20
_SHOWN_FILES = 50
_SHOWN_CHANGES = 20
_SIGNS = {"added": "+", "modified": "~", "removed": "-"}


@command
@click.option(
    "--query-type",
    type=click.Choice(QUERY_TYPES),
    default="general",
    show_default=True,
    help="The kind of task, which decides the layers.",
)
@click.option(
    "--detail",
    type=click.Choice([str(detail) for detail in Detail]),
    default="compact",
    show_default=True,
    help="How much of each layer.",
)
def explore(query_type: str, detail: str) -> None:
    """Show the project in layers: map, modules, types, API, dependencies, tests, changes.

    It knows nothing of a task but its kind: this is what a plan is compared with.
    """
    from workbench.entry.services.index import explore_project
    from workbench.project import layers

    with session("explore") as work:
        view, notes = explore_project(
            work.opened, work.measurement, QueryType(query_type), Detail(detail), work.progress
        )
    if work.here.flags.json:
        work.here.out.json(layers.explore_response(view))
    else:
        work.here.out.data(layers.render(view))
    work.show_notes()
    for note in notes:
        work.here.out.say(note)


@command
@click.option("--since", metavar="REV", help="A commit, branch or tag (default: ten commits ago).")
def delta(since: str | None) -> None:
    """Show what changed since a revision: uncommitted work first, then files by their last commit."""
    with session("delta") as work:
        if work.opened.repository is None:
            raise ProjectError(
                f"{work.opened.root} is not a git repository", hint="There is nothing to compare."
            )
        found = delta_since(work.opened.repository, since, work.opened.config.privacy.exclude)
    if work.here.wrote_json(found):
        return
    for line in delta_lines(found):
        work.here.out.data(line)


def delta_lines(found: Delta) -> list[str]:
    """Return the digest for a person: totals, commits newest first, files most recent first."""
    lines = [
        f"since {found.since[:12]}: {plural(found.total_commits, 'commit')}, "
        f"{plural(found.total_files, 'file')}, "
        f"+{found.total_added:,} -{plural(found.total_removed, 'line')}"
    ]
    if found.unreadable:
        lines.append(unreadable_sentence(found.unreadable))
    for commit in found.commits[:_SHOWN_COMMITS]:
        day = time.strftime("%Y-%m-%d", time.gmtime(commit.at))
        lines.append(f"  {commit.sha[:12]} {day} {visible_line(commit.subject)}")
    if len(found.commits) > _SHOWN_COMMITS:
        lines.append(f"  and {plural(len(found.commits) - _SHOWN_COMMITS, 'more commit')}")
    if found.files:
        lines.append("files")
    for file in found.files[:_SHOWN_FILES]:
        origin = f" (was {visible_line(file.old_path)})" if file.old_path else ""
        state = ", uncommitted" if file.uncommitted else ""
        lines.append(
            f"  {_SIGNS[str(file.kind)]} {visible_line(file.path)}{origin}  +{file.added:,} -{file.removed:,}"
            f", {plural(file.commits, 'commit')}{state}"
        )
    if len(found.files) > _SHOWN_FILES:
        lines.append(
            f"  and {plural(len(found.files) - _SHOWN_FILES, 'more file')} (all of them with --json)"
        )
    return lines


@command
def watch() -> None:
    """Keep the index up to date while files change, and report changes; Ctrl-C ends it.

    With --json each batch is one line.
    """
    from workbench.project.delta import watch_project

    here = current()
    with session("index") as work:
        workspace = work.opened.workspace
        work.measurement.note_sync(workspace.sync(progress=work.progress))
    adapters = workspace.adapters
    work.show_notes()

    def ready() -> None:
        here.out.say(
            f"watching {adapters.root} ({plural(int(workspace.index.alive.sum()), 'file')}); Ctrl-C ends it"
        )

    try:
        for batch in watch_project(adapters.root, adapters.lister, watching=ready):
            started = time.perf_counter()
            synced = workspace.sync()
            report = {
                "changed": list(synced.changed),
                "added": list(synced.added),
                "removed": list(synced.removed),
                "head_moved": batch.head_moved,
                "imported": synced.episodes,
                "milliseconds": round((time.perf_counter() - started) * 1000, 1),
            }
            if here.flags.json:
                here.out.data(json.dumps(report))
            else:
                for line in _batch_lines(report):
                    here.out.data(line)
            for note in synced.notes:
                here.out.say(note)
    except KeyboardInterrupt:
        pass  # the way to end it: whatever was published stays, the rest is found by the next sync
    here.out.say(("\n" if sys.stderr.isatty() else "") + "stopped watching")


def _batch_lines(report: dict[str, Any]) -> list[str]:
    clock = time.strftime("%H:%M:%S")
    lines = [
        f"{clock} {sign} {visible_line(path)}"
        for sign, key in (("~", "changed"), ("+", "added"), ("-", "removed"))
        for path in report[key][:_SHOWN_CHANGES]
    ]
    more = sum(max(0, len(report[key]) - _SHOWN_CHANGES) for key in ("changed", "added", "removed"))
    if more:
        lines.append(f"{clock} and {plural(more, 'file')} more")
    if report["imported"]:
        lines.append(f"{clock} {plural(report['imported'], 'commit')} imported")
    if lines:
        lines[-1] += f"  ({report['milliseconds']:,.0f} ms)"
    return lines
