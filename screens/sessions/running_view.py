"""The other view of the section: sessions that run, with what each does, was given, kept and broke."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Final

from textual.content import Content
from textual.events import ScreenResume
from textual.widgets import Static

from screens.filter_matching import Record, scorer
from screens.jobs import Job, JobOptions
from screens.safe_text import safe, shown_lines
from screens.sessions import work
from screens.sessions.actions import SessionActions
from screens.sessions.beginning import ask_task, begin_episode
from screens.sessions.listing import OUTCOMES, SessionClock, head, local, source, source_of, span, when
from screens.sessions.story import FACT, FILE, TASK, StoryLine, branch_lines, task_lines
from screens.sessions.work import TracedSession
from screens.widgets.table import ListRows, NoRows
from workbench.lists.filters import Filter
from workbench.lists.sessions import SESSIONS, resolve_since
from workbench.records.episodes import ChangeKind, Episode, FileChange, Outcome, SessionRow, Trace
from workbench.records.plan import QueryType
from workbench.sessions.episodes_fold import HOUR, state_of
from workbench.sessions.running import BROKEN, KEPT, QUIET, WAITING, WORKING, was_missed, was_opened
from workbench.text.counts import plural

if TYPE_CHECKING:
    from screens.engine import AppEngine
    from workbench.records.answers.usage import RunningFile, RunningRule, RunningSession
    from workbench.records.episodes import SessionRow


STATES: Final = {
    WORKING: ("▶", "bold $text-accent"),
    WAITING: ("‖", "bold $text-warning"),
    QUIET: ("◌", "$text-muted"),
}
_SOURCES: Final = {"claude": "claude_code"}
_VERDICTS: Final = {BROKEN: ("✗", "bold $text-error"), KEPT: ("✓", "bold $text-success")}
_UNJUDGED: Final = ("·", "$text-muted")
_TEXT: Final = 300  # characters


def _glyph(session: RunningSession) -> tuple[str, str]:
    """Return what says the state, or the outcome where that is known."""
    is_known = session.state == WAITING and session.outcome != Outcome.UNKNOWN
    return OUTCOMES.get(session.outcome, STATES[WAITING]) if is_known else STATES[session.state]


def running_cells(session: RunningSession, clock: SessionClock) -> tuple[Content | str, ...]:
    """Return the cells of the columns of sessions."""
    edits = sum(one.edited_at >= 0 for one in session.files)
    reads = sum(one.read_at >= 0 for one in session.files)
    return (
        safe(when(session.started_at, clock.now), "$text-muted"),
        source(_SOURCES.get(session.agent, session.agent)),
        Content.styled(*_glyph(session)),
        safe(head(session.task), limit=_TEXT),
        safe(f"{reads:,}"),
        safe(f"{edits:,}"),
        safe(f"{span(clock.now - session.last_at)} ago", STATES[session.state][1]),
    )


def row_of(session: RunningSession) -> SessionRow:
    """Return a running session as a row of the list: of its last prompt, where that is recorded."""
    episode = episode_of(session)
    counts = (len(episode.reads), len(episode.changes), len(session.files))
    return SessionRow(
        episode.session_id, session.task, episode.query_type, session.started_at, episode.ended_at,
        episode.outcome.value, episode.source, session.session_id, None, "", "", *counts, session.last_at,
    )  # fmt: skip


def key_of(session: RunningSession) -> str:
    """Return what outcomes of the session are recorded under."""
    return session.episode or session.session_id


def episode_of(session: RunningSession) -> Episode:
    """Return a running session as the episode of its last prompt."""
    return Episode(
        session_id=key_of(session),
        project_id="",
        task_text=session.task,
        task_fingerprint="",
        query_type=QueryType.UNKNOWN.value,
        started_at=session.started_at,
        ended_at=session.last_at if session.state == WAITING else None,
        outcome=Outcome(session.outcome),
        changes=tuple(
            FileChange(one.path, ChangeKind.MODIFIED) for one in session.files if one.edited_at >= 0
        ),
        reads=tuple(one.path for one in session.files if one.read_at >= 0),
        source=_SOURCES.get(session.agent, session.agent),
        parent_session=session.session_id,
        last_at=session.last_at,
    )


def record_of(session: RunningSession) -> Record:
    """Return a running session's fields as a filter sees them."""
    row = row_of(session)
    began = local(row.started_at)
    return {
        "task": row.task_text,
        "id": (row.session_id, session.session_id),
        "source": (row.source, source_of(row.source)[1]),
        "outcome": row.outcome,
        "when": None if began is None else began.isoformat(timespec="seconds"),
        "file": tuple(file.path for file in session.files),
        "open": row.ended_at is None,
        "reads": row.reads,
        "edits": row.edits,
    }


