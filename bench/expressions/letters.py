"""What a regular expression tells apart: its *letters*, and the walk over its parsed parts."""

from __future__ import annotations

import re
import re._constants as codes  # type: ignore[import-not-found]
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any, Final

REPEATS: Final = (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT)
LOOKS: Final = (codes.ASSERT, codes.ASSERT_NOT)
_EXAMPLES: Final = "".join(map(chr, range(128))) + (
    "ÀéßİıſǅªЖ中あ٣²½\x85\xa0\u2028\u200b\ufeff→│•“’…😀\ud800\udfff\U000e0041"
)
_TESTS: Final[Mapping[str, Callable[[str], bool]]] = {
    "WORD": lambda char: char.isalnum() or char == "_",
    "SPACE": str.isspace,
    "DIGIT": str.isdecimal,
}


class Alphabet:
    """The letters of an expression: classes of characters that it does not tell apart."""

    def __init__(self, tree: Any, flags: int, binary: bool) -> None:
        self._binary = binary
        self._item = cache(self._find_item)
        self._characters = self._find_characters(tree)
        self._plain: dict[int, int] = {}
        self._any_case: dict[int, int] = {}
        for place, char in enumerate(self._characters):
            self._plain[ord(char)] = 1 << place
            for form in {char, *char.lower(), *char.upper()}:
                self._any_case[ord(form)] = self._any_case.get(ord(form), 0) | 1 << place
        masks = {self._category("WORD", bool(flags & re.ASCII)), 1 << self._characters.index("\n")}
        masks.update(
            mask
            for code, value, inner in walk(tree, flags)
            if (mask := self._read(code, value, inner)) is not None
        )
        kinds: dict[tuple[int, ...], int] = {}
        for place in range(len(self._characters)):
            key = tuple(mask >> place & 1 for mask in masks)
            kinds[key] = kinds.get(key, 0) | 1 << place
        self._kinds = list(kinds.values())
        self.examples = [self._characters[(kind & -kind).bit_length() - 1] for kind in self._kinds]
        self.outside = 1 << len(kinds)
        self.anything = 2 * self.outside - 1
        self.newline = self._letters(1 << self._characters.index("\n"))
        self.words = self._letters(self._category("WORD", bool(flags & re.ASCII)))

    def read(self, code: Any, value: Any, flags: int) -> int | None:
        """Return the letters that a part of one character reads, None for other parts."""
        mask = self._read(code, value, flags)
        return None if mask is None else self._letters(mask)

    def _letters(self, mask: int) -> int:
        return sum(1 << letter for letter, kind in enumerate(self._kinds) if kind & mask)

    def _find_characters(self, tree: Any) -> str:
        found = dict.fromkeys(map(chr, range(256)) if self._binary else _EXAMPLES)
        for code in sorted(set(_literals(tree))):
            for near in range(max(code - 1, 0), min(code + 2, 256 if self._binary else 0x110000)):
                found |= dict.fromkeys(
                    form
                    for form in (chr(near), *chr(near).lower(), *chr(near).upper())
                    if not self._binary or ord(form) < 256
                )
        return "".join(found)

    def _read(self, code: Any, value: Any, flags: int) -> int | None:
        everything = (1 << len(self._characters)) - 1
        any_case, plain = bool(flags & re.IGNORECASE), bool(flags & re.ASCII)
        if code is codes.IN:
            inverse = value[0][0] is codes.NEGATE
            found = 0
            for kind, item in value[inverse:]:
                found |= self._item(kind, item, any_case, plain)
            return everything - found if inverse else found
        if code is codes.LITERAL:
            return self._item(code, value, any_case, plain)
        if code is codes.NOT_LITERAL:
            return everything - self._item(codes.LITERAL, value, any_case, plain)
        if code is codes.ANY:
            return everything - (0 if flags & re.DOTALL else 1 << self._characters.index("\n"))
        return None

    def _find_item(self, kind: Any, item: Any, any_case: bool, plain: bool) -> int:
        if kind is codes.CATEGORY:
            name = str(item).removeprefix("CATEGORY_")
            found = self._category(name.removeprefix("NOT_"), plain)
            return (1 << len(self._characters)) - 1 - found if name.startswith("NOT_") else found
        places = self._any_case if any_case else self._plain
        if kind is codes.LITERAL:
            return places.get(item, 0)
        found = 0
        for code, place in places.items():
            if item[0] <= code <= item[1]:
                found |= place
        return found

    def _category(self, name: str, plain: bool) -> int:
        plain = plain or self._binary
        return sum(
            1 << place
            for place, char in enumerate(self._characters)
            if _TESTS[name](char) and not (plain and (not char.isascii() or char in "\x1c\x1d\x1e\x1f"))
        )


def walk(tree: Any, flags: int) -> Iterator[tuple[Any, Any, int]]:
    """Yield every part of an expression with the flags that hold for it."""
    for code, value in tree:
        yield code, value, flags
        if code in REPEATS:
            yield from walk(value[2], flags)
        elif code is codes.SUBPATTERN:
            yield from walk(value[3], (flags | value[1]) & ~value[2])
        elif code is codes.ATOMIC_GROUP:
            yield from walk(value, flags)
        elif code is codes.BRANCH:
            for part in value[1]:
                yield from walk(part, flags)
        elif code in LOOKS:
            yield from walk(value[1], flags)


def _literals(tree: Any) -> Iterator[int]:
    for code, value, _ in walk(tree, 0):
        for kind, item in value if code is codes.IN else [(code, value)]:
            if kind in (codes.LITERAL, codes.NOT_LITERAL):
                yield item
            elif kind is codes.RANGE:
                yield from item
