"""A rule read for comparison: its statements, and the set of tagged terms that stands for all it says."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from functools import lru_cache

from workbench.comparison.duplicates import normal_text
from workbench.comparison.statements import Statement, statements
from workbench.comparison.words import LIGHT
from workbench.records.rules import Rule
from workbench.rules.conflicts.scopes import Reach, reach_of
from workbench.text.instructions import judge

_LINK = re.compile(r"!?\[([^\[\]\n]*)\](?:\([^()\n]*\)|\[[^\[\]\n]*\])")
_EMPHASIS = re.compile(r"(\*{1,3}|__)(?=\S)|(?<=\S)(\*{1,3}|__)")
_FENCED = re.compile(r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)", re.DOTALL)
_ONLY = re.compile(r"\b(?:only|solely|exclusively)\b", re.IGNORECASE)
_SPAN = re.compile(r"(`+[^`\n]*`+)")
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
    text = prose(rule.rule)
    heading = rule.provenance.section[-1] if rule.provenance and rule.provenance.section else ""
    mistake = bool(_MISTAKE.match(text)) and bool(_TO_AVOID.search(heading))
    found = statements(f"Avoid {text[:1].lower()}{text[1:]}" if mistake else text)
    profile = profile_of(found) | {"{" + text_key(block) for block in _FENCED.findall(text)}
    pointing = any(one.anaphoric or one.text.endswith("?") for one in found)
    whole = not text.rstrip("*_ \n").endswith(":") and not pointing
    return Reading(rule, normal_text(rule.rule), reach_of(rule), found, _claims(found), profile, whole)


def text_key(block: str) -> str:
    """Return a code block as one term: blocks are the same only if they are equal but for white space."""
    return hashlib.blake2b(" ".join(block.split()).encode("utf-8", "replace"), digest_size=8).hexdigest()


def _claims(found: tuple[Statement, ...]) -> tuple[Statement, ...]:
    """Return the statements that instruct: all of a single-sentence rule, else those that read so alone."""
    if len(found) == 1:
        return found
    return tuple(statement for statement in found if judge(statement.text).instruction)


@lru_cache(maxsize=65536)
def prose(text: str) -> str:
    """Return a rule's text without links and emphasis; code spans keep their marks, they are read as code."""
    if "*" not in text and "__" not in text and "[" not in text:
        return text
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
        if _ONLY.search(statement.text):
            terms.add("only")
    return frozenset(terms)
