"""A plan's request from what a caller of Python gives: settings where nothing is given, names checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Unpack

from workbench.entry.project import OpenedProject
from workbench.entry.services.episodes import episode_service
from workbench.entry.services.rule_checks import ToolCallContext
from workbench.errors import UsageError
from workbench.plan.render import STYLES
from workbench.records.plan import Detail, MlMode, PlanRequest, QueryType
from workbench.records.requests import WorkContext
from workbench.sessions.episodes_checks import one_of

MOST_TOKENS: Final = 1_000_000_000  # of a budget


def plan_request(  # noqa: PLR0913 - what a plan can be asked for
    project: OpenedProject,
    task: str,
    *,
    budget: int | None = None,
    session: str = "",
    query_type: str = "",
    strict: bool | None = None,
    pinned: Sequence[str] = (),
    excluded: Sequence[str] = (),
    feature: str | None = None,
    task_id: str | None = None,
    stash: bool = True,
    ml_mode: str = "",
    detail: str = "",
    latency_budget_ms: int | None = None,
    **known: Unpack[WorkContext],
) -> PlanRequest:
    """Return the request for a task; `session` is the episode that asks, whose scenario and step hold.

    Raises: UsageError for an empty task, a budget below 1, an unknown kind of task; StoreError.
    """
    settings = project.config.plan
    limit = settings.budget if budget is None else budget
    if not task.strip():
        raise UsageError("the task is empty", hint='Say what is to be done, such as "fix the login".')
    if limit < 1:
        raise UsageError(f"a budget of {limit} tokens holds nothing", hint="Give at least 1.")
    if limit > MOST_TOKENS:
        raise UsageError("the budget is larger than any context", hint=f"Give at most {MOST_TOKENS:,}.")
    found = work_context(project, **known)
    scenario, step = found.scenario, found.step
    if session and not ("scenario" in known and "step" in known):
        active = episode_service(project.root, project.config, "", project.environment).active(session)
        scenario, step = known.get("scenario", active[0]), known.get("step", active[1])
    return PlanRequest(
        project_root=str(project.root),
        task=task,
        query_type=task_kind(query_type),
        token_budget=limit,
        strict=settings.strict if strict is None else strict,
        session_id=session or None,
        pinned=tuple(pinned),
        excluded=tuple(excluded),
        feature=feature,
        task_id=task_id,
        tool=found.agent,
        contexts=tuple(found.contexts),
        facts=tuple((name, tuple(values)) for name, values in found.facts.items()),
        scenario=scenario,
        step=step,
        stash=stash,
        ml_mode=one_of(MlMode, ml_mode or settings.ml_mode, "mode"),
        detail=one_of(Detail, detail, "detail") if detail else Detail.NORMAL,
        latency_budget_ms=latency_budget_ms,
    )


def work_context(
    project: OpenedProject,
    cwd: str = "",
    *,
    agent: str | None = None,
    contexts: Sequence[str] = (),
    facts: Mapping[str, str | Sequence[str]] | None = None,
    scenario: str = "",
    step: str = "",
) -> ToolCallContext:
    """Return what is known of the work, with the agent of the settings where none is given."""
    return ToolCallContext(
        cwd=cwd,
        agent=project.config.rules.tool if agent is None else agent,
        contexts=tuple(dict.fromkeys(contexts)),
        facts={
            name: (value,) if isinstance(value, str) else tuple(value)
            for name, value in (facts or {}).items()
        },
        scenario=scenario,
        step=step,
    )


def task_kind(name: str) -> QueryType | None:
    """Return the kind of task that a text names, None for an empty one. Raises: UsageError."""
    return one_of(QueryType, name, "kind of task") if name else None


def pack_style(project: OpenedProject, name: str) -> str:
    """Return the style of a pack's text, that of the settings for an empty name. Raises: UsageError."""
    settings = project.config.plan.format
    wanted = name or ("text" if settings == "json" else settings)
    if wanted not in STYLES:
        raise UsageError(f"{wanted!r} is not a style of packs", hint=f"One of {', '.join(STYLES)}.")
    return wanted
