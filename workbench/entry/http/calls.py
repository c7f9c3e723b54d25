"""What the requests about a project and its sessions do: the services that every face asks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import UNSET, structs

from workbench.entry.http import answers, messages
from workbench.entry.services.opening import ProjectHost
from workbench.errors import ProjectError
from workbench.records.answers.expansion import ExpandResponse
from workbench.records.answers.explanation import FileExplanation
from workbench.records.answers.models import ModelStatus, TrainingReport
from workbench.records.answers.plan import PlanResponse
from workbench.records.answers.project import Delta, ExploreResponse, IndexReport, ProjectStatus
from workbench.records.episodes import Episode, Trace
from workbench.records.plan import PlanRequest

if TYPE_CHECKING:
    from workbench.entry.project import OpenedProject


def plan_context(host: ProjectHost, given: messages.PlanContextRequest) -> PlanResponse:
    """Pack what an agent should read for a task into a token budget."""
    from workbench.entry.services.episodes import recording_of
    from workbench.entry.services.plan import plan_for, record_pack
    from workbench.entry.services.requests import pack_style

    with host.operation("plan") as work:
        request = _plan_request(work.project, given)
        made = plan_for(
            work.project,
            work.measurement,
            request,
            style=pack_style(work.project, ""),
            progress=host.progress,
            by=host.by,
        )
        if given.session_id:
            record_pack(recording_of(host), request, made.response)
        return made.response


def explain(host: ProjectHost, given: messages.ExplainRequest) -> FileExplanation:
    """Say why a file is in the plan for a task or out of it, and what would bring it in; record nothing."""
    from workbench.entry.services.explanation import explain_for, normal_path
    from workbench.entry.services.requests import pack_style

    with host.operation("explain") as work:
        request = _plan_request(work.project, given)
        style = pack_style(work.project, "")
        path = normal_path(given.path)
        return explain_for(work.project, work.measurement, request, path, style=style, progress=host.progress)


def _plan_request(project: OpenedProject, given: messages.PlanContextRequest) -> PlanRequest:
    from workbench.entry.services.requests import plan_request

    return plan_request(
        project,
        given.task,
        budget=given.token_budget,
        session=given.session_id,
        query_type=given.query_type or "",
        strict=given.strict,
        pinned=given.pinned,
        excluded=given.excluded,
        ml_mode=given.ml_mode or "",
        detail=given.detail,
        latency_budget_ms=given.latency_budget_ms,
        **known_settings(given),
    )


def expand(host: ProjectHost, given: messages.ExpandHandlesRequest) -> ExpandResponse:
    """Show what names stand for, within a token budget: definitions, outlines, callers, ranges of files."""
    from workbench.entry.services.expansion import expand_for, expand_request

    with host.operation("show") as work:
        request = expand_request(
            work.project,
            given.handles,
            budget=given.token_budget,
            aspect=given.aspect,
            session=given.session_id,
            again=given.again,
            by=host.by,
        )
        return expand_for(work.project, work.measurement, request, progress=host.progress, by=host.by)


def explore(host: ProjectHost, given: messages.ExploreRequest) -> ExploreResponse:
    """Show the project in layers, as a kind of task is routed to them."""
    from workbench.entry.services.index import explore_project
    from workbench.project.layers import explore_response

    with host.operation("explore") as work:
        view, _ = explore_project(
            work.project, work.measurement, given.query_type, given.detail, host.progress
        )
        return explore_response(view)


def context(host: ProjectHost, given: messages.ContextRequest) -> answers.TextContext:
    """Return the layers of a kind of task as a text for an agent, within a token budget."""
    from workbench.entry.services.index import explore_project
    from workbench.project.layers import render

    with host.operation("explore") as work:
        view, _ = explore_project(
            work.project, work.measurement, given.query_type, given.detail, host.progress
        )
        budget = given.token_budget or work.project.config.plan.budget
        count, whole = work.project.counter.count, render(view)
        lines = whole.splitlines(keepends=True)
        least, most = 0, len(lines)
        while least < most:
            middle = (least + most + 1) // 2
            if count("".join(lines[:middle])) <= budget:
                least = middle
            else:
                most = middle - 1
        text = "".join(lines[:least])
        tokens = work.measurement.tokens = count(text)
        return answers.TextContext(
            query_type=given.query_type,
            detail=given.detail,
            layers=tuple(section.layer for section in view.sections),
            files=tuple(dict.fromkeys(view.paths)),
            text=text,
            tokens=tokens,
            complete=text == whole,
        )


def delta(host: ProjectHost, given: messages.DeltaRequest) -> Delta:
    """Show what changed since a revision: uncommitted work first, then files by their last commit."""
    from workbench.entry.project import delta as changes_since

    with host.operation("delta") as work:
        if work.project.repository is None:
            raise ProjectError(f"{host.root} is not a git repository", hint="There is nothing to compare.")
        return changes_since(
            work.project.repository, given.since or None, work.project.config.privacy.exclude
        )


def refresh(host: ProjectHost, given: messages.Request) -> IndexReport:
    """Bring the index up to date with the files; the first time it is built."""
    from workbench.entry.services.index import index_report, refresh_index

    with host.operation("refresh") as work:
        synced, seconds = refresh_index(work.project, work.measurement, host.progress)
        return index_report(work.project.workspace, synced, seconds)


def status(host: ProjectHost, given: messages.Request) -> ProjectStatus:
    """Show what is known of the project, and change nothing."""
    from workbench.entry.services.status import project_status

    with host.turn() as project:
        return project_status(project)


def train_model(host: ProjectHost, given: messages.TrainRequest) -> TrainingReport:
    """Train a ranking on the project's own past, in a process of its own; its status says what came of it."""
    from workbench.entry.services.model_training import TrainingOptions, start_training

    with host.turn() as project:
        wanted = TrainingOptions(
            given.since, given.min_samples, given.seed, given.activate, kind=given.model_kind
        )
        return start_training(project, wanted)


