"""The story beside the list of sessions: read when the cursor rests, drawn again when anything changes."""

from __future__ import annotations

from functools import partial

from screens.jobs import Failure, Job, JobOptions
from screens.sessions import work
from screens.sessions.listing import SessionListing
from screens.sessions.running_view import RunningView, running_lines
from screens.sessions.story import StoryLine, StoryPanel, story_lines
from screens.sessions.work import TracedSession


class StoryScreen(RunningView):
    """Shows the story of the session under the cursor, recorded or running; `folded` headings hide theirs."""

    def __init__(self) -> None:
        super().__init__()
        self.listing: SessionListing | None = None
        self.current: TracedSession | None = None
        self.folded: frozenset[str] = frozenset()
        self._width = 0

    def tell(self, *, filtered: bool = False) -> None:
        """Show the story of the session under the cursor."""
        if self.shows_running:
            self.show_running()
            return
        row = self.row
        if row is None or self.listing is None:
            self.current = None
            self.query_one(StoryPanel).show_none()
            return
        asked = partial(work.read_story, self.engine, row.session_id)
        how = JobOptions(quiet=True, lists=filtered, failed=self._unread)
        self.ask("Reading a session", asked, self._show, group="story", **how)

    def show_running(self) -> None:
        """Show the running session under the cursor."""
        running = self.running
        if running is None:
            self.current = None
            self.query_one(StoryPanel).show_none()
        else:
            self._show(self.trace_of(running))

    def _unread(self, failure: Failure) -> None:
        self.current = None
        self.query_one(StoryPanel).show_none(f"! {failure.message}")

    def _show(self, current: TracedSession) -> None:
        before, self.current = self.current, current
        self.draw(same=before is not None and session_of(before) == session_of(current))

    def draw(self, *, same: bool) -> None:
        """Draw the story that is shown again; `same` keeps the place in it."""
        current, seen = self.current, self.looked if self.shows_running else self.listing
        if current is None or seen is None:
            return
        panel = self.query_one(StoryPanel)
        self._width = panel.text_width
        clock, folded, width, running = seen.clock, self.folded, self._width, self.running

        def made(job: Job) -> list[StoryLine]:
            if running is not None:
                return running_lines(running, clock, folded, width)
            return story_lines(current, clock, folded, width)

        def then(found: list[StoryLine]) -> None:
            if self.current is current:
                panel.show(found, keep=same)

        self.ask("Drawing a session", made, then, group="drawing", quiet=True, lists=True)

    def fit_story(self) -> None:
        """Break its lines again where it has another width."""
        if self.current is not None and self.query_one(StoryPanel).text_width != self._width:
            self.draw(same=True)

    def fold(self, name: str) -> None:
        """Show what a heading of the story holds, or hide it."""
        self.folded ^= {name}
        self.draw(same=True)


def session_of(current: TracedSession) -> str:
    """Return the id of the session that a story is of."""
    return current.trace.episode.session_id
