"""A rule read for comparison: its statements, and the set of tagged terms that stands for all it says."""

from __future__ import annotations

import re
from dataclasses import dataclass

from workbench.comparison.similarity import normal_text, plain
from workbench.comparison.statements import Statement, claims, statements
from workbench.comparison.tokens import LIGHT, code_blocks
from workbench.records.rules import Rule
from workbench.rules.conflicts.scopes import Reach, reach_of

_ONLY = re.compile(r"\b(?:only|solely|exclusively)\b", re.IGNORECASE)
_MISTAKE = re.compile(r"(?:not \w+ing|no|missing|lack of|without) ", re.IGNORECASE)  # listed as what to avoid
_TO_AVOID = re.compile(
    r"\b(?:anti-?patterns?|avoid|pitfalls?|mistakes?|bad practices?|smells?)\b", re.IGNORECASE
)
_PERMISSION = re.compile(
    r"\b(?:may|can|could|is|are)(?: be)? (?:allowed|permitted|acceptable|optional|fine|ok)\b|"
    r"\b(?:you|we|it|they) (?:may|can)\b|\boptional(?:ly)?\b|"
    r"\b(?:allowed|permitted|acceptable)$|^(?:allow|permit)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Reading:
    """A rule as it is compared. `claims` are the statements that demand something and can be contradicted.
    `profile` holds the terms that matter, each tagged with the part it plays."""

    rule: Rule
    normal: str
    reach: Reach
    statements: tuple[Statement, ...]
    claims: tuple[Statement, ...]
    profile: frozenset[str]
    whole: bool


def read_rule(rule: Rule) -> Reading:
    """Return a rule taken apart."""
    text = plain(rule.rule)
    heading = rule.provenance.section[-1] if rule.provenance and rule.provenance.section else ""
    mistake = bool(_MISTAKE.match(text)) and bool(_TO_AVOID.search(heading))
    found = statements(f"Avoid {text[:1].lower()}{text[1:]}" if mistake else text)
    profile = profile_of(found) | {"{" + block for block in code_blocks(text)}
    pointing = any(one.anaphoric or one.text.endswith("?") for one in found)
    whole = not text.rstrip("*_ \n").endswith(":") and not pointing
    return Reading(rule, normal_text(rule.rule), reach_of(rule), found, claims(found), profile, whole)


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
        if _ONLY.search(statement.text):
            terms.add("only")
    return frozenset(terms)
