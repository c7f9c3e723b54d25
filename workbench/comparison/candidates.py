"""Which of many texts a new one repeats or contradicts, without comparing it with all of them.

Candidates share a MinHash band of their terms (opposites and tools of one job count as equal, denials do not
count at all), or a rare term, or are neighbours among vectors. The likeliest of them are judged. A
contradiction is preferred to a repetition.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from workbench.comparison.negation import Word
from workbench.comparison.similarity import Bands, normal_text
from workbench.comparison.tokens import MAX_CHARS
from workbench.comparison.verdicts import TextJudgement, TextVerdict, judge, words_of
from workbench.comparison.vocabulary import choices, choices_of, opposites_of
from workbench.records.dataclass import dataclass

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from workbench.ports import Neighbours

    Float32 = NDArray[np.float32]

JUDGED: Final = 24
"""Candidates that are judged for one text: those with most in common."""

RARE: Final = 200
"""A term of more texts than this leads to none of them by itself."""

RAREST: Final = 3
"""Terms of a text, the rarest first, that lead to others."""

LEAST_CONTAINED: Final = 0.5
"""Share of the shorter text's terms that the other must have to be a candidate by its words."""

NEIGHBOURS: Final = 8
LEAST_COSINE: Final = 0.6


@dataclass(frozen=True, slots=True)
class Match:
    """A text of a collection, by its position, and what the asked one is to it."""

    index: int
    judgement: TextJudgement


@dataclass(frozen=True, slots=True)
class TextPair:
    """Two texts of a collection (left < right) that repeat or contradict each other."""

    left: int
    right: int
    judgement: TextJudgement


class DuplicateIndex:
    """A growing collection of texts that finds what a new one repeats or contradicts.

    With `vectors` (float32 [n, dimensions], unit rows) texts are found by meaning as well; `neighbours` may
    search them faster than all rows are compared. Texts added later bring their vector along.
    """

    def __init__(
        self,
        texts: Iterable[str] = (),
        *,
        vectors: Float32 | None = None,
        neighbours: Neighbours | None = None,
    ) -> None:
        self._texts: list[str] = []
        self._terms: list[frozenset[str]] = []
        self._forms: dict[str, int] = {}
        self._holders: dict[str, list[int]] = {}
        self._bands = Bands()
        self._rows: list[Float32 | None] = []
        self._neighbours, self._indexed = neighbours, 0 if vectors is None else len(vectors)
        given = list(texts)
        for text in given:
            self._keep(text, None)
        if vectors is not None:
            self._rows[: len(vectors)] = list(vectors)
        self._bands.add(range(len(given)), self._terms)

    def __len__(self) -> int:
        return len(self._texts)

    def add(self, text: str, vector: Float32 | None = None) -> int:
        """Add a text, with its unit vector if it has one, and return its position."""
        at = self._keep(text, vector)
        self._bands.add([at], [self._terms[at]])
        return at

    def check(self, text: str, vector: Float32 | None = None) -> Match | None:
        """Return the text that a new one repeats or contradicts, or None if it is unique.

        The same text comes first, then a contradiction, then another repetition; then the higher score, then
        the earlier text.
        """
        found = self.matches(text, vector)
        return found[0] if found else None

    def matches(self, text: str, vector: Float32 | None = None) -> list[Match]:
        """Return all texts that a new one repeats or contradicts, as ordered by `check`."""
        return self._judge_candidates(text, vector, self.candidates(text, vector))

    def earlier(self, at: int) -> list[Match]:
        """Return what the text at a position repeats or contradicts among those before it, as `matches`."""
        text, vector = self._texts[at], self._rows[at]
        return self._judge_candidates(
            text, vector, self._candidates(text, vector, at, self._bands.beside(at))
        )

    def _judge_candidates(self, text: str, vector: Float32 | None, places: Iterable[int]) -> list[Match]:
        found = []
        for at in places:
            judgement = judge(text, self._texts[at], self._cosine(at, vector))
            if judgement.verdict is not TextVerdict.UNIQUE:
                found.append(Match(at, judgement))
        return sorted(found, key=_rank)

    def _keep(self, text: str, vector: Float32 | None) -> int:
        at = len(self._texts)
        terms = terms_of(text)
        self._texts.append(text)
        self._terms.append(terms)
        self._rows.append(vector)
        self._forms.setdefault(_form(text), at)
        for term in terms:
            self._holders.setdefault(term, []).append(at)
        return at

    def candidates(self, text: str, vector: Float32 | None = None, end: int | None = None) -> list[int]:
        """Return the positions below `end` (default: all) worth judging, those with most in common first."""
        end = len(self._texts) if end is None else end
        return self._candidates(text, vector, end, self._bands.near(terms_of(text)))

    def _candidates(self, text: str, vector: Float32 | None, end: int, banded: set[int]) -> list[int]:
        terms = terms_of(text)
        near = {at for at in banded.union(self._sharing(terms)) if at < end}
        shared = {at: _likeness(terms, self._terms[at]) for at in near}
        ranked = sorted(
            (at for at in near if shared[at] >= LEAST_CONTAINED), key=lambda at: (-shared[at], at)
        )
        first = [at] if (at := self._forms.get(_form(text), end)) < end else []
        similar = (at for at in self._by_meaning(vector) if at < end)
        return list(dict.fromkeys([*first, *ranked[:JUDGED], *similar]))

    def _sharing(self, terms: frozenset[str]) -> Iterator[int]:
        """Yield the positions of texts that share one of the rarest terms."""
        known = sorted((len(self._holders[term]), term) for term in terms if term in self._holders)
        for count, term in known[:RAREST]:
            if count <= RARE:
                yield from self._holders[term]

    def _by_meaning(self, vector: Float32 | None) -> list[int]:
        if vector is None:
            return []
        found: list[tuple[float, int]] = []
        start = 0
        if self._neighbours is not None and self._indexed:
            ids, similar = self._neighbours.search(vector, NEIGHBOURS)
            found = [(-float(s), int(at)) for at, s in zip(ids.tolist(), similar.tolist(), strict=True)]
            start = self._indexed
        for at in range(start, len(self._rows)):
            cosine = self._cosine(at, vector)
            if cosine is not None:
                found.append((-cosine, at))
        return [at for negative, at in sorted(found)[:NEIGHBOURS] if -negative >= LEAST_COSINE]

    def _cosine(self, at: int, vector: Float32 | None) -> float | None:
        row = self._rows[at]
        return None if row is None or vector is None else float(row @ vector)


