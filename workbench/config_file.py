"""TOML as people write it: reading it, on which line a key is, changing one without touching the rest."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, MutableMapping
from pathlib import Path

from workbench.errors import ConfigError

MAX_BYTES = 1_000_000

_HEADER = re.compile(r"\s*\[([A-Za-z0-9_\-.\"'\s]+)\]\s*(?:#.*)?$")
_KEY = re.compile(r"\s*([A-Za-z0-9_\-\"']+(?:\s*\.\s*[A-Za-z0-9_\-\"']+)*)\s*=")


def key_line(text: str, section: str, name: str) -> int:
    """Return the 1-based line where `name` of `[section]` is set, else the section's, else 1."""
    found = _find(_lines(text), section, name)
    return found + 1 if found is not None else 1


def set_key(text: str, section: str, name: str, value: object) -> str:
    """Return the text with `[section] name = value`; comments, order and all other lines stay as they are.

    Raises: ConfigError if `section` is a value in it.
    """
    import tomlkit

    document = tomlkit.parse(text)
    table = document.setdefault(section, tomlkit.table())
    if not isinstance(table, MutableMapping):
        raise ConfigError(f"{section} is a value, not a section, in this file", hint="Edit the file by hand.")
    table[name] = _plain(value)
    return tomlkit.dumps(document)


def unset_key(text: str, section: str, name: str) -> str:
    """Return the text without the key; unchanged if it is not set."""
    import tomlkit

    document = tomlkit.parse(text)
    table = document.get(section)
    if not isinstance(table, MutableMapping) or name not in table:
        return text
    del table[name]
    return tomlkit.dumps(document)


def to_toml(value: object) -> str:
    """Return a bool, number, text or flat list as TOML."""
    import tomlkit

    return tomlkit.item(_plain(value)).as_string()


def _plain(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value


def _lines(text: str) -> list[str]:
    """Return the lines as TOML has them: only a line feed ends one, a return before it aside."""
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    return lines[:-1] if lines[-1] == "" else lines


def _keys(line: str) -> list[str]:
    match = _KEY.match(line)
    return [part.strip().strip("\"'") for part in match[1].split(".")] if match else []


def _find(lines: list[str], section: str, name: str) -> int | None:
    """Return the index of the key's line, of the section's header if the key is absent, or None."""
    current = ""
    header = None
    for number, line in enumerate(lines):
        if match := _HEADER.match(line):
            current = match[1].strip().strip("\"' ")
            if current == section and header is None:
                header = number
        elif name and (
            (current == section and _keys(line) == [name]) or (not current and _keys(line) == [section, name])
        ):
            return number
        elif not current and not name and _keys(line) == [section]:
            header = number
    if header is None and not current:
        return next((number for number, line in enumerate(lines) if _keys(line) == [section]), None)
    return header


def read_text(path: Path, opened: Callable[[], int]) -> str | None:
    """Return the text of the file that `opened` opens, None if there is none. Raises: ConfigError."""
    try:
        descriptor = opened()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise _unreadable(path, error) from error
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_BYTES:
            raise ConfigError(f"{path}: is not a text file of at most 1 MB", hint="Remove or replace it.")
        with open(descriptor, "rb", closefd=False) as file:
            return file.read(MAX_BYTES).decode("utf-8")
    except OSError as error:
        raise _unreadable(path, error) from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: is not UTF-8", hint="Save it as UTF-8.") from error
    finally:
        os.close(descriptor)


def _unreadable(path: Path, error: OSError) -> ConfigError:
    return ConfigError(
        f"{path}: cannot be read ({error.strerror})", hint="Check where it leads and its permissions."
    )
