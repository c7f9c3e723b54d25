"""Which words a message shares with rules, and how much that says, with nothing heavy imported.

Evidence is counted in information: the idf of the shared terms, in units of what it takes to single out one
rule of all, ln(1 + n). It is absolute, where a score divided by the message's best would give the best match
full marks whatever it shares. Ideas: BM25's saturation (a term in several examples counts more, but not as
often) and its length pivot, mild because rules are short.
"""

from __future__ import annotations

import hashlib
import math
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from workbench.records.rules import Rule
from workbench.rules.matching.calibration import WordNumbers, load_match_model
from workbench.text.terms import count_terms, word_terms, words_of

Float64 = NDArray[np.float64]

_ARRAYS = ("count", "texts", "terms", "starts", "rules", "repeats", "weights")
_DECIMALS = 6
_ENOUGH = 20  # texts that tell which terms are common
_LONG = 12  # terms


@dataclass(frozen=True, slots=True, eq=False)
class RuleWords:
    """The terms of rules as postings.

    `count` are rules, `texts` what they say and all of their examples. `terms` uint64 [t] are sorted hashes;
    `rules` int32 [p], `repeats` uint32 [p] (in how many of a rule's parts the term is) and `weights` float32
    [p] hold the rules with term `i` from `starts[i]` to `starts[i + 1]`, ascending.
    """

    count: int
    texts: int
    terms: NDArray[np.uint64]
    starts: NDArray[np.int64]
    rules: NDArray[np.int32]
    repeats: NDArray[np.uint32]
    weights: NDArray[np.float32]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RuleWords) and all(
            np.array_equal(getattr(self, name), getattr(other, name)) for name in _ARRAYS
        )

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True, slots=True)
class _Postings:
    """Terms of rules in any order: their hashes, whose they are, in how many of a rule's parts."""

    terms: NDArray[np.uint64]
    rules: NDArray[np.int32]
    repeats: NDArray[np.uint32]


def index_words(rules: Sequence[Rule], numbers: WordNumbers | None = None) -> RuleWords:
    """Return the terms of rules: of what they say, and of each example message."""
    return _weigh(_count(rules, range(len(rules))), len(rules), _texts_of(rules), numbers)


def update_words(
    words: RuleWords, before: Sequence[Rule], rules: Sequence[Rule], numbers: WordNumbers | None = None
) -> RuleWords:
    """Return what `index_words` does of rules, given the words of those before: only new texts are read."""
    places = {rule.id: place for place, rule in enumerate(before)}
    moved = np.full(len(before), -1, np.int32)
    fresh = []
    for place, rule in enumerate(rules):
        old = places.get(rule.id)
        if old is not None and (before[old] is rule or _texts(before[old]) == _texts(rule)):
            moved[old] = place
        else:
            fresh.append(place)
    added = {place: rules[place] for place in fresh}
    gone = [before[place] for place in np.flatnonzero(moved < 0).tolist()]
    return move_words(words, moved, added, len(rules), gone, numbers)


def move_words(
    words: RuleWords,
    moved: NDArray[np.int32],
    added: Mapping[int, Rule],
    count: int,
    gone: Sequence[Rule],
    numbers: WordNumbers | None = None,
) -> RuleWords:
    """Return the words of `count` rules most of which are those of before.

    `moved` int32 says where each rule of before is now, -1 for those that are `gone`; `added` are all others
    by where they are.
    """
    owners = moved[words.rules]
    kept = owners >= 0
    terms = np.repeat(words.terms, np.diff(words.starts))
    new = _count(added, sorted(added))
    postings = _Postings(
        np.concatenate([terms[kept], new.terms]),
        np.concatenate([owners[kept], new.rules]),
        np.concatenate([words.repeats[kept], new.repeats]),
    )
    texts = words.texts + _texts_of(added.values()) - _texts_of(gone)
    return _weigh(postings, count, texts, numbers)


def _texts_of(rules: Iterable[Rule]) -> int:
    return sum(1 + len(rule.examples) for rule in rules)


def _count(rules: Sequence[Rule] | Mapping[int, Rule], places: Iterable[int]) -> _Postings:
    """Return the terms of the rules at some places."""
    columns: dict[str, int] = {}
    flat, counts, owners = array("q"), array("d"), array("q")
    for place in places:
        parts = _parts(rules[place])
        flat.extend(columns.setdefault(term, len(columns)) for term in parts)
        counts.extend(parts.values())
        owners.extend([place] * len(parts))
    terms = np.fromiter((_hash(term) for term in columns), np.uint64, len(columns))
    return _Postings(
        terms[np.array(flat, np.int64)], np.array(owners, np.int32), np.array(counts).astype(np.uint32)
    )


def _weigh(postings: _Postings, count: int, texts: int, numbers: WordNumbers | None) -> RuleWords:
    numbers = numbers or load_match_model().words
    order = np.lexsort((postings.rules, postings.terms))
    flat, owner = postings.terms[order], postings.rules[order]
    repeats = postings.repeats[order].astype(np.float64)
    begins = np.ones(len(flat), bool)
    begins[1:] = flat[1:] != flat[:-1]
    first = np.flatnonzero(begins)
    starts = np.concatenate([first, [len(flat)]]).astype(np.int64)
    held = np.diff(starts)
    weights = repeats * (1 + numbers.saturation) / (repeats + numbers.saturation)
    informed = (weights * np.repeat(_idf(held, count), held)) ** 2
    lengths = np.sqrt(np.bincount(owner, informed, count))
    mean = math.fsum(lengths) / max(count, 1)  # exact, whatever the order of the rules
    weights /= (1 - numbers.pivot + numbers.pivot * lengths / (mean or 1.0))[owner]
    return RuleWords(
        count=count,
        texts=texts,
        terms=flat[first],
        starts=starts,
        rules=owner,
        repeats=postings.repeats[order],
        weights=weights.astype(np.float32),
    )


