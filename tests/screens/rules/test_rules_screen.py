"""The screen of rules on the real engine: browsing, finding, and every command that changes rules."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from textual.widgets import Static

from screens.curation.facets import FacetDialog
from screens.curation.record_form import RecordForm
from screens.jobs import Job
from screens.rules.matches import MatchesView
from screens.rules.panes import PANES, RulePanes
from screens.rules.rule_changes import RuleChanges
from screens.rules.rule_form import OWNER, BulkEditForm, form_fields
from screens.rules.rule_service import RuleWriter
from screens.sitting import read_place, write_place
from screens.widgets.code import CodeView
from screens.widgets.dialogs import Ask, Choose, Confirm
from screens.widgets.fields import SafeArea, SafeInput
from screens.widgets.table import VirtualTable
from tests.screens.golden import SIZES, screen_text
from tests.screens.rules.conftest import Opened, Other
from workbench.curation.conflicts import ConflictDecision
from workbench.lists.rules import RULES as RULES_LIST
from workbench.records.conflicts import Action
from workbench.records.rules import Authority, Rule
from workbench.rules.descriptions import place

RULES = 21  # of the sample project


async def test_the_rules_of_the_project_are_listed_by_file_and_line(opened: Opened) -> None:
    """All of them, the one under the cursor whole beside the list, and how many in the status line."""
    async with opened() as desk:
        rules = sorted(desk.rules, key=place)
        assert len(rules) == RULES
        assert desk.shown == [rule.id for rule in rules]
        await desk.press("j", "j")
        assert desk.current == rules[2]
        text = screen_text(desk.app)
        assert rules[2].rule[:40] in text
        assert rules[2].id in text
        assert f"{RULES} rules · 5 files" in text


async def test_a_filter_narrows_the_list_and_keeps_the_cursor(opened: Opened) -> None:
    """Words, what is without, and fields; what cannot be understood is told; escape takes it away."""
    async with opened() as desk:
        await desk.press("G")
        last = desk.current
        await desk.press("slash")
        field = desk.screen.bar.field
        assert field.has_focus
        field.value = "file:CLAUDE.md"
        await desk.press("enter")
        assert desk.screen.table.has_focus
        assert {rule.provenance.file for rule in desk.rules if rule.id in desk.shown and rule.provenance} == {
            "CLAUDE.md"
        }
        assert desk.current == last
        assert "6 of 21" in screen_text(desk.app)
        await desk.filter("authority:absolute -money")
        assert desk.shown
        for identifier in desk.shown:
            rule = desk.rule(identifier)
            assert rule is not None
            assert rule.authority is Authority.ABSOLUTE
            assert "money" not in rule.rule
        await desk.filter("nothing:here")
        assert "no field 'nothing'" in screen_text(desk.app)
        await desk.filter("qqqq")
        assert desk.shown == []
        assert "No rule is like that" in screen_text(desk.app)
        await desk.press("e", "x", "d")
        assert desk.app.screen is desk.screen
        await desk.press("slash", "escape")
        assert len(desk.shown) == RULES


async def test_rules_are_searched_while_typing(opened: Opened) -> None:
    """Best first with scores and reasons; the filter narrows what was found; escape ends it."""
    async with opened() as desk:
        await desk.press("G", "s")
        desk.screen.search_bar.field.value = "money floats"
        await desk.press("enter")
        table = desk.screen.table
        assert table.visible_columns[0] == "score"
        assert table.sort == ("score", True)
        assert table.cursor == 0
        assert "floats" in desk.current.rule
        assert "found" in screen_text(desk.app)
        found = len(desk.shown)
        assert 0 < found < RULES
        await desk.filter("file:AGENTS.md")
        assert 0 < len(desk.shown) < found
        await desk.filter("")
        await desk.press("s", "escape")
        assert len(desk.shown) == RULES
        assert "score" not in table.visible_columns


async def test_rules_are_sorted_by_keys_and_headers(opened: Opened) -> None:
    """`o` goes through the columns and back to none, `O` turns the order, a header sorts."""
    async with opened(size=(200, 60)) as desk:
        table = desk.screen.table
        first = desk.shown
        await desk.press("o", "O")
        assert list(desk.screen.wanted.sort or ()) == ["origin", True]
        assert desk.shown != first
        table.post_message(VirtualTable.SortRequested(table, "priority"))
        await desk.settle()
        assert table.sort == ("priority", True)
        priorities = [rule.priority for key in desk.shown if (rule := desk.rule(key))]
        assert priorities == sorted(priorities, reverse=True)
        await desk.press(*["o"] * (len(RULES_LIST.sorts) - list(RULES_LIST.sorts).index("priority")))
        assert desk.screen.wanted.sort is None
        assert desk.shown == first


async def test_values_are_counted_and_filtered_by(opened: Opened) -> None:
    """They become the filter's text and are marked when opened again; n and N go round, escape clears it."""
    async with opened() as desk:
        await desk.filter("money")
        await desk.press("f")
        dialog = desk.dialog(FacetDialog)
        table = dialog.query_one(VirtualTable)
        assert table.select_key("file:AGENTS.md")
        await desk.press("space", "enter")
        bar = desk.screen.bar
        assert bar.text == 'money file:"AGENTS.md"'
        files = {rule.provenance.file for key in desk.shown if (rule := desk.rule(key)) and rule.provenance}
        assert files == {"AGENTS.md"}
        await desk.press("f")
        assert desk.dialog(FacetDialog).query_one(VirtualTable).marks == {"file:AGENTS.md"}
        await desk.press("escape", "escape")  # takes the marks off, then leaves
        assert bar.text == 'money file:"AGENTS.md"'
        matches = desk.screen.table.count
        await desk.press("g", "N")
        assert desk.screen.table.cursor == matches - 1
        await desk.press("n")
        assert desk.screen.table.cursor == 0
        await desk.press("escape")
        assert (bar.text, desk.screen.table.count) == ("", RULES)
        await desk.press("n")
        assert "Nothing is searched for" in screen_text(desk.app)


