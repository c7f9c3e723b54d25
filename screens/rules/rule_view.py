"""How a rule is shown: as a row of the list, and whole in the pane beside it with its versions and uses."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

from textual.content import Content, Span

from screens.safe_text import embolden, join_parts, safe, shown_lines
from screens.widgets.bars import bar
from screens.widgets.diff import LEFT_STYLE, RIGHT_STYLE
from screens.widgets.table import Column
from workbench.records.rules import Authority, Rule
from workbench.rules.curation.differences import DescribedChange, FieldChange
from workbench.rules.curation.ledger import Use
from workbench.rules.descriptions import details, origin
from workbench.text.counts import plural
from workbench.text.sanitize import visible

if TYPE_CHECKING:
    from screens.rules.rule_service import SyncedRules
    from workbench.rules.lint.findings import LintFinding
    from workbench.rules.matching.search import FoundRule


ABSOLUTE: Final = "◆"
DEFAULT: Final = "◇"
ON: Final = "●"
OFF: Final = "○"
FINDING: Final = "▲"
_TEXT: Final = 400  # characters of a rule that a row makes Content of
_WRAP: Final = re.compile(r"(?<=[^\s:|])\n {0,3}(?![-*+] |\d+[.)] |[\s>|#=~])")
"""A line feed in the middle of a paragraph."""

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
        embolden(safe(_line(rule.rule), dim, limit=_TEXT)),
        safe(origin(rule), "$text-primary", limit=_TEXT),
        str(rule.priority),
        Content.styled(rule.level.value, "$text-muted"),
        safe(", ".join(rule.scope), "$text-muted", limit=_TEXT),
        safe(" ".join(rule.tags), "$text-secondary", limit=_TEXT),
        f"{rule.token_cost:,}",
        f"{rule.usage_count:,}" if rule.usage_count else Content.styled("·", "$text-muted"),
        safe(rule.id.removeprefix("rule-")[:8], "$text-muted"),
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


_LABEL: Final = 11

_SKIPPED: Final = frozenset({"name", "authority", "enabled", "category", "priority", "example"})

_FIELDS: Final = {
    "rule": "text",
    "tool_targets": "tools",
    "condition_text": "condition",
    "conditions": "when",
}

_BAR: Final = 20


def worst_of(findings: Sequence[LintFinding]) -> str:
    """Return the worst severity among findings."""
    return min((one.severity for one in findings), key=("error", "warning", "note").index)


def findings_content(findings: Sequence[LintFinding]) -> Content:
    """Return findings, each with its next step below it."""
    lines: list[Content] = []
    for one in findings:
        style = "bold $text-error" if one.severity == "error" else "$text-warning"
        place = f"line {one.line}: " if one.line else ""
        lines.append(
            join_parts(
                (f"{FINDING} ", style), (f"{place}{one.message}", ""), (f"  {one.kind}", "$text-muted")
            )
        )
        lines.append(join_parts(("  ", ""), (one.step, "$text-muted")))
    return Content("\n").join(lines)


def rule_content(
    rule: Rule,
    found: FoundRule | None = None,
    searched: str = "",
    *,
    findings: Sequence[LintFinding] = (),
    width: int = 80,
) -> Content:
    """Return a rule whole: its states in a line, its text, findings, fields, examples, why it was found.

    Values are wrapped at `width` cells beside their names.
    """
    parts = [_head(rule), Content(""), embolden(shown_lines(join_wrapped(rule.rule), lines=400)), Content("")]
    if findings:
        parts += [findings_content(findings), Content("")]
    if found is not None:
        parts += [_describe_match(found, searched), Content("")]
    parts += [label_value(name, value, width=width) for name, value in details(rule) if name not in _SKIPPED]
    if rule.examples:
        parts += [Content(""), Content.styled("matches", "bold $text-muted")]
        parts += [
            join_parts((f"{number:>3} ", "$text-muted"), (text, ""))
            for number, text in enumerate(rule.examples, 1)
        ]
    return Content("\n").join(parts)


def join_wrapped(text: str) -> str:
    """Return a text without the line feeds that wrap its lines; lists, tables and code keep theirs."""
    has_lines = any(mark in text for mark in ("```", "~~~", "-|", "|-"))
    return text if has_lines else _WRAP.sub(" ", text)


def _head(rule: Rule) -> Content:
    absolute = rule.authority is Authority.ABSOLUTE
    return Content("  ").join(
        [
            Content.styled(f"{ABSOLUTE} absolute", "bold $text-accent")
            if absolute
            else Content(f"{DEFAULT} default"),
            Content.styled(f"{ON} on", "$text-success")
            if rule.enabled
            else Content.styled(f"{OFF} off", "bold $text-warning"),
            Content(rule.category.value),
            Content(f"priority {rule.priority}"),
        ]
    )


def label_value(name: str, value: str, style: str = "", *, width: int = 0) -> Content:
    """Return a name and a value, wrapped at `width` cells beside the name, not at all for 0."""
    label = Content.styled(f"{name:<{_LABEL}} ", "$text-muted")
    content = safe(value, style)
    if width <= 2 * _LABEL:
        return label + content
    lines = content.wrap(width - _LABEL - 1)
    return Content("\n" + " " * (_LABEL + 1)).join([label + lines[0], *lines[1:]]) if lines else label


def _describe_match(found: FoundRule, searched: str) -> Content:
    parts = [("found", "bold $text-muted"), (f"     {found.score:.3f}", "bold")]
    if found.vector is not None:
        parts.append((f"  meaning {found.vector:.2f}", ""))
    parts.append((f"  words {found.words:.2f}", ""))
    from workbench.rules.matching.lexical import shared_words

    terms = shared_words(found.rule, searched)
    if terms:
        parts.append((f" from {', '.join(terms)}", "$text-accent"))
    return join_parts(*parts)


def change_cells(entry: DescribedChange) -> tuple[Content, ...]:
    """Return a change of a rule as a row: when, what, by whom, which version, why or which fields."""
    rule = entry.after or entry.before
    what = {"added": "+", "restored": "+", "removed": "-", "reworded": "~"}.get(entry.what, "·")
    fields = ", ".join(_FIELDS.get(one.name, one.name) for one in entry.fields)
    why = entry.change.reason or fields or entry.title
    return (
        safe(entry.change.at[:16].replace("T", " ")),
        safe(f"{what} {entry.what}", "bold" if entry.what in ("reworded", "removed") else ""),
        safe("" if rule is None else f"v{rule.version}"),
        safe(entry.change.by, "$text-muted"),
        safe(why, "$text-muted"),
    )


def change_content(entry: DescribedChange) -> Content:
    """Return what a change did, field by field, the words of texts marked in place."""
    parts = [label_value("step", entry.title, "bold"), label_value("at", entry.change.at, "$text-muted")]
    if entry.change.machine:
        parts.append(label_value("by", entry.change.by))
    if entry.change.reason:
        parts.append(label_value("why", entry.change.reason))
    if entry.change.successor:
        parts.append(label_value("instead", entry.change.successor))
    parts.append(Content(""))
    for change in entry.fields:
        parts += [Content.styled(_FIELDS.get(change.name, change.name), "bold"), _values(change)]
    rule = entry.after or entry.before
    if not entry.fields and rule is not None:
        parts.append(shown_lines(rule.rule))
    return Content("\n").join(parts)


def _values(change: FieldChange) -> Content:
    if not change.pieces:
        return join_parts(
            ("- ", "bold"),
            (_plain(change.before), "$text-error"),
            ("  + ", "bold"),
            (_plain(change.after), "$text-success"),
        )
    return mark_rewording(change.pieces)


def mark_rewording(pieces: Iterable[tuple[str, str]]) -> Content:
    """Return a text whose words that went are struck out beside those that came: (kind, text) in order."""
    text, spans = "", []
    for kind, piece in pieces:
        start, safe = len(text), visible(piece)
        text += safe
        if kind != "same":
            spans.append(Span(start, len(text), f"{LEFT_STYLE} strike" if kind == "old" else RIGHT_STYLE))
    return Content(text, spans)


def _plain(value: object) -> str:
    if value in (None, "", [], {}):
        return "none"
    if isinstance(value, list):
        return ", ".join(map(str, value))
    if isinstance(value, dict):
        return ", ".join(
            f"{name}={item}" for name, item in value.items() if item not in ("", (), [], None, False)
        )
    return str(value)


def use_content(rule: Rule, uses: Sequence[Use]) -> Content:
    """Return how often a rule and its earlier versions were used, when, and by which tools and sessions."""
    if not uses:
        return safe(
            "No session was given this rule yet. `workbench rules usage --record` and the hooks note it.",
            "$text-muted italic",
        )
    last = max(use.at for use in uses)
    sessions = Counter(use.session_id for use in uses)
    parts = [
        label_value("used", f"{plural(len(uses), 'time')} in {plural(len(sessions), 'session')}", "bold"),
        label_value("last", last[:16].replace("T", " ")),
        label_value("cost", f"{plural(len(uses) * rule.token_cost, 'token')} in all"),
        Content(""),
    ]
    parts += _chart_counts("by tool", Counter(use.tool or "?" for use in uses))
    parts += _chart_counts("by day", Counter(use.at[:10] for use in uses), by_name=True)
    parts += _chart_counts("by session", sessions)
    return Content("\n").join(parts)


def _chart_counts(title: str, counts: Counter[str], *, by_name: bool = False) -> list[Content]:
    most = max(counts.values())
    ranked = (
        sorted(counts.items(), key=lambda item: item[0], reverse=True) if by_name else counts.most_common()
    )
    rows = [
        join_parts(
            (f"  {name[:24]:<24} ", ""), (bar(count, most, _BAR), "$text-primary"), (f" {count:>5,}", "")
        )
        for name, count in ranked[:10]
    ]
    more = [safe(f"  and {len(ranked) - 10:,} more", "$text-muted")] if len(ranked) > 10 else []
    return [Content.styled(title, "bold $text-muted"), *rows, *more, Content("")]


def summary(found: SyncedRules) -> str:
    """Return how many rules there are, of how many files, how many are off, and what is out of sync."""
    parts = [plural(found.rules, "rule"), plural(found.files, "file")]
    parts += [f"{found.off:,} off"] if found.off else []
    parts += [f"{found.pending:,} not written yet: D"] if found.pending else []
    parts += [f"{found.conflicts:,} changed on both sides: D"] if found.conflicts else []
    return " · ".join(parts)


def warning_text(warnings: Sequence[str]) -> str:
    """Return what is wrong with files in one note: many at once would cover what they are about."""
    more = len(warnings) - 1
    return f"{warnings[0]}\n… and {more:,} more: see `workbench rules list`" if more else warnings[0]
