"""What the workbench told is known again: verbatim, quoted, wrapped anew, in part; other words are not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.memory.learnings.echoes import (
    echo_share,
    is_echo,
    pack_hashes,
    shingles,
    unpack_hashes,
)
from workbench.text.sanitize import CLOSING, OPENING, strip_frames

TOLD = "The auth middleware expects a User object, not a userId, in `src/middleware/auth.ts`."


@pytest.mark.parametrize(
    "text",
    [
        TOLD,
        f"> {TOLD}",
        TOLD.replace("object, not", "object,\n> not"),
        f"- **{TOLD.upper()}**",
        "expects a User object, not a userId",
        f"As noted in memory, {TOLD}",
        "The auth middleware expects a User object, so I pass one.",
    ],
)
def test_what_was_told_is_an_echo_in_any_dress(text: str) -> None:
    """Quotes, wrapping, emphasis, case and parts make no difference."""
    assert is_echo(text, shingles(TOLD))


@pytest.mark.parametrize(
    "text",
    [
        "The auth middleware rejects tokens without an audience since 2.1.",
        "`src/middleware/auth.ts` reads the session from Redis.",
        "",
    ],
)
def test_other_words_about_the_same_thing_are_none(text: str) -> None:
    """An echo is made of the same words in the same order, not of the same topic."""
    assert not is_echo(text, shingles(TOLD))


def test_nothing_is_an_echo_of_nothing() -> None:
    """Without injections every text is new."""
    assert not is_echo(TOLD, frozenset())


@given(st.text(), st.text())
def test_framed_parts_are_taken_out(before: str, inside: str) -> None:
    """What stands between the marks goes, also where the end is missing."""
    inside = inside.replace("<", "")
    before = before.replace("<", "")
    assert strip_frames(f"{before}{OPENING}{inside}{CLOSING}") == f"{before} "
    assert strip_frames(f"{before}{OPENING}{inside}") == f"{before} "


@given(st.frozensets(st.integers(0, 2**64 - 1)))
def test_hashes_survive_the_journal(prints: frozenset[int]) -> None:
    """What is packed is unpacked to the same."""
    assert prints == unpack_hashes(pack_hashes(prints))


@given(st.text())
def test_a_text_is_wholly_an_echo_of_itself(text: str) -> None:
    """The share is 1 for every text with words."""
    assert echo_share(text, shingles(text)) == (1.0 if shingles(text) else 0.0)


def test_cut_hashes_are_refused() -> None:
    """A damaged entry is an error and not a guess."""
    with pytest.raises(ValueError, match="cut off"):
        unpack_hashes("0123")
