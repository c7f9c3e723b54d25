"""Did it help? What was handed over and what became of it: tables by hand-over, by rule and by variant."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content

from screens.safe_text import embolden, safe
from screens.widgets.code import Details
from screens.widgets.table import Column, ListRows, VirtualTable
from workbench.text.counts import abbreviate, plural
from workbench.text.sanitize import visible_line

if TYPE_CHECKING:
    from workbench.records.answers.usage import (
        DoorUse,
        RuleOutcome,
        RuleUse,
        UsageResponse,
        VariantGap,
    )

_DOORS = (
    Column("event", "Hand-over", "The hook, tool or command that handed something over.", 16, priority=9),
    Column("agent", "Agent", "The agent that got it.", 8, priority=7),
    Column("asked", "Asked", "How often it was asked.", 6, "right", priority=6),
    Column("silent", "Silent", "How often nothing was relevant enough.", 6, "right", priority=4),
    Column("tokens", "Tokens", "Tokens that were added in all.", 7, "right", priority=7),
    Column("files", "Files", "Files shown or named, each once a session.", 6, "right", priority=8),
    Column("opened", "Opened", "Of these, read or edited in that session later on.", 6, "right", priority=8),
    Column("edited", "Edited", "Files that those sessions edited afterwards.", 6, "right", priority=5),
    Column("missed", "Not given", "Of these, given to their session by nothing.", 9, "right", priority=8),
)
_RULES = (
    Column("rule", "Rule", "The rule's text.", priority=9, least=20, share=1),
    Column("matched", "Matched", "Sessions with a task that it matched.", 7, "right", priority=4),
    Column("given", "Given", "Sessions that it was handed to.", 6, "right", priority=8),
    Column("loaded", "Loaded", "Sessions whose agent loaded its file by itself.", 6, "right", priority=6),
    Column(
        "obeyed",
        "Obeyed",
        "Sessions that had it and did not break it, where a check can judge that.",
        6,
        "right",
        priority=7,
    ),
    Column(
        "broken",
        "Broken",
        "Sessions that had it and broke it, where a check can judge that.",
        6,
        "right",
        priority=8,
    ),
    Column("success", "Succeeded", "Sessions that had it and succeeded.", 9, "right", priority=3),
    Column("failed", "Failed", "Sessions that had it and failed.", 6, "right", priority=2),
    Column(
        "share",
        "Success",
        "Share of judged sessions that had it and succeeded, with its 95 % interval.",
        16,
        "right",
        priority=5,
    ),
    Column("variant", "Variant", "How rules were matched there.", 8, priority=1),
)
_VARIANTS = (
    Column(
        "measure",
        "Variant against default",
        "What is compared, and how many sessions of each there are.",
        priority=9,
        least=24,
        share=1,
    ),
    Column("variant", "Variant", "How rules were matched there.", 8, "right", priority=6),
    Column("default", "Default", "The mean without the variant.", 8, "right", priority=6),
    Column("gap", "Difference", "The variant's mean less that without it.", 10, "right", priority=8),
    Column(
        "interval",
        "95 % interval",
        "Where the difference lies with 95 % confidence.",
        18,
        "right",
        priority=7,
    ),
    Column("p", "p value", "How likely so large a difference is by chance.", 7, "right", priority=5),
)


@dataclass(frozen=True, slots=True)
class ShownUsage:
    """What was handed over in a time, and the texts of the rules among it by id."""

    found: UsageResponse
    texts: Mapping[str, str] = field(default_factory=dict)


class UsageTables(Vertical):
    """Hand-overs above rules, and variants of the matching where sessions got one."""

    def compose(self) -> ComposeResult:
        """Put the tables below each other."""
        yield VirtualTable(
            _DOORS,
            id="usage-doors",
            empty="Nothing was handed over in this time. Press + to look further back.",
        )
        yield VirtualTable(_RULES, id="usage-rules", empty="No session was given a rule, or loaded one.")
        yield VirtualTable(_VARIANTS, id="usage-variants")

    def show(self, usage: ShownUsage) -> None:
        """Show what was counted; rows stay under their cursors."""
        found = usage.found
        had = [one for one in found.rules if one.given or one.loaded]
        for name, rows in (
            ("doors", ListRows(found.hooks, key=_door_key, cells=door_cells)),
            ("rules", ListRows(had, key=_rule_key, cells=lambda one: rule_cells(one, usage.texts))),
            ("variants", ListRows(found.variants, key=lambda one: one.measure, cells=variant_cells)),
        ):
            table = self.query_one(f"#usage-{name}", VirtualTable)
            table.set_rows(rows, keep=table.cursor_key)
        self.set_class(bool(found.variants), "-tested")
        self._usage = usage

    @on(VirtualTable.Opened, "#usage-doors")
    def _door_opened(self, message: VirtualTable.Opened) -> None:
        one = next(one for one in self._usage.found.hooks if _door_key(one) == message.key)
        self.app.push_screen(Details("A hand-over", door_story(one)))

    @on(VirtualTable.Opened, "#usage-rules")
    def _rule_opened(self, message: VirtualTable.Opened) -> None:
        one = next(one for one in self._usage.found.rules if _rule_key(one) == message.key)
        self.app.push_screen(Details("A rule", rule_story(one, self._usage.texts)))


def usage_line(found: UsageResponse) -> str:
    """Return in a line what sessions were given and did with it, empty where nothing was handed over."""
    sessions = [one for one in found.sessions if one.session_id]
    if not found.hooks:
        return ""
    given, opened = sum(one.files for one in found.sessions), sum(one.opened for one in sessions)
    changed, missed = sum(len(one.changed) for one in sessions), sum(len(one.missed) for one in sessions)
    parts = [
        plural(sum(one.calls for one in found.hooks), "hand-over"),
        abbreviate(sum(one.tokens for one in found.hooks), "token"),
        f"{plural(given, 'file')} given",
        f"{opened:,} opened",
        f"{changed:,} edited",
    ]
    if missed:
        parts.append(f"! {missed:,} not given")
    if broken := sum(len(one.broken) for one in sessions):
        parts.append(f"✗ {plural(broken, 'rule')} broken although given")
    return " · ".join(parts)


def door_cells(one: DoorUse) -> tuple[Content, ...]:
    """Return a row of hand-overs: hook, tool or command, its agent, and what became of what it gave."""
    counts = (one.calls, one.silent, None, one.files, one.opened, one.edited)
    return (
        safe(one.event, "bold"),
        safe(one.agent or "·", "$text-muted"),
        *(Content(abbreviate(one.tokens)) if number is None else _number(number) for number in counts),
        _warning_text("!", one.missed, "$text-warning"),
    )


def rule_cells(one: RuleUse, texts: Mapping[str, str]) -> tuple[Content, ...]:
    """Return a rule's row: its text and sessions; whether they obeyed only where a check can judge it."""
    return (
        embolden(safe(" ".join(texts.get(one.rule_id, one.rule_id).split()))),
        *map(_number, (one.matched, one.given, one.loaded)),
        Content(f"{one.obeyed:,}" if one.checkable else "·"),
        _warning_text("✗", one.broken, "$text-error") if one.checkable else Content("·"),
        *map(_number, (one.success, one.failed)),
        Content("·" if one.outcome is None else _share_text(one.outcome)),
        safe(one.variant, "$text-muted"),
    )


