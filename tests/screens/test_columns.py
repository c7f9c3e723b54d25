"""Every column of every table has a heading in words and says what is in it."""

from __future__ import annotations

import ast
from pathlib import Path

import screens
from screens.replay.figures import MEASURES
from screens.widgets.table import Column, VirtualTable
from tests.screens.widgets.staging import Stage
from workbench.replay.run_report import COLUMNS

_HOME = Path(screens.__file__).parent
_CUT = {"As", "Sure", "Agst", "Conf", "Pri", "Tok", "Scen", "Miss", "V", "#", "95 %", "p"}
"""Headings that did not say what they stood for."""


def declared() -> list[tuple[str, ast.Call]]:
    """Return all calls of `Column` in the sources with where they are."""
    return [
        (f"{path.relative_to(_HOME)}:{node.lineno}", node)
        for path in sorted(_HOME.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Column"
    ]


def test_columns_have_headings_and_say_what_is_in_them() -> None:
    """A heading is a word, none only over a single glyph; a sentence says what is in the column."""
    found = declared()
    assert len(found) > 150
    wrong = []
    for where, call in found:
        texts = [str(one.value) if isinstance(one, ast.Constant) else None for one in call.args[:4]]
        _, title, about, width = [*texts, None][:4]
        if title is not None and (title in _CUT or (len(title) < 2 and (title, width) != ("", "1"))):
            wrong.append(f"{where}: {title!r} is no heading")
        if about is not None and not (about.endswith(".") and len(about) > 10):
            wrong.append(f"{where}: {about!r} does not say what is in the column")
    assert wrong == []
    assert {title for title, *_ in COLUMNS} == MEASURES.keys()  # the one table whose columns are made


async def test_the_mouse_over_a_heading_says_what_is_below() -> None:
    """Only there; what it says is data, and rows have no tooltip."""
    columns = (Column("a", "First", "What is [/] first.", 8), Column("b", "Second", "What is second.", 8))
    app = Stage(lambda: VirtualTable(columns))
    async with app.run_test(size=(40, 8)) as pilot:
        table = app.screen.query_one(VirtualTable)
        for at, about in (((5, 0), "What is [/] first."), ((14, 0), "What is second."), ((14, 3), "None")):
            await pilot.hover(table, offset=at)
            assert str(table.tooltip) == about
