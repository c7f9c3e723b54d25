"""A replay while it runs: how far it is, and what its systems have reached, read from its log of rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from textual.content import Content
from textual.widget import Widget

from screens.safe_text import safe
from screens.themes import style_of
from screens.widgets.bars import bar
from workbench.text.counts import plural


@dataclass(frozen=True, slots=True)
class SoFar:
    """The sums of nDCG@10 by system over `rows` tasks, and where the logs were read up to."""

    ends: Mapping[str, int]
    rows: int = 0
    sums: Mapping[str, tuple[float, int]] = field(default_factory=dict)

    def mean(self, system: str) -> float:
        """Return the mean of a system."""
        total, count = self.sums[system]
        return total / count if count else 0.0


def find_ends(directory: Path) -> SoFar:
    """Return where the logs end before a replay begins. Reads the disk: for a job."""
    from workbench.replay.row_log import log_ends

    return SoFar(log_ends(directory))


def read_further(directory: Path, before: SoFar) -> SoFar:
    """Return what has been reached now. Reads the disk: for a job."""
    from workbench.replay.row_log import new_measures

    ends, rows = new_measures(directory, before.ends)
    return SoFar(ends, before.rows + len(rows), add_rows(before.sums, rows))


def add_rows(
    sums: Mapping[str, tuple[float, int]], rows: Sequence[Mapping[str, float]]
) -> dict[str, tuple[float, int]]:
    """Return the sums with more rows in them."""
    found = dict(sums)
    for row in rows:
        for name, value in row.items():
            total, count = found.get(name, (0.0, 0))
            found[name] = (total + value, count + 1)
    return found


def live_lines(command: str, stage: str, done: int, total: int, so_far: SoFar, width: int) -> list[Content]:
    """Return the command, how far it is, and a bar for each system, in lines of at most `width` cells."""
    room = max(min(width - 30, 40), 0)
    share = f"{done:,}/{total:,}" if total else ""
    lines = [
        Content.assemble(("▶ ", "bold $text-accent"), safe(command, "bold")).truncate(width, ellipsis=True),
        Content.assemble(
            (bar(done / total, 1.0, room) if total else "", "$text-accent"),
            " " if total else "",
            safe(f"{share} {stage}".strip()),
            ("  ctrl+c cancels, what is done is kept", "$text-muted"),
        ).truncate(width, ellipsis=True),
    ]
    longest = max((len(name) for name in so_far.sums), default=0)
    for name in so_far.sums:
        mean = so_far.mean(name)
        lines.append(
            Content.assemble(
                safe(name).truncate(min(longest, 26), ellipsis=True, pad=True),
                (f" {mean:.3f} ", "bold"),
                (bar(mean, 1.0, max(min(width - min(longest, 26) - 8, 40), 0)), "$text-primary"),
            )
        )
    if so_far.rows:
        lines.append(safe(f"nDCG@10 so far, over {plural(so_far.rows, 'task')} computed now", "$text-muted"))
    return lines


class LivePanel(Widget):
    """Shows a replay that runs; takes no room while none does."""

    DEFAULT_CSS = style_of("LivePanel")

    def __init__(self) -> None:
        super().__init__(id="live")
        self._command = ""
        self._state: tuple[str, int, int] = ("", 0, 0)
        self._so_far = SoFar({})

    @property
    def so_far(self) -> SoFar:
        """What has been reached."""
        return self._so_far

    def start(self, command: str) -> None:
        """Show that a command runs."""
        self._command, self._state, self._so_far = command, ("starting", 0, 0), SoFar({})
        self.add_class("-running")
        self.refresh(layout=True)

    def update_state(self, stage: str, done: int, total: int) -> None:
        """Show how far it is."""
        self._state = (stage, done, total)
        self.refresh()

    def update_figures(self, so_far: SoFar) -> None:
        """Show what has been reached."""
        self._so_far = so_far
        self.refresh(layout=True)

    def stop(self) -> None:
        """Take no room any more."""
        self.remove_class("-running")

    def render(self) -> Content:
        """Return the lines."""
        stage, done, total = self._state
        return Content("\n").join(
            live_lines(self._command, stage, done, total, self._so_far, self.content_size.width)
        )

    def get_content_height(self, container: object, viewport: object, width: int) -> int:
        """Return a line for each system, and three for the rest."""
        return 2 + len(self._so_far.sums) + (self._so_far.rows > 0)
