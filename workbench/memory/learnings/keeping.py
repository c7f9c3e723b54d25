"""The learnings that may be given, kept beside the journals: a plan does not fold them again each time.

What is kept names the journals' revisions it was made from; it serves only while those are the same, and is
rebuilt silently when it is damaged. Their words are indexed for matching as those of rules are; where some
learnings changed only theirs are read.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec

from workbench.errors import StoreError
from workbench.memory.learnings.learningstore import LearningStore
from workbench.memory.learnings.prompt import Known, as_rule, known_learnings
from workbench.project.arrays import open_arrays, write_arrays
from workbench.records.conversion import decode_lossless, encode_lossless
from workbench.records.dataclass import dataclass
from workbench.records.learnings import FeatureLearning
from workbench.records.rules import Rule
from workbench.rules.matching.lexical import RuleWords, index_words, update_words, words_arrays, words_from

GENERATION: Final = "learnings"
_FILE: Final = "learnings.json"
_WORDS: Final = "words.bin"
_FORMAT: Final = 3


class _Stored(msgspec.Struct, frozen=True):
    """What is kept besides words."""

    revision: str
    live: tuple[FeatureLearning, ...]
    waiting: tuple[str, ...]


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
    before = previous
    if before is None:
        before = _open(latest)
        if before is not None and before.revision == revision:
            return before
    known = known_learnings(store.ledger())
    rules = _rules(known)
    words = index_words(rules) if before is None else update_words(before.words, before.rules, rules)
    made = Kept(known, rules, words, revision)
    try:
        publish(GENERATION, lambda directory: _write(directory, made))
    except StoreError:
        return made  # where nothing can be kept, each plan makes it again
    return made


def _rules(known: Known) -> tuple[Rule, ...]:
    """Return each learning as a rule of the same id, for matching alone."""
    return tuple(as_rule(one, {"id": one.id, "action_text": one.text, "metadata": {}}) for one in known.live)


def _open(latest: Callable[[str], Path | None]) -> Kept | None:
    directory = latest(GENERATION)
    if directory is None:
        return None
    try:
        stored = decode_lossless((directory / _FILE).read_bytes(), _Stored)
        words = words_from(open_arrays(directory / _WORDS))
        if words.count != len(stored.live):
            return None
        known = Known(stored.live, frozenset(stored.waiting))
        return Kept(known, _rules(known), words, stored.revision)
    except (OSError, ValueError, KeyError, RecursionError):
        return None  # damaged: read from the journals instead


def _write(directory: Path, kept: Kept) -> None:
    stored = _Stored(kept.revision, kept.known.live, tuple(sorted(kept.known.waiting)))
    (directory / _FILE).write_bytes(encode_lossless(stored))
    write_arrays(directory / _WORDS, words_arrays(kept.words))
