"""The pane beside a list: the record under the cursor whole, and what was done to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import Static

from screens.commands import pane_title
from screens.rules.rule_view import mark_rewording
from screens.safe_text import join_parts, safe
from screens.themes import style_of
from screens.widgets.diff import ReadingPane
from workbench.text.word_diff import word_pieces

if TYPE_CHECKING:
    from workbench.curation.records import RecordChange

_MARGIN: Final = 5  # cells of padding, border and scrollbar
_MOST: Final = 40  # changes that are shown
_TEXTS: Final = frozenset({"text", "reason"})


@dataclass(frozen=True, slots=True)
class RecordPast:
    """How changes of a type of record are shown: what coming and going is called, and the fields compared."""

    added: str
    removed: str
    fields: tuple[str, ...]

    def lines(self, changes: Sequence[RecordChange[Any]], width: int) -> Iterator[Content]:
        """Yield what was done to a record, the newest first, wrapped at `width` cells."""
        if not changes:
            return
        yield Content("")
        yield Content.styled("what was done to it", "bold $text-muted")
        for change in changes[: -_MOST - 1 : -1]:
            head = join_parts(
                (f"  {moment(change.at)}  ", "$text-muted"),
                (f"{change.by}  ", "$text-secondary"),
                (change.reason, ""),
            )
            first, *more = head.wrap(max(width, 20))
            yield first
            yield from (Content("    ") + part for part in more)
            for line in self.differences(change):
                yield from (Content("    ") + part for part in line.wrap(max(width - 4, 20)))
        if len(changes) > _MOST:
            yield Content.styled(f"  and {len(changes) - _MOST:,} more", "$text-muted")

    def differences(self, change: RecordChange[Any]) -> Iterator[Content]:
        """Yield what a change did, a field a line, the words of texts marked in place."""
        before, after = change.before, change.after
        if before is None or after is None:
            yield Content.styled(f"+ {self.added}" if before is None else f"- {self.removed}", "bold")
            return
        for name in self.fields:
            old, new = getattr(before, name), getattr(after, name)
            if old == new:
                continue
            label = Content.styled(f"{name.removesuffix('_id').replace('_', ' ')}: ", "bold")
            if name in _TEXTS:
                yield label + mark_rewording(word_pieces(old, new))
            else:
                yield label + join_parts(
                    (_plain(old), "$text-error strike"), (" → ", ""), (_plain(new), "$text-success")
                )


def moment(at: str) -> str:
    """Return the minute of an ISO 8601 time."""
    return at[:16].replace("T", " ")


def _plain(value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(str, value)) or "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value) if value not in (None, "") else "none"


class RecordPane(ReadingPane):
    """Shows the record it is given, called `noun`, and asks for nothing itself."""

    DEFAULT_CSS = style_of("RecordPane")

    def __init__(self, noun: str, *, id: str | None = None) -> None:
        super().__init__(id=id, classes="record-pane")
        self.border_title = pane_title(noun.capitalize(), "next-pane")
        self.key = ""
        self._empty = f"Move to a {noun} to read it here."
        self._content: Callable[[int], Content] | None = None

    def compose(self) -> ComposeResult:
        """Lay out the text."""
        yield Static(safe(""))

    def show(self, key: str = "", content: Callable[[int], Content] | None = None) -> None:
        """Show the record of a key, whose content is wrapped at a width in cells, or that there is none."""
        before, self.key, self._content = self.key, key, content
        self.on_resize()
        if before != key or not key:
            self.scroll_home(animate=False)

    def on_resize(self) -> None:
        """Wrap at the new width."""
        content = self._content
        room = max(self.size.width - _MARGIN, 20)
        self.query_one(Static).update(
            safe(self._empty, "$text-muted italic") if content is None else content(room)
        )