async def test_every_pane_shows_the_rule_under_the_cursor(opened: Opened) -> None:
    """Brackets turn them; versions, use and the file are asked of the engine."""
    async with opened() as desk:
        panes = desk.screen.query_one(RulePanes)
        seen = [panes.pane]
        for _ in PANES[1:]:
            await desk.press("right_square_bracket")
            seen.append(panes.pane)
        assert tuple(seen) == PANES
        await desk.press("left_square_bracket")
        assert panes.pane == "file"
        code = desk.screen.query_one(CodeView)
        where = desk.current.provenance
        assert where is not None
        assert code.cursor_line == where.line
        await desk.press("j")
        where = desk.current.provenance
        assert where is not None
        assert code.cursor_line == where.line
        await desk.press("V")
        assert [told.what for told in panes.story] == ["added"]
        await desk.press("escape", "w")
        assert "usage --record" in str(desk.screen.query_one("#usage-text", Static).content)
        await desk.press("escape", "p", "escape")
        assert desk.screen.table.has_focus
        assert panes.query_one("#pane-rule").size.width > 40  # there is room for both
        assert code.size.width > 40
        await desk.pilot.resize_terminal(80, 24)
        await desk.press("j")
        assert not panes.query_one("#pane-rule").size
        assert code.size.width > 40
        await desk.press("right_square_bracket", "right_square_bracket")
        assert panes.pane == "rule"
        assert panes.query_one("#pane-rule").size.width > 40
        assert not panes.shows_file


