"""Transcripts of coding agents: found on this machine, imported, archived, found again by session."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING

from workbench.config import Config, SessionsConfig
from workbench.config_layers import load
from workbench.entry.project import (
    OpenedProject,
    Repository,
    open_workspace,
    remote_addresses,
    repository_at,
    share_history,
    work_trees,
)
from workbench.errors import GitError, UsageError
from workbench.places import may_have_checks
from workbench.plan.intent import parse_intent
from workbench.records.answers.project import DoctorFinding, ImportedSessions, State
from workbench.records.dataclass import dataclass
from workbench.records.episodes import CommittedPaths, Episode
from workbench.sessions.episodes_fold import COMMITS
from workbench.sessions.importers.exclusions import Withholder, path_filter
from workbench.sessions.importers.importer import Importer, ImportReport, ImportRequest, ImportStore, Progress
from workbench.sessions.importers.lines import open_transcript
from workbench.sessions.importers.places import (
    ProjectPlaces,
    TranscriptFile,
    agent_directory_session,
    find_files,
    load_seen,
    project_transcripts,
    same_address,
    transcript,
)
from workbench.text.counts import plural, shown_bytes
from workbench.text.sanitize import visible_line

if TYPE_CHECKING:
    from workbench.entry.project import Archive

_SHOWN = 5
_OVER = 86_400.0  # seconds after which nobody expects a session to go on


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import did, and what became of the archive: copies that went for room, files too big for it."""

    report: ImportReport
    dropped: int = 0
    refused: int = 0


def import_sessions(
    project: OpenedProject,
    sessions: SessionsConfig,
    paths: Sequence[Path],
    wanted: ImportRequest,
    *,
    archived: bool = False,
    finished: bool = False,
    environment: Mapping[str, str] = os.environ,
    progress: Progress | None = None,
) -> Imported:
    """Import the sessions of a project from files and directories; without any from where agents keep them.

    With `archived` from the copies that earlier imports made; with `finished` a session whose file was just
    written is taken to be over. Raises: UsageError for a path that does not exist, StoreError.
    """
    places = project_places(project.root, project.repository)
    excluded = path_filter(load(project=project.root).config.privacy.exclude, (str(project.root),))
    archive = project.archive(sessions.archive_mb << 20, cleaning=lambda: Withholder(excluded).line)
    missing: list[str] = []
    if archived:
        files = [
            TranscriptFile(Path(copy.path), copy.size, copy.changed, partial(archive.open, copy))
            for copy in archive.copies()
        ]
    else:
        files = list(_find_transcripts(paths, places, environment, missing))
    keeps = sessions.archive and not archived and not wanted.dry_run
    adapters = project.workspace.adapters
    store = ImportStore(
        project_id=adapters.project_id,
        places=places,
        journal=project.journal,
        latest=adapters.latest,
        publish=adapters.publish,
        lock=adapters.lock,
        understand=partial(parse_intent, project_id=adapters.project_id),
        now=(lambda: adapters.now() + _OVER) if finished else adapters.now,
        archive=partial(_archive, archive) if keeps else None,
        commits=partial(_commits, project.repository),
    )
    report = Importer(store, wanted).run(files, progress)
    if not wanted.dry_run and may_have_checks(project.root, environment):
        from workbench.entry.services.usage import record_past_breaches

        record_past_breaches(project, [Path(detail.path) for detail in report.details if detail.tasks])
    if missing:
        report.skipped["files that went away or cannot be read"] += len(missing)
        report.notes += missing
    if not wanted.dry_run:
        from workbench.entry.services.retention import purge_daily

        if (taken := purge_daily(project)) is not None and not taken.empty:
            report.notes.append(f"retention took {taken.what}: {shown_bytes(taken.freed)} fewer")
    return Imported(report, archive.dropped, archive.refused)


def _commits(repository: Repository | None, since: int) -> list[CommittedPaths]:
    from workbench.entry.project import committed_paths

    return [] if repository is None else committed_paths(repository, since)


@dataclass(frozen=True, slots=True)
class TranscriptPast:
    """A scratch project that knows the sessions of some transcripts; `summary` says in a sentence whose."""

    root: Path
    summary: str


