"""How whole the stories of sessions are, in figures and in a sentence: causal_trace_completeness [img 13]."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workbench.records.episodes import Completeness
from workbench.text.counts import counted


def stories_json(stories: Completeness) -> dict[str, Any]:
    """Return the figures under stable names; the share is None where no session has ended."""
    return {
        "causal_trace_completeness": stories.share,
        "ended": stories.ended,
        "traced": stories.traced,
        "full": stories.full,
        "open": stories.open,
    }


def stories_line(figures: Mapping[str, Any]) -> str:
    """Return e.g. `4 sessions ended, 75% tell a whole story (50% with reads and edits), 1 open`."""
    ended, open_ones = figures["ended"], figures["open"]
    text = f"{counted(ended, 'session')} ended"
    if ended:
        whole, full = (round(100 * figures[name] / ended) for name in ("traced", "full"))
        text += f", {whole}% tell a whole story ({full}% with both reads and edits)"
    return text + (f", {open_ones:,} open" if open_ones else "")
