"""The sessions screen: what was done here is listed, told, read in its transcript, judged and imported."""

from __future__ import annotations

import json
import re
import threading
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Input, Static

from screens.app import WorkbenchApp
from screens.engine import StoreChanged
from screens.plan.screen import PlanScreen
from screens.sessions.file_past import FilePastDialog
from screens.sessions.screen import SessionsScreen
from screens.sessions.transcript import TranscriptScreen
from screens.widgets.code import CodeView, Details
from screens.widgets.dialogs import Ask, Confirm
from screens.widgets.table import ListRows, VirtualTable
from tests.screens.conftest import press, settle
from tests.screens.golden import SIZES, check_every_size, check_golden, screen_text
from tests.screens.sessions.conftest import claude_transcript, desk_of
from tests.screens.widgets.staging import FORBIDDEN, HOSTILE
from workbench.records.episodes import Outcome


def app_on(root: Path) -> WorkbenchApp:
    return WorkbenchApp(root, watch=False, section="sessions")


def screen_of(app: WorkbenchApp) -> SessionsScreen:
    assert isinstance(app.section, SessionsScreen)
    return app.section


def listed(screen: SessionsScreen) -> list[str]:
    return [screen.table.rows.key(index) for index in range(screen.table.count)]


def told_by(screen: SessionsScreen) -> list[str]:
    rows = screen.story.rows
    assert isinstance(rows, ListRows)
    return [rows.thing(index).text.plain.strip() for index in range(len(rows))]


def on_top(app: WorkbenchApp) -> object:
    """Return the screen that is shown, a dialog where there is one."""
    return app.screen


def follows(app: WorkbenchApp) -> bool:
    """Return whether transcripts are looked at for changes."""
    return app.engine.follows_transcripts


def commands(app: WorkbenchApp) -> list[str]:
    return [action.command for action in app.log_of_actions.actions]


async def go(pilot: Pilot[Any], key: str) -> SessionsScreen:
    """Put the cursor on a session and wait for its story."""
    app = pilot.app
    assert isinstance(app, WorkbenchApp)
    await settle(pilot)
    screen = screen_of(app)
    assert screen.table.select_key(key)
    await settle(pilot)
    return screen


async def answer(pilot: Pilot[Any], text: str) -> None:
    """Type an answer into the dialog that is open, and wait for what it leads to."""
    pilot.app.screen.query_one(Input).value = text
    await press(pilot, "enter")
    await settle(pilot)


async def on_line(pilot: Pilot[Any], screen: SessionsScreen, key: str) -> None:
    screen.story.focus()
    assert screen.story.select_key(key)
    await settle(pilot)


async def test_sessions_are_listed_newest_first(past: Path) -> None:
    """The open one first; the headline counts, commits are hidden until they are asked for."""
    app = app_on(past)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        screen = screen_of(app)
        ids = listed(screen)
        assert ids[0] == "notes"
        assert ids[1].startswith("codex:")
        assert ids[2:] == ["claude_code:u3", "claude_code:u2", "claude_code:u1"]
        line = str(screen.query_one("#sessions-headline", Static).content)
        assert line == "5 sessions · ▶ 1 open · 50% have a complete story · ○ commits hidden (V)"


async def test_a_story_goes_from_the_task_to_the_outcome(past: Path) -> None:
    """Reads and edits with what became of the files, what the outcome rests on, and the other prompts."""
    app = app_on(past)
    async with app.run_test(size=(160, 50)) as pilot:
        screen = await go(pilot, "claude_code:u2")
        told = told_by(screen)
        place = {
            name: n
            for n, line in enumerate(told)
            for name in ("task", "▾ reads", "▾ edits", "outcome")
            if line.startswith(name)
        }
        assert list(place) == ["task", "▾ reads", "▾ edits", "outcome"]
        assert sorted(place.values()) == list(place.values())
        assert "├ ~ roastery/money.py" in told
        assert "└ ~ roastery/vanished.py gone" in told
        because = next(line for line in told if line.startswith("│ because"))
        assert because.startswith("│ because commit 0123abc;")
        assert "▾ session prompt 2 of s" in told
        assert [line for line in told if line.startswith(("├ ·", "├ ✓", "├ ◐", "└"))][-1].endswith(
            "that is still wrong"
        )


