"""Which shapes of secrets a short text may hold at all, so that no others are looked for in it.

Making the automata of all shapes takes longer than everything else that a hook does with texts, and a prompt
or a subject of a commit has none of what most shapes need. `secret_hints.json` has what that is, derived from
the expressions by `python -m bench.secret_hints`: a length of letters, digits, `_` and `-` without a break,
and groups of strings, in lower case, of each of which one is in every text that the shape matches.
"""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Final

from workbench.places import data_file

HINTS: Final = "secret_hints.json"
_RUN: Final = re.compile(rb"[\w-]+")

Hint = tuple[int, tuple[tuple[bytes, ...], ...]]
"""The least length of the longest run, and groups of strings of which one each is in the text."""


def shapes_with_hints(table: str, data: bytes) -> tuple[int, ...]:
    """Return the numbers of the shapes of a table that may match in a text; no other does."""
    lowered = data.lower()
    longest = max(map(len, _RUN.findall(data)), default=0)
    return tuple(
        number
        for number, (run, groups) in enumerate(_hints()[table])
        if run <= longest and _has_all(groups, lowered)
    )


def _has_all(groups: tuple[tuple[bytes, ...], ...], lowered: bytes) -> bool:
    for group in groups:
        for text in group:
            if text in lowered:
                break
        else:
            return False
    return True


@cache
def _hints() -> dict[str, tuple[Hint, ...]]:
    tables = json.loads(data_file(__package__, HINTS).read_bytes())
    return {
        table: tuple(
            (run, tuple(tuple(text.encode() for text in group) for group in groups)) for run, groups in rows
        )
        for table, rows in tables.items()
    }
