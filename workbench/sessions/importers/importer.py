"""Sessions of agents taken into the journal: what is new of them, once, with what was skipped and why.

Reads only files that changed since. Of a session that is still being written the last task waits until it
is over; what was taken up before is replaced when it turns out to have gone on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import field
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from workbench.errors import GitError
from workbench.ports import Damaged, Journal
from workbench.records.dataclass import dataclass
from workbench.records.episodes import CommittedPaths, Outcome
from workbench.records.plan import Intent
from workbench.sessions.episodes_fold import FORGOTTEN, IMPORTED, STREAM
from workbench.sessions.importers.bodies import episode_bodies
from workbench.sessions.importers.evidence import commit_taking
from workbench.sessions.importers.places import (
    GENERATION,
    KnownEpisodes,
    ProjectPlaces,
    SeenSession,
    SessionFiles,
    TranscriptFile,
    digest_of,
    expand_roots,
    group_files,
    is_inside,
    known_episodes,
    load_seen,
    order_of,
    session_roots,
    signature,
    write_seen,
)
from workbench.sessions.importers.readers import SessionReading, family, read_session
from workbench.sessions.importers.transcripts import ReadTally

BY = "import:sessions"
QUIET = 600.0  # seconds without a change after which a session's last task counts as over
_EARLIER = 90 * 86_400  # seconds before the first session that needs commits, for those of older files
_TOGETHER = 64  # sessions that are archived together
MAX_ELSEWHERE = 50  # directories of other projects that are named

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class ImportStore:
    """Where episodes go. `archive` keeps copies of files, None where none are made.

    `commits` are those since a moment, in the order they were written; it may raise GitError.
    """

    project_id: str
    places: ProjectPlaces
    journal: Journal
    latest: Callable[[str], Path | Damaged | None]
    publish: Callable[[str, Callable[[Path], None]], Path]
    lock: Callable[[str], AbstractContextManager[None]]
    understand: Callable[[str], Intent]
    now: Callable[[], float]
    archive: Callable[[Sequence[TranscriptFile]], Mapping[str, str]] | None = None
    commits: Callable[[int], Sequence[CommittedPaths]] = lambda since: ()


@dataclass(frozen=True, slots=True)
class ImportRequest:
    """What to import: prompts from `since` (seconds) on. `roots` are patterns of directories of the project.

    With `dry_run` nothing is written, with `again` also what was forgotten and files that did not change.
    """

    since: int = 0
    roots: tuple[str, ...] = ()
    dry_run: bool = False
    again: bool = False


@dataclass(slots=True)
class SessionReport:
    """One session's file: who wrote it, its tasks, and how much of it was understood."""

    path: str
    source: str
    tasks: int
    tally: ReadTally
    note: str = ""


@dataclass(slots=True)
class ImportReport:
    """What an import did. `sessions` gave tasks of the project; `skipped` counts why others did not.

    `masked` counts the secrets that were taken out of prompts.
    """

    files: int = 0
    read: int = 0
    bytes: int = 0
    sessions: int = 0
    new: int = 0
    updated: int = 0
    unchanged: int = 0
    edits: int = 0
    reads: int = 0
    archived: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    skipped: Counter[str] = field(default_factory=Counter)
    elsewhere: Counter[str] = field(default_factory=Counter)
    masked: Counter[str] = field(default_factory=Counter)
    tally: ReadTally = field(default_factory=ReadTally)
    details: list[SessionReport] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