def filter_running(sessions: Sequence[RunningSession], wanted: Filter) -> tuple[RunningSession, ...]:
    """Return the running sessions that a filter lets through, in their order."""
    score = scorer(resolve_since(wanted, datetime.now()), SESSIONS.fields)
    return tuple(one for one in sessions if score(record_of(one)))


def trace_running(session: RunningSession, clock: SessionClock, there: Collection[str]) -> TracedSession:
    """Return a running session as the one under the cursor; `there` are files that exist."""
    episode = episode_of(session)
    state = state_of(episode.ended_at is not None, "", episode.last_at, clock.now, clock.timeout)
    return TracedSession(Trace(episode, ()), state, frozenset(there))


def running_lines(
    session: RunningSession, clock: SessionClock, folded: Collection[str], width: int
) -> list[StoryLine]:
    """Return the lines of a running session; of headings in `folded` only they themselves."""
    missed = [one for one in session.files if was_missed(one)]
    given = [one for one in session.files if one.given]
    opened = sum(map(was_opened, given))
    tokens = f"{session.tokens:,} tokens in {plural(session.calls, 'hand-over')}"
    broken = [rule for rule in session.rules if rule.verdict == BROKEN]
    others = [rule for rule in session.rules if rule.verdict != BROKEN]
    kept = sum(rule.verdict == KEPT for rule in session.rules)
    has = f"{len(session.rules):,}: {len(broken):,} broken, {kept:,} kept"
    return [
        *_now(session, clock),
        *_rules(broken),
        *task_lines(episode_of(session), width),
        *branch_lines("not given", _files(missed), folded, f"{plural(len(missed), 'file')} it needed"),
        *branch_lines("given", _files(given), folded, f"{len(given):,}, {opened:,} opened · {tokens}"),
        *branch_lines("rules", _rules(others), folded, has if session.rules else "0"),
        *_facts(session, clock),
    ]


def _now(session: RunningSession, clock: SessionClock) -> Iterator[StoryLine]:
    glyph, style = _glyph(session)
    word = session.state if glyph == STATES[session.state][0] else session.outcome
    ago = f"{span(clock.now - session.last_at)} ago"
    yield StoryLine(
        "now",
        TASK,
        Content.assemble(
            (f"{glyph} ", style),
            safe(word, style),
            "  ",
            safe(session.now or "nothing yet", limit=_TEXT),
        ),
        safe(ago, "$text-muted"),
        at=session.last_at,
    )


def _files(files: Sequence[RunningFile]) -> list[StoryLine]:
    return [StoryLine(f"file:{one.path}", FILE, _file(one), _how(one), one.path) for one in files]


def _file(file: RunningFile) -> Content:
    if file.edited_at >= 0:
        sign, style = "~", "bold $text-warning"
    elif file.read_at >= 0:
        sign, style = "✓", "$text-success"
    else:
        sign, style = "·", "$text-muted"
    return Content.assemble((f"{sign} ", style), safe(file.path, "" if was_opened(file) else "$text-muted"))


