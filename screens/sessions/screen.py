"""The sessions: when they were, what each was, and the story of the one under the cursor.

The screen only wires: what is listed is decided in `listing`, what a story says in `story`, and everything
that takes time runs in `work`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any, ClassVar, Final

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container, Vertical
from textual.events import Resize
from textual.widgets import Static

from screens.chrome import teach, transcripts_of
from screens.commands import bindings, pane_title
from screens.jobs import Failure, JobOptions
from screens.safe_text import safe, shown_lines
from screens.sessions import work
from screens.sessions.listing import (
    COLUMNS,
    SessionClock,
    SessionListing,
    SessionQuery,
    cells,
    list_sessions,
    listing_headline,
    read_rows,
)
from screens.sessions.story import StoryPanel
from screens.sessions.story_screen import StoryScreen
from screens.sitting import text_of, texts_of
from screens.themes import style_of
from screens.widgets.filter import FilterBar
from screens.widgets.table import NoRows, VirtualTable
from screens.widgets.timeline import TimelineBar
from screens.widgets.window_rows import WindowRows, place_of
from workbench.lists.sessions import SESSIONS, resolve_since

if TYPE_CHECKING:
    from workbench.records.episodes import SessionRow

_FOLLOW_EVERY: Final = 0.4  # seconds between two questions while others write
_REST: Final = 0.06  # seconds the cursor rests on a session before its story is shown
_TICK: Final = 15.0  # seconds after which the age of open sessions is shown again
_AGE: Final = 3.0  # seconds after which that of running sessions is
_ABOUT: Final = (
    "No sessions yet.\n\n"
    "A session is what a coding agent did for one prompt: the task, the files it read and changed, and how "
    "it ended. Plans learn from them what matters for a task."
)
_KEYS: Final = {
    "sessions.import": "imports transcripts of Claude Code and Codex",
    "sessions.import-from": "imports them from elsewhere",
    "sessions.running": "shows what agents do now",
    "sessions.new": "begins a session by hand",
    "sessions.commits": "shows commits, which plans learn from as well",
}


class SessionsScreen(StoryScreen):
    """Shows what was done here, one task at a time, follows what goes on, and takes feedback."""

    section: ClassVar[str] = "sessions"
    curates = True
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("sessions")]
    DEFAULT_CSS = style_of("SessionsScreen")

    def __init__(self) -> None:
        super().__init__()
        self._clock = SessionClock(0.0, 0.0)  # of the rows that show, also while others are awaited
        self.wanted = SessionQuery()
        self.judged = work.FeedbackHistory()
        self.keep = ""
        self.seeking = False
        self._questions = count()

    def compose_body(self) -> ComposeResult:
        """Put the timeline above the list and the story of one."""
        with Vertical(classes="body"):
            yield Static(id="sessions-headline", markup=False)
            yield TimelineBar(noun="session", empty="")
            with Container(id="sessions-panes"):
                with Vertical(id="sessions-list"):
                    yield FilterBar(
                        SESSIONS.fields, placeholder="text  source:codex  outcome:failed  since:7d  file:x.py"
                    )
                    yield VirtualTable(COLUMNS, id="sessions-table", empty="")
                story = StoryPanel(id="sessions-story")
                story.border_title = pane_title("Session", "next-pane")
                yield story

    # What is kept.

    def remember(self) -> Mapping[str, Any]:
        """Keep the filter, the cursor, the order, the toggles, and what can be undone."""
        return {
            "filter": self.filter.text,
            "cursor": self.table.cursor_key or self.keep,
            "commits": self.wanted.commits,
            "sort": self.wanted.sort,
            "reverse": self.wanted.reverse,
            "folded": sorted(self.folded),
            "running": self.shows_running,
            "judged": work.dump_history(self.judged),
        }

    def recall(self, kept: Mapping[str, Any]) -> None:
        """Take it back."""
        self.keep = text_of(kept, "cursor")
        self.folded = frozenset(texts_of(kept, "folded"))
        self.judged = work.load_history(kept.get("judged"))
        self.wanted = SessionQuery(
            commits=kept.get("commits") is True,
            sort=text_of(kept, "sort", "when", SESSIONS.sorts),
            reverse=kept.get("reverse") is True,
        )
        if text := text_of(kept, "filter"):
            self.filter.set_text(text)
        self.shows_running = kept.get("running") is True
        self.set_class(self.shows_running, "-running")
        self.table.focus()
        self.set_interval(_TICK, self._tick)
        self.set_interval(_AGE, self.age)

    def stores(self) -> Iterable[str]:
        """Follow what is recorded of sessions."""
        return self.stores_of_view()

    # Asking.

    def load(self) -> None:
        """Ask for the sessions, at most some times a second however fast others write."""
        self.follow()
        if self.listing is None and self.looked is None:
            self.list_again()
        else:
            self.bench.jobs.later("sessions/follow", _FOLLOW_EVERY, self.list_again)

    def list_again(self, *, filtered: bool = False) -> None:
        """List what the filter lets through, in the order wanted; the cursor stays on its session.

        Where that is what was typed just now, keys wait for its rows and for the story of the first.
        """
        if self.shows_running:
            self.look(filtered=filtered)
            return
        self.wanted = replace(self.wanted, filter=self.filter.filter)
        rows = self.rows
        number = int(rows.numbers[self.table.cursor]) if rows else None
        asked = partial(list_sessions, self.engine, self.wanted, self.keep, number)
        self.table.busy = "reading" if self.listing is None else ""
        then = partial(self._take_listing, filtered=filtered)
        how = JobOptions(quiet=True, lists=filtered, failed=self._unread_list)
        self.ask("Reading sessions", asked, then, group="list", **how)

    def _unread_list(self, failure: Failure) -> None:
        self.table.busy = ""
        self.stale = True
        if self.listing is None:
            self._teach(f"! {failure.message}\n{failure.hint}")
        self.say(f"sessions cannot be read: {failure.message}")

    def _take_listing(self, found: SessionListing, *, filtered: bool) -> None:
        if self.shows_running:
            return
        before, self.listing, self._clock = self.rows, found, found.clock
        self.table.busy = ""
        self.set_class(not found.total, "-empty")
        if not found.total:
            self._teach(
                teach(_ABOUT, (f"workbench import sessions {transcripts_of(self.engine.root)}",), _KEYS)
            )
        else:
            self._show_rows(found, before)
        wanted = self.wanted
        self.table.sort = (wanted.sort, (wanted.sort in SESSIONS.largest_first) is not wanted.reverse)
        self.filter.show_count(len(found.numbers), found.total)
        if problems := resolve_since(wanted.filter, datetime.now()).problems:
            self.say(problems[0].message)
        self.query_one(TimelineBar).show_counts(found.counts, found.between, selected=self._moment())
        self._headline()
        self.tell(filtered=filtered)
        self.refresh_bindings()
        sought, self.keep = self.keep, ""
        if self.seeking and not found.reached:
            self.unhide(sought)
        self.seeking = False

    def _show_rows(self, found: SessionListing, before: WindowRows[SessionRow] | None) -> None:
        place = found.place
        if not found.reached and before:
            # The cursor may have moved on since the question was asked.
            place = place_of(found.numbers, int(before.numbers[self.table.cursor]))
            place = self.table.cursor if place is None else place
        self.table.set_empty("Nothing matches the filter; escape takes it off.")
        rows = WindowRows(
            found.numbers,
            self._fetch,
            key=lambda row: row.session_id,
            cells=lambda row: cells(row, self._clock),
            held=found.rows,
        )
        self.table.set_rows(rows, place=place)

    def _fetch(
        self,
        numbers: Sequence[int],
        found: Callable[[Mapping[int, SessionRow]], None],
        failed: Callable[[], None],
    ) -> None:
        def refused(failure: Failure) -> None:
            failed()
            self.say(f"sessions cannot be read: {failure.message}")

        commits = self.wanted.commits
        self.ask(
            "Reading sessions",
            lambda _: read_rows(self.engine, commits, numbers),
            found,
            group=f"sessions/rows/{next(self._questions)}",
            quiet=True,
            failed=refused,
            stopped=failed,
        )

    def _teach(self, text: str) -> None:
        self.set_class(True, "-empty")
        self.table.set_empty(shown_lines(text, "$text-muted"))
        self.table.set_rows(NoRows())
        self.query_one(StoryPanel).show_none()

    def _headline(self) -> None:
        assert self.listing is not None
        text = listing_headline(self.listing, commits=self.wanted.commits)
        self.query_one("#sessions-headline", Static).update(safe(text, "bold"))

    def _tick(self) -> None:
        """Update how long open sessions have been quiet."""
        listing = self.listing
        if self.shows_running and self.is_current:
            self.look()
        elif listing is not None and self.is_current and listing.stories.open:
            self._clock = replace(listing.clock, now=time.time())
            self.listing = replace(listing, clock=self._clock)
            self.table.refresh_rows()
            self.draw(same=True)

    def _moment(self) -> float | None:
        row = self.row
        return None if row is None or self.shows_running else float(row.started_at)

    # Messages.

    @on(VirtualTable.Highlighted, "#sessions-table")
    def _handle_move(self, message: VirtualTable.Highlighted) -> None:
        message.stop()
        self.query_one(TimelineBar).select(self._moment())
        self.bench.jobs.later("sessions/rest", _REST, self.tell)

    @on(VirtualTable.Opened, "#sessions-table")
    def _handle_enter(self, message: VirtualTable.Opened) -> None:
        message.stop()
        self.query_one(StoryPanel).focus()

    @on(VirtualTable.Opened, "#sessions-story")
    async def _handle_open(self, message: VirtualTable.Opened) -> None:
        message.stop()
        line = self.query_one(StoryPanel).line
        if line is not None:
            await self.open_line(line)

    @on(VirtualTable.SortRequested, "#sessions-table")
    def _handle_sort(self, message: VirtualTable.SortRequested) -> None:
        message.stop()
        column = message.column_id
        if column in SESSIONS.sorts:
            again = column == self.wanted.sort
            self.sort(column, reverse=not self.wanted.reverse if again else False)

    @on(VirtualTable.MarksChanged, "#sessions-table")
    def _handle_mark(self, message: VirtualTable.MarksChanged) -> None:
        message.stop()
        self.say(f"{message.count:,} marked" if message.count else "")

    @on(FilterBar.Changed)
    def _handle_filter(self, message: FilterBar.Changed) -> None:
        message.stop()
        self.list_again(filtered=True)

    def on_resize(self, event: Resize) -> None:
        """Break the task's lines again."""
        super().on_resize(event)
        self.call_after_refresh(self.fit_story)