class Importer:
    """One import. Everything it writes is written by `run`, session by session."""

    def __init__(self, store: ImportStore, wanted: ImportRequest) -> None:
        self.store = store
        self.wanted = wanted
        self.report = ImportReport()
        self._seen: dict[str, SeenSession] = {}
        self._known = KnownEpisodes()
        self._waiting: list[tuple[SessionFiles, SeenSession]] = []
        self._setting = (*store.places.roots, *wanted.roots)
        self._commits: Sequence[CommittedPaths] = ()
        self._commits_since = 1 << 62

    def run(self, files: Iterable[TranscriptFile], progress: Progress | None = None) -> ImportReport:
        """Import what is new of the files. Ctrl-C keeps what was imported until then.

        Raises: StoreError.
        """
        with self.store.lock(GENERATION):
            self._seen = load_seen(self.store.latest)
            groups = self._groups(tuple(files))
            changed = [group for group in groups if self._is_new(group)]
            if changed:
                self._known = known_episodes(entry for _, entry in self.store.journal.read(STREAM))
            total, done = sum(map(_size, changed)), 0
            try:
                for group in changed:
                    if progress is not None:
                        progress("reading sessions", done, total)
                    self._take(group)
                    done += _size(group)
                self._archive()
            finally:
                if changed and not self.wanted.dry_run:
                    seen = self._seen
                    self.store.publish(GENERATION, lambda directory: write_seen(directory, seen))
        return self.report

    def _groups(self, files: Sequence[TranscriptFile]) -> tuple[SessionFiles, ...]:
        self.report.files = len(files)
        families: dict[Path, tuple[str, str]] = {}

        def of(file: TranscriptFile) -> tuple[str, str]:
            if file.path not in families:
                families[file.path] = family(file)
            return families[file.path]

        groups, lost = group_files(files, lambda file: of(file)[1], lambda file: of(file)[0])
        if lost:
            self.report.skipped["sub-agents' files without their session"] += len(lost)
        return groups

    def _is_new(self, group: SessionFiles) -> bool:
        if self.wanted.since and group.main.changed < self.wanted.since * 1_000_000_000:
            self.report.skipped["files older than --since"] += 1
            return False
        seen = self._seen.get(str(group.main.path))
        if self.wanted.again or seen is None or seen.signature != signature(group, self._setting):
            return True
        if (seen.open and self._is_over(group)) or (
            seen.tasks and not seen.archived and self.store.archive is not None
        ):
            return True
        self.report.skipped["files that did not change"] += 1
        return False

    def _is_over(self, group: SessionFiles) -> bool:
        last = max(file.changed for file in (group.main, *group.agents))
        return abs(self.store.now() - last / 1_000_000_000) >= QUIET

    def _take(self, group: SessionFiles) -> None:
        report = self.report
        over = self._is_over(group)
        reading = read_session(group, self.store.project_id)
        report.read += 1
        report.bytes += _size(group)
        if not reading.source:
            report.skipped["files that are not transcripts"] += 1
            self._remember(group, SeenSession(signature(group, self._setting)))
            return
        if reading.fault:
            report.notes.append(f"{group.main.path}: {reading.fault}")
            report.skipped["files that could not be read to their end"] += 1
        report.tally.add(reading.tally)
        bodies = self._bodies(group, reading, complete=over)
        detail = SessionReport(str(group.main.path), reading.source, len(bodies), reading.tally)
        report.details.append(detail)
        report.sessions += bool(bodies)
        self._record(bodies)
        if over:
            self._supersede(bodies)
        if reading.fault or (self.wanted.since and bodies):
            return  # to be read again
        session = reading.story.session
        seen = SeenSession(signature(group, self._setting), session, len(bodies), not over)
        if bodies and self.store.archive is not None:
            self._waiting.append((group, seen))
            if len(self._waiting) >= _TOGETHER:
                self._archive()
        else:
            self._remember(group, seen)

    def _archive(self) -> None:
        """Copy the files of the sessions that wait for it; only then they count as read."""
        if self.store.archive is None or self.wanted.dry_run or not self._waiting:
            return
        files = [file for group, _ in self._waiting for file in (group.main, *group.agents)]
        kept = self.store.archive(files)
        self.report.archived += len(kept)
        for group, seen in self._waiting:
            self._remember(group, replace(seen, archived=True))
        self._waiting.clear()

    def _remember(self, group: SessionFiles, seen: SeenSession) -> None:
        self._seen[str(group.main.path)] = seen

    def _bodies(
        self, group: SessionFiles, reading: SessionReading, *, complete: bool
    ) -> list[dict[str, Any]]:
        report, story, store = self.report, reading.story, self.store
        if reading.bodies:
            found = reading.bodies
        elif story.parent:
            report.skipped["sub-agents' files without their session"] += 1
            return []
        else:
            roots = session_roots(story.roots, story.repository, story.directories, store.places)
            roots += expand_roots(self.wanted.roots, story.directories)
            kept = episode_bodies(
                story,
                list(dict.fromkeys(roots)),
                project_id=store.project_id,
                source=reading.source,
                understand=store.understand,
                fallback_at=group.main.changed // 1_000_000_000,
                complete=complete,
            )
            found = list(kept.bodies)
            report.masked.update(kept.masked)
            self._count(kept.elsewhere, "prompts of other projects")
            self._count(kept.paths_outside, "paths outside of the project")
            self._count(kept.empty, "prompts without words")
            self._count(story.repeated, "repeated records")
            self._count(story.orphans, "calls before the first prompt")
            self._count(story.failed, "calls that failed or did not run")
            self._count(0 if complete or not story.tasks else 1, "tasks that may still go on")
            self._count(0 if story.tasks else 1, "sessions without prompts")
            if kept.elsewhere:
                foreign = next((place for place in story.directories if not is_inside(place, roots)), "")
                if foreign in report.elsewhere or len(report.elsewhere) < MAX_ELSEWHERE:
                    report.elsewhere[foreign or "unknown"] += 1
        recent = [body for body in found if body["started_at"] >= self.wanted.since]
        self._count(len(found) - len(recent), "prompts older than --since")
        return list(map(self._with_commit, recent))

    def _with_commit(self, body: dict[str, Any]) -> dict[str, Any]:
        """Return a task of whose end nothing is known with the commit of what it changed, if there is one."""
        if body["outcome"] != Outcome.UNKNOWN.value or not body["changes"]:
            return body
        started, paths = body["started_at"], [change[0] for change in body["changes"]]
        if started < self._commits_since:
            self._commits_since = started - _EARLIER
            try:
                self._commits = self.store.commits(self._commits_since)
            except GitError as error:
                self._commits, self._commits_since = (), -1
                self.report.notes.append(f"no outcome is derived from commits: {error.message}")
        taking = commit_taking(paths, started, body["ended_at"], self._commits)
        if taking is None:
            return body
        why = (
            f"derived: commit {taking[0][:12]} took {taking[1]} of {len(paths)} changed files within an hour"
        )
        return {
            **body,
            "outcome": Outcome.SUCCESS.value,
            "commit_sha": taking[0],
            "outcome_evidence": "; ".join(filter(None, (body["outcome_evidence"], why))),
        }

    def _count(self, number: int, what: str) -> None:
        if number:
            self.report.skipped[what] += number

    def _record(self, bodies: Sequence[dict[str, Any]]) -> None:
        """Append the bodies that are new or more complete than what the journal has, in one write."""
        report, known = self.report, self._known
        fresh = []
        for body in bodies:
            session = body["session_id"]
            if session in known.forgotten and not self.wanted.again:
                self._count(1, "tasks that were forgotten on purpose")
                continue
            order, digest = order_of(body), digest_of(body)
            before = known.episodes.get(session)
            if before is not None and before[1] == digest:
                report.unchanged += 1
                continue
            if (
                before is not None
                and before[0] > order
                and not (self.wanted.again and before[0][-1] == order[-1])
            ):
                self._count(1, "prompts that another file records further")
                continue
            report.new += before is None
            report.updated += before is not None
            report.edits += len(body["changes"])
            report.reads += len(body["reads"])
            report.outcomes[body["outcome"]] += 1
            known.episodes[session] = (order, digest)
            known.forgotten.discard(session)
            fresh.append(body)
        if fresh and not self.wanted.dry_run:
            self.store.journal.append(STREAM, IMPORTED, fresh, by=BY)

    def _supersede(self, bodies: Sequence[dict[str, Any]]) -> None:
        """Forget what hooks recorded of sessions whose transcripts are read to their end: these know more."""
        sessions = dict.fromkeys(str(body.get("parent_session")) for body in bodies)
        live = [one for session in sessions for one in self._known.live.pop(session, ())]
        if live and not self.wanted.dry_run:
            reason = "the transcript of the session was imported"
            self.store.journal.append(STREAM, FORGOTTEN, [{"session_ids": live, "reason": reason}], by=BY)


def _size(group: SessionFiles) -> int:
    return sum(file.size for file in (group.main, *group.agents))
