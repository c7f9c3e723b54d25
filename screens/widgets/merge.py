"""Two texts merged into one: left, result, right, and keys that take one side of each difference.

The result can be edited freely at any time; what a key replaces comes back with ctrl+z, because it is an edit
of the result like any other. Panes stand side by side from a hundred columns on and below each other under
that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Final, Literal, TypeAlias

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.events import Resize
from textual.widgets import Static, TextArea

from screens.commands import widget_bindings
from screens.modal import Modal
from screens.safe_text import safe, shown_lines
from screens.themes import style_of
from screens.widgets.dialogs import Validate, leave
from screens.widgets.diff import LEFT_STYLE, RIGHT_STYLE
from screens.widgets.fields import SafeArea
from workbench.text.sanitize import visible
from workbench.text.word_diff import line_pieces, word_pieces

Side: TypeAlias = Literal["left", "right", "both"]

_HERE: Final = "reverse"
_NOTHING: Final = "▏"
_SIDE_BY_SIDE: Final = 100
_MOST_WRAPPED: Final = 20_000
_KEYS: Final = "←/→ take  b both  n/N move  L/R all  e edit  ^s save  esc leave"


@dataclass(frozen=True, slots=True)
class Part:
    """A stretch of both texts; the same in both where `differs` is false."""

    left: str
    right: str

    @property
    def differs(self) -> bool:
        """Whether there is something to choose."""
        return self.left != self.right


def parts_of(left: str, right: str) -> tuple[Part, ...]:
    """Return two texts as parts, by lines where both have several, by words otherwise.

    All `left` of them are the left text, all `right` the right one.
    """
    compare = line_pieces if "\n" in left.strip() and "\n" in right.strip() else word_pieces
    parts: list[Part] = []
    for kind, text in compare(left, right):
        if kind == "same":
            parts.append(Part(text, text))
        elif kind == "new" and parts and parts[-1].differs and not parts[-1].right:
            parts[-1] = Part(parts[-1].left, text)
        else:
            parts.append(Part(text, "") if kind == "old" else Part("", text))
    return tuple(parts)


def merge_parts(parts: Sequence[Part], choices: Sequence[Side]) -> str:
    """Return the text with a side chosen for each part that differs, in their order."""
    remaining = iter(choices)
    return "".join(_pick_side(part, next(remaining)) if part.differs else part.left for part in parts)


class MergeEditor(Modal[str | None]):
    """Merges two texts; gives the result when it is saved and valid, None when it is left."""

    DEFAULT_CSS = style_of("MergeEditor")
    BINDINGS: ClassVar[list[BindingType]] = widget_bindings("merge")

    def __init__(
        self,
        left: str,
        right: str,
        *,
        title: str = "Merge",
        left_title: str = "left",
        right_title: str = "right",
        result: str | None = None,
        validate: Validate = lambda text: "",
    ) -> None:
        super().__init__()
        self._heading = title
        self._titles = left_title, right_title
        # What is shown is what is merged: hidden characters are visible in the result, not taken over unseen.
        self._parts = parts_of(visible(left), visible(right))
        self._choices: list[Side] = ["left"] * sum(part.differs for part in self._parts)
        self._start = None if result is None else visible(result)
        self._check = validate
        self._begun = ""
        self._here = 0

    def compose(self) -> ComposeResult:
        """Lay out the panes above what is wrong and the keys."""
        text = self._begun = merge_parts(self._parts, self._choices) if self._start is None else self._start
        # Wrapping a line of a million characters takes seconds.
        wrap = max(map(len, text.split("\n"))) <= _MOST_WRAPPED
        with Vertical(id="merge-panes"):
            with MergeSide(id="merge-left", classes="merge-side"):
                yield Static()
            yield SafeArea(text, id="merge-result", soft_wrap=wrap)
            with MergeSide(id="merge-right", classes="merge-side"):
                yield Static()
        yield Static(id="merge-error")
        yield Static(classes="merge-line", id="merge-state")
        yield Static(safe(_KEYS), classes="merge-line")

    def on_mount(self) -> None:
        """Begin at the first difference."""
        for side, title in zip(("left", "right"), self._titles, strict=True):
            self.query_one(f"#merge-{side}").border_title = safe(title)
        self.query_one("#merge-result").border_title = safe(f"{self._heading}: result")
        self._mark()
        self.query_one("#merge-left").focus()

    def on_resize(self, event: Resize) -> None:
        """Put the panes below each other where they would be too narrow."""
        self.set_class(event.size.width < _SIDE_BY_SIDE, "-stacked")

    @property
    def result(self) -> str:
        """The merged text as it is now."""
        return self._area.text

    @property
    def unsaved(self) -> bool:
        """Whether the result was worked on."""
        return self.result != self._begun

    @property
    def here(self) -> int:
        """Which difference the keys are about, from 0."""
        return self._here

    @on(TextArea.Changed)
    def _handle_change(self, event: TextArea.Changed) -> None:
        event.stop()
        self.query_one("#merge-error", Static).update(safe(""))

    def action_take(self, side: Side) -> None:
        """Take a side of the current difference and go on to the next one."""
        if self._choices:
            self._choices[self._here] = side
            self._compose_result()
            self.action_move(1)

    def action_take_all(self, side: Side) -> None:
        """Take a side of every difference."""
        self._choices = [side] * len(self._choices)
        self._compose_result()
        self._mark()

    def action_move(self, step: int) -> None:
        """Go to another difference; stops at the first and the last."""
        self._here = min(max(self._here + step, 0), max(len(self._choices) - 1, 0))
        self._mark()

    def action_edit(self) -> None:
        """Write in the result."""
        self._area.focus()

    def action_leave(self) -> None:
        """Go from the result back to the sides, from there out without a result."""
        if self._area.has_focus:
            self.query_one("#merge-left").focus()
        else:
            taken = merge_parts(self._parts, self._choices)  # by keys, and soon again
            leave(self, unsaved=self.result not in (self._begun, taken))

    def action_save(self) -> None:
        """Give the result, or say what is wrong with it."""
        wrong = self._check(self.result)
        if wrong:
            self.query_one("#merge-error", Static).update(safe(f"! {wrong}"))
        else:
            self.dismiss(self.result)

    @property
    def _area(self) -> TextArea:
        return self.query_one("#merge-result", TextArea)

    def _compose_result(self) -> None:
        """Put the chosen sides into the result, as an edit that can be undone there."""
        area = self._area
        text = merge_parts(self._parts, self._choices)
        if text != area.text:
            area.history.checkpoint()
            area.replace(text, (0, 0), area.document.end)
            area.history.checkpoint()

    def _mark(self) -> None:
        for side in ("left", "right"):
            pane = self.query_one(f"#merge-{side}", VerticalScroll)
            pane.query_one(Static).update(_mark_side(self._parts, side, self._here))
            pane.scroll_to(y=max(_line(self._parts, side, self._here) - 2, 0), animate=False)
        count = len(self._choices)
        state = "no differences"
        if count:
            state = f"difference {self._here + 1} of {count}: {self._choices[self._here]}"
        self.query_one("#merge-state", Static).update(safe(state))


class MergeSide(VerticalScroll, inherit_bindings=False):
    """One of the texts that are merged; scrolls by lines and pages, sideways keys are for choosing."""

    BINDINGS: ClassVar[list[BindingType]] = widget_bindings("merge.pane")


def _pick_side(part: Part, side: Side) -> str:
    if side != "both":
        return part.left if side == "left" else part.right
    edges = part.left[-1:], part.right[:1]
    apart = not all(edges) or any(edge.isspace() for edge in edges)
    return f"{part.left}{'' if apart else ' '}{part.right}"


def _mark_side(parts: Sequence[Part], side: str, here: int) -> Content:
    """Return a side with its differences marked, the one of number `here` more than the others."""
    style = LEFT_STYLE if side == "left" else RIGHT_STYLE
    pieces: list[Content] = []
    number = -1
    for part in parts:
        text = part.left if side == "left" else part.right
        number += part.differs
        if not part.differs:
            pieces.append(shown_lines(text))
        elif number == here:
            pieces.append(shown_lines(text or _NOTHING, f"{style} {_HERE}"))
        else:
            pieces.append(shown_lines(text, style))
    return Content("").join(pieces)


def _line(parts: Sequence[Part], side: str, here: int) -> int:
    """Return the line of a side that a difference begins in, from 0."""
    number, lines = -1, 0
    for part in parts:
        number += part.differs
        if part.differs and number == here:
            break
        lines += (part.left if side == "left" else part.right).count("\n")
    return lines
