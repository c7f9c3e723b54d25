"""The status line: the project, what a screen has to say, and how far the work in the background is."""

from __future__ import annotations

from collections.abc import Sequence

from textual.app import RenderResult
from textual.content import Content
from textual.reactive import reactive
from textual.widget import Widget

from screens.jobs import Job
from screens.safe_text import shown


class StatusLine(Widget):
    """One line above the footer."""

    DEFAULT_CSS = """
    StatusLine { height: 1; background: $surface; color: $text-muted; }
    """
    left: reactive[str] = reactive("")
    jobs: reactive[str] = reactive("")

    def render(self) -> RenderResult:
        """Write the message, and the jobs at the right."""
        width = self.size.width
        right = shown(f" {self.jobs} ") if self.jobs else Content("")
        left = shown(f" {self.left}").truncate(max(0, width - right.cell_length), ellipsis=True)
        gap = Content(" " * max(0, width - left.cell_length - right.cell_length))
        return Content.assemble(left, gap, right.stylize("bold $text-accent"))


def jobs_text(jobs: Sequence[Job]) -> str:
    """Return what is running in a few words: `⟳ Indexing 340 of 1,200 · ctrl+c cancels`."""
    told = [job for job in jobs if not job.quiet]
    if not told:
        return ""
    job = told[0]
    if job.cancelled:
        return f"⟳ {job.name}: cancelling"
    stage = job.stage or job.name
    if job.total:
        stage += f" {min(100, 100 * job.done // job.total)}%"
    elif job.done:
        stage += f" {job.done:,}"
    more = f" +{len(told) - 1}" if len(told) > 1 else ""
    return f"⟳ {stage}{more}"
