"""How much of a token budget is used, and by what: rules, learnings, stash, files.

Each kind has a glyph besides its colour, what is free is dots, and a budget that is exceeded says so in
words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from textual.content import Content
from textual.widget import Widget

from screens.safe_text import shown

FREE: Final = "·"
"""The glyph of what is not used."""

OVER: Final = "!"
"""The glyph of what is used beyond the limit."""

_GLYPHS: Final = {"rules": "█", "learnings": "▓", "stash": "▒", "files": "■"}
_STYLES: Final = {
    "rules": "$text-primary",
    "learnings": "$text-accent",
    "stash": "$text-warning",
    "files": "$text-success",
}
_OTHER: Final = "▪"


@dataclass(frozen=True, slots=True)
class Portion:
    """Tokens used by one kind of knowledge."""

    kind: str
    tokens: int


def cells(portions: Sequence[Portion], limit: int, width: int) -> list[tuple[str, int]]:
    """Return (kind, cells) of a bar of `width` cells in all: portions in order, then what is free or over.

    What has tokens has a cell as long as there are cells; the kind of free cells is `FREE`, of those beyond
    the limit `OVER`.
    """
    used = [portion for portion in portions if portion.tokens > 0]
    total = sum(portion.tokens for portion in used)
    over = max(round((total - limit) * width / total), 1) if total > max(limit, 0) else 0
    room = max(width - over, 0)
    unit = room / total if over else width / max(limit, 1)
    counts = [max(round(portion.tokens * unit), 1) for portion in used]
    while sum(counts) > room:
        largest = max(counts)
        counts[len(counts) - 1 - counts[::-1].index(largest)] -= 1
    bars = [(portion.kind, count) for portion, count in zip(used, counts, strict=True)]
    rest = (OVER if over else FREE, width - sum(counts))
    return [(kind, count) for kind, count in [*bars, rest] if count > 0]


class BudgetBar(Widget):
    """The used and the free tokens of a budget: numbers, a bar, and what each kind uses. Three lines."""

    DEFAULT_CSS = """
    BudgetBar {
        height: 3;
        width: 1fr;
        &.-short { height: 2; }
    }
    """

    def __init__(
        self,
        limit: int = 0,
        portions: Sequence[Portion] = (),
        *,
        id: str | None = None,
        classes: str | None = None,
    ) -> None:
        super().__init__(id=id, classes=classes)
        self._limit = limit
        self._portions = tuple(portions)

    @property
    def used(self) -> int:
        """Tokens used."""
        return sum(portion.tokens for portion in self._portions)

    @property
    def limit(self) -> int:
        """Tokens that may be used."""
        return self._limit

    @property
    def over(self) -> int:
        """Tokens used beyond the limit."""
        return max(self.used - self._limit, 0)

    def show(self, limit: int, portions: Sequence[Portion]) -> None:
        """Show another state of the budget."""
        self._limit, self._portions = limit, tuple(portions)
        self.refresh()

    def render(self) -> Content:
        """Return the numbers, the bar and the kinds; a height of two leaves the kinds out."""
        width, height = self.content_size.width, self.content_size.height
        lines = [self._numbers(), self._bar(width), self._kinds()][: max(height, 1)]
        return Content("\n").join([line.truncate(width, ellipsis=True) for line in lines])

    def _numbers(self) -> Content:
        share = f" ({100 * self.used / self._limit:.0f} %)" if self._limit > 0 else ""
        numbers = f"{self.used:,} of {self._limit:,} tokens{share}"
        if self.over:
            return Content.assemble(
                (f"{OVER} over by {self.over:,}", "bold reverse $text-error"), f"  {numbers}"
            )
        return Content.assemble((numbers, "bold"), (f"  {self._limit - self.used:,} free", "$text-muted"))

    def _bar(self, width: int) -> Content:
        styles = {FREE: "$text-muted", OVER: "bold $text-error"}
        glyphs = {FREE: FREE, OVER: OVER}
        return Content.assemble(
            *(
                (
                    glyphs.get(kind, _GLYPHS.get(kind, _OTHER)) * count,
                    styles.get(kind, _STYLES.get(kind, "$text")),
                )
                for kind, count in cells(self._portions, self._limit, width)
            )
        )

    def _kinds(self) -> Content:
        return Content("  ").join(
            Content.assemble(
                (_GLYPHS.get(portion.kind, _OTHER), _STYLES.get(portion.kind, "$text")),
                " ",
                shown(portion.kind, limit=20),
                f" {portion.tokens:,}",
            )
            for portion in self._portions
            if portion.tokens > 0
        )
