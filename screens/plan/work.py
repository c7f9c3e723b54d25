"""What the section asks of the engine, each a function that runs in a job's thread."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from screens.engine import BY, AppEngine, Planning
from screens.filter_matching import filter_rows
from screens.headless import run_command
from screens.jobs import Job
from screens.plan.candidates import FIELDS, PackCandidate, ShownPlan, listing_order, record_of
from screens.plan.query import PlanQuery
from workbench.errors import StoreError, UsageError
from workbench.lists.filters import Filter

if TYPE_CHECKING:
    from workbench.entry.services.index import FirstLook
    from workbench.plan.pipeline import Plan
    from workbench.records.plan import PlanRequest

FORMATS: Final = {"text": "txt", "markdown": "md", "xml": "xml", "json": "json"}
"""How a pack can be written, and what such files are called."""

_HEADS: Final = 20
_SHOWN_FILE: Final = 4_000_000


@dataclass(frozen=True, slots=True)
class Opening:
    """How a project was found: indexed, or else what a first index would read."""

    look: FirstLook | None

    @property
    def indexed(self) -> bool:
        """Whether plans can be made at once."""
        return self.look is None


def find_opening(engine: AppEngine, job: Job) -> Opening:
    """Return whether there is an index, and what would be read if not. Raises: WorkbenchError."""
    with engine.workspace(job.progress) as opened:
        if opened.workspace.indexed:
            return Opening(None)
        from workbench.entry.services.index import first_look

        return Opening(first_look(opened, progress=job.progress))


def index(engine: AppEngine, sessions: bool, job: Job) -> None:
    """Index a project, and import its sessions if asked, as commands of their own. Raises: ProcessError."""
    if sessions:
        run_command(job, engine.root, ("import", "sessions", "--json"))
    run_command(job, engine.root, ("index", "--json"))


def make_plan(engine: AppEngine, asked: PlanQuery, job: Job, *, compared: bool = False) -> ShownPlan:
    """Plan, and return what is shown of it, `compared` with the other ranking, baseline or hybrid.

    Overrides of what is gone are dropped and reported.

    Raises: StaleProject under strict; other errors of the engine.
    """
    from screens.plan.presentation import present_plan

    with engine.planning("plan", job.progress) as planning:
        opened = planning.opened
        style = _style(opened.config.plan.format)
        gone: tuple[str, ...] = ()
        try:
            made = _plan(asked, style, job, planning)
        except UsageError:
            from workbench.plan.overrides import unknown_names
            from workbench.plan.planner import overridable_ids

            names = (*asked.pinned, *asked.excluded)
            ids = overridable_ids(opened.workspace)
            gone = unknown_names(names, opened.workspace.index.positions.keys(), ids)
            if not gone:
                raise
            made = _plan(asked.without(gone), style, job, planning)
        job.check()
        comparison = None
        if compared:
            from screens.plan.comparison import compare_rankings

            other = replace(asked.without(gone), baseline=not asked.baseline)
            both = made, _plan(other, style, job, planning)
            comparison = compare_rankings(*reversed(both) if asked.baseline else both)
            job.check()
        kept = opened.workspace.learnings()
        shown = present_plan(
            made,
            opened.workspace.rulebook.rules,
            {} if kept is None else {one.id: one.text for one in kept.known.live},
            opened.planner.counter,
            style,
            gone=gone,
            heads=opened.workspace.task_heads[:_HEADS],
        )
    return replace(shown, comparison=comparison)


def warm_up(engine: AppEngine, job: Job) -> tuple[str, ...]:
    """Sync the project, so that the first plan is a warm one; return the heads of past tasks."""
    with engine.planning("refresh", job.progress) as planning:
        workspace = planning.opened.workspace
        planning.measurement.note_sync(workspace.sync(progress=job.progress))
        return workspace.task_heads[:_HEADS]


def export_pack(
    engine: AppEngine, asked: PlanQuery, form: str, target: Path, overwrite: bool, job: Job
) -> int | None:
    """Write the pack to a file and return its characters; None if one is there and not to be replaced.

    Raises: StoreError where it cannot be written; errors of the engine.
    """
    from workbench.entry.cli.output import to_json

    with engine.planning("plan", job.progress) as planning:
        style = _style(form, planning.opened.config.plan.format)
        made = _plan(asked, style, job, planning)
    text = to_json(made.response) + "\n" if form == "json" else made.pack.text
    job.check()
    try:
        with target.open(
            "w" if overwrite else "x", encoding="utf-8", errors="backslashreplace", newline=""
        ) as file:
            file.write(text)
    except FileExistsError:
        return None
    except OSError as error:
        raise StoreError(
            f"{target} cannot be written: {error.strerror or error}", hint="Give another path."
        ) from error
    return len(text)


def start_episode(engine: AppEngine, asked: PlanQuery, plan: ShownPlan, name: str, job: Job) -> str:
    """Start an episode with the task under a name, record its pack in it, and return its session.

    Raises: UsageError, StoreError.
    """
    from workbench.entry.services.episodes import episode_service
    from workbench.entry.services.plan import record_pack

    job.check()
    settings = engine.config.plan
    asked_for = asked.request(str(engine.root), settings.budget, settings.strict)
    request = replace(asked_for, session_id=name)
    return record_pack(episode_service(engine.root, engine.config, BY), request, plan.response)


def record_use(engine: AppEngine, plan: ShownPlan, session: str, job: Job) -> None:
    """Record what left with a pack: a hand-over; rules and segments were used, no learning is learned again.

    `session` is the one they were given to, '' where nobody knows. Raises: StoreError.
    """
    from workbench.entry.services.handovers import plan_handover, record_handover
    from workbench.entry.services.plan import record_given
    from workbench.records.plan import PlanRequest

    with engine.workspace(job.progress) as opened:
        tool = engine.config.rules.tool
        request = PlanRequest(str(engine.root), plan.task, session_id=session, tool=tool)
        given = (plan.rules, plan.learnings, plan.segments)
        if note := record_given(opened, request, *given, by=BY):
            raise StoreError(note)
        record_handover(opened, plan_handover(request, plan.response, "copy"), by=BY)


def read_file_text(root: Path, path: str, job: Job) -> bytes | str:
    """Return a file as it is now, or why it cannot be shown."""
    from screens.widgets.code import language_of
    from workbench.project.scan import read_bytes
    from workbench.records.project import Skipped

    language_of(path)  # finding a language loads a list of all of them, here rather than on the loop
    found = read_bytes(root, path, _SHOWN_FILE)
    return f"not shown: {found.reason}" if isinstance(found, Skipped) else found


def explain_candidate(engine: AppEngine, asked: PlanQuery, path: str, width: int, job: Job) -> str:
    """Return why the hybrid plan has a file or not, in words and as a table. Raises: as a plan."""
    from textwrap import wrap

    from workbench.entry.services.explanation import explain_for
    from workbench.plan.explanation import explanation_lines

    with engine.planning("explain", job.progress) as planning:
        style, request = _style(planning.opened.config.plan.format), _request(asked, planning)
        found = explain_for(
            planning.opened, planning.measurement, request, path, style=style, progress=job.progress
        )
    lines = explanation_lines(found, width)
    return "\n".join(
        part
        for line in lines
        for part in (wrap(line, width, subsequent_indent="    ") if len(line) > width else [line])
    )


def filter_candidates(candidates: Sequence[PackCandidate], wanted: Filter, job: Job) -> list[int]:
    """Return the places of the candidates a filter lets through, as the list has them."""
    for step in filter_rows(
        wanted, lambda place: record_of(candidates[place]), len(candidates), fields=FIELDS
    ):
        job.check()
        if step.order is not None:
            return listing_order(candidates, step.order)
    return []


def _plan(asked: PlanQuery, style: str, job: Job, planning: Planning) -> Plan:
    from workbench.entry.services.plan import preview_for

    return preview_for(
        planning.opened,
        planning.measurement,
        _request(asked, planning),
        style=style,
        baseline=asked.baseline,
        progress=job.progress,
    )


def _request(asked: PlanQuery, planning: Planning) -> PlanRequest:
    from workbench.records.plan import MlMode

    settings = planning.opened.config.plan
    request = asked.request(str(planning.opened.root), settings.budget, settings.strict)
    tool, mode = planning.opened.config.rules.tool, MlMode(settings.ml_mode)
    return replace(request, tool=tool, ml_mode=mode)


def _style(form: str, configured: str = "text") -> str:
    """Return how the text is written: json is the answer around a text of the configured form."""
    style = configured if form == "json" else form
    return "text" if style == "json" else style