def shared_information(words: RuleWords, text: str) -> Float64:
    """Return float64 [n], 0 or more: 1 is what it takes to single out one rule of all."""
    scores = np.zeros(words.count)
    if not words.count or not len(words.terms):
        return scores
    hashes = np.array([_hash(term) for term in count_terms(text)], np.uint64)
    columns = np.minimum(np.searchsorted(words.terms, hashes), len(words.terms) - 1)
    columns = columns[words.terms[columns] == hashes]
    idf = _idf(words.starts[columns + 1] - words.starts[columns], words.count)
    for column, information in zip(columns.tolist(), idf.tolist(), strict=True):
        span = slice(words.starts[column], words.starts[column + 1])
        scores[words.rules[span]] += information * words.weights[span]
    return np.round(scores / math.log1p(words.count), _DECIMALS)


def lexical_relevance(words: RuleWords, text: str, numbers: WordNumbers | None = None) -> NDArray[np.float32]:
    """Return lexical evidence float32 [n] in [0, 1], 0 where a rule shares no more than the others do."""
    numbers = numbers or load_match_model().words
    shared = shared_information(words, text)
    if not len(shared):
        return shared.astype(np.float32)
    rest = (round(float(shared.sum()), _DECIMALS) - shared) / max(len(shared) - 1, 1)
    ahead = (np.maximum(shared - numbers.others * rest, 0.0) / numbers.even) ** numbers.steepness
    return (ahead / (1 + ahead)).astype(np.float32)


def term_overlap(words: RuleWords, text: str) -> tuple[Float64, NDArray[np.int64]]:
    """Return (overlap, shared) [n]: the cosine of the term sets in [0, 1], and how many terms are shared.

    Unlike `lexical_relevance` it does not ask whether a text stands out: several may speak of one thing.
    Terms that most texts have count less once there are enough texts to tell; a long message counts as one of
    twelve terms.
    """
    overlap, shared = np.zeros(words.count), np.zeros(words.count, np.int64)
    hashes = np.array([_hash(term) for term in count_terms(text)], np.uint64)
    if not words.count or not len(words.terms) or not len(hashes):
        return overlap, shared
    columns = np.minimum(np.searchsorted(words.terms, hashes), len(words.terms) - 1)
    columns = columns[words.terms[columns] == hashes]
    held = words.starts[columns + 1] - words.starts[columns]
    rare = np.clip(np.log((words.count + 1) / (held + 0.5)) / math.log(words.count + 1), 0.2, 1.0)
    weights = rare if words.count >= _ENOUGH else np.ones(len(columns))
    for column, weight in zip(columns.tolist(), weights.tolist(), strict=True):
        span = slice(words.starts[column], words.starts[column + 1])
        overlap[words.rules[span]] += weight
        shared[words.rules[span]] += 1
    lengths = np.maximum(np.bincount(words.rules, minlength=words.count), 1)
    return np.round(np.minimum(overlap / np.sqrt(min(len(hashes), _LONG) * lengths), 1.0), _DECIMALS), shared


def shared_words(rule: Rule, text: str, limit: int = 4) -> tuple[str, ...]:
    """Return words of a message that it shares with a rule, as the message has them, in its order."""
    ours = _parts(rule)
    found = [word for word in words_of(text) if any(term in ours for term in word_terms(word))]
    return tuple(dict.fromkeys(found))[:limit]


def words_arrays(words: RuleWords) -> dict[str, NDArray[np.generic]]:
    """Return the index as arrays by name, for whoever keeps it."""
    return {name: np.asarray(getattr(words, name)) for name in _ARRAYS}


def words_from(arrays: Mapping[str, NDArray[np.generic]]) -> RuleWords:
    """Return the index kept as arrays. Raises ValueError or KeyError if they do not fit together."""
    count, texts = (int(np.asarray(arrays[name]).reshape(-1)[0]) for name in ("count", "texts"))
    terms, starts = np.asarray(arrays["terms"], np.uint64), np.asarray(arrays["starts"], np.int64)
    rules, weights = np.asarray(arrays["rules"], np.int32), np.asarray(arrays["weights"], np.float32)
    repeats = np.asarray(arrays["repeats"], np.uint32)
    sizes = {len(rules), len(repeats), len(weights), int(starts[-1])}
    whole = len(starts) == len(terms) + 1 and len(sizes) == 1 and starts[0] == 0
    if not whole or texts < count or (np.diff(starts) < 0).any():
        raise ValueError("the arrays of the rules' words do not fit together")
    if len(rules) and not 0 <= rules.min() <= rules.max() < count:
        raise ValueError("the rules' words name rules that are not there")
    return RuleWords(count, texts, terms, starts, rules, repeats, weights)


def _parts(rule: Rule) -> dict[str, float]:
    """Return {term: in how many of a rule's parts it is}: what it says is one part, each example another."""
    said = "\n".join(
        dict.fromkeys((rule.name, rule.condition_text, rule.rule, rule.action_text))
    )  # imported rules say the same in several fields
    found: dict[str, float] = dict.fromkeys(count_terms(said), 1.0)
    for example in rule.examples:
        for term in count_terms(example):
            found[term] = found.get(term, 0.0) + 1.0
    return found


def _texts(rule: Rule) -> tuple[object, ...]:
    return rule.name, rule.condition_text, rule.rule, rule.action_text, rule.examples


def _idf(held: NDArray[np.int64], count: int) -> Float64:
    return np.log1p((count - held + 0.5) / (held + 0.5))


def _hash(term: str) -> int:
    digest = hashlib.blake2b(term.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little")
