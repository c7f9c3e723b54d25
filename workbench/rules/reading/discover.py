"""Finds rule files in a project and in the user's home, and reads them with bounds.

Files come from the project's listing and, because people ignore their local rules in git, from the known
places at its root. A file that several names lead to (AGENTS.md as a link to CLAUDE.md) is found once.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from workbench.errors import ParseError
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
_HOME_FILES = (".claude/CLAUDE.md", ".codex/AGENTS.md", ".codex/AGENTS.override.md", ".gemini/GEMINI.md")
_HOME_FOLDERS = (".claude/rules",)
_FOREIGN = frozenset(
    {"node_modules", "vendor", "third_party", "site-packages", ".venv", "venv", ".git", ".workbench"}
)


@dataclass(frozen=True, slots=True)
class RuleSource:
    """A rule file. `path` is project-relative, or starts with `~/` for the user's home.

    `directory` is the part of the project its rules are for ('' is all of it). `names` are its other names.
    `inside` is the directory that the file must not lead out of when it is read; '' allows links anywhere.
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
        found.extend(_sources(home_dir, _known(home_dir, _HOME_FILES, _HOME_FOLDERS), home=True))
    candidates = set(_known(project_root, _ROOT_FILES, _ROOT_FOLDERS))
    candidates.update(path for path in listed_paths if family_of(path) and not _foreign(path))
    found.extend(_sources(project_root, sorted(candidates), home=False))
    return tuple(found)


def read_source(source: RuleSource) -> bytes:
    """Return a rule file's bytes.

    Raises: OSError if it can't be read; ParseError if it is no regular file, larger than MAX_BYTES, or leads
    out of the directory it must stay in.
    """
    if source.inside and not _within(source.location, source.inside):
        raise ParseError(
            "leads out of the project", path=source.path, hint="Only files of the project are read."
        )
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
    descriptor = os.open(source.location, flags)
    with open(descriptor, "rb") as handle:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise ParseError("is no regular file", path=source.path)
        data = handle.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        limit = MAX_BYTES // (1024 * 1024)
        raise ParseError(f"is larger than {limit} MB", path=source.path, hint="Split it into smaller files.")
    return data


Read = Callable[[RuleSource], bytes]


def _known(root: str, files: Iterable[str], folders: Iterable[str]) -> list[str]:
    paths = [path for path in files if os.path.isfile(os.path.join(root, path))]
    for folder in folders:
        for parent, names, entries in os.walk(os.path.join(root, folder)):
            names.sort()
            relative = os.path.relpath(parent, root).replace(os.sep, "/")
            paths.extend(f"{relative}/{entry}" for entry in entries)
            if len(paths) > MAX_FILES:
                break
    return sorted(path for path in set(paths) if family_of(path))


def _sources(root: str, paths: Iterable[str], *, home: bool) -> list[RuleSource]:
    groups: dict[tuple[int, int, str], list[tuple[bool, RuleSource]]] = {}
    for path in paths:
        location = os.path.join(root, *path.split("/"))
        found = family_of(path)
        try:
            status = os.stat(location)
        except (OSError, ValueError):
            continue  # gone since it was listed, a dangling link, or a name no file can have
        if found is None or not stat.S_ISREG(status.st_mode):
            continue
        family, directory = found
        shown = f"~/{path}" if home else path
        source = RuleSource(
            shown, family.name, location, "" if home else directory, home, size=status.st_size
        )
        key = (status.st_dev, status.st_ino, source.directory)
        groups.setdefault(key, []).append((_is_link(root, path), source))
    merged = []
    for group in groups.values():
        ordered = [source for _, source in sorted(group, key=lambda item: (item[0], item[1].path))]
        merged.append(replace(ordered[0], names=tuple(source.path for source in ordered[1:])))
    return sorted(merged, key=lambda source: source.path)[:MAX_FILES]


def _is_link(root: str, path: str) -> bool:
    """Whether a path of the project reaches its file through a symbolic link."""
    parts = path.split("/")
    return any(os.path.islink(os.path.join(root, *parts[: end + 1])) for end in range(len(parts)))


def _foreign(path: str) -> bool:
    return not _FOREIGN.isdisjoint(path.split("/")[:-1])


def _within(location: str, root: str) -> bool:
    real, base = os.path.realpath(location), os.path.realpath(root)
    return os.path.commonpath([real, base]) == base
