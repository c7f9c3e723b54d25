"""Findings that have one safe fix, as changes of rules: steps of the store that are written and undone.

A reference to a file that is now elsewhere is corrected where just one file of its name is left; of a rule
that is twice in one file the later one goes. Everything else is for people.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from workbench.errors import ParseError
from workbench.records.conflicts import ConflictKind
from workbench.records.rules import Rule
from workbench.rules.curation.curator import Curator
from workbench.rules.files.drift import Written, find_drift, rule_sources, write_pending
from workbench.rules.files.edits import try_edits, undo_between
from workbench.rules.files.unit_edits import Delete, Edit, Replace
from workbench.rules.lint.findings import LintFinding, LintKind, LintProject
from workbench.rules.reading.discovery import read_source
from workbench.text.counts import plural

REASON = "found by rules lint"


@dataclass(frozen=True, slots=True)
class RuleFix:
    """A rule of a file and the text it is to have, empty for one that goes."""

    rule: Rule
    text: str = ""

    @property
    def file(self) -> str:
        """The rule's file."""
        assert self.rule.provenance is not None
        return self.rule.provenance.file

    @property
    def line(self) -> int:
        """The rule's first line in its file."""
        return 0 if self.rule.provenance is None else self.rule.provenance.line

    @property
    def edit(self) -> Edit:
        """The change of its file."""
        where = self.rule.provenance
        assert where is not None
        if self.text:
            return Replace(where.line, where.end_line, self.text)
        return Delete(where.line, where.end_line)


@dataclass(frozen=True, slots=True)
class FixOutcome:
    """What fixes did, or would do: files before and after, and sentences about what was left alone."""

    written: tuple[Written, ...] = ()
    notes: tuple[str, ...] = ()


def rule_fixes(project: LintProject, findings: Sequence[LintFinding]) -> tuple[RuleFix, ...]:
    """Return the changes of rules that end findings, by file and line, one a rule."""
    fixes: dict[str, RuleFix] = {}
    kinds = {conflict.id: conflict.kind for conflict in project.conflicts}
    for finding in findings:
        rule = _rule_at(project, finding)
        if rule is None or rule.check is not None:
            continue
        before = fixes.get(rule.id, RuleFix(rule, rule.rule))
        if finding.kind is LintKind.DUPLICATE and kinds.get(finding.conflict) is ConflictKind.EXACT:
            if _is_within_file(project, finding):
                fixes[rule.id] = RuleFix(rule)
        elif finding.kind is LintKind.MISSING_FILE and before.text:
            moved = project.new_place(finding.detail)
            text = re.sub(rf"(?<=`){re.escape(finding.detail)}(?=[`:#])", partial(_first, moved), before.text)
            if moved and text != before.text:
                fixes[rule.id] = replace(before, text=text)
    return tuple(sorted(fixes.values(), key=lambda fix: (fix.file, fix.line)))


def _first(text: str, _: object) -> str:
    return text


def _rule_at(project: LintProject, one: LintFinding) -> Rule | None:
    """Return the project's rule that a finding is about, None for none or several."""
    found = [
        rule
        for rule in project.rules
        if rule.provenance is not None
        and rule.provenance.file == one.file
        and not rule.provenance.home
        and 0 < rule.provenance.line <= one.line <= rule.provenance.end_line
    ]
    return found[0] if len(found) == 1 else None


def _is_within_file(project: LintProject, one: LintFinding) -> bool:
    pair = next(conflict for conflict in project.conflicts if conflict.id == one.conflict)
    rules = [rule for rule in project.rules if rule.id in (pair.left, pair.right)]
    same = (
        len({(rule.authority, rule.scope, rule.provenance and rule.provenance.file) for rule in rules}) == 1
    )
    return len(rules) == 2 and same


def preview_fixes(curator: Curator, candidates: Sequence[str], fixes: Sequence[RuleFix]) -> FixOutcome:
    """Return what fixes would write, changing nothing. Raises: StoreError."""
    fixes, notes = _without_waiting(curator, candidates, fixes)
    sources = rule_sources(curator.store, candidates)
    written = []
    for file in dict.fromkeys(fix.file for fix in fixes):
        try:
            before = read_source(sources[file])
        except (KeyError, OSError, ParseError):
            continue
        result = try_edits(before, [fix.edit for fix in fixes if fix.file == file])
        refused = tuple(f"line {one.line}: {one.reason}" for one in result.refused)
        undo = undo_between(before, result.data)
        written.append(Written(file, before, result.data, refused, result.notes, undo))
    return FixOutcome(tuple(written), notes)


def apply_fixes(
    curator: Curator, candidates: Callable[[], Sequence[str]], fixes: Sequence[RuleFix]
) -> FixOutcome:
    """Change the rules, a step for new words and one for those that go, and write their files.

    `rules undo` takes each back, in the files as well. Raises: UsageError for words that a file cannot hold;
    StoreError.
    """
    fixes, notes = _without_waiting(curator, candidates(), fixes)
    written = []
    changed = {fix.rule.id: {"rule": fix.text} for fix in fixes if fix.text}
    if changed:
        title = f"correct {plural(len(changed), 'rule')}"
        curator.edit_each(changed, reason=REASON, title=title)
        written += _write(curator, candidates, [fix for fix in fixes if fix.text])
    gone = [fix for fix in fixes if not fix.text]
    if gone:  # written by itself, so that its undo finds the file as it left it
        curator.remove([fix.rule.id for fix in gone], reason=REASON)
        written += _write(curator, candidates, gone)
    return FixOutcome(tuple(written), notes)


def _write(
    curator: Curator, candidates: Callable[[], Sequence[str]], fixes: Sequence[RuleFix]
) -> list[Written]:
    files = sorted({fix.file for fix in fixes})
    return write_pending(curator.store, candidates(), files=files).written


def _without_waiting(
    curator: Curator, candidates: Sequence[str], fixes: Sequence[RuleFix]
) -> tuple[list[RuleFix], tuple[str, ...]]:
    """Return the fixes of files that are up to date with the store, and notes about the others."""
    drift = {one.file for one in find_drift(curator.store, candidates).drift if one.pending or one.conflicts}
    waiting = sorted(drift & {fix.file for fix in fixes})
    notes = tuple(
        f"{file} is left alone: changes of it wait, see `workbench rules drift`" for file in waiting
    )
    return [fix for fix in fixes if fix.file not in drift], notes
