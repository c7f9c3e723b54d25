"""Running sessions: what hooks recorded of them, and what the transcripts have that agents write now.

Nothing is watched here: whoever shows it asks `RunningSessions.traces` what changed, which opens no file, and
looks again. Transcripts are read as they grow, each line once, and only those written to a moment ago.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final

from workbench.entry.services.handovers import BROKEN, GIVEN, LOADED, LOST, STREAM, read_handover
from workbench.entry.services.sessions import session_page, session_query
from workbench.entry.services.transcripts import project_places
from workbench.entry.services.usage import rules_in_book
from workbench.records.answers.usage import RunningSession
from workbench.rules.curation.ruletype import STREAM as RULES
from workbench.sessions.episodes_fold import COMMITS
from workbench.sessions.episodes_fold import STREAM as SESSIONS
from workbench.sessions.importers.exclusions import path_filter
from workbench.sessions.importers.places import is_inside, project_directories, relative
from workbench.sessions.running import (
    SessionActivity,
    SessionGifts,
    TranscriptTail,
    read_activity,
    running_session,
    seconds_of,
)
from workbench.text.redact import redact
from workbench.text.sanitize import visible_line

if TYPE_CHECKING:
    from workbench.entry.project import OpenedProject
    from workbench.records.rules import Rule
    from workbench.sessions.importers.places import ProjectPlaces

LINGER: Final = 600.0
"""Seconds for which a session is listed after its turn is over, and a transcript after its last line."""

_MOST: Final = 50  # sessions
_CALL: Final = 200  # characters of a call


class RunningSessions:
    """The running sessions of a project. One look at a time; `traces` may be asked by any thread."""

    def __init__(self, project: OpenedProject, environment: Mapping[str, str] = os.environ) -> None:
        self._project = project
        self._environment = environment
        self._tails: dict[Path, TranscriptTail] = {}
        self._rules: tuple[str, tuple[Rule, ...]] = ("", ())
        self._looking = threading.Lock()

    def traces(self) -> str:
        """Return a text that differs when a transcript was written to. Files are looked at, not opened."""
        return repr([(str(path), size, changed) for path, size, changed in self._written_lately()])

    def look(self) -> tuple[RunningSession, ...]:
        """Return the running sessions, the last one heard of first. Raises: StoreError."""
        with self._looking:
            project, now = self._project, self._project.clock.now()
            found = {
                name: read_activity(project.mentioning(SESSIONS, f'"{name}'), name)
                for name in self._names(now)
            }
            for tail in self._read_tails():
                self._add_transcript(found, tail)
            rules = self._known_rules() if found else ()
            made = [
                running_session(one, read_gifts(project, one.session), rules, now) for one in found.values()
            ]
        return tuple(sorted(made, key=lambda one: (-one.last_at, one.session_id))[:_MOST])

    def _names(self, now: float) -> Iterator[str]:
        """Yield the sessions that are open, or whose turn was over a moment ago."""
        project = self._project
        opened = session_page(project, session_query("open:yes"), commits=False, cursor=None, limit=_MOST)
        newest = session_page(project, session_query(""), commits=False, cursor=None, limit=2 * _MOST)
        ended = [row for row in newest.rows if row.ended_at is not None and now - row.ended_at < LINGER]
        for row in (*opened.rows, *ended):
            if row.source != COMMITS:
                yield row.parent_session or row.session_id

    def _known_rules(self) -> tuple[Rule, ...]:
        project = self._project
        revision = "/".join(journal.revision(RULES) for journal in project.journals.values())
        if self._rules[0] != revision:
            self._rules = (revision, rules_in_book(project))
        return self._rules[1]

    # Transcripts.

    @cached_property
    def _places(self) -> ProjectPlaces:
        return project_places(self._project.root, self._project.repository)

    def _written_lately(self) -> Iterator[tuple[Path, int, int]]:
        """Yield (path, size, time in ns) of the transcripts that were written to a moment ago."""
        now = self._project.clock.now()
        home = Path(self._environment.get("HOME") or Path.home())
        days = [datetime.fromtimestamp(now, UTC) - timedelta(days=back) for back in (-1, 0, 1)]
        for directory in project_directories(self._places.roots, home, self._environment, days):
            with suppress(OSError), os.scandir(directory) as found:
                for one in sorted(found, key=lambda one: one.name):
                    if not one.name.endswith(".jsonl") or not one.is_file(follow_symlinks=False):
                        continue
                    status = one.stat(follow_symlinks=False)
                    if now - status.st_mtime < LINGER:
                        yield Path(one.path), status.st_size, status.st_mtime_ns

    def _read_tails(self) -> list[TranscriptTail]:
        written = [path for path, _, _ in self._written_lately()]
        self._tails = {path: self._tails.get(path) or TranscriptTail(path) for path in written}
        for path in written:
            try:
                self._tails[path].read()
            except OSError:  # it went away, or is not for us to read
                del self._tails[path]
        return list(self._tails.values())

    def _add_transcript(self, found: dict[str, SessionActivity], tail: TranscriptTail) -> None:
        """Add what a transcript has to the session it is of, if that is held in this project."""
        story, roots = tail.story, self._places.roots
        if not story.tasks or story.parent or not any(is_inside(one, roots) for one in story.directories):
            return
        session = story.session or tail.path.stem
        if session not in found:
            found[session] = read_activity(self._project.mentioning(SESSIONS, f'"{session}'), session)
        activity, last = found[session], story.tasks[-1]
        activity.known_by.add("transcript")
        activity.agent = activity.agent or ("codex" if "rollout-" in tail.path.name else "claude")
        if not activity.episode:
            activity.task = redact(last.text).text.strip()
            activity.prompts = len(story.tasks)
            activity.started_at = story.tasks[0].started
            activity.ended = False
        activity.last_at = max(activity.last_at, last.ended)
        excluded = path_filter(self._project.config.privacy.exclude, roots)
        for path, (read, edited) in tail.touched.items():
            own = relative(path, roots)
            if own is None or excluded(own):
                continue
            for is_edit, at in ((False, read), (True, edited)):
                if at >= 0:
                    activity.touch(own, edited=is_edit, at=at)
        call = tail.last_call
        if call is not None:
            words = next(
                (
                    v
                    for k in ("command", "file_path", "path", "pattern")
                    if isinstance(v := call.input.get(k), str)
                ),
                "",
            )
            own = relative(words, roots) or words
            hidden = any(excluded(word) for word in words.split())
            said = f"{call.tool} {'' if hidden else redact(own[: 4 * _CALL]).text}"
            activity.now = visible_line(said.strip())[:_CALL]


def read_gifts(project: OpenedProject, session: str) -> SessionGifts:
    """Return what a session was handed over, loaded, broke and lost. Raises: JournalError."""
    handovers, loaded, lost = [], set(), -1
    broken: dict[str, int] = {}
    for entry in project.mentioning(STREAM, f'"{session}"'):
        body = entry.body
        if body.get("session_id") != session:
            continue
        if entry.kind == GIVEN:
            handovers.append(read_handover(entry))
        elif entry.kind == LOADED:
            loaded.add(str(body.get("file", "")))
        elif entry.kind == LOST:
            lost = seconds_of(entry)
        elif entry.kind == BROKEN and isinstance(body.get("rules"), list):
            broken.update((str(rule), seconds_of(entry)) for rule in body["rules"])
    return SessionGifts(tuple(handovers), frozenset(loaded), broken, lost)
