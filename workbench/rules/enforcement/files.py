"""The files that shell commands use, and paths in the forms that globs are compared with.

Which arguments are paths is known of programs that read or write files; an option's value counts where it is
written with `=`. Words that cannot be known before they run are left out.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from glob import iglob
from itertools import islice

from workbench.records.dataclass import dataclass
from workbench.rules.globs import first_match
from workbench.shell.lines import join_path
from workbench.shell.words import UNKNOWN, Simple
from workbench.shell.wrappers import program_name

Form = tuple[bool, str]

_ODD = re.compile(r"[\[\]{}\\,]")
_WILD = re.compile(r"[*?/]+")
_MAX_EXPANDED = 256
_MAX_WILD = 2  # parts of a path with wildcards; more would search the disk
_DEVICES = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty", "-"})
_NO_PATHS = frozenset(
    "echo printf cd pushd popd true false exit return read type alias which kill sleep".split()
)
_WRITERS = frozenset(
    "rm rmdir unlink shred mv touch mkdir mkfifo mknod tee truncate chmod chown chgrp ln install patch "
    "trash ed ex nano vi vim emacs".split()
)
_LAST_WRITTEN = frozenset("cp rsync scp".split())
_IN_PLACE = {"sed": re.compile(r"-[a-zA-Z]*i|--in-place"), "perl": re.compile(r"-[a-zA-Z]*i"),
             "awk": re.compile(r"inplace"), "gawk": re.compile(r"inplace"), "yq": re.compile(r"-i|--inplace"),
             "sort": re.compile(r"-o|--output"), "prettier": re.compile(r"--write|-w"),
             "eslint": re.compile(r"--fix"), "find": re.compile(r"-delete")}  # fmt: skip
_SENT = re.compile(r"(?:[\w.-]+=)?@(.+)")  # what curl and its like read: `-d @file`, `-F name=@file`
_GIT_WRITES = frozenset("rm mv restore clean apply am".split())
_GIT_VALUES = frozenset({"-C", "-c", "--git-dir", "--work-tree"})
_GIT_MESSAGES = frozenset({"-m", "--message", "-F", "--author", "--date"})


@dataclass(frozen=True, slots=True)
class FileUse:
    """A path as written, whether it is written to, and the directory it starts from if not the call's."""

    path: str
    writes: bool
    directory: str = ""


def files_of(command: Simple) -> tuple[FileUse, ...]:
    """Return the paths that a command reads or writes, redirections included."""
    found = [FileUse(path, False, command.directory) for path in command.reads]
    found += [FileUse(path, True, command.directory) for path in command.writes]
    name = program_name(command.words[0]) if command.words else ""
    if name == "git":
        found += _git_files(command)
    elif name and name not in _NO_PATHS:
        operands = _operands(command.words[1:])
        pattern = _IN_PLACE.get(name)
        writes = name in _WRITERS or bool(pattern and any(pattern.match(word) for word in command.words[1:]))
        if name == "dd":
            operands = [
                word.partition("=")[2] for word in command.words[1:] if word.startswith(("if=", "of="))
            ]
            writes = any(word.startswith("of=") for word in command.words[1:])
        found += [
            FileUse(sent[1], False, command.directory) for path in operands if (sent := _SENT.match(path))
        ]
        found += [
            FileUse(path, writes or (name in _LAST_WRITTEN and place == len(operands) - 1), command.directory)
            for place, path in enumerate(operands)
        ]
    return tuple(use for use in found if use.path and use.path not in _DEVICES and UNKNOWN not in use.path)


def _operands(words: Iterable[str]) -> list[str]:
    found, options = [], True
    for word in words:
        if options and word == "--":
            options = False
        elif options and word.startswith("-"):
            if "=" in word:
                found.append(word.partition("=")[2])
        else:
            found.append(word)
    return found


