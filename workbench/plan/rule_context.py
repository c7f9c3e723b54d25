"""The context of a request as a workspace knows it: ranked files, uncommitted ones, and the checkout."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.errors import GitError
from workbench.rules.matching.context import AT_HAND, RuleContext, make_context

if TYPE_CHECKING:
    from workbench.plan.pipeline import Ranking
    from workbench.plan.workspace import Workspace
    from workbench.records.plan import PlanRequest


def request_context(workspace: Workspace, request: PlanRequest, ranking: Ranking) -> RuleContext:
    """Return the context of a request whose files are ranked. What git cannot say is in no context."""
    control = workspace.adapters.control
    head = None
    if control is not None:
        try:
            head = control.head()
        except GitError:
            head = None  # the sync says so already
    return make_context(
        paths=[found.path for found in ranking.files[:AT_HAND]],
        changed=None if control is None else workspace.uncommitted,
        head=head,
        query_type=ranking.intent.predicted.value,
        tool=request.tool,
        scenario=request.scenario,
        step=request.step,
        contexts=request.contexts,
        facts=dict(request.facts),
    )
