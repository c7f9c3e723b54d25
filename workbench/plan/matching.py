"""A rulebook made ready for matching, once for as long as it stays the same.

A plan does not wait for rules to be embedded: vectors come from the cache, a few new ones are made on the
spot, and where more are missing the rules are matched by words alone and a note names the command to run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from workbench.errors import WorkbenchError
from workbench.records.rules import Rule
from workbench.rules.matching.filters import MatchColumns
from workbench.rules.matching.lexical import RuleWords
from workbench.rules.matching.relevance import RuleVectors, rule_texts, rule_vectors
from workbench.rules.matching.search import RuleIndex, index_rules, with_vectors
from workbench.rules.matching.texts import RuleTexts

if TYPE_CHECKING:
    from workbench.ports import TextVectors

RULES: Final = "rules"
LEARNINGS: Final = "learnings"
"""Kinds of texts whose vectors are stored."""

UNPREPARED = "rules were not compared by meaning: run `workbench model prepare` to embed them"
FEW = 32
"""Texts a plan embeds by itself: what an edit of a rule file brings."""

Progress = Callable[[int, int], None]


class RuleMatcher:
    """Keeps the index of the rules it saw last, with their vectors once they are all there.

    `note` explains why rules are not compared by meaning, '' if they are or there is no embedder.
    """

    def __init__(self, kind: str = RULES) -> None:
        self._kind = kind
        self._words: RuleWords | None = None
        self._index: RuleIndex | None = None
        self.note = ""

    @property
    def failed(self) -> bool:
        """Whether the embedding model itself could not compare rules."""
        return bool(self.note) and self.note != UNPREPARED

    def index(
        self,
        rules: Sequence[Rule],
        words: RuleWords,
        embedder: TextVectors | None,
        *,
        progress: Progress | None = None,
    ) -> RuleIndex:
        """Return the index of rules, whose words are `words`. With `progress` it waits for all vectors."""
        vectors = None
        if self._index is not None and self._words is words:
            vectors = self._index.vectors  # the same texts, though counts of use may have changed
        if self._index is None or self._index.columns.rules is not rules:
            self._index, self._words = index_rules(rules, words), words
        self.note = ""
        if embedder is None or not rules:
            vectors = None
        elif vectors is None or vectors.model != embedder.model:
            vectors, self.note = _vectors(self._kind, rule_texts(rules), embedder, progress)
        if self._index.vectors is not vectors:
            self._index = with_vectors(self._index, vectors)
        return self._index

    def columns_of(self, rules: Sequence[Rule]) -> MatchColumns | None:
        """Return the columns of the rules that were indexed last, None if those were others."""
        index = self._index
        return index.columns if index is not None and index.columns.rules is rules else None


def _vectors(
    kind: str, texts: RuleTexts, embedder: TextVectors, progress: Progress | None
) -> tuple[RuleVectors | None, str]:
    index, known = embedder.known_vectors(kind, texts.texts)
    missing = len(known) - int(known.sum())
    if missing > FEW and progress is None:
        return None, UNPREPARED
    try:
        if missing:
            index = embedder.complete(kind, texts.texts, progress=progress)
    except WorkbenchError as error:
        return None, f"rules were not compared by meaning: {error.message}"
    return rule_vectors(texts, index.vectors, embedder.model, index=index), ""
