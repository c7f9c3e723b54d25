"""The systems a rules benchmark compares: meaning alone, words alone, and both, as the program matches.

Each ranks the rules for one message by its own calibrated relevance in [0, 1]. Priority and scope, which
order what is relevant, are left out: they say nothing about which rules a message is about.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Final

from workbench.records.rules import Rule
from workbench.replay.answers import Ranked
from workbench.rules.matching.match import MatchParams, RuleQuery
from workbench.rules.matching.relevance import Mode, rule_texts, rule_vectors
from workbench.rules.matching.searching import RuleIndex, index_rules, match_message

if TYPE_CHECKING:
    from workbench.ports import Float32

VECTOR: Final = "vector"
BM25: Final = "bm25"
HYBRID: Final = "hybrid"

MODES: Final[dict[str, Mode]] = {VECTOR: "dense", BM25: "sparse", HYBRID: "hybrid"}

Embed = Callable[[Sequence[str]], "Float32"]
"""Texts to float32 [n, dimensions], rows of length 1."""


@dataclass(frozen=True, slots=True)
class System:
    """A way of matching. `rank` takes a message and its vector, which is used only if `needs_vector`."""

    name: str
    needs_vector: bool
    rank: Callable[[str, Float32 | None], Ranked]


def rule_systems(
    rules: Sequence[Rule], embed: Embed | None, *, model: str = "", params: MatchParams | None = None
) -> tuple[System, ...]:
    """Return the systems over these rules: vector, bm25 and hybrid, or bm25 alone without `embed`.

    `model` is the identity of the vectors, which calibration goes by. Raises: ModelError if the rules cannot
    be embedded.
    """
    by_relevance = replace(
        params or MatchParams(), threshold=0.0, hybrid_weight=1.0, priority_weight=0.0, scope_weight=0.0
    )
    if embed is None:
        return (_system(BM25, index_rules(rules), by_relevance),)
    texts = rule_texts(rules)
    index = index_rules(rules, vectors=rule_vectors(texts, embed(texts.texts), model))
    return tuple(_system(name, index, by_relevance) for name in MODES)


def _system(name: str, index: RuleIndex, params: MatchParams) -> System:
    return System(name, name != BM25, partial(_rank, index, params, name))


def _rank(index: RuleIndex, params: MatchParams, name: str, message: str, vector: Float32 | None) -> Ranked:
    if vector is None and name != BM25:
        raise ValueError(f"{name} cannot match a message without its vector")
    found = match_message(index, RuleQuery(message), vector, params, mode=MODES[name])
    return tuple((match.rule.id, match.relevance) for match in found.matches if match.relevance > 0)
