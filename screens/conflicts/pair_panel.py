"""The pair that is decided: its headline, both texts with the differing words marked, the evidence below."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from screens.conflicts.desk import Item
from screens.conflicts.wording import pair_evidence, pair_headline
from screens.widgets.diff import ReadingPane, WordDiff

_BESIDE = 84


class PairPanel(Vertical):
    """One pair, or what is said where there is none."""

    DEFAULT_CSS = """
    PairPanel {
        height: 1fr;
        width: 1fr;
        & > .pair--head { height: 1; padding: 0 1; text-wrap: nowrap; text-overflow: ellipsis; }
        & > WordDiff { height: 1fr; min-height: 6; max-height: 20; }
        & > .pair--evidence { height: 1fr; min-height: 5; padding: 0 1; border-top: solid $panel; }
        & > .pair--evidence { scrollbar-size-vertical: 1; }
        & > .pair--evidence:focus { border-top: heavy $primary; }
        & > .pair--evidence Static { height: auto; }
        & > .pair--nothing { height: 1fr; padding: 1 2; display: none; }
        &.-empty > .pair--nothing { display: block; }
        &.-empty > .pair--head, &.-empty > WordDiff, &.-empty > .pair--evidence { display: none; }
    }
    """

    def compose(self) -> ComposeResult:
        """Lay out the headline, the texts and the evidence."""
        yield Static(classes="pair--head")
        yield WordDiff(beside=_BESIDE)
        with ReadingPane(classes="pair--evidence", id="evidence"):
            yield Static()
        yield Static(classes="pair--nothing")

    def show(self, item: Item) -> None:
        """Show a pair from its beginning."""
        self.remove_class("-empty")
        left, right = item.pair.sides
        self.query_one(WordDiff).show(
            left.text,
            right.text,
            left_title=f"left · {left.where}",
            right_title=f"right · {right.where}",
        )
        pane = self.query_one("#evidence", ReadingPane)
        pane.query_one(Static).update(pair_evidence(item))
        pane.scroll_home(animate=False)

    def tell(self, item: Item, progress: tuple[int, int], place: tuple[int, int]) -> None:
        """Show where in the queue the pair is."""
        self.query_one(".pair--head", Static).update(pair_headline(item, progress, place))

    def show_nothing(self, content: Content) -> None:
        """Say why there is no pair."""
        self.add_class("-empty")
        self.query_one(".pair--nothing", Static).update(content)
