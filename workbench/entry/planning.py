"""One plan as every face makes it: the same steps, and the same measurement of them.

The command line and the screens call this, so that neither has a plan of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from workbench.entry.bootstrap import Opened
from workbench.entry.measuring import Measured
from workbench.errors import StoreError
from workbench.plan.pipeline import Plan
from workbench.plan.pipeline import plan as make_plan
from workbench.plan.workspace import Progress, Workspace
from workbench.records.plan import PlanRequest
from workbench.records.rules import Rule
from workbench.rules.curation.rulestore import note_use
from workbench.rules.matching.context import agent_name

if TYPE_CHECKING:
    from workbench.sessions.episodes import EpisodeDesk


def preview_for(
    opened: Opened,
    told: Measured,
    request: PlanRequest,
    *,
    style: str,
    baseline: bool = False,
    progress: Progress | None = None,
) -> Plan:
    """Make a plan that nobody is handed yet, and tell its measurement about it. Raises as `plan` does."""
    planner = opened.planner
    made = make_plan(opened.workspace, planner, request, style=style, baseline=baseline, progress=progress)
    response: Any = made.response
    told.synced(made.synced)
    told.stages.update(made.stages)
    told.level("contents", planner.contents.hits, planner.contents.misses)
    if planner.embedder is not None:
        hits, misses = getattr(planner.embedder, "hits", 0), getattr(planner.embedder, "misses", 0)
        told.level("embeddings", hits, misses)
    told.tokens = made.pack.report.estimated_used
    told.candidates = len(made.ranked)
    told.degraded = tuple(response["degraded"])
    return made


def plan_for(
    opened: Opened,
    told: Measured,
    request: PlanRequest,
    *,
    style: str,
    baseline: bool = False,
    progress: Progress | None = None,
    by: str,
) -> Plan:
    """Make a plan that is handed over, and tell its measurement about it. Raises as `plan` does."""
    made = preview_for(opened, told, request, style=style, baseline=baseline, progress=progress)
    remember_given(opened.workspace, made.learnings, request.session_id or "")
    told.note = note_rules(opened.workspace, made.rules, request, by=by)
    return made


def note_rules(workspace: Workspace, rules: Sequence[Rule], request: PlanRequest, *, by: str) -> str:
    """Record that rules were handed over; return why that could not be done, '' if it was or none were.

    Nothing waits for the disk, and what cannot be written keeps nobody from what was asked for.
    """
    try:
        note_use(workspace.rule_store(), rules, request.session_id or "", agent_name(request.tool), by=by)
    except StoreError as error:
        return f"the use of {len(rules)} rules was not recorded: {error.message}"
    return ""


def remember_given(workspace: Workspace, learnings: Mapping[str, str], session: str = "") -> None:
    """Note which learnings went into a prompt, so that they are not learned again when they come back."""
    if not learnings:
        return
    from workbench.memory.learnings.injected import note_injected
    from workbench.memory.learnings.learningstore import store_of

    note_injected(store_of(workspace.rule_store()), learnings, surface="plan", session=session)


def record_pack(desk: EpisodeDesk, request: PlanRequest, response: Mapping[str, Any]) -> str:
    """Record in the request's session which pack it was given; return the session's id.

    A session that is new is started, with an id of its own if the request has none.

    Raises: UsageError for a session with another task, or one that takes no events; StoreError.
    """
    session = desk.start(
        request.task,
        session_id=request.session_id or "",
        query_type=str(request.query_type or ""),
        token_budget=request.token_budget,
    )
    payload = {
        "pack": {
            "files": {one["path"]: one["representation"] for one in response["selection"]},
            "passages": [one["id"] for one in response["rules"]],
            "tokens": response["budget_report"]["estimated_used"],
            "pinned": list(request.pinned),
            "excluded": list(request.excluded),
        }
    }
    desk.event(session, "decision", payload=payload)
    return session
