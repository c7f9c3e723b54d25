"""Whether a task is only a turn of a conversation: "thanks, looks good", "ok go on", "commit this".

It is where each of its clauses has nothing but words of conversation and small numbers, or is one request
about that itself. Words are data (`small_talk.toml`). Which words a project has says nothing here: any has
"good", "looks" and "continue" in what past tasks were called.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from typing import Final

from workbench.records.dataclass import dataclass
from workbench.text.expressions import read_tables, read_words

_LONGEST: Final = 200  # characters of a turn that says nothing
_DIGITS: Final = 2  # of a number that names nothing: "option 2", not "fix 404"
_DATA: Final = "small_talk.toml"
_CLAUSE: Final = re.compile(r"[.,;:!?…](?=[\s.,;:!?…]|$)|[，。！？；、\n]")
_CODE: Final = frozenset("._/\\@#`+=<>[]{}$%&*~^|-")
_JOINS: Final = frozenset(("and", "then", "und", "et", "y"))


@dataclass(frozen=True, slots=True)
class _Request:
    """A request of a conversation by its words: the first, any others, and those of which one is needed."""

    begins: frozenset[str]
    may: frozenset[str]
    must: frozenset[str]


def is_small_talk(text: str) -> bool:
    """Whether a text says nothing of a project; not where it has no words, or a sign of code beside one."""
    clauses = _clauses(text)
    return bool(clauses) and all(map(_says_nothing, clauses))


def _clauses(text: str) -> list[list[str]]:
    """Return the words of each clause of a short text; none of a long one."""
    clauses: list[list[str]] = []
    for part in _CLAUSE.split(text.replace("'", "").replace("’", "")) if len(text) <= _LONGEST else ():
        clauses.append([])
        for word in unicodedata.normalize("NFKC", part).lower().split():
            if word in _JOINS:
                clauses.append([])
            elif letters := "".join(filter(str.isalnum, word)):
                clauses[-1].append(word if _CODE.intersection(word) else letters)
    return [clause for clause in clauses if clause]


def is_chore(text: str) -> bool:
    """Whether a text asks for what every project is asked for: "bump version", "fix typos in the docs"."""
    return any(_meets(clause, "chore") for clause in _clauses(text))


def _says_nothing(clause: list[str]) -> bool:
    return not _content(clause) or _meets(clause, "request")


def _content(clause: list[str]) -> list[str]:
    talk = read_words(__package__, _DATA)["talk"]
    return [word for word in clause if word not in talk and not (word.isdecimal() and len(word) <= _DIGITS)]


def _meets(clause: list[str], table: str) -> bool:
    content = _content(clause)
    return bool(content) and any(
        content[0] in one.begins
        and ("*" in one.may or one.may.union(one.must).issuperset(content[1:]))
        and (not one.must or not one.must.isdisjoint(clause))
        for one in _requests(table)
    )


@cache
def _requests(table: str) -> tuple[_Request, ...]:
    return tuple(
        _Request(*(frozenset(one.get(name, "").split()) for name in ("begins", "may", "must")))
        for one in read_tables(__package__, _DATA, table)
    )
