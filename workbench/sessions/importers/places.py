"""Where transcripts are on this machine, which files make one session, and which paths are the project's.

Claude Code keeps a directory for each working directory, Codex one for each day; both have a variable
that moves them. Sub-agents' files belong to the session that started them.

What was imported before is a cache of the files as they were then, which costs time to lose, and the
episodes, which are the journal's. Both together make that importing twice is importing once.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from datetime import datetime
from pathlib import Path
from typing import IO, Any

import msgspec

from workbench.ports import Damaged, Entry
from workbench.records.conversion import decode_msgpack
from workbench.records.dataclass import dataclass
from workbench.sessions.episodes_fold import FEEDBACK, FORGOTTEN, HOOK, IMPORTED, STARTED
from workbench.sessions.importers.git import session_commit
from workbench.sessions.importers.lines import open_transcript
from workbench.sessions.importers.touches import absolute

_SLUG = re.compile(r"[^A-Za-z0-9]")
_SLUG_LENGTH = 200  # characters; longer names are cut and get a hash
_WORKTREE = re.compile(r"(?:\.claude/worktrees|\.worktrees|\.codex/worktrees|\.cursor/worktrees)/[^/]+/(.+)")
_INTERNAL = (".git/", ".workbench/")
_ADDRESS = re.compile(r"(?:[a-z+]++://)?(?:[^@/]++@)?([^:/]+)(?::\d+(?=[:/]))?[:/]++(.+)\Z", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class TranscriptFile:
    """A file to read: its name, its size and time of change (ns), and how it is opened."""

    path: Path
    size: int
    changed: int
    open: Callable[[], IO[bytes]]


@dataclass(frozen=True, slots=True)
class SessionFiles:
    """The files of one session: its own, and those of its sub-agents."""

    main: TranscriptFile
    agents: tuple[TranscriptFile, ...] = ()


@dataclass(frozen=True, slots=True)
class ProjectPlaces:
    """What is the project: the absolute directories of its work trees, and its repository's addresses."""

    roots: tuple[str, ...]
    repositories: frozenset[str] = frozenset()


def transcript(path: Path) -> TranscriptFile:
    """Return a file on disk. Raises: OSError if it is not there."""
    status = path.stat()
    return TranscriptFile(path, status.st_size, status.st_mtime_ns, lambda: open_transcript(path))


def project_transcripts(roots: Sequence[str], home: Path, environment: Mapping[str, str]) -> tuple[Path, ...]:
    """Return the files in which a project's sessions may be: those of Claude Code by its directories' names.

    All of Codex' are returned: what they belong to is inside. Raises: OSError.
    """
    codex = Path(environment.get("CODEX_HOME") or home / ".codex")
    found: list[Path] = []
    for directory in _claude_directories(roots, home, environment):
        found += sorted(path for path in directory.rglob("*.jsonl") if path.is_file())
    for name in ("sessions", "archived_sessions"):
        if (codex / name).is_dir():
            found += sorted(path for path in (codex / name).rglob("*.jsonl") if path.is_file())
    return tuple(found)


def project_directories(
    roots: Sequence[str], home: Path, environment: Mapping[str, str], days: Iterable[datetime]
) -> tuple[Path, ...]:
    """Return the directories in which sessions of a project write now: Codex has one for each of some days.

    Raises: OSError.
    """
    codex = Path(environment.get("CODEX_HOME") or home / ".codex") / "sessions"
    return (
        *_claude_directories(roots, home, environment),
        *(codex / f"{day:%Y}" / f"{day:%m}" / f"{day:%d}" for day in days),
    )


def _claude_directories(roots: Sequence[str], home: Path, environment: Mapping[str, str]) -> Iterator[Path]:
    claude = Path(environment.get("CLAUDE_CONFIG_DIR") or home / ".claude") / "projects"
    slugs = [_SLUG.sub("-", root)[:_SLUG_LENGTH] for root in roots]
    for directory in sorted(claude.iterdir()) if claude.is_dir() else ():
        ours = any(directory.name == slug or directory.name.startswith(f"{slug}-") for slug in slugs)
        if ours and directory.is_dir():
            yield directory


