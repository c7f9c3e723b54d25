"""The systems a rules benchmark compares: meaning alone, words alone, and both, as the program matches.

Each ranks the rules for one message by its own calibrated relevance in [0, 1]. Priority and scope, which
order what is relevant, are left out: they say nothing about which rules a message is about.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from workbench.records.rules import Rule
from workbench.replay.answers import Ranked
from workbench.rules.lexical import index_words
from workbench.rules.match import MatchParams, RuleQuery, match_rules
from workbench.rules.relevance import by_meaning, by_words, rule_texts

if TYPE_CHECKING:
    from workbench.ports import Float32

VECTOR: Final = "vector"
BM25: Final = "bm25"
HYBRID: Final = "hybrid"

Embed = Callable[[Sequence[str]], "Float32"]
"""Texts to float32 [n, dimensions], rows of length 1."""


@dataclass(frozen=True, slots=True)
class System:
    """A way of matching. `rank` takes a message and its vector, which is used only if `needs_vector`."""

    name: str
    needs_vector: bool
    rank: Callable[[str, Float32 | None], Ranked]


def rule_systems(
    rules: Sequence[Rule], embed: Embed | None, params: MatchParams | None = None
) -> tuple[System, ...]:
    """Return the systems over these rules: vector, bm25 and hybrid, or bm25 alone without `embed`.

    Raises: ModelError if the rules cannot be embedded.
    """
    by_relevance = replace(
        params or MatchParams(), threshold=0.0, hybrid_weight=1.0, priority_weight=0.0, scope_weight=0.0
    )
    words = index_words(rules)

    def ranked(message: str, vector: Float32 | None, lexical: Float32 | None) -> Ranked:
        found = match_rules(rules, RuleQuery(message), vector, lexical, by_relevance)
        return tuple((match.rule.id, match.relevance) for match in found if match.relevance > 0)

    def by_bm25(message: str, vector: Float32 | None) -> Ranked:
        return ranked(message, None, by_words(words, message))

    if embed is None:
        return (System(BM25, needs_vector=False, rank=by_bm25),)
    vectors = embed(rule_texts(rules))

    def meaning(vector: Float32 | None) -> Float32:
        if vector is None:
            raise ValueError("a message cannot be matched by its meaning without its vector")
        return by_meaning(vectors @ vector)

    def by_vector(message: str, vector: Float32 | None) -> Ranked:
        return ranked(message, meaning(vector), None)

    def by_both(message: str, vector: Float32 | None) -> Ranked:
        return ranked(message, meaning(vector), by_words(words, message))

    return (
        System(VECTOR, needs_vector=True, rank=by_vector),
        System(BM25, needs_vector=False, rank=by_bm25),
        System(HYBRID, needs_vector=True, rank=by_both),
    )
