"""The desk on the sample project: a key settles a pair, the next one shows, undo brings it back."""

from __future__ import annotations

from pathlib import Path

from textual.pilot import Pilot
from textual.widgets import Input, Static

from screens.app import WorkbenchApp
from screens.chrome import StatusLine
from screens.conflicts.decisions import NarrowForm
from screens.conflicts.pair import PairType
from screens.conflicts.pair_panel import PairPanel
from screens.conflicts.queue import PairState, QueuedPair
from screens.conflicts.screen import ConflictsScreen
from screens.curation.facets import FacetDialog
from screens.widgets.code import CodeView, Details
from screens.widgets.dialogs import Choose, Confirm
from screens.widgets.filter import FilterBar
from screens.widgets.merge import MergeEditor
from screens.widgets.table import VirtualTable
from tests.screens.conftest import press, settle
from workbench.config import Config
from workbench.curation.conflicts import ConflictDecision
from workbench.entry.project import OpenedProject, open_workspace
from workbench.memory.learnings.learningstore import store_of
from workbench.memory.learnings.service import LearningService
from workbench.records.conflicts import Action
from workbench.records.learnings import LearningSource
from workbench.records.rules import Rule
from workbench.rules.curation.curator import Curator

NEEDS = "`pnpm test` needs `pnpm build` first"
NEEDS_NOT = "`pnpm test` does not need `pnpm build` first"
HOSTILE = "Never trust [/] list[int] = x[0] or \u202eabc 🧪 in money.py."


def make(root: Path, **given: object) -> WorkbenchApp:
    """Return an app that opens on the desk and watches nothing."""
    return WorkbenchApp(root, watch=False, section="conflicts", **given)  # type: ignore[arg-type]


async def desk_of(pilot: Pilot[int]) -> ConflictsScreen:
    """Return the desk once the first search is over."""
    await settle(pilot)
    screen = pilot.app.screen
    assert isinstance(screen, ConflictsScreen)
    return screen


def elsewhere(root: Path) -> OpenedProject:
    return open_workspace(root, Config())


def curator(root: Path) -> Curator:
    return Curator(elsewhere(root).workspace.rule_store(), "cli")


def learnings(root: Path) -> LearningService:
    return LearningService(store_of(elsewhere(root).workspace.rule_store()), "cli")


def shown_id(desk: ConflictsScreen) -> str:
    assert desk.item is not None
    return desk.item.pair.id


def items(desk: ConflictsScreen) -> dict[str, QueuedPair]:
    rows = desk.rows
    found = [rows.row(index) for index in range(len(rows))] if rows else []
    return {item.pair.id: item for item in found if item is not None}


def said(desk: ConflictsScreen) -> str:
    return str(desk.query_one("#evidence").query_one(Static).content)


def logged(app: WorkbenchApp) -> str:
    return app.log_of_actions.actions[-1].command


async def test_a_key_settles_a_pair_and_the_next_one_shows(roastery: Path) -> None:
    """Keeping one side is a step in the journal; undo brings the pair back and shows it, redo settles it."""
    app = make(roastery)
    async with app.run_test(size=(120, 40)) as pilot:
        desk = await desk_of(pilot)
        assert desk.item is not None
        first = desk.item.pair
        assert (first.kind, app.badges["conflicts"]) == ("contradictory", "9")
        await press(pilot, "L")
        assert shown_id(desk) != first.id
        assert (desk.queue.progress, app.badges["conflicts"]) == ((1, 9), "8")
        assert logged(app) == f"workbench rules conflicts resolve {first.id[:17]} --action keep-left"
        assert f"2 then D writes {first.right.file}" in app.log_of_actions.actions[-1].outcome
        assert first.right.id not in curator(roastery).store.ledger().live
        await press(pilot, "j", "u")
        assert (shown_id(desk), desk.queue.progress) == (first.id, (0, 9))
        assert logged(app) == "workbench rules undo"
        assert desk.query_one(StatusLine).left.startswith("undone: ")
        await press(pilot, "U")
        assert first.id not in items(desk)
        assert (desk.query_one(VirtualTable).count, desk.queue.progress) == (8, (1, 9))


