"""Rules shown: which there are, where they come from, and which a task calls for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from workbench.entry.cli.frame import command, current
from workbench.entry.cli.plan_commands import read_task
from workbench.entry.cli.session import Session, session
from workbench.errors import UsageError
from workbench.records.rules import Rule
from workbench.suggest import did_you_mean

_WIDTH = 72
_PREFIX = 13  # of an id: `rule-` and eight digits tell rules of a project apart


@command(
    name="list", examples=("workbench rules list", 'workbench rules list --json | jq -r ".rules[].rule"')
)
@click.option("--file", "file", metavar="PATH", help="Only rules of this file.")
def list_(file: str | None) -> None:
    """List the rules in force, by file and line."""
    with session("rules") as work:
        work.told.synced(work.opened.workspace.sync(progress=work.progress))
    book = work.opened.workspace.rulebook
    found = sorted(
        (rule for rule in book.rules if file is None or (rule.provenance and rule.provenance.file == file)),
        key=_place,
    )
    out = work.here.out
    if work.here.flags.json:
        out.json({"rules": found, "warnings": list(book.warnings)})
        return
    for rule in found:
        out.painted(
            f"{out.style(rule.id[:_PREFIX], '2')}  {_mark(rule)}  {out.style(origin(rule), '36')}  "
            f"{out.style(_short(rule.rule), '0')}"
        )
    if not found:
        out.say("no rules: there is no CLAUDE.md, AGENTS.md or other rule file here")
    for warning in book.warnings:
        out.warn(warning)


@command(examples=('workbench rules match "add a migration"', 'workbench rules match "fix the login" --json'))
@click.argument("task", nargs=-1)
@click.option("--stdin", "from_stdin", is_flag=True, help="Read the task from stdin (also: TASK -).")
@click.option("--all", "rejected", is_flag=True, help="Also say why the others do not match.")
def match(task: Sequence[str], from_stdin: bool, rejected: bool) -> None:
    """Show which rules a task calls for, with the parts of their scores.

    A plan also takes absolute rules and rules of the files it shows; these here answer to the words.
    """
    from workbench.plan.pipeline import match_task, rank

    text = read_task(current(), task, from_stdin)
    with session("rules") as work:
        opened = work.opened
        ranking = rank(opened.workspace, opened.planner, text, progress=work.progress)
        work.told.synced(ranking.synced)
        _, report = match_task(opened.workspace, opened.planner, text, ranking)
        work.told.candidates = len(opened.workspace.rulebook.rules)
    out = work.here.out
    if work.here.flags.json:
        out.json(
            {
                "matches": [
                    {
                        "id": found.rule.id,
                        "origin": origin(found.rule),
                        "rule": found.rule.rule,
                        "final": found.final,
                        "relevance": found.relevance,
                        "vector": found.vector,
                        "bm25": found.bm25,
                        "priority": found.priority,
                        "scope": found.scope,
                        "why": found.why,
                    }
                    for found in report.matches
                ],
                "rejected": [{"id": identifier, "reason": reason} for identifier, reason in report.rejected],
            }
        )
        return
    for found in report.matches:
        out.painted(
            f"{found.final:.3f}  {out.style(origin(found.rule), '36')}  "
            f"{out.style(_short(found.rule.rule), '0')}\n       {out.style(found.why, '2')}"
        )
    if not report.matches:
        out.say(f"none of {len(opened.workspace.rulebook.rules):,} rules answers to this task")
    if rejected:
        by_id = {rule.id: rule for rule in opened.workspace.rulebook.rules}
        for identifier, reason in report.rejected:
            out.data(f"    -  {origin(by_id[identifier])}: {reason}")


@command(examples=("workbench rules show rule-1f0c2a9b", "workbench rules show rule-1f0c2a9b --json"))
@click.argument("identifier", metavar="ID")
def show(identifier: str) -> None:
    """Show one rule whole: its text, where it stands and when it holds. The beginning of its id is enough."""
    with session("rules") as work:
        work.told.synced(work.opened.workspace.sync(progress=work.progress))
    rule = find_rule(work, identifier)
    if work.here.flags.json:
        work.here.out.json(rule)
        return
    for name, text in _details(rule):
        work.here.out.data(f"{name:<11} {text}")
    work.here.out.data(f"\n{rule.rule}")


def find_rule(work: Session, identifier: str) -> Rule:
    """Return the rule whose id begins with the text given. Raises UsageError for none or several."""
    known = work.opened.workspace.rulebook.rules
    wanted = identifier if identifier.startswith("rule-") else f"rule-{identifier}"
    found = [rule for rule in known if rule.id in (identifier, wanted)] or [
        rule for rule in known if rule.id.startswith((identifier, wanted))
    ]
    if len(found) == 1:
        return found[0]
    if found:
        raise UsageError(
            f"{len(found)} rules begin with {identifier}", hint="Give more digits: workbench rules list."
        )
    ids = (rule.id[:_PREFIX] for rule in known)
    hint = did_you_mean(wanted, ids, "`workbench rules list` shows all of them.")
    raise UsageError(f"there is no rule {identifier}", hint=hint)


def origin(rule: Rule) -> str:
    """Return where a rule stands: `CLAUDE.md:12`, or its source."""
    return rule.source if rule.provenance is None else f"{rule.provenance.file}:{rule.provenance.line}"


def _place(rule: Rule) -> tuple[Any, ...]:
    if rule.provenance is None:
        return (1, rule.source, 0, rule.id)
    return (0, rule.provenance.file, rule.provenance.line, rule.id)


def _mark(rule: Rule) -> str:
    state = str(rule.authority) if rule.enabled else "disabled"
    return f"{state:<8}"


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _WIDTH else line[: _WIDTH - 1] + "…"


def _details(rule: Rule) -> list[tuple[str, str]]:
    lines = [("id", rule.id), ("origin", origin(rule))]
    if rule.provenance is not None:
        section = " > ".join(rule.provenance.section)
        lines += [("section", section)] if section else []
        lines.append(("holds", str(rule.provenance.activation)))
    lines += [
        ("authority", str(rule.authority)),
        ("category", str(rule.category)),
        ("priority", str(rule.priority)),
        ("tokens", str(rule.token_cost)),
    ]
    if rule.scope:
        lines.append(("scope", ", ".join(rule.scope)))
    if rule.tags:
        lines.append(("tags", ", ".join(rule.tags)))
    return lines
