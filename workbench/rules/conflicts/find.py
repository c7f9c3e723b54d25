"""Finds the conflicts among many rules without comparing all pairs.

Equal texts are grouped first and only one of each group is compared with others, so that a text that stands
in a hundred files gives a hundred duplicates but each contradiction once.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Final

from workbench.records.conflicts import Conflict, conflict_id
from workbench.records.rules import Rule
from workbench.rules.conflicts.candidates import (
    by_rare_terms,
    by_subject,
    by_terms,
    by_vectors,
    without_series,
)
from workbench.rules.conflicts.compare import compare, differing_words
from workbench.rules.conflicts.reading import Reading, read_rule
from workbench.rules.conflicts.scopes import reaches_overlap
from workbench.rules.conflicts.suggest import suggest

if TYPE_CHECKING:
    from workbench.ports import Float32, VectorIndex

LEAST_COSINE: Final = 0.8
"""Neighbours further away than this are not compared."""

Progress = Callable[[str, int, int], None]


def find_conflicts(
    rules: Iterable[Rule],
    vectors: Float32 | None = None,
    neighbours: VectorIndex | None = None,
    *,
    changed: Collection[str] | None = None,
    progress: Progress | None = None,
) -> tuple[Conflict, ...]:
    """Return the conflicts among enabled rules, surest first, ties by id.

    `vectors` float32 [n, d] are unit vectors parallel to `rules`, `neighbours` an index of their rows;
    without them only words are compared. With `changed` only conflicts that one of those ids is part of are
    returned, the same ones as without. After a rule is removed, pass the ids of its exact duplicates: they
    may have to speak for the text now. `progress` is told (what, done, all). Ids must be distinct.
    """
    given = list(rules)
    if vectors is not None and len(vectors) != len(given):
        raise ValueError(f"{len(given)} rules have {len(vectors)} vectors")
    rows = sorted((row for row, rule in enumerate(given) if rule.enabled), key=lambda row: given[row].id)
    tell = progress or _silent
    readings: list[Reading] = []
    for row in rows:
        readings.append(read_rule(given[row]))
        if len(readings) % 1000 == 0:
            tell("reading", len(readings), len(rows))
    touched = None if changed is None else [reading.rule.id in changed for reading in readings]
    found = {pair: None for pair in _copies(readings) if _wanted(pair, touched)}
    spoken = _speakers(readings)
    for at, reading in zip(spoken, without_series([readings[at] for at in spoken]), strict=True):
        readings[at] = reading
    pairs = _candidates(readings, spoken, rows, vectors, neighbours, touched, tell)
    found.update(dict.fromkeys(pairs))
    conflicts = []
    for done, (a, b) in enumerate(found, 1):
        if reaches_overlap(readings[a].reach, readings[b].reach):
            cosine = None if vectors is None else float(vectors[rows[a]] @ vectors[rows[b]])
            conflict = judge_pair(readings[a], readings[b], cosine)
            if conflict is not None:
                conflicts.append(conflict)
        if done % 10_000 == 0:
            tell("comparing", done, len(found))
    return tuple(sorted(conflicts, key=lambda item: (-item.score, item.id)))


def judge_pair(left: Reading, right: Reading, cosine: float | None = None) -> Conflict | None:
    """Return the conflict between two rules that can be in force at once, or None; left has the lesser id."""
    if left.rule.id > right.rule.id:
        left, right = right, left
    finding = compare(left, right, None if cosine is None else round(cosine, 4))
    if finding is None:
        return None
    mine, theirs = differing_words(left, right)
    return Conflict(
        conflict_id(left.rule.id, right.rule.id),
        finding.kind,
        left.rule.id,
        right.rule.id,
        finding.score,
        finding.evidence,
        mine,
        theirs,
        finding.why,
        suggest(left, right, finding),
    )


def _copies(readings: Sequence[Reading]) -> list[tuple[int, int]]:
    """Return each rule with the first one of the same text that can be in force with it."""
    groups: dict[str, list[int]] = defaultdict(list)
    for at, reading in enumerate(readings):
        if reading.normal:
            groups[reading.normal].append(at)
    pairs = []
    for members in groups.values():
        firsts: dict[object, int] = {}
        for at in members:
            reach = readings[at].reach
            if reach not in firsts:
                other = next(
                    (first for first in firsts.values() if reaches_overlap(readings[first].reach, reach)),
                    None,
                )
                firsts[reach] = at
            else:
                other = firsts[reach]
            if other is not None:
                pairs.append((other, at))
    return pairs


def _speakers(readings: Sequence[Reading]) -> list[int]:
    """Return the first rule of each text and reach: it is compared for all its copies."""
    first: dict[object, int] = {}
    for at, reading in enumerate(readings):
        if reading.profile:
            first.setdefault((reading.normal, reading.reach), at)
    return sorted(first.values())


def _candidates(
    readings: Sequence[Reading],
    spoken: list[int],
    rows: Sequence[int],
    vectors: Float32 | None,
    neighbours: VectorIndex | None,
    touched: list[bool] | None,
    tell: Progress,
) -> list[tuple[int, int]]:
    chosen = [readings[at] for at in spoken]
    sources: list[tuple[str, Iterable[tuple[int, int]]]] = [
        ("subjects", by_subject(chosen)),
        ("terms", by_terms(chosen)),
        ("rare terms", by_rare_terms(chosen)),
    ]
    if vectors is not None and neighbours is not None:
        places = [rows[at] for at in spoken]
        sources.append(("meaning", by_vectors(places, vectors, neighbours, LEAST_COSINE)))
    found: set[tuple[int, int]] = set()
    for done, (name, pairs) in enumerate(sources, 1):
        for a, b in pairs:
            pair = (spoken[a], spoken[b])
            if _wanted(pair, touched):
                found.add(pair)
        tell(name, done, len(sources))
    return sorted(found)


def _wanted(pair: tuple[int, int], touched: list[bool] | None) -> bool:
    return touched is None or touched[pair[0]] or touched[pair[1]]


def _silent(what: str, done: int, total: int) -> None:
    """Report nothing."""
