"""The learnings that may be given, kept beside the journals: a plan does not fold them again each time.

What is kept names the journals' revisions it was made from; it is read only while those are the same, and
rebuilt silently when it is damaged. Their words are indexed for matching as those of rules are.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Final

import msgspec

from workbench.errors import StoreError
from workbench.memory.learnings.learningstore import LearningStore
from workbench.memory.learnings.learningtype import LEARNINGS
from workbench.memory.learnings.prompt import Known, as_rule, known_learnings
from workbench.project.arrays import open_arrays, write_arrays
from workbench.records.conversion import convert
from workbench.records.dataclass import dataclass
from workbench.records.rules import Rule
from workbench.rules.matching.lexical import RuleWords, index_words, words_arrays, words_from

GENERATION: Final = "learnings"
_FILE: Final = "learnings.json"
_WORDS: Final = "words.bin"
_FORMAT: Final = 2


@dataclass(frozen=True, slots=True)
class Kept:
    """Learnings that may be given, as the rules that matching compares with a task, and their words."""

    known: Known
    rules: tuple[Rule, ...]
    words: RuleWords
    revision: str


def load_kept(
    store: LearningStore,
    latest: Callable[[str], Path | None],
    publish: Callable[[str, Callable[[Path], None]], Path],
    previous: Kept | None = None,
) -> Kept:
    """Return the learnings as the journals have them now. Raises: StoreError if those cannot be read."""
    revision = hashlib.sha256(f"{_FORMAT}\0{store.revision()}".encode()).hexdigest()[:32]
    if previous is not None and previous.revision == revision:
        return previous
    saved = _open(latest, revision)
    if saved is not None:
        return saved
    known = known_learnings(store.ledger())
    rules = _rules(known)
    made = Kept(known, rules, index_words(rules), revision)
    try:
        publish(GENERATION, lambda directory: _write(directory, made))
    except StoreError:
        return made  # where nothing can be kept, each plan makes it again
    return made


def _rules(known: Known) -> tuple[Rule, ...]:
    """Return each learning as a rule of the same id, for matching alone."""
    return tuple(
        replace(as_rule(one, {"action_text": one.text}), id=one.id, metadata={}) for one in known.live
    )


def _open(latest: Callable[[str], Path | None], revision: str) -> Kept | None:
    directory = latest(GENERATION)
    if directory is None:
        return None
    try:
        document = json.loads((directory / _FILE).read_bytes())
        if document["revision"] != revision:
            return None
        live = tuple(LEARNINGS.from_body(body) for body in document["live"])
        known = Known(live, frozenset(convert(document["waiting"], tuple[str, ...])))
        words = words_from(open_arrays(directory / _WORDS))
        return Kept(known, _rules(known), words, revision) if words.count == len(live) else None
    except (OSError, ValueError, KeyError, TypeError, msgspec.MsgspecError):
        return None  # damaged: read from the journals instead


def _write(directory: Path, kept: Kept) -> None:
    document = {
        "revision": kept.revision,
        "live": [LEARNINGS.to_body(one) for one in kept.known.live],
        "waiting": sorted(kept.known.waiting),
    }
    (directory / _FILE).write_bytes(json.dumps(document).encode("ascii"))
    write_arrays(directory / _WORDS, words_arrays(kept.words))
