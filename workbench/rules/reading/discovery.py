"""Finds rule files in a project and in the user's home, and reads them with bounds.

Files come from the project's listing and, because people ignore their local rules in git, from the known
places at its root. A file that several names lead to (AGENTS.md as a link to CLAUDE.md) is found once. A
link counts if it stays in the project and leads to prose; others are found, and refused when they are read.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import field, replace

from workbench.beneath import LeadsOut, PathBeneath, open_at, resolve_beneath
from workbench.errors import ParseError
from workbench.records.dataclass import dataclass
from workbench.rules.formats.families import family_of

MAX_BYTES = 5 * 1024 * 1024
MAX_FILES = 5000
_ROOT_FILES = (
    "CLAUDE.md",
    "CLAUDE.local.md",
    ".claude/CLAUDE.md",
    "AGENTS.md",
    "AGENTS.override.md",
    "AGENT.md",
    "GEMINI.md",
    ".cursorrules",
    ".windsurfrules",
    ".clinerules",
    ".github/copilot-instructions.md",
)
_ROOT_FOLDERS = (
    ".claude/rules",
    ".cursor/rules",
    ".github/instructions",
    ".windsurf/rules",
    ".clinerules",
    ".kiro/steering",
)
PROSE = (".md", ".mdc", ".markdown", ".txt", ".rst")
_OPEN = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
_HOME_FILES = (".claude/CLAUDE.md", ".codex/AGENTS.md", ".codex/AGENTS.override.md", ".gemini/GEMINI.md")
_HOME_FOLDERS = (".claude/rules",)
_FOREIGN = frozenset(
    {"node_modules", "vendor", "third_party", "site-packages", ".venv", "venv", ".git", ".workbench"}
)


@dataclass(frozen=True, slots=True)
class RuleSource:
    """A rule file. `path` is project-relative, or starts with `~/` for the user's home.

    `directory` is the part of the project its rules are for ('' is all of it). `names` are its other names.
    `inside` is the directory that the file must not lead out of when it is read, the project's for all of its
    files; '' allows links anywhere, as in the user's home.
    """

    path: str
    format: str
    location: str
    directory: str = ""
    home: bool = False
    names: tuple[str, ...] = ()
    size: int = 0
    inside: str = field(default="", compare=False)


def discover(
    project_root: str, home_dir: str | None = None, listed_paths: Iterable[str] = ()
) -> tuple[RuleSource, ...]:
    """Return the rule files of a project and of the user, the user's first, each in order of their paths.

    `listed_paths` are the project's files (relative, posix); they bring in nested rule files.
    """
    found: list[RuleSource] = []
    if home_dir:
        known = _known_files(home_dir, _HOME_FILES, _HOME_FOLDERS)
        found.extend(_merge_names(_of_home(home_dir, path) for path in known))
    folders = [folder for folder in _ROOT_FOLDERS if os.path.lexists(os.path.join(project_root, folder))]
    leading = [source for folder in folders if (source := _leading_out(project_root, folder))]
    out = {source.path for source in leading}
    candidates = set(_known_files(project_root, _ROOT_FILES, [one for one in folders if one not in out]))
    candidates.update(path for path in listed_paths if family_of(path) and not _foreign(path))
    sources = _merge_names(_of_project(project_root, path) for path in sorted(candidates))
    found.extend(sorted([*sources, *leading], key=lambda source: source.path))
    return tuple(found)


def discover_outside(home_dir: str | None, above: Iterable[str]) -> tuple[RuleSource, ...]:
    """Return rule files that agents read and no project owns: in directories over it, Copilot's in the home.

    `above` are absolute. They are found by no import, because other projects are below them, too.
    """
    found = []
    if home_dir:
        for path in _walk(home_dir, ".copilot/instructions", ".instructions.md"):
            location = os.path.join(home_dir, path)
            found.append(RuleSource(f"~/{path}", "copilot-instructions", location, home=True))
    for place in above:
        for path in _walk(place, ".claude/rules", ".md"):
            location = os.path.join(place, path)
            found.append(RuleSource(location, "claude-rules", location, home=True))
    return tuple(found)


def read_source(source: RuleSource) -> bytes:
    """Return a rule file's bytes.

    Raises: OSError if it can't be read; ParseError if it is not a regular file, larger than MAX_BYTES, or
    leads out of the directory it must stay in.
    """
    with open(_descriptor(source), "rb") as handle:
        if not stat.S_ISREG(os.fstat(handle.fileno()).st_mode):
            raise ParseError("is not a regular file", path=source.path)
        data = handle.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        limit = MAX_BYTES // (1024 * 1024)
        raise ParseError(f"is larger than {limit} MB", path=source.path, hint="Split it into smaller files.")
    return data


Read = Callable[[RuleSource], bytes]


def _descriptor(source: RuleSource) -> int:
    if not source.inside:
        return os.open(source.location, _OPEN)
    try:
        with _follow(source.inside, os.path.relpath(source.location, source.inside)) as place:
            return open_at(place)
    except LeadsOut as refusal:
        raise ParseError(
            f"is not read: {refusal}", path=source.path, hint="Only files of the project are read."
        ) from refusal


@contextmanager
def _follow(root: str, path: str) -> Iterator[PathBeneath]:
    """Give the place a path of the project leads to. Raises: LeadsOut, also for a link to no prose."""
    with resolve_beneath(root, path.replace(os.sep, "/")) as place:
        if place.linked and not (place.path.lower().endswith(PROSE) or family_of(place.path)):
            raise LeadsOut(path, f"leads to {place.path}, which is not text")
        yield place


def _known_files(root: str, files: Iterable[str], folders: Iterable[str]) -> list[str]:
    paths = [path for path in files if os.path.lexists(os.path.join(root, path))]
    for folder in folders:
        paths += _walk(root, folder)
    return sorted(path for path in set(paths) if family_of(path))


def _walk(root: str, folder: str, ending: str = "") -> list[str]:
    """Return the files below a folder whose names end so, relative to the root, about MAX_FILES at most."""
    paths: list[str] = []
    for parent, names, entries in os.walk(os.path.join(root, folder)):
        names.sort()
        relative = os.path.relpath(parent, root).replace(os.sep, "/")
        paths.extend(f"{relative}/{entry}" for entry in sorted(entries) if entry.endswith(ending))
        if len(paths) > MAX_FILES:
            break
    return paths


_Found = tuple[os.stat_result, bool, RuleSource]  # what is there, whether a link leads to it, what it is


def _of_home(root: str, path: str) -> _Found | None:
    """Return a rule file of the user's, whose links may lead anywhere."""
    location = os.path.join(root, *path.split("/"))
    found = family_of(path)
    try:
        status = os.stat(location)
    except (OSError, ValueError):
        return None  # a dangling link, or gone since it was listed
    if found is None or not stat.S_ISREG(status.st_mode):
        return None
    source = RuleSource(f"~/{path}", found[0].name, location, "", True, size=status.st_size)
    return status, _is_link(root, path), source