def _how(file: RunningFile) -> Content:
    did = [word for word, at in (("read", file.read_at), ("edited", file.edited_at)) if at >= 0]
    return safe(", ".join(did) or "not opened", "$text-muted")


def _rules(rules: Sequence[RunningRule]) -> list[StoryLine]:
    found = []
    for rule in rules:
        sign, style = _VERDICTS.get(rule.verdict, _UNJUDGED)
        said = rule.verdict if rule.verdict in _VERDICTS else "no check"
        text = Content.assemble((f"{sign} ", style), safe(rule.text, limit=_TEXT))
        found.append(StoryLine(f"rule:{rule.rule_id}", FACT, text, safe(said, style)))
    return found


def _facts(session: RunningSession, clock: SessionClock) -> Iterator[StoryLine]:
    facts = [("session", session.session_id), ("known by", session.known_by or "the command line")]
    if session.lost_at >= 0:
        facts.append(("context", f"compacted or cleared {span(clock.now - session.lost_at)} ago"))
    for name, text in facts:
        line = Content.assemble("  ", (f"{name:<9}", "$text-muted"), safe(text, "$text-muted"))
        yield StoryLine(f"fact/{name}", FACT, line)


_PAST_ONLY: Final = frozenset(f"sessions.{name}" for name in "sort reverse commits".split())


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
    shown_now: tuple[RunningSession, ...] = ()
    """Those of them that the filter lets through."""

    def show_running(self) -> None:
        """Show the running session under the cursor."""
        raise NotImplementedError

    def stores_of_view(self) -> tuple[str, ...]:
        """Return which journals are shown."""
        return ("sessions", "handovers", "transcripts") if self.shows_running else ("sessions",)

    @property
    def running(self) -> RunningSession | None:
        """The running session under the cursor."""
        found, place = self.shown_now, self.table.cursor
        return found[place] if self.shows_running and place < len(found) else None

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
        self.listing, self.looked, self.shown_now, self.current = None, None, (), None
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

    def look(self, *, filtered: bool = False) -> None:
        """Ask what runs; keys wait for what a filter that was typed just now lets through."""
        asked = partial(look_running, self.engine)
        how = JobOptions(quiet=True, lists=filtered)
        self.ask("Looking at running sessions", asked, self._take_look, group="running", **how)

    def _take_look(self, found: LookedAt) -> None:
        if not self.shows_running:
            return
        self.table.busy = ""
        self.table.sort = None
        self.looked = found
        self.set_class(not found.sessions, "-empty")
        if found.sessions:
            self.table.set_empty("Nothing matches the filter; escape takes it off.")
            self._show_running_rows(found)
        else:
            self.table.set_empty(shown_lines(self._teach_running(), "$text-muted"))
            self.table.set_rows(NoRows())
        states = [one.state for one in found.sessions]
        parts = [f"▶ {plural(len(found.sessions), 'session')} now"]
        parts += [f"{states.count(state):,} {state}" for state in (WORKING, WAITING) if state in states]
        parts.append("] shows past ones")
        self.query_one("#sessions-headline", Static).update(safe(" · ".join(parts), "bold"))
        self.show_running()
        self.refresh_bindings()

    def _show_running_rows(self, found: LookedAt) -> None:
        shown_now = self.shown_now = filter_running(found.sessions, self.filter.filter)
        self.filter.show_count(len(shown_now), len(found.sessions))
        rows = ListRows(shown_now, key=key_of, cells=lambda one: running_cells(one, found.clock))
        is_there = any(key_of(one) == self.keep for one in shown_now)
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
            "c begins a session by hand, which is listed here, too. ] shows past sessions."
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
                self.filter.set_text("")
                if not self.shows_running:
                    self.action_view()
                self.mark_stale()

            asked = partial(begin_episode, self.engine, task, name)
            self.ask("Beginning", asked, begun, writes=True)

        ask_task(self, named)
