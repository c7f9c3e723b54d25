"""Writing a task: pauses are told once, enter at once, earlier tasks come back, nothing is lost."""

from __future__ import annotations

import pytest
from textual.events import Key

from screens.widgets.prompt_editor import PromptEditor
from tests.screens.widgets.staging import HOSTILE, Stage, seen


class Told(Stage):
    """Keeps what was told."""

    def __init__(self, **options: object) -> None:
        # A pause that no test waits for: each says itself when it is over.
        super().__init__(lambda: PromptEditor(pause=3600, **options))  # type: ignore[arg-type]
        self.told: list[tuple[str, bool]] = []

    def on_prompt_editor_digit_typed(self, message: PromptEditor.DigitTyped) -> None:
        """Keep it."""
        self.told.append((f"digit {message.digit}", False))

    def on_prompt_editor_settled(self, message: PromptEditor.Settled) -> None:
        """Keep it."""
        self.told.append((message.text, message.asked))


async def test_a_pause_is_told_once() -> None:
    """A text is told when the typing pauses and not again until it is another one; enter always tells it."""
    app = Told()
    async with app.run_test(size=(60, 20)) as pilot:
        editor = app.screen.query_one(PromptEditor)
        editor.focus()
        await pilot.press("a", "b")
        assert app.told == []
        editor.settle()
        editor.settle()
        await pilot.pause()
        assert app.told == [("ab", False)]
        await pilot.press("enter", "c", "ctrl+n", "d", "enter")
        await pilot.pause()
        assert app.told[1:] == [("ab", True), ("abc\nd", True)]


async def test_a_real_pause_ends_by_itself() -> None:
    """Without another key the timer tells the text."""
    app = Told()
    async with app.run_test(size=(60, 20)) as pilot:
        editor = app.screen.query_one(PromptEditor)
        editor._pause = 0.001
        editor.load_text("task")
        for _ in range(1000):
            if app.told:
                break
            await pilot.pause()
        assert app.told == [("task", False)]


@pytest.mark.parametrize("task", ["refund fails twice", ""])
async def test_a_digit_alone_over_an_offered_task_is_no_task(task: str) -> None:
    """It is posted as a digit and the task is there again; with more behind it or after enter it is text."""
    app = Told()
    async with app.run_test(size=(60, 20)) as pilot:
        editor = app.screen.query_one(PromptEditor)
        editor.offer(task)
        editor.focus()
        editor.settle()
        await pilot.pause()
        app.told.clear()
        for _ in range(2):
            await pilot.press("2")
            editor.settle()
            await pilot.pause()
            assert (editor.text, editor.selected_text) == (task, task)
        await pilot.press("4", "0", "4")
        editor.settle()
        await pilot.pause()
        assert app.told == [("digit 2", False)] * 2 + [("404", False)]
        await pilot.press("backspace", "backspace")
        editor.settle()
        await pilot.pause()
        assert app.told[-1] == ("4", False)
        editor.offer(task)
        await pilot.press("7", "enter")
        await pilot.pause()
        assert app.told[-1] == ("7", True)


async def test_a_key_behind_a_digit_makes_it_a_task() -> None:
    """Where the pause was over before the next key was handled the digit stays a part of the text."""
    app = Told()
    async with app.run_test(size=(60, 20)) as pilot:
        editor = app.screen.query_one(PromptEditor)
        editor.offer("refund fails twice")
        editor.focus()
        editor.settle()
        await pilot.pause()
        app.told.clear()
        await pilot.press("4")
        editor.settle()
        editor.insert("04 on login")
        await pilot.pause()
        assert (editor.text, app.told) == ("404 on login", [])


async def test_earlier_tasks_are_a_key_away() -> None:
    """Up at the first line goes back, down at the last one forth to what was being written."""
    app = Told()
    async with app.run_test(size=(60, 20)) as pilot:
        editor = app.screen.query_one(PromptEditor)
        editor.recall(["latest", "old\nlong"])
        editor.focus()
        await pilot.press("n", "e", "w", "up")
        assert editor.text == "latest"
        await pilot.press("up", "up", "up")
        assert editor.text == "old\nlong"
        await pilot.press("down", "down")
        assert editor.text == "latest"
        await pilot.press("down", "!")
        assert editor.text == "new!"


@pytest.mark.parametrize("text", HOSTILE)
async def test_texts_are_literal(text: str) -> None:
    """Nothing in a task, a placeholder or an earlier task is obeyed."""
    app = Stage(lambda: PromptEditor(text[:5000], placeholder=text))
    async with app.run_test(size=(60, 20)) as pilot:
        editor = app.screen.query_one(PromptEditor)
        assert seen(app)
        editor.load_text("")
        await pilot.pause()
        assert seen(app)
        editor.recall([text[:5000]])
        editor.focus()
        await pilot.press("up")
        assert seen(app)


async def test_enter_does_not_overtake_what_was_typed_before_it() -> None:
    """Keys that arrive in one go, as from a fast hand in a slow terminal, are told whole."""
    app = Told()
    async with app.run_test(size=(60, 20)) as pilot:
        app.screen.query_one(PromptEditor).focus()
        await pilot.pause()
        for key in ("a", "b", "enter"):
            app.post_message(Key(key, key if len(key) == 1 else None))
        for _ in range(20):
            await pilot.pause()
        assert app.told == [("ab", True)]


async def test_escape_tells_what_was_written_and_leaves() -> None:
    """Who leaves gets an answer to what was written, and the screen learns that its keys are wanted."""
    left: list[str] = []

    class Leaving(Told):
        """Keeps that the editor was left."""

        def on_prompt_editor_left(self, message: PromptEditor.Left) -> None:
            """Keep it."""
            left.append(message.editor.text)

    app = Leaving()
    async with app.run_test(size=(60, 20)) as pilot:
        app.screen.query_one(PromptEditor).focus()
        await pilot.press("a", "escape")
        await pilot.pause()
        assert app.told == [("a", False)]
        assert left == ["a"]


async def test_enter_is_named_by_what_it_leads_to() -> None:
    """While a project is indexed for the first time enter begins nothing, and breaks no line."""
    app = Told()
    async with app.run_test(size=(60, 20)) as pilot:
        editor, screen = app.screen.query_one(PromptEditor), app.screen
        editor.focus()

        def offered() -> list[str]:
            return [
                one.binding.action for one in screen.active_bindings.values() if one.binding.key == "enter"
            ]

        assert offered() == ["ask"]
        screen.add_class("-first")
        assert offered() == ["begin"]
        vars(screen)["check_action"] = lambda action, _: action != "index"
        assert offered() == ["keep"]
        await pilot.press("a", "enter")
        assert (editor.text, app.told) == ("a", [("a", True)])
