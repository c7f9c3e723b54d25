"""Rules and their files from the app: imported and exported after a look, and brought in step."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from textual.widgets import Input, Static

from screens.curation.record_form import RecordForm
from screens.rules.file_export import ExportRules
from screens.rules.file_import import ImportFiles, split_paths
from screens.rules.file_sync import SyncFiles, hint_of
from screens.widgets.dialogs import Confirm
from screens.widgets.fields import SafeArea
from screens.widgets.merge import MergeEditor
from screens.widgets.table import VirtualTable
from store.files import replace_file
from tests.screens.golden import screen_text
from tests.screens.rules.conftest import Opened, Other
from workbench.errors import StoreError


async def test_files_are_imported_by_name_after_a_look(opened: Opened, roastery: Path) -> None:
    """The files that are known are listed; a path is looked at, counted, imported, and undone as one step."""
    (roastery / "notes").mkdir()
    (roastery / "notes" / "team.md").write_text("- Never deploy on Fridays.\n- Name branches by ticket.\n")
    async with opened() as desk:
        await desk.press("I")
        dialog = desk.dialog(ImportFiles)
        table = dialog.query_one(VirtualTable)
        assert {table.rows.key(index) for index in range(len(table.rows))} > {"AGENTS.md", "CLAUDE.md"}
        await desk.press("f2")
        assert "look at it first" in screen_text(desk.app)
        dialog.query_one(Input).value = "missing.md"
        await desk.press("enter")
        assert "missing.md does not exist" in str(dialog.query_one(".dialog-error", Static).content)
        dialog.query_one(Input).value = "notes/team.md"
        await desk.press("enter")
        assert "2 rules would change in 1 file:" in screen_text(desk.app)
        assert len(desk.rules) == 21
        await desk.press("f2")
        assert desk.app.screen is desk.screen
        assert len(desk.rules) == 23
        assert desk.commands[-1] == "workbench rules import notes/team.md"
        await desk.press("u")
        assert len(desk.rules) == 21


def test_the_keys_of_a_difference_are_those_that_do_something() -> None:
    """Sides are chosen where both changed; what a file alone changed is taken in, and nothing is written."""
    hints = {side: hint_of(side) for side in ("both", "store", "file", "")}
    assert [side for side, hint in hints.items() if "L the rule" in hint] == ["both"]
    assert [side for side, hint in hints.items() if "writes" in hint] == ["store"]
    assert all(len(hint) <= 72 for hint in hints.values())


def test_paths_are_split_as_in_a_shell() -> None:
    """Quotes keep blanks together."""
    assert split_paths("a.md 'b c.md'") == ("a.md", "b c.md")


async def test_rules_are_exported_after_a_look_at_every_line(opened: Opened, roastery: Path) -> None:
    """Nothing is written before it was shown and confirmed; a second export has nothing to write."""
    async with opened() as desk:
        await desk.press("E")
        dialog = desk.dialog(ExportRules)
        assert dialog.query_one(VirtualTable).select_key("gemini")
        await desk.press("f2")
        assert "first" in screen_text(desk.app)
        await desk.press("enter")
        assert dialog.planned is not None
        assert dialog.planned.changed == 1
        assert not (roastery / "GEMINI.md").exists()
        assert "GEMINI.md  new" in str(dialog.query_one("#export-lines Static", Static).content)
        await desk.press("f2")
        assert desk.app.screen is desk.screen
        assert "integers of cents" in (roastery / "GEMINI.md").read_text()
        assert desk.commands[-1] == "workbench rules export --to gemini"
        await desk.press("E")
        assert desk.dialog(ExportRules).query_one(VirtualTable).select_key("gemini")
        await desk.press("enter")
        assert "up to date" in str(desk.app.screen.query_one("#export-lines Static", Static).content)
        await desk.press("escape")


async def test_what_only_the_store_changed_is_written_into_the_file(
    opened: Opened, other: Other, roastery: Path
) -> None:
    """The question names the lines; afterwards both are in step."""
    file = roastery / "CLAUDE.md"
    async with opened() as desk:
        await desk.press("D")
        assert "in sync" in screen_text(desk.app)
        await desk.press("escape")
        await desk.filter("file:CLAUDE.md suite")
        other().edit(desk.current.id, rule="Run `make test` before a commit.")
        await desk.press("f5")
        assert "1 not written yet: D" in screen_text(desk.app)
        before = file.read_text()
        await desk.press("D")
        (difference,) = desk.dialog(SyncFiles).differences
        assert (difference.side, difference.what, difference.ours) == (
            "store",
            "~",
            "Run `make test` before a commit.",
        )
        assert "changed in the store: ctrl+s writes the file" in screen_text(desk.app)
        await desk.press("L")
        assert "only one side" in screen_text(desk.app)
        await desk.press("f2")
        desk.dialog(Confirm)
        assert "+ - Run `make test` before a commit." in screen_text(desk.app)
        await desk.press("n")
        assert file.read_text() == before
        await desk.press("f2", "y")
        assert "- Run `make test` before a commit." in file.read_text()
        assert desk.dialog(SyncFiles).differences == ()
        await desk.press("escape")
        assert desk.commands[-1] == "workbench rules drift --merge"
        await desk.press("u")
        assert "It was not done in the app, but by cli." in screen_text(desk.app)
        await desk.press("y")
        assert "also in CLAUDE.md" in desk.told[-1]
        assert file.read_text() == before
        await desk.press("u")
        desk.screen.changes.save(desk.current, {"rule": "Run `make test` before a push."})
        await desk.settle()
        file.write_text(f"{before}\nWritten by somebody else meanwhile.\n")
        await desk.press("y")
        assert "before a push" not in file.read_text()
        desk.dialog(Confirm)  # the file is another one now: it is asked again
        await desk.press("y")
        assert "- Run `make test` before a push." in file.read_text()
        assert "meanwhile" in file.read_text()
        assert "wrote CLAUDE.md" in desk.told[-1]


async def test_a_step_whose_file_cannot_be_written_is_not_saved(
    opened: Opened, roastery: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even the files that could be; the form stays, says so, and saves once the file can be written."""
    agents, claude = roastery / "AGENTS.md", roastery / "CLAUDE.md"
    before = agents.read_bytes(), claude.read_bytes()

    def refuse(path: Path, data: bytes | None, **how: Any) -> None:
        if path == claude:
            raise StoreError("writing it failed", hint="Check it.")
        replace_file(path, data, **how)

    async with opened() as desk:
        rules = desk.rules
        in_files = {rule.provenance.file: rule for rule in rules if rule.provenance}
        with monkeypatch.context() as patch:
            patch.setattr("store.project_state.replace_file", refuse)
            desk.screen.changes.remove([in_files["AGENTS.md"], in_files["CLAUDE.md"]])
            await desk.settle()
            await desk.press("y", "y")
            assert "writing it failed. Nothing was saved\nCheck it." in desk.told[-1]
            assert (agents.read_bytes(), claude.read_bytes()) == before
            assert desk.rules == rules
            await desk.filter("file:CLAUDE.md suite")
            rule = desk.current
            await desk.press("e")
            form = desk.dialog(RecordForm)
            form.query_one("#field-0", SafeArea).load_text("Run `make test` before a push.")
            await desk.press("f2", "y")
            assert desk.dialog(RecordForm) is form
            assert "Nothing was saved" in screen_text(desk.app)
            assert desk.rule(rule.id) == rule
        await desk.press("f2", "y")
        assert desk.app.screen is desk.screen
        assert "Run `make test` before a push." in {rule.rule for rule in desk.rules}
        assert "- Run `make test` before a push." in claude.read_text()


