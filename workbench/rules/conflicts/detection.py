"""Finds the conflicts among many rules without comparing all pairs.

Equal texts are grouped first and only one of each group is compared with others, so that a text that stands
in a hundred files gives a hundred duplicates but each contradiction once.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from workbench.comparison.contrast import PLACING, without_case
from workbench.comparison.similarity import MOST_PARTNERS, buckets, similar_pairs, window
from workbench.comparison.statements import Statement, measured_terms
from workbench.comparison.tokens import LIGHT
from workbench.comparison.vocabulary import antonym_groups, choices_of, implied_terms, named_things
from workbench.records.conflicts import Conflict, conflict_id
from workbench.records.rules import Rule
from workbench.rules.conflicts.compare import compare, differing_words
from workbench.rules.conflicts.readings import Reading, reaches_overlap, read_rule
from workbench.rules.conflicts.suggestions import suggest
from workbench.text.postings import term_hash

if TYPE_CHECKING:
    from workbench.ports import Float32, Neighbours


MOST_SHARING: Final = 200
"""Rules that share a rule's rarest term; of more than this many none is looked at for that reason."""

NEIGHBOURS: Final = 8

MOST_VARIANTS: Final = 12
"""Values that one subject may have among all rules; more are the items of a list ("Return 401 …", "Return
404 …"), which nobody means to contradict each other."""

_MASK: Final = (1 << 64) - 1
_LONG: Final = 5  # subjects of this many terms may differ in one
_MOST_TERMS: Final = 24


def without_series(readings: Sequence[Reading]) -> list[Reading]:
    """Return the readings without claims whose subject has very many values: cases, not opposites."""
    variants: dict[int, set[int]] = defaultdict(set)
    subjects = [[_subject(claim) for claim in reading.claims] for reading in readings]
    for reading, keys in zip(readings, subjects, strict=True):
        for claim, key in zip(reading.claims, keys, strict=True):
            if len(variants[key]) <= MOST_VARIANTS:
                variants[key].add(_hash(repr(_variant(claim))))
    crowded = {key for key, values in variants.items() if len(values) > MOST_VARIANTS}
    if not crowded:
        return list(readings)
    return [
        replace(
            reading,
            claims=tuple(one for one, key in zip(reading.claims, keys, strict=True) if key not in crowded),
        )
        for reading, keys in zip(readings, subjects, strict=True)
    ]


def _subject(statement: Statement) -> int:
    """Return the key of a statement's whole subject."""
    return sum(_hash(term) for term in next(_skeletons(statement))) & _MASK


def by_subject(readings: Sequence[Reading]) -> Iterator[tuple[int, int]]:
    """Yield pairs with statements of the same subject that differ in what they say about it."""
    import numpy as np

    keys: list[int] = []
    rows: list[int] = []
    variants: list[int] = []
    for row, reading in enumerate(readings):
        for statement in reading.claims:
            variant = _hash(repr(_variant(statement)))
            for key in _subject_keys(statement):
                keys.append(key)
                rows.append(row)
                variants.append(variant)
    places = np.arange(len(rows), dtype=np.int64)
    for bucket in buckets(np.asarray(keys, np.uint64), places):
        if len({variants[place] for place in bucket}) > 1:
            yield from _across(bucket, rows, variants)


def _across(bucket: list[int], rows: list[int], variants: list[int]) -> Iterator[tuple[int, int]]:
    """Yield pairs of a bucket's rows whose variants differ; in large buckets only some of each variant."""
    if len(bucket) <= MOST_PARTNERS:
        pairs = window(bucket)
        yield from (
            (min(rows[a], rows[b]), max(rows[a], rows[b]))
            for a, b in pairs
            if variants[a] != variants[b] and rows[a] != rows[b]
        )
        return
    groups: dict[int, list[int]] = defaultdict(list)
    for place in bucket:
        groups[variants[place]].append(rows[place])
    few = [members[:MOST_PARTNERS] for _, members in sorted(groups.items(), key=lambda item: item[1])]
    for at, members in enumerate(few[:MOST_PARTNERS]):
        for others in few[at + 1 : MOST_PARTNERS]:
            for first, second in zip(members, others, strict=False):
                if first != second:
                    yield min(first, second), max(first, second)


def by_terms(readings: Sequence[Reading]) -> Iterator[tuple[int, int]]:
    """Yield pairs whose sets of terms are similar."""
    return similar_pairs([reading.profile for reading in readings])


def by_rare_terms(readings: Sequence[Reading]) -> Iterator[tuple[int, int]]:
    """Yield pairs of a short rule and one that has all its terms."""
    counts = Counter(term for reading in readings for term in reading.profile)
    holders: dict[str, list[int]] = defaultdict(list)
    for row, reading in enumerate(readings):
        for term in reading.profile:
            holders[term].append(row)
    for row, reading in enumerate(readings):
        if not 2 <= len(reading.profile) <= 12:
            continue
        rarest = min(reading.profile, key=lambda term: (counts[term], term))
        if counts[rarest] > MOST_SHARING:
            continue
        for other in holders[rarest]:
            if other != row and reading.profile <= readings[other].profile:
                yield min(row, other), max(row, other)