@contextmanager
def transcript_past(
    start: Path, given: Path, config: Config, *, progress: Progress | None = None
) -> Iterator[TranscriptPast]:
    """Give a scratch project with the sessions of transcripts, which goes with the context.

    Where they are of the project at `start` it has that one's history; else they are those of the project
    most of their edits are of, whose files are known from the sessions alone. Nothing is recorded elsewhere.
    Raises: UsageError if there is no session with a prompt; GitError, StoreError.
    """
    with tempfile.TemporaryDirectory(prefix="workbench-replay-") as scratch:
        repository = repository_at(start)[0]
        ours = str(start if repository is None else repository.root)
        root = Path(scratch) / (Path(ours).name or "project")
        root.mkdir()
        if repository is not None and not repository.bare:
            share_history(repository, root)
        report = _import_held(root, given, config, ours, progress)
        if report.new:
            yield TranscriptPast(
                root,
                f"{plural(report.new, 'prompt')} of {plural(report.sessions, 'session')} of this project",
            )
            return
        if not report.elsewhere:
            raise UsageError(
                f"{given} holds no session with a prompt",
                hint="`workbench import sessions --dry-run` says why.",
            )
        root = Path(scratch) / "elsewhere"
        root.mkdir()
        tried = {
            name: _import_held(root, given, config, name, progress, dry_run=True) for name in report.elsewhere
        }
        theirs = max(tried, key=lambda name: (min(tried[name].new, tried[name].edits), name))
        root = root / (Path(theirs).name or "project")
        root.mkdir()
        done = _import_held(root, given, config, theirs, progress)
        left = f"; {len(tried) - 1} other projects are left out" if len(tried) > 1 else ""
        yield TranscriptPast(
            root, f"{plural(done.new, 'prompt')} of {plural(done.sessions, 'session')} of {theirs}{left}"
        )


def _import_held(
    root: Path, given: Path, config: Config, place: str, progress: Progress | None, *, dry_run: bool = False
) -> ImportReport:
    """Import the sessions that were held at a place into a scratch project."""
    scratch = open_workspace(root, config)
    sessions = replace(config.sessions, archive=False)
    wanted = ImportRequest(roots=(place,), dry_run=dry_run)
    done = import_sessions(scratch, sessions, [given], wanted, finished=True, progress=progress)
    return done.report


def archive_findings(project: OpenedProject) -> Iterator[DoctorFinding]:
    """Yield which copies of transcripts are damaged, after reading all of them."""
    archive = project.archive()
    faults = archive.faults()
    for fault in faults[:_SHOWN]:
        step = "Import sessions again: what agents still have is copied again."
        yield DoctorFinding("archive", State.NOTE, visible_line(fault), step)
    if len(faults) > _SHOWN:
        yield DoctorFinding("archive", State.NOTE, f"and {len(faults) - _SHOWN:,} more", "See `--json`.")
    if not faults and (copies := archive.copies()):
        count = plural(len(copies), "transcript")
        yield DoctorFinding("archive", State.OK, f"{count} as they were copied")


def count_imports(project: OpenedProject) -> ImportedSessions:
    """Return what was imported so far, and change nothing."""
    copies = project.archive().copies()
    seen = load_seen(project.workspace.adapters.latest)
    stored = {copy.name: copy.stored for copy in copies}
    return ImportedSessions(sum(one.tasks > 0 for one in seen.values()), len(copies), sum(stored.values()))


@dataclass(frozen=True, slots=True)
class FoundTranscripts:
    """Transcripts of an agent on this machine: files, bytes, first and last time of change in seconds.

    Not `certain` are those whose project is named in them. `known` were read by an import and did not change.
    """

    agent: str
    files: int
    bytes: int
    oldest: int
    newest: int
    certain: bool
    known: int


def discover_sessions(
    project: OpenedProject, *, environment: Mapping[str, str] = os.environ
) -> tuple[FoundTranscripts, ...]:
    """Return what an import would find, by agents' names, without opening any file. Raises: OSError."""
    seen = load_seen(project.workspace.adapters.latest)
    files: dict[str, list[TranscriptFile]] = {}
    for agent, file in _agent_transcripts(project, environment):
        files.setdefault(agent, []).append(file)
    return tuple(
        FoundTranscripts(
            agent,
            len(found),
            sum(file.size for file in found),
            min(file.changed for file in found) // 1_000_000_000,
            max(file.changed for file in found) // 1_000_000_000,
            agent != "Codex",
            sum(str(file.path) in seen for file in found),
        )
        for agent, found in sorted(files.items())
    )


def newest_transcript(project: OpenedProject, *, environment: Mapping[str, str] = os.environ) -> Path | None:
    """Return Claude Code's transcript of the project that changed last, None without any. Raises: OSError."""
    found = [file for agent, file in _agent_transcripts(project, environment) if agent == "Claude Code"]
    return max(found, key=lambda file: file.changed).path if found else None


@dataclass(frozen=True, slots=True)
class SessionFile:
    """Where a session's transcript is: the original, or the copy an import made; neither: `why` says it."""

    path: str = ""
    archived: bool = False
    open: Callable[[], IO[bytes]] | None = None
    why: str = ""