async def test_words_that_a_file_cannot_hold_are_refused_at_once(opened: Opened, roastery: Path) -> None:
    """Nothing is said to be saved, and files and rules are in step."""
    async with opened() as desk:
        await desk.filter("file:CLAUDE.md suite")
        desk.screen.changes.save(desk.current, {"rule": "The suite takes two minutes."})
        await desk.settle()
        assert "CLAUDE.md:" in desk.told[-1]
        assert "reads as no instruction" in desk.told[-1]
        await desk.press("D")
        assert "in sync" in screen_text(desk.app)


async def test_nothing_is_asked_where_nothing_can_be_written(
    opened: Opened, roastery: Path, other: Other
) -> None:
    """Words that were recorded all the same are named with the reason; no file is said to be written."""
    async with opened() as desk:
        curator = other()
        rule = next(
            rule
            for rule in curator.store.ledger().live.values()
            if rule.provenance and rule.provenance.file == "CLAUDE.md" and "suite" in rule.rule
        )
        before = (roastery / "CLAUDE.md").read_bytes()
        curator.edit(rule.id, rule="The suite takes two minutes.")
        await desk.press("f5", "D", "f2")
        desk.dialog(SyncFiles)
        assert "reads as no instruction" in " ".join(screen_text(desk.app).split())
        assert (roastery / "CLAUDE.md").read_bytes() == before


async def test_a_step_that_was_built_upon_offers_the_one_before_it(
    opened: Opened, roastery: Path, other: Other
) -> None:
    """What changed since is named, and yes undoes the older step."""
    file = roastery / "CLAUDE.md"
    async with opened() as desk:
        curator = other()
        rules = sorted(curator.store.ledger().live.values(), key=lambda rule: rule.id)
        mine = next(
            rule
            for rule in rules
            if "suite" in rule.rule and rule.provenance and rule.provenance.file == "CLAUDE.md"
        )
        another = next(rule for rule in rules if rule.id != mine.id)
        curator.edit(another.id, priority=3)
        curator.edit(mine.id, rule="Run the suite twice before a commit.")
        await desk.press("f5", "D", "f2", "y", "escape")
        file.write_text(file.read_text().replace("suite twice before", "suite thrice before"))
        await desk.press("f5", "u")
        desk.dialog(Confirm)
        assert "changed in CLAUDE.md" in " ".join(screen_text(desk.app).split())
        await desk.press("y")
        assert "undone: edit" in desk.told[-1]
        assert other().store.ledger().live[another.id].priority == another.priority


