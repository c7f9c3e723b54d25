"""Which words a message shares with rules, and how much that says, with nothing heavy imported.

Evidence is counted in information: the idf of the shared terms, in units of what it takes to single out one
rule of all, ln(1 + n). It is absolute, where a score divided by the message's best would give the best match
full marks whatever it shares. Ideas: BM25's saturation (a term in several examples counts more, but not as
often) and its length pivot, mild because rules are short. Files of several agents repeat each other, and a
rule is no less telling for that: those with the same words count as one.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.records.dataclass import dataclass
from workbench.records.rules import Rule
from workbench.rules.matching.calibration import WordNumbers, load_match_model
from workbench.text.postings import (
    Postings,
    build_postings,
    merge_postings,
    pack_postings,
    unpack_postings,
)
from workbench.text.terms import count_terms, word_terms, words_of

Float64 = NDArray[np.float64]

_POSTINGS = "rules"  # the name of the lists among arrays
_DECIMALS = 6
_ENOUGH = 20  # texts that tell which terms are common
_LONG = 12  # terms
_MARKS = re.compile(r"(?<=[\w`)\"'*])[.,;:!]+(?=\s|$)")


@dataclass(frozen=True, slots=True, eq=False)
class RuleWords:
    """The terms of rules: posting lists that count in how many parts of a rule a term is, and their weights.

    `texts` is how many texts there are: what rules say, and all of their examples. `weights` float32 [p] are
    parallel to the postings. `said` int64 [n] is the same for rules with the same words, in whatever order;
    `shares` float64 [n] is what each counts of these, 1 for a rule that no other repeats.
    """

    postings: Postings
    texts: int
    weights: NDArray[np.float32]
    said: NDArray[np.int64]
    shares: Float64

    @property
    def count(self) -> int:
        """Number of rules."""
        return self.postings.size

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, RuleWords)
            and (self.texts, self.postings) == (other.texts, other.postings)
            and np.array_equal(self.weights, other.weights)
            and np.array_equal(self.said, other.said)
        )

    __hash__ = None  # type: ignore[assignment]


def index_words(rules: Sequence[Rule], numbers: WordNumbers | None = None) -> RuleWords:
    """Return the terms of rules: of what they say, and of each example message."""
    return _weigh(build_postings(map(_parts, rules)), _texts_of(rules), _hash_words(rules), numbers)


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
    places = sorted(added)
    read = build_postings(_parts(added[place]) for place in places)
    postings = merge_postings([(words.postings, moved), (read, np.array(places, np.int32))], count)
    said = np.zeros(count, np.int64)
    said[moved[moved >= 0]] = words.said[moved >= 0]
    said[places] = _hash_words([added[place] for place in places])
    return _weigh(postings, words.texts + _texts_of(added.values()) - _texts_of(gone), said, numbers)


def _texts_of(rules: Iterable[Rule]) -> int:
    return sum(1 + len(rule.examples) for rule in rules)


def wording(rule: Rule) -> str:
    """Return a rule's words without what makes no difference to them: case, spaces, marks of sentences."""
    return _MARKS.sub("", " ".join(rule.rule.split())).casefold()