async def test_an_open_session_says_when_it_was_heard_of_last(past: Path) -> None:
    """Its events have times and tools; what was decided is told as it is."""
    app = app_on(past)
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await go(pilot, "notes")
        told = told_by(screen)
        assert "outcome ▶ open · last event 0s ago" in told
        assert "└ decision the changelog has all [/] of it" in told
        rows = screen.story.rows
        assert [str(rows.cells(n)[1]) for n in range(len(rows)) if rows.key(n).startswith("read:")] == [
            "Read 15:06"
        ]


async def test_what_other_processes_tell_appears(fresh: Path) -> None:
    """A new session is listed, the cursor stays on its own; one that is forgotten goes."""
    app = app_on(fresh)
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await go(pilot, "claude_code:u2")
        assert "sessions" in screen.stores()
        desk_of(fresh).start("another task altogether", session_id="other")
        screen.mark_stale()
        await settle(pilot)
        assert listed(screen)[:2] == ["notes", "other"]
        assert screen.table.cursor_key == "claude_code:u2"
        desk_of(fresh).forget(["claude_code:u2"])
        screen.mark_stale()
        await settle(pilot)
        assert "claude_code:u2" not in listed(screen)


async def test_the_filter_finds_by_text_source_outcome_and_file(past: Path) -> None:
    """Files are looked for in the tables; a time that is none is told."""
    app = app_on(past)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        screen = screen_of(app)
        for text, ids in (
            ("logout", ["claude_code:u2"]),
            ("open:yes", ["notes"]),
            ("outcome:partial", ["claude_code:u2"]),
            ("file:MONEY", ["claude_code:u2"]),
            ("source:claude -file:money.py -open:yes", ["claude_code:u3", "claude_code:u1"]),
        ):
            screen.filter.set_text(text)
            await settle(pilot)
            assert listed(screen) == ids, text
        await press(pilot, "slash")
        assert screen.filter.field.has_focus
        await press(pilot, "escape")
        assert len(listed(screen)) == 5


async def test_orders_and_commits(past: Path) -> None:
    """`o` goes through the columns, `O` turns round; `m` asks for commits, which have a past of their own."""
    app = app_on(past)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        screen = screen_of(app)
        await press(pilot, "O")
        assert listed(screen)[0] == "claude_code:u1"
        assert screen.table.sort == ("when", False)
        await press(pilot, "o")
        assert screen.table.sort == ("outcome", False)
        await press(pilot, "V")
        assert screen.wanted.commits
        assert commands(app) == ["workbench episode list --commits"]
        line = str(screen.query_one("#sessions-headline", Static).content)
        assert "no commits known yet" in line


async def test_enter_on_a_file_opens_it(past: Path) -> None:
    """A file that is gone says so and what to do."""
    app = app_on(past)
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await go(pilot, "claude_code:u2")
        await on_line(pilot, screen, "edit:roastery/money.py")
        await press(pilot, "enter")
        assert isinstance(app.screen, Details)
        assert app.screen.query_one(CodeView).line_count > 3
        await press(pilot, "escape")
        await on_line(pilot, screen, "edit:roastery/vanished.py")
        await press(pilot, "enter")
        assert on_top(app) is screen
        assert "roastery/vanished.py cannot be read" in app.log_of_actions.actions[-1].outcome


async def test_headings_fold(past: Path) -> None:
    """Enter on one hides what it holds, and shows it again."""
    app = app_on(past)
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await go(pilot, "claude_code:u2")
        await on_line(pilot, screen, "edits")
        await press(pilot, "enter")
        assert "▸ edits 2 files" in told_by(screen)
        assert screen.story.cursor_key == "edits"
        assert not any("money.py" in line and "~" in line for line in told_by(screen))
        await press(pilot, "space")
        assert "▾ edits 2 files" in told_by(screen)


