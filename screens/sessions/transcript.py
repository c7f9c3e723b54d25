"""A transcript over the screen: a conversation to read, a page at a time, from the point it was opened at."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, ClassVar, Final, TypeVar, cast

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from screens.commands import widget_bindings
from screens.jobs import Failure, Job
from screens.modal import Modal
from screens.safe_text import safe
from screens.sessions import pages
from screens.sessions.conversation import ConversationView, lay_out_turns
from screens.sessions.listing import head
from screens.sessions.pages import OpenTranscript, Point, ShownPage
from screens.themes import style_of
from screens.widgets.dialogs import CopyRequested

if TYPE_CHECKING:
    from collections.abc import Callable

    from screens.app import WorkbenchApp
    from workbench.entry.services.transcripts import SessionFile
    from workbench.sessions.transcript_pages import TranscriptPage

Result = TypeVar("Result")
_GROUPS: Final = ("page", "prompts", "lines")  # of jobs
_PULSE: Final = 0.15  # seconds


class TranscriptScreen(Modal[None]):
    """Shows the conversation an episode comes from; `J` and `K` go to the next prompt and the one before."""

    DEFAULT_CSS = style_of("TranscriptScreen")
    BINDINGS: ClassVar[list[BindingType]] = widget_bindings("transcript")

    def __init__(self, point: Point) -> None:
        super().__init__()
        self.point = point
        self.made: OpenTranscript | None = None
        self.page: TranscriptPage | None = None
        self.missing = ""
        self._gone = False
        self._width = 0

    @property
    def bench(self) -> WorkbenchApp:
        """The app."""
        return cast("WorkbenchApp", self.app)

    @property
    def view(self) -> ConversationView:
        """The conversation."""
        return self.query_one(ConversationView)

    def compose(self) -> ComposeResult:
        """Lay out the title, the conversation and the keys."""
        with Vertical():
            yield Static(safe(head(self.point.episode.task_text)), id="transcript-title")
            yield Static(id="transcript-place")
            yield ConversationView()
            keys = "J K prompts · enter unfolds · g G ends · y copies · esc closes"
            yield Static(safe(keys), id="transcript-hint")

    def on_mount(self) -> None:
        """Open the transcript once it is known how wide it is."""
        self.view.focus()
        self.view.say("Looking for the transcript …")
        self.bench.jobs.later("transcript/open", 0.01, self._open)

    def on_unmount(self) -> None:
        """Stop reading and close the file; a job that still opens one closes it itself."""
        self._gone = True
        self.action_stop()
        if self.made is not None:
            self.made.close()

    def on_resize(self) -> None:
        """Break the lines again."""
        if self.page is not None and self.view.text_width != self._width:
            self.bench.jobs.later("transcript/resize", 0.05, self._lay_out)

    # Asking.

    def _ask(
        self, name: str, work: Callable[[Job], Result], then: Callable[[Result], None], *, group: str = "page"
    ) -> Job:
        return self.bench.jobs.start(
            self,
            name,
            work,
            then,
            group=f"transcript/{group}",
            failed=self._report_failure,
            stopped=self._report_stop,
        )

    def _report_stop(self) -> None:
        if self.page is None:
            self.view.say("Cancelled. Escape closes, t opens it again.")

    def _open(self) -> None:
        self._width = self.view.text_width
        work = partial(pages.open_at, self.bench.engine, self.point, self._width, self._keep)
        job = self._ask("Opening the transcript", work, self._take_page)
        self.set_interval(_PULSE, lambda: self._tell_progress(job))

    def _tell_progress(self, job: Job) -> None:
        """Say how far the reading is until there is something to show."""
        if not job.over and job.total:
            self.view.say(f"{job.stage}: {job.done:,} of {job.total:,} …")

    def _keep(self, made: OpenTranscript) -> None:
        """Take what was opened, in the job's thread."""
        self.made = made
        if self._gone:
            made.close()

    def _take_page(self, found: tuple[SessionFile, ShownPage | None]) -> None:
        file, page = found
        if page is None or self.made is None:
            self.missing = file.why
            self.query_one("#transcript-place", Static).update(safe("no transcript"))
            self.view.say(file.why)
            return
        self._show(page)
        made = self.made
        self._ask(
            "Looking for other prompts",
            partial(pages.read_on, made),
            lambda _: self._place(),
            group="prompts",
        )

    def _report_failure(self, failure: Failure) -> None:
        if self.page is None:
            self.missing = f"{failure.message} {failure.hint}"
            self.view.say(self.missing)
        else:
            self.bench.report(f"{failure.message}\n{failure.hint}", severity="error")

    def _show(self, shown_page: ShownPage | None) -> None:
        if shown_page is None:
            self.bench.report("there is no more")
            return
        self.page = shown_page.page
        if not shown_page.page.turns:
            self.view.say("There are no turns here.")
        else:
            self.view.show(shown_page.page.turns, shown_page.rows, at=shown_page.at)
        self._place()

    def _lay_out(self) -> None:
        if self.page is None:
            return
        width, turns = self.view.text_width, self.page.turns
        self._width = width
        unfolded = self.view.unfolded
        self._ask(
            "Breaking lines",
            lambda job: lay_out_turns(turns, unfolded, width, job.check),
            self.view.lay_out,
            group="lines",
        )

    # Showing.

    @on(ConversationView.Moved)
    def _handle_move(self) -> None:
        self._place()

    def _place(self) -> None:
        made, turn = self.made, self.view.turn
        if made is None or self.page is None:
            return
        at = self.page.start if turn is None else turn.offset
        marks = made.prompts.marks
        number = sum(mark.offset <= at for mark in marks)
        of = f"{len(marks):,}" if made.prompts.complete else f"{len(marks):,}+"
        size = made.source.size
        share = f"{at / size:.0%} of {_bytes(size)}" if size else "empty"
        kind = "copy of " if made.file.archived else ""
        line = "" if turn is None else f"line {turn.line:,} · "
        text = Content.assemble(
            safe(f"prompt {number:,} of {of} · {line}{share} · {kind}"),
            safe(made.file.path),
        )
        self.query_one("#transcript-place", Static).update(text)

    # Keys.

    @on(ConversationView.Edge)
    def _edge(self, message: ConversationView.Edge) -> None:
        message.stop()
        made, page = self.made, self.page
        if made is None or page is None:
            return
        if message.step > 0:
            if page.more:
                work = partial(pages.page_at, made, page.end, page.end_line, self._width)
                self._ask("Turning the page", work, self._show)
        elif page.start > 0:
            self._ask("Turning back", partial(pages.page_before, made, page, self._width), self._show)

    def action_prompt(self, step: int) -> None:
        """Go to the next prompt or the one before."""
        made, page = self.made, self.page
        if made is None or page is None:
            return
        turn = self.view.turn
        at = page.start if turn is None else turn.offset
        marks = made.prompts.marks
        found = (
            next((mark for mark in marks if mark.offset > at), None)
            if step > 0
            else next((mark for mark in reversed(marks) if mark.offset < at), None)
        )
        if found is None:
            still = step > 0 and not made.prompts.complete
            self.bench.report(
                "still looking for later prompts" if still else "there is no other prompt in this direction"
            )
            return
        self._ask(
            "Going to the prompt",
            partial(pages.page_at, made, found.offset, found.line, self._width),
            self._show,
        )

    def action_edge(self, step: int) -> None:
        """Go to the beginning of the file or to its end as far as it was read."""
        made = self.made
        if made is None or self.page is None:
            return
        if step < 0:
            self._ask("Going to the start", partial(pages.page_at, made, 0, 1, self._width), self._show)
            return
        self._ask("Going to the end", partial(pages.last_page, made, self._width), self._show)

    def action_copy(self) -> None:
        """Copy what is under the cursor, without its secrets."""
        turn = self.view.turn
        if turn is not None:
            self.post_message(CopyRequested("\n".join(filter(None, (turn.head, turn.text))), turn.role))

    def action_stop(self) -> None:
        """Stop what is being read."""
        for group in _GROUPS:
            self.bench.jobs.cancel(f"transcript/{group}")

    def action_close(self) -> None:
        """Go back to the sessions."""
        self.dismiss(None)


def _bytes(size: int) -> str:
    return f"{size / 1e6:,.1f} MB" if size >= 100_000 else f"{size / 1e3:,.1f} kB"
