"""Whether two short texts say the same, contradict each other, or neither, with the reasons.

For learnings before they are stored, and for `workbench dedup`. A contradiction is looked for first: "not
allowed" is never a repetition of "allowed".
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from workbench.records.conflicts import Evidence
from workbench.text.contrast import contrast
from workbench.text.duplicates import jaccard, normal_text
from workbench.text.statements import statements
from workbench.text.terms import count_terms


class Verdict(StrEnum):
    """What two texts are to each other."""

    UNIQUE = "unique"  # each says something of its own
    DUPLICATE = "duplicate"  # the same thing twice
    CONFLICT = "conflict"  # both cannot hold


@dataclass(frozen=True, slots=True)
class Judgement:
    """A verdict; `score` in [0, 1] says how sure it is, `evidence` why."""

    verdict: Verdict
    score: float
    evidence: tuple[Evidence, ...]


def judge(left: str, right: str, similarity: float | None = None) -> Judgement:
    """Return what two texts are to each other; the order makes no difference.

    `similarity` is the cosine of their embeddings, if it is known.
    """
    left, right = sorted((left, right))
    if normal_text(left) == normal_text(right):
        return Judgement(
            Verdict.DUPLICATE, 1.0, (Evidence("text", 1.0, "equal but for case, marks and white space"),)
        )
    for mine in statements(left):
        for theirs in statements(right):
            found = contrast(mine, theirs)
            if found is not None:
                evidence = Evidence(found.test, round(found.score, 3), found.detail)
                return Judgement(Verdict.CONFLICT, round(found.score, 3), (evidence,))
    value = jaccard(frozenset(count_terms(left)), frozenset(count_terms(right)))
    words = Evidence("words", round(value, 3), "share of words that both have")
    if value > 0.7:
        return Judgement(Verdict.DUPLICATE, round(value, 3), (words,))
    return Judgement(Verdict.UNIQUE, round(1.0 - value, 3), (words,))