def session_file(
    project: OpenedProject, episode: Episode, *, environment: Mapping[str, str] = os.environ
) -> SessionFile:
    """Return the transcript that an episode comes from, as `transcript_of`. Raises: as that."""
    if episode.source == COMMITS:
        return SessionFile(why="A commit has no transcript: `git show` has all there is.")
    return transcript_of(project, episode.parent_session or episode.session_id, environment=environment)


def transcript_of(
    project: OpenedProject, session: str, *, environment: Mapping[str, str] = os.environ
) -> SessionFile:
    """Return the transcript of a session. The original is preferred: it is the longer one.

    Raises: OSError if the agents' directories cannot be listed.
    """
    seen = load_seen(project.workspace.adapters.latest)
    names = [path for path, one in seen.items() if one.tasks and one.session == session]
    names += [path for path in seen if _is_of(Path(path), session) and path not in names]
    copies = {copy.path: copy for copy in project.archive().copies()}
    for name in names:
        path = Path(name)
        if path.is_file():
            return SessionFile(name, open=partial(open_transcript, path))
        if name in copies:
            archive = project.archive()
            return SessionFile(name, archived=True, open=partial(archive.open, copies[name]))
    home = Path(environment.get("HOME") or Path.home())
    roots = project_places(project.root, project.repository).roots
    for path in project_transcripts(roots, home, environment):
        if _is_of(path, session):
            return SessionFile(str(path), open=partial(open_transcript, path))
    return SessionFile(why=_why_missing(names, session))


def _is_of(path: Path, session: str) -> bool:
    """Whether a transcript is a session's by its name: `ID.jsonl` or `rollout-TIME-ID.jsonl`."""
    name = path.name.partition(".jsonl")[0]
    return name == session or name.endswith(f"-{session}")


def _why_missing(names: Sequence[str], session: str) -> str:
    if names:
        return (
            f"Its transcript was {names[0]}, which is gone, and no copy of it was kept: "
            "sessions.archive says whether imports keep them, sessions.archive_mb how much."
        )
    return (
        f"No transcript of {session} is known: it was recorded while it ran, or its file was imported "
        "elsewhere. `workbench import sessions PATH` takes up transcripts from any place."
    )


def project_places(root: Path, repository: Repository | None) -> ProjectPlaces:
    """Return the directories that are a project: its root, its other work trees, links resolved or not."""
    roots = [str(root), str(root.resolve())]
    addresses: set[str] = set()
    if repository is not None:
        with suppress(GitError):  # sessions are then found by the project's root alone
            roots += work_trees(root)
        with suppress(GitError):
            addresses = {address for one in remote_addresses(root) if (address := same_address(one))}
    return ProjectPlaces(
        tuple(dict.fromkeys(path.replace("\\", "/") for path in roots)), frozenset(addresses)
    )


def _agent_transcripts(
    project: OpenedProject, environment: Mapping[str, str]
) -> Iterator[tuple[str, TranscriptFile]]:
    """Yield (agent, transcript) of what agents keep of the project's sessions, sub-agents' left out."""
    home = Path(environment.get("HOME") or Path.home())
    codex = Path(environment.get("CODEX_HOME") or home / ".codex")
    places = project_places(project.root, project.repository)
    for file in _find_transcripts((), places, environment, []):
        if not agent_directory_session(file.path):
            yield "Codex" if file.path.is_relative_to(codex) else "Claude Code", file


def _find_transcripts(
    paths: Sequence[Path], places: ProjectPlaces, environment: Mapping[str, str], missing: list[str]
) -> Iterator[TranscriptFile]:
    for path in paths:
        if not path.exists():
            raise UsageError(f"{path} does not exist", hint="Give a transcript or a directory of them.")
    home = Path(environment.get("HOME") or Path.home())
    found = find_files(paths) if paths else project_transcripts(places.roots, home, environment)
    for path in found:
        try:
            yield transcript(path.absolute())
        except OSError as error:
            missing.append(f"{path}: {error.strerror}")


def _archive(archive: Archive, files: Sequence[TranscriptFile]) -> Mapping[str, str]:
    return archive.keep(
        [
            archive.source(str(file.path), file.size, file.changed, file.open)
            for file in files
            if file.path.suffix != ".gz"  # such as another archive's copies
        ]
    )


def archive_transcripts(project: OpenedProject, config: Config, paths: Sequence[Path]) -> None:
    """Copy transcripts into the archive as an import does, without reading any task. Raises: StoreError."""
    excluded = path_filter(config.privacy.exclude, (str(project.root),))
    archive = project.archive(config.sessions.archive_mb << 20, cleaning=lambda: Withholder(excluded).line)
    found = []
    for path in paths:
        with suppress(OSError):  # it went away meanwhile
            found.append(transcript(path.absolute()))
    _archive(archive, found)