async def test_undo_reaches_back_to_an_earlier_day(roastery: Path) -> None:
    """What another run of the app settled is brought back and shown, once that is agreed to."""
    async with make(roastery).run_test(size=(120, 40)) as pilot:
        desk = await desk_of(pilot)
        first = shown_id(desk)
        await press(pilot, "R")
    async with make(roastery).run_test(size=(120, 40)) as pilot:
        desk = await desk_of(pilot)
        await press(pilot, "G", "u")
        assert isinstance(pilot.app.screen, Confirm)
        await press(pilot, "y")
        assert shown_id(desk) == first


async def test_other_plain_decisions(roastery: Path) -> None:
    """Each has one key, also what is suggested, and the log has its command."""
    app = make(roastery)
    async with app.run_test(size=(80, 24)) as pilot:
        desk = await desk_of(pilot)
        for key, action in (("R", "keep_right"), ("b", "keep_both")):
            first = shown_id(desk)
            await press(pilot, key)
            assert first not in items(desk)
            assert logged(app).endswith(f"--action {action.replace('_', '-')}")
            assert curator(roastery).store.ledger().settled[first].action == action
        first = shown_id(desk)
        await press(pilot, "a")
        assert logged(app) == f"workbench rules conflicts resolve {first[:17]} --suggested"
        assert shown_id(desk) != first


async def test_two_are_merged_in_three_panes(roastery: Path) -> None:
    """The text that is saved stands for both, left with escape nothing happens."""
    app = make(roastery)
    async with app.run_test(size=(120, 40)) as pilot:
        desk = await desk_of(pilot)
        first = shown_id(desk)
        await press(pilot, "m", "escape")
        assert shown_id(desk) == first
        await press(pilot, "m")
        editor = app.screen
        assert isinstance(editor, MergeEditor)
        await pilot.resize_terminal(70, 22)
        await press(pilot, "e", *"Please ", "f2")
        assert first not in items(desk)
        words = [rule.rule for rule in curator(roastery).store.ledger().live.values()]
        assert [text for text in words if text.startswith("Please ")]
        assert "--action merge --text 'Please " in logged(app)


async def test_one_is_narrowed_to_a_scope(roastery: Path) -> None:
    """The form offers scopes, refuses what cannot be one, and narrows the side it names."""
    app = make(roastery)
    async with app.run_test(size=(80, 24)) as pilot:
        desk = await desk_of(pilot)
        assert desk.item is not None
        pair = desk.item.pair
        await press(pilot, "r")
        form = app.screen
        assert isinstance(form, NarrowForm)
        field = form.query_one("#field-1", Input)
        field.value = "tests/**"
        await press(pilot, "enter")
        assert app.screen is form
        field.value = "path:tests/**"
        await press(pilot, "enter")
        assert pair.id not in items(desk)
        assert curator(roastery).store.ledger().live[pair.left.id].scope == ("path:tests/**",)
        assert logged(app).endswith("--action narrow-scope --keep right --scope 'path:tests/**'")


async def test_one_supersedes_the_other(roastery: Path) -> None:
    """Who gives way is chosen; the other one is its next version."""
    app = make(roastery)
    async with app.run_test(size=(80, 24)) as pilot:
        desk = await desk_of(pilot)
        assert desk.item is not None
        pair = desk.item.pair
        await press(pilot, "S")
        assert isinstance(app.screen, Choose)
        await press(pilot, "down", "enter")
        assert curator(roastery).store.ledger().current(pair.right.id) is not None
        assert pair.right.id not in curator(roastery).store.ledger().live
        assert logged(app).endswith("--action supersede --keep left")


