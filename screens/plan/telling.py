"""What the lines around a plan say: how it was asked, how fresh it is, what it had to do without."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from textual.content import Content

from screens.plan.asking import Asked
from screens.plan.candidates import Shown
from screens.safe_text import shown
from workbench.plan.response import missing_here
from workbench.text.sanitize import visible_line

_CACHE: Final = {"hit": "index as it was", "partial": "brought up to date", "miss": "indexed anew"}
_SHOWN: Final = 3


def status(plan: Shown) -> str:
    """Return what the status line says of a plan: what it holds, its age, its time, what was missing."""
    response = plan.response
    count = f"{plan.selected:,} in, {len(plan.candidates) - plan.selected:,} out"
    missing = missing_here(response)
    without = [f"! without {', '.join(missing)}"] if missing else []
    parts = [count, *without, *state_of(response), f"{milliseconds(response):,.0f} ms"]
    if plan.gone:
        names = ", ".join(map(visible_line, plan.gone[:_SHOWN]))
        more = f" and {len(plan.gone) - _SHOWN}" if len(plan.gone) > _SHOWN else ""
        parts.append(f"! wishes for what is gone were dropped: {names}{more}")
    return " · ".join(parts)


def state_of(response: Mapping[str, Any]) -> list[str]:
    """Return freshness and cache in words."""
    return [str(response["freshness"]), _CACHE.get(response["cache_status"], str(response["cache_status"]))]


def milliseconds(response: Mapping[str, Any]) -> float:
    """Return how long a plan took."""
    return float(response["timing"].get("total", 0.0))


def how(asked: Asked, plan: Shown | None, *, strict: bool) -> Content:
    """Return in one line how a task is planned: kind, ranking, wishes."""
    parts = [_kind(asked, plan)]
    parts.append(_pair("ranking", "baseline" if asked.baseline else "hybrid", asked.baseline))
    if strict:
        parts.append(_pair("", "strict", True))
    if asked.pinned:
        parts.append(_pair("◆", f"{len(asked.pinned)} pinned", True))
    if asked.excluded:
        parts.append(_pair("✗", f"{len(asked.excluded)} excluded", True))
    return Content("  ").join(parts)


def _kind(asked: Asked, plan: Shown | None) -> Content:
    if asked.query_type:
        return _pair("kind", asked.query_type, True)
    if plan is None:
        return _pair("kind", "by its words", False)
    intent = plan.response["intent"]
    sure = f" {intent['confidence']:.0%}" if intent["confidence"] else ""
    return _pair("kind", f"{intent['predicted']}{sure}", False)


def _pair(label: str, value: str, chosen: bool) -> Content:
    head = shown(f"{label} ", "$text-muted") if label else Content("")
    return Content.assemble(head, shown(value, "bold $text-warning" if chosen else ""))