def _of_project(root: str, path: str) -> _Found | RuleSource | None:
    """Return a rule file of the project; as it is, without a size, if it must not be read."""
    location = os.path.join(root, *path.split("/"))
    found = family_of(path)
    if found is None:
        return None
    source = RuleSource(path, found[0].name, location, found[1], inside=root)
    try:
        with _follow(root, path) as place:
            status = os.stat(place.name, dir_fd=place.handle, follow_symlinks=False)
    except LeadsOut:
        return source
    except (OSError, ValueError):
        return None  # gone since it was listed, a dangling link, or a name no file can have
    if not stat.S_ISREG(status.st_mode):
        return None
    return status, place.linked, replace(source, size=status.st_size)


def _leading_out(root: str, folder: str) -> RuleSource | None:
    """Return a directory of rule files that must not be looked into, as the source that reading refuses."""
    try:
        with resolve_beneath(root, folder):
            return None
    except LeadsOut:
        return RuleSource(folder, "plain", os.path.join(root, folder), inside=root)
    except OSError:
        return None


def _merge_names(found: Iterable[_Found | RuleSource | None]) -> list[RuleSource]:
    """Return one source a file, the other names with it; what must not be read is each by itself."""
    groups: dict[object, list[tuple[bool, RuleSource]]] = {}
    for one in found:
        if isinstance(one, RuleSource):
            groups[one.path] = [(True, one)]
        elif one is not None:
            status, linked, source = one
            key = (status.st_dev, status.st_ino, source.directory)
            groups.setdefault(key, []).append((linked, source))
    merged = []
    for group in groups.values():
        ordered = [source for _, source in sorted(group, key=lambda item: (item[0], item[1].path))]
        merged.append(replace(ordered[0], names=tuple(source.path for source in ordered[1:])))
    return sorted(merged, key=lambda source: source.path)[:MAX_FILES]


def _is_link(root: str, path: str) -> bool:
    """Whether a path reaches its file through a symbolic link."""
    parts = path.split("/")
    return any(os.path.islink(os.path.join(root, *parts[: end + 1])) for end in range(len(parts)))


def _foreign(path: str) -> bool:
    return not _FOREIGN.isdisjoint(path.split("/")[:-1])
