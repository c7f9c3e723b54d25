"""Which rules a query considers at all: the business filters [adr2], with the reason for each no."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from workbench.records.rules import Activation, Rule, context_names, path_globs
from workbench.rules.globs import first_match


@dataclass(frozen=True, slots=True)
class RuleQuery:
    """What is asked. `contexts` are context names in force and `paths` the files at hand, best first.

    `contexts` None puts no limit on named scopes. `facts` are what conditions are checked against. `now` is
    in seconds since the epoch, None ignores cooldowns. `tool` '' and `project_id` None mean any.
    """

    text: str = ""
    project_id: str | None = None
    tool: str = ""
    contexts: tuple[str, ...] | None = None
    paths: tuple[str, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
    now: float | None = None


class Filters:
    """The business filters of a query; what many rules share is computed once."""

    def __init__(self, query: RuleQuery) -> None:
        self.query = query
        self.scopes: dict[tuple[str, ...], bool] = {}

    def reject(self, rule: Rule) -> str:
        """Return why a rule can't apply, or ''."""
        query = self.query
        if not rule.enabled:
            return "disabled"
        if query.project_id is not None and rule.project_id not in (None, query.project_id):
            return "belongs to another project"
        if query.tool and rule.tool_targets and query.tool not in rule.tool_targets:
            return f"is for {', '.join(rule.tool_targets)}, not for {query.tool}"
        if rule.cooldown and rule.last_used and query.now is not None:
            left = _seconds(rule.last_used) + rule.cooldown - query.now
            if left > 0:
                return f"cools down for another {left:.0f} s"
        if rule.scope:
            holds = self.scopes.get(rule.scope)
            if holds is None:
                holds = scope_holds(rule.scope, query.contexts, query.paths)
                self.scopes[rule.scope] = holds
            if not holds:
                return "its scope takes in none of the files at hand"
        failing = failing_condition(rule.conditions, query.facts)
        if failing is not None:
            return f"its condition on {failing} does not hold"
        if rule.provenance is not None and rule.provenance.activation is Activation.MANUAL:
            return "" if _named(rule, query.text) else "is used only when its file is named"
        return ""


def scope_holds(scope: tuple[str, ...], contexts: Sequence[str] | None, paths: Sequence[str]) -> bool:
    """Whether a scope takes in the context: empty is everywhere, else one entry is enough [rules].

    Context names match by equality (any, if `contexts` is None), `path:` globs by the files at hand.
    """
    if not scope:
        return True
    names, globs = context_names(scope), path_globs(scope)
    if names and (contexts is None or not set(names).isdisjoint(contexts)):
        return True
    return bool(globs) and first_match(globs, paths) is not None


def failing_condition(conditions: Mapping[str, Any], facts: Mapping[str, Any]) -> str | None:
    """Return the name of the first condition that does not hold, None if all do."""
    return next(
        (name for name, wanted in conditions.items() if not _condition_holds(name, wanted, facts)), None
    )


def _condition_holds(name: str, wanted: Any, facts: Mapping[str, Any]) -> bool:
    if name not in facts:
        return False
    fact = facts[name]
    have = set(map(str, fact)) if isinstance(fact, (list, tuple, set, frozenset)) else {str(fact)}
    choices = wanted if isinstance(wanted, (list, tuple)) else [wanted]
    return any(str(choice) in have for choice in choices)


def _named(rule: Rule, text: str) -> bool:
    """Whether a message names a manual rule's file, as agents do: `@name` or `#name`."""
    file = rule.provenance.file if rule.provenance else ""
    name = file.rpartition("/")[2].partition(".")[0].lower()
    lowered = text.lower()
    return bool(name) and (f"@{name}" in lowered or f"#{name}" in lowered)


def _seconds(moment: str) -> float:
    """Return seconds since the epoch of an ISO time; an unreadable one is long ago."""
    try:
        return datetime.fromisoformat(moment.replace("Z", "+00:00")).timestamp()
    except ValueError:
        return float("-inf")
