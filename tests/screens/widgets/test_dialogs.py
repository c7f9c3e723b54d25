"""Questions: every way to answer, at any size, with nothing in them that is obeyed."""

from __future__ import annotations

import pytest

from screens.widgets.code import CodeView, Details
from screens.widgets.dialogs import (
    MOST_CHOICES,
    Ask,
    Choose,
    Confirm,
    CopyRequested,
    DialogChoice,
    match_choices,
)
from tests.screens.widgets.staging import HOSTILE, Answers, seen

SIZES = [(20, 5), (60, 20), (120, 40)]
CHOICES = [
    DialogChoice(n, name, f"number {n}") for n, name in enumerate(["python", "pytest", "rust", "typescript"])
]


@pytest.mark.parametrize(
    ("keys", "danger", "answer"),
    [
        (["y"], True, True),
        (["n"], False, False),
        (["escape"], False, False),
        (["enter"], False, True),
        (["enter"], True, False),
        (["l", "enter"], False, False),
        (["left", "enter"], True, True),
    ],
)
async def test_a_question_is_answered(keys: list[str], danger: bool, answer: bool) -> None:
    """Letters answer at once, enter what has the focus, which is no where yes destroys something."""
    app = Answers(Confirm("Remove", "Really?", danger=danger))
    async with app.run_test(size=(60, 20)) as pilot:
        await pilot.press(*keys)
        assert [answer] == app.answers


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    "make", [lambda: Confirm("t", "b\n" * 99), lambda: Ask("t"), lambda: Choose("t", CHOICES)]
)
async def test_escape_closes_at_any_size(size: tuple[int, int], make: object) -> None:
    """However small the terminal is, escape leaves."""
    app = Answers(make())  # type: ignore[operator]
    async with app.run_test(size=size) as pilot:
        await pilot.press("escape")
        assert app.answers in ([None], [False])


async def test_a_line_is_asked_for_until_it_is_valid() -> None:
    """What is wrong is told below the field and goes away when something is typed."""
    app = Answers(Ask("Name", value="a", validate=lambda text: "" if len(text) > 1 else "too [/] short"))
    async with app.run_test(size=(60, 20)) as pilot:
        await pilot.press("enter")
        await pilot.pause()
        assert "! too [/] short" in seen(app)
        assert app.answers == []
        await pilot.press("b")
        await pilot.pause()
        assert "too [/] short" not in seen(app)
        await pilot.press("ctrl+s")
        assert app.answers == ["ab"]


def test_the_best_match_comes_first() -> None:
    """Letters in order match, those that are neighbours best; no query leaves the order."""
    assert [choice.label for choice in match_choices(CHOICES, "py")] == ["python", "pytest"]
    assert next(choice.label for choice in match_choices(CHOICES, "pt")) == "typescript"
    assert [choice.value for choice in match_choices(CHOICES, "tscr")] == [3]
    assert match_choices(CHOICES, " ") == CHOICES
    assert match_choices(CHOICES, "zz") == []


async def test_one_of_several_is_found_and_taken() -> None:
    """Typing filters, arrows move and stop at the ends, enter takes."""
    app = Answers(Choose("Language", CHOICES, selected=1))
    async with app.run_test(size=(60, 20)) as pilot:
        await pilot.pause()
        assert "4 of 4" in seen(app)
        await pilot.press("p", "y")
        await pilot.pause()
        assert "2 of 4" in seen(app)
        await pilot.press("down", "down", "up", "ctrl+n", "enter")
        assert [match_choices(CHOICES, "py")[1].value] == app.answers


async def test_the_list_moves_by_letters_and_gives_the_field_back() -> None:
    """With the focus in the list j and k move; a slash returns to the field."""
    app = Answers(Choose("Language", CHOICES))
    async with app.run_test(size=(60, 20)) as pilot:
        await pilot.press("tab", "j", "j", "k", "slash", "z", "z", "enter")
        await pilot.pause()
        assert "Nothing matches." in seen(app)
        assert app.answers == []
        await pilot.press("backspace", "backspace", "tab", "G", "enter")
        assert app.answers == [3]


async def test_only_so_many_are_listed() -> None:
    """A long list stays quick: the rest is found by typing."""
    app = Answers(Choose("Many", [DialogChoice(n, f"item {n:04}") for n in range(5000)]))
    async with app.run_test(size=(60, 20)) as pilot:
        await pilot.pause()
        screen = app.screen
        assert isinstance(screen, Choose)
        assert len(screen.listed) == MOST_CHOICES
        await pilot.press(*"4999", "enter")
        assert app.answers == [4999]


async def test_details_are_scrolled_copied_and_closed() -> None:
    """The copy is the whole text as it is, not as it is shown."""
    text = "\x1b[31m" + "\n".join(f"line {n}" for n in range(500))
    copies: list[tuple[str, str]] = []

    class Copier(Answers):
        def on_copy_requested(self, message: CopyRequested) -> None:
            copies.append((message.text, message.what))

    app = Copier(Details("Error", text))
    async with app.run_test(size=(60, 20)) as pilot:
        await pilot.press("G", "y")
        await pilot.pause()
        assert "line 499" in seen(app)
        assert [(text, "Error")] == copies
        assert app.screen.query_one(CodeView).cursor_line == 500
        await pilot.press("escape")
        assert app.answers == [None]


@pytest.mark.parametrize("text", HOSTILE)
async def test_everything_is_literal(text: str) -> None:
    """No title, question, choice or detail is read as markup or obeyed by the terminal."""
    for screen in (
        Confirm(text, text, yes=text[:9], no=text[:9]),
        Ask(text, body=text[:200], value=text, placeholder=text, validate=lambda _: text[:200]),
        Choose(text, [DialogChoice(1, text, text)]),
        Details(text, text),
    ):
        app = Answers(screen)
        async with app.run_test(size=(80, 24)) as pilot:
            await pilot.press("tab")
            assert seen(app)
            await pilot.press("escape")
            assert len(app.answers) == 1
