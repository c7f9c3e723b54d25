"""A rule read for comparison: its statements, and the set of tagged terms that stands for all it says."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from workbench.records.rules import Rule
from workbench.rules.conflicts.scopes import Reach, reach_of
from workbench.text.duplicates import normal_text
from workbench.text.statements import LIGHT, Statement, statements

_LINK = re.compile(r"!?\[([^\[\]\n]*)\](?:\([^()\n]*\)|\[[^\[\]\n]*\])")
_EMPHASIS = re.compile(r"(\*{1,3}|__)(?=\S)|(?<=\S)(\*{1,3}|__)")
_SPAN = re.compile(r"(`+[^`\n]*`+)")
_PERMISSION = re.compile(
    r"\b(?:may|can|could|is|are)(?: be)? (?:allowed|permitted|acceptable|optional|fine|ok)\b|"
    r"\b(?:you|we|it|they) (?:may|can)\b|\boptional(?:ly)?\b|\b(?:allowed|permitted|acceptable)$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Reading:
    """A rule as it is compared. `profile` holds the terms that matter, each tagged with the part it plays."""

    rule: Rule
    normal: str
    reach: Reach
    statements: tuple[Statement, ...]
    profile: frozenset[str]


def read_rule(rule: Rule) -> Reading:
    """Return a rule taken apart."""
    found = statements(prose(rule.rule))
    return Reading(rule, normal_text(rule.rule), reach_of(rule), found, profile_of(found))


@lru_cache(maxsize=65536)
def prose(text: str) -> str:
    """Return a rule's text without links and emphasis; code spans keep their marks, they are read as code."""
    pieces = _SPAN.split(_LINK.sub(lambda match: match[1] or "", text))
    pieces[::2] = [_EMPHASIS.sub("", piece) for piece in pieces[::2]]
    return "".join(pieces)


def profile_of(found: tuple[Statement, ...]) -> frozenset[str]:
    """Return all that statements say as tagged terms: `!` denied, `?` a condition, `^` an exception,
    `-` turned down, `#` a quantity, `/` a path. Light words and reasons are left out."""
    terms: set[str] = set()
    for statement in found:
        sign = "!" if statement.negated else ""
        terms.update(sign + term for term in statement.terms if term not in LIGHT)
        terms.update(sign + name for name in statement.choices)
        terms.update(sign + "/" + path for path in statement.paths)
        terms.update(f"{sign}#{item.unit} {item.value} {item.bound}" for item in statement.quantities)
        terms.update("?" + term for term in statement.condition)
        terms.update("^" + term for term in statement.exception)
        terms.update("-" + term for term in statement.rejected)
        terms.update(statement.label - LIGHT)
        if not statement.negated and _PERMISSION.search(statement.text):
            terms.add("may")
    return frozenset(terms)
