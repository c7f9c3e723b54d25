"""All checks of rule files in one run, in the order of files and lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from workbench.rules.lint.findings import MOST_ALIKE, LintFinding, LintProject, Severity, without_ignored
from workbench.rules.lint.overlaps import overlaps
from workbench.rules.lint.reach import (
    dead_globs,
    foreign_keys,
    front_matter,
    never_loaded,
    secrets,
    sizes,
    unreadable,
)
from workbench.rules.lint.references import missing_commands, missing_files, missing_imports

CHECKS: Final[tuple[Callable[[LintProject], Iterator[LintFinding]], ...]] = (
    secrets,
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
    counts = Counter(one.severity for one in findings)
    return {str(severity): counts[severity] for severity in Severity}
