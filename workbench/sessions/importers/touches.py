"""Which files a tool call reads or changes, where that is plain to see.

Conservative: a shell line counts where a program that reads or writes files names them in full; what only
may be a path is left out, so that what is learned from sessions is true.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from workbench.records.dataclass import dataclass
from workbench.records.episodes import ChangeKind
from workbench.sessions.importers.transcripts import ToolUse, mapping, text
from workbench.shell.lines import join_path, read_shell, run_words
from workbench.shell.words import UNKNOWN, Simple
from workbench.shell.wrappers import program_name

MAX_TOUCHES = 400  # files of one call

_SHELLS = frozenset(
    "bash shell local_shell exec_command container.exec unified_exec run_shell_command".split()
)
_READERS = frozenset("read notebookread read_file view_file".split())
_PATCH = re.compile(
    r"^\*\*\* (Add|Update|Delete) File: (.*[^ \t\r\n])[ \t\r]*$"
    r"|^\*\*\* Move to: (.*[^ \t\r\n])[ \t\r]*$|^([+-])",
    re.MULTILINE,
)
_FILE = re.compile(r"[^\s*?\[\]{}$`'\"|<>;,!=:^\\]+")
_NAMED_FILES = frozenset(
    "makefile dockerfile containerfile license readme changelog rakefile gemfile procfile jenkinsfile "
    "justfile "
    "vagrantfile brewfile caddyfile codeowners copying authors notice todo version build workspace".split()
)
_EXTENSION = re.compile(r"[^/]\.[A-Za-z][A-Za-z0-9_+~-]{0,15}$")
_WHOLE_READERS = frozenset("cat head tail less more bat nl tac batcat view xxd wc".split())
_SCRIPTED = {  # programs whose first operand is a script or an expression, unless these options give it
    "sed": ("-e", "-f", "--expression", "--file"),
    "awk": ("-f", "--file"),
    "gawk": ("-f", "--file"),
    "grep": ("-e", "-f", "--regexp", "--file"),
    "egrep": ("-e", "-f"),
    "fgrep": ("-e", "-f"),
    "rg": ("-e", "-f", "--regexp", "--file", "--files"),
    "jq": ("-f", "--from-file"),
    "yq": ("--from-file",),
    "perl": ("-e", "-pe", "-ne"),
}
_VALUED = {  # options whose value is a word of its own
    "sed": frozenset({"-e", "-f", "--expression", "--file"}),
    "head": frozenset({"-n", "-c"}),
    "tail": frozenset({"-n", "-c"}),
    "grep": frozenset({"-e", "-f", "-A", "-B", "-C", "-m", "--include", "--exclude"}),
    "rg": frozenset({"-e", "-f", "-A", "-B", "-C", "-m", "-g", "--glob", "-t", "--type", "-T", "--iglob"}),
    "awk": frozenset({"-F", "-v", "-f"}),
    "jq": frozenset({"--arg", "--argjson", "-f"}),
    "perl": frozenset({"-e", "-pe", "-ne", "-pie", "-0pe"}),
}
_IN_PLACE = {"sed": re.compile(r"-[a-zA-Z]*i|--in-place"), "perl": re.compile(r"-[a-zA-Z0-9]*i")}


@dataclass(frozen=True, slots=True)
class Touch:
    """A file that a call read (`kind` None) or changed; `path` is absolute where the directory is known.

    `added` and `removed` count lines, 0 where they are not known; `old_path` is the name before a rename.
    """

    path: str
    kind: ChangeKind | None = None
    added: int = 0
    removed: int = 0
    old_path: str = ""


def touches(use: ToolUse) -> tuple[Touch, ...]:
    """Return the files that a call names, in order; whether it ran is another matter."""
    name = use.tool.rpartition("__")[2].casefold()
    given, cwd = use.input, use.cwd
    if name in _SHELLS:
        found = _of_shell(given, cwd)
    elif name == "apply_patch":
        found = patch_touches(_first_text(given, ("input", "patch")), cwd)
    elif name in _EDITORS:
        found = _EDITORS[name](given, cwd)
    elif name in _READERS:
        path = _first_text(given, ("file_path", "notebook_path", "path", "absolute_path"))
        found = iter((Touch(absolute(path, cwd)),) if path else ())
    else:
        found = iter(())
    kept: list[Touch] = []
    for touch in found:
        kept.append(touch)
        if len(kept) == MAX_TOUCHES:
            break
    return tuple(kept)


def absolute(path: str, cwd: str) -> str:
    """Return a path from a directory, with forward slashes; `.` and `..` resolved as far as they can be."""
    path, cwd = _forward(path), _forward(cwd)
    if not path.startswith("/") and not _drive(path) and not path.startswith("~"):
        path = f"{cwd}/{path}" if cwd else path
    rooted = path.startswith("/")
    parts: list[str] = []
    for part in path.split("/"):
        if part == ".." and parts and parts[-1] != "..":
            parts.pop()
        elif part not in (".", "") and not (part == ".." and rooted):
            parts.append(part)
    return ("/" if rooted else "") + "/".join(parts)


def _forward(path: str) -> str:
    return path.replace("\\", "/") if _drive(path) else path


def _drive(path: str) -> bool:
    return len(path) > 2 and path[1] == ":" and path[2] in "\\/" and path[0].isalpha()


def patch_touches(patch: str, cwd: str) -> Iterator[Touch]:
    """Yield what a patch in Codex' own form changes, with its lines counted."""
    path, kind, moved, added, removed = "", ChangeKind.MODIFIED, "", 0, 0
    kinds = {"Add": ChangeKind.ADDED, "Update": ChangeKind.MODIFIED, "Delete": ChangeKind.REMOVED}
    for found in _PATCH.finditer(patch):
        action, name, target, sign = found.groups()
        if action:
            if path:
                yield _patch_touch(path, kind, moved, added, removed, cwd)
            path, kind, moved, added, removed = name, kinds[action], "", 0, 0
        elif target:
            moved = target
        elif sign == "+":
            added += 1
        else:
            removed += 1
    if path:
        yield _patch_touch(path, kind, moved, added, removed, cwd)


