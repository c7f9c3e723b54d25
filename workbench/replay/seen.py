"""A project of which only its sessions are left: the paths they had seen by a moment are all its files.

Nothing is known of what the files held, so their names, folders and what past prompts did to them have to do.
"""

from __future__ import annotations

from collections.abc import Sequence

from workbench.plan.view import view_project
from workbench.project.admission import refusal
from workbench.project.languages import language_of, role_of
from workbench.project.updates import build_index
from workbench.records.project import FileFacts
from workbench.replay.tasks import PastSession
from workbench.replay.timeline import HISTORY, Moment
from workbench.sessions.feedback import Trust
from workbench.sessions.history import build_history


class SeenPaths:
    """The moments of a project without a repository. Not thread-safe."""

    def __init__(
        self, sessions: Sequence[PastSession], *, history: int = HISTORY, trust: Trust | None = None
    ) -> None:
        self._sessions = sessions
        self._limit = history
        self._trust = trust

    def at(self, revision: str, moment: int) -> Moment:
        """Return what sessions that had ended by a second had seen; there are no revisions to ask for."""
        before = [one for one in self._sessions if one.ended <= moment]
        paths = sorted(
            {
                path
                for one in before
                for path in (*one.reads, *(change.path for change in one.changes))
                if refusal(path) is None
            }
        )
        facts = [FileFacts(language_of(path, ""), role_of(path), 0, 0) for path in paths]
        index = build_index(paths, facts, [0] * len(paths))
        past = tuple(one.known for one in reversed(before))[: self._limit]
        view = view_project(index, build_history((known.task for known in past), self._trust))
        return Moment(view, dict.fromkeys(paths, ""), past)
