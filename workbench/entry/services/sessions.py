"""Recorded sessions: listed, counted, and what they say of a file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING

from workbench.entry.project import OpenedProject
from workbench.errors import UsageError
from workbench.lists.sessions import SESSIONS, resolve_since
from workbench.lists.tables import ListQuery, Page, read_page
from workbench.ports import Entry
from workbench.records.answers.project import SessionFigures
from workbench.records.episodes import Completeness, Episode, SessionRow
from workbench.records.plan import Intent
from workbench.sessions.episodes_fold import HOUR, STREAM
from workbench.text.counts import plural

if TYPE_CHECKING:
    from workbench.entry.project import FileHistory, SessionList

_FAMILY = 2_000  # prompts of one session that are listed


def session_entries(project: OpenedProject) -> Iterator[Entry]:
    """Yield the entries of the stream of sessions. Raises: JournalError."""
    return (entry for _, entry in project.journal.read(STREAM))


def quiet_since(project: OpenedProject) -> float:
    """Return since when a session is quiet that counts as over, in seconds since the epoch."""
    return project.clock.now() - project.config.sessions.timeout_hours * HOUR


@contextmanager
def open_session_list(project: OpenedProject, *, commits: bool) -> Iterator[SessionList]:
    """Open the list of a project's sessions, with `commits` those of version control too.

    Raises: StoreError.
    """
    from workbench.entry.project import SessionList

    with project.journal_tables() as tables:
        yield SessionList(tables, quiet_since=quiet_since(project), commits=commits)


def session_query(text: str, sort: str = "") -> ListQuery:
    """Read a filter of sessions and a column to sort by. Raises: UsageError for what is neither."""
    query = SESSIONS.query(text, sort)
    if problems := resolve_since(query.filter, datetime.now()).problems:
        raise UsageError(problems[0].message, hint="A span counts back from now, a date is taken as it is.")
    return query


def session_page(
    project: OpenedProject, query: ListQuery, *, commits: bool, cursor: str | None, limit: int
) -> Page[SessionRow]:
    """Return so many sessions from where a cursor says. Raises: UsageError, StoreError."""
    with open_session_list(project, commits=commits) as found:
        return read_page(found, query, cursor, limit)


def find_family(project: OpenedProject, episode: Episode) -> tuple[SessionRow, ...]:
    """Return the prompts of the session that an episode is a part of, and its own parts, in their order.

    Raises: StoreError.
    """
    from workbench.entry.project import session_family

    with project.journal_tables() as tables:
        rows = session_family(tables, episode.session_id, episode.parent_session, _FAMILY)
        return tuple(rows)


def session_completeness(project: OpenedProject) -> Completeness:
    """Return how complete the recorded sessions are. Raises: StoreError."""
    with project.journal_tables() as tables:
        return tables.completeness(quiet_since=quiet_since(project))


def find_file_history(
    project: OpenedProject, path: str, task: Intent | None = None, *, limit: int
) -> FileHistory:
    """Return what is known of a file, and of its part in such a task if one is given. Raises: StoreError.

    Sweeping changes say nothing about two files that they touch.
    """
    from workbench.entry.project import AskedTask
    from workbench.sessions.history import MAX_FILES_PER_TASK

    asked = AskedTask() if task is None else AskedTask(task.task_fingerprint, task.entities.issue_refs)
    with project.tables() as tables:
        return tables.file_history(path, asked, most=MAX_FILES_PER_TASK, limit=limit)


def session_figures(found: Completeness) -> SessionFigures:
    """Return the figures with their share, None where no session has ended."""
    counts = found.ended, found.traced, found.full, found.open, found.agents, found.whole
    return SessionFigures(found.share, *counts)


def completeness_sentence(found: SessionFigures) -> str:
    """Return e.g. `4 sessions ended, 50% are complete (75% with reads or edits), 1 open`.

    Where they are prompts of fewer sessions of agents, how many of these are complete is said, too.
    """
    text = f"{plural(found.ended, 'session')} ended"
    if found.ended:
        whole, full = (round(100 * part / found.ended) for part in (found.traced, found.full))
        text += f", {full}% are complete"
        text += f" ({whole}% with reads or edits)" if whole > full else ""
    if 0 < found.agents < found.ended:
        share = round(100 * found.whole / found.agents)
        text += f"; they are prompts of {found.agents:,}, of which {share}% are complete"
    return text + (f", {found.open:,} open" if found.open else "")