def _git_files(command: Simple) -> Iterator[FileUse]:
    words, directory, at = command.words, command.directory, 1
    while at < len(words) and words[at].startswith("-"):
        if words[at] == "-C" and at + 1 < len(words):
            directory = join_path(directory, words[at + 1])
        at += 2 if words[at] in _GIT_VALUES else 1
    if at >= len(words):
        return
    action, rest = words[at], list(words[at + 1 :])
    kept = [
        word
        for place, word in enumerate(rest)
        if not (place and rest[place - 1] in _GIT_MESSAGES) and not word.startswith(tuple(_GIT_MESSAGES))
    ]
    writes = action in _GIT_WRITES or (action in ("checkout", "reset", "stash") and "--" in kept)
    for path in _operands(kept):
        yield FileUse(path, writes, directory)
        if ":" in path:  # a file as of a revision
            yield FileUse(path.partition(":")[2], False, directory)


def outside_globs(globs: Iterable[str]) -> tuple[str, ...]:
    """Return the globs that also speak of files outside of the project: of any place, or of absolute ones.

    `.env`, `**/secrets/*`, `/etc/hosts` and `~/.ssh/` do; `migrations/` and `src/*.py` are of the project.
    """
    kept = [glob for glob in globs if glob.startswith(("/", "~/", "**/", "!")) or "/" not in glob]
    return () if all(glob.startswith("!") for glob in kept) else tuple(kept)


def find_use(
    globs: tuple[str, ...], uses: Iterable[FileUse], forms_of: Callable[[FileUse], Iterable[Form]], home: str
) -> FileUse | None:
    """Return the first use of a path that one of the globs matches, whichever way the path is written.

    A directory matches a glob that takes in everything below it. `forms_of` gives what `forms` does.
    """
    wide: tuple[str, ...] | None = None
    for use in uses:
        for inside, path in forms_of(use):
            if not inside and wide is None:
                wide = tuple(_homely(glob, home) for glob in outside_globs(globs))
            wanted = globs if inside else wide or ()
            if _may_match(wanted, path) and first_match(wanted, (path, path + "/")) is not None:
                return use
    return None


def _may_match(globs: tuple[str, ...], path: str) -> bool:
    """Whether the letters that a glob needs are in a path: most globs need not be compiled."""
    return any(core in path for core in _cores(globs))


@lru_cache(maxsize=4096)
def _cores(globs: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(
        "" if _ODD.search(glob) else max(_WILD.split(glob), key=len)
        for glob in globs
        if not glob.startswith("!")
    )


def _homely(glob: str, home: str) -> str:
    return home.rstrip("/") + glob[1:] if home and glob.startswith("~/") else glob


def forms(use: FileUse, *, cwd: str, root: str, home: str, disk: bool = True) -> Iterator[Form]:
    """Yield (whether it lies in the project, path) of a used path in every form that globs compare with.

    That is the path with `.` and `..` resolved and, with `disk`, what links and wildcards in it lead to:
    relative to the project's root where it lies inside, and otherwise absolute, without the first slash.
    """
    path = use.path.replace("\\", "/") if os.name == "nt" else use.path
    path = path.replace("\0", "")
    absolute = _absolute(join_path(use.directory, path), cwd or root, home)
    yield from _relative(absolute, root)
    if disk and absolute.startswith("/"):
        yield from _on_disk(absolute, root)


def _absolute(path: str, cwd: str, home: str) -> str:
    if home and (path == "~" or path.startswith("~/")):
        path = home.rstrip("/") + path[1:]
    if not path.startswith("/"):
        path = f"{cwd}/{path}" if cwd else path
    return os.path.normpath(path)


def _relative(absolute: str, root: str) -> Iterator[Form]:
    if not root or not absolute.startswith("/"):
        yield True, absolute.lstrip("/")
    elif absolute == root or absolute.startswith(root.rstrip("/") + "/"):
        yield True, absolute[len(root.rstrip("/")) :].lstrip("/") or "."
    else:
        yield False, absolute.lstrip("/")


def _on_disk(absolute: str, root: str) -> Iterator[Form]:
    """Yield where links lead, and what wildcards stand for."""
    places = [absolute]
    if 0 < sum(any(char in part for char in "*?[") for part in absolute.split("/")) <= _MAX_WILD:
        places += sorted(islice(iglob(absolute), _MAX_EXPANDED))
    real_root = os.path.realpath(root) if root else ""
    for place in places:
        try:
            real = os.path.realpath(place)
        except (OSError, ValueError):  # a name that no file can have
            continue
        if place != absolute:
            yield from _relative(place, root)
        if real != place or real_root != root:
            yield from _relative(real, real_root)
