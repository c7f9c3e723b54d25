"""Circles in what replaces what: a rule that, step by step, replaces itself has no first version.

Whoever takes rules in from outside asks here first, and whoever mends a store is told which links to cut.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from workbench.records.rules import Rule


def replacement_cycles(rules: Iterable[Rule]) -> tuple[tuple[str, ...], ...]:
    """Return the circles among the rules' `replaces`, each as ids from its least one on, in order.

    Rules that share circles are one entry: all ids that replace each other through some path. Ids of rules
    that are not given lead nowhere. Takes time in proportion to rules and links (Tarjan 1972), without
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


def _components(links: Mapping[str, tuple[str, ...]]) -> list[list[str]]:
    """Return the strongly connected components of a graph in which every target is a node."""
    order: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    open_nodes: set[str] = set()
    found: list[list[str]] = []
    for root in links:
        todo = [] if root in order else [(root, iter(links[root]))]
        if todo:
            order[root] = low[root] = len(order)
            stack.append(root)
            open_nodes.add(root)
        while todo:
            node, targets = todo[-1]
            target = next(targets, None)
            if target is None:
                todo.pop()
                if todo:
                    low[todo[-1][0]] = min(low[todo[-1][0]], low[node])
                if low[node] == order[node]:
                    found.append(_taken(stack, open_nodes, node))
            elif target not in order:
                order[target] = low[target] = len(order)
                stack.append(target)
                open_nodes.add(target)
                todo.append((target, iter(links[target])))
            elif target in open_nodes:
                low[node] = min(low[node], order[target])
    return found


def _taken(stack: list[str], open_nodes: set[str], node: str) -> list[str]:
    """Return what lies on the stack down to a node, taken off."""
    group = [stack.pop()]
    while group[-1] != node:
        group.append(stack.pop())
    open_nodes.difference_update(group)
    return group