async def test_a_pair_that_waits_goes_to_the_end(roastery: Path) -> None:
    """Nothing is written; the pair is the last one of this sitting."""
    app = make(roastery)
    async with app.run_test(size=(120, 40)) as pilot:
        desk = await desk_of(pilot)
        first = shown_id(desk)
        await press(pilot, "w")
        assert shown_id(desk) != first
        await press(pilot, "G")
        assert shown_id(desk) == first
        assert items(desk)[first].state is PairState.LATER
        await press(pilot, "f5")
        assert items(desk)[first].state is PairState.LATER


async def test_all_exact_duplicates_are_one_step(roastery: Path) -> None:
    """The counts are told first, no changes nothing, one undo brings all back."""
    app = make(roastery)
    async with app.run_test(size=(80, 24)) as pilot:
        desk = await desk_of(pilot)
        await press(pilot, "A")
        assert isinstance(app.screen, Confirm)
        await press(pilot, "r")
        assert desk.queue.progress == (0, 9)
        await press(pilot, "A", "y")
        kinds = [item.pair.kind.value for item in items(desk).values() if item.waits]
        assert kinds.count("exact") <= 1
        assert desk.queue.progress[0] >= 5
        assert logged(app) == "workbench rules conflicts resolve --kind exact --suggested"
        await press(pilot, "u")
        assert desk.queue.progress == (0, 9)


async def test_marked_pairs_are_settled_together(roastery: Path) -> None:
    """Marks choose; a pair that an earlier one settled along is told and not lost."""
    app = make(roastery)
    async with app.run_test(size=(120, 40)) as pilot:
        desk = await desk_of(pilot)
        await press(pilot, "space", "space", "A", "y")
        assert desk.queue.progress[0] == 2
        assert logged(app).startswith("workbench rules conflicts resolve conflict-")
        assert desk.query_one(VirtualTable).mark_count == 0


async def test_the_queue_is_filtered_sorted_and_hidden(roastery: Path) -> None:
    """`/` and `f` narrow the list, `r` orders it, `t` shows or hides it at every size."""
    app = make(roastery)
    async with app.run_test(size=(80, 24)) as pilot:
        desk = await desk_of(pilot)
        table, panel = desk.query_one(VirtualTable), desk.query_one(PairPanel)
        await press(pilot, "slash", *"kind:subsumed", "enter")
        assert table.count == 2
        await press(pilot, "slash", "escape", "o", "o")
        assert table.sort == ("file", False)
        assert (table.display, panel.display) == (False, True)
        await press(pilot, "t", "j")
        assert (table.display, panel.display, table.has_focus) == (True, False, True)
        await press(pilot, "enter")
        assert (table.display, panel.display) == (False, True)
        place = table.cursor
        await press(pilot, "K")
        assert table.cursor == place - 1
        await press(pilot, "J")
        assert table.cursor == place
        await press(pilot, "f")
        assert isinstance(app.screen, FacetDialog)
        await press(pilot, "down", "enter")
        assert desk.query_one(FilterBar).text == "kind:subsumed"
        assert table.count == 2


async def test_a_side_opens_where_it_stands(roastery: Path) -> None:
    """`o` and `O` show the file at the line; what cannot be read is said and the desk goes on."""
    app = make(roastery)
    async with app.run_test(size=(80, 24)) as pilot:
        desk = await desk_of(pilot)
        assert desk.item is not None
        pair = desk.item.pair
        await press(pilot, "greater_than_sign")
        details = app.screen_stack[-1]
        assert isinstance(details, Details)
        assert details.query_one(CodeView).cursor_line == pair.right.lines[0]
        await press(pilot, "escape")
        (roastery / pair.left.file).unlink()
        await press(pilot, "less_than_sign")
        assert app.screen is desk
        assert app.log_of_actions.actions[-1].failed


