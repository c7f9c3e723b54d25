"""A page of a transcript becomes lines that fit, literal, with tool calls folded."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.content import Content

from screens.sessions.conversation import MOST_LINES, lay_out_turns, time_of_day, turn_lines, wrap_line
from tests.screens.widgets.staging import FORBIDDEN, HOSTILE
from workbench.sessions.conversation import AGENT, CALL, NOTE, RESULT, THOUGHT, USER, Turn


def turn(role: str, text: str, **fields: object) -> Turn:
    return Turn(role, text, 0, 1, **fields)  # type: ignore[arg-type]


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=200), st.integers(10, 40))
def test_lines_are_broken_to_fit(line: str, width: int) -> None:
    """No part is wider, and nothing but spaces at the breaks is lost."""
    parts = list(wrap_line(line, width))
    assert all(Content(part).cell_length <= width for part in parts)
    assert "".join(parts).replace(" ", "") == line.replace(" ", "")


def test_what_tools_do_is_folded_into_a_line() -> None:
    """What was said stands in full; a failure has a glyph and a word."""
    said = [
        turn(USER, "fix it"),
        turn(THOUGHT, "hm\nhm"),
        turn(AGENT, "I will.\n\nSoon."),
        turn(CALL, "file_path: a.py", head="Read a.py"),
        turn(RESULT, "\n\tdef a():\n", failed=True),
        turn(NOTE, "be brief", head="put in for the agent"),
    ]
    assert [row.text.plain.rstrip(" ─") for row in lay_out_turns(said, (), 60)] == [
        "",
        "❯ you",
        "fix it",
        "  ▸ ∴ thought · hm",
        "",
        "● agent",
        "I will.",
        "",
        "Soon.",
        "  ▸ ⚙ Read a.py",
        "  ▸ ↳ ✗ failed 3 lines · def a():",
        "  ▸ # put in for the agent · be brief",
    ]
    assert [row.text.plain for row in lay_out_turns(said, {3}, 60) if row.turn == 3] == [
        "  ▾ ⚙ Read a.py",
        "    file_path: a.py",
    ]


@pytest.mark.parametrize("role", [USER, RESULT, NOTE, CALL])
@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_is_neutralised(role: str, text: str) -> None:
    """Folded or not, no control character is left, and a line of a megabyte ends."""
    for unfolded in (False, True):
        lines = list(turn_lines(turn(role, text, head=text[:200]), unfolded, 60))
        assert len(lines) <= MOST_LINES + 4
        assert not FORBIDDEN & set("".join(line.plain for line in lines))


def test_what_was_left_out_is_told() -> None:
    """In bytes, below what is shown."""
    lines = [line.plain for line in turn_lines(turn(RESULT, "x", cut=5_000_000), True, 60)]
    assert lines[-1] == "    …(5,000,000 bytes are left out)"


@pytest.mark.parametrize("at", ["", "yesterday", "9999-12-31T23:59:59Z ", "2026-13-01T00:00:00Z"])
def test_a_time_that_is_none_is_not_shown(at: str) -> None:
    """Transcripts say anything."""
    assert time_of_day(at) == ""
