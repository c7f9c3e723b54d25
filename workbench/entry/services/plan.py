"""One plan as every face makes it: the same steps, and the same measurement of them.

The command line and the screens call this, so that neither has a plan of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from workbench.entry.parameters import DEFAULT_VARIANT, match_params, session_variant, variant_rules
from workbench.entry.project import OpenedProject
from workbench.entry.services.handovers import agent_session, plan_handover, record_handover
from workbench.entry.services.metrics import Measured
from workbench.errors import StoreError, UsageError
from workbench.plan.passages import match_task
from workbench.plan.pipeline import Plan, rank_request, without_models
from workbench.plan.pipeline import plan as make_plan
from workbench.plan.planner import Planner, Ranking, meaning_notes, missing_parts, plan_confidence
from workbench.plan.planner import rank as rank_files
from workbench.plan.ranking import own_chances
from workbench.plan.reasons import reasons_of
from workbench.plan.representations import digests_of
from workbench.plan.response import EMBEDDINGS, rank_response
from workbench.plan.workspace import Progress
from workbench.records.answers.plan import PlanResponse, RankResponse
from workbench.records.answers.rules import MatchedRule, MatchResponse, RejectedRule
from workbench.records.plan import MlMode, PlanRequest
from workbench.records.rules import Rule
from workbench.rules.curation.rulestore import note_use
from workbench.rules.descriptions import instruction, origin
from workbench.rules.matching.context import agent_name
from workbench.rules.matching.match import MatchReport, RuleMatch

if TYPE_CHECKING:
    from workbench.sessions.episodes import EpisodeService
    from workbench.stash.selection import ChosenSegment

_SERVER: Final = "http"


def preview_for(
    project: OpenedProject,
    measurement: Measured,
    request: PlanRequest,
    *,
    style: str,
    baseline: bool = False,
    search: bool = True,
    progress: Progress | None = None,
    before: Plan | None = None,
) -> Plan:
    """Make a plan that nobody is handed yet, and measure it; without `search` no program is run for it.

    `before` is a plan for the same task, whose order of files this one has.

    Raises as `plan` does.
    """
    planner = _planner_of(project, request)
    if not search and planner.search is not None:
        planner = replace(planner, search=None)
    with planner.contents.once():
        made = make_plan(
            project.workspace,
            planner,
            request,
            style=style,
            baseline=baseline,
            progress=progress,
            order=None if before is None else before.order,
        )
    measurement.note_sync(made.synced)
    measurement.stages.update(made.stages)
    measurement.level("contents", planner.contents.hits, planner.contents.misses)
    measurement.level("answers", *made.answers)
    if planner.embedder is not None:
        measurement.level("embeddings", *planner.embedder.lookups)
    measurement.tokens = made.pack.report.estimated_used
    measurement.candidates = len(made.ranked)
    off = request.ml_mode is MlMode.OFF  # then nobody wanted embeddings
    measurement.degraded = tuple(one for one in made.response.degraded if not (off and one == EMBEDDINGS))
    return made


def _planner_of(project: OpenedProject, request: PlanRequest) -> Planner:
    """Return what plans for a session: by the variant of the matching that it gets, if there is one."""
    rules = project.config.rules
    if session_variant(rules, request.session_id or "") in ("", DEFAULT_VARIANT):
        return project.planner
    return replace(project.planner, matching=match_params(variant_rules(rules)))


def plan_for(
    project: OpenedProject,
    measurement: Measured,
    request: PlanRequest,
    *,
    style: str,
    baseline: bool = False,
    progress: Progress | None = None,
    by: str,
    event: str = "plan",
) -> Plan:
    """Make a plan that is handed over, and measure it; without an `event` its caller records that.

    Raises as `plan` does.
    """
    made = preview_for(project, measurement, request, style=style, baseline=baseline, progress=progress)
    # The session in the environment of a server is that of whoever started it, not of its caller.
    session = "" if by == _SERVER else agent_session(project.environment)
    measurement.note = record_given(project, request, made.rules, made.learnings, made.segments, by=by)
    if event and not measurement.note:
        try:
            record_plan(project, made, request, event, session=session, by=by)
        except StoreError as error:
            measurement.note = f"what was handed over is not recorded: {error.message}"
    if project.has_models and not baseline:
        from workbench.entry.services.model_canary import record_served  # where a model was registered

        try:
            record_served(project, made.ranking, request.session_id or session, by=by)
        except StoreError as error:
            measurement.note = f"how the canary did is not recorded: {error.message}"
    return made


def record_plan(
    project: OpenedProject,
    made: Plan,
    request: PlanRequest,
    event: str,
    *,
    session: str = "",
    tokens: int | None = None,
    by: str,
) -> None:
    """Record that a session was handed a plan, see `plan_handover`. Raises: StoreError."""
    given = plan_handover(
        request,
        made.response,
        event,
        session=session,
        tokens=tokens,
        matched=[match.rule.id for match in made.matches],
        digests=digests_of(project.workspace.snapshot),
        variant=session_variant(project.config.rules, request.session_id or ""),
    )
    record_handover(project, given, by=by)


def rank_for(
    project: OpenedProject,
    measurement: Measured,
    request: PlanRequest,
    *,
    progress: Progress | None = None,
) -> tuple[Ranking, tuple[str, ...]]:
    """Rank the project's files for a task and measure it; return notes of what it did without, too.

    What is edited by hand comes before what follows from it (`plan/roles.py`).
    Raises: StaleProject under `strict`; StoreError.
    """
    from workbench.plan.roles import order_by_role  # no plan needs it

    workspace, planner = project.workspace, project.planner
    if request.ml_mode is MlMode.OFF:
        planner = without_models(planner)
    made, look = rank_request(workspace, planner, request, progress=progress)
    made = replace(made, files=order_by_role(made.files, made.model, made.intent))
    measurement.note_sync(made.synced)
    measurement.candidates = len(made.files)
    measurement.degraded = missing_parts(workspace, planner, made.past)
    why = meaning_notes(planner, made)
    if look is None:
        return made, why
    measurement.degraded += look.degraded
    measurement.stages.update(look.stages)
    return made, (*why, *look.notes)


def ranked_files(made: Ranking, confident: float, top: int | None = None) -> RankResponse:
    """Return the first files of a ranking as they are published, all of them without `top`.

    The answer is of low confidence where no file is needed with a chance of `confident`, and empty where the
    task says nothing about the project.
    """
    if not made.known:
        return rank_response((), low_confidence=True, known=False)
    likeliest = max(own_chances(made.model, made.files).values(), default=0.0)
    low = likeliest < confident
    return rank_response(
        made.files[:top],
        reasons_of(made),
        low_confidence=low,
        confidence=None if low else plan_confidence(made),
    )


def match_for(
    project: OpenedProject,
    measurement: Measured,
    request: PlanRequest,
    *,
    progress: Progress | None = None,
    by: str,
) -> MatchReport:
    """Match the rules in force with a task, measure it and record their use. Raises: StoreError."""
    workspace, planner = project.workspace, _planner_of(project, request)
    ranking = rank_files(workspace, planner, request.task, progress=progress)
    measurement.note_sync(ranking.synced)
    _, report = match_task(workspace, planner, request, ranking, progress=progress)
    measurement.note = record_given(project, request, [match.rule for match in report.matches], by=by)
    measurement.candidates = len(workspace.rulebook.rules)
    return report


def match_response(report: MatchReport) -> MatchResponse:
    """Return the matches of a task as they are published."""
    return MatchResponse(
        matches=tuple(map(_matched_rule, report.matches)),
        rejected=tuple(RejectedRule(identifier, reason) for identifier, reason in report.rejected),
        notes=report.notes,
    )


def _matched_rule(found: RuleMatch) -> MatchedRule:
    rule = found.rule
    return MatchedRule.of(found, id=rule.id, origin=origin(rule), rule=instruction(rule))


def record_given(
    project: OpenedProject,
    request: PlanRequest,
    rules: Sequence[Rule],
    learnings: Mapping[str, str] | None = None,
    segments: Sequence[ChosenSegment] = (),
    *,
    by: str,
) -> str:
    """Record what was handed over; return why that could not be done, '' if it was or there was nothing.

    The use of rules and segments counts, and learnings {id: text} are not learned again when they come back.
    Nothing waits for the disk, and what cannot be written keeps nobody from what was asked for.
    """
    store, session = project.workspace.rule_store(), request.session_id or ""
    try:
        note_use(store, rules, session, agent_name(request.tool), by=by)
        if learnings:
            from workbench.memory.learnings.echoes import note_injected
            from workbench.memory.learnings.learningstore import store_of

            note_injected(store_of(store), learnings, surface="plan", session=session)
        if segments:
            from workbench.entry.services.stash import stash_service

            ids = [segment.found.segment.id for segment in segments]
            stash_service(project, by).note_shown(ids, query=request.task, session_id=session)
    except StoreError as error:
        return f"what was handed over is not recorded: {error.message}"
    return ""


def record_pack(episodes: EpisodeService, request: PlanRequest, response: PlanResponse) -> str:
    """Record in the request's session which pack it was given; return the session's id.

    A session that is new is started, with an id of its own if the request has none; one that has another task
    keeps it, and the pack is recorded with the task it is for.

    Raises: UsageError for a session that takes no events; StoreError.
    """
    known = _task_of(episodes, request.session_id) if request.session_id else None
    if known is None:
        session = episodes.start(
            request.task,
            session_id=request.session_id or "",
            query_type=str(request.query_type or ""),
            token_budget=request.token_budget,
        )
        episodes.note_disk(session)
    else:
        session = str(request.session_id)
    payload = {
        **({} if known in (None, request.task.strip()) else {"task": request.task}),
        "pack": {
            "files": {one.path: one.representation for one in response.selection},
            "passages": [rule.id for rule in response.rules],
            "tokens": response.budget_report.estimated_used,
            "pinned": list(request.pinned),
            "excluded": list(request.excluded),
        },
    }
    episodes.event(session, "decision", payload=payload)
    return session


def _task_of(episodes: EpisodeService, session: str) -> str | None:
    try:
        return episodes.trace(session).episode.task_text
    except UsageError:  # nobody started it
        return None