async def test_what_somebody_else_settles_is_not_overwritten(roastery: Path) -> None:
    """A decision that comes too late is refused, and the pair is shown as settled elsewhere."""
    app = make(roastery)
    async with app.run_test(size=(120, 40)) as pilot:
        desk = await desk_of(pilot)
        assert desk.item is not None
        pair = desk.item.pair
        curator(roastery).resolve(ConflictDecision(pair.id, pair.left.id, pair.right.id, Action.KEEP_BOTH))
        await press(pilot, "L")
        assert items(desk)[pair.id].state is PairState.ELSEWHERE
        assert curator(roastery).store.ledger().settled[pair.id].action == "keep_both"
        assert app.log_of_actions.actions[-1].failed
        assert shown_id(desk) == pair.id
        assert "Settled meanwhile by cli: keep both." in said(desk)
        assert desk.queue.progress == (1, 9)
        await press(pilot, "R", "D")
        assert pair.id not in items(desk)


async def test_a_changed_side_is_read_again_before_it_is_decided(roastery: Path) -> None:
    """A decision about other words than were shown is refused; the new words are shown, then it holds."""
    app = make(roastery)
    async with app.run_test(size=(120, 40)) as pilot:
        desk = await desk_of(pilot)
        assert desk.item is not None
        pair = desk.item.pair
        text = f"{pair.left.text} Really."
        made = curator(roastery).edit(pair.left.id, rule=text)
        await press(pilot, "L")
        assert desk.item.state is PairState.CHANGED
        assert "read it again" in said(desk)
        assert text in (desk.item.pair.left.text, desk.item.pair.right.text)
        assert made.id in curator(roastery).store.ledger().live
        other = next(side for side in desk.item.pair.sides if side.id != made.id)
        await press(pilot, "L" if desk.item.pair.left.id == made.id else "R")
        assert other.id not in curator(roastery).store.ledger().live
        assert text in [rule.rule for rule in curator(roastery).store.ledger().live.values()]


async def test_a_merge_that_others_overtook_is_gone_on_with(roastery: Path) -> None:
    """The text that was written is not lost: the editor opens with it beside the new words."""
    app = make(roastery)
    async with app.run_test(size=(120, 40)) as pilot:
        desk = await desk_of(pilot)
        assert desk.item is not None
        pair = desk.item.pair
        await press(pilot, "m", "e", *"Mine: ")
        curator(roastery).edit(pair.right.id, rule=f"{pair.right.text} Really.")
        await press(pilot, "f2")
        assert desk.item.state is PairState.CHANGED
        assert app.log_of_actions.actions[-1].failed
        await press(pilot, "m")
        editor = app.screen_stack[-1]
        assert isinstance(editor, MergeEditor)
        assert editor.result.startswith("Mine: ")
        await press(pilot, "f2")
        texts = [rule.rule for rule in curator(roastery).store.ledger().live.values()]
        assert [text for text in texts if text.startswith("Mine: ")]


async def test_a_store_that_refuses_leaves_the_pair(roastery: Path) -> None:
    """What cannot be written is said, and the pair stays where it was."""
    app = make(roastery)
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        desk = await desk_of(pilot)
        first = shown_id(desk)
        with app.engine.workspace() as opened:
            journal = opened.location.root / "journal" / "rules.jsonl"
        kept = journal.read_bytes()
        journal.unlink()
        journal.mkdir()
        await press(pilot, "L")
        assert shown_id(desk) == first
        assert app.log_of_actions.actions[-1].failed
        journal.rmdir()
        journal.write_bytes(kept)
        await press(pilot, "L")
        assert first not in items(desk)


async def test_learnings_are_settled_at_the_same_desk(roastery: Path) -> None:
    """They stand in the queue with the rules; undo takes back whichever came last."""
    agent = LearningSource.AGENT
    for text in (NEEDS, NEEDS_NOT):
        learnings(roastery).add(text, feature="auth", reason="CI broke", source=agent, session_id=text[-9:])
    app = make(roastery)
    async with app.run_test(size=(120, 40)) as pilot:
        desk = await desk_of(pilot)
        rules_pair = shown_id(desk)
        await press(pilot, "L", "slash", *"of:learning", "enter")
        assert desk.item is not None
        pair = desk.item.pair
        assert (pair.of, pair.kind) == (PairType.LEARNING, "contradictory")
        await press(pilot, "R")
        assert logged(app) == f"workbench memory resolve {pair.id[:17]} --action keep-right"
        assert [one.text for one in learnings(roastery).learnings()] == [pair.right.text]
        await press(pilot, "u")
        assert (shown_id(desk), logged(app)) == (pair.id, "workbench memory undo")
        await press(pilot, "u", "slash", "escape")
        assert logged(app) == "workbench rules undo"
        assert items(desk)[rules_pair].waits
        learnings(roastery).edit(pair.left.id, text="`pnpm test` needs `pnpm build` and a lint first")
        await press(pilot, "slash", *"of:learning", "enter", "A")
        assert app.screen is desk


