"""Which rows of a table are marked, one by one or by a range that is drawn."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass


@dataclass(slots=True)
class MarkRange:
    """Rows that are marked while the cursor moves: from `anchor` to `end`, over what was marked `before`."""

    anchor: int
    end: int
    before: frozenset[str]
    dropped: bool = False

    @property
    def span(self) -> tuple[int, int]:
        """The first and the last row."""
        return min(self.anchor, self.end), max(self.anchor, self.end)


class RowMarks:
    """The keys of marked rows, and the range that is being drawn, if any."""

    def __init__(self) -> None:
        self.keys: set[str] = set()
        self.range: MarkRange | None = None

    @property
    def drawing(self) -> bool:
        """Whether a range is being drawn."""
        return self.range is not None

    def toggle(self, key: str) -> None:
        """Mark a row, or take its mark off; a row that is gone has the key "" and gets none."""
        self.keys ^= {key} - {""}

    def invert(self, keys: Iterable[str]) -> None:
        """Mark those of the keys that are not marked, and take the marks off the others."""
        self.keys ^= set(keys) - {""}

    def clear(self) -> None:
        """Take all marks off and end a range."""
        self.keys = set()
        self.range = None

    def keep(self, known: Container[str]) -> bool:
        """Take the marks off rows that are no longer known; return whether there were any."""
        gone = {key for key in self.keys if key not in known}
        self.keys -= gone
        return bool(gone)

    def start(self, index: int) -> MarkRange:
        """Start drawing a range at a row."""
        self.range = MarkRange(index, index, frozenset(self.keys))
        return self.range

    def stretch(self, index: int) -> tuple[int, int]:
        """Draw the range to a row; return the first and the last row that this may have changed."""
        assert self.range is not None
        passed = min(index, self.range.end), max(index, self.range.end)
        self.range.end = index
        return passed

    def fill(self, drawn: MarkRange, first: int, keys: Sequence[str]) -> None:
        """Mark those of the rows from `first` on that a range holds; the others are as they were before it.

        The keys may come when the range is over.
        """
        if drawn.dropped:
            return
        least, most = drawn.span
        for index, key in enumerate(keys, first):
            inside = key and (least <= index <= most or key in drawn.before)
            (self.keys.add if inside else self.keys.discard)(key)

    def stop(self, *, keep: bool) -> None:
        """End the range; what it marked stays marked, or is as it was before."""
        if self.range is not None and not keep:
            self.keys = set(self.range.before)
            self.range.dropped = True
        self.range = None