async def test_a_message_shows_which_rules_answer_and_which_do_not(opened: Opened) -> None:
    """Matches first with the parts of their scores; what is about it and switched off is named with why."""
    async with opened() as desk:
        await desk.filter("Schema")
        off = desk.current
        await desk.press("x")
        await desk.filter("")
        await desk.press("t", *"add", "space", *"migration", "enter")
        view = desk.screen.query_one(MatchesView)
        answers = {answer.rule.id: answer for answer in view.rows}
        assert answers[off.id].reason == "is disabled"
        matched = [answer for answer in view.rows if not answer.reason]
        assert [answer.final for answer in matched] == sorted((one.final for one in matched), reverse=True)
        assert all(
            answer.final == pytest.approx(sum(value for _, value, _ in answer.parts)) for answer in view.rows
        )
        assert "workbench rules match 'add migration' --all" in desk.commands
        view.post_message(MatchesView.RuleWanted(off.id))
        await desk.settle()
        assert desk.current.id == off.id


async def test_a_rule_is_edited_in_a_form_as_one_step(opened: Opened, roastery: Path) -> None:
    """The lines of its file are shown and written with it or not at all; undo takes back both."""
    async with opened() as desk:
        before = desk.current
        await desk.press("e")
        form = desk.dialog(RecordForm)
        form.query_one("#field-0", SafeArea).load_text("Keep amounts as integers of cents.")
        form.query_one("#field-2", SafeInput).value = "200"
        await desk.press("f2")
        assert desk.dialog(RecordForm) is form
        assert "from 0 to 100" in screen_text(desk.app)
        form.query_one("#field-2", SafeInput).value = "81"
        await desk.press("ctrl+s")
        assert "Save, and write .cursor/rules/python.mdc?" in screen_text(desk.app)
        assert "+ - Keep amounts as integers of cents." in screen_text(desk.app)
        file = roastery / ".cursor/rules/python.mdc"
        said = file.read_text()
        await desk.press("n")
        assert desk.dialog(RecordForm) is form
        assert "Nothing was saved yet" in screen_text(desk.app)
        assert (desk.rule(before.id), file.read_text()) == (before, said)
        await desk.press("ctrl+s", "y")
        assert desk.app.screen is desk.screen
        assert "- Keep amounts as integers of cents." in file.read_text()
        after = desk.current
        assert (after.rule, after.priority, after.version) == ("Keep amounts as integers of cents.", 81, 2)
        assert before.id in after.replaces
        assert "wrote .cursor/rules/python.mdc" in desk.told[-1]
        assert desk.commands[-2:] == [
            f"workbench rules edit {before.id} --text 'Keep amounts as integers of cents.' --priority 81",
            "workbench rules drift --merge --file .cursor/rules/python.mdc",
        ]
        await desk.press("V")
        story = desk.screen.query_one(RulePanes).story
        assert [told.what for told in story] == ["reworded", "added"]
        await desk.press("escape", "u")
        assert desk.rule(before.id) is not None
        assert desk.rule(after.id) is None
        assert file.read_text() == said
        assert desk.commands[-1] == "workbench rules undo"


async def test_what_was_written_is_not_dropped_unasked(opened: Opened) -> None:
    """Escape with changes asks; without it leaves at once; nothing is changed when nothing was written."""
    async with opened() as desk:
        await desk.press("e", "escape")
        assert desk.app.screen is desk.screen
        await desk.press("e", "f2")
        assert "nothing was changed" in screen_text(desk.app)
        form = desk.dialog(RecordForm)
        form.query_one("#field-0", SafeArea).load_text("Other words.")
        await desk.press("escape")
        desk.dialog(Confirm)
        await desk.press("n")
        assert desk.dialog(RecordForm) is form
        await desk.press("escape", "y")
        assert desk.app.screen is desk.screen
        assert "Other words." not in {rule.rule for rule in desk.rules}


