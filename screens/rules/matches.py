"""Which rules match a message, which nearly do, and the parts of each score as bars."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import Static

from screens.engine import AppEngine
from screens.headless import run_command
from screens.jobs import Job
from screens.safe_text import embolden, safe, shown_lines
from screens.themes import style_of
from screens.widgets.bars import Contribution, FeatureBars
from screens.widgets.table import Column, ListRows, VirtualTable
from workbench.records.rules import Rule
from workbench.rules.descriptions import origin

if TYPE_CHECKING:
    from workbench.rules.matching.match import MatchParams


def answer_cells(answer: MessageMatch) -> tuple[Content, ...]:
    """Return whether a rule matches, its score, its text and its place."""
    yes = not answer.reason
    style = "" if yes else "$text-muted"
    return (
        Content.styled("✓" if yes else "·", "$text-success" if yes else "$text-muted"),
        Content.styled(f"{answer.final:.3f}", style),
        embolden(safe(" ".join(answer.rule.rule[:400].split()), style)),
        safe(origin(answer.rule), "$text-muted"),
    )


def score_parts(answer: MessageMatch) -> tuple[Contribution, ...]:
    """Return what the score of a rule is made of; the parts add up to it."""
    return tuple(Contribution(name, value, note) for name, value, note in answer.parts)


def why(answer: MessageMatch) -> Content:
    """Return why a rule answers or does not, in a sentence."""
    if answer.reason:
        return shown_lines(f"does not match: {answer.reason}", "$text-warning")
    return shown_lines(answer.why, "$text-muted")


class MatchesView(Vertical):
    """The rules above the parts of the score of the one under the cursor."""

    DEFAULT_CSS = style_of("MatchesView")

    class RuleWanted(Message):
        """A rule was opened, to be shown in the list."""

        def __init__(self, rule_id: str) -> None:
            super().__init__()
            self.rule_id = rule_id

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.rows: tuple[MessageMatch, ...] = ()

    def compose(self) -> ComposeResult:
        """Lay out table, bars and reasons."""
        yield VirtualTable(
            (
                Column("yes", "", "✓ the rule matches the message, · it nearly does.", 1, priority=9),
                Column(
                    "score",
                    "Score",
                    "How well it matches: the sum of the bars below.",
                    6,
                    align="right",
                    priority=8,
                ),
                Column("text", "Rule", "The rule's text.", priority=10, share=3),
                Column("origin", "Origin", "Where it is written.", 18, priority=1, path=True),
            ),
            empty="Write a message above and press enter: the rules that match it are listed here, with why.",
        )
        yield FeatureBars(order="given", empty="")
        yield Static()

    def show(self, found: MessageMatches) -> None:
        """Show the rules that match a message."""
        self.rows = found.answers
        table = self.query_one(VirtualTable)
        table.set_empty("No rule matches that, not even nearly.")
        rows: Sequence[MessageMatch] = self.rows
        table.set_rows(ListRows(rows, key=lambda row: row.rule.id, cells=answer_cells))
        self._show(0)

    @on(VirtualTable.Highlighted)
    def _handle_move(self, event: VirtualTable.Highlighted) -> None:
        event.stop()
        self._show(event.index)

    @on(VirtualTable.Opened)
    def _handle_open(self, event: VirtualTable.Opened) -> None:
        event.stop()
        self.post_message(self.RuleWanted(event.key))

    def _show(self, index: int) -> None:
        bars, text = self.query_one(FeatureBars), self.query_one(Static)
        if 0 <= index < len(self.rows):
            answer = self.rows[index]
            bars.show(score_parts(answer), total=answer.final)
            text.update(why(answer))
        else:
            bars.show(())
            text.update(safe(""))


NEAR: Final = 12
"""Rules that nearly answered to a message and are listed with why they did not."""


@dataclass(frozen=True, slots=True)
class MessageMatch:
    """A rule and how well it matches a message: `final` is the sum of its weighted `parts`, by name.

    `reason` says why it does not match, '' if it does; `why` says in sentences what is behind the score.
    """

    rule: Rule
    final: float
    parts: tuple[tuple[str, float, str], ...]
    why: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class MessageMatches:
    """The rules that match a message, best first, then those that nearly do, with why they do not."""

    message: str
    answers: tuple[MessageMatch, ...]
    notes: tuple[str, ...] = ()

    @property
    def matched(self) -> int:
        """How many rules answer."""
        return sum(not answer.reason for answer in self.answers)


def answers(engine: AppEngine, message: str, job: Job) -> MessageMatches:
    """Match the rules with a message and the files it is about, as a plan does. Raises: WorkbenchError.

    A project without an index is indexed first, in a process of its own.
    """
    from workbench.plan.passages import match_task
    from workbench.plan.planner import rank
    from workbench.records.plan import PlanRequest
    from workbench.rules.matching.search import search_selected

    with engine.planning("rules", job.progress) as work:
        opened = work.opened
        if not opened.workspace.indexed:
            run_command(job, engine.root, ["index"])
        ranking = rank(opened.workspace, opened.planner, message, progress=job.progress)
        request = PlanRequest(str(opened.root), message, tool=opened.config.rules.tool)
        _, report = match_task(opened.workspace, opened.planner, request, ranking)
        planner, book = opened.planner, opened.workspace.rulebook
        vector = ranking.vector.get() if book.rules else None
        index = planner.matcher.index(book.rules, book.words, None if vector is None else planner.embedder)
    params = planner.matching
    matched = {match.rule.id for match in report.matches}
    about = search_selected(index, message, None, vector, limit=NEAR + len(matched), least=0.0).found
    near = [one for one in about if one.rule.id not in matched][:NEAR]
    reasons = dict(report.rejected) if near else {}
    found = [
        _answer(match.rule, match.relevance, match.vector, match.bm25, params, match.why)
        for match in report.matches
    ]
    others = [
        _answer(one.rule, one.score, one.vector, one.words, params, "", reasons.get(one.rule.id, "left out"))
        for one in near
    ]
    found += sorted(others, key=lambda one: (-one.final, -one.rule.priority, one.rule.id))
    return MessageMatches(message, tuple(found), tuple(report.notes))


def _answer(
    rule: Rule,
    relevance: float,
    vector: float | None,
    words: float | None,
    params: MatchParams,
    why: str,
    reason: str = "",
) -> MessageMatch:
    """Return a rule with the weighted parts of its score, as a match scores it [adr2]."""
    parts_text = [
        f"meaning {vector:.2f}" if vector is not None else "",
        f"words {words:.2f}" if words is not None else "",
    ]
    parts = (
        ("relevance", params.hybrid_weight * relevance, " ".join(filter(None, parts_text))),
        ("priority", params.priority_weight * min(max(rule.priority, 0), 100) / 100, str(rule.priority)),
        ("level", params.scope_weight * params.level_weights.get(rule.level, 1.0), str(rule.level)),
    )
    return MessageMatch(rule, sum(value for _, value, _ in parts), parts, why, reason)
