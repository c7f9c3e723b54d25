"""Others work on the same rules: what they change meanwhile is shown, merged, never overwritten."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from screens.curation.overtaken import OvertakenRecord
from screens.curation.record_form import RecordForm
from screens.curation.record_list_screen import waiting_text
from screens.rules import rule_list_screen
from screens.rules.rule_form import BulkEditForm
from screens.rules.rule_view import rule_cells
from screens.widgets.dialogs import Confirm
from screens.widgets.fields import SafeArea, SafeInput
from screens.widgets.merge import MergeEditor
from store.lists.sql_list import SqlList
from tests.screens.golden import screen_text
from tests.screens.rules.conftest import Opened
from workbench.errors import StoreBusy
from workbench.lists.tables import TableRebuild
from workbench.records.rules import Rule
from workbench.rules.curation.curator import Curator

Other = Callable[[], Curator]


async def test_a_field_that_others_left_alone_is_saved_with_theirs(opened: Opened, other: Other) -> None:
    """What one side alone changed is chosen already, shown, and saved with one key."""
    async with opened() as desk:
        rule = desk.current
        await desk.press("e")
        form = desk.dialog(RecordForm)
        form.query_one("#field-2", SafeInput).value = "33"
        other().edit(rule.id, enabled=False)
        await desk.press("f2")
        dialog = desk.dialog(OvertakenRecord)
        assert {one.name: one.choice for one in dialog.merges} == {"priority": "mine", "enabled": "theirs"}
        assert "changed meanwhile" in screen_text(desk.app)
        now = other().store.ledger().live[rule.id]
        assert (now.priority, now.enabled) == (rule.priority, False)
        await desk.press("f2")
        assert desk.app.screen is desk.screen
        assert (desk.current.priority, desk.current.enabled) == (33, False)


async def test_what_both_changed_waits_for_a_choice(opened: Opened, other: Other) -> None:
    """It is not saved before somebody said which holds; escape goes back to what was written."""
    async with opened() as desk:
        rule = desk.current
        await desk.press("e")
        form = desk.dialog(RecordForm)
        form.query_one("#field-2", SafeInput).value = "33"
        other().edit(rule.id, priority=44)
        await desk.press("f2", "f2")
        dialog = desk.dialog(OvertakenRecord)
        assert "L or R says which is kept" in screen_text(desk.app)
        await desk.press("escape")
        assert desk.dialog(RecordForm) is form
        assert form.query_one("#field-2", SafeInput).value == "33"
        assert other().store.ledger().live[rule.id].priority == 44
        await desk.press("f2")
        assert desk.dialog(OvertakenRecord) is not dialog
        await desk.press("R", "f2")
        assert desk.app.screen is desk.screen
        assert desk.current.priority == 44
        assert "kept their version" in desk.told[-1]
        assert desk.commands == []


async def test_texts_of_both_are_merged_in_three_panes(opened: Opened, other: Other) -> None:
    """A rule that was reworded meanwhile has another id; the merged words become its next version."""
    async with opened() as desk:
        rule = desk.current
        await desk.press("e")
        form = desk.dialog(RecordForm)
        form.query_one("#field-0", SafeArea).load_text("Keep amounts in whole cents.")
        theirs = other().edit(rule.id, rule="Keep amounts as integers of cents, always.")
        await desk.press("f2")
        await desk.press("m")
        editor = desk.dialog(MergeEditor)
        editor.query_one("#merge-result", SafeArea).load_text("Keep amounts in whole cents, always.")
        await desk.press("f2")
        dialog = desk.dialog(OvertakenRecord)
        assert dialog.merges[0].choice == "merged"
        await desk.press("escape")
        assert "Drop what you wrote?" in screen_text(desk.app)
        await desk.press("n", "f2", "n")
        assert desk.dialog(OvertakenRecord) is dialog
        assert "Nothing was saved yet" in screen_text(desk.app)
        await desk.press("m")
        assert desk.dialog(MergeEditor).result == "Keep amounts in whole cents, always."
        await desk.press("escape", "f2", "y")
        assert desk.app.screen is desk.screen
        assert desk.current.rule == "Keep amounts in whole cents, always."
        assert desk.current.version == 3
        assert theirs.id in desk.current.replaces


async def test_a_rule_that_was_removed_meanwhile_can_be_added_again(opened: Opened, other: Other) -> None:
    """What was written is not lost; without a yes the form stays open with it."""
    async with opened() as desk:
        rule = desk.current
        await desk.press("e")
        form = desk.dialog(RecordForm)
        form.query_one("#field-0", SafeArea).load_text("Keep amounts in whole cents.")
        other().remove([rule.id])
        await desk.press("f2")
        assert "removed meanwhile" in screen_text(desk.app)
        await desk.press("n")
        assert desk.dialog(RecordForm) is form
        await desk.press("f2")
        desk.dialog(Confirm)
        await desk.press("y")
        await desk.press("y")
        assert desk.app.screen is desk.screen
        assert desk.current.rule == "Keep amounts in whole cents."


async def test_a_change_of_many_is_refused_if_one_of_them_is_gone(opened: Opened, other: Other) -> None:
    """All or none; the form stays open and says why."""
    async with opened() as desk:
        await desk.press("space", "space", "B")
        form = desk.dialog(BulkEditForm)
        form.query_one("#field-0", SafeInput).value = "3"
        other().remove([min(desk.screen.table.marks)])
        await desk.press("f2")
        assert desk.dialog(BulkEditForm) is form
        assert "removed meanwhile" in screen_text(desk.app)
        assert all(rule.priority != 3 for rule in other().store.ledger().live.values())


async def test_what_others_write_shows_when_the_store_tells(opened: Opened, other: Other) -> None:
    """The list follows the journals and keeps cursor and marks."""
    from screens.engine import StoreChanged

    async with opened() as desk:
        await desk.press("j", "space")
        marks, current = desk.screen.table.marks, desk.current.id
        curator = other()
        victim = next(key for key in desk.shown if key not in {*marks, current})
        curator.remove([victim])
        desk.app.post_message(StoreChanged(frozenset({"rules"})))
        await desk.settle()
        assert victim not in desk.shown
        assert (desk.screen.table.marks, desk.current.id) == (marks, current)


async def test_a_locked_store_is_told_and_the_form_stays(
    opened: Opened, other: Other, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing that was written is lost, and saving again works once the lock is free."""
    async with opened() as desk:
        await desk.press("e")
        form = desk.dialog(RecordForm)
        form.query_one("#field-2", SafeInput).value = "33"

        def refuse(self: Curator, *arguments: object) -> None:
            raise StoreBusy("another process holds the rules", hint="Try again.")

        with monkeypatch.context() as patch:
            patch.setattr(Curator, "step", refuse)
            await desk.press("f2")
        assert desk.dialog(RecordForm) is form
        assert "another process holds the rules" in screen_text(desk.app)
        await desk.press("f2")
        assert desk.app.screen is desk.screen
        assert desk.current.priority == 33


