"""Ways through graphs that are given by what each node leads to."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

Steps = Callable[[Any], Iterator[tuple[Any, int]]]
"""What yields the nodes that a node leads to, each with the letter of the step."""


def find_way(begin: Any, end: Any, steps: Steps) -> list[int] | None:
    """Return the letters of the shortest way between two nodes, None if there is none."""
    if begin == end:
        return []
    met = search([begin], end.__eq__, steps)
    return None if met is None else met[2]


def search(
    begin: list[Any], is_found: Callable[[Any], bool], steps: Steps
) -> tuple[Any, Any, list[int]] | None:
    """Return where the shortest way to what is looked for begins and ends, and its letters."""
    came: dict[Any, tuple[Any, int] | None] = dict.fromkeys(begin)
    queue = deque(begin)
    while queue:
        now = queue.popleft()
        for after, letter in steps(now):
            if is_found(after):
                letters = [letter]
                while (back := came[now]) is not None:
                    now = back[0]
                    letters.append(back[1])
                return now, after, letters[::-1]
            if after not in came:
                came[after] = now, letter
                queue.append(after)
    return None


def components(leads: Mapping[Any, Iterable[Any]]) -> dict[Any, int]:
    """Return the number of the strongly connected component of each node (Tarjan, without recursion)."""
    order: dict[Any, int] = {}
    low: dict[Any, int] = {}
    found: dict[Any, int] = {}
    stack: list[Any] = []
    count = 0
    for root in leads:
        if root in order:
            continue
        work = [(root, iter(leads[root]))]
        order[root] = low[root] = len(order)
        stack.append(root)
        while work:
            node, rest = work[-1]
            for target in rest:
                if target not in leads:
                    continue
                if target not in order:
                    order[target] = low[target] = len(order)
                    stack.append(target)
                    work.append((target, iter(leads[target])))
                    break
                if target not in found:
                    low[node] = min(low[node], order[target])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == order[node]:
                    while node not in found:
                        found[stack.pop()] = count
                    count += 1
    return found
