"""What the section asks of the engine, each a function that runs in a job's thread, and feedback in steps.

Undo and redo walk through the steps of feedback, in the next run too. The journal only ever grows: to undo
feedback is to record again what was known before it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any, Final

from screens.engine import BY, AppEngine
from screens.headless import run_command
from screens.jobs import Job
from screens.sessions.listing import head
from workbench.beneath import open_plain
from workbench.errors import UsageError
from workbench.sessions.episodes_fold import state_of
from workbench.text.sanitize import quote

if TYPE_CHECKING:
    from pathlib import Path

    from workbench.entry.project import FileHistory
    from workbench.entry.services.transcripts import FoundTranscripts
    from workbench.records.episodes import SessionRow, Trace
    from workbench.sessions.episodes import EpisodeService

FILE_PAST: Final = 500
_SHOWN_FILE: Final = 4_000_000


@dataclass(frozen=True, slots=True)
class TracedSession:
    """One session with its events and its state, and which of the files it touched are still there."""

    trace: Trace
    state: str
    there: frozenset[str]
    family: tuple[SessionRow, ...] = ()


@dataclass(frozen=True, slots=True)
class SessionVerdict:
    """Feedback on a session, and what was known of it before; `state` is open where this ended it."""

    session: str
    outcome: str
    why: str
    before: str
    before_why: str
    task: str
    state: str = ""


def open_episodes(engine: AppEngine) -> EpisodeService:
    """Return where sessions are recorded and judged. Raises: WorkbenchError."""
    from workbench.entry.services.episodes import episode_service

    return episode_service(engine.root, engine.config, BY)


def read_story(engine: AppEngine, session: str, job: Job) -> TracedSession:
    """Return a session's story with its family. Raises: WorkbenchError."""
    from workbench.entry.services.sessions import find_family

    place = open_episodes(engine)
    trace = place.trace(session)
    job.check()
    episode = trace.episode
    over = episode.ended_at is not None
    state = state_of(over, episode.closed_by, episode.last_at, place.store.now(), place.store.timeout)
    paths = (*episode.reads, *(change.path for change in episode.changes))
    return TracedSession(
        trace, state, find_existing(engine.root, paths), find_family(engine.lists(), episode)
    )


def find_existing(root: Path, paths: Iterable[str]) -> frozenset[str]:
    """Return which of a project's paths exist."""
    return frozenset(path for path in paths if "\0" not in path and os.path.lexists(root / path))


def record_feedback(
    engine: AppEngine, sessions: Sequence[str], outcome: str, why: str, job: Job
) -> list[SessionVerdict]:
    """Judge sessions, and end those that are open; return what was known of each before.

    Raises: WorkbenchError.
    """
    place = open_episodes(engine)
    done = []
    for number, session in enumerate(sessions):
        job.progress("Judging", number, len(sessions))
        before = _trace(place, session).episode
        known = before.outcome.value, before.rationale, head(before.task_text)
        if before.ended_at is None:
            place.end(session)
        place.feedback(session, outcome, why)
        is_open = "open" if before.ended_at is None else ""
        done.append(SessionVerdict(before.session_id, outcome, why, *known, is_open))
    return done


def _trace(place: EpisodeService, session: str) -> Trace:
    try:
        return place.trace(session)
    except UsageError as error:
        raise UsageError(
            error.message,
            hint="A session that is known from its transcript alone can be judged once it is imported.",
        ) from error


def repeat_feedback(engine: AppEngine, verdicts: Sequence[SessionVerdict], *, back: bool) -> None:
    """Record feedback again, or what was known before it. Raises: WorkbenchError."""
    place = open_episodes(engine)
    for one in verdicts:
        outcome, why = (one.before, one.before_why) if back else (one.outcome, one.why)
        place.feedback(one.session, outcome, why)


def read_file_text(root: Path, path: str, job: Job) -> bytes:
    """Return the beginning of a file of the project. Raises: WorkbenchError if it cannot be read."""
    from workbench.errors import UsageError

    try:
        target = (root / path).resolve()
        if not target.is_relative_to(root.resolve()):
            raise UsageError(f"{path} leads out of the project", hint="Such files are not opened here.")
        with open_plain(target) as file:
            return file.read(_SHOWN_FILE)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UsageError(
            f"{path} cannot be read: {reason}", hint="It may be gone: F shows its past."
        ) from error


