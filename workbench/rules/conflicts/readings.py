"""A rule read for comparison: its statements, and the set of tagged terms that stands for all it says."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from workbench.comparison.similarity import normal_text, plain
from workbench.comparison.statements import Statement, claims, statements
from workbench.comparison.tokens import LIGHT, code_blocks
from workbench.records.rules import Rule, context_names, path_globs
from workbench.rules.globs import expand_braces

Reach = tuple[str, tuple[str, ...], tuple[str, ...], tuple[tuple[str, tuple[str, ...]], ...]]


def reach_of(rule: Rule) -> Reach:
    """Return what limits a rule, as a value: project, tools, scope, conditions."""
    conditions = tuple(sorted((name, _values(wanted)) for name, wanted in rule.conditions.items()))
    return (rule.project_id or "", tuple(sorted(rule.tool_targets)), tuple(sorted(rule.scope)), conditions)


def overlap(first: Rule, second: Rule) -> bool:
    """Whether both rules can be in force at once."""
    return reaches_overlap(reach_of(first), reach_of(second))


@lru_cache(maxsize=65536)
def reaches_overlap(first: Reach, second: Reach) -> bool:
    """Whether two reaches have work in common: project, tools, conditions, context names and paths."""
    if first == second:
        return True
    if first[0] and second[0] and first[0] != second[0]:
        return False
    if first[1] and second[1] and set(first[1]).isdisjoint(second[1]):
        return False
    theirs = dict(second[3])
    for name, values in first[3]:
        if name in theirs and set(values).isdisjoint(theirs[name]):
            return False
    return _scopes_overlap(first[2], second[2])


def wider(first: Reach, second: Reach) -> bool:
    """Whether the first reach surely takes in all of the second and more."""
    if first == second:
        return False
    project = not first[0] or first[0] == second[0]
    tools = not first[1] or bool(second[1] and set(second[1]) <= set(first[1]))
    conditions = set(first[3]) <= set(second[3])
    scope = not first[2] or bool(second[2] and set(second[2]) <= set(first[2]))
    return project and tools and conditions and scope


def _values(wanted: object) -> tuple[str, ...]:
    many = wanted if isinstance(wanted, (list, tuple, set, frozenset)) else (wanted,)
    return tuple(sorted(str(value) for value in many))


def _scopes_overlap(first: tuple[str, ...], second: tuple[str, ...]) -> bool:
    if not first or not second:
        return True
    names, others = context_names(first), context_names(second)
    globs, theirs = path_globs(first), path_globs(second)
    if (names and theirs) or (others and globs) or set(names) & set(others):
        return True
    return globs_overlap(globs, theirs)


@lru_cache(maxsize=65536)
def globs_overlap(first: tuple[str, ...], second: tuple[str, ...]) -> bool:
    """Whether some path is matched by a glob of each side; exclusions (`!glob`) take nothing away."""
    mine = [glob for item in first if not item.startswith("!") for glob in expand_braces(item)]
    theirs = [glob for item in second if not item.startswith("!") for glob in expand_braces(item)]
    if not mine or not theirs:  # only exclusions: everything else is meant
        return bool(first and second)
    return any(_meet(_segments(a), _segments(b), "**", _names_meet) for a in mine for b in theirs)


@lru_cache(maxsize=16384)
def _segments(glob: str) -> tuple[str, ...]:
    """Return a glob as path segments from the root; a directory takes in what is below it."""
    anchored = glob.startswith("/") or "/" in glob.rstrip("/")
    parts = [part for part in glob.removeprefix("./").strip("/").split("/") if part]
    if not anchored:
        parts.insert(0, "**")
    last = parts[-1] if parts else "**"
    if glob.endswith("/") or (last != "**" and "." not in last.strip(".") and "*" not in last):
        parts.append("**")
    return tuple(parts)


def _meet(first: Sequence[str], second: Sequence[str], run: str, fits: Callable[[str, str], bool]) -> bool:
    """Whether two patterns have something in common; `run` is any number of items, other items must fit."""
    rows = {(0, 0)}
    done: set[tuple[int, int]] = set()
    while rows:
        a, b = rows.pop()
        if (a, b) in done:
            continue
        done.add((a, b))
        if a == len(first) and b == len(second):
            return True
        mine = first[a] if a < len(first) else ""
        theirs = second[b] if b < len(second) else ""
        if mine == run:
            rows.add((a + 1, b))
            if theirs:
                rows.add((a, b + 1))
        if theirs == run:
            rows.add((a, b + 1))
            if mine:
                rows.add((a + 1, b))
        if mine and theirs and run not in (mine, theirs) and fits(mine, theirs):
            rows.add((a + 1, b + 1))
    return False


@lru_cache(maxsize=16384)
def _names_meet(first: str, second: str) -> bool:
    """Whether two patterns of one segment have a name in common: `*` any run, `?` and sets any character."""
    return _meet(_characters(first), _characters(second), "*", lambda x, y: x == y or "?" in (x, y))


def _characters(pattern: str) -> list[str]:
    """Return a segment's pattern as characters; a set counts as any character, an escaped one as itself."""
    found: list[str] = []
    at = 0
    while at < len(pattern):
        if pattern[at] == "\\" and at + 1 < len(pattern):
            found.append("\\" + pattern[at + 1])
            at += 2
        elif pattern[at] == "[" and (end := pattern.find("]", at + 2)) > 0:
            found.append("?")
            at = end + 1
        else:
            found.append(pattern[at] if pattern[at] in "*?" else "\\" + pattern[at])
            at += 1
    return found


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
