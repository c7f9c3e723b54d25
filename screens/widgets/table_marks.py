"""Which rows of a table are marked: single marks and sticky ranges, kept by the rows' keys.

A range is drawn from an anchor to the cursor. While it is drawn each move changes only the rows moved over,
and rows it no longer covers are again as they were before it.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable

Key = Callable[[int], str]


class Marks:
    """The keys of marked rows, and the range that is being drawn, if any."""

    def __init__(self) -> None:
        self.keys: set[str] = set()
        self._before: frozenset[str] = frozenset()
        self._anchor: int | None = None
        self._end = 0

    @property
    def drawing(self) -> bool:
        """Whether a range is being drawn."""
        return self._anchor is not None

    def toggle(self, key: str) -> None:
        """Mark a row, or take its mark off."""
        self.keys ^= {key}

    def invert(self, keys: Iterable[str]) -> None:
        """Mark those of the keys that are not marked, and take the marks off the others."""
        self.keys ^= set(keys)

    def clear(self) -> None:
        """Take all marks off and end a range."""
        self.keys = set()
        self._anchor = None

    def keep(self, known: Container[str]) -> bool:
        """Take the marks off rows that are no longer known; return whether there were any."""
        gone = {key for key in self.keys if key not in known}
        self.keys -= gone
        return bool(gone)

    def start(self, index: int, key: Key) -> None:
        """Start drawing a range at a row, which is marked."""
        self._before, self._anchor, self._end = frozenset(self.keys), index, index
        self.keys.add(key(index))

    def stretch(self, index: int, key: Key) -> bool:
        """Draw the range to a row; return whether a range is being drawn."""
        if self._anchor is None:
            return False
        for passed in range(min(index, self._end), max(index, self._end) + 1):
            name = key(passed)
            inside = min(self._anchor, index) <= passed <= max(self._anchor, index)
            (self.keys.add if inside or name in self._before else self.keys.discard)(name)
        self._end = index
        return True

    def stop(self, *, keep: bool) -> None:
        """End the range; what it marked stays marked, or is as it was before."""
        if self._anchor is not None and not keep:
            self.keys = set(self._before)
        self._anchor = None