async def test_a_rule_is_added_and_the_cursor_goes_to_it(opened: Opened) -> None:
    """To the project, or to the person's own; the same again is refused in the form."""
    async with opened() as desk:
        for owner, text in (("project", "Never log a token."), ("mine", "Be brief.")):
            await desk.press("c")
            form = desk.dialog(RecordForm)
            form.query_one("#field-0", SafeArea).load_text(text)
            form.query_one("#field-1").value = owner
            await desk.press("f2")
            assert desk.current.rule == text
            assert (desk.current.project_id is None) is (owner == "mine")
        assert desk.commands[-1] == "workbench rules add 'Be brief.' --home"
        await desk.press("c")
        desk.dialog(RecordForm).query_one("#field-0", SafeArea).load_text("Never log a token.")
        await desk.press("f2")
        assert "already there" in screen_text(desk.app)
        assert len(desk.rules) == RULES + 2


async def test_the_check_that_a_new_absolute_rule_asks_for_is_offered(opened: Opened) -> None:
    """No hook enforces words alone: that is said, and one key away from the check, if they name one."""
    async with opened() as desk:
        for text, check in (("Never run git push --force.", True), ("Never be rude.", False)):
            await desk.press("c")
            form = desk.dialog(RecordForm)
            form.query_one("#field-0", SafeArea).load_text(text)
            names = [one.name for one in form_fields(Rule(id="", name="", rule=""))]
            names.insert(1, OWNER)
            form.query_one(f"#field-{names.index('authority')}").value = "absolute"
            await desk.press("f2")
            assert ('"command": "git push --force"' in screen_text(desk.app)) is check
            if check:
                assert "no hook enforces it" in screen_text(desk.app)
                await desk.press("y")
                assert "--check" in desk.commands[-1]
            rule = next(one for one in desk.rules if one.rule == text)
            assert (rule.check is not None) is check


