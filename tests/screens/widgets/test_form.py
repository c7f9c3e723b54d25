"""Records edited in place: untouched values come back exactly, changes are marked, mistakes are told."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.events import Paste
from textual.widgets import Input, Select, TextArea

from screens.widgets.fields import Flag
from screens.widgets.form import MOST_IN_PLACE, FieldForm, FieldKind, FormField, parse_value, problem, raw_of
from tests.screens.widgets.staging import HOSTILE, Stage, seen

FIELDS = (
    FormField("name", "Name", "Use tabs", required=True),
    FormField("rule", "Rule", "Use tabs.\nAlways.", kind="long", help="What is to be done."),
    FormField("priority", "Priority", 50, kind="number", least=0, most=100),
    FormField("level", "Level", None, kind="choice", choices=("global", "step")),
    FormField("tags", "Tags", ("language:python", "tool:ruff"), kind="tags"),
    FormField("enabled", "Enabled", True, kind="flag"),
)


@pytest.mark.parametrize("kind", ["text", "long"])
@given(text=st.text())
def test_untouched_texts_come_back_exactly(kind: FieldKind, text: str) -> None:
    """What a widget begins with means the value it came from, hidden characters included."""
    field = FormField("f", "F", text, kind=kind)
    assert parse_value(field, raw_of(field)) == text


@pytest.mark.parametrize(
    ("raw", "value"), [("7", 7), (" 2.5 ", 2.5), ("", None), ("1e1", 10), ("0", 0), ("100", 100)]
)
def test_numbers_are_read(raw: str, value: float | None) -> None:
    """Whole numbers are ints, nothing is None, bounds belong to the range."""
    assert parse_value(FIELDS[2], raw) == value
    assert isinstance(parse_value(FIELDS[2], raw), type(value))


@pytest.mark.parametrize("raw", ["x", "nan", "inf", "-1", "101", "1,5", "\x00"])
def test_what_is_no_such_number_is_told(raw: str) -> None:
    """The message names the field and its bounds."""
    assert problem(FIELDS[2], raw) == "Priority must be a number from 0 to 100"


def test_tags_are_read_once_each() -> None:
    """Blanks around tags, empty ones and repetitions do not count."""
    assert parse_value(FIELDS[4], " b, a,,b ,") == ("b", "a")


def test_what_is_required_is_missed() -> None:
    """Blanks alone are nothing, and an empty value that nobody touched is missed as well."""
    assert problem(FIELDS[0], "  ") == "Name must not be empty"
    assert problem(FormField("n", "N", "", required=True), "") == "N must not be empty"


async def test_changes_are_marked_and_returned() -> None:
    """Each kind of field is edited, its label gets the dot, and only what differs is a change."""
    app = Stage(lambda: FieldForm(FIELDS))
    async with app.run_test(size=(80, 24)) as pilot:
        form = app.screen.query_one(FieldForm)
        assert "●" not in seen(app)
        assert (form.dirty, form.changes()) == (False, {})
        form.focus_field("name")
        await pilot.press("end", "!")
        form.query_one("#field-1", TextArea).load_text("Use spaces.")
        form.query_one("#field-2", Input).value = "70"
        form.query_one("#field-3", Select).value = "step"
        form.query_one("#field-4", Input).value = "tool:ruff"
        form.focus_field("enabled")
        await pilot.press("space")
        await pilot.pause()
        assert form.changes() == {
            "name": "Use tabs!",
            "rule": "Use spaces.",
            "priority": 70,
            "level": "step",
            "tags": ("tool:ruff",),
            "enabled": False,
        }
        assert seen(app).count("●") == len(FIELDS)


async def test_mistakes_are_told_below_their_fields() -> None:
    """A wrong field says so at once; the first wrong one gets the focus; the record as a whole comes last."""

    def check(values: Mapping[str, Any]) -> Mapping[str, str]:
        return {"tags": "no [/] tags", "name": ""} if not values["tags"] else {}

    app = Stage(lambda: FieldForm(FIELDS, validate=check))
    async with app.run_test(size=(80, 24)) as pilot:
        form = app.screen.query_one(FieldForm)
        priority = form.query_one("#field-2", Input)
        priority.value = "1000"
        form.query_one("#field-4", Input).value = ""
        await pilot.pause()
        assert "! Priority must be a number from 0 to 100" in seen(app)
        assert form.validate_all() == {"priority": "Priority must be a number from 0 to 100"}
        await pilot.pause()
        assert priority.has_focus
        priority.value = "10"
        await pilot.pause()
        assert "!" not in seen(app)
        assert form.validate_all() == {"tags": "no [/] tags"}
        await pilot.pause()
        assert "! no [/] tags" in seen(app)


async def test_fields_are_reached_by_arrows() -> None:
    """Down and up move between fields; messages say what was changed."""
    changed: list[tuple[str, bool]] = []

    class Watching(Stage):
        def on_field_form_changed(self, message: FieldForm.Changed) -> None:
            changed.append((message.name, message.dirty))

    fields = [FormField("a", "A", "x"), FormField("b", "B", False, kind="flag"), FormField("c", "C", "y")]
    app = Watching(lambda: FieldForm(fields))
    async with app.run_test(size=(60, 20)) as pilot:
        form = app.screen.query_one(FieldForm)
        form.focus_field("a")
        await pilot.press("down")
        assert form.query_one(Flag).has_focus
        changed.clear()
        await pilot.press("enter", "down", "end", "z", "up", "up")
        assert form.query_one("#field-0").has_focus
        assert changed == [("b", True), ("c", True)]


@pytest.mark.parametrize("text", HOSTILE)
async def test_records_are_literal(text: str) -> None:
    """Any value in any kind of field is shown and comes back exactly."""
    fields = [
        FormField("text", text[:50], text),
        FormField("long", "long", text, kind="long", help=text[:99]),
        FormField("choice", "choice", text, kind="choice", choices=(text, "other")),
        FormField("tags", "tags", (text, "b"), kind="tags"),
    ]
    app = Stage(lambda: FieldForm(fields))
    async with app.run_test(size=(80, 24)) as pilot:
        form = app.screen.query_one(FieldForm)
        form.show_problems({"text": text[:99]})
        await pilot.pause()
        assert seen(app)
        assert form.values() == {field.name: field.value for field in fields}
        assert ("too long" in seen(app)) == (len(text) > MOST_IN_PLACE)


async def test_pastes_are_made_visible() -> None:
    """Control characters of a paste arrive as their pictures, in one line and in several."""
    app = Stage(lambda: FieldForm([FormField("a", "A", ""), FormField("b", "B", "", kind="long")]))
    async with app.run_test(size=(60, 20)) as pilot:
        form = app.screen.query_one(FieldForm)
        for name in ("a", "b"):
            form.focus_field(name)
            await pilot.pause()
            focused = app.focused
            assert focused is not None
            focused.post_message(Paste("\x1b[31mx\r\ny"))
            await pilot.pause()
        assert form.values() == {"a": "␛[31mx", "b": "␛[31mx\ny"}
