"""What installing and uninstalling change in files of settings, before anything is written.

A file is changed by pieces of text that are inserted and remembered; uninstalling takes the same pieces out.
Where a piece is no longer there as it was written, the entry is found by what it means.
"""

from __future__ import annotations

import json
import os
import re
import stat
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from workbench.entry.install.agents import HOOKS, SettingsEntry, SettingsFile, is_hook, is_server
from workbench.entry.install.jsonc import drop_empty, insert, parse_jsonc, remove, trailing_commas
from workbench.errors import ParseError

MAX_BYTES: Final = 64 << 20
_SECTION: Final = re.compile(
    r"(?:(?<=\n)\r?\n)?^<!-- workbench begin\b(?:(?!<!-- workbench begin)[\s\S])*?"
    r"^<!-- workbench end -->[ \t]*(?:\r?\n|\Z)",
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Installed:
    """What was written into a file: the pieces in the order they were inserted, and what was made for them.

    `made` are paths of keys that were not there before; with `created` the file itself was not.
    """

    path: str
    agent: str
    kind: str
    pieces: tuple[str, ...] = ()
    made: tuple[tuple[str, ...], ...] = ()
    created: bool = False


@dataclass(frozen=True, slots=True)
class SettingsChange:
    """A file with its bytes now and as wanted; None is a file that is not there.

    `refused` says why nothing can be written; `record` is what is to be remembered of it.
    """

    file: SettingsFile
    before: bytes | None
    after: bytes | None
    record: Installed | None = None
    refused: str = ""
    hint: str = ""

    @property
    def is_change(self) -> bool:
        """Whether anything is to be written."""
        return not self.refused and self.before != self.after


def is_mine(kind: str, value: object) -> bool:
    """Whether a value in a file of settings is the workbench's."""
    return is_hook(value) if kind == HOOKS else is_server(value)


def plan_install(
    file: SettingsFile, known: Installed | None, earlier: SettingsChange | None = None
) -> SettingsChange:
    """Return the change that installs what a file is to hold; what is there already stays as it is.

    `earlier` is another change of the same file, which this one follows.
    """
    found = _read(file, earlier)
    if isinstance(found, SettingsChange):
        return found
    before, text = found
    try:
        if _holds_all(file, text):
            return SettingsChange(file, before, before, known)
        clean = _uninstall(file, text, known)
        start = file.base if clean is None else clean
        values = _values(file, start) if file.entries else {}
    except ParseError as error:
        return _unreadable(file, before, error)
    for path in (entry.path for entry in file.entries if not entry.in_list):
        holder = _at(values, path[:-1])
        if isinstance(holder, dict) and path[-1] in holder:
            why = f"has another {'.'.join(path)} already"
            return _refuse(file, before, why, "Remove that entry or rename it, and run it again.")
    record = Installed(str(file.path), file.agent, file.kind, created=before is None or _is_created(known))
    try:
        after, record = _install(file, start, record)
        if _holds_all(file, after) and _same_besides(file, start, after):
            return SettingsChange(file, before, after.encode("utf-8"), record)
        why = "cannot be added to"
    except ParseError as error:
        why = f"cannot be added to ({_format_error(error)})"
    return _refuse(file, before, why, _format_hint(file))


def plan_uninstall(
    file: SettingsFile, known: Installed | None, earlier: SettingsChange | None = None
) -> SettingsChange:
    """Return the change that takes out of a file what is the workbench's, and nothing else.

    `earlier` is another change of the same file, which this one follows.
    """
    found = _read(file, earlier)
    if isinstance(found, SettingsChange):
        return found
    before, text = found
    if before is None:
        return SettingsChange(file, None, None)
    try:
        after = _uninstall(file, text, known)
    except ParseError as error:
        return _unreadable(file, before, error)
    return SettingsChange(file, before, None if after is None else after.encode("utf-8"))


def holds(file: SettingsFile) -> bool | None:
    """Whether a file holds all that installing writes; None for a part of it, or an older form of it."""
    found = _read(file)
    if isinstance(found, SettingsChange) or found[0] is None:
        return False
    try:
        if _holds_all(file, found[1]):
            return True
        return None if any(_mine(file, found[1])) else False
    except ParseError:
        return False


def _is_created(known: Installed | None) -> bool:
    return known is not None and known.created


def _refuse(file: SettingsFile, before: bytes | None, why: str, hint: str) -> SettingsChange:
    return SettingsChange(file, before, before, refused=f"{file.path} {why}: nothing was written", hint=hint)


def _unreadable(file: SettingsFile, before: bytes | None, error: ParseError) -> SettingsChange:
    return _refuse(
        file, before, f"cannot be read ({_format_error(error)})", "Correct the file, and run it again."
    )


def _format_error(error: ParseError) -> str:
    return f"line {error.line}: {error.message}" if error.line else error.message


def _format_hint(file: SettingsFile) -> str:
    if not file.toml:
        return "Add it by hand."
    entry = file.entries[0]
    values = ", ".join(_toml_lines(entry)[1:])
    return f"Add `{entry.path[-1]} = {{ {values} }}` to {entry.path[0]} by hand."


def _read(
    file: SettingsFile, earlier: SettingsChange | None = None
) -> tuple[bytes | None, str] | SettingsChange:
    """Return a file's bytes and text, or the refusal of one that must not or cannot be written."""
    if earlier is not None and not earlier.refused:
        return earlier.after, file.base if earlier.after is None else earlier.after.decode("utf-8")
    link = _link(file)
    if link is not None:
        leads = f"to {link.readlink()}"
        where = f"is a link {leads}" if link == file.path else f"is behind a link ({link}, {leads})"
        return _refuse(file, None, where, "Change the file that it leads to by hand.")
    try:
        status = file.path.lstat()
    except FileNotFoundError:
        return None, file.base
    except OSError as error:
        return _refuse(file, None, f"cannot be opened ({error.strerror})", "Check its permissions.")
    if not stat.S_ISREG(status.st_mode):
        return _refuse(file, None, "is not a plain file", "Move it out of the way.")
    if not status.st_mode & stat.S_IWUSR or not os.access(file.path, os.R_OK | os.W_OK):
        return _refuse(file, None, "is read-only", f"`chmod u+w {file.path}` makes it writable.")
    if status.st_size > MAX_BYTES:
        return _refuse(file, None, f"has more than {MAX_BYTES:,} bytes", "Change it by hand.")
    data = file.path.read_bytes()
    try:
        return data, data.decode("utf-8")
    except UnicodeDecodeError as error:
        return _refuse(file, data, f"is not UTF-8 (byte {error.start:,})", "Save it as UTF-8.")


def _link(file: SettingsFile) -> Path | None:
    """Return the link that a file is, or, in a project, one that it is behind."""
    path = file.path
    places = [path]
    if file.inside is not None:
        places += [one for one in path.parents if one.is_relative_to(file.inside) and one != file.inside]
    return next((one for one in places if one.is_symlink()), None)


def _values(file: SettingsFile, text: str) -> Any:  # noqa: ANN401 - what the file holds
    if not file.toml:
        return parse_jsonc(text).value if text.strip("\ufeff \t\r\n") else {}
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ParseError(str(error)) from error


def _at(value: Any, path: Iterable[str]) -> Any:  # noqa: ANN401 - what the file holds
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _mine(file: SettingsFile, text: str) -> list[object]:
    """Return the values in a text that are ours, wherever installing would have put them."""
    if file.section:
        return [found[0].replace("\r\n", "\n").strip("\n") + "\n" for found in _SECTION.finditer(text)]
    value = _values(file, text)
    found: list[object] = []
    for entry in file.entries:
        there = _at(value, entry.path)
        if entry.in_list:
            found += [one for one in there if is_mine(file.kind, one)] if isinstance(there, list) else []
        elif is_mine(file.kind, there):
            found.append(there)
    return found


def _holds_all(file: SettingsFile, text: str) -> bool:
    wanted = [file.section] if file.section else [entry.value for entry in file.entries]
    return _mine(file, text) == wanted


def _same_besides(file: SettingsFile, before: str, after: str) -> bool:
    """Whether a text says the same as before apart from what is ours: proven before anything is written."""
    if file.section:
        return _SECTION.sub("", before).rstrip("\r\n") == _SECTION.sub("", after).rstrip("\r\n")
    return bool(_strip_ours(file, _values(file, after)) == _strip_ours(file, _values(file, before)))


def _strip_ours(file: SettingsFile, value: Any) -> Any:  # noqa: ANN401 - what the file holds
    """Return what a file holds without what is ours and without what is empty on the way there.

    What is not on the way to an entry is the same object as before.
    """
    value = dict(value) if isinstance(value, dict) else value
    for entry in file.entries:
        inner = value
        for key in entry.path[:-1]:
            if isinstance(inner, dict) and isinstance(inner.get(key), dict):
                inner[key] = dict(inner[key])
            inner = _at(inner, [key])
        there = _at(value, entry.path)
        holder = _at(value, entry.path[:-1])
        if entry.in_list and isinstance(there, list):
            holder[entry.path[-1]] = [one for one in there if not is_mine(file.kind, one)]
        elif is_mine(file.kind, there):
            del holder[entry.path[-1]]
        for depth in range(len(entry.path), 0, -1):
            inner, outer = _at(value, entry.path[:depth]), _at(value, entry.path[: depth - 1])
            if inner in ({}, []) and isinstance(outer, dict):
                del outer[entry.path[depth - 1]]
    return value


def _install(file: SettingsFile, text: str, record: Installed) -> tuple[str, Installed]:
    pieces: list[str] = []
    made: list[tuple[str, ...]] = []
    if file.toml or file.section:
        lines = file.section.splitlines() if file.section else _toml_lines(file.entries[0])
        newline = "\r\n" if "\r\n" in text else "\n"
        lead = "" if not text else newline if text.endswith("\n") else newline * 2
        piece = lead + newline.join(lines) + newline
        if file.toml:
            _require_open_table(file, text, text + piece)
        return text + piece, _with(record, [piece], [])
    if not text.strip("\ufeff \t\r\n"):
        text = text + file.base
        pieces.append(file.base)
    for entry in reversed(file.entries):  # each goes in front of the ones before
        value = parse_jsonc(text).value
        paths = (entry.path[:depth] for depth in range(1, len(entry.path) + 1))
        made += [path for path in paths if _at(value, path) is None]
        value = [entry.value] if entry.in_list and _at(value, entry.path) is None else entry.value
        done = insert(text, entry.path, value)
        text = done.text
        pieces.append(done.piece)
    return text, _with(record, pieces, made)


def _require_open_table(file: SettingsFile, before: str, after: str) -> None:
    """Raise ParseError if a text, valid before, is not with a table more: then the outer one is closed."""
    outer = file.entries[0].path[0]
    try:
        _values(file, after)
    except ParseError:
        is_table = isinstance(_at(_values(file, before), [outer]), dict)
        raise ParseError(f"{outer} is {'an inline' if is_table else 'not a'} table") from None


def _with(record: Installed, pieces: list[str], made: list[tuple[str, ...]]) -> Installed:
    return Installed(record.path, record.agent, record.kind, tuple(pieces), tuple(made), record.created)


def _toml_lines(entry: SettingsEntry) -> list[str]:
    return [
        f"[{'.'.join(entry.path)}]",
        *(f"{key} = {json.dumps(value)}" for key, value in entry.value.items()),
    ]


def _uninstall(file: SettingsFile, text: str, known: Installed | None) -> str | None:
    """Return a text without what is ours, None for a file that is to go."""
    after = _by_pieces(file, text, known)
    if after is None:
        after = _by_meaning(file, text, known)
    return None if known is not None and known.created and after in ("", file.base) else after


def _by_pieces(file: SettingsFile, text: str, known: Installed | None) -> str | None:
    """Return the text without the pieces, None unless each is there once and the rest says the same."""
    if known is None or not known.pieces:
        return None
    after = text
    for piece in reversed(known.pieces):
        if after.count(piece) != 1:
            return None
        after = after.replace(piece, "")
    try:
        is_rest = not _mine(file, after) and _same_besides(file, text, after)
        is_rest = is_rest and (
            file.toml or bool(file.section) or trailing_commas(after) <= trailing_commas(text)
        )
    except ParseError:
        return None
    return after if is_rest else None


def _by_meaning(file: SettingsFile, text: str, known: Installed | None) -> str:
    if file.section:
        return _SECTION.sub("", text)
    if file.toml:
        return _toml_without(file, text)
    if not text.strip("\ufeff \t\r\n"):
        return text
    for entry in file.entries:
        text = remove(text, entry.path, lambda value: is_mine(file.kind, value))
    for path in sorted(known.made if known else (), key=len, reverse=True):
        text = drop_empty(text, path)
    return text


def _toml_without(file: SettingsFile, text: str) -> str:
    if not _mine(file, text):
        return text
    import tomlkit

    document = tomlkit.parse(text)
    outer, name = file.entries[0].path
    table: Any = document[outer]
    del table[name]
    if not table:
        del document[outer]
    return tomlkit.dumps(document)
