"""What is around every screen: the bar of sections, the status line, the footer, and what covers all of it.

In a terminal too small to work in a notice covers everything.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from textual.app import RenderResult
from textual.content import Content
from textual.events import Click
from textual.message import Message
from textual.reactive import reactive
from textual.widget import Widget

from screens.commands import SECTIONS, WIDGET_RANKS, Section, find_command, key_of, shown_key
from screens.jobs import Job
from screens.safe_text import safe
from screens.themes import style_of


class TopBar(Widget):
    """One line of sections, each with its key and a name, a shorter one where there is little room.

    `badges` are counts of what waits by section, shown behind its title; the app changes them and refreshes.
    """

    DEFAULT_CSS = style_of("TopBar")

    @dataclass
    class Chosen(Message):
        """A section was clicked."""

        section: str

    def __init__(self, current: str, badges: Mapping[str, str] | None = None) -> None:
        super().__init__()
        self.current = current
        self.badges = {} if badges is None else badges

    def render(self) -> RenderResult:
        """Write the sections, the current one marked by attribute and brackets."""
        parts: list[Content] = []
        for section, text in labels(self.current, self.size.width, self.badges):
            here = section.id == self.current
            parts.append(Content.styled(text, "bold reverse") if here else styled_label(section, text))
        return Content.assemble(*parts)

    def on_click(self, event: Click) -> None:
        """Go to the section under the pointer."""
        at = 0
        for section, text in labels(self.current, self.size.width, self.badges):
            if at <= event.x < at + len(text):
                self.post_message(self.Chosen(section.id))
                return
            at += len(text)


_COUNTED = "·"
"""What joins a section's name and its count, so that no count passes for the key of the next section."""


def styled_label(section: Section, text: str) -> Content:
    """Return a label with its key like those of the footer, and its count apart from both."""
    name, dot, count = text.partition(_COUNTED)
    key, end = name.index(section.key), name.index(section.key) + len(section.key)
    return Content.assemble(
        name[:key],
        (section.key, "bold $text-accent"),
        (name[end:], "$foreground"),
        (f"{dot}{count}", "$text-warning"),
    )


def labels(current: str, width: int, badges: Mapping[str, str] | None = None) -> list[tuple[Section, str]]:
    """Return the label of each section: the longest names that all fit; from the right they get brief first.

    Together they have at most `width` cells, if keys alone fit. Where brief names do not, they lose their
    counts, then their gaps, and below the least width to work in only the current section has one.
    """
    counts = {section: f"{_COUNTED}{count}" for section, count in (badges or {}).items() if count}

    def named(full: int) -> list[str]:
        """Return the labels, the first `full` sections with their short names, the others brief."""
        names = [one.short if place < full else one.brief for place, one in enumerate(SECTIONS)]
        return [
            f" {one.key} {name}{counts.get(one.id, '')}" for one, name in zip(SECTIONS, names, strict=True)
        ]

    forms = [[f" {one.key} {one.title}{counts.get(one.id, '')} " for one in SECTIONS]]
    forms += [named(full) for full in range(len(SECTIONS), -1, -1)]
    forms += [[f" {one.key}{one.brief}" for one in SECTIONS]]
    forms += [[f" {one.key}{one.brief if one.id == current else ''}" for one in SECTIONS]]
    chosen = next((form for form in forms if sum(map(len, form)) <= width), forms[-1])
    return list(zip(SECTIONS, chosen, strict=True))


class StatusLine(Widget):
    """One line above the footer."""

    DEFAULT_CSS = style_of("StatusLine")
    left: reactive[str] = reactive("")
    jobs: reactive[str] = reactive("")

    def render(self) -> RenderResult:
        """Write the message, and the jobs at the right."""
        width = self.size.width
        right = safe(f" {self.jobs} ") if self.jobs else Content("")
        left = safe(f" {self.left}").truncate(max(0, width - right.cell_length), ellipsis=True)
        gap = Content(" " * max(0, width - left.cell_length - right.cell_length))
        return Content.assemble(left, gap, right.stylize("bold $text-accent"))


def jobs_text(jobs: Sequence[Job]) -> str:
    """Return what is running in a few words: `⟳ Indexing 340 of 1,200 · ctrl+c cancels`."""
    named = [job for job in jobs if not job.quiet]
    if not named:
        return ""
    job = named[0]
    if job.cancelled:
        return f"⟳ {job.name}: cancelling"
    stage = job.stage or job.name
    if job.total:
        stage += f" {min(100, 100 * job.done // job.total)}%"
    elif job.done:
        stage += f" {job.done:,}"
    more = f" +{len(named) - 1}" if len(named) > 1 else ""
    return f"⟳ {stage}{more}"