async def test_rules_that_cannot_be_read_are_told_and_the_app_goes_on(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A failing reload leaves what was there."""
    async with opened() as desk:
        shown = desk.shown

        def refuse(*_: object) -> str:
            raise StoreBusy("the journal cannot be read", hint="Try again.")

        with monkeypatch.context() as patch:
            patch.setattr(SqlList, "order", refuse)
            await desk.press("f5")
        assert "the journal cannot be read" in desk.told[-1]
        assert desk.shown == shown
        await desk.press("j", "f5")
        assert desk.shown == shown


async def test_a_resize_during_a_dialog_keeps_what_was_written(opened: Opened) -> None:
    """Too small a terminal covers the list; coming back shows the form as it was."""
    async with opened() as desk:
        await desk.press("e")
        form = desk.dialog(RecordForm)
        form.query_one("#field-2", SafeInput).value = "33"
        await desk.pilot.resize_terminal(30, 8)
        await desk.settle()
        await desk.pilot.resize_terminal(60, 20)
        await desk.settle()
        assert desk.dialog(RecordForm) is form
        await desk.press("f2")
        assert desk.current.priority == 33


async def test_rows_are_made_when_they_are_drawn(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is out of view costs nothing; that no question is asked on the loop is held for all tests."""
    made: list[str] = []

    def counted(rule: Rule) -> object:
        made.append(rule.id)
        return rule_cells(rule)

    monkeypatch.setattr(rule_list_screen, "rule_cells", counted)
    async with opened(size=(80, 24)) as desk:
        await desk.filter("money")
        await desk.filter("")
        assert 0 < len(set(made)) < len(desk.shown)


async def test_keys_move_while_rows_cannot_be_read(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    """A window that is refused is reported once asked for; the cursor moves, and rows come when they can."""

    def refuse(*_: object) -> object:
        raise StoreBusy("another process has the tables open", hint="Close it and try again.")

    async with opened() as desk:
        rows = desk.screen.rows
        assert rows is not None
        last = desk.shown[-1]
        rows._held.clear()
        with monkeypatch.context() as patch:
            patch.setattr(SqlList, "rows", refuse)
            await desk.press("G")
            assert desk.screen.table.cursor == len(rows) - 1
            assert desk.screen.current is None
            assert "another process has the tables open" in desk.told[-1]
            await desk.press("e", "x")
            assert desk.app.screen is desk.screen
        await desk.press("k", "j")
        assert desk.current.id == last


async def test_a_command_waits_for_the_rule_it_is_about(opened: Opened) -> None:
    """A key pressed before the row under the cursor is there acts on that row."""
    async with opened() as desk:
        rows, second = desk.screen.rows, desk.shown[1]
        assert rows is not None
        rows._held.clear()
        desk.screen.table.cursor = 1
        desk.screen.action_edit()
        await desk.settle()
        form = desk.dialog(RecordForm)
        form.query_one("#field-2", SafeInput).value = "33"
        await desk.press("f2")
        assert (desk.current.id, desk.current.priority) == (second, 33)


async def test_damaged_tables_are_rebuilt_and_named(opened: Opened) -> None:
    """The rules are listed all the same, and a note says where the old file is; it is said once."""
    async with opened() as desk:
        before = desk.shown
        lists = desk.app.engine.lists()
        lists.close()
        lists.kept_tables.path.write_bytes(b"x" * 9_000)
        desk.screen.mark_stale()
        await desk.settle()
        desk.screen.mark_stale()
        await desk.settle()
        assert desk.shown == before
        told = [one.outcome for one in desk.app.log_of_actions.actions if one.command == "workbench rebuild"]
        assert len(told) == 1
        assert "tables.duckdb.corrupt-" in told[0]


def test_what_is_waited_for_says_how_far_it_is() -> None:
    """Others who hold the tables, a rebuild, and a rebuild of damaged ones read differently."""
    going = TableRebuild("asked for", 200, 50)
    assert waiting_text(None) == waiting_text(replace(going, over=True)) == "waiting for the tables"
    assert waiting_text(going) == "rebuilding the tables: 25%"
    assert waiting_text(replace(going, set_aside="x")) == "the tables are damaged, rebuilding: 25%"
