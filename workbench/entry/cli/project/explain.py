"""`workbench explain`: what is known of one file, what tasks did with it and why, from the tables."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from workbench.entry.cli.frame import command, current
from workbench.entry.cli.output import shorten
from workbench.entry.cli.sessions.traces import shown_time
from workbench.errors import UsageError
from workbench.text.counts import counted
from workbench.text.sanitize import visible_line

if TYPE_CHECKING:
    from workbench.entry.project import FileArtifact, FileHistory, FileSession
    from workbench.plan.similar_tasks import SimilarTask

_TASK = 60  # characters
_NAMED = 6  # files and symbols of a kind


@command(
    examples=(
        "workbench explain src/login.py",
        'workbench explain src/login.py --task "jwt is not refreshed on 401 (#7)"',
        "workbench explain src/login.py --limit 100 --json",
    )
)
@click.argument("file")
@click.option("--task", default="", metavar="TEXT", help="Mark what speaks for the file in this task.")
@click.option(
    "--limit",
    default=12,
    show_default=True,
    type=click.IntRange(1, 1_000),
    help="Maximum number of each list.",
)
def explain(file: str, task: str, limit: int) -> None:
    """Show what is known of a file, what tasks did with it and why.

    Also what it imports, defines and is tested by, and what changes together with it. Tasks are commits and
    agents' sessions. With --task those come first that name an issue of it or are of its fingerprint, and the
    file's affinity to such tasks and the past tasks most like it are shown: what a plan calls "changed in
    similar past tasks". FILE may be gone: its past is not.
    """
    from workbench.entry.project import open_workspace
    from workbench.entry.services.sessions import find_file_history
    from workbench.plan.intent import parse_intent
    from workbench.plan.similar_tasks import similar_tasks

    here = current()
    place = open_workspace(here.project, here.settings().config)
    path = _within(place.root, file)
    intent = parse_intent(task, project_id=place.project_id) if task else None
    found = find_file_history(place, path, intent, limit=limit)
    past = place.workspace.stored_past()
    similar = similar_tasks(past, dict(intent.terms), path, limit) if past and intent else ()
    if found.facts is None and not found.events:
        raise UsageError(
            f"nothing is known of {visible_line(path)}",
            hint="Paths are relative to here or to the project; `workbench index` indexes new files.",
        )
    if here.flags.json:
        here.out.json({**asdict(found), "similar": similar})
        return
    here.out.painted(here.out.style(visible_line(path), "1"))
    for line in _lines(found, similar, task):
        here.out.data(line)


def _within(root: Path, file: str) -> str:
    """Return a file relative to the project, as given where it is not inside."""
    for base in (Path.cwd(), root):
        path = Path(os.path.normpath(base / file))
        if path.is_relative_to(root) and (path.exists() or base == root):
            return path.relative_to(root).as_posix()
    return file


def _lines(found: FileHistory, similar: Sequence[SimilarTask], task: str) -> Iterator[str]:
    if found.facts is None:
        yield "  not in the index: it is gone, excluded or new"
    else:
        yield from _facts(found.facts)
    if task:
        yield _for_task(found)
    for near in similar:
        yield f"  {shown_time(near.at)[:10]}  {near.similarity:4.0%} alike  {shorten(near.head, _TASK)}"
    yield f"history: edited by {counted(found.edited, 'task')}, read by {found.read:,}{_others(found)}"
    for one in found.sessions:
        yield _session(one)
    if found.companions:
        yield "changed together with"
    for other in found.companions:
        yield f"  {visible_line(other.path)}  {counted(other.times, 'time')}, {other.share:.0%} of its edits"


def _facts(facts: FileArtifact) -> Iterator[str]:
    kind = " ".join(filter(None, (facts.language, facts.role)))
    yield f"  {kind}: {counted(facts.lines, 'line')}, about {counted(facts.tokens, 'token')}"
    for name, paths in (
        ("imports", facts.imports),
        ("imported by", facts.imported_by),
        ("tests", facts.tests),
        ("tested by", facts.tested_by),
        ("defines", [f"{one.name}:{one.line}" for one in facts.symbols if not one.parent]),
    ):
        if paths:
            shown = ", ".join(map(visible_line, paths[:_NAMED]))
            more = f" and {len(paths) - _NAMED:,} more" if len(paths) > _NAMED else ""
            yield f"  {name} {shown}{more}"


def _others(found: FileHistory) -> str:
    """Return how often a search hit it, a decision was about it and the like."""
    others = {name: count for name, count in found.events.items() if name not in ("read", "edit")}
    return "".join(f", {name} {count:,}×" for name, count in sorted(others.items()))


def _for_task(found: FileHistory) -> str:
    related = sum(one.related for one in found.sessions)
    marked = f"; {counted(related, 'related task')} marked *" if related else ""
    if found.affinity is None:
        return f"this task: no earlier task of its fingerprint touched it{marked}"
    place, files = found.affinity.place, counted(found.affinity.files, "file")
    return f"this task: affinity {found.affinity.weight:.2f}, place {place} of {files}{marked}"


def _session(one: FileSession) -> str:
    cause = ", ".join(filter(None, (one.commit_sha[:10], *one.issues, one.rationale)))
    weight = f" [{one.weight:.2f}]" if one.weight else ""
    marks = "*" if one.related else " ", "~" if one.edited else "."
    head = f"{marks[0]} {shown_time(one.started_at)[:10]}  {marks[1]} {one.outcome:<8}"
    because = f"  ({visible_line(cause)})" if cause else ""
    return f"{head} {shorten(one.task_text, _TASK)}{because}{weight}"
