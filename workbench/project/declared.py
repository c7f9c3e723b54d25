"""What a manifest declares, and the checks that readers of every format share."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Mapping
from typing import Any

from workbench.errors import ParseError
from workbench.records.dataclass import dataclass

MAX_DEPENDENCIES = 2_000
_AT_LINE = re.compile(r"at line (\d+)")


@dataclass(frozen=True, slots=True)
class Dependency:
    """A package asked for. `kind`: runtime, dev, build, optional, peer, indirect."""

    name: str
    constraint: str = ""
    kind: str = "runtime"


@dataclass(frozen=True, slots=True)
class Manifest:
    """One manifest file. `scripts` are (name, target) of entry points, commands and binaries."""

    path: str
    ecosystem: str
    name: str = ""
    version: str = ""
    dependencies: tuple[Dependency, ...] = ()
    scripts: tuple[tuple[str, str], ...] = ()


def malformed_error(path: str, line: int, problem: str) -> ParseError:
    """Return the error for a file that is not what it claims to be."""
    where = f"{path}:{line}" if line else path
    return ParseError(
        f"{where}: {problem}", path=path, line=line, hint="Fix the file; the rest is indexed without it."
    )


def table_of(path: str, value: object, key: str) -> Mapping[str, Any]:
    """Return a value that must be a table, {} if absent."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise malformed_error(path, 0, f"`{key}` is not a table")
    return value


def strings_of(path: str, value: object, key: str) -> list[str]:
    """Return the strings of a value that must be a list, [] if absent."""
    if value is None:
        return []
    if not isinstance(value, list):
        raise malformed_error(path, 0, f"`{key}` is not a list")
    return [item for item in value if isinstance(item, str)]


def text_of(value: object) -> str:
    """Return a value if it is text, else ''."""
    return value if isinstance(value, str) else ""


def manifest_of(
    path: str,
    ecosystem: str,
    name: str,
    version: str,
    dependencies: Iterable[Dependency],
    scripts: Iterable[tuple[str, str]] = (),
) -> Manifest:
    """Return the manifest without duplicates, bounded."""
    distinct = tuple(dict.fromkeys(dependencies))[:MAX_DEPENDENCIES]
    return Manifest(path, ecosystem, name, version, distinct, tuple(dict.fromkeys(scripts)))


def toml_table(path: str, text: str) -> Mapping[str, Any]:
    """Parse TOML."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        line = _AT_LINE.search(str(error))
        where = int(line.group(1)) if line else text.rstrip().count("\n") + 1  # else it is the end
        raise malformed_error(path, where, str(error)) from None


def named_dependencies(path: str, value: object, key: str, kind: str) -> list[Dependency]:
    """Dependencies written as a table of name to constraint, or to a table with a version in it."""
    found = []
    for name, constraint in table_of(path, value, key).items():
        if name.lower() == "python":
            continue
        if isinstance(constraint, Mapping):
            optional = kind == "runtime" and constraint.get("optional") is True
            text = (
                text_of(constraint.get("version"))
                or text_of(constraint.get("path"))
                or text_of(constraint.get("git"))
            )
            found.append(Dependency(name, text, "optional" if optional else kind))
        else:
            found.append(Dependency(name, text_of(constraint), kind))
    return found


def json_table(path: str, text: str) -> Mapping[str, Any]:
    """Parse JSON whose top is an object."""
    try:
        data = json.loads(text)
    except json.JSONDecodeError as error:
        raise malformed_error(path, error.lineno, error.msg) from None
    return table_of(path, data, "the document")