async def test_many_marked_rules_are_switched_after_a_question(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A filter may hide some of them: how many there are is said before anything is done."""
    monkeypatch.setattr("screens.rules.rule_changes._AT_ONCE", 2)
    async with opened() as desk:
        await desk.press("space", "space", "space", "x")
        assert "Switch 3 rules" in screen_text(desk.app)
        await desk.press("c")
        assert all(rule.enabled for rule in desk.rules)
        await desk.press("x", "y")
        assert len([rule for rule in desk.rules if not rule.enabled]) == 3


async def test_marked_rules_are_switched_and_changed_in_one_step(opened: Opened) -> None:
    """Each keeps what is its own; one undo takes all of it back."""
    async with opened() as desk:
        before = desk.rules
        await desk.press("space", "space", "space", "x")
        off = [rule for rule in desk.rules if not rule.enabled]
        assert len(off) == 3
        await desk.press("x")
        assert all(rule.enabled for rule in desk.rules)
        await desk.press("B")
        form = desk.dialog(BulkEditForm)
        form.query_one("#field-0", SafeInput).value = "77"
        form.query_one("#field-1", SafeInput).value = "workflow:release"
        await desk.press("f2")
        changed = [rule for rule in desk.rules if rule.priority == 77]
        assert len(changed) == 3
        assert all("workflow:release" in rule.tags for rule in changed)
        assert len({rule.tags for rule in changed}) > 1
        assert desk.commands[-3].endswith(
            "--priority 77 " + " ".join(f"--tag {tag}" for tag in changed[0].tags)
        )
        await desk.press("u", "u", "u")
        decided = [(rule.id, rule.priority, rule.tags, rule.enabled) for rule in before]
        assert [(rule.id, rule.priority, rule.tags, rule.enabled) for rule in desk.rules] == decided
        await desk.press("U")
        assert sum(not rule.enabled for rule in desk.rules) == 3


async def test_undo_names_the_words_and_asks_about_steps_of_other_screens(
    opened: Opened, other: Other
) -> None:
    """What was undone is said in the rule's words; what Conflicts settled is undone after a question."""
    async with opened(size=(80, 24)) as desk:
        assert "u Undo" in screen_text(desk.app)
        words = desk.current.rule[:30]
        await desk.press("x")
        assert desk.told[-1].endswith("· u undoes")
        await desk.press("u")
        assert desk.told[-1].startswith(f"undone: disable “{words}")
        curator = replace(other(), by="tui")
        one, two = sorted(curator.store.ledger().live)[:2]
        curator.resolve(ConflictDecision("conflict-x", one, two, Action.KEEP_LEFT))
        await desk.press("f5", "u")
        desk.dialog(Confirm)
        assert "It was done on Conflicts." in screen_text(desk.app)
        await desk.press("n")
        assert desk.rule(two) is None
        await desk.press("u", "y")
        assert desk.rule(two) is not None


async def test_removing_says_how_many_and_is_undone(opened: Opened) -> None:
    """No is the answer that enter gives."""
    async with opened() as desk:
        await desk.press("v", "j", "v", "d")
        assert "Remove 2 rules?" in screen_text(desk.app)
        await desk.press("enter")
        assert len(desk.rules) == RULES
        gone = set(desk.screen.table.marks)
        await desk.press("d", "y")
        desk.dialog(Confirm)  # what changes in their files
        await desk.press("n")
        assert len(desk.rules) == RULES
        await desk.press("d", "y", "y")
        assert len(desk.rules) == RULES - 2
        assert not gone & {rule.id for rule in desk.rules}
        assert desk.screen.table.mark_count == 0
        await desk.press("u")
        assert len(desk.rules) == RULES


async def test_examples_are_added_and_removed(opened: Opened) -> None:
    """What cannot be an example is refused in the question."""
    async with opened() as desk:
        identifier = desk.current.id
        await desk.press("plus")
        desk.dialog(Ask)
        await desk.press("enter")
        desk.dialog(Ask)
        desk.app.screen.query_one(SafeInput).value = "refund order 4711"
        await desk.press("enter")
        assert list(desk.current.examples) == ["refund order 4711"]
        assert desk.commands[-1] == f"workbench rules examples {identifier} --add 'refund order 4711'"
        await desk.press("minus")
        desk.dialog(Choose)
        await desk.press("enter")
        assert list(desk.current.examples) == []


async def test_a_text_goes_through_the_persons_editor(
    opened: Opened, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Where a terminal cannot be handed over, that is said and nothing is lost."""
    monkeypatch.setenv("EDITOR", "true")
    async with opened() as desk:
        before = desk.current
        await desk.press("ctrl+e")
        assert "cannot be handed to an editor" in desk.told[-1]
        await desk.press("F")
        assert "cannot be handed to an editor" in desk.told[-1]
        assert desk.current == before


async def test_copying_takes_the_text_or_the_id(opened: Opened) -> None:
    """What ctrl+v pastes within the app is what was copied."""
    async with opened() as desk:
        await desk.press("y")
        assert desk.app.clipboard == desk.current.rule
        await desk.press("Y")
        assert desk.app.clipboard == desk.current.id


async def test_the_place_comes_back(opened: Opened, tmp_path: Path) -> None:
    """Filter, search, order, cursor and pane are those of the last time; damaged ones are left out."""
    kept = tmp_path / "place.json"
    async with opened(place_file=kept) as desk:
        await desk.filter("file:AGENTS.md")
        desk.screen.sort_by("priority")
        await desk.settle()
        await desk.press("j", "j", "right_square_bracket")
        key, shown = desk.current.id, desk.shown
    async with opened(place_file=kept) as desk:
        assert desk.screen.bar.text == "file:AGENTS.md"
        assert (desk.shown, desk.current.id) == (shown, key)
        assert desk.screen.table.sort == ("priority", True)
        assert desk.screen.query_one(RulePanes).pane == "versions"
        await desk.press("j")
        desk.screen.search_bar.set_text("money")
        await desk.settle()
    async with opened(place_file=kept) as desk:
        assert desk.screen.search_bar.text == "money"
        assert desk.screen.sought.found
    place_now = read_place(kept.read_bytes())
    place_now.sections["rules"] = {"sort": ["nothing"], "key": 7, "pane": [], "filter": None, "search": None}
    kept.write_bytes(write_place(place_now))
    async with opened(place_file=kept) as desk:
        assert len(desk.shown) == RULES


async def test_no_rules_teach_what_to_press(tmp_path: Path) -> None:
    """An empty project names the keys."""
    from screens.app import WorkbenchApp
    from tests.screens.conftest import settle

    app = WorkbenchApp(tmp_path, watch=False, section="rules")
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        text = screen_text(app)
        assert "No rules yet." in text
        assert "writes the first one" in text


@pytest.mark.parametrize("size", [SIZES[0], SIZES[-1]])
async def test_hostile_rules_are_shown_verbatim(opened: Opened, size: tuple[int, int]) -> None:
    """Markup, escape sequences, hidden characters and a long line go through list, panes, form and toasts."""
    hostile = "Use [/] and list[int] = x[0], not \x1b[31mred\x1b[0m \u202eevil\u202c 🎉 " + "y" * 7000
    async with opened(size=size) as desk:
        job = Job("test", "test", desk.screen, desk.app)
        saved = RuleWriter(desk.app.engine).add({"rule": hostile}, False, job)
        desk.screen.go_to(saved.records[0].id)
        desk.screen.mark_stale()
        await desk.settle()
        assert "Use [/] and list[int] = x[0]" in screen_text(desk.app)
        for key in ("e", "escape", "d", "escape", "p", "escape", "V", "escape", "x"):
            await desk.press(key)
            text = screen_text(desk.app)
            assert not {"\x1b", "\u202e", "\0"} & set(text)
        assert not desk.current.enabled
        assert isinstance(desk.screen.changes, RuleChanges)
        assert replace(desk.current, enabled=True).rule == hostile.strip()


async def test_marks_are_not_copied_for_each_rule(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    """All marks are copied when they are asked for: asked for each rule, many marks would stop the app."""
    asked: list[int] = []

    def counted(table: VirtualTable) -> frozenset[str]:
        asked.append(1)
        return frozenset(table._marks.keys)

    async with opened() as desk:
        await desk.press("*")
        assert desk.screen.table.mark_count == len(desk.rules) > 3
        monkeypatch.setattr(VirtualTable, "marks", property(counted))
        await desk.filter("python")
        assert len(asked) <= 3
        assert desk.screen.table.mark_count == len(desk.rules)


async def test_rules_with_findings_are_marked_and_one_key_goes_through_them(
    roastery: Path, opened: Opened
) -> None:
    """A mark before the text, what is wrong and the next step beside the list, and how many in the line."""
    (roastery / "AGENTS.override.md").write_text("- Read `docs/[b]gone.md`.\n- Use `docs/gone.md`, always.\n")
    (roastery / ".cursor" / "rules").mkdir(parents=True, exist_ok=True)
    (roastery / ".cursor" / "rules" / "none.mdc").write_text("---\nglobs: nothing/**\n---\n- Use nothing.\n")
    (roastery / "docs").mkdir(exist_ok=True)
    (roastery / "docs" / "a.md").write_text("A.\n")
    async with opened(size=(140, 40)) as desk:
        marked = [rule for rule in desk.rules if rule.id in desk.screen.findings]
        assert sorted(rule.rule for rule in marked) == ["Use `docs/gone.md`, always.", "Use nothing."]
        await desk.press("home")  # the rules that were known already are shown first
        text = screen_text(desk.app)
        assert "▲ Use nothing." in text
        assert "▲ 2 with findings" in text
        beside = desk.screen.query_one("#rule-text", Static)
        assert "▲ line 2: the glob nothing/** matches no file  dead-glob" in str(beside.content)
        await desk.press("exclamation_mark")
        assert desk.current.rule == "Use `docs/gone.md`, always."
        assert "docs/gone.md is not in the project" in str(beside.content)
        await desk.press("exclamation_mark")
        assert desk.current.rule == "Use nothing."
