"""Rules as rows of a table: columns by width, glyphs for what has few values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from textual.content import Content

from screens.safe_text import shown
from screens.widgets.table import Column
from workbench.records.rules import Authority, Category, Level, Rule
from workbench.rules.descriptions import origin

ABSOLUTE: Final = "◆"
DEFAULT: Final = "◇"
ON: Final = "●"
OFF: Final = "○"
FINDING: Final = "▲"
CATEGORIES: Final[Mapping[Category, str]] = {
    Category.PREFERENCE: "P",
    Category.BEHAVIOR: "B",
    Category.AGENT: "A",
}
LEVELS: Final[Mapping[Level, str]] = {Level.GLOBAL: "global", Level.SCENARIO: "scen.", Level.STEP: "step"}

_ORIGIN: Final = 16
_TEXT: Final = 400  # characters of a rule that a row makes Content of

SCORE: Final = Column("score", "Score", 7, align="right", priority=95)
COLUMNS: Final = (
    Column("authority", "!", 1, priority=90),
    Column("enabled", "", 1, priority=80),
    Column("category", "C", 1, priority=40),
    Column("text", "Rule", priority=100, share=3, least=36),
    Column("origin", "Origin", priority=60, least=16),
    Column("priority", "Pri", 4, align="right", priority=70),
    Column("level", "Level", 6, priority=30),
    Column("scope", "Scope", 18, priority=25),
    Column("tags", "Tags", 20, priority=15),
    Column("tokens", "Tok", 5, align="right", priority=20),
    Column("used", "Used", 5, align="right", priority=22),
    Column("id", "Id", 8, priority=10),
)


_TEXT_AT: Final = next(at for at, column in enumerate(COLUMNS) if column.id == "text")


def columns(*, scored: bool) -> tuple[Column, ...]:
    """Return the columns, with that of scores where rules were searched."""
    return (SCORE, *COLUMNS) if scored else COLUMNS


def rule_cells(rule: Rule) -> tuple[Content | str, ...]:
    """Return the cells of `COLUMNS` for a rule; a disabled one is dim besides its glyph."""
    dim = "" if rule.enabled else "$text-muted"
    absolute = rule.authority is Authority.ABSOLUTE
    return (
        Content.styled(ABSOLUTE if absolute else DEFAULT, "bold $text-accent" if absolute else "$text-muted"),
        Content.styled(ON if rule.enabled else OFF, "$text-success" if rule.enabled else "$text-warning"),
        Content.styled(CATEGORIES[rule.category], "$text-muted"),
        shown(_line(rule.rule), dim, limit=_TEXT),
        shown(near_end(origin(rule)), "$text-primary", limit=_TEXT),
        str(rule.priority),
        Content.styled(LEVELS[rule.level], "$text-muted"),
        shown(", ".join(rule.scope), "$text-muted", limit=_TEXT),
        shown(" ".join(rule.tags), "$text-secondary", limit=_TEXT),
        f"{rule.token_cost:,}",
        f"{rule.usage_count:,}" if rule.usage_count else Content.styled("·", "$text-muted"),
        shown(rule.id.removeprefix("rule-")[:8], "$text-muted"),
    )


def marked_cells(cells: Sequence[Content | str], severity: str) -> tuple[Content | str, ...]:
    """Return the cells of a rule with findings, the worst one's mark before its text."""
    at = len(cells) - len(COLUMNS) + _TEXT_AT
    style = "bold $text-error" if severity == "error" else "$text-warning"
    text = cells[at]
    mark = Content.styled(f"{FINDING} ", style)
    return (*cells[:at], mark + (text if isinstance(text, Content) else Content(text)), *cells[at + 1 :])


def scored_cells(rule: Rule, score: float, least: float) -> tuple[Content | str, ...]:
    """Return the cells of a rule that was found; below `least` it would not be given to an agent."""
    return (Content.styled(f"{score:.3f}", "" if score >= least else "$text-muted"), *rule_cells(rule))


def near_end(path: str, width: int = _ORIGIN) -> str:
    """Return a path's end: as many of its last names as `width` characters hold, or the end of the last."""
    if len(path) <= width:
        return path
    *parents, kept = path.split("/")
    if len(kept) + 2 > width:
        return f"…{kept[1 - width :]}"
    while parents and len(kept) + len(parents[-1]) + 3 <= width:
        kept = f"{parents.pop()}/{kept}"
    return f"…/{kept}" if parents else kept


def _line(text: str) -> str:
    """Return a text's beginning on one line; the rest of a very long one is not looked at."""
    head = text[: 2 * _TEXT]
    return " ".join(head.split()) + ("" if len(head) == len(text) else " …")
