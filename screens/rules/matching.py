"""Which rules answer to a message, which nearly do, and the parts of each score as bars."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import Static

from screens.rules.finding import Answers
from screens.safe_text import shown, shown_lines
from screens.widgets.bars import Contribution, FeatureBars
from screens.widgets.table import Column, ListRows, VirtualTable
from workbench.rules.describing import origin

if TYPE_CHECKING:
    from workbench.rules.matching.match import MatchParams, RuleMatch


@dataclass(frozen=True, slots=True)
class Answer:
    """A rule with its scores; `reason` says why it does not answer, '' if it does."""

    match: RuleMatch
    reason: str = ""


def answer_rows(found: Answers) -> tuple[Answer, ...]:
    """Return what answers, then what nearly does."""
    return (
        *(Answer(match) for match in found.matches),
        *(Answer(match, reason) for match, reason in found.near),
    )


def answer_cells(answer: Answer) -> tuple[Content, ...]:
    """Return whether a rule answers, its score, its text and where it stands."""
    yes = not answer.reason
    style = "" if yes else "$text-muted"
    return (
        Content.styled("✓" if yes else "·", "$text-success" if yes else "$text-muted"),
        Content.styled(f"{answer.match.final:.3f}", style),
        shown(" ".join(answer.match.rule.rule[:400].split()), style),
        shown(origin(answer.match.rule), "$text-muted"),
    )


def score_parts(match: RuleMatch, params: MatchParams) -> tuple[Contribution, ...]:
    """Return what the final score of a rule is made of; the parts add up to it."""
    notes = [f"meaning {match.vector:.2f}" if match.vector is not None else ""]
    notes.append(f"words {match.bm25:.2f}" if match.bm25 is not None else "")
    return (
        Contribution("relevance", params.hybrid_weight * match.relevance, " ".join(filter(None, notes))),
        Contribution("priority", match.priority, str(match.rule.priority)),
        Contribution("level", match.scope, str(match.rule.level)),
    )


def why(answer: Answer) -> Content:
    """Return why a rule answers or does not, in sentences."""
    lines = [answer.match.why]
    if answer.match.terms:
        lines.append(f"shared words: {', '.join(answer.match.terms)}")
    if answer.match.example:
        lines.append(f"closest example: {answer.match.example}")
    if answer.reason:
        lines.insert(0, f"does not answer: {answer.reason}")
    return shown_lines("\n".join(lines), "$text-muted")


class AnswersView(Vertical):
    """The rules above the parts of the score of the one under the cursor."""

    DEFAULT_CSS = """
    AnswersView {
        height: 1fr;
        & VirtualTable { height: 1fr; min-height: 3; }
        & FeatureBars { margin: 0 1; }
        & Static { height: auto; max-height: 8; padding: 0 1; }
    }
    """

    class RuleWanted(Message):
        """A rule was opened, to be shown in the list."""

        def __init__(self, rule_id: str) -> None:
            super().__init__()
            self.rule_id = rule_id

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.rows: tuple[Answer, ...] = ()
        self.params: MatchParams | None = None

    def compose(self) -> ComposeResult:
        """Lay out table, bars and reasons."""
        yield VirtualTable(
            (
                Column("yes", "", 1, priority=9),
                Column("score", "Score", 6, align="right", priority=8),
                Column("text", "Rule", priority=10, share=3),
                Column("origin", "Origin", 18, priority=1),
            ),
            empty="Write a message above and press enter: the rules that answer to it stand here, with why.",
        )
        yield FeatureBars(order="given", empty="")
        yield Static()

    def show(self, found: Answers) -> None:
        """Show what answers to a message."""
        self.rows, self.params = answer_rows(found), found.params
        table = self.query_one(VirtualTable)
        table.set_empty("No rule answers to that, not even nearly.")
        rows: Sequence[Answer] = self.rows
        table.set_rows(ListRows(rows, key=lambda row: row.match.rule.id, cells=answer_cells))
        self._show(0)

    @on(VirtualTable.Highlighted)
    def _moved(self, event: VirtualTable.Highlighted) -> None:
        event.stop()
        self._show(event.index)

    @on(VirtualTable.Opened)
    def _opened(self, event: VirtualTable.Opened) -> None:
        event.stop()
        self.post_message(self.RuleWanted(event.key))

    def _show(self, index: int) -> None:
        bars, text = self.query_one(FeatureBars), self.query_one(Static)
        if 0 <= index < len(self.rows) and self.params is not None:
            answer = self.rows[index]
            bars.show(score_parts(answer.match, self.params), total=answer.match.final)
            text.update(why(answer))
        else:
            bars.show(())
            text.update(shown(""))