_GAP = 2


@dataclass(frozen=True, slots=True)
class FooterEntry:
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
    """One line of keys; nothing in it is ever clipped, what does not fit is in the help.

    It does not name the commands `without`, which do nothing where it is.
    """

    DEFAULT_CSS = style_of("CommandFooter")

    def __init__(self, without: frozenset[str] = frozenset()) -> None:
        super().__init__()
        self._without = without

    def on_mount(self) -> None:
        """Follow the bindings, which change with the focus."""
        self.screen.bindings_updated_signal.subscribe(self, lambda _: self.refresh())

    def render(self) -> RenderResult:
        """Write keys and titles."""
        parts: list[Content] = []
        for entry in fit_entries(self.entries(), self.size.width - 1):
            parts += [
                Content(" "),
                Content.styled(entry.key, "bold $text-accent"),
                Content(f" {entry.title} "),
            ]
        return Content.assemble(*parts)

    def on_click(self, event: Click) -> None:
        """Give the command under the pointer."""
        at = 1
        for entry in fit_entries(self.entries(), self.size.width - 1):
            if at <= event.x < at + entry.width:
                self.run_worker(self.screen.run_action(entry.action), exit_on_error=True)
                return
            at += entry.width + _GAP

    def entries(self) -> list[FooterEntry]:
        """Return what can be done now, by rank; a command with several keys shows its first."""
        found: dict[str, FooterEntry] = {}
        for active in self.screen.active_bindings.values():
            binding = active.binding
            identifier = binding.id or ""
            command = find_command(identifier) if identifier else None
            if rank := WIDGET_RANKS.get(identifier):
                key = self.app.get_key_display(binding)
                found[identifier] = FooterEntry(key, binding.description, binding.action, rank)
                continue
            if command is None or not command.rank or not active.enabled:
                continue
            if command.id in self._without or command.id in found:
                continue
            keys = command.keys if binding.key in command.keys else (binding.key,)  # else: a setting's
            if free := [key for key in keys if not self._is_written(key)]:
                found[command.id] = FooterEntry(
                    shown_key(free[0]), command.title, command.action, command.rank
                )
        return sorted(found.values(), key=lambda entry: entry.rank)

    def _is_written(self, key: str) -> bool:
        """Whether the focused field takes a key as text: Textual knows that of letters, not of all signs."""
        focused, written = self.screen.focused, shown_key(key)
        return focused is not None and len(written) == 1 and focused.check_consume_key(key, written)


def fit_entries(entries: Sequence[FooterEntry], width: int) -> list[FooterEntry]:
    """Return the entries that fit into `width` cells: those of rank 90 and more, then the first ones."""
    kept = [entry for entry in entries if entry.rank >= 90]
    left = width - sum(entry.width + _GAP for entry in kept)
    chosen: list[FooterEntry] = []
    for entry in entries:
        if entry.rank < 90:
            left -= entry.width + _GAP
            if left < 0:
                break
            chosen.append(entry)
    return [*chosen, *kept]


MIN_WIDTH = 60
MIN_HEIGHT = 20


class TooSmall(Widget):
    """Says how large the terminal has to be; while it shows, commands that change something do nothing."""

    DEFAULT_CSS = style_of("TooSmall")

    def render(self) -> RenderResult:
        """Write both sizes."""
        width, height = self.app.size
        return Content(f"! {width}×{height} is too small\n{MIN_WIDTH}×{MIN_HEIGHT} at least\nctrl+q leaves")


ANY_TRANSCRIPT = "TRANSCRIPT…"


def teach(about: str, commands: tuple[str, ...], keys: dict[str, str]) -> str:
    """Return what an empty section says: `keys` maps ids of commands to what they do there."""
    width = max((len(key_of(one)) for one in keys), default=0)
    lines = [f"{key_of(one):<{width}}  {does}" for one, does in keys.items()]
    return "\n".join([about, *(["", *(f"  {one}" for one in commands)] if commands else []), "", *lines])


def transcripts_of(root: Path) -> str:
    """Return where Claude Code keeps the transcripts of a project, as an argument of a command."""
    from workbench.sessions.importers.places import project_directories

    home = Path(os.environ.get("HOME") or Path.home())
    try:
        found = project_directories([str(root)], home, os.environ, ())
    except OSError:
        return ANY_TRANSCRIPT
    if not found:
        return ANY_TRANSCRIPT
    if found[0].is_relative_to(home):
        return f"~/{shlex.quote(str(found[0].relative_to(home)))}"
    return shlex.quote(str(found[0]))
