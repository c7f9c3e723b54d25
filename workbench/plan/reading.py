"""The order of the first files once they were read: how well single places in them match the task.

A long file has every word of a task somewhere; the one to change has them in one place, or in the name of one
definition. Trees look at what the best places of the first files share with the task beside the features they
were ranked by, and add to their scores (`python -m bench.chunk_training`). The other files follow, as far
apart as they were.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from workbench.plan.features import NamedRow, numbers_of
from workbench.plan.places import COLUMN, PlacedFile, place_features
from workbench.plan.ranking import RankingModel
from workbench.plan.representations import Content
from workbench.plan.trees import ReadModel
from workbench.project.languages import role_of
from workbench.records.dataclass import dataclass
from workbench.records.plan import Intent, RankedFile
from workbench.records.project import Skipped

Float32 = NDArray[np.float32]

READ: Final = 20  # files that are read
SIGNALS: Final = (
    *("place_bm25", "place_bm25.best", "place_bm25.rank", "places_bm25", "places_bm25.best"),
    *("place_cover", "place_cover.best", "place_name", "place_name.best", "place_name_share"),
    *("place_name_exact", "place_parent", "place_uses", "place_literal", "place_neighbour"),
    *("place_named", "place_named.best", "place_named_both", "score_gap"),
)
"""What is known of a file that was read: see `file_signals`."""
_BEST: Final = 3  # places that are summed


def read_first(
    read_model: ReadModel,
    model: RankingModel,
    intent: Intent,
    files: Sequence[RankedFile],
    read: Callable[[str], Content | Skipped],
    *,
    without: Collection[str] = (),
) -> tuple[tuple[RankedFile, ...], RankingModel]:
    """Return files, best first, in the order that reading the first ones gives, and what turns scores into
    chances.

    `without` are signals that do not count.
    """
    first = files[:READ]
    if not first or model.trees is None:
        return (*files,), model
    signals = describe_read(intent, [one.path for one in first], [one.score for one in first], read)
    trees = read_model.trees.leave_out(without) if without else read_model.trees
    known = numbers_of([one.features for one in first], trees.names).astype(np.float32)
    own = {name: column for column, name in enumerate(trees.names) if name in SIGNALS}
    known[:, [*own.values()]] = signals[:, [SIGNALS.index(name) for name in own]]
    given = np.round(trees.contribute(trees.names, known), 4)
    rows = _ReadRows(first, signals.tolist(), given.tolist(), trees.names)
    moved = sorted(map(rows.read, range(len(first))), key=lambda one: (-one.score, one.path))
    drop = moved[-1].score - first[-1].score
    behind = (
        RankedFile(one.path, round(one.score + drop, 6), one.features, one.contributions, one.sources)
        for one in files[READ:]
    )
    return (*moved, *behind), after_reading(model, read_model)


def after_reading(model: RankingModel, read_model: ReadModel) -> RankingModel:
    """Return what turns the scores of files that were read into chances."""
    return replace(
        model, relevance=read_model.relevance, confidence=read_model.confidence, reading=read_model.trees
    )


@dataclass(frozen=True, slots=True, eq=False)
class _ReadRows:
    """Files that were read: the SIGNALS of each, and what each of the named features gave its score."""

    files: Sequence[RankedFile]
    signals: Sequence[Sequence[float]]
    given: Sequence[Sequence[float]]
    names: Sequence[str]

    def read(self, row: int) -> RankedFile:
        """Return a file with its new score."""
        one = self.files[row]
        score = round(one.score + sum(self.given[row]), 6)
        features, given = NamedRow(self.features, row), NamedRow(self.contributions, row)
        return RankedFile(one.path, score, features, given, one.sources)

    def features(self, row: int) -> dict[str, float]:
        """Return the features of a file by name."""
        found = dict(self.files[row].features.items())
        return found | {name: round(v, 4) for name, v in zip(SIGNALS, self.signals[row], strict=True) if v}

    def contributions(self, row: int) -> dict[str, float]:
        """Return what features gave the score of a file, by name."""
        parts = dict(self.files[row].contributions.items())
        for name, value in zip(self.names, self.given[row], strict=True):
            if value:
                parts[name] = parts.get(name, 0.0) + value
        return parts


def describe_read(
    intent: Intent, paths: Sequence[str], scores: Sequence[float], read: Callable[[str], Content | Skipped]
) -> Float32:
    """Return `file_signals` of files, those of one that cannot be read 0."""
    contents = [read(path) for path in paths]
    placed = [
        PlacedFile(path, role_of(path), content.cut, content.data, 0.0, {})
        for path, content in zip(paths, contents, strict=True)
        if isinstance(content, Content)
    ]
    rows, starts = place_features(intent, placed, 0)
    sizes = iter(pairwise(starts))
    blocks = [rows[slice(*next(sizes))] if isinstance(content, Content) else rows[:0] for content in contents]
    return file_signals(blocks, scores)


def file_signals(blocks: Sequence[Float32], scores: Sequence[float]) -> Float32:
    """Return float32 [n, s], the SIGNALS of n files, best first, from the chunks of each.

    blocks: float32 [c, f] of each file, as `place_features` describes chunks; scores: of the files so far.
    `.best` is over the best of all files, `.rank` by place among them. `places_bm25` sums the three best
    chunks; `place_named` is the best product of the words in a chunk and in its name, `place_named_both` of
    the task's share of a name and the name's share of the task.
    """

    highest = np.asarray([block.max(axis=0, initial=0.0) for block in blocks], np.float32)
    highest = highest.reshape(-1, len(COLUMN))

    def best(column: str) -> Float32:
        return np.asarray(highest[:, COLUMN[column]])

    def over_best(values: Float32) -> Float32:
        return np.asarray(values / max(float(values.max(initial=0.0)), 1e-9), dtype=np.float32)

    bm25 = [block[:, COLUMN["bm25"]] for block in blocks]
    place, several = best("bm25"), np.asarray([np.sort(one)[-_BEST:].sum() for one in bm25], np.float32)
    rank = np.empty(len(blocks), np.float32)
    rank[np.argsort(-place, kind="stable")] = np.arange(len(blocks))
    cover, name = best("cover"), best("name")
    named = np.asarray([_most(_name_and_text(block)) for block in blocks], np.float32)
    both = np.asarray([_most(_name_both_ways(block)) for block in blocks], np.float32)
    columns: Iterable[Float32] = (
        *(place, over_best(place), 1.0 / (1.0 + rank / 2.0), several, over_best(several)),
        *(cover, over_best(cover), name, over_best(name), best("name_share")),
        *(best("name_exact"), best("parent"), best("uses"), best("literal"), best("neighbour")),
        *(named, over_best(named), both, np.asarray(scores, np.float32) - np.float32(max(scores, default=0))),
    )
    return np.stack([*columns], axis=1).astype(np.float32)


def _most(values: Float32) -> float:
    return float(values.max(initial=0.0))


def _name_and_text(block: Float32) -> Float32:
    names = block[:, COLUMN["name"]] + block[:, COLUMN["name_share"]]
    return np.asarray(block[:, COLUMN["cover"]] * (np.float32(0.3) + names))


def _name_both_ways(block: Float32) -> Float32:
    return np.asarray(
        block[:, COLUMN["name_share"]] * np.minimum(block[:, COLUMN["name"]] * np.float32(3.0), 1.0)
    )