def find_files(places: Iterable[Path]) -> tuple[Path, ...]:
    """Return the files given and the transcripts below directories given, each once, in order.

    Raises: OSError.
    """
    found: dict[Path, None] = {}
    for place in places:
        if place.is_dir():
            below = (path for pattern in ("*.jsonl", "*.jsonl.gz") for path in place.rglob(pattern))
            found.update(dict.fromkeys(sorted(path for path in below if path.is_file())))
        else:
            found[place] = None
    return tuple(found)


def group_files(
    files: Iterable[TranscriptFile],
    parent_of: Callable[[TranscriptFile], str],
    id_of: Callable[[TranscriptFile], str],
) -> tuple[tuple[SessionFiles, ...], tuple[TranscriptFile, ...]]:
    """Return the sessions in order, and the sub-agents' files whose session is not among them.

    `id_of` gives the session of a file and `parent_of` the one whose sub-agent wrote it, empty if none.
    """
    mains: dict[str, TranscriptFile] = {}
    helpers: list[tuple[TranscriptFile, str]] = []
    for file in files:
        parent = parent_of(file)
        if parent:
            helpers.append((file, parent))
        else:
            mains[str(file.path)] = file
    by_name = {file.path.name.split(".jsonl")[0]: key for key, file in mains.items()}
    missing = {parent for _, parent in helpers} - by_name.keys()
    if missing:
        for key, file in mains.items():
            session = id_of(file)
            if session in missing:
                by_name.setdefault(session, key)
    agents: dict[str, list[TranscriptFile]] = {}
    lost = []
    for file, parent in helpers:
        if parent in by_name:
            agents.setdefault(by_name[parent], []).append(file)
        else:
            lost.append(file)
    groups = tuple(SessionFiles(file, tuple(agents.get(key, ()))) for key, file in mains.items())
    return groups, tuple(lost)


def agent_directory_session(path: Path) -> str:
    """Return the session that a sub-agent's file is kept under (`<session>/subagents/…`), empty if none."""
    parts = path.parts[:-1]
    if "subagents" in parts and path.name.startswith("agent-"):
        place = len(parts) - 1 - parts[::-1].index("subagents")
        return parts[place - 1] if place else ""
    return ""


def relative(path: str, roots: Sequence[str]) -> str | None:
    """Return an absolute path relative to the root it lies below, None if it is none of the project's files.

    A file of a work tree that an agent keeps inside of the project has the name it has in the project.
    """
    best = ""
    for root in roots:
        if (path.startswith(root.rstrip("/") + "/")) and len(root) > len(best):
            best = root
    if not best:
        return None
    inside = path[len(best.rstrip("/")) + 1 :]
    worktree = _WORKTREE.fullmatch(inside)
    inside = worktree[1] if worktree is not None else inside
    if not inside or inside.startswith(_INTERNAL) or "\0" in inside or "/../" in f"/{inside}/":
        return None
    try:
        inside.encode("utf-8")
    except UnicodeEncodeError:
        return None
    return inside


def is_inside(directory: str, roots: Sequence[str]) -> bool:
    """Whether a directory is one of the roots or below one."""
    place = absolute(directory, "")
    return any(place == root.rstrip("/") or place.startswith(root.rstrip("/") + "/") for root in roots)


def same_address(address: str) -> str:
    """Return a repository's address in the one form that all ways of writing it share: `host/owner/name`."""
    match = _ADDRESS.match(address.strip())
    if match is None:
        return ""
    path = match[2].rstrip("/").casefold()
    return f"{match[1].casefold()}/{path.removesuffix('.git') or path}"


def session_roots(
    roots: Iterable[str], repository: str, directories: Iterable[str], places: ProjectPlaces
) -> list[str]:
    """Return the directories that are the project in a session: known ones, and where a clone of it was."""
    found = list(places.roots)
    address = same_address(repository) if repository else ""
    if address and address in places.repositories:
        known = [absolute(root, "") for root in roots]
        first = next(iter(directories), "")
        found += known or ([absolute(first, "")] if first else [])
    return list(dict.fromkeys(found))


def expand_roots(patterns: Iterable[str], directories: Iterable[str]) -> Iterator[str]:
    """Yield the roots that patterns name: a directory, or one with `*` for parts of a name in it."""
    for pattern in patterns:
        pattern = absolute(pattern, "")
        if "*" not in pattern:
            yield pattern
            continue
        regex = re.compile("[^/]*".join(re.escape(part) for part in pattern.split("*")))
        for directory in directories:
            found = regex.match(absolute(directory, ""))
            if found is not None:
                yield found[0]


