"""The sessions of a project from Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from workbench.entry.services.opening import ProjectHost

if TYPE_CHECKING:
    from workbench.lists.tables import Page
    from workbench.records.episodes import Episode, SessionRow, Trace


class ProjectSessions:
    """What was done in a project, task by task: recorded while it happens, judged afterwards.

    Recording waits for no index and no model. The beginning of an id names a session; a call that is repeated
    changes nothing.
    """

    def __init__(self, host: ProjectHost) -> None:
        """Take what keeps the project open; `project.sessions` is one."""
        self._host = host

    def list(
        self,
        filter: str = "",
        *,
        sort: str = "",
        limit: int = 20,
        cursor: str | None = None,
        commits: bool = False,
    ) -> Page[SessionRow]:
        """Return a page of the sessions, the newest first or by a column to `sort` by, `-` for reverse.

        `filter` is that of the app, such as `outcome:failed file:auth login`; with `commits` past commits are
        listed, too. `cursor` is that of the page before. Raises: UsageError for an invalid one;
        StoreError.
        """
        from workbench.entry.services.sessions import session_page, session_query

        query = session_query(filter, sort)
        with self._host.operation("sessions") as work:
            return session_page(work.project, query, commits=commits, cursor=cursor, limit=limit)

    def get(self, session: str) -> Trace:
        """Return a session with its events: task, reads, edits, outcome. Raises: UsageError for none."""
        from workbench.entry.services.episodes import recording_of

        return recording_of(self._host).trace(session)

    def start(
        self,
        task: str,
        *,
        session: str = "",
        query_type: str = "",
        budget: int | None = None,
    ) -> str:
        """Start a session for a task and return its id, a new one if none is given.

        Raises: UsageError for an empty task or a session that has another one; StoreError.
        """
        from workbench.entry.services.episodes import recording_of

        episodes = recording_of(self._host)
        started = episodes.start(task, session_id=session, query_type=query_type, token_budget=budget)
        episodes.note_disk(started)
        return started

    def event(
        self,
        session: str,
        event_type: str,
        *,
        files: Sequence[str] = (),
        kind: str = "",
        symbol: str = "",
        payload: Mapping[str, Any] | None = None,
        key: str = "",
    ) -> bool:
        """Record what a session did, once for each file; return whether anything was recorded.

        `event_type` is read, edit, grepai_hit, delta or decision; `kind` is what an edit did to its files:
        added, modified, removed. `files` are paths from the root. A `key` that was used before makes it a
        repetition.
        Raises: UsageError for an unknown session or value, a file that is excluded or outside; StoreError.
        """
        from workbench.entry.services.episodes import recording_of

        return recording_of(self._host).event(
            session, event_type, files=files, kind=kind, symbol=symbol, payload=payload, key=key
        )

    def end(
        self, session: str, outcome: str = "unknown", *, commit: str = "", token_used: int | None = None
    ) -> Episode:
        """End a session and return it; `outcome` is success, partial, failed or unknown.

        Raises: UsageError for an unknown session, outcome or commit; StoreError.
        """
        from workbench.entry.services.episodes import recording_of

        return recording_of(self._host).end(session, outcome, commit=commit, token_used=token_used)

    def feedback(self, session: str, outcome: str = "", rationale: str = "") -> Episode:
        """Judge a session and return it; the last word on an outcome counts. Raises: as `end`."""
        from workbench.entry.services.episodes import recording_of

        return recording_of(self._host).feedback(session, outcome, rationale)