def variant_cells(one: VariantGap) -> tuple[Content, ...]:
    """Return what differs between sessions with a variant of the matching and those without."""
    return (
        safe(f"{one.measure} ({'paired' if one.paired else f'{one.variant_count} and {one.default_count}'})"),
        *(Content(f"{value:.3g}") for value in (one.variant_mean, one.default_mean)),
        Content(f"{one.difference:+.3g}"),
        Content(f"{one.low:+.3g} to {one.high:+.3g}"),
        Content(f"{one.p:.2g}"),
    )


def door_story(one: DoorUse) -> str:
    """Return everything that was counted of a hand-over, one figure a line."""
    agent = f"of {visible_line(one.agent)}" if one.agent else ""
    return _story(
        f"{visible_line(one.event)} {agent}".rstrip(),
        (
            (one.calls, "times asked"),
            (one.silent, "times nothing was relevant enough"),
            (one.tokens, "tokens added"),
            (one.files, "files shown or named"),
            (one.opened, "of these read or edited later on"),
            (one.changed, "of these edited later on"),
            (one.nearby, "other files touched: beside them, or linked by imports"),
            (one.elsewhere, "other files touched elsewhere"),
            (one.edited, "files edited in those sessions"),
            (one.missed, "of these given by nothing"),
        ),
    )


def rule_story(one: RuleUse, texts: Mapping[str, str]) -> str:
    """Return everything that was counted of a rule: sessions, each once."""
    judged = ((one.obeyed, "had it and obeyed"), (one.broken, "had it and broke it"))
    variant = f"\nvariant {visible_line(one.variant)}" if one.variant else ""
    ended = "" if one.outcome is None else f"\n\n{_outcome_text(one.outcome)}"
    return (
        _story(
            f"{visible_line(' '.join(texts.get(one.rule_id, '').split()))}\n{one.rule_id}{variant}".strip(),
            (
                (one.matched, "sessions with a task that it matched"),
                (one.given, "were given it"),
                (one.loaded, "had it loaded by their agent"),
                *(judged if one.checkable else ()),
                (one.success, "had it and succeeded"),
                (one.failed, "had it and failed"),
            ),
        )
        + ended
        + ("" if one.checkable else "\n\nNo check can judge whether they obeyed.")
    )


def _share_text(one: RuleOutcome) -> str:
    return f"{one.share:.0%} ({one.low:.0%}–{one.high:.0%})"


def _outcome_text(one: RuleOutcome) -> str:
    """Return how sessions with a rule ended beside those without it, in sentences."""
    text = f"{_share_text(one)} of {plural(one.judged, 'judged session')} with it succeeded"
    if not one.others:
        return f"{text}; none was judged without it."
    ends = f"{100 * one.difference_low:+.0f} to {100 * one.difference_high:+.0f}"
    return (
        f"{text}, {one.others_share:.0%} of {one.others:,} without it: {100 * one.difference:+.0f} points "
        f"({ends} with 95 % confidence).\nRules are given to the tasks they match: it is not a cause."
    )


def _story(head: str, figures: tuple[tuple[int, str], ...]) -> str:
    return "\n".join([head, "", *(f"{number:>9,}  {words}" for number, words in figures)])


def _door_key(one: DoorUse) -> str:
    return f"{one.agent}\0{one.event}"


def _rule_key(one: RuleUse) -> str:
    return f"{one.rule_id}\0{one.variant}"


def _number(value: int) -> Content:
    return Content(f"{value:,}") if value else Content("·")


def _warning_text(mark: str, value: int, style: str) -> Content:
    return Content.styled(f"{mark} {value:,}", style) if value else Content("·")
