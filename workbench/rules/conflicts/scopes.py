"""Whether two rules can be in force for the same piece of work; only then can they be in conflict.

Two globs overlap if some path matches both. Where that is hard to tell (exclusions, character sets) they are
taken to overlap: a conflict shown in vain costs less than one that is missed.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

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


def _values(wanted: Any) -> tuple[str, ...]:
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
    return any(_meet(_segments(a), _segments(b)) for a in mine for b in theirs)


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


def _meet(first: tuple[str, ...], second: tuple[str, ...]) -> bool:
    """Whether two lists of segments have a path in common: `**` stands for any number of segments."""
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
        if mine == "**":
            rows.add((a + 1, b))
            if theirs:
                rows.add((a, b + 1))
        if theirs == "**":
            rows.add((a, b + 1))
            if mine:
                rows.add((a + 1, b))
        if mine and theirs and "**" not in (mine, theirs) and _names_meet(mine, theirs):
            rows.add((a + 1, b + 1))
    return False


@lru_cache(maxsize=16384)
def _names_meet(first: str, second: str) -> bool:
    """Whether two patterns of one segment have a name in common: `*` any run, `?` and sets any character."""
    rows = {(0, 0)}
    done: set[tuple[int, int]] = set()
    mine, theirs = _characters(first), _characters(second)
    while rows:
        a, b = rows.pop()
        if (a, b) in done:
            continue
        done.add((a, b))
        if a == len(mine) and b == len(theirs):
            return True
        x = mine[a] if a < len(mine) else ""
        y = theirs[b] if b < len(theirs) else ""
        if x == "*":
            rows.add((a + 1, b))
            if y:
                rows.add((a, b + 1))
        if y == "*":
            rows.add((a, b + 1))
            if x:
                rows.add((a + 1, b))
        if x and y and "*" not in (x, y) and (x == y or "?" in (x, y)):
            rows.add((a + 1, b + 1))
    return False


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
