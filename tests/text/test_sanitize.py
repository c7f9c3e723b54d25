"""What is shown can be seen and obeyed by nobody."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.text.sanitize import is_safe, safe_lines, visible, visible_line, without_passwords

HOSTILE = "".join(
    map(chr, [0, 7, 8, 11, 12, 13, 27, 31, 127, 0x85, 0x9B, 0xAD, 0x200B, 0x202E, 0x2028, 0x2066])
)
ANY = st.text(alphabet=st.one_of(st.characters(), st.sampled_from(HOSTILE)))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain\ttext\n", "plain\ttext\n"),
        ("\x1b[31mred", "␛[31mred"),
        ("a\u202eb", "a<U+202E>b"),
        ("nul\x00", "nul␀"),
        ("lone\r", "lone␍"),
        ("tag\U000e0041", "tag<U+E0041>"),
        ("sur\ud800", "sur\ufffd"),
        ("família 👨‍👩‍👧 中", "família 👨‍👩‍👧 中"),  # joiners are part of emoji
    ],
)
def test_hidden_and_control_characters_are_shown(text: str, expected: str) -> None:
    """Each character a terminal or a reader would obey is replaced by a picture of it, all others stay."""
    assert expected == visible(text)


@given(ANY)
def test_what_comes_out_is_safe_and_stays(text: str) -> None:
    """Output holds no control, override or surrogate, can be encoded, and does not change again."""
    shown = visible(text)
    assert is_safe(shown)
    assert shown == visible(shown)
    shown.encode("utf-8")
    assert not {unicodedata.category(char) for char in shown if char not in "\t\n"} & {"Cc", "Cs"}


@given(ANY)
def test_a_line_is_one_line(text: str) -> None:
    """Names and reasons never break a line, whatever they hold."""
    assert len(visible_line(text).splitlines()) <= 1


@given(st.lists(st.text(alphabet="ab \t\x0b\x85\u2028", max_size=5)), st.sampled_from(["\n", "\r\n"]))
def test_only_line_feeds_separate_lines(lines: list[str], end: str) -> None:
    """Lines are numbered as git numbers them, with either line end and none of the exotic separators."""
    assert [visible(line) for line in lines] == safe_lines("".join(line + end for line in lines))


def test_a_last_line_without_an_end_counts() -> None:
    """A file that ends without a line feed keeps its last line; an empty one has none."""
    assert safe_lines("a\nb") == ["a", "b"]
    assert safe_lines("") == []
    assert safe_lines("\n") == [""]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("redis://:secret@h:6379/0", "redis://:…@h:6379/0"),
        ("rediss://me:s/e?c@h", "rediss://me:…@h"),
        ("redis://me:s@c@h", "redis://me:…@h"),
        ("unix:///run/redis.sock?db=1&password=secret&x=1", "unix:///run/redis.sock?db=1&password=…&x=1"),
        ("redis://h:6379/0", "redis://h:6379/0"),
        ("redis://me@h:6379", "redis://me@h:6379"),
        ("write to me@example.org: now", "write to me@example.org: now"),
    ],
)
def test_passwords_in_urls_are_left_out(text: str, expected: str) -> None:
    """What a URL tells about its password is not shown, everything else is."""
    assert without_passwords(text) == expected
