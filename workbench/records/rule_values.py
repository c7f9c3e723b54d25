"""What a rule's values say by themselves: whether they are sound, and which versions came before it.

For the engine, which refuses unsound rules, and for the store, whose tables must agree with it.
"""

from __future__ import annotations

from typing import Final

from workbench.records.rules import Rule

HISTORY: Final = "version_history"
"""The key of `metadata` that lists the versions of a rule, oldest first."""


def value_problems(rule: Rule) -> tuple[str, ...]:
    """Return what is wrong with a rule's values, its check aside, one sentence each; empty for a good one."""
    found = []
    if not rule.id.strip():
        found.append("id is empty")
    if not rule.rule.strip():
        found.append("rule is empty")
    if not 0 <= rule.priority <= 100:
        found.append(f"priority {rule.priority} is outside 0 to 100")
    found.extend(
        f"{name} {value} is negative"
        for name, value in (
            ("token_cost", rule.token_cost),
            ("usage_count", rule.usage_count),
            ("cooldown", rule.cooldown),
        )
        if value < 0
    )
    if rule.version < 1:
        found.append(f"version {rule.version} is below 1")
    if rule.id in rule.replaces:
        found.append("it replaces itself")
    return tuple(found)


def past_ids(rule: Rule) -> tuple[str, ...]:
    """Return the ids of a rule's earlier versions, oldest first, without its own."""
    history = rule.metadata.get(HISTORY)
    entries = history if isinstance(history, (list, tuple)) else ()
    told = [str(item.get("rule_id", "")) for item in entries if isinstance(item, dict)]
    return tuple(dict.fromkeys(found for found in (*told, *rule.replaces) if found and found != rule.id))
