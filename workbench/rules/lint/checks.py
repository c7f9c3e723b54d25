"""All checks of rule files in one run, in the order of files and lines; here, those of pairs of rules.

Duplicates and contradictions count where one agent gets to read both: the same rule in CLAUDE.md and in
AGENTS.md is how people serve two agents.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from itertools import product
from typing import Final

from workbench.records.conflicts import Conflict, ConflictKind
from workbench.records.rules import Provenance, Rule
from workbench.rules.descriptions import forbidding_heading
from workbench.rules.lint.findings import (
    MOST_ALIKE,
    MOST_SHOWN,
    LintFinding,
    LintKind,
    LintProject,
    Severity,
    without_ignored,
)
from workbench.rules.lint.reach import (
    dead_globs,
    foreign_keys,
    front_matter,
    never_loaded,
    order_for,
    orders,
    sample_path,
    secrets,
    shown_agents,
    sizes,
    unreadable,
)
from workbench.rules.lint.references import missing_commands, missing_files, missing_imports
from workbench.rules.precedence.agents import PRECEDENCE
from workbench.text.counts import plural
from workbench.text.sanitize import safe_lines, shorten

_KINDS: Final = {
    ConflictKind.EXACT: LintKind.DUPLICATE,
    ConflictKind.NEAR: LintKind.DUPLICATE,
    ConflictKind.CONTRADICTORY: LintKind.CONTRADICTION,
}
_MOST_SINGLE: Final = 5  # duplicates of a file in another that are listed each
_OTHERS: Final = frozenset({"CLAUDE.md", ".claude/CLAUDE.md", "GEMINI.md"})
"""Files of other agents that Copilot reads as well: that they repeat its own is meant."""

_EXCEPTION: Final = re.compile(
    r"\b(?:unless|except(?:ions?)?|only (?:use|when|if|where)|(?:when|where|if) (?:\w+ )?necessary)\b", re.I
)


def overlaps(project: LintProject) -> Iterator[LintFinding]:
    """Find pairs of rules that say the same or contradict each other and that one agent loads together."""
    rules = {rule.id: rule for rule in project.rules}
    found: list[tuple[str, LintFinding]] = []

    @cache
    def readers(first: str, second: str) -> tuple[str, ...]:
        return tuple(agent for agent in PRECEDENCE if _loads_both(project, agent, first, second))

    copies: dict[str, list[Rule]] = defaultdict(list)
    for rule in sorted(project.rules, key=lambda one: one.id):
        copies[_text(rule)].append(rule)
    for conflict in project.conflicts:
        kind, left, right = _KINDS.get(conflict.kind), rules.get(conflict.left), rules.get(conflict.right)
        if kind is None or left is None or right is None:
            continue
        if kind is LintKind.CONTRADICTION and _is_weak(conflict, rules):
            continue
        pairs = [(left, right)]
        if kind is LintKind.CONTRADICTION:  # what one file says is found for the first of equal texts alone
            pairs += product(copies[_text(left)], copies[_text(right)])
        for pair in dict.fromkeys((one.id, other.id) for one, other in pairs):
            places = [(at, rules[one].rule) for one in pair if (at := rules[one].provenance) is not None]
            if len(places) < 2:
                continue
            (first, words), (second, _) = sorted(places, key=lambda item: (item[0].file, item[0].line))
            if first.file == second.file:
                if not (conflict.kind is ConflictKind.EXACT or _is_choice(project, conflict, first, second)):
                    continue  # items of one list: with the words that introduce it, or each for its own case
            elif pair != (conflict.left, conflict.right):
                continue
            agents = readers(first.file, second.file)
            if not agents or not second.line:
                continue
            where = f"line {first.line}" if first.file == second.file else f"{first.file}:{first.line}"
            verb = "says the same as" if kind is LintKind.DUPLICATE else "contradicts"
            message = f"{verb} {where}: {shorten(words, MOST_SHOWN)} ({shown_agents(agents)})"
            step = f"`workbench rules conflicts show {conflict.id[:17]}` has both, and ways out."
            finding = LintFinding(kind, second.file, second.line, message, step, conflict.id, conflict.id)
            found.append((first.file, finding))
    yield from _summed_up(found)


def _text(rule: Rule) -> str:
    return " ".join(rule.rule.split()).casefold()


def _is_choice(project: LintProject, conflict: Conflict, first: Provenance, second: Provenance) -> bool:
    """Whether two rules of one list choose differently, as tabs or spaces: each is meant for every case.

    A heading or a label between them ("Python:") begins another case.
    """
    if not any(one.test == "choice" for one in conflict.evidence) or first.section != second.section:
        return False
    found = project.tree.find(first.file)
    between = [] if found is None else safe_lines(found.text)[first.end_line : second.line - 1]
    return not any(line.rstrip().endswith((":", ":**")) for line in between)


def _is_weak(conflict: Conflict, rules: Mapping[str, Rule]) -> bool:
    """Whether a negation alone speaks for a contradiction, and a heading or an exception against it."""
    if not any(one.test == "negation" for one in conflict.evidence):
        return False
    for rule in (rules[conflict.left], rules[conflict.right]):
        if _EXCEPTION.search(rule.rule) or forbidding_heading(rule):
            return True
    return False


def _summed_up(found: Sequence[tuple[str, LintFinding]]) -> Iterator[LintFinding]:
    """Yield findings, the many duplicates of one file in another as one of the file."""
    groups: dict[tuple[str, str], list[LintFinding]] = defaultdict(list)
    for other, one in found:
        if one.kind is LintKind.DUPLICATE and other != one.file:
            groups[one.file, other].append(one)
        else:
            yield one
    for (file, other), those in groups.items():
        if len(those) <= _MOST_SINGLE:
            yield from those
            continue
        message = f"repeats {plural(len(those), 'rule')} of {other}"
        step = "Keep them in one of the two files; `workbench rules conflicts list` has each pair."
        yield LintFinding(LintKind.DUPLICATE, file, min(one.line for one in those), message, step, other)


def _loads_both(project: LintProject, agent: str, first: str, second: str) -> bool:
    """Whether an agent loads two files in one session, started at the root, about a file of either."""
    if agent == "copilot" and _OTHERS.intersection((first, second)):
        return False
    texts = [one.text for name in (first, second) if (one := project.tree.find(name)) is not None]
    if first != second and len(set(texts)) < 2:
        return False  # one file under two names, or a copy that is kept for another agent
    for name in (first, second):
        found = project.tree.find(name)
        sample = None if found is None else sample_path(project, found)
        if sample is None:
            continue
        loaded = {one.name for one in order_for(project, agent, sample).loaded}
        if first in loaded and second in loaded:
            return True
    return False


CHECKS: Final[tuple[Callable[[LintProject], Iterator[LintFinding]], ...]] = (
    secrets,
    orders,
    missing_imports,
    unreadable,
    dead_globs,
    foreign_keys,
    front_matter,
    never_loaded,
    sizes,
    missing_files,
    missing_commands,
    overlaps,
)
_RANK: Final = {severity: rank for rank, severity in enumerate(Severity)}


def lint_rules(project: LintProject) -> tuple[LintFinding, ...]:
    """Return what is wrong with the rule files of a project, by file and line, the worst of a line first."""
    found = (one for check in CHECKS for one in check(project))
    kept = without_ignored(project, dict.fromkeys(found))
    kept.sort(key=lambda one: (one.file, one.line, _RANK[one.severity], one.kind, one.detail))
    counts = Counter[tuple[str, str]]()
    shown = []
    for one in kept:
        counts[one.file, one.kind] += 1
        if counts[one.file, one.kind] <= MOST_ALIKE:
            shown.append(one)
    return tuple(shown)


def is_as_bad(severity: Severity, as_: Severity) -> bool:
    """Whether a severity is that of another, or worse."""
    return _RANK[severity] <= _RANK[as_]


def count_severities(findings: Sequence[LintFinding]) -> dict[str, int]:
    """Return how many findings there are of each severity, the worst first."""
    counts = Counter(finding.severity for finding in findings)
    return {str(severity): counts[severity] for severity in Severity}