def _hash_words(rules: Iterable[Rule]) -> NDArray[np.int64]:
    digests = bytearray()
    for rule in rules:
        words = " ".join(sorted(wording(rule).split())) or repr(_texts(rule))
        digests += blake2b(words.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return np.frombuffer(bytes(digests), "<i8").astype(np.int64)


def _shares(said: NDArray[np.int64]) -> Float64:
    _, kind, counts = np.unique(said, return_inverse=True, return_counts=True)
    return np.asarray(1.0 / counts[kind])


def _weigh(postings: Postings, texts: int, said: NDArray[np.int64], numbers: WordNumbers | None) -> RuleWords:
    numbers = numbers or load_match_model().words
    shares = _shares(said)
    repeats = postings.counts.astype(np.float64)
    weights = repeats * (1 + numbers.saturation) / (repeats + numbers.saturation)
    informed = (weights * np.repeat(_idf(_holders(postings, shares), shares), np.diff(postings.starts))) ** 2
    lengths = np.sqrt(np.bincount(postings.docs, informed, postings.size))
    mean = math.fsum(lengths * shares) / (math.fsum(shares) or 1.0)  # exact, whatever the order of the rules
    weights /= (1 - numbers.pivot + numbers.pivot * lengths / (mean or 1.0))[postings.docs]
    return RuleWords(postings, texts, weights.astype(np.float32), said, shares)


def _holders(postings: Postings, shares: Float64) -> Float64:
    """Return float64 [t], how many rules have each term, those with the same words counted as one."""
    sums = np.concatenate([[0.0], np.cumsum(shares[postings.docs])])
    return np.asarray(np.round(sums[postings.starts[1:]] - sums[postings.starts[:-1]], _DECIMALS))


def shared_information(words: RuleWords, text: str) -> Float64:
    """Return float64 [n], 0 or more: 1 is what it takes to single out one rule of all."""
    scores = np.zeros(words.count)
    if not words.count:
        return scores
    postings = words.postings
    spans = [postings.span(column) for column in _known_columns(postings, count_terms(text)).tolist()]
    held = np.array([round(float(words.shares[postings.docs[span]].sum()), _DECIMALS) for span in spans])
    for span, information in zip(spans, _idf(held, words.shares).tolist(), strict=True):
        scores[postings.docs[span]] += information * words.weights[span]
    return np.round(scores / math.log1p(_count(words.shares)), _DECIMALS)


def lexical_relevance(words: RuleWords, text: str, numbers: WordNumbers | None = None) -> NDArray[np.float32]:
    """Return lexical evidence float32 [n] in [0, 1], 0 where a rule shares no more than the others do."""
    numbers = numbers or load_match_model().words
    shared = shared_information(words, text)
    if not len(shared):
        return shared.astype(np.float32)
    total, count = float((shared * words.shares).sum()), _count(words.shares)
    rest = (round(total, _DECIMALS) - shared) / max(count - 1, 1)
    ahead = (np.maximum(shared - numbers.others * rest, 0.0) / numbers.even) ** numbers.steepness
    return (ahead / (1 + ahead)).astype(np.float32)


def holds_all(words: RuleWords, text: str) -> NDArray[np.bool_]:
    """Return bool [n]: whether a rule has every term of a text that has any."""
    terms, postings = count_terms(text), words.postings
    columns = _known_columns(postings, terms)
    if not terms or len(columns) < len(terms):
        return np.zeros(words.count, np.bool_)
    held = np.zeros(words.count, np.int64)
    for column in columns.tolist():
        held[postings.docs[postings.span(column)]] += 1
    return np.asarray(held == len(terms), np.bool_)


def term_overlap(words: RuleWords, text: str) -> tuple[Float64, NDArray[np.int64]]:
    """Return (overlap, shared) [n]: the cosine of the term sets in [0, 1], and how many terms are shared.

    Unlike `lexical_relevance` it does not ask whether a text stands out: several may speak of one thing.
    Terms that most texts have count less once there are enough texts to tell; a long message counts as one of
    twelve terms.
    """
    overlap, shared = np.zeros(words.count), np.zeros(words.count, np.int64)
    terms, postings = count_terms(text), words.postings
    if not words.count or not terms:
        return overlap, shared
    columns = _known_columns(postings, terms)
    held = postings.starts[columns + 1] - postings.starts[columns]
    rare = np.clip(np.log((words.count + 1) / (held + 0.5)) / math.log(words.count + 1), 0.2, 1.0)
    weights = rare if words.count >= _ENOUGH else np.ones(len(columns))
    for column, weight in zip(columns.tolist(), weights.tolist(), strict=True):
        docs = postings.docs[postings.span(column)]
        overlap[docs] += weight
        shared[docs] += 1
    lengths = np.maximum(np.bincount(postings.docs, minlength=words.count), 1)
    return np.round(np.minimum(overlap / np.sqrt(min(len(terms), _LONG) * lengths), 1.0), _DECIMALS), shared


def shared_words(rule: Rule, text: str, limit: int = 4) -> tuple[str, ...]:
    """Return words of a message that it shares with a rule, as the message has them, in its order."""
    ours = _parts(rule)
    found = [word for word in words_of(text) if any(term in ours for term in word_terms(word))]
    return tuple(dict.fromkeys(found))[:limit]


def words_arrays(words: RuleWords) -> dict[str, NDArray[Any]]:
    """Return the index as arrays by name, for whoever keeps it."""
    texts = np.array([words.texts], np.int64)
    return {
        "texts": texts,
        "weights": words.weights,
        "said": words.said,
        **pack_postings(words.postings, _POSTINGS),
    }


def words_from(arrays: Mapping[str, NDArray[Any]]) -> RuleWords:
    """Return the index kept as arrays. Raises ValueError or KeyError if they do not fit together."""
    postings = unpack_postings(arrays, _POSTINGS)
    texts, weights = int(arrays["texts"].reshape(-1)[0]), np.asarray(arrays["weights"], np.float32)
    said = np.asarray(arrays["said"], np.int64)
    whole = len(weights) == len(postings.docs) and len(said) == postings.size <= texts
    if not whole or postings.starts[0] != 0 or (np.diff(postings.starts) < 0).any():
        raise ValueError("the arrays of the rules' words do not fit together")
    if len(postings.docs) and not 0 <= postings.docs.min() <= postings.docs.max() < postings.size:
        raise ValueError("the rules' words name rules that are not there")
    return RuleWords(postings, texts, weights, said, _shares(said))


def _known_columns(postings: Postings, terms: Iterable[str]) -> NDArray[np.int64]:
    columns = postings.columns(terms)
    return columns[columns >= 0]


def _parts(rule: Rule) -> dict[str, int]:
    """Return {term: in how many of a rule's parts it is}: what it says is one part, each example another."""
    said = "\n".join(
        dict.fromkeys((rule.name, rule.condition_text, rule.rule, rule.action_text))
    )  # imported rules say the same in several fields
    found = dict.fromkeys(count_terms(said), 1)
    for example in rule.examples:
        for term in count_terms(example):
            found[term] = found.get(term, 0) + 1
    return found


def _texts(rule: Rule) -> tuple[object, ...]:
    return rule.name, rule.condition_text, rule.rule, rule.action_text, rule.examples


def _count(shares: Float64) -> float:
    return round(float(shares.sum()), _DECIMALS)


def _idf(held: Float64, shares: Float64) -> Float64:
    return np.asarray(np.log1p((_count(shares) - held + 0.5) / (held + 0.5)))
