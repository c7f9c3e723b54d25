"""Keys that come faster than what they lead to: each goes where the one before it led."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from textual import events

from screens.curation.listed_records import ListedRows, ListQuestion
from screens.curation.record_form import RecordForm
from screens.jobs import Job
from screens.widgets.dialogs import Ask, Confirm
from screens.widgets.fields import SafeInput
from screens.widgets.filter import FilterInput
from tests.screens.rules.conftest import Desk, Opened, opened

__all__ = ["opened"]

_NAMED = {"/": "slash", "\n": "enter", "\t": "tab", "+": "plus", " ": "space"}
_TEXT = "dyndex q1 "


def keys_of(text: str) -> list[events.Key]:
    """Return the keys with which a text is typed, all pressed now."""
    return [events.Key(_NAMED.get(char, char), char) for char in text]


async def burst(desk: Desk, *typed: events.Event) -> None:
    """Hand over everything before the loop turns once, as a terminal does that was behind."""
    for event in typed:
        desk.app.post_message(event)
    await desk.settle()


async def test_what_follows_the_key_of_a_field_is_its_text(opened: Opened) -> None:
    """Letters right after the keys of filter and search are neither lost, doubled nor commands."""
    async with opened() as desk:
        for key in "/s":
            await burst(desk, *keys_of(key + _TEXT))
            field = desk.app.screen.focused
            assert isinstance(field, FilterInput)
            assert field.value == _TEXT
            await burst(desk, *keys_of("\n"))
        assert desk.app.screen is desk.screen
        assert desk.commands == []


async def test_keys_after_a_filter_was_kept_are_commands_of_the_list(opened: Opened) -> None:
    """Enter gives the focus back to the list before the next key is given."""
    async with opened() as desk:
        await burst(desk, *keys_of("/refund\nc" + _TEXT))
        assert desk.screen.bar.text == "refund"
        assert desk.dialog(RecordForm).focused.text == _TEXT


async def test_a_paste_right_after_the_key_of_a_field_goes_there(opened: Opened) -> None:
    """A bracketed paste waits as keys do, and keeps its place between them."""
    async with opened() as desk:
        await burst(desk, *keys_of("/a"), events.Paste("refund d"), *keys_of("y"))
        assert desk.screen.bar.text == "arefund dy"
        assert desk.commands == []


async def test_text_after_the_key_of_a_form_is_in_its_first_field(opened: Opened) -> None:
    """A form, and a question for a line, take what is typed before they are there."""
    async with opened() as desk:
        await burst(desk, *keys_of("c" + _TEXT))
        form = desk.dialog(RecordForm)
        assert form.focused.text == _TEXT
        await burst(desk, *keys_of("\t\t"), events.Key("escape", None))
        await desk.press("y")
        assert desk.app.screen is desk.screen
        await burst(desk, *keys_of("+" + _TEXT))
        assert desk.dialog(Ask).query_one(SafeInput).value == _TEXT


async def test_a_question_takes_no_answer_from_before_it_was_painted(opened: Opened) -> None:
    """Whatever was typed with the key that asks is dropped and logged; what comes then answers."""
    async with opened() as desk:
        rules = desk.rules
        await burst(desk, *keys_of("dy\t\nhyly\n"))
        desk.dialog(Confirm)
        assert desk.rules == rules
        assert {action.command for action in desk.app.log_of_actions.actions} == {"# 1 key dropped"}
        await burst(desk, *keys_of("y"))
        await burst(desk, *keys_of("y"))  # the lines of its file are a question of their own
        assert len(desk.rules) == len(rules) - 1


async def test_keys_after_a_key_that_leads_nowhere_in_time_are_dropped(opened: Opened) -> None:
    """A key typed long after another that is still not done is not run, and the next one is."""
    async with opened() as desk:
        rules, app = desk.rules, desk.app
        late = keys_of("dd")
        for key in late:
            key.time += 60
        app._followed = events.Event().time  # as if a widget never got round to its key
        await burst(desk, *keys_of("dy"), late[0])
        assert app.screen is desk.screen
        assert desk.rules == rules
        assert [action.command for action in app.log_of_actions.actions] == ["# 3 keys dropped"]
        await burst(desk, late[1])
        desk.dialog(Confirm)


async def test_keys_after_a_key_whose_job_opens_a_dialog_are_for_that(opened: Opened) -> None:
    """They wait for the end of the job; what is typed much later is for the list, ctrl+c for the job."""
    async with opened() as desk:
        app, screen, rules = desk.app, desk.screen, desk.rules
        gate = threading.Event()

        def opens(_: bool) -> None:
            app.push_screen(Ask("What?"))

        async def type_meanwhile(*typed: events.Key) -> None:
            screen.ask("Looking", lambda job: gate.wait(10), opens, leads=True)
            for event in typed:
                app.post_message(event)
            await desk.pilot.pause()
            assert app.screen is screen
            gate.set()
            await desk.settle()
            gate.clear()

        await type_meanwhile(*keys_of("dj"))
        assert desk.dialog(Ask).query_one(SafeInput).value == "dj"
        await desk.press("escape")
        late = keys_of("djj")
        late[2].time += 60
        await type_meanwhile(*late, events.Key("ctrl+c", None))
        assert app.screen is screen
        assert screen.table.cursor == 1
        assert desk.rules == rules
        assert [action.command for action in app.log_of_actions.actions] == ["# 2 keys dropped"]


async def test_keys_after_a_filter_are_for_the_rows_that_it_lets_through(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They wait for the end of the job that lists them; what is typed in the field meanwhile does not."""
    async with opened() as desk:
        app, screen = desk.app, desk.screen
        gate, read = threading.Event(), screen.read_list
        last = desk.shown[-1]
        assert screen.table.cursor_key != last

        def read_late(asked: ListQuestion, job: Job) -> ListedRows[Any]:
            gate.wait(10)
            return read(asked, job)

        monkeypatch.setattr(screen, "read_list", read_late)
        for event in keys_of("/dyndex"):
            app.post_message(event)
        await desk.pilot.pause()
        screen.bar._apply()  # as after a moment without typing
        for event in keys_of("q1"):
            app.post_message(event)
        await desk.pilot.pause()
        assert app.jobs.listing
        assert screen.bar.text == "dyndexq1"
        screen.bar.field.value = f"id:{last}"
        for event in keys_of("\ne"):
            app.post_message(event)
        await desk.pilot.pause()
        assert app.screen is screen
        gate.set()
        await desk.settle()
        desk.dialog(RecordForm)
        assert screen.table.cursor_key == last
