"""Whether a tool call may run, by the rules in force. A hook waits for it, so little is imported."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.entry.project import work_state
from workbench.entry.services.rules import load_stored_rules
from workbench.records.dataclass import dataclass
from workbench.records.rules import Rule, context_names

if TYPE_CHECKING:
    from workbench.config import Config
    from workbench.records.answers.rules import CheckResponse
    from workbench.rules.enforcement.checks import Verdict
    from workbench.rules.ruleset import RuleSet


@dataclass(frozen=True, slots=True)
class ToolCallContext:
    """Where a call runs and what is known of the work: its agent, contexts, facts, scenario and step."""

    cwd: str = ""
    agent: str = ""
    contexts: Sequence[str] = ()
    facts: Mapping[str, Sequence[str]] = field(default_factory=dict)
    scenario: str = ""
    step: str = ""


def current_rules(start: Path, config: Config) -> tuple[RuleSet, tuple[str, ...]]:
    """Return the rules in force and notes; only what changed is read again. Raises: WorkbenchError."""
    rules = load_stored_rules(start, config)
    if rules is not None:
        return rules, ()
    from workbench.entry.project import open_workspace

    book, notes = open_workspace(start, config).workspace.sync_rules()
    return book.rules, notes


def check_tool_call(
    start: Path, rules: Sequence[Rule], tool: str, given: object, known: ToolCallContext
) -> Verdict:
    """Return the verdict of rules on the call of a tool; `given` is its decoded input. Nothing is run.

    git is asked where a rule with a check is limited to what it knows. Raises: UsageError if the input is
    no object.
    """
    from workbench.rules.enforcement.calls import parse_call
    from workbench.rules.enforcement.checks import check_call
    from workbench.rules.matching.context import make_context

    cwd, home = os.path.abspath(known.cwd or os.getcwd()), os.path.expanduser("~")
    call = parse_call(tool, given, cwd=cwd, root=str(start), home=home, agent=known.agent)
    limited = any(rule.check and (rule.conditions or context_names(rule.scope)) for rule in rules)
    head, changed = work_state(start) if limited else (None, None)
    context = make_context(
        head=head,
        changed=changed,
        tool=known.agent,
        contexts=known.contexts,
        facts=known.facts,
        scenario=known.scenario,
        step=known.step,
    )
    return check_call(rules, call, context=context)


def origin_of(rule: Rule) -> str:
    """Return the file and line of a rule, else its source."""
    return rule.source if rule.provenance is None else f"{rule.provenance.file}:{rule.provenance.line}"


def check_response(verdict: Verdict) -> CheckResponse:
    """Return a verdict as it is published."""
    from workbench.records.answers.rules import BrokenRule, CheckResponse, DecidingRule

    rule = verdict.rule
    return CheckResponse(
        decision=verdict.decision,
        rule=None if rule is None else DecidingRule(rule.id, origin_of(rule)),
        why=verdict.why,
        breaches=tuple(
            BrokenRule.of(breach, id=breach.rule.id, origin=origin_of(breach.rule), rule=breach.rule.rule)
            for breach in verdict.breaches
        ),
        notes=verdict.notes,
    )
