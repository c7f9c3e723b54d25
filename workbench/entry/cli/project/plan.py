"""`workbench plan` and `workbench rank`: what to read for a task, and why."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from workbench.entry.cli.frame import Invocation, command, current, in_project
from workbench.entry.cli.inputs import words_or_stdin
from workbench.entry.cli.project.places import name_from_here
from workbench.entry.cli.rules.options import AGENT, context_fields, context_options
from workbench.entry.cli.session import Session, episode_service_of, session
from workbench.entry.os.background import in_background, prepare_in_background
from workbench.entry.os.terminal import fold
from workbench.entry.services.plan import plan_for, rank_for, ranked_files, record_pack
from workbench.errors import StoreError, UsageError
from workbench.plan.planner import is_unprepared
from workbench.plan.ranking import needed_chances
from workbench.plan.reasons import FileReasons, reasons_of
from workbench.plan.response import NOTHING_KNOWN, confidence_text, why_text
from workbench.project.languages import describe_role
from workbench.records.plan import Detail, MlMode, PlanRequest, QueryType, RankedFile
from workbench.text.sanitize import visible_line

if TYPE_CHECKING:
    from workbench.config import ClipboardConfig

MAX_TASK = 200_000  # characters; what goes beyond is no task but a log
QUERY_TYPES = [str(kind) for kind in QueryType]
_REASON_INDENT = 6
_PATH_COLUMN = 11

_TASK = click.argument("task", nargs=-1)
_BASELINE = click.option(
    "--baseline", is_flag=True, help="Order files by the kind of task alone, to compare with."
)
_ML_MODE = click.option(
    "--ml-mode",
    type=click.Choice([str(one) for one in MlMode]),
    help="off: words and structure alone; fast: embeddings; full: a second stage (default: plan.ml_mode).",
)
_STDIN = click.option("--stdin", "from_stdin", is_flag=True, help="Read the task from stdin (also: TASK -).")
_QUERY_TYPE = click.option(
    "--query-type", type=click.Choice(QUERY_TYPES), help="The kind of task (default: by its words)."
)
_STRICT = click.option(
    "--strict", is_flag=True, default=None, help="Refuse (exit 3) when files changed since the last index."
)


@command
@_TASK
@click.option(
    "--budget", "--token-budget", type=click.IntRange(min=1), metavar="N", help="Maximum tokens in the pack."
)
@click.option(
    "--format",
    "shape",
    type=click.Choice(["text", "markdown", "xml", "json"]),
    help="How the context is written; json is the full answer, with --json around the context written so.",
)
@click.option("--copy", is_flag=True, help="Copy the context to the clipboard as well.")
@_STRICT
@_QUERY_TYPE
@_BASELINE
@click.option(
    "--why/--no-why", default=None, help="Print the reasons under the context, or not at all (see above)."
)
@_STDIN
@click.option(
    "--pin",
    "pins",
    multiple=True,
    metavar="NAME",
    help="Pack this file, rule, learning or segment first. Repeatable.",
)
@click.option("--exclude", "excludes", multiple=True, metavar="NAME", help="Leave it out. Repeatable.")
@click.option("--feature", metavar="NAME", help="Only learnings of this feature.")
@click.option(
    "--task",
    "task_id",
    metavar="ID",
    help="The task's id, for what was learned about it; the task, where TASK is a directory or left out.",
)
@_ML_MODE
@click.option(
    "--latency-budget-ms",
    type=click.IntRange(min=1),
    metavar="MS",
    help="Wait for other programs and models within so many milliseconds of the plan's begin.",
)
@click.option(
    "--detail",
    type=click.Choice([str(one) for one in Detail]),
    default="normal",
    show_default=True,
    help="compact: no file as a whole; verbose: none as an outline.",
)
@click.option("--no-stash", is_flag=True, help="Leave out what was put aside with `workbench stash`.")
@AGENT
@context_options
def plan(
    task: Sequence[str],
    budget: int | None,
    shape: str | None,
    copy: bool,
    strict: bool | None,
    query_type: str | None,
    baseline: bool,
    why: bool | None,
    from_stdin: bool,
    pins: Sequence[str],
    excludes: Sequence[str],
    feature: str | None,
    task_id: str | None,
    ml_mode: str | None,
    latency_budget_ms: int | None,
    detail: str,
    no_stash: bool,
    session_id: str | None,
    tool: str | None,
    **limits: Any,
) -> None:
    """Pack what an agent should read for a task into a token budget.

    Prints the rules that apply and the files that matter, the right lines of them, and under it why each
    thing is in and what was left out. On a terminal the reasons follow the context; in a pipe only the
    context goes to stdout and the reasons go to stderr, unless --quiet. --why puts them on stdout always.

    --pin and --exclude name files by their paths, rules, learnings and segments by their ids. What is
    pinned is packed before anything else, within the budget, as much of it as the budget is worth.

    Rules that are limited to an agent, a context, a fact, a scenario or a step hold where it is given
    (--tool, --context, --fact, --scenario, --step) or follows from the files, the kind of task and git. What
    left a rule out is among the reasons: with --agent also that it loads the rule's file by itself. The use
    of the rules is recorded.

    What iterations learned is under a heading of its own, if it matches the task: observations, not
    instructions, reviewed ones first. What was put aside and is about the task (`workbench stash`) is under
    another, with its age and origin, in at most the share of the budget that stash.share sets.

    With --ml-mode full a model that you set up (models.llm, rerank.cross_encoder) rates the first files
    again. Where it fails or takes too long, they stay in the order of the first stage, and the reasons say
    why.

    With --session the episode of that id, started if it is new, records which pack it was given; without a
    task it is the episode's own that is planned for.
    """
    here = current()
    if task_id and len(task) == 1 and Path(task[0]).is_dir():  # [img §9]: plan PROJECT --task TEXT
        here, task = in_project(task[0]), ()
    if task_id and not (task or from_stdin or session_id):
        task, task_id = (task_id,), None
    if session_id is not None and not task and not from_stdin:
        text = episode_service_of(here).trace(session_id).episode.task_text
    else:
        text = read_task(here, task, from_stdin)
    # json is the answer around a text, and the text has a format of its own: the configured one.
    style = None if shape == "json" else shape
    with session("plan", plan__budget=budget, plan__format=style, plan__strict=strict) as work:
        settings = work.opened.config.plan
        whole = here.flags.json or "json" in (shape, settings.format)
        request = PlanRequest(
            project_root=str(work.opened.root),
            task=text,
            query_type=None if query_type is None else QueryType(query_type),
            token_budget=settings.budget,
            strict=settings.strict,
            pinned=tuple(name_from_here(name, work.opened.root) for name in pins),
            excluded=tuple(name_from_here(name, work.opened.root) for name in excludes),
            feature=feature,
            task_id=task_id,
            stash=not no_stash,
            ml_mode=MlMode(ml_mode or settings.ml_mode),
            latency_budget_ms=latency_budget_ms,
            detail=Detail(detail),
            **context_fields(here, tool=tool, session_id=session_id, **limits),
        )
        made = plan_for(
            work.opened,
            work.measurement,
            request,
            style="text" if settings.format == "json" else settings.format,
            baseline=baseline,
            progress=work.progress,
            by="cli",
        )
        response = made.response
        if session_id is not None:
            try:
                record_pack(episode_service_of(here), request, response)
            except (UsageError, StoreError) as error:
                here.out.warn(f"the pack is not recorded in session {session_id}: {error.message}")
    prepare_if(work, is_unprepared(work.opened.planner, made.ranking))
    context = response.context.text
    if whole:
        here.out.json(response)
    else:
        if context:
            here.out.data(context)
        tell_why(here, why_text(response), why)
    if copy:
        here.out.say(copy_text(context, work.opened.config.clipboard, work.opened.location.root))


@command
@_TASK
@click.option("--top", type=click.IntRange(min=1), default=10, show_default=True, help="How many files.")
@_STRICT
@_QUERY_TYPE
@_ML_MODE
@_STDIN
def rank(
    task: Sequence[str],
    top: int,
    strict: bool | None,
    query_type: str | None,
    ml_mode: str | None,
    from_stdin: bool,
) -> None:
    """List the files that matter for a task, where work begins first.

    Each with how likely the task needs it, what it is for and what speaks most for it; --json has every
    feature. Of the first ten, tests, documents and changelogs come after what is edited by hand, unless the
    task asks for them or they are more than twice as likely.
    """
    here = current()
    text = read_task(here, task, from_stdin)
    with session("rank", plan__strict=strict) as work:
        settings = work.opened.config.plan
        request = PlanRequest(
            project_root=str(work.opened.root),
            task=text,
            query_type=None if query_type is None else QueryType(query_type),
            token_budget=settings.budget,
            strict=settings.strict,
            ml_mode=MlMode(ml_mode or settings.ml_mode),
        )
        made, notes = rank_for(work.opened, work.measurement, request, progress=work.progress)
    prepare_if(work, is_unprepared(work.opened.planner, made))
    if here.flags.json:
        here.out.json(ranked_files(made, work.opened.planner.confident, top))
        return
    files = made.files[:top] if made.known else ()
    for line in ranking_lines(files, needed_chances(made.model, made.files), reasons_of(made)):
        here.out.data(fold(line, _PATH_COLUMN))
    if not made.known:
        here.out.say(NOTHING_KNOWN)
    elif not made.files:
        here.out.say("no file matches this task")
    elif (found := ranked_files(made, work.opened.planner.confident, 0).confidence) is not None:
        here.out.say(confidence_text(found))
    for note in notes:
        here.note(note)
    work.show_notes()


def prepare_if(work: Session, wanted: bool) -> None:
    """Start preparing what later plans profit from, where something is missing and the settings allow it."""
    if wanted and work.opened.config.models.background and not in_background():
        prepare_in_background(work.opened.root)


def read_task(here: Invocation, words: Sequence[str], from_stdin: bool) -> str:
    """Return the task of the arguments or of stdin. Raises UsageError if there is none."""
    found = words_or_stdin(here, words, from_stdin, "task", 4 * MAX_TASK + 1)
    text = found if isinstance(found, str) else found.decode("utf-8", "replace")
    if len(text) > MAX_TASK:
        here.out.warn(f"only the first {MAX_TASK:,} characters of the task are used")
        text = text[:MAX_TASK]
    if not text.strip():
        raise UsageError("the task is empty", hint='Say what is to be done: workbench plan "fix the login".')
    return text


def tell_why(here: Invocation, reasons: str, wanted: bool | None) -> None:
    """Print the reasons where they belong: under the context for a person, beside it in a pipe."""
    if wanted or (wanted is None and sys.stdout.isatty()):
        lines = fold(reasons, _REASON_INDENT).splitlines()
        here.out.paint("\n" + "\n".join(here.out.style(line, "2") for line in lines))
    elif wanted is None:
        here.out.say(reasons.rstrip("\n"))


def copy_text(text: str, config: ClipboardConfig, directory: Path) -> str:
    """Put text on the clipboard, or in a file in a directory, and return the sentences that say how."""
    from workbench.entry.os import clipboard

    return clipboard.copy(
        text, config, terminal_write=clipboard.terminal_writer(), directory=directory
    ).message


def ranking_lines(
    files: Sequence[RankedFile], chances: Mapping[str, float], reasons: FileReasons
) -> list[str]:
    """Return an aligned table: place, how likely it is needed, role, path, and what speaks most for it."""
    paths = [visible_line(file.path) for file in files]
    roles = [describe_role(file.path) for file in files]
    width, wide = max(map(len, paths), default=0), max(map(len, roles), default=0)
    lines = []
    for place, (path, role, found) in enumerate(zip(paths, roles, files, strict=True), 1):
        chance = chances[found.path]
        shown = f"{chance:.0%}" if chance >= 0.01 else f"{chance:.1%}"
        why = "; ".join(reasons.of(found))
        lines.append(f"{place:>3}  {shown:>4}  {role:<{wide}}  {path:<{width}}  {why}".rstrip())
    return lines
