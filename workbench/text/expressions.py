"""Expressions and words that are data: read from TOML files beside the code that uses them.

`[expressions]` has regular expressions by name, a string or a list of strings that are put together, flags in
front as `(?i)`. `{{name}}` in one stands for an entry of `[parts]`. `[words]` has words by name, separated by
spaces.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from workbench.parsed import read_parsed

_PART = re.compile(r"\{\{(\w+)\}\}")
_METHODS = ("match", "fullmatch", "search", "findall", "finditer", "split", "sub")


class LazyPattern:
    """A regular expression that is compiled when it is first used, for what few commands look for."""

    def __init__(self, source: str, flags: int = 0) -> None:
        """Take what `re.compile` takes."""
        self.source = source, flags

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - what patterns have
        pattern = re.compile(*self.source)
        vars(self).update({method: getattr(pattern, method) for method in _METHODS})
        return getattr(pattern, name)


@cache
def read_sources(package: str, name: str) -> Mapping[str, str]:
    """Return {name: source} of the expressions of a data file in a package, parts filled in, in its order."""
    held = _read_expressions(package, name)
    return {key: _fill(held, value) for key, value in held["expressions"].items()}


@cache
def read_expressions(package: str, name: str) -> Mapping[str, re.Pattern[str]]:
    """Return {name: expression} of a data file in a package."""
    return {key: re.compile(source) for key, source in read_sources(package, name).items()}


@cache
def read_words(package: str, name: str) -> Mapping[str, frozenset[str]]:
    """Return {name: words} of a data file in a package."""
    return {
        key: frozenset(_text(value, " ").split())
        for key, value in _read_expressions(package, name)["words"].items()
    }


def read_rows(package: str, name: str, table: str) -> list[list[str]]:
    """Return a list of lists of texts in a data file of a package, parts filled in."""
    held = _read_expressions(package, name)
    return [[_fill(held, cell) for cell in row] for row in held[table]]


def read_tables(package: str, name: str, table: str) -> list[dict[str, str]]:
    """Return the tables of texts under a name in a data file of a package."""
    return [dict(one) for one in _read_expressions(package, name)[table]]


@cache
def _read_expressions(package: str, name: str) -> dict[str, Any]:
    held: dict[str, Any] = read_parsed(package, name, _parse)
    return held


def _parse(content: bytes) -> dict[str, Any]:
    import tomllib  # what is parsed already does without

    return tomllib.loads(content.decode("utf-8"))


def _fill(held: Mapping[str, Any], value: str | list[str]) -> str:
    return _PART.sub(lambda match: _fill(held, held["parts"][match[1]]), _text(value))


def _text(value: str | list[str], between: str = "") -> str:
    return value if isinstance(value, str) else between.join(value)
