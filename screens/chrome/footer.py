"""The footer: the commands that can be given here, as many as fit, with the keys they have now."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from textual.app import RenderResult
from textual.content import Content
from textual.events import Click
from textual.widget import Widget

from screens.commands.registry import find_command
from screens.keys import shown_key

_GAP = 2


@dataclass(frozen=True, slots=True)
class Entry:
    """A key and what it does. `rank` 90 and more stays to the last."""

    key: str
    title: str
    action: str
    rank: int

    @property
    def width(self) -> int:
        """Cells it takes."""
        return len(self.key) + 1 + len(self.title)


class CommandFooter(Widget):
    """One line of keys; nothing in it is ever clipped, what does not fit is in the help."""

    DEFAULT_CSS = """
    CommandFooter { height: 1; background: $panel; color: $foreground; }
    """

    def on_mount(self) -> None:
        """Follow the bindings, which change with the focus."""
        self.screen.bindings_updated_signal.subscribe(self, lambda _: self.refresh())

    def render(self) -> RenderResult:
        """Write keys and titles."""
        parts: list[Content] = []
        for entry in fitting(self.entries(), self.size.width - 1):
            parts += [
                Content(" "),
                Content.styled(entry.key, "bold $text-accent"),
                Content(f" {entry.title} "),
            ]
        return Content.assemble(*parts)

    def on_click(self, event: Click) -> None:
        """Give the command under the pointer."""
        at = 1
        for entry in fitting(self.entries(), self.size.width - 1):
            if at <= event.x < at + entry.width:
                self.run_worker(self.screen.run_action(entry.action), exit_on_error=True)
                return
            at += entry.width + _GAP

    def entries(self) -> list[Entry]:
        """Return what can be done now, by rank; a command with several keys shows its first."""
        found: dict[str, Entry] = {}
        for active in self.screen.active_bindings.values():
            binding = active.binding
            command = find_command(binding.id) if binding.id else None
            if command is None or not command.rank or not active.enabled or command.id in found:
                continue
            if self._is_written(binding.key):
                continue
            key = self.app.get_key_display(binding)
            found[command.id] = Entry(key, command.title, command.action, command.rank)
        return sorted(found.values(), key=lambda entry: entry.rank)

    def _is_written(self, key: str) -> bool:
        """Whether the focused field takes a key as text: Textual knows that of letters, not of all signs."""
        focused, written = self.screen.focused, shown_key(key)
        return focused is not None and len(written) == 1 and focused.check_consume_key(key, written)


def fitting(entries: Sequence[Entry], width: int) -> list[Entry]:
    """Return the entries that fit into `width` cells: those of rank 90 and more, then the first ones."""
    kept = [entry for entry in entries if entry.rank >= 90]
    left = width - sum(entry.width + _GAP for entry in kept)
    chosen: list[Entry] = []
    for entry in entries:
        if entry.rank < 90:
            left -= entry.width + _GAP
            if left < 0:
                break
            chosen.append(entry)
    return [*chosen, *kept]