GENERATION = "transcripts"
_FILE = "seen.msgpack"
_FORMAT = 1

Order = tuple[int, int, int, str]


class SeenSession(msgspec.Struct, frozen=True):
    """A session's files as they were read: `signature` of their sizes and times, and what they gave.

    `open`: its last task was left for later; `archived`: its files were copied.
    """

    signature: str
    session: str = ""
    tasks: int = 0
    open: bool = False
    archived: bool = False


class _Saved(msgspec.Struct):
    format: int
    seen: dict[str, SeenSession]


@dataclass(slots=True)
class KnownEpisodes:
    """The episodes of the journal that are sessions': id → (order, digest of the body); forgotten ones.

    `live` has the ids of those that hooks recorded while they happened and nobody judged, by their session.
    """

    episodes: dict[str, tuple[Order, str]] = field(default_factory=dict)
    forgotten: set[str] = field(default_factory=set)
    live: dict[str, list[str]] = field(default_factory=dict)


def load_seen(latest: Callable[[str], Path | Damaged | None]) -> dict[str, SeenSession]:
    """Return the sessions that were read, by path; empty if that is not known any more."""
    directory = latest(GENERATION)
    if directory is None or isinstance(directory, Damaged):
        return {}
    try:
        saved = decode_msgpack((directory / _FILE).read_bytes(), _Saved)
    except (OSError, msgspec.MsgspecError):
        return {}
    return saved.seen if saved.format == _FORMAT else {}


def write_seen(directory: Path, seen: dict[str, SeenSession]) -> None:
    """Write what `load_seen` reads into the directory of a generation."""
    (directory / _FILE).write_bytes(msgspec.msgpack.encode(_Saved(_FORMAT, dict(sorted(seen.items())))))


def signature(group: SessionFiles, roots: Iterable[str]) -> str:
    """Return a text that differs when a session's files, or what counts as the project, differ."""
    files = sorted((str(file.path), file.size, file.changed) for file in (group.main, *group.agents))
    return _digest((files, sorted(roots)))


def known_episodes(entries: Iterable[Entry]) -> KnownEpisodes:
    """Return which episodes of sessions the journal has now."""
    known = KnownEpisodes()
    live: dict[str, str] = {}
    for entry in entries:
        if entry.kind == IMPORTED:
            session = entry.body.get("session_id")
            if isinstance(session, str) and not session_commit(session):
                known.episodes[session] = (order_of(entry.body), digest_of(entry.body))
                known.forgotten.discard(session)
        elif entry.kind == STARTED and entry.by == HOOK and entry.body.get("parent_session"):
            live[str(entry.body.get("session_id"))] = str(entry.body["parent_session"])
        elif entry.kind == FEEDBACK:
            live.pop(str(entry.body.get("session_id")), None)
        elif entry.kind == FORGOTTEN and isinstance(entry.body.get("session_ids"), list):
            for session in entry.body["session_ids"]:
                live.pop(str(session), None)
                if isinstance(session, str) and known.episodes.pop(session, None) is not None:
                    known.forgotten.add(session)
    for episode, session in live.items():
        known.live.setdefault(session, []).append(episode)
    return known


def order_of(body: Mapping[str, Any]) -> Order:
    """Return what decides between two records of a prompt, in copies and resumed sessions: more wins."""
    ended, started = body.get("ended_at"), body.get("started_at")
    at = ended if type(ended) is int else started if type(started) is int else 0
    touched = sum(len(files) for key in ("changes", "reads") if isinstance(files := body.get(key), list))
    evidence = str(body.get("outcome_evidence") or "")
    return at, touched, evidence.count(";") + bool(evidence), str(body.get("parent_session") or "")


def digest_of(body: Mapping[str, Any]) -> str:
    """Return a digest of a body's content, whatever the order of its keys; empty fields don't count."""
    return _digest(sorted((key, value) for key, value in body.items() if value not in (None, "", [])))


def _digest(value: object) -> str:
    return hashlib.sha256(repr(value).encode("utf-8", "surrogatepass")).hexdigest()[:32]
