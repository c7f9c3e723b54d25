"""The other view of the section: sessions that run, with what each does, was given and broke.

Nothing is asked while another section shows; the watcher of journals looks at transcripts only meanwhile.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Final

from textual.events import ScreenResume
from textual.widgets import Static

from screens.jobs import Job
from screens.safe_text import shown, shown_lines
from screens.sessions import work
from screens.sessions.actions import SessionActions
from screens.sessions.beginning import ask_task, begin_episode
from screens.sessions.rows import SessionClock
from screens.sessions.running import key_of, row_of, running_cells, trace_running
from screens.widgets.table import ListRows, NoRows
from workbench.sessions.episodes_fold import HOUR
from workbench.sessions.running import WAITING, WORKING
from workbench.text.counts import counted

if TYPE_CHECKING:
    from screens.engine import AppEngine
    from workbench.records.answers.usage import RunningSession
    from workbench.records.episodes import SessionRow

_PAST_ONLY: Final = frozenset(f"sessions.{name}" for name in "filter sort reverse commits".split())


@dataclass(frozen=True, slots=True)
class LookedAt:
    """The running sessions as of a time, and which files of theirs exist."""

    sessions: tuple[RunningSession, ...]
    there: frozenset[str]
    clock: SessionClock


def look_running(engine: AppEngine, job: Job) -> LookedAt:
    """Return the running sessions. Raises: WorkbenchError."""
    found = engine.running().look()
    job.check()
    there = work.find_existing(engine.root, (file.path for one in found for file in one.files))
    timeout = engine.config.sessions.timeout_hours * HOUR
    return LookedAt(found, there, SessionClock(engine.lists().clock.now(), timeout))


class RunningView(SessionActions):
    """Shows sessions that run in the list of the section while `shows_running`."""

    shows_running: bool = False
    looked: LookedAt | None = None

    def show_running(self) -> None:
        """Show the running session under the cursor."""
        raise NotImplementedError

    def stores_of_view(self) -> tuple[str, ...]:
        """Return which journals are shown."""
        return ("sessions", "handovers", "transcripts") if self.shows_running else ("sessions",)

    @property
    def running(self) -> RunningSession | None:
        """The running session under the cursor."""
        found, place = self.looked, self.table.cursor
        if not self.shows_running or found is None or place >= len(found.sessions):
            return None
        return found.sessions[place]

    @property
    def row(self) -> SessionRow | None:
        """The session under the cursor."""
        running = self.running
        if self.shows_running:
            return None if running is None else row_of(running)
        return super().row

    def available(self, command_id: str) -> bool | None:
        """Whether there is something that a command can be about."""
        if self.shows_running and command_id in _PAST_ONLY:
            return None
        return super().available(command_id)

    def action_view(self) -> None:
        """Show the sessions that run, or those of the past."""
        self.shows_running = not self.shows_running
        self.bench.log_action(("episode", "running" if self.shows_running else "list"))
        self._switch_view()

    def _switch_view(self) -> None:
        """List what the other view shows."""
        self.set_class(self.shows_running, "-running")
        self.follow()
        self.listing, self.looked, self.current = None, None, None
        self.table.set_marks(())
        self.table.busy = "reading"
        self.say("")
        self.list_again()

    def follow(self) -> None:
        """Have transcripts looked at while running sessions show, and only then."""
        self.engine.follows_transcripts = self.shows_running and self.is_current

    def on_screen_suspend(self) -> None:
        """Look at no transcripts while something else shows."""
        super().on_screen_suspend()
        self.engine.follows_transcripts = False

    def on_screen_resume(self, event: ScreenResume) -> None:
        """Look at them again."""
        super().on_screen_resume(event)
        self.follow()

    def look(self) -> None:
        """Ask what runs."""
        asked = partial(look_running, self.engine)
        self.ask("Looking at running sessions", asked, self._looked, group="running", quiet=True)

    def _looked(self, found: LookedAt) -> None:
        if not self.shows_running:
            return
        self.table.busy = ""
        self.table.sort = None
        self.looked = found
        self.set_class(not found.sessions, "-empty")
        if found.sessions:
            self._show_running_rows(found)
        else:
            self.table.set_empty(shown_lines(self._teach_running(), "$text-muted"))
            self.table.set_rows(NoRows())
        states = [one.state for one in found.sessions]
        parts = [f"▶ {counted(len(found.sessions), 'session')} now"]
        parts += [f"{states.count(state):,} {state}" for state in (WORKING, WAITING) if state in states]
        parts.append("] shows past ones")
        self.query_one("#sessions-headline", Static).update(shown(" · ".join(parts), "bold"))
        self.show_running()
        self.refresh_bindings()

    def _show_running_rows(self, found: LookedAt) -> None:
        rows = ListRows(found.sessions, key=key_of, cells=lambda one: running_cells(one, found.clock))
        is_there = any(key_of(one) == self.keep for one in found.sessions)
        self.table.set_rows(rows, keep=self.keep if is_there else self.table.cursor_key)
        if is_there:
            self.keep = ""

    def age(self) -> None:
        """Show for how long nothing was heard of each, without asking anything."""
        if self.looked is not None and self.shows_running and self.is_current:
            self.looked = replace(self.looked, clock=replace(self.looked.clock, now=time.time()))
            self._show_running_rows(self.looked)
            self.show_running()

    def _teach_running(self) -> str:
        return (
            "No agent works here now.\n\n"
            "Sessions show up as their agents write transcripts, and with hooks also what they are given and "
            f"which rules they keep:\n\n  cd {self.engine.root}\n  workbench install\n\n"
            "c begins an episode by hand, which is listed here, too. ] shows past sessions."
        )

    def trace_of(self, running: RunningSession) -> work.TracedSession:
        """Return a running session with its state."""
        assert self.looked is not None
        return trace_running(running, self.looked.clock, self.looked.there)

    def action_new(self) -> None:
        """Ask for a task and a name, and begin an episode."""

        def named(task: str, name: str) -> None:
            def begun(session: str) -> None:
                self.bench.log_action(("episode", "start", task, "--session", session), session)
                self.bench.report(f"Episode {session} has begun")
                self.keep = session
                if not self.shows_running:
                    self.action_view()
                self.mark_stale()

            asked = partial(begin_episode, self.engine, task, name)
            self.ask("Beginning", asked, begun, writes=True)

        ask_task(self, named)