def file_past(engine: AppEngine, path: str, job: Job) -> FileHistory:
    """Return what is known of a file. Raises: WorkbenchError."""
    from workbench.entry.services.sessions import find_file_history

    return find_file_history(engine.lists(), path, limit=FILE_PAST)


def discover_transcripts(engine: AppEngine, job: Job) -> tuple[FoundTranscripts, ...]:
    """Return which transcripts there are, without opening any. Raises: WorkbenchError."""
    from workbench.entry.services.transcripts import discover_sessions
    from workbench.errors import UsageError

    try:
        with engine.workspace(job.progress) as place:
            return discover_sessions(place)
    except OSError as error:
        raise UsageError(
            f"transcripts cannot be listed: {error.strerror}",
            hint="Check the permissions of ~/.claude and ~/.codex.",
        ) from error


def import_sessions(engine: AppEngine, arguments: Sequence[str], job: Job) -> dict[str, Any]:
    """Import sessions in a process of its own and return its report. Raises: WorkbenchError."""
    found: dict[str, Any] = run_command(job, engine.root, [*arguments, "--json"]).json()
    return found


_MOST: Final = 50
_MOST_TOGETHER: Final = 500

Step = tuple[SessionVerdict, ...]


@dataclass(frozen=True, slots=True)
class FeedbackHistory:
    """Steps that were done, and steps that were undone and can be done again; the last is the newest."""

    done: tuple[Step, ...] = ()
    undone: tuple[Step, ...] = ()

    def did(self, step: Sequence[SessionVerdict]) -> FeedbackHistory:
        """Return it after another step."""
        return FeedbackHistory((*self.done, tuple(step))[-_MOST:])

    def last(self, *, back: bool) -> Step:
        """Return the step that undo (`back`) or redo is about. Raises: UsageError if there is none."""
        steps = self.done if back else self.undone
        if not steps:
            verb = "undo" if back else "redo"
            raise UsageError(
                f"there is no feedback to {verb}",
                hint="r records how a session went, at any time.",
            )
        return steps[-1]

    def walk(self, *, back: bool) -> FeedbackHistory:
        """Return it after an undo (`back`) or a redo."""
        if back:
            return FeedbackHistory(self.done[:-1], (*self.undone, self.done[-1]))
        return FeedbackHistory((*self.done, self.undone[-1]), self.undone[:-1])


def feedback_arguments(verdict: SessionVerdict, *, back: bool = False) -> tuple[str, ...]:
    """Return the command line that says a verdict, or what was known before it."""
    outcome, why = (verdict.before, verdict.before_why) if back else (verdict.outcome, verdict.why)
    reason = ("--why", why) if why else ()
    return ("feedback", verdict.session, "--outcome", outcome, *reason)


def feedback_title(step: Step) -> str:
    """Return what a step was, in a few words."""
    what = f"{len(step):,} sessions" if len(step) > 1 else quote(step[0].task)
    return f"{step[0].outcome}: {what}"


def dump_history(judged: FeedbackHistory) -> dict[str, Any]:
    """Return the steps as JSON values; those of very many sessions are left out."""
    return {
        name: [[asdict(one) for one in step] for step in steps if len(step) <= _MOST_TOGETHER]
        for name, steps in (("done", judged.done), ("undone", judged.undone))
    }


def load_history(values: object) -> FeedbackHistory:
    """Return the steps that were kept; what is foreign is left out."""
    if not isinstance(values, Mapping):
        return FeedbackHistory()
    return FeedbackHistory(*(_steps(values.get(name)) for name in ("done", "undone")))


def _steps(values: object) -> tuple[Step, ...]:
    if not isinstance(values, list):
        return ()
    steps = (tuple(map(_verdict, step)) for step in values[-_MOST:] if isinstance(step, list))
    return tuple(tuple(one for one in step if one) for step in steps if step and all(step))


def _verdict(value: object) -> SessionVerdict | None:
    names = [field.name for field in fields(SessionVerdict)]
    if not isinstance(value, Mapping):
        return None
    given = {"state": "", **value}
    if not all(isinstance(given.get(name), str) for name in names):
        return None
    return SessionVerdict(**{name: given[name] for name in names})
