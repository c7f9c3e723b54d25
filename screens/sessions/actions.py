"""What the keys of the sessions do; the screen below shows what comes of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from screens.base import SectionScreen
from screens.jobs import Job
from screens.sessions import imports, work
from screens.sessions.file_past import FilePastDialog
from screens.sessions.listing import COLUMNS, SessionListing, SessionQuery
from screens.sessions.pages import Point
from screens.sessions.story import FACT, FILE, HEADING, SESSION, StoryLine, StoryPanel
from screens.sessions.transcript import TranscriptScreen
from screens.sessions.work import SessionVerdict, TracedSession
from screens.widgets.code import Details
from screens.widgets.dialogs import Ask, Choose, Confirm, DialogChoice
from screens.widgets.filter import FilterBar
from screens.widgets.table import VirtualTable
from screens.widgets.window_rows import WindowRows
from workbench.lists.sessions import SESSIONS
from workbench.sessions.episodes_fold import COMMITS

if TYPE_CHECKING:
    from screens.undo import Undo
    from workbench.entry.project import FileHistory
    from workbench.entry.services.transcripts import FoundTranscripts
    from workbench.records.episodes import SessionRow

_NEEDS_ROW: Final = frozenset(
    f"sessions.{name}"
    for name in "transcript judge success failed partial clear plan file copy copy-id".split()
)
_WHY: Final = {
    "success": "What is good about it?",
    "failed": "What went wrong?",
    "partial": "What is missing?",
    "unknown": "Why is the outcome unknown?",
}


class SessionActions(SectionScreen):
    """The commands of the sessions."""

    listing: SessionListing | None
    wanted: SessionQuery
    current: TracedSession | None
    judged: work.FeedbackHistory
    keep: str = ""
    """The session to have the cursor on once it is listed."""
    seeking: bool = False
    """Whether it is to be listed whatever hides it."""

    def list_again(self) -> None:
        """List again."""
        raise NotImplementedError

    def fold(self, name: str) -> None:
        """Fold a heading of the story."""
        raise NotImplementedError

    @property
    def table(self) -> VirtualTable:
        """The list."""
        return self.query_one("#sessions-table", VirtualTable)

    @property
    def story(self) -> StoryPanel:
        """The story of one."""
        return self.query_one(StoryPanel)

    @property
    def filter(self) -> FilterBar:
        """The filter of the list."""
        return self.query_one(FilterBar)

    @property
    def row(self) -> SessionRow | None:
        """The session under the cursor."""
        rows = self.rows
        return rows.row(self.table.cursor) if rows else None

    @property
    def rows(self) -> WindowRows[SessionRow] | None:
        """The sessions that are listed, None before there are any."""
        rows = self.table.rows
        return rows if isinstance(rows, WindowRows) else None

    @property
    def line(self) -> StoryLine | None:
        """The line of the story under the cursor, if the story has the focus."""
        return self.story.line if self.story.has_focus else None

    def available(self, command_id: str) -> bool | None:
        """Whether there is something that a command can be about."""
        if command_id in _NEEDS_ROW:
            return True if self.is_mounted and self.row is not None else None
        return True

    # Looking.

    def action_filter(self) -> None:
        """Type a filter."""
        self.filter.open()

    def action_commits(self) -> None:
        """Show commits, or hide them."""
        self.wanted = replace(self.wanted, commits=not self.wanted.commits)
        more = ("--commits",) if self.wanted.commits else ()
        self.bench.log_action(("episode", "list", *more))
        self.load()

    def action_sort(self) -> None:
        """Sort by the next column that is shown."""
        columns = SESSIONS.sorts
        self.sort(columns[(columns.index(self.wanted.sort) + 1) % len(columns)], reverse=False)

    def action_reverse(self) -> None:
        """Reverse the sort order."""
        self.sort(self.wanted.sort, reverse=not self.wanted.reverse)

    def sort(self, column: str, *, reverse: bool) -> None:
        """Sort by a column, in its natural direction or the other one."""
        self.wanted = replace(self.wanted, sort=column, reverse=reverse)
        titles = {one.id: one.title or one.id for one in COLUMNS}
        self.say(f"sorted by {titles[column].lower()}{', reversed' if reverse else ''}")
        self.list_again()

    def action_next_pane(self) -> None:
        """Go from the list to the story or back."""
        (self.table if self.story.has_focus else self.story).focus()

    # Opening.

    async def open_line(self, line: StoryLine) -> None:
        """Open what a line of the story is about."""
        if line.kind == HEADING:
            self.fold(line.target)
        elif line.kind == FILE:
            self._open_file(line.target)
        elif line.kind == SESSION:
            self._go_to(line.target)
        elif line.kind != FACT:
            await self.action_transcript()

    def _open_file(self, path: str) -> None:
        def then(data: bytes) -> None:
            binary = b"\0" in data[:8_192]
            text = f"binary file, {len(data):,} bytes" if binary else data.decode("utf-8", "replace")
            self.app.push_screen(Details(path, text, path=path))

        asked = partial(work.read_file_text, self.engine.root, path)
        self.ask("Reading a file", asked, then, group="file", leads=True)

    def _go_to(self, session: str) -> None:
        self.table.focus()
        if not self.table.select_key(session):
            self.keep, self.seeking = session, True
            self.list_again()

    def unhide(self, session: str) -> None:
        """Go to a session that the filter lets not through, or that is a commit."""
        self.keep = session
        self.filter.clear()
        if session.startswith(f"{COMMITS}:") and not self.wanted.commits:
            self.action_commits()
        else:
            self.list_again()

    async def action_transcript(self) -> None:
        """Read the conversation at this point."""
        current = self.current
        if current is None or self.row is None:
            return
        session = current.trace.episode.session_id
        self.bench.log_action(("episode", "show", session, "--events"))
        await self.app.push_screen(TranscriptScreen(Point(current.trace.episode, self.line)))

    def action_file(self) -> None:
        """Show the past of the file under the cursor, or of the only one, or ask which."""
        line = self.line
        if line is not None and line.kind == FILE:
            self._past_of(line.target)
            return
        current = self.current
        first = ""
        if current is not None:
            episode = current.trace.episode
            first = next((change.path for change in episode.changes), next(iter(episode.reads), ""))

        def answered(path: str | None) -> None:
            if path and path.strip():
                self._past_of(path.strip())

        self.app.push_screen(
            Ask("Whose past?", body="A file of this project.", value=first, placeholder="src/login.py"),
            answered,
        )

    def _past_of(self, path: str) -> None:
        def then(past: FileHistory) -> None:
            now = self.listing.clock.now if self.listing is not None else 0.0
            self.app.push_screen(FilePastDialog(past, now), chosen)

        def chosen(found: tuple[str, str] | None) -> None:
            if found is not None:
                kind, name = found
                (self._go_to if kind == "session" else self._past_of)(name)

        asked = partial(work.file_past, self.engine, path)
        self.ask("Looking at a file's past", asked, then, group="past", leads=True)

    # Judging.

    def action_judge(self, outcome: str = "") -> None:
        """Record how the sessions went, and why; without an outcome ask for it."""
        sessions = self.table.chosen
        if not sessions:
            return
        if not outcome:
            self._ask_outcome()
            return
        what = f"{len(sessions):,} sessions" if len(sessions) > 1 else "This session"

        def answered(why: str | None) -> None:
            if why is not None:
                asked = partial(work.record_feedback, self.engine, sessions, outcome, why.strip())
                self.ask("Judging", asked, self._finish_judging, writes=True)

        self.app.push_screen(
            Ask(
                f"{what}: {outcome}",
                body="Why? May be left empty. A session that is open ends with it.",
                placeholder=_WHY[outcome],
            ),
            answered,
        )

    def _ask_outcome(self) -> None:
        def chosen(outcome: str | None) -> None:
            if outcome:
                self.action_judge(outcome)

        choices = [DialogChoice(outcome, outcome, why) for outcome, why in _WHY.items()]
        self.app.push_screen(Choose("How did it go?", choices), chosen)

    def _finish_judging(self, verdicts: Sequence[SessionVerdict]) -> None:
        self.judged = self.judged.did(verdicts)
        for one in verdicts:
            if one.state:
                self.bench.log_action(("episode", "end", one.session))
            self.bench.log_action(work.feedback_arguments(one), f"was {one.before}")
        self.bench.report(f"{work.feedback_title(tuple(verdicts))} · u undoes")
        self.table.set_marks(())
        self.mark_stale()

    def undo_with(self) -> tuple[Undo, Callable[[Job], str], str]:
        """Undo and redo the last feedback: both record it, or what was known before it."""
        return lambda job, step: self._walk(True, job), partial(self._walk, False), "feedback"

    def _walk(self, back: bool, job: Job) -> str:
        step = self.judged.last(back=back)
        work.repeat_feedback(self.engine, step, back=back)
        return work.feedback_title(step)

    def step_commands(self, verb: str) -> Iterable[Sequence[str]]:
        """Return the feedback that was given for an undo or a redo."""
        back = verb == "undo"
        step = self.judged.last(back=back)
        self.judged = self.judged.walk(back=back)
        return [work.feedback_arguments(one, back=back) for one in step]

    # Elsewhere.

    def action_plan(self) -> None:
        """Go to Plan with this task."""
        current = self.current
        if current is None:
            return
        task = current.trace.episode.task_text
        from screens.plan.handover import open_plan

        open_plan(self.bench, lambda asked: replace(asked, task=task, pinned=(), excluded=()))

    def action_copy(self) -> None:
        """Copy what is under the cursor: a path, or the task."""
        line, current = self.line, self.current
        if line is not None and line.kind == FILE:
            self.bench.copy(line.target, "path")
        elif current is not None:
            self.bench.copy(current.trace.episode.task_text, "task")

    def action_copy_id(self) -> None:
        """Copy the session's id."""
        row = self.row
        if row is not None:
            self.bench.copy(
                row.session_id.removeprefix("git:") if row.source == COMMITS else row.session_id, "id"
            )

    # Importing.

    def action_import(self) -> None:
        """Look for transcripts, and ask."""
        asked = partial(work.discover_transcripts, self.engine)
        self.ask("Looking for transcripts", asked, self._offer_import, leads=True)

    def action_import_from(self) -> None:
        """Ask for a place, and import from there."""
        self._ask_place(imports.FROM)

    def _offer_import(self, found: tuple[FoundTranscripts, ...]) -> None:
        def answered(yes: bool | None) -> None:
            if yes:
                self._import(())

        if found:
            question = Confirm("Import sessions?", imports.question(found), yes="Import")
            self.app.push_screen(question, answered)
        else:
            self._ask_place(imports.NO_TRANSCRIPTS)

    def _ask_place(self, body: str) -> None:
        def answered(text: str | None) -> None:
            if text is not None:
                self._import((str(imports.resolve_path(self.engine.root, text)),))

        check = partial(imports.check_path, self.engine.root)
        self.app.push_screen(
            Ask("Import sessions from", body=body, placeholder="PATH", validate=check), answered
        )

    def _import(self, places: tuple[str, ...]) -> None:
        arguments = (*imports.ARGUMENTS, *places)
        asked = partial(work.import_sessions, self.engine, arguments)
        self.ask("Importing sessions", asked, partial(self._finish_import, arguments), writes=True)

    def _finish_import(self, arguments: tuple[str, ...], done: dict[str, Any]) -> None:
        self.bench.log_action(arguments, imports.headline(done))
        self.app.push_screen(Details("Imported sessions", imports.summary(done)))
        self.mark_stale()