def by_vectors(
    places: Sequence[int], vectors: Float32, index: Neighbours, least: float
) -> Iterator[tuple[int, int]]:
    """Yield pairs of positions in `places` whose vectors are near; `index` holds the rows of `vectors`."""
    import numpy as np

    known = {row: place for place, row in enumerate(places)}
    allowed = np.asarray(places, np.int64) if len(places) < len(vectors) else None
    for place, row in enumerate(places):
        ids, similarities = index.search(vectors[row], NEIGHBOURS + 1, allowed)
        for other, similarity in zip(ids.tolist(), similarities.tolist(), strict=True):
            if similarity >= least and other != row and other in known:
                yield min(place, known[other]), max(place, known[other])


def _variant(statement: Statement) -> tuple[object, ...]:
    """Return what a statement says about its subject."""
    groups = antonym_groups()
    return (
        statement.negated,
        tuple(sorted(statement.choices)),
        tuple((item.unit, item.value, item.bound) for item in statement.quantities),
        statement.paths,
        statement.rejected,
        tuple(sorted(term for term in statement.terms if term in groups)),
        statement.ordered,
    )


def _subject_keys(statement: Statement) -> set[int]:
    """Return the keys under which statements of one subject meet."""
    found: set[int] = set()
    for skeleton in _skeletons(statement):
        hashes = [_hash(term) for term in skeleton]
        if not hashes or len(hashes) > _MOST_TERMS:
            continue
        total = sum(hashes) & _MASK
        found.add(total)
        if len(hashes) >= _LONG:
            found.update((total - one) & _MASK for one in hashes)
    return found


def _skeletons(statement: Statement) -> Iterator[frozenset[str]]:
    """Yield a statement's subject with class names in place of what may differ, once a reading."""
    terms = statement.subject - LIGHT
    groups, known = antonym_groups(), choices_of()
    units = {f"#{item.unit}" for item in statement.quantities if item.unit != "space"}
    places = {"/"} if statement.paths else set()
    plain = frozenset({f"~{groups[term]}" if term in groups else term for term in terms} | units | places)
    positions = {at for name in statement.choices for at in known[name]}
    if not positions:
        yield plain
        if statement.label:
            yield plain | (statement.label - LIGHT)
    for at in sorted(positions):
        yield (plain - implied_terms()[at]) | {f"={at}"}
    if statement.paths:
        yield plain - PLACING
    if implied := measured_terms(statement):
        yield (plain | statement.label) - implied
    if len(statement.choices) == 1 and positions:
        for thing in (terms | statement.label) & named_things():
            yield frozenset({thing, "=name"})
    if (wider := without_case(statement)) is not None:
        yield from _skeletons(wider)
    if statement.rejected:
        yield frozenset({*statement.rejected, *terms, *statement.choices} - LIGHT) | {"-"}


_hash = lru_cache(maxsize=262_144)(term_hash)


LEAST_COSINE: Final = 0.8
"""Neighbours further away than this are not compared."""

Progress = Callable[[str, int, int], None]


def find_conflicts(
    rules: Iterable[Rule],
    vectors: Float32 | None = None,
    neighbours: Neighbours | None = None,
    *,
    changed: Collection[str] | None = None,
    progress: Progress | None = None,
) -> tuple[Conflict, ...]:
    """Return the conflicts among enabled rules, surest first, ties by id.

    `vectors` float32 [n, d] are unit vectors parallel to `rules`, `neighbours` an index of their rows;
    without them only words are compared. With `changed` only conflicts that one of those ids is part of are
    returned, the same ones as without. After a rule is removed, pass the ids of its exact duplicates: they
    may have to speak for the text now. `progress` is called with (what, done, all). Ids must be distinct.
    """
    given = list(rules)
    if vectors is not None and len(vectors) != len(given):
        raise ValueError(f"{len(given)} rules have {len(vectors)} vectors")
    rows = sorted((row for row, rule in enumerate(given) if rule.enabled), key=lambda row: given[row].id)
    report = progress or _silent
    readings: list[Reading] = []
    for row in rows:
        readings.append(read_rule(given[row]))
        if len(readings) % 1000 == 0:
            report("reading", len(readings), len(rows))
    touched = None if changed is None else [reading.rule.id in changed for reading in readings]
    found = {pair: None for pair in _copies(readings) if _is_wanted(pair, touched)}
    spoken = _speakers(readings)
    for at, reading in zip(spoken, without_series([readings[at] for at in spoken]), strict=True):
        readings[at] = reading
    pairs = _candidates(readings, spoken, rows, vectors, neighbours, touched, report)
    found.update(dict.fromkeys(pairs))
    conflicts = []
    for done, (a, b) in enumerate(found, 1):
        if reaches_overlap(readings[a].reach, readings[b].reach):
            cosine = None if vectors is None else float(vectors[rows[a]] @ vectors[rows[b]])
            conflict = judge_pair(readings[a], readings[b], cosine)
            if conflict is not None:
                conflicts.append(conflict)
        if done % 10_000 == 0:
            report("comparing", done, len(found))
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
    neighbours: Neighbours | None,
    touched: list[bool] | None,
    report: Progress,
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
            if _is_wanted(pair, touched):
                found.add(pair)
        report(name, done, len(sources))
    return sorted(found)


def _is_wanted(pair: tuple[int, int], touched: list[bool] | None) -> bool:
    return touched is None or touched[pair[0]] or touched[pair[1]]


def _silent(what: str, done: int, total: int) -> None:
    """Report nothing."""
