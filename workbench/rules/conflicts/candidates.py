"""Which pairs of rules are worth comparing: a few for each, never all.

Four sources: statements that agree once values and denials are left out (tools of one job, numbers of one
unit, words that oppose each other count as equal), term sets that MinHash finds similar, rules whose rarest
term another one shares, and neighbours in an index of vectors.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from workbench.comparison.contrast import PLACING
from workbench.comparison.similarity import MOST_PARTNERS, buckets, similar_pairs, window
from workbench.comparison.statements import Statement, measured
from workbench.comparison.tokens import LIGHT
from workbench.comparison.vocabulary import antonym_groups, choices_of, implied_terms, named_things
from workbench.rules.conflicts.reading import Reading

if TYPE_CHECKING:
    from workbench.ports import Float32, VectorIndex

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
            for key in _keys(statement):
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
    places: Sequence[int], vectors: Float32, index: VectorIndex, least: float
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


def _keys(statement: Statement) -> set[int]:
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
    if implied := measured(statement):
        yield (plain | statement.label) - implied
    if len(statement.choices) == 1 and positions:
        for thing in (terms | statement.label) & named_things():
            yield frozenset({thing, "=name"})
    if statement.rejected:
        yield frozenset({*statement.rejected, *terms, *statement.choices} - LIGHT) | {"-"}


@lru_cache(maxsize=262_144)
def _hash(text: str) -> int:
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little")
