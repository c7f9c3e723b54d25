"""`workbench rules lint`: what is wrong with rule files, for people, programs and continuous integration."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import click

from workbench.entry.cli import exits
from workbench.entry.cli.frame import command
from workbench.entry.cli.output import Output
from workbench.entry.cli.rules.diff import changed_lines, show_written
from workbench.entry.cli.session import RuleSession, rule_session
from workbench.entry.services.rule_lint import lint_project, lint_report, open_conflicts
from workbench.entry.services.rule_precedence import place_in
from workbench.errors import UsageError
from workbench.records.answers.rules import FixedFile
from workbench.rules.keptbook import Rulebook
from workbench.rules.lint.checks import count_severities, is_as_bad, lint_rules
from workbench.rules.lint.findings import LintFinding, LintProject, Severity
from workbench.rules.lint.fixes import FixOutcome, apply_fixes, preview_fixes, rule_fixes
from workbench.text.counts import plural
from workbench.text.sanitize import visible_line

_COLORS = {Severity.ERROR: "31", Severity.WARNING: "33", Severity.NOTE: "36"}
_NEVER = "never"


@command
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "sarif"]),
    default="text",
    show_default=True,
    help="Output format.",
)
@click.option(
    "--fail-on",
    type=click.Choice([*map(str, Severity), _NEVER]),
    default=str(Severity.WARNING),
    show_default=True,
    help="Exit with 1 for findings as bad as this, or worse.",
)
@click.option(
    "--fix", is_flag=True, help="Correct moved files and remove repeated rules; `rules undo` undoes."
)
@click.option(
    "--dry-run", is_flag=True, help="With --fix: show the lines that would change, and write nothing."
)
def lint(paths: Sequence[str], form: str, fail_on: str, fix: bool, dry_run: bool) -> int:
    """Find what is wrong with rule files: dead globs, gone files and commands, contradictions, secrets.

    PATH are rule files or directories of them; without any all are looked at, your own in the home as well.
    `workbench-lint: ignore KIND` in a line, or in the one above it, silences it. Exits with 0 where nothing
    as bad as --fail-on was found, else with 1. What --fix ends is not counted.
    """
    if dry_run and not fix:
        raise UsageError("--dry-run belongs to --fix", hint="Without --fix nothing is written anyway.")
    with rule_session("rules-edit" if fix else "rules") as work:
        wanted = [place_in(work.store.root, path, "the rule file") for path in paths]
        project, found = _look(work, work.book, wanted)
        outcome = FixOutcome()
        if fix:
            outcome = _fix(work, project, found, dry_run)
        if outcome.written and not dry_run:
            project, found = _look(work, work.opened.workspace.sync_rules()[0], wanted)
        count = sum(_is_wanted(name, wanted) for name in project.files)
    out = work.here.out
    _show(out, found, count, "json" if work.here.flags.json else form, outcome)
    out.say(_summary(found, count))
    failed = fail_on != _NEVER and any(is_as_bad(one.severity, Severity(fail_on)) for one in found)
    return exits.ERROR if failed else exits.OK


def _look(work: RuleSession, book: Rulebook, wanted: Sequence[str]) -> tuple[LintProject, list[LintFinding]]:
    project = lint_project(work.opened, book, open_conflicts(work.opened, book))
    return project, [rule for rule in lint_rules(project) if _is_wanted(rule.file, wanted)]


def _fix(work: RuleSession, project: LintProject, found: Sequence[LintFinding], dry_run: bool) -> FixOutcome:
    fixes = rule_fixes(project, found)
    rule_files = work.opened.workspace.rule_files
    if dry_run:
        return preview_fixes(work.service, rule_files(), fixes)
    return apply_fixes(work.service, rule_files, fixes)


def _show(out: Output, found: Sequence[LintFinding], files: int, form: str, outcome: FixOutcome) -> None:
    """Print findings in a format; as text the lines that files gained and lost come before them."""
    for note in outcome.notes:
        out.warn(note)
    if form == "json":
        fixed = [
            FixedFile(one.file, tuple(changed_lines(one.file, one.before, one.after)), one.refused)
            for one in outcome.written
        ]
        out.json(lint_report(found, files, fixed))
    elif form == "sarif":
        from workbench.rules.lint.findings import sarif_log

        out.json(sarif_log(found))
    else:
        show_written(out, outcome.written)
        for line in _lines(out, found):
            out.paint(line)


def _is_wanted(file: str, wanted: Sequence[str]) -> bool:
    return not wanted or any(not place or file == place or file.startswith(f"{place}/") for place in wanted)


def _lines(out: Output, found: Sequence[LintFinding]) -> Iterator[str]:
    for one in found:
        place = visible_line(one.file) + (f":{one.line}" if one.line else "")
        severity = out.style(f"{one.severity}", _COLORS[one.severity])
        yield f"{out.style(place, '1')}  {severity}  {visible_line(one.message)}  [{one.kind}]"
        yield f"    {visible_line(one.step)}"


def _summary(found: Sequence[LintFinding], files: int) -> str:
    looked = plural(files, "rule file")
    if not found:
        return f"{looked}: nothing found"
    counts = (plural(number, severity) for severity, number in count_severities(found).items() if number)
    return f"{looked}: {', '.join(counts)}"