async def test_an_empty_queue_teaches(tmp_path: Path) -> None:
    """Without a conflict it says among how many rules, what would be found, and which key searches."""
    (tmp_path / "CLAUDE.md").write_text("# Rules\n\n- Never log a token.\n", encoding="utf-8")
    app = make(tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        desk = await desk_of(pilot)
        told = str(desk.query_one(".pair--nothing", Static).content)
        assert told.startswith("No conflicts among 1 rule.")
        assert "D searches again" in told
        assert app.badges["conflicts"] == ""
        for key in "L", "R", "b", "m", "r", "S", "a", "w", "A", "o", "less_than_sign", "y", "J":
            await press(pilot, key)
        assert app.screen is desk


async def test_hostile_texts_are_shown_and_settled(tmp_path: Path) -> None:
    """Markup, control and bidi characters in both sides go through list, texts, evidence and note."""
    (tmp_path / "CLAUDE.md").write_text(f"# Rules\n\n- {HOSTILE}\n", encoding="utf-8")
    (tmp_path / "AGENTS.md").write_text(f"# Rules\n\n- {HOSTILE}\n- {'long ' * 50_000}\n", encoding="utf-8")
    app = make(tmp_path)
    async with app.run_test(size=(120, 40), notifications=True) as pilot:
        desk = await desk_of(pilot)
        assert desk.item is not None
        text = str(desk.query_one("#diff-left").query_one(Static).content)
        assert "[/] list[int] = x[0]" in text
        assert "\u202e" not in text
        await press(pilot, "a")
        assert desk.queue.progress == (1, 1)


async def test_the_place_is_found_again(roastery: Path, tmp_path: Path) -> None:
    """Filter, order, layout and the pair come back at the next start."""
    place = tmp_path / "place.json"
    async with make(roastery, place_file=place).run_test(size=(120, 40)) as pilot:
        desk = await desk_of(pilot)
        await press(pilot, "slash", *"kind:exact", "enter", "o", "t", "J", "J")
        wanted = shown_id(desk)
    async with make(roastery, place_file=place).run_test(size=(120, 40)) as pilot:
        desk = await desk_of(pilot)
        assert shown_id(desk) == wanted
        assert desk.query_one(FilterBar).text == "kind:exact"
        assert desk.query_one(VirtualTable).sort == ("kind", False)
        assert not desk.query_one(VirtualTable).display


async def test_a_cancelled_search_leaves_what_is_known(roastery: Path) -> None:
    """Cancelling says which key searches anew, a newer search in its place does not; the pairs stay."""
    app = make(roastery)
    async with app.run_test(size=(80, 24)) as pilot:
        desk = await desk_of(pilot)
        desk.action_scan()
        desk.action_scan()
        await settle(pilot)
        assert "D searches again" not in desk.query_one(StatusLine).left
        desk.action_scan()
        app.action_cancel_jobs()
        await settle(pilot)
        assert "D searches again" in desk.query_one(StatusLine).left
        assert (desk.query_one(VirtualTable).busy, desk.queue.waiting) == ("", 9)


def test_rules_are_what_sides_hold() -> None:
    """A side of a rule carries the rule as it was seen."""
    from screens.conflicts.record_pairs import rule_side

    rule = Rule(id="rule-1", name="", rule="Say so.", scope=("git",), source="user")
    side = rule_side(rule)
    assert (side.seen, side.where, side.scopes) == (rule, "your own", ("git",))
    assert dict(side.facts)["source"] == "user"