@lru_cache(maxsize=131_072)
def terms_of(text: str) -> frozenset[str]:
    """Return the terms a text is found by: a word and its opposites share one, as do the tools of one job."""
    words = words_of(text[:MAX_CHARS]).words
    return frozenset(_key(word).encode("utf-8", "replace").decode() for word in words if word.kind != "place")


def _key(word: Word) -> str:
    positions = choices_of().get(word.term) if word.kind == "name" else None
    if positions:
        return f"one of {choices()[positions[0]].name}"
    opposite = min(opposites_of(word.term), default=word.term)
    return min(word.term, opposite)


def _form(text: str) -> str:
    return normal_text(text) if len(text) <= MAX_CHARS else text


def _likeness(mine: frozenset[str], theirs: frozenset[str]) -> float:
    """Return the share of the smaller set that the other has, two sets of one size alike before others."""
    small, large = sorted((len(mine), len(theirs)))
    shared = len(mine & theirs)
    return shared / small - 0.001 * (large - small) if small else 0.0


def _rank(match: Match) -> tuple[int, float, int]:
    """Order matches: the same text, then contradictions, then other repetitions; each the surest first."""
    found = match.judgement
    contradicts = found.verdict is TextVerdict.CONFLICT
    order = 1 if contradicts else 0 if found.score == 1.0 else 2
    return order, -found.score, match.index


def find_duplicates(
    texts: Sequence[str],
    vectors: Float32 | None = None,
    neighbours: Neighbours | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> list[TextPair]:
    """Return the pairs of a collection that repeat or contradict each other, by position.

    `vectors` float32 [n, dimensions] are unit vectors of the texts, `neighbours` an index of them. Of equal
    texts each is paired with the first one only. `progress` receives (texts done, of how many).
    """
    index = DuplicateIndex(texts, vectors=vectors, neighbours=neighbours)
    first: dict[str, int] = {}
    found: dict[tuple[int, int], TextJudgement] = {}
    for at, text in enumerate(texts):
        if progress is not None:
            progress(at, len(texts))
        earlier = first.setdefault(_form(text), at)
        if earlier != at:
            found[earlier, at] = judge(texts[earlier], text)
            continue
        for match in index.earlier(at):
            if first[_form(texts[match.index])] == match.index:
                found[match.index, at] = match.judgement
    return [TextPair(*pair, judgement) for pair, judgement in sorted(found.items())]