async def _conflict(desk: object, roastery: Path, other: Other) -> tuple[str, Path]:
    """Change the same rule in the store and in its file; return its id and the file."""
    file = roastery / "CLAUDE.md"
    curator = other()
    rule = next(
        rule
        for rule in curator.store.ledger().live.values()
        if rule.provenance and rule.provenance.file == "CLAUDE.md" and "suite" in rule.rule
    )
    curator.edit(rule.id, rule="Run the tests with `make test` before each commit.")
    file.write_text(file.read_text().replace(rule.rule, "Run the whole suite before each release."))
    return rule.id, file


async def test_what_a_file_changed_is_put_back(opened: Opened, roastery: Path) -> None:
    """With L, after a question with the lines; the rule and everything else stay as they were."""
    file = roastery / "CLAUDE.md"
    async with opened() as desk:
        before = file.read_text()
        line = next(line for line in before.splitlines() if "suite" in line)
        file.write_text(before.replace(line, "- Never run a test."))
        await desk.press("D")
        (difference,) = desk.dialog(SyncFiles).differences
        assert difference.side == "file"
        await desk.press("L")
        assert f"+ {line}" in screen_text(desk.app)
        await desk.press("n")
        assert file.read_text() != before
        await desk.press("L", "y")
        assert file.read_text() == before
        assert desk.dialog(SyncFiles).differences == ()
        await desk.press("escape")
        assert desk.commands[-1] == f"workbench rules drift --resolve {difference.identifier} --take ours"


async def test_a_side_is_taken_where_both_changed_a_rule(
    opened: Opened, roastery: Path, other: Other
) -> None:
    """Theirs is the file's: the store follows; the choice is undone like any step."""
    async with opened() as desk:
        await _conflict(desk, roastery, other)
        await desk.press("f5", "D")
        (difference,) = desk.dialog(SyncFiles).differences
        assert difference.side == "both"
        assert "say which one is kept" in screen_text(desk.app)
        await desk.press("R")
        assert desk.dialog(SyncFiles).differences == ()
        await desk.press("escape")
        assert "Run the whole suite before each release." in {rule.rule for rule in desk.rules}
        assert desk.commands[-1] == (f"workbench rules drift --resolve {difference.identifier} --take theirs")


async def test_both_sides_are_merged_and_written(opened: Opened, roastery: Path, other: Other) -> None:
    """The merged words are the store's and, once written, the file's."""
    merged = "Run the whole suite with `make test` before each commit."
    async with opened() as desk:
        _, file = await _conflict(desk, roastery, other)
        await desk.press("f5", "D", "m")
        editor = desk.dialog(MergeEditor)
        editor.query_one("#merge-result", SafeArea).load_text(merged)
        await desk.press("f2")
        (difference,) = desk.dialog(SyncFiles).differences
        assert (difference.side, difference.ours) == ("store", merged)
        await desk.press("f2", "y")
        assert f"- {merged}" in file.read_text()
        await desk.press("escape")
        assert merged in {rule.rule for rule in desk.rules}


async def test_a_file_that_cannot_be_written_is_told(opened: Opened, roastery: Path, other: Other) -> None:
    """The desk stays open, says why, and nothing is lost."""
    async with opened() as desk:
        curator = other()
        rule = next(
            rule
            for rule in curator.store.ledger().live.values()
            if rule.provenance and rule.provenance.file == "CLAUDE.md"
        )
        curator.edit(rule.id, rule="Be kind to those who read this.")
        await desk.press("f5", "D")
        assert len(desk.dialog(SyncFiles).differences) == 1
        (roastery / "CLAUDE.md").unlink()
        (roastery / "CLAUDE.md").mkdir()
        await desk.press("f2")
        assert isinstance(desk.app.screen, (SyncFiles, Confirm))
        assert "Be kind to those who read this." in {
            rule.rule for rule in other().store.ledger().versions.values()
        }


async def test_what_is_odd_about_files_is_one_note(opened: Opened, roastery: Path) -> None:
    """Ten files with an open fence do not cover the list with ten notes."""
    place = roastery / ".cursor" / "rules"
    place.mkdir(parents=True, exist_ok=True)
    for number in range(10):
        (place / f"odd{number}.mdc").write_text(f"- Always run suite {number}.\n\n```\nopen\n")
    async with opened() as desk:
        assert desk.screen.files is not None
        assert len(desk.screen.files.warnings) >= 10
        (told,) = desk.told
        assert "workbench rules list" in told