def _patch_touch(path: str, kind: ChangeKind, moved: str, added: int, removed: int, cwd: str) -> Touch:
    if moved:
        return Touch(absolute(moved, cwd), kind, added, removed, absolute(path, cwd))
    return Touch(absolute(path, cwd), kind, added, removed)


def _edit(given: Mapping[str, Any], cwd: str) -> Iterator[Touch]:
    path = _first_text(given, ("file_path", "notebook_path", "path"))
    if path:
        changes = given.get("edits")
        parts = [mapping(change) for change in changes] if isinstance(changes, list) else [given]
        added = sum(_lines(_first_text(part, ("new_string", "new_source", "new_str"))) for part in parts)
        removed = sum(_lines(_first_text(part, ("old_string", "old_str"))) for part in parts)
        yield Touch(absolute(path, cwd), ChangeKind.MODIFIED, added, removed)


def _write(given: Mapping[str, Any], cwd: str) -> Iterator[Touch]:
    path = _first_text(given, ("file_path", "path"))
    if path:
        yield Touch(
            absolute(path, cwd), ChangeKind.MODIFIED, _lines(_first_text(given, ("content", "file_text")))
        )


def _editor(given: Mapping[str, Any], cwd: str) -> Iterator[Touch]:
    """Yield what the tool that views, creates and edits in one touches."""
    path = _first_text(given, ("path", "file_path"))
    if path and given.get("command") == "view":
        yield Touch(absolute(path, cwd))
    elif path and given.get("command") == "create":
        yield from _write(given, cwd)
    elif path:
        yield from _edit(given, cwd)


_EDITORS: dict[str, Callable[[Mapping[str, Any], str], Iterator[Touch]]] = {
    "edit": _edit,
    "multiedit": _edit,
    "notebookedit": _edit,
    "replace": _edit,
    "write": _write,
    "write_file": _write,
    "create_file": _write,
    "str_replace_editor": _editor,
    "str_replace_based_edit_tool": _editor,
}


def _first_text(given: Mapping[str, Any], keys: Iterable[str]) -> str:
    return next((value for key in keys if (value := text(given.get(key)))), "")


def _lines(content: str) -> int:
    return content.count("\n") + (not content.endswith("\n")) if content else 0


def shell_commands(use: ToolUse) -> tuple[tuple[Simple, ...], str]:
    """Return the commands that a call runs in a shell and where it starts; none for other tools."""
    if use.tool.rpartition("__")[2].casefold() not in _SHELLS:
        return (), use.cwd
    start = _first_text(use.input, ("workdir", "cwd", "working_directory"))
    start = absolute(start, use.cwd) if start else use.cwd
    return _commands(use.input), start


def _commands(given: Mapping[str, Any]) -> tuple[Simple, ...]:
    for key in ("command", "cmd", "script"):
        value = given.get(key)
        if isinstance(value, str) and value:
            return read_shell(value).commands
        if isinstance(value, list) and value and all(isinstance(word, str) for word in value):
            return run_words(value).commands
    return ()


def _of_shell(given: Mapping[str, Any], cwd: str) -> Iterator[Touch]:
    start = _first_text(given, ("workdir", "cwd", "working_directory"))
    start = absolute(start, cwd) if start else cwd
    for command in _commands(given):
        yield from command_touches(command, start)


