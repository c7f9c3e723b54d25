"""Patterns of the database's regular expressions (RE2) for words and globs of filters.

RE2 has no look-around, so a pattern takes in the character before a word. What it takes as letters, digits
and blanks are Unicode's, as Python does; in a few letters (a final sigma, a dotted capital I) the cases that
belong together are others. A pattern that knows all of them takes milliseconds to compile, ten times as long
as one for texts that have no other letters, digits and blanks than ASCII's: those are ENGLISH.
"""

from __future__ import annotations

from string import ascii_lowercase, ascii_uppercase
from typing import Final

from workbench.records.dataclass import dataclass


class Pattern(str):
    """A value of a statement that is a pattern: a database with other expressions writes it its own way."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Alphabet:
    """Letters and digits, and blanks, for the inside of a set."""

    word: str
    blanks: str


UNICODE: Final = Alphabet(r"\p{L}\p{N}", r"\s\x0b\x1c-\x1f\x{85}\p{Z}")
ENGLISH: Final = Alphabet("A-Za-z0-9", r"\s\x0b\x1c-\x1f")
NOT_ENGLISH: Final = Pattern(
    r"[^\x00-\x7f\x{2010}-\x{2027}\x{2190}-\x{22ff}\x{2500}-\x{2775}\x{fe0f}\x{1f300}-\x{1faff}]"
)
"""What is in texts that ENGLISH is not enough for; dashes, quotation marks, arrows and emoji are not."""

_ANYTHING: Final = "^(?s:.*?)"


def literal(text: str) -> str:
    """Return a pattern of exactly this text."""
    return "".join(map(_escape, text))


def whole(needle: str, letters: Alphabet) -> str:
    """Return a pattern of a lower-case needle as a whole word."""
    return f"(?:^|[^{letters.word}_]){literal(needle)}(?:$|[^{letters.word}_])"


def word_start(needle: str, letters: Alphabet) -> str:
    """Return a pattern of a lower-case needle at the start of a word."""
    return f"(?:^|[^{letters.word}_]){literal(needle)}"


def part_start(needle: str, letters: Alphabet) -> str:
    """Return a pattern, for text in its own case, of a needle at the start of a part of an identifier."""
    rest = "".join(f"[{_either(character)}]" for character in needle)
    first, others = needle[0], needle[1:]
    upper = first.upper()
    if len(upper) != 1 or upper == first:
        return f"_{rest}"
    tail = "".join(f"[{_either(character)}]" for character in others)
    return f"_{rest}|[{letters.word}]{_escape(upper)}{tail}"


def subsequence(needle: str, letters: Alphabet) -> Pattern:
    """Return a pattern of the needle's characters in order inside one word, and of the one before them.

    The first one is at the start of a part: after no letter or digit, or at a hump. No gap takes in the
    character that ends it, so there is one way to match. A text needs a blank before it.
    """
    first, second, others = needle[0], needle[1], needle[1:]
    upper = first.upper()
    gaps = [f"[^{letters.blanks}{_either(other)}]*[{_either(other)}]" for other in others]
    rest, tail = "".join(gaps), "".join(gaps[1:])
    starts = [f"[^{letters.word}][{_either(first)}]{rest}"]
    if len(upper) == 1 and upper in ascii_uppercase:
        lower = second if second in ascii_lowercase else ""
        others_lower = "".join(letter for letter in ascii_lowercase if letter != lower)
        then = rf"[{others_lower}]{gaps[0]}" + (f"|{lower}" if lower else "")
        starts += [f"[a-z0-9]{upper}{rest}", f"[A-Z]{upper}(?:{then}){tail}"]
    return Pattern("|".join(starts))


def like(needle: str) -> str:
    """Return what LIKE takes that every text with the needle's subsequence is like; `~` is for ESCAPE."""
    return "%" + "%".join(f"~{one}" if one in "%_~" else one for one in needle) + "%"


def up_to(pattern: str) -> Pattern:
    """Return a pattern of everything from the beginning to the end of the first match of another."""
    return Pattern(f"{_ANYTHING}(?:{pattern})")


def after_first(separators: str, needle: str, letters: Alphabet) -> Pattern:
    """Return a pattern, for lower-case text, of a needle's characters in order after the first separator."""
    return Pattern(rf"[{literal(separators)}](?s:.*){in_one_word(needle, letters)}")


def in_one_word(needle: str, letters: Alphabet) -> Pattern:
    """Return a pattern, for lower-case text, of a needle's characters in order without a blank in between."""
    return Pattern(f"[^{letters.blanks}]*".join(map(_escape, needle)))


def first_in_each_value(pattern: str) -> Pattern:
    """Return a pattern of the first match of another in a value, group 1, and of the value's rest.

    A match may take in the separator before its value.
    """
    return Pattern(rf"({pattern})[^\x1e\x1f]*")


def first_in_every_field(pattern: str) -> Pattern:
    """Return the pattern of `first_in_each_value`, or of the end of a field, which has no group 1."""
    return Pattern(rf"{first_in_each_value(pattern)}|\x1e")


def glob(text: str) -> Pattern:
    """Return a pattern of what a shell glob matches: `*`, `?` and sets of characters."""
    found, position = "", 0
    while position < len(text):
        character = text[position]
        position += 1
        if character == "*":
            found += "(?s:.*)"
        elif character == "?":
            found += "(?s:.)"
        elif character == "[" and (end := _end_of_set(text, position)) >= 0:
            found += _set(text[position:end])
            position = end + 1
        else:
            found += _escape(character)
    return Pattern(f"^(?:{found})$")


def _end_of_set(text: str, start: int) -> int:
    """Return where the set of characters that begins before `start` ends, -1 if it does not."""
    at = start + 1 if text[start : start + 1] == "!" else start
    at = at + 1 if text[at : at + 1] == "]" else at
    return text.find("]", at)


def _set(inside: str) -> str:
    negated, inside = inside.startswith("!"), inside.removeprefix("!")
    ranges, position = "", 0
    while position < len(inside):
        low = high = inside[position]
        position += 1
        if inside[position : position + 1] == "-" and position + 1 < len(inside):
            high = inside[position + 1]
            position += 2
        if low <= high:
            ranges += f"{_escape(low)}-{_escape(high)}"
    if not ranges:
        return "(?s:.)" if negated else r"[^\x00-\x{10FFFF}]"
    return f"[{'^' if negated else ''}{ranges}]"


def _either(character: str) -> str:
    """Return a character's cases for the inside of a set."""
    upper = character.upper()
    return _escape(character) + (_escape(upper) if len(upper) == 1 and upper != character else "")


def _escape(character: str) -> str:
    if character.isalnum() or character == "_":
        return character
    return rf"\x{{{ord(character):X}}}"
