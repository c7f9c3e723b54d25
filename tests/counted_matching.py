"""A matcher that backtracks as Python's `re` does and counts its steps, for small expressions and texts.

It is written for its order of trying alone: parts of the parsed expression are matched by generators of the
places where they may end, the first tried first.
"""

from __future__ import annotations

import re
import re._constants as codes  # type: ignore[import-not-found]
import re._parser as parser  # type: ignore[import-not-found]
from collections.abc import Iterator
from typing import Any

MOST = 200_000
"""Steps after which counting ends."""


class _TooMany(Exception):
    """More steps than are counted."""


def count_steps(pattern: re.Pattern[str], text: str, use: str) -> int:
    """Return the steps of finding all matches in a text, or of one match of it or of its beginning."""
    matcher = _Matcher(text)
    tree = list(parser.parse(pattern.pattern, pattern.flags))
    try:
        if use != "search":
            for end in matcher.sequence(tree, 0):
                if use == "match" or end == len(text):
                    break
            return matcher.steps
        at = 0
        while at <= len(text):
            stop = next(matcher.sequence(tree, at), None)
            at = at + 1 if stop is None or stop == at else stop
    except _TooMany:
        return MOST
    return matcher.steps


class _Matcher:
    def __init__(self, text: str) -> None:
        self.text = text
        self.steps = 0

    def sequence(self, parts: list[Any], at: int) -> Iterator[int]:
        """Yield the ends of matches of parts in a row."""
        if not parts:
            yield at
            return
        code, value = parts[0]
        for end in self._part(code, value, at):
            yield from self.sequence(parts[1:], end)

    def _part(self, code: Any, value: Any, at: int) -> Iterator[int]:
        self.steps += 1
        if self.steps > MOST:
            raise _TooMany
        if code in (codes.MAX_REPEAT, codes.MIN_REPEAT):
            yield from self._repeat(value, at, 0, lazy=code is codes.MIN_REPEAT)
        elif code is codes.POSSESSIVE_REPEAT:
            yield from self._whole(value, at)
        elif code is codes.SUBPATTERN:
            yield from self.sequence(list(value[3]), at)
        elif code is codes.ATOMIC_GROUP:
            yield from self._first(list(value), at)
        elif code is codes.BRANCH:
            for part in value[1]:
                yield from self.sequence(list(part), at)
        elif code in (codes.ASSERT, codes.ASSERT_NOT):
            if self._looks(value, at) == (code is codes.ASSERT):
                yield at
        elif code is codes.AT:
            if self._is_at(value, at):
                yield at
        elif at < len(self.text) and self._reads(code, value, self.text[at]):
            yield at + 1

    def _repeat(self, value: Any, at: int, done: int, *, lazy: bool) -> Iterator[int]:
        least, most, body = value
        if lazy and done >= least:
            yield at
        if most is codes.MAXREPEAT or done < most:
            for end in self.sequence(list(body), at):
                if end > at or done < least:  # nothing is not repeated
                    yield from self._repeat(value, end, done + 1, lazy=lazy)
        if not lazy and done >= least:
            yield at

    def _whole(self, value: Any, at: int) -> Iterator[int]:
        least, most, body = value
        done = 0
        while most is codes.MAXREPEAT or done < most:
            end = next(self.sequence(list(body), at), None)
            if end is None or (end == at and done >= least):
                break
            at, done = end, done + 1
        if done >= least:
            yield at

    def _first(self, parts: list[Any], at: int) -> Iterator[int]:
        end = next(self.sequence(parts, at), None)
        if end is not None:
            yield end

    def _looks(self, value: Any, at: int) -> bool:
        direction, body = value
        begin = at if direction > 0 else at - body.getwidth()[1]
        return begin >= 0 and next(self.sequence(list(body), begin), None) is not None

    def _is_at(self, value: Any, at: int) -> bool:
        rest = self.text[at:]
        before, after = self.text[at - 1 : at].isalnum() if at else False, rest[:1].isalnum()
        if value is codes.AT_BEGINNING:
            return at == 0
        return before != after if value is codes.AT_BOUNDARY else rest in ("", "\n")

    def _reads(self, code: Any, value: Any, char: str) -> bool:
        if code is codes.ANY:
            return char != "\n"
        if code is codes.LITERAL:
            return bool(char == chr(value))
        if code is codes.NOT_LITERAL:
            return bool(char != chr(value))
        inverse = value[0][0] is codes.NEGATE
        return any(chr(item) == char for kind, item in value if kind is codes.LITERAL) != inverse