def command_touches(command: Simple, start: str) -> Iterator[Touch]:
    """Yield what one command of a shell line reads and changes; `start` is where the line began."""
    if UNKNOWN in command.directory:
        return
    place = join_path(start, command.directory) if command.directory else start
    for path in command.writes:
        if _is_file(path):
            yield Touch(absolute(path, place), ChangeKind.MODIFIED)
    for path in command.reads:
        if _is_file(path):
            yield Touch(absolute(path, place))
    name = program_name(command.words[0]) if command.words else ""
    words = command.words[1:]
    if name == "apply_patch":
        yield from patch_touches("\n".join((*words, command.given or "")), place)
    elif name == "git":
        yield from _of_git(words, place)
    elif name in _MOVERS:
        yield from _MOVERS[name]([word for word in words if not word.startswith("-")], place)
    elif name in _WHOLE_READERS or name in _SCRIPTED:
        writes = name in _IN_PLACE and any(_IN_PLACE[name].match(word) for word in words)
        for path in filter(_is_file, _operands(name, words)):
            yield Touch(absolute(path, place), ChangeKind.MODIFIED if writes else None)


def _operands(name: str, words: tuple[str, ...]) -> list[str]:
    """Return the operands of a program that reads files, without its script or expression."""
    found: list[str] = []
    valued = _VALUED.get(name, frozenset())
    given = any(word.startswith(_SCRIPTED.get(name, ())) and word.startswith("-") for word in words)
    skip = options = False
    for word in words:
        if skip:
            skip = False
        elif options or not word.startswith("-") or word == "-":
            found.append(word)
        elif word == "--":
            options = True
        else:
            skip = word in valued
    return found[1:] if name in _SCRIPTED and not given else found


def _of_git(words: tuple[str, ...], place: str) -> Iterator[Touch]:
    rest = list(words)
    while len(rest) > 1 and rest[0] in ("-C", "-c"):
        place = join_path(place, rest[1]) if rest[0] == "-C" else place
        rest = rest[2:]
    operands = [word for word in rest[1:] if not word.startswith("-")]
    if rest[:1] == ["mv"]:
        yield from _move(operands, place)
    elif rest[:1] == ["rm"]:
        yield from _remove(operands, place)


def staged_paths(commands: Iterable[Simple], start: str) -> Iterator[str]:
    """Yield the files that `git add` names one by one; `start` is where the line began."""
    for command in commands:
        words = command.words
        if len(words) > 2 and program_name(words[0]) == "git" and words[1] == "add":
            place = join_path(start, command.directory) if command.directory else start
            if UNKNOWN not in place:
                yield from (absolute(word, place) for word in words[2:] if _is_file(word))


def _move(operands: list[str], place: str) -> Iterator[Touch]:
    if len(operands) == 2 and all(map(_is_file, operands)):
        old, new = (absolute(path, place) for path in operands)
        yield Touch(new, ChangeKind.MODIFIED, old_path=old)
    elif len(operands) > 1 and not _is_file(operands[-1]) and UNKNOWN not in operands[-1]:
        for path in filter(_is_file, operands[:-1]):
            new = f"{operands[-1].rstrip('/')}/{path.rpartition('/')[2]}"
            yield Touch(absolute(new, place), ChangeKind.MODIFIED, old_path=absolute(path, place))


def _remove(operands: list[str], place: str) -> Iterator[Touch]:
    for path in filter(_is_file, operands):
        yield Touch(absolute(path, place), ChangeKind.REMOVED)


def _copy(operands: list[str], place: str) -> Iterator[Touch]:
    if len(operands) == 2 and all(map(_is_file, operands)):
        yield Touch(absolute(operands[0], place))
        yield Touch(absolute(operands[1], place), ChangeKind.MODIFIED)


def _create(operands: list[str], place: str) -> Iterator[Touch]:
    for path in filter(_is_file, operands):
        yield Touch(absolute(path, place), ChangeKind.MODIFIED)


_MOVERS: dict[str, Callable[[list[str], str], Iterator[Touch]]] = {
    "mv": _move,
    "rm": _remove,
    "cp": _copy,
    "tee": _create,
}


def _is_file(word: str) -> bool:
    """Whether a word is, beyond doubt, one file's name."""
    if UNKNOWN in word or len(word) > 1_000 or word.startswith(("-", "/dev/", "http", "~")):
        return False
    if not _FILE.fullmatch(word):
        return False
    name = word.rpartition("/")[2]
    return (
        bool(_EXTENSION.search(f"/{name}" if len(name) < 3 else name))
        or name.casefold() in _NAMED_FILES
        or (name.startswith(".") and len(name) > 2 and name not in ("..",))
    )