async def test_another_prompt_of_the_session_is_gone_to(past: Path) -> None:
    """Enter on one moves the list's cursor there, also where a filter hides it."""
    app = app_on(past)
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await go(pilot, "claude_code:u2")
        screen.filter.set_text("logout")
        await settle(pilot)
        await on_line(pilot, screen, "session:claude_code:u1")
        await press(pilot, "enter")
        assert screen.table.cursor_key == "claude_code:u1"
        assert screen.table.has_focus


# The transcript.


def turns(app: WorkbenchApp) -> list[str]:
    assert isinstance(app.screen, TranscriptScreen)
    return list(app.screen.view.lines)


def place(app: WorkbenchApp) -> str:
    return str(app.screen.query_one("#transcript-place", Static).content)


async def test_a_transcript_opens_at_the_prompt(past: Path) -> None:
    """What was said comes literally and harmless; J and K go to the other prompts."""
    app = app_on(past)
    async with app.run_test(size=(120, 40)) as pilot:
        await go(pilot, "claude_code:u2")
        await press(pilot, "t")
        await settle(pilot)
        shown = turns(app)
        assert shown[1].startswith("❯ you")
        assert shown[2] == "now the logout ␛[31mas well<U+202E>"
        assert place(app).startswith("prompt 2 of 3 · line 8")
        await press(pilot, "K")
        assert turns(app)[2] == "the login [/] forgets list[int] = x[0] (#7)"
        await press(pilot, "K")
        await press(pilot, "J", "J")
        assert turns(app)[2] == "no, that is still wrong"
        assert not FORBIDDEN & set(screen_text(app))
        await press(pilot, "escape")
        assert on_top(app) is app.section


async def test_a_transcript_opens_at_a_file_and_at_the_end(past: Path) -> None:
    """From a file's line at the first call about it, from the outcome at the last turn of the prompt."""
    app = app_on(past)
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await go(pilot, "claude_code:u2")
        await on_line(pilot, screen, "edit:roastery/vanished.py")
        await press(pilot, "t")
        assert isinstance(app.screen, TranscriptScreen)
        assert app.screen.view.turn is not None
        assert app.screen.view.turn.head == "Edit roastery/vanished.py"
        await press(pilot, "escape")
        await on_line(pilot, screen, "outcome")
        await press(pilot, "enter")
        assert isinstance(app.screen, TranscriptScreen)
        assert app.screen.view.turn is not None
        assert app.screen.view.turn.text == "[main 0123abc] x"


async def test_calls_unfold_and_are_copied(past: Path) -> None:
    """Enter shows what a tool was given, `y` copies it."""
    app = app_on(past)
    async with app.run_test(size=(120, 40)) as pilot:
        await go(pilot, "claude_code:u2")
        await press(pilot, "t", "j", "j")
        before = len(turns(app))
        await press(pilot, "enter")
        assert f"    file_path: {past}/roastery/money.py" in turns(app)
        await press(pilot, "y")
        assert app.clipboard == f"Read roastery/money.py\nfile_path: {past}/roastery/money.py"
        await press(pilot, "t")
        assert len(turns(app)) == before


