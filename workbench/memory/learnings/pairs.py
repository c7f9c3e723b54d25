"""What a new text is to the learnings there are: new, a repetition, or a contradiction (F11, F21).

Memory is kept by feature [ralph]: a learning is compared with those of its feature and the person's own, and
with those of other tasks only where one of the two holds for the whole feature (F25). Finding all pairs takes
long among very many learnings: they are kept under a digest of the texts, in memory and beside the journals,
until one of the texts changes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from workbench import __version__
from workbench.errors import StoreError
from workbench.records.conversion import convert
from workbench.records.dataclass import dataclass
from workbench.records.learnings import (
    DeduplicationResult,
    FeatureLearning,
    LearningConflict,
    LearningDuplicate,
    Unique,
)

if TYPE_CHECKING:
    from workbench.comparison.candidates import TextPair
    from workbench.comparison.verdicts import TextJudgement


GENERATION: Final = "learning_pairs"
_FILE: Final = "pairs.json"
_FORMAT: Final = 4
_SMALL: Final = 50
"""Collections of fewer texts are searched again faster than they are kept."""

Finder = Callable[[Sequence[str]], "list[TextPair]"]
Latest = Callable[[str], Path | None]
Publish = Callable[[str, Callable[[Path], None]], Path]


class PairCache:
    """Finds the pairs of collections; with `latest` and `publish` across processes.

    `progress` receives (texts compared, of how many) of each collection that was not known.
    """

    def __init__(self, latest: Latest | None = None, publish: Publish | None = None) -> None:
        self._latest = latest
        self._publish = publish
        self._known: dict[str, list[TextPair]] | None = None
        self._used: dict[str, list[TextPair]] = {}
        self._new = False
        self.progress: Callable[[int, int], None] | None = None

    def find(self, texts: Sequence[str]) -> list[TextPair]:
        """Return what `find_duplicates` does."""
        from workbench.comparison.candidates import find_duplicates

        if len(texts) < _SMALL:
            return find_duplicates(texts)
        if self._known is None:
            self._known = self._load()
        key = _digest_texts(texts)
        found = self._used.get(key)
        if found is None:
            found = self._known.get(key)
        if found is None:
            found, self._new = find_duplicates(texts, progress=self.progress), True
        self._used[key] = self._known[key] = found
        return list(found)

    def keep(self) -> None:
        """Keep what was found since the last time; what nobody asked for since is forgotten."""
        used, self._used, new, self._new = self._used, {}, self._new, False
        if not new or self._publish is None:
            return
        self._known = used
        body = {"version": f"{__version__} {_FORMAT}", "groups": used}
        data = msgspec.json.encode(body)
        try:
            self._publish(GENERATION, lambda directory: _write(directory, data))
        except StoreError:
            return  # where nothing can be kept, each process finds them itself

    def _load(self) -> dict[str, list[TextPair]]:
        from workbench.comparison.candidates import TextPair

        directory = self._latest(GENERATION) if self._latest is not None else None
        if directory is None:
            return {}
        try:
            document: Any = json.loads((directory / _FILE).read_bytes())
            if document["version"] != f"{__version__} {_FORMAT}":
                return {}
            return convert(document["groups"], dict[str, list[TextPair]])
        except (OSError, ValueError, KeyError, TypeError, msgspec.MsgspecError):
            return {}  # damaged: found again instead


def _digest_texts(texts: Sequence[str]) -> str:
    digest = sha256()
    for text in texts:
        encoded = text.encode("utf-8", "surrogatepass")
        digest.update(len(encoded).to_bytes(4, "big") + encoded)
    return digest.hexdigest()


def _write(directory: Path, data: bytes) -> None:
    (directory / _FILE).write_bytes(data)


@dataclass(frozen=True, slots=True)
class JudgedPair:
    """Two learnings, `left` before `right` by id, that repeat or contradict each other."""

    left: FeatureLearning
    right: FeatureLearning
    judgement: TextJudgement


def check_deduplication(new_text: str, existing: Sequence[FeatureLearning]) -> DeduplicationResult:
    """Return whether a text is new, says what one of the learnings says, or contradicts one [ralph].

    A contradiction is never merged: it is for a person to decide.
    """
    if not existing:
        return Unique()
    from workbench.comparison.candidates import DuplicateIndex
    from workbench.comparison.verdicts import TextVerdict

    found = DuplicateIndex(one.text for one in existing).check(new_text)
    if found is None:
        return Unique()
    if found.judgement.verdict is TextVerdict.CONFLICT:
        return LearningConflict(found.index, new_text, _evidence(found.judgement))
    return LearningDuplicate(found.index, _evidence(found.judgement))


def comparable(learning: FeatureLearning, others: Iterable[FeatureLearning]) -> list[FeatureLearning]:
    """Return the others that a learning could repeat or contradict, in their order."""
    return [other for other in others if other.id != learning.id and _may_collide(learning, other)]


def find_pairs(learnings: Sequence[FeatureLearning], find: Finder | None = None) -> list[JudgedPair]:
    """Return the pairs of learnings that repeat or contradict each other, surest first, ties by ids.

    `find` finds those of a list of texts, by default without any cache.
    """
    from workbench.comparison.candidates import find_duplicates

    find = find or find_duplicates
    by_feature: dict[str, list[FeatureLearning]] = {}
    own = [learning for learning in learnings if learning.project_id is None]
    for one in learnings:
        if one.project_id is not None:
            by_feature.setdefault(one.feature, []).append(one)
    found: dict[tuple[str, str], JudgedPair] = {}
    for group in (own, *(by_feature[feature] + own for feature in sorted(by_feature))):
        for pair in find([one.text for one in group]):
            left, right = sorted((group[pair.left], group[pair.right]), key=lambda one: one.id)
            if _may_collide(left, right):
                found.setdefault((left.id, right.id), JudgedPair(left, right, pair.judgement))
    return sorted(found.values(), key=lambda one: (-one.judgement.score, one.left.id, one.right.id))


def _may_collide(left: FeatureLearning, right: FeatureLearning) -> bool:
    if left.feature != right.feature and left.project_id is not None and right.project_id is not None:
        return False
    if left.task_id is not None and right.task_id is not None and left.task_id != right.task_id:
        return False
    return not (left.scope and right.scope and set(left.scope).isdisjoint(right.scope))


def _evidence(judgement: TextJudgement) -> str:
    return "; ".join(f"{one.test}: {one.detail}" for one in judgement.evidence[:3])
