"""Going to Plan from another section with what is asked there changed."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from screens.plan.query import PlanQuery, dump_query, load_query
from screens.plan.screen import PlanScreen

if TYPE_CHECKING:
    from screens.app import WorkbenchApp


def open_plan(bench: WorkbenchApp, change: Callable[[PlanQuery], PlanQuery]) -> PlanQuery:
    """Change what Plan is asked, show its list, log the command that does the same; return what is asked."""
    kept = bench.place.sections.get("plan", {})
    asked = change(load_query(kept))
    bench.place.sections["plan"] = {**kept, **dump_query(asked), "listed": True}
    bench.show_section("plan")
    plan = bench.section
    if isinstance(plan, PlanScreen) and plan.is_mounted:
        asked = change(plan.asked)
        plan.editor.text = asked.task
        (plan.editor if asked.blank else plan.table).focus()
        plan.replan(asked, log=False)
    bench.log_action(asked.arguments())
    return asked
