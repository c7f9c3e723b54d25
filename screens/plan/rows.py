"""The table of candidates: its columns and the cells of a row, each state with a glyph of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from textual.content import Content

from screens.plan.candidates import FILES, IN, Candidate
from screens.safe_text import shown
from screens.widgets.table import Column
from screens.widgets.table_rows import ListRows

COLUMNS: Final = (
    Column("state", "", 1, priority=9),
    Column("name", "Candidate", share=5, least=26, priority=10),
    Column("form", "As", 8, priority=7),
    Column("tokens", "Tokens", 6, align="right", priority=8),
    Column("score", "Score", 6, align="right", priority=0),
    Column("why", "Why", share=3, least=22, priority=1),
)
_TITLE: Final = 300
_KINDS: Final = {"rules": "§", "learnings": "¶", FILES: ""}


def rows_of(candidates: Sequence[Candidate], order: Sequence[int] | None = None) -> ListRows[Candidate]:
    """Return candidates as rows, all of them or those at some places."""
    return ListRows(candidates, key=lambda one: one.key, cells=cells, order=order)


def cells(one: Candidate) -> tuple[Content, ...]:
    """Return state, name, form, tokens, score and reason."""
    inside = one.state == IN
    tone = "" if inside else "$text-muted"
    form = one.form if inside else "out"
    return (
        state(one),
        name(one),
        shown(form, tone),
        shown("" if one.tokens is None else f"{one.tokens:,}", tone),
        shown("" if one.score is None else f"{one.score:.2f}", "$text-muted"),
        shown(one.why, "$text-muted", limit=_TITLE),
    )


def state(one: Candidate) -> Content:
    """Return the glyph of a candidate's state: in, pinned, pinned without room, excluded, out."""
    if one.excluded:
        return Content.styled("✗", "bold $text-error")
    if one.pinned:
        return Content.styled("◆" if one.state == IN else "!", "bold $text-warning")
    return Content.styled("✓", "$text-success") if one.state == IN else Content.styled("·", "$text-muted")


def name(one: Candidate) -> Content:
    """Return what a candidate is called, a file by its name first and its folder after."""
    tone = "" if one.state == IN else "$text-muted"
    title = shown(one.title, tone, limit=_TITLE)
    mark = _KINDS.get(one.kind, "¶")
    head = Content.styled(f"{mark} ", "bold $text-primary") if mark else Content("")
    if one.kind != FILES or not one.place:
        return Content.assemble(head, title)
    return Content.assemble(title, "  ", shown(one.place, "$text-muted", limit=_TITLE))
