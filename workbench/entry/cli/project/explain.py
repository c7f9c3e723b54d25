"""`workbench explain`: why a file is in a plan or out of it, and what is known of it from the tables."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from workbench.entry.cli.frame import command, current
from workbench.entry.cli.output import shorten
from workbench.entry.cli.project.places import name_from_here
from workbench.entry.cli.session import session
from workbench.entry.cli.sessions.traces import shown_time
from workbench.entry.os.terminal import fold
from workbench.errors import UsageError
from workbench.plan.explanation import explanation_lines
from workbench.records.answers.explanation import ExplainResponse, FileExplanation
from workbench.records.plan import MlMode, PlanRequest
from workbench.text.counts import plural
from workbench.text.sanitize import visible_line

if TYPE_CHECKING:
    from workbench.entry.project import FileArtifact, FileHistory, FileSession
    from workbench.plan.touches import SimilarTask

_TASK = 60  # characters
_NAMED = 6  # files and symbols of a kind
_INDENT = 4


@command
@click.argument("words", nargs=-1, metavar="[TASK] FILE")
@click.option("--task", default="", metavar="TEXT", help="The task, where it is not the first argument.")
@click.option(
    "--budget", type=click.IntRange(min=1), metavar="N", help="Maximum tokens of the pack that is explained."
)
@click.option("--pin", "pins", multiple=True, metavar="NAME", help="Plan with this pinned. Repeatable.")
@click.option("--exclude", "excludes", multiple=True, metavar="NAME", help="Plan without it. Repeatable.")
@click.option(
    "--limit",
    type=click.IntRange(1, 1_000),
    metavar="N",
    help="Maximum number of each list (default: 12, with a task 3).",
)
def explain(
    words: Sequence[str],
    task: str,
    budget: int | None,
    pins: Sequence[str],
    excludes: Sequence[str],
    limit: int | None,
) -> None:
    """Show why a file is in the plan for a task or out of it, and what would bring it in.

    First in words: its place, how likely the task needs it, what keeps it out, which signal, budget or pin
    would change that. Then what each signal gives it in the linear first stage, in the trees and in the
    mixture weighed by hand, beside the last file that is in. Nothing is recorded as handed over.

    Without a task only what is known of the file is shown: what it imports, defines and is tested by, which
    tasks (commits and agents' sessions) read or edited it, and what changes together with it. With a task
    those come first that name an issue of it or are of its fingerprint. FILE may be gone: its past is not.
    """
    from workbench.entry.project import open_workspace
    from workbench.entry.services.explanation import file_in_project
    from workbench.entry.services.sessions import find_file_history
    from workbench.plan.intent import parse_intent
    from workbench.plan.touches import similar_tasks

    task, file = _task_and_file(words, task)
    limit = limit or (3 if task else 12)
    here = current()
    place = open_workspace(here.project, here.settings().config)
    path = file_in_project(place.root, file)
    intent = parse_intent(task, project_id=place.project_id) if task else None
    history = find_file_history(place, path, intent, limit=limit)
    planned = None
    if task and ((place.root / path).exists() or not history.events):
        planned = _plan(task, path, budget, pins, excludes)
        if history.facts is None:  # planning may have indexed it
            history = find_file_history(place, path, intent, limit=limit)
    if planned is None and history.facts is None and not history.events:
        raise UsageError(
            f"nothing is known of {visible_line(path)}",
            hint="Paths are relative to here or to the project; `workbench index` indexes new files.",
        )
    past = place.workspace.stored_past()
    similar = similar_tasks(past, dict(intent.terms), path, limit) if past and intent else ()
    if here.flags.json:
        one = asdict(history) | {"similar": [asdict(near) for near in similar], "plan": planned}
        here.out.json(ExplainResponse(**one))
        return
    for line in () if planned is None else explanation_lines(planned):
        here.out.data(fold(line, _INDENT))
    if planned is None:
        here.out.paint(here.out.style(visible_line(path), "1"))
    else:
        here.out.data("What is known of it")
    is_gone = not os.path.lexists(place.root / path)
    for line in (*_missing(history, is_gone), *_lines(history, similar, task)):
        here.out.data(line)


def _plan(
    task: str, path: str, budget: int | None, pins: Sequence[str], excludes: Sequence[str]
) -> FileExplanation:
    """Explain what the plan for a task does with a file. Raises: as a plan; UsageError for no such file."""
    from workbench.entry.services.explanation import explain_for

    with session("explain", plan__budget=budget) as work:
        settings, root = work.opened.config.plan, work.opened.root
        request = PlanRequest(
            project_root=str(root),
            task=task,
            token_budget=settings.budget,
            pinned=tuple(name_from_here(name, root) for name in pins),
            excluded=tuple(name_from_here(name, root) for name in excludes),
            tool=work.opened.config.rules.tool,
            ml_mode=MlMode(settings.ml_mode),
        )
        style = "text" if settings.format == "json" else settings.format
        return explain_for(work.opened, work.measurement, request, path, style=style, progress=work.progress)


def _task_and_file(words: Sequence[str], task: str) -> tuple[str, str]:
    """Return the task, '' for none, and the file. Raises: UsageError for more or fewer."""
    *tasks, file = words or ("",)
    if not file:
        raise UsageError("which file?", hint='Name one: workbench explain "what is to be done" src/login.py')
    if len(tasks) + bool(task) > 1:
        raise UsageError(
            "one task and one file are explained at a time",
            hint="Quote the task; explain several files one by one.",
        )
    return (tasks[0] if tasks else task).strip(), file


def _missing(found: FileHistory, is_gone: bool) -> Iterator[str]:
    if is_gone:
        yield f"  no longer there; known from the {'index' if found.facts is not None else 'history'}"
    elif found.facts is None:
        yield "  not in the index: it is excluded or new"


def _lines(found: FileHistory, similar: Sequence[SimilarTask], task: str) -> Iterator[str]:
    if found.facts is not None:
        yield from _facts(found.facts)
    if task:
        yield _for_task(found)
    for near in similar:
        yield f"  {shown_time(near.at)[:10]}  {near.similarity:4.0%} alike  {shorten(near.head, _TASK)}"
    yield f"history: edited by {plural(found.edited, 'task')}, read by {found.read:,}{_others(found)}"
    for one in found.sessions:
        yield _session(one)
    if found.companions:
        yield "changed together with"
    for other in found.companions:
        yield f"  {visible_line(other.path)}  {plural(other.times, 'time')}, {other.share:.0%} of its edits"


def _facts(facts: FileArtifact) -> Iterator[str]:
    kind = " ".join(filter(None, (facts.language, facts.role)))
    yield f"  {kind}: {plural(facts.lines, 'line')}, about {plural(facts.tokens, 'token')}"
    for name, paths in (
        ("imports", facts.imports),
        ("imported by", facts.imported_by),
        ("tests", facts.tests),
        ("tested by", facts.tested_by),
        ("defines", [f"{symbol.name}:{symbol.line}" for symbol in facts.symbols if not symbol.parent]),
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
    marked = f"; {plural(related, 'related task')} marked *" if related else ""
    if found.affinity is None:
        return f"this task: no earlier task of its fingerprint touched it{marked}"
    place, files = found.affinity.place, plural(found.affinity.files, "file")
    return f"this task: affinity {found.affinity.weight:.2f}, place {place} of {files}{marked}"


def _session(one: FileSession) -> str:
    cause = ", ".join(filter(None, (one.commit_sha[:10], *one.issues, one.rationale)))
    weight = f" [{one.weight:.2f}]" if one.weight else ""
    marks = "*" if one.related else " ", "~" if one.edited else "."
    head = f"{marks[0]} {shown_time(one.started_at)[:10]}  {marks[1]} {one.outcome:<8}"
    because = f"  ({visible_line(cause)})" if cause else ""
    return f"{head} {shorten(one.task_text, _TASK)}{because}{weight}"
