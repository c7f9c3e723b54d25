"""The sessions: when they were, what each was, and the story of the one under the cursor.

The screen only wires: what is listed is decided in `listing`, what a story says in `story`, and everything
that takes time runs in `work`.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Final

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container, Vertical
from textual.events import Resize
from textual.widgets import Static

from screens.commands import bindings
from screens.jobs import Failure, Job
from screens.safe_text import shown, shown_lines
from screens.sessions import work
from screens.sessions.actions import SessionActions
from screens.sessions.listing import SessionListing, SessionQuery
from screens.sessions.rows import COLUMNS, DESCENDING, FIELDS, SORTS, SessionClock, session_rows
from screens.sessions.story import StoryLine, StoryPanel, story_lines
from screens.sessions.work import KnownSessions, TracedSession
from screens.sitting import text_of, texts_of
from screens.themes import style_of
from screens.widgets.filter import FilterBar
from screens.widgets.table import NoRows, VirtualTable
from screens.widgets.timeline import TimelineBar
from workbench.text.counts import counted

_FIRST: Final = 300
"""Sessions that are asked for at first, so that something shows at once."""

_FOLLOW_EVERY: Final = 0.4  # seconds between two questions while others write
_REST: Final = 0.06  # seconds the cursor rests on a session before its story is shown
_TICK: Final = 15.0  # seconds after which the age of open sessions is shown again
_TEACH: Final = (
    "No sessions yet.\n\n"
    "A session is what a coding agent did for one prompt: the task, the files it read and changed, and how "
    "it ended. Plans learn from them what matters for a task.\n\n"
    "i    import transcripts of Claude Code and Codex\n"
    "I    import them from elsewhere\n"
    "m    show commits, which plans learn from as well\n\n"
    "What `workbench episode start` records shows up here."
)


class SessionsScreen(SessionActions):
    """Shows what was done here, one task at a time, follows what goes on, and takes feedback."""

    section: ClassVar[str] = "sessions"
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("sessions")]
    DEFAULT_CSS = style_of("SessionsScreen")

    def __init__(self) -> None:
        super().__init__()
        self.known: KnownSessions | None = None
        self.wanted = SessionQuery()
        self.current: TracedSession | None = None
        self.judged = work.FeedbackHistory()
        self.keep = ""
        self._folded: frozenset[str] = frozenset()
        self._width = 0

    def compose_body(self) -> ComposeResult:
        """Put the timeline above the list and the story of one."""
        with Vertical(classes="body"):
            yield Static(id="sessions-headline", markup=False)
            yield TimelineBar(empty="")
            with Container(id="sessions-panes"):
                with Vertical(id="sessions-list"):
                    yield FilterBar(
                        FIELDS, placeholder="text  source:codex  outcome:failed  since:7d  file:x.py"
                    )
                    yield VirtualTable(COLUMNS, id="sessions-table", empty="")
                yield StoryPanel(id="sessions-story")

    # What is kept.

    def remember(self) -> Mapping[str, Any]:
        """Keep the filter, the cursor, the order, the toggles, and what can be undone."""
        return {
            "filter": self.filter.text,
            "cursor": self.table.cursor_key or self.keep,
            "commits": self.wanted.commits,
            "sort": self.wanted.sort,
            "reverse": self.wanted.reverse,
            "folded": sorted(self._folded),
            "judged": work.dump_history(self.judged),
        }

    def recall(self, kept: Mapping[str, Any]) -> None:
        """Take it back."""
        self.keep = text_of(kept, "cursor")
        self._folded = frozenset(texts_of(kept, "folded"))
        self.judged = work.load_history(kept.get("judged"))
        self.wanted = SessionQuery(
            commits=kept.get("commits") is True,
            sort=text_of(kept, "sort", "when", SORTS),
            reverse=kept.get("reverse") is True,
        )
        if text := text_of(kept, "filter"):
            self.filter.set_text(text)
        self.table.focus()
        self.set_interval(_TICK, self._tick)

    def stores(self) -> Iterable[str]:
        """Follow what is recorded of sessions."""
        return ("sessions",)

    # Asking.

    def load(self) -> None:
        """Ask for the sessions, at most some times a second however fast others write."""
        if self.known is None:
            self._ask(_FIRST)
        else:
            self.bench.jobs.later("sessions/follow", _FOLLOW_EVERY, self._ask)

    def _ask(self, limit: int = work.MOST) -> None:
        asked = partial(work.read_sessions, self.engine, self.wanted.commits, limit)
        self.table.busy = "reading" if self.known is None else ""
        self.ask(
            "Reading sessions", asked, partial(self._found, limit), group="sessions", failed=self._unknown
        )

    def _found(self, limit: int, known: KnownSessions) -> None:
        more = len(known.rows) == limit < work.MOST
        self.known = known
        self.list_again()
        if more:
            self._ask()

    def _unknown(self, failure: Failure) -> None:
        self.table.busy = ""
        self.stale = True
        if self.known is None:
            self._teach(f"! {failure.message}\n{failure.hint}")
        self.say(f"sessions cannot be read: {failure.message}")

    def list_again(self) -> None:
        """List what the filter lets through, in the order wanted; the cursor stays on its session."""
        known = self.known
        if known is None:
            return
        wanted = replace(self.wanted, filter=self.filter.filter)
        work_ = partial(work.arrange_sessions, self.engine, known, wanted)
        self.ask("Arranging", work_, partial(self._arranged, known), group="list", quiet=True)

    def _arranged(self, known: KnownSessions, found: tuple[SessionQuery, SessionListing]) -> None:
        wanted, listing = found
        self.table.busy = ""
        self.set_class(not known.rows, "-empty")
        if not known.rows:
            self._teach(_TEACH)
        else:
            self.table.set_empty("Nothing matches the filter; escape in it clears it.")
            keep, self.keep = self.keep or self.table.cursor_key, ""
            self.table.set_rows(session_rows(known.rows, listing.order, self._clock), keep=keep)
        self.table.sort = (wanted.sort, (wanted.sort in DESCENDING) is not wanted.reverse)
        self.filter.show_count(len(listing.order), len(known.rows))
        if wanted.filter.problems:
            self.say(wanted.filter.problems[0].message)
        self.query_one(TimelineBar).show_counts(listing.counts, listing.between, selected=self._moment())
        self._headline()
        self._tell()
        self.refresh_bindings()

    def _teach(self, text: str) -> None:
        self.set_class(True, "-empty")
        self.table.set_empty(shown_lines(text, "$text-muted"))
        self.table.set_rows(NoRows())
        self.query_one(StoryPanel).show_none()

    def _headline(self) -> None:
        known = self.known
        assert known is not None
        stories = known.stories
        parts = [counted(stories.ended + stories.open, "session")]
        parts += [f"▶ {stories.open:,} open"] if stories.open else []
        if stories.share is not None:
            parts.append(f"{stories.share:.0%} have a complete story")
        more = len(known.rows) - stories.ended - stories.open
        if known.commits:
            parts.append(f"○ {counted(more, 'commit')} shown (m)" if more > 0 else "○ no commits known yet")
        else:
            parts.append("○ commits hidden (m)")
        self.query_one("#sessions-headline", Static).update(shown(" · ".join(parts), "bold"))

    # The story.

    def _tell(self) -> None:
        row, known = self.row, self.known
        if row is None or known is None:
            self.current = None
            self.query_one(StoryPanel).show_none()
            return
        asked = partial(work.read_story, self.engine, row.session_id, known.rows)
        self.ask("Reading a session", asked, self._show, group="story", failed=self._unread, quiet=True)

    def _unread(self, failure: Failure) -> None:
        self.current = None
        self.query_one(StoryPanel).show_none(f"! {failure.message}")

    def _show(self, current: TracedSession) -> None:
        same = self.current is not None and _id(self.current) == _id(current)
        self.current = current
        self._draw(same=same)

    def _draw(self, *, same: bool) -> None:
        current, known = self.current, self.known
        if current is None or known is None:
            return
        panel = self.query_one(StoryPanel)
        self._width = panel.text_width
        clock, folded, width = known.clock, self._folded, self._width

        def made(job: Job) -> list[StoryLine]:
            return story_lines(current, clock, folded, width)

        def then(found: list[StoryLine]) -> None:
            if self.current is current:
                panel.show(found, keep=same)

        self.ask("Drawing a session", made, then, group="drawing", quiet=True)

    def _tick(self) -> None:
        """Update how long open sessions have been quiet."""
        known = self.known
        if known is not None and self.is_current and known.stories.open:
            self.known = replace(known, clock=replace(known.clock, now=time.time()))
            self.table.refresh_rows()
            self._draw(same=True)

    def _clock(self) -> SessionClock:
        assert self.known is not None
        return self.known.clock

    def _moment(self) -> float | None:
        row = self.row
        return None if row is None else float(row.started_at)

    # Messages.

    @on(VirtualTable.Highlighted, "#sessions-table")
    def _moved(self, message: VirtualTable.Highlighted) -> None:
        message.stop()
        self.query_one(TimelineBar).select(self._moment())
        self.bench.jobs.later("sessions/rest", _REST, self._tell)

    @on(VirtualTable.Opened, "#sessions-table")
    def _entered(self, message: VirtualTable.Opened) -> None:
        message.stop()
        self.query_one(StoryPanel).focus()

    @on(VirtualTable.Opened, "#sessions-story")
    async def _opened(self, message: VirtualTable.Opened) -> None:
        message.stop()
        line = self.query_one(StoryPanel).line
        if line is not None:
            await self.open_line(line)

    @on(VirtualTable.SortRequested, "#sessions-table")
    def _sorted(self, message: VirtualTable.SortRequested) -> None:
        message.stop()
        column = message.column_id
        if column in SORTS:
            again = column == self.wanted.sort
            self.sort(column, reverse=not self.wanted.reverse if again else False)

    @on(VirtualTable.MarksChanged, "#sessions-table")
    def _marked(self, message: VirtualTable.MarksChanged) -> None:
        message.stop()
        self.say(f"{message.count:,} marked" if message.count else "")

    @on(FilterBar.Changed)
    def _filtered(self, message: FilterBar.Changed) -> None:
        message.stop()
        self.list_again()

    def on_resize(self, event: Resize) -> None:
        """Break the task's lines again."""
        super().on_resize(event)
        self.call_after_refresh(self._fit_story)

    def _fit_story(self) -> None:
        if self.current is not None and self.query_one(StoryPanel).text_width != self._width:
            self._draw(same=True)

    def fold(self, name: str) -> None:
        """Show what a heading of the story holds, or hide it."""
        self._folded ^= {name}
        self._draw(same=True)


def _id(current: TracedSession) -> str:
    return current.trace.episode.session_id
