"""Which rules answer to a message, which nearly do, and the parts of each score as bars."""

from __future__ import annotations

from collections.abc import Sequence

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import Static

from screens.rules.finding import Answer, Answers
from screens.rules.rows import near_end
from screens.safe_text import shown, shown_lines
from screens.widgets.bars import Contribution, FeatureBars
from screens.widgets.table import Column, ListRows, VirtualTable
from workbench.rules.describing import origin


def answer_cells(answer: Answer) -> tuple[Content, ...]:
    """Return whether a rule answers, its score, its text and where it stands."""
    yes = not answer.reason
    style = "" if yes else "$text-muted"
    return (
        Content.styled("✓" if yes else "·", "$text-success" if yes else "$text-muted"),
        Content.styled(f"{answer.final:.3f}", style),
        shown(" ".join(answer.rule.rule[:400].split()), style),
        shown(near_end(origin(answer.rule)), "$text-muted"),
    )


def score_parts(answer: Answer) -> tuple[Contribution, ...]:
    """Return what the score of a rule is made of; the parts add up to it."""
    return tuple(Contribution(name, value, note) for name, value, note in answer.parts)


def why(answer: Answer) -> Content:
    """Return why a rule answers or does not, in a sentence."""
    if answer.reason:
        return shown_lines(f"does not answer: {answer.reason}", "$text-warning")
    return shown_lines(answer.why, "$text-muted")


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
        self.rows = found.answers
        table = self.query_one(VirtualTable)
        table.set_empty("No rule answers to that, not even nearly.")
        rows: Sequence[Answer] = self.rows
        table.set_rows(ListRows(rows, key=lambda row: row.rule.id, cells=answer_cells))
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
        if 0 <= index < len(self.rows):
            answer = self.rows[index]
            bars.show(score_parts(answer), total=answer.final)
            text.update(why(answer))
        else:
            bars.show(())
            text.update(shown(""))
