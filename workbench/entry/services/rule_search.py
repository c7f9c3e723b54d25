"""Rules made ready for a search by words and, where a model is prepared, by meaning.

The command line asks once, the screens with every key; both keep the index in the matcher they give.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.config import Config
from workbench.entry.project import cached_embedder
from workbench.errors import ModelError
from workbench.records.rules import Rule

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from workbench.plan.matching import RuleMatcher
    from workbench.rules.matching.lexical import RuleWords
    from workbench.rules.matching.searching import RuleIndex

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class ReadySearch:
    """An index of rules and a query's unit vector float32 [d], None without one.

    `notes` say what is missing.
    """

    index: RuleIndex
    vector: NDArray[np.float32] | None
    notes: tuple[str, ...] = ()


def ready_to_search(
    matcher: RuleMatcher,
    rules: tuple[Rule, ...],
    words: RuleWords,
    query: str,
    mode: str,
    config: Config,
    home: Path,
    progress: Progress | None = None,
) -> ReadySearch:
    """Return what a search of rules, whose words are `words`, for a query in a mode needs.

    With `progress` it waits until all rules are embedded; without, it does so only where few are missing.
    """
    if mode == "sparse" or not rules:
        return ReadySearch(matcher.index(rules, words, None), None)
    embedder, note = cached_embedder(config, home)
    if embedder is None:
        return ReadySearch(matcher.index(rules, words, None), None, (note,) if note else ())
    index = matcher.index(rules, words, embedder, progress=progress)
    try:
        vector = embedder.embed([query])[0]
    except ModelError as error:
        return ReadySearch(index, None, (error.message,))
    return ReadySearch(index, vector, (matcher.note,) if matcher.note else ())