async def test_pages_turn_at_the_ends(past: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Moving beyond a page shows the next one, and back the one before; g and G go to the file's ends."""
    monkeypatch.setattr(
        "workbench.sessions.transcript_pages.read_page.__kwdefaults__",
        {"turns": 3, "size": 1 << 20, "until": None},
    )
    app = app_on(past)
    async with app.run_test(size=(120, 40)) as pilot:
        await go(pilot, "claude_code:u1")
        await press(pilot, "t", "ctrl+d")
        first = turns(app)
        await press(pilot, "j")
        assert turns(app) != first
        await press(pilot, "k")
        assert turns(app) == first
        await press(pilot, "G")
        assert "100%" in place(app) or "9" in place(app)
        last = turns(app)[-1]
        await press(pilot, "j")
        assert turns(app)[-1] == last
        await press(pilot, "g")
        assert turns(app) == first


async def test_a_transcript_fits_when_the_terminal_is_resized(past: Path) -> None:
    """Lines are broken anew, and what was unfolded stays so."""
    app = app_on(past)
    async with app.run_test(size=(120, 40)) as pilot:
        await go(pilot, "claude_code:u2")
        await press(pilot, "t", "j", "j", "enter")
        assert max(map(len, turns(app))) > 100
        await pilot.resize_terminal(60, 20)
        await settle(pilot)
        await settle(pilot)
        assert max(map(len, turns(app))) < 60
        assert any(line.strip().startswith("file_path:") for line in turns(app))
        await press(pilot, "escape")
        assert on_top(app) is app.section


async def test_reading_a_transcript_can_be_cancelled(past: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is shown then says how to go on; the app does."""
    begun, go_on = threading.Event(), threading.Event()

    def slow(*arguments: Any) -> None:
        begun.set()
        go_on.wait()
        arguments[-1].check()

    monkeypatch.setattr("screens.sessions.pages.open_at", slow)
    app = app_on(past)
    async with app.run_test(size=(120, 40)) as pilot:
        await go(pilot, "claude_code:u2")
        await pilot.press("t")
        while not begun.is_set():
            await pilot.pause()
        await pilot.press("ctrl+c")
        go_on.set()
        await settle(pilot)
        assert "Cancelled. Escape closes" in screen_text(app)
        await press(pilot, "escape")
        assert on_top(app) is app.section


async def test_a_copy_is_read_where_the_original_is_gone(fresh: Path) -> None:
    """The place says that it is a copy; without one the reason is told."""
    claude_transcript(fresh).unlink()
    app = app_on(fresh)
    async with app.run_test(size=(120, 40)) as pilot:
        await go(pilot, "claude_code:u1")
        await press(pilot, "t")
        assert "copy of" in place(app)
        assert turns(app)[2] == "the login [/] forgets list[int] = x[0] (#7)"
        await press(pilot, "escape")
        for kept in (fresh / ".workbench" / "archive").iterdir():
            kept.unlink()
        await press(pilot, "t")
        assert isinstance(app.screen, TranscriptScreen)
        assert "is gone, and no copy of it was kept" in app.screen.missing
        await press(pilot, "escape")
        await go(pilot, "notes")
        await press(pilot, "t")
        assert isinstance(app.screen, TranscriptScreen)
        assert "No transcript of notes is known" in app.screen.missing


async def test_a_damaged_copy_is_told(fresh: Path) -> None:
    """What cannot be unpacked is an error of the dialog, not of the app."""
    claude_transcript(fresh).unlink()
    for kept in (fresh / ".workbench" / "archive").glob("*.gz"):
        kept.write_bytes(b"\x1f\x8b\x08nothing")
    app = app_on(fresh)
    async with app.run_test(size=(120, 40)) as pilot:
        await go(pilot, "claude_code:u1")
        await press(pilot, "t")
        assert isinstance(app.screen, TranscriptScreen)
        assert "cannot be read" in app.screen.missing


# Judging.


async def test_a_session_is_judged_with_a_reason(fresh: Path) -> None:
    """It is what `workbench feedback` does; `u` says again what was known, `U` the verdict."""
    app = app_on(fresh)
    async with app.run_test(size=(120, 40)) as pilot:
        await go(pilot, "claude_code:u3")
        known = desk_of(fresh).trace("claude_code:u3").episode.outcome
        for outcome in ("success", "failed", "partial", "unknown"):
            before, known = known, Outcome(outcome)
            await press(pilot, "r", *outcome, "enter")
            assert isinstance(app.screen, Ask)
            await answer(pilot, f"it [/] logs out {outcome}")
            judged = desk_of(fresh).trace("claude_code:u3").episode
            assert (judged.judged, judged.rationale) == (known, f"it [/] logs out {outcome}")
            told = f"workbench feedback claude_code:u3 --outcome {outcome} --why 'it [/] logs out {outcome}'"
            assert commands(app)[-1] == told
        await press(pilot, "u")
        assert desk_of(fresh).trace("claude_code:u3").episode.outcome is before
        assert commands(app)[-1].startswith(f"workbench feedback claude_code:u3 --outcome {before.value}")
        await press(pilot, "U")
        assert desk_of(fresh).trace("claude_code:u3").episode.outcome is known


async def test_marked_sessions_are_judged_together_and_undone_after_a_restart(fresh: Path) -> None:
    """One step for all of them, which the next run still knows."""
    app = app_on(fresh)
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await go(pilot, "claude_code:u3")
        await press(pilot, "space", "space", "r", *"failed", "enter")
        await answer(pilot, "")
        assert len(commands(app)) == 2
        kept = json.loads(json.dumps(screen.remember()))
    again = app_on(fresh)
    again.place.sections["sessions"] = kept
    async with again.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await press(pilot, "u")
        assert desk_of(fresh).trace("claude_code:u2").episode.outcome is Outcome.PARTIAL
        await press(pilot, "u")
        assert len(commands(again)) == 2


async def test_rows_are_drawn_until_those_of_the_other_view_arrive(past: Path) -> None:
    """The table draws the sessions of the past while those that run are looked for."""
    app = app_on(past)
    async with app.run_test() as pilot:
        await settle(pilot)
        table = screen_of(app).table
        before = table.rows.cells(0)
        screen_of(app).action_view()
        assert table.rows.cells(0) == before
        await settle(pilot)


async def test_running_sessions_are_followed_begun_and_ended(fresh: Path) -> None:
    """What each needed and was not given, as others record it; an outcome ends it; a new one is named."""
    app = app_on(fresh)
    async with app.run_test(size=(80, 24)) as pilot:
        await press(pilot, "]")
        screen = screen_of(app)
        assert listed(screen) == ["notes"]
        assert "not given 1 file it needed" in " ".join(told_by(screen))
        assert follows(app)
        assert set(screen.stores()) == {"sessions", "handovers", "transcripts"}
        desk_of(fresh).event("notes", "edit", files=["roastery/money.py"])
        app.post_message(StoreChanged(frozenset({"sessions"})))
        await settle(pilot)
        assert "▶ working  edit roastery/money.py" in told_by(screen)
        await press(pilot, "r", *"success", "enter")
        await answer(pilot, "they are good")
        assert commands(app)[-2:] == [
            "workbench episode end notes",
            "workbench feedback notes --outcome success --why 'they are good'",
        ]
        ended = desk_of(fresh).trace("notes").episode
        assert (ended.ended_at is not None, ended.outcome) == (True, Outcome.SUCCESS)
        assert "✓ success  edit roastery/money.py" in told_by(screen)
        await press(pilot, "u")
        assert desk_of(fresh).trace("notes").episode.outcome is Outcome.UNKNOWN
        await press(pilot, "c")
        await answer(pilot, "Write the docs of refunds")
        assert "write-the-docs-refunds" in screen_text(app)
        await press(pilot, "enter")
        assert listed(screen) == ["notes", "write-the-docs-refunds"]
        assert screen.table.cursor_key == "write-the-docs-refunds"
        assert desk_of(fresh).trace("write-the-docs-refunds").episode.task_text == "Write the docs of refunds"
        app.show_section("log")
        await settle(pilot)
        assert not follows(app)
        app.show_section("sessions")
        await settle(pilot)
        assert follows(app)
        await press(pilot, "]")
        assert "claude_code:u1" in listed(screen)


async def test_running_sessions_are_filtered(fresh: Path) -> None:
    """What is typed after / filters by the fields of past sessions, no letter is a command; escape clears."""
    app = app_on(fresh)
    async with app.run_test(size=(80, 24)) as pilot:
        await press(pilot, "]", "slash", *"outcome:success", "enter")
        screen = screen_of(app)
        assert on_top(app) is screen
        assert screen.row is None
        assert "Nothing matches the filter" in screen_text(app)
        assert screen.available("sessions.file") is None
        await press(pilot, "escape", "slash", *"id:notes source:live file:app.py since:2020 !refund", "enter")
        assert listed(screen) == ["notes"]
        assert screen.row is not None


# Elsewhere.


async def test_the_task_is_planned_again(past: Path) -> None:
    """Plan opens with the task, whether it was open before or not."""
    app = app_on(past)
    async with app.run_test(size=(120, 40)) as pilot:
        await go(pilot, "claude_code:u2")
        await press(pilot, "p")
        plan = app.section
        assert isinstance(plan, PlanScreen)
        assert plan.asked.task.startswith("now the logout")
        await press(pilot, "alt+5")
        screen = await go(pilot, "claude_code:u1")
        assert on_top(app) is screen
        await press(pilot, "p")
        assert on_top(app) is plan
        assert plan.editor.text.startswith("the login [/]")


async def test_the_past_of_a_file_leads_on(past: Path) -> None:
    """`f` on a file shows who touched it and what with it; enter goes there."""
    app = app_on(past)
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await go(pilot, "claude_code:u2")
        await on_line(pilot, screen, "edit:roastery/money.py")
        await press(pilot, "F")
        assert isinstance(app.screen, FilePastDialog)
        files = app.screen.query_one("#past-files", VirtualTable)
        assert files.rows.key(0) == "roastery/vanished.py"
        files.focus()
        await press(pilot, "enter")
        assert isinstance(app.screen, FilePastDialog)
        assert app.screen.past.path == "roastery/vanished.py"
        await press(pilot, "enter")
        assert on_top(app) is screen
        assert screen.table.cursor_key == "claude_code:u2"


async def test_sessions_are_imported_once_that_is_agreed(fresh: Path) -> None:
    """What there is is counted first; the summary says what was understood, skipped and known before."""
    claude_transcript(fresh).with_name("more.jsonl").write_bytes(claude_transcript(fresh).read_bytes())
    app = app_on(fresh)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await press(pilot, "I")
        assert isinstance(app.screen, Confirm)
        assert "Claude Code: 2 transcripts" in screen_text(app)
        await press(pilot, "J")
        assert commands(app) == []
        await press(pilot, "I", "y")
        await settle(pilot)
        assert isinstance(app.screen, Details)
        told = app.screen._text
        assert "duplicates" in told
        assert "understood   100.00%" in told
        assert "masked       no secrets in prompts" in told
        assert commands(app) == ["workbench import sessions"]


async def test_without_transcripts_a_place_is_asked_for(
    roastery: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A path that is not there is refused; one that is is imported from."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "none"))
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "none"))
    kept = claude_transcript(roastery)
    app = app_on(roastery)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        assert "No sessions yet." in screen_text(app)
        await press(pilot, "I")
        assert isinstance(app.screen, Ask)
        await answer(pilot, "nowhere")
        assert isinstance(app.screen, Ask)
        await answer(pilot, str(kept))
        assert isinstance(app.screen, Details)
        await press(pilot, "escape")
        assert len(listed(screen_of(app))) == 3


async def test_the_place_is_remembered(past: Path) -> None:
    """Filter, cursor, order, toggles and folding come back; foreign values do not."""
    app = app_on(past)
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await go(pilot, "claude_code:u1")
        screen.filter.set_text("source:claude")
        screen.fold("reads")
        await press(pilot, "O", "V")
        kept = json.loads(json.dumps(screen.remember()))
    again = app_on(past)
    again.place.sections["sessions"] = kept
    async with again.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        assert screen_of(again).remember() == kept
        assert "▸ reads 1 file" in told_by(screen_of(again))
    foreign = app_on(past)
    foreign.place.sections["sessions"] = {
        "filter": 3,
        "cursor": [],
        "sort": "nothing",
        "folded": {"a": 1},
        "judged": {"done": [[{"session": 1}], 7]},
    }
    async with foreign.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        assert screen_of(foreign).remember()["sort"] == "when"
        assert screen_of(foreign).judged.done == ()


async def test_hostile_tasks_and_paths_are_literal(roastery: Path, frozen: None) -> None:
    """Whatever is in a task or a path reaches the terminal neutralised."""
    desk = desk_of(roastery)
    for number, text in enumerate(HOSTILE):
        desk.start(text.replace("\ud800", "").replace("\udcff", "") + ".", session_id=f"h{number}")
        desk.event(f"h{number}", "edit", files=["a [/] \u202e\x1b[31m.py"])
    app = app_on(roastery)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        for number in range(len(HOSTILE)):
            screen = await go(pilot, f"h{number}")
            assert not FORBIDDEN & set(screen_text(app))
        await press(pilot, "s")
        assert not FORBIDDEN & set(screen_text(app))
        await press(pilot, "escape")
        assert any("a [/] <U+202E>␛[31m.py" in line for line in told_by(screen))
        await press(pilot, "]")
        assert len(listed(screen)) == len(HOSTILE)
        assert any("a [/] <U+202E>␛[31m.py" in line for line in told_by(screen))
        assert not FORBIDDEN & set(screen_text(app))


async def test_the_screen(past: Path) -> None:
    """List, timeline and story fit at every size."""
    app = app_on(past)
    async with app.run_test(size=SIZES[0]) as pilot:
        await go(pilot, "claude_code:u2")
        await check_every_size(pilot, "sessions")


async def test_the_screen_without_sessions(tmp_path: Path) -> None:
    """An empty screen says what sessions are and what to press."""
    app = app_on(tmp_path)
    async with app.run_test(size=SIZES[0]) as pilot:
        await settle(pilot)
        await check_every_size(pilot, "sessions-empty")


@pytest.mark.parametrize("size", SIZES)
async def test_a_transcript_at_every_size(past: Path, size: tuple[int, int]) -> None:
    """A conversation with folded calls; its place without the directory, which differs."""
    app = app_on(past)
    async with app.run_test(size=size) as pilot:
        await go(pilot, "claude_code:u2")
        await press(pilot, "t")
        text = place(app).partition(str(past.parent))[0].partition("/")[0]
        text = re.sub(r"\d+% of [\d.]+ kB", "36% of 4.7 kB", text)  # the directory is in the transcript, too
        app.screen.query_one("#transcript-place", Static).update(text, layout=False)
        await pilot.pause()
        check_golden(app, "sessions-transcript")


async def test_many_sessions_are_listed_filtered_and_sorted_beside_the_loop(roastery: Path) -> None:
    """All are listed, and of those that a filter leaves only the ones in view are drawn."""
    bodies = [
        {
            "session_id": f"claude_code:{number:04}",
            "project_id": "p",
            "task_fingerprint": "f",
            "task_text": f"fix the number {number} of the catalog",
            "query_type": "bugfix",
            "started_at": 1_700_000_000 + number * 60,
            "ended_at": 1_700_000_030 + number * 60,
            "outcome": ("success", "failed", "unknown")[number % 3],
            "changes": [["roastery/app.py", "modified", 1, 1, ""]],
            "reads": [f"roastery/{number % 40}.py"],
            "source": "claude_code",
            "parent_session": f"s{number // 4}",
            "prompt_index": number % 4,
        }
        for number in range(1_500)
    ]
    desk_of(roastery).store.journal.append("sessions", "episode.imported", bodies, by="import:sessions")
    app = app_on(roastery)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        screen = screen_of(app)
        assert screen.table.count == 1_500
        assert len([line for line in told_by(screen) if "fix the number" in line]) == 5
        await press(pilot, "G", "k", "ctrl+u", "g")
        screen.filter.set_text("catalog outcome:failed file:app.py")
        await settle(pilot)
        assert screen.table.count == 500
        await press(pilot, "o", "o", "O")
        assert screen.table.count == 500