def model_status(host: ProjectHost, given: messages.Request) -> ModelStatus:
    """Show what plans rank with, how a canary does, and the models of the project."""
    from workbench.entry.services import models

    with host.turn() as project:
        return models.model_status(project)


def activate_model(host: ProjectHost, given: messages.ActivateRequest) -> ModelStatus:
    """Let plans rank with a model from now on, or try it on a share of them."""
    from workbench.entry.services import models

    with host.turn() as project:
        models.activate_model(project, given.model_id, share=given.share, by=host.by)
        return models.model_status(project)


def roll_back_model(host: ProjectHost, given: messages.RollbackRequest) -> ModelStatus:
    """Stop a canary, or go back to the model that was active before."""
    from workbench.entry.services import models

    with host.turn() as project:
        models.roll_back(project, given.model_kind, by=host.by)
        return models.model_status(project)


def list_sessions(host: ProjectHost, given: messages.ListRequest) -> answers.SessionRows:
    """List sessions, the newest first."""
    from workbench.entry.services.sessions import session_page, session_query

    query = session_query(given.filter, given.sort)
    with host.operation("sessions") as work:
        page = session_page(
            work.project, query, commits=False, cursor=given.cursor or None, limit=given.limit
        )
    return answers.SessionRows(page.rows, page.total, page.cursor)


def show_session(host: ProjectHost, given: messages.RecordRequest) -> Trace:
    """Show a session with its events: task, reads, edits, outcome."""
    from workbench.entry.services.episodes import recording_of

    return recording_of(host).trace(given.id)


def start_episode(host: ProjectHost, given: messages.StartRequest) -> answers.SessionReceipt:
    """Start an episode for a task; the same one again changes nothing."""
    from workbench.entry.services.episodes import recording_of

    episodes = recording_of(host)
    started = episodes.start(
        given.task,
        session_id=given.session_id,
        query_type=given.query_type or "",
        token_budget=given.token_budget,
    )
    episodes.note_disk(started)
    return answers.SessionReceipt(started)


def record_event(host: ProjectHost, given: messages.EventRequest) -> answers.EventReceipt:
    """Record what a session did, once for each file."""
    from workbench.entry.services.episodes import recording_of

    recorded = recording_of(host).event(
        given.session_id,
        given.event_type,
        files=given.files,
        kind=given.kind or "",
        symbol=given.symbol,
        payload=given.payload,
        key=given.key,
    )
    return answers.EventReceipt(bool(recorded))


def end_episode(host: ProjectHost, given: messages.EndRequest) -> answers.EpisodeState:
    """End an episode and say how it went."""
    from workbench.entry.services.episodes import recording_of

    return _state(
        recording_of(host).end(
            given.session_id, given.outcome, commit=given.commit_sha, token_used=given.token_used
        )
    )


def give_feedback(host: ProjectHost, given: messages.FeedbackRequest) -> answers.EpisodeState:
    """Judge a session; the last word on an outcome counts."""
    from workbench.entry.services.episodes import recording_of

    return _state(recording_of(host).feedback(given.session_id, given.outcome or "", given.rationale))


def _state(found: Episode) -> answers.EpisodeState:
    return answers.EpisodeState(
        found.session_id, found.outcome, found.ended_at, len(found.reads), len(found.changes)
    )


def known_settings(given: Any) -> Any:  # noqa: ANN401 - the fields of `WorkContext` that a request has
    """Return what a request says of the work; what it leaves out is as the settings say."""
    names = messages.WorkRequest.__struct_fields__
    found = {name: getattr(given, name, None) for name in names if name != "project_root"}
    return {name: value for name, value in found.items() if value}


def values_of(given: Any, *left_out: str) -> dict[str, Any]:  # noqa: ANN401 - any request
    """Return the fields that a request gives, without those that say how and where."""
    without = {"project_root", "reason", *left_out}
    found = structs.asdict(given)
    return {name: value for name, value in found.items() if value is not UNSET and name not in without}
