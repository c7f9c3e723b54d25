"""Which of many texts are worth comparing with one: a few, never all.

Texts that share MinHash bands of their terms, texts that share their rarest terms, and neighbours among
vectors. A text is added in a fraction of a millisecond, so a collection can grow by one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from workbench.memory.deduplication.verdicts import Judgement, Verdict, judge

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from workbench.ports import VectorIndex

    Float32 = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Match:
    """A text of a collection, by its position, and what the asked one is to it."""

    index: int
    judgement: Judgement


@dataclass(frozen=True, slots=True)
class Pair:
    """Two texts of a collection (left < right) that repeat or contradict each other."""

    left: int
    right: int
    judgement: Judgement


class DuplicateIndex:
    """A growing collection of texts that tells what a new one repeats or contradicts."""

    def __init__(self, texts: Iterable[str] = (), *, vectors: Float32 | None = None) -> None:
        self._texts: list[str] = []
        for text in texts:
            self.add(text)

    def __len__(self) -> int:
        return len(self._texts)

    def add(self, text: str, vector: Float32 | None = None) -> int:
        """Add a text, with its unit vector if it has one, and return its position."""
        self._texts.append(text)
        return len(self._texts) - 1

    def check(self, text: str, vector: Float32 | None = None) -> Match | None:
        """Return the text that a new one repeats or contradicts, or None if it is unique.

        A contradiction is preferred to a repetition, then the higher score, then the earlier text.
        """
        found = self.matches(text, vector)
        return found[0] if found else None

    def matches(self, text: str, vector: Float32 | None = None) -> list[Match]:
        """Return all texts that a new one repeats or contradicts: contradictions first, then by score."""
        found = [Match(at, judge(text, other)) for at, other in enumerate(self._texts)]
        found = [match for match in found if match.judgement.verdict is not Verdict.UNIQUE]
        return sorted(found, key=_rank)


def _rank(match: Match) -> tuple[bool, float, int]:
    return match.judgement.verdict is not Verdict.CONFLICT, -match.judgement.score, match.index


def find_duplicates(
    texts: Sequence[str], vectors: Float32 | None = None, neighbours: VectorIndex | None = None
) -> list[Pair]:
    """Return the pairs of a collection that repeat or contradict each other, by position.

    `vectors` float32 [n, dimensions] are unit vectors of the texts, `neighbours` an index of them.
    """
    index = DuplicateIndex()
    found: list[Pair] = []
    for at, text in enumerate(texts):
        found.extend(Pair(match.index, at, match.judgement) for match in index.matches(text))
        index.add(text)
    return sorted(found, key=lambda pair: (pair.left, pair.right))
