"""Versions of a rule: what a change of content makes new, and what it keeps [rules, Rule Versioning].

A rule whose words change is a new rule with the next version number, which names the old one in `replaces`
and has the way there in `metadata["version_history"]`. Circles of replacements are found.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from workbench.records.rules import HISTORY as HISTORY
from workbench.records.rules import Rule, rule_id
from workbench.records.rules import past_ids as past_ids

CONTENT: Final = frozenset({"rule", "condition_text", "action_text"})
"""The fields whose change makes a new version; all others change in place."""

DERIVED: Final = ("authority", "priority", "category", "scope", "tags", "level", "condition_text")
"""What an import reads out of a file and a person may decide otherwise."""

AS_IMPORTED: Final = "as_imported"
"""The key of `metadata` with what an import decided, so that decisions of people are known from it."""

ORDERS: Final = "orders_assistant"
"""The key of `metadata` with the patterns by which a rule of a file orders the assistant about, not the work.

Such a rule is out of force until a person enables it as it is worded.
"""

PROPOSED: Final = "proposed_examples"
"""The key of `metadata` with messages that a language model proposed as the rule was added."""

MANAGED: Final = "managed"
"""The key of `metadata` that is true of a rule read from a part of a file that the workbench wrote."""


def next_version(before: Rule, after: Rule, *, reason: str, now: str) -> Rule:
    """Return `after`, which has an id of its own, as the version that follows `before`."""
    history = before.metadata.get(HISTORY) or [_history_entry(before, "initial version")]
    metadata = {
        **after.metadata,
        HISTORY: [*history, _history_entry(replace(after, version=before.version + 1), reason, now)],
    }
    return replace(
        after,
        version=before.version + 1,
        replaces=(before.id,),
        created_at=before.created_at or now,
        updated_at=now,
        metadata=metadata,
    )


def carried_over(before: Rule, imported: Rule) -> Rule:
    """Return a newly imported rule under the known one's id, with what was curated on that or counted."""
    last, now = before.metadata.get(AS_IMPORTED), derived_values(before)
    kept: dict[str, Any] = {
        name: getattr(before, name)
        for name in now
        if last is None or (name in last and last[name] != now[name])  # None: a rule made by hand
    }
    from workbench.text.prose import short_name  # plans import this module for its names

    if before.name != short_name(before.action_text):
        kept["name"] = before.name  # somebody gave it one
    metadata = dict(imported.metadata)
    metadata |= {name: before.metadata[name] for name in (HISTORY, PROPOSED) if name in before.metadata}
    return replace(
        imported,
        **kept,
        id=before.id,
        metadata=metadata,
        tool_targets=before.tool_targets or imported.tool_targets,
        conditions=before.conditions or imported.conditions,
        enabled=is_enabled_as(before, imported),
        cooldown=before.cooldown,
        examples=before.examples,
        check=before.check,
        usage_count=before.usage_count,
        last_used=before.last_used,
        created_at=before.created_at,
        updated_at=imported.created_at,
        version=before.version,
        replaces=before.replaces,
    )


def is_enabled_as(before: Rule, imported: Rule) -> bool:
    """Whether a known rule is in force as a file words it now.

    What orders the assistant about is, where a person enabled these very words; other words are again.
    """
    if ORDERS in imported.metadata:
        return before.enabled and ORDERS in before.metadata and before.rule == imported.rule
    return before.enabled or ORDERS in before.metadata


def is_held_back(rule: Rule) -> bool:
    """Whether a rule is out of force because it orders the assistant about."""
    return not rule.enabled and ORDERS in rule.metadata


def with_words(ours: Rule, theirs: Rule) -> Rule:
    """Return our rule saying what another one does; everything else that is decided of it stays."""
    metadata = {key: value for key, value in ours.metadata.items() if key != ORDERS}
    if ORDERS in theirs.metadata:
        metadata[ORDERS] = theirs.metadata[ORDERS]
    return replace(
        ours,
        enabled=is_enabled_as(ours, theirs),
        metadata=metadata,
        rule=theirs.rule,
        action_text=theirs.action_text,
        name=theirs.name,
        token_cost=theirs.token_cost,
    )


def as_decided(ours: Rule, imported: Rule) -> Rule:
    """Return our rule as a file that got its words is read: every field that a person sees stays."""
    read = carried_over(ours, imported)
    decided = {name: getattr(ours, name) for name in ("name", "enabled", *derived_values(ours))}
    return replace(read, **decided)


def derived_values(rule: Rule) -> dict[str, Any]:
    """Return the values of the derived fields as a journal keeps them."""
    values = {name: getattr(rule, name) for name in DERIVED}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}


def free_id(owner: str, file: str, text: str, taken: Container[str]) -> str:
    """Return an id for a text that no rule ever had."""
    number = 0
    while (identifier := rule_id(owner, file, text, number)) in taken:
        number += 1
    return identifier


def _history_entry(rule: Rule, reason: str, now: str = "") -> dict[str, Any]:
    return {
        "version": rule.version,
        "rule_id": rule.id,
        "created_at": now or rule.created_at,
        "reason": reason,
    }


def replacement_cycles(rules: Iterable[Rule]) -> tuple[tuple[str, ...], ...]:
    """Return the circles among the rules' `replaces`, each as ids from its least one on, in order.

    Rules that share circles are one entry: all ids that replace each other through some path. Ids of rules
    that are not given lead nowhere. Takes time in proportion to rules and links (Kosaraju), without
    recursion.
    """
    links = {rule.id: rule.replaces for rule in rules}
    links = {one: tuple(other for other in others if other in links) for one, others in links.items()}
    found = [group for group in _components(links) if len(group) > 1 or group[0] in links[group[0]]]
    return tuple(sorted(_around(sorted(group), links) for group in found))


def _around(group: list[str], links: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """Return a group's ids along its links from the least on; what a walk does not reach follows, sorted."""
    inside = set(group)
    walk = [group[0]]
    seen = {group[0]}
    while True:
        step = next(
            (other for other in sorted(links[walk[-1]]) if other in inside and other not in seen), None
        )
        if step is None:
            return (*walk, *(one for one in group if one not in seen))
        walk.append(step)
        seen.add(step)


def _components(links: Mapping[str, Sequence[str]]) -> list[list[str]]:
    """Return the strongly connected components of a graph in which every target is a node."""
    back: dict[str, list[str]] = {link: [] for link in links}
    for one, others in links.items():
        for other in others:
            back[other].append(one)
    seen: set[str] = set()
    order = [node for root in links for node in _walk(root, links, seen)]
    seen = set()
    return [group for root in reversed(order) if (group := _walk(root, back, seen))]


def _walk(root: str, links: Mapping[str, Sequence[str]], seen: set[str]) -> list[str]:
    """Return the nodes that a walk from a root adds to those seen, each after the ones it leads to."""
    found: list[str] = []
    todo = [] if root in seen else [(root, iter(links[root]))]
    seen.add(root)
    while todo:
        node, targets = todo[-1]
        target = next((target for target in targets if target not in seen), None)
        if target is None:
            found.append(node)
            todo.pop()
        else:
            seen.add(target)
            todo.append((target, iter(links[target])))
    return found
