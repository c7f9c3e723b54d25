"""Rules as rows of a table: columns by width, glyphs for what has few values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from textual.content import Content

from screens.safe_text import emphasized, shown
from screens.widgets.table import Column
from workbench.records.rules import Authority, Rule
from workbench.rules.descriptions import origin

ABSOLUTE: Final = "◆"
DEFAULT: Final = "◇"
ON: Final = "●"
OFF: Final = "○"
FINDING: Final = "▲"
_TEXT: Final = 400  # characters of a rule that a row makes Content of

SCORE: Final = Column(
    "score",
    "Score",
    "How well it matches what was searched for; dim if agents would not get it.",
    7,
    align="right",
    priority=95,
)
COLUMNS: Final = (
    Column(
        "authority",
        "",
        "◆ absolute: given whenever it applies; ◇ default: given if it matches.",
        1,
        priority=90,
    ),
    Column("enabled", "", "● on, ○ off.", 1, priority=80),
    Column(
        "category",
        "Category",
        "What it is about: a preference, how to behave, or the agent itself.",
        10,
        priority=40,
    ),
    Column(
        "text",
        "Rule",
        "The rule; ▲ before it says that something is wrong about it.",
        priority=100,
        share=3,
        least=39,
    ),
    Column("origin", "Origin", "The file and the line it is written in.", priority=60, least=16, path=True),
    Column(
        "priority",
        "Priority",
        "Which of two rules comes first, from 0 to 100.",
        8,
        align="right",
        priority=70,
    ),
    Column("level", "Level", "Whether it holds everywhere, in a scenario or in one step.", 8, priority=30),
    Column("scope", "Scope", "The paths, languages or tools it holds for.", 18, priority=25),
    Column("tags", "Tags", "Words it can be filtered by.", 20, priority=15),
    Column("tokens", "Tokens", "What it takes of a budget.", 6, align="right", priority=20),
    Column("used", "Used", "How often a session was given it.", 5, align="right", priority=22),
    Column("id", "Id", "The beginning of its id.", 8, priority=10),
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
        Content.styled(rule.category.value, "$text-muted"),
        emphasized(shown(_line(rule.rule), dim, limit=_TEXT)),
        shown(origin(rule), "$text-primary", limit=_TEXT),
        str(rule.priority),
        Content.styled(rule.level.value, "$text-muted"),
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


def scored_cells(rule: Rule, score: float | None, least: float) -> tuple[Content | str, ...]:
    """Return the cells of a rule and its score, if it has one; below `least` agents would not get it."""
    if score is None:
        return ("", *rule_cells(rule))
    return (Content.styled(f"{score:.3f}", "" if score >= least else "$text-muted"), *rule_cells(rule))


def _line(text: str) -> str:
    """Return a text's beginning on one line; the rest of a very long one is not looked at."""
    head = text[: 2 * _TEXT]
    return " ".join(head.split()) + ("" if len(head) == len(text) else " …")
