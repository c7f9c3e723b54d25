"""The bar of sections: which there are, by which key, and which one this is; a click goes there."""

from __future__ import annotations

from collections.abc import Mapping

from textual.app import RenderResult
from textual.content import Content
from textual.events import Click
from textual.message import Message
from textual.widget import Widget

from screens.sections import SECTIONS, Section

_GAP = 1


class TopBar(Widget):
    """One line of sections. Where not all titles fit, the others keep their key.

    `badges` are counts of what waits by section, shown behind its title; whoever changes them refreshes.
    """

    DEFAULT_CSS = """
    TopBar { height: 1; background: $panel; color: $foreground; }
    """

    class Chosen(Message):
        """A section was clicked."""

        def __init__(self, section: str) -> None:
            super().__init__()
            self.section = section

    def __init__(self, current: str, badges: Mapping[str, str] | None = None) -> None:
        super().__init__()
        self.current = current
        self.badges = {} if badges is None else badges

    def render(self) -> RenderResult:
        """Write the sections, the current one marked by attribute and brackets."""
        parts: list[Content] = []
        for section, text in labels(self.current, self.size.width, self.badges):
            here = section.id == self.current
            parts.append(Content.styled(text, "bold reverse" if here else "$foreground"))
            parts.append(Content(" " * _GAP))
        return Content.assemble(*parts)

    def on_click(self, event: Click) -> None:
        """Go to the section under the pointer."""
        at = 0
        for section, text in labels(self.current, self.size.width, self.badges):
            if at <= event.x < at + len(text):
                self.post_message(self.Chosen(section.id))
                return
            at += len(text) + _GAP


def labels(current: str, width: int, badges: Mapping[str, str] | None = None) -> list[tuple[Section, str]]:
    """Return the label of each section, shortened from the right until all fit into `width` cells."""
    told = {section.id: (badges or {}).get(section.id, "") for section in SECTIONS}
    full = {section.id: f" {section.key} {section.title} " for section in SECTIONS}
    full = {name: f"{text}{told[name]} " if told[name] else text for name, text in full.items()}
    brief = {section.id: f" {section.key} " for section in SECTIONS}
    chosen = dict(full)
    for section in reversed(SECTIONS):
        if sum(len(text) + _GAP for text in chosen.values()) <= width:
            break
        if section.id != current:
            chosen[section.id] = brief[section.id]
    return [(section, chosen[section.id]) for section in SECTIONS]
