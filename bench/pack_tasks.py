"""Tasks for measuring packs: what was ranked, what the files held, and which places turned out to change."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bench.collect import Row, order_row
from bench.ranking import Say, rows_of
from bench.tasks import age_of
from bench.timeline import Timeline, repositories
from store.git_diff import diff_hunks
from store.git_objects import BlobReader, read_tree
from store.git_patches import log_patches
from workbench.errors import GitError
from workbench.plan import cuts
from workbench.plan.intent import parse_intent
from workbench.plan.places import PlacedFile, place_features
from workbench.plan.ranking import RankingModel, log_odds, raise_chances
from workbench.plan.reading import READ, after_reading
from workbench.plan.representations import Content, content_of
from workbench.plan.signals import prepare_query, task_weights
from workbench.plan.touches import chunk_touches, find_touches, task_numbers
from workbench.plan.trees import ReadModel
from workbench.project.admission import content_refusal
from workbench.project.languages import language_of, role_of
from workbench.project.symbols import extract_symbols
from workbench.records.plan import Intent
from workbench.records.worktree import CommitPatch, Hunk
from workbench.replay.packs import changed_lines
from workbench.sessions.edits import collect_edits
from workbench.text.tokens import TokenCounter, token_counter


@dataclass(frozen=True, slots=True)
class PackTask:
    """One task. age: per cent of the history that it had; ranked: (path, chance of being needed), best first.

    likeliest: the chance of the first one before chances are raised.

    files: the first ones as places are looked for in them; rows: float32 [c, f] of all their chunks, those of
    file i from starts[i]; changed: bool [c]. truth: {changed path: old-side lines that were changed or
    removed, or lie beside an insertion}; hunks: as git has them; contents: of the first and changed files.
    """

    id: str
    intent: Intent
    age: int
    ranked: tuple[tuple[str, float], ...]
    files: tuple[PlacedFile, ...]
    rows: NDArray[np.float32]
    starts: tuple[int, ...]
    changed: NDArray[np.bool_]
    truth: Mapping[str, frozenset[int]]
    hunks: Mapping[str, Sequence[Hunk]]
    contents: Mapping[str, Content]
    project_files: int
    likeliest: float

    def changed_lines(self, number: int) -> NDArray[np.int64]:
        """Return how many of the changed lines of a file each of its chunks holds."""
        table = self.files[number].cut.table
        lines = sorted(self.truth.get(self.files[number].path, ()))
        return np.searchsorted(lines, table[:, cuts.END], "right") - np.searchsorted(
            lines, table[:, cuts.START], "left"
        )


def pack_tasks(
    timeline: Timeline,
    rows: Sequence[Row],
    model: RankingModel,
    files: ReadModel | None,
    counter: TokenCounter,
) -> Iterator[PackTask]:
    """Yield a pack task for each replayed task whose changed lines can be read, ranked as plans rank it."""
    patches = {patch.sha: patch for patch in log_patches(timeline.repository, until=timeline.tip or "HEAD")}
    known: dict[tuple[str, str], Content] = {}
    with BlobReader(timeline.repository, 1 << 20) as reader:
        for row in rows:
            tree = {path: sha for path, sha, _size in read_tree(timeline.repository, row.task.revision)}
            ranked, likeliest = _ranked(row, model, files)
            wanted = [path for path, _chance in ranked[:READ]]
            contents: dict[str, Content] = {}
            for path in [*wanted, *sorted(row.truth.difference(wanted))]:
                key = (path, tree.get(path, ""))
                if key[1] and key not in known:
                    data = reader.read(key[1])
                    if data is None or content_refusal(path, data) is not None:
                        continue
                    language = language_of(path, data[:200].decode("utf-8", "replace").split("\n", 1)[0])
                    known[key] = content_of(path, data, extract_symbols(language, data)[0], counter)
                if key in known:
                    contents[path] = known[key]
            try:
                hunks = diff_hunks(timeline.repository, row.task.revision, row.task.commit)
            except GitError:  # a blob that the clone lacks
                continue
            task = _pack_task(timeline, row, ranked, likeliest, contents, hunks, len(tree), patches)
            if task.truth:
                yield task


def _ranked(
    row: Row, model: RankingModel, files: ReadModel | None
) -> tuple[tuple[tuple[str, float], ...], float]:
    """Return the files of a row with their chances, best first, and the likeliest one's, not raised."""
    order, scores = order_row(row, model, files)
    after = model if files is None else after_reading(model, files)
    odds = log_odds(after, scores[order].tolist())
    chances = raise_chances(odds).tolist()
    likeliest = float(1.0 / (1.0 + np.exp(-odds.max(initial=-np.inf))))
    return tuple(
        (row.paths[number], chance) for number, chance in zip(order, chances, strict=True)
    ), likeliest


def _pack_task(
    timeline: Timeline,
    row: Row,
    ranked: tuple[tuple[str, float], ...],
    likeliest: float,
    contents: Mapping[str, Content],
    hunks: Mapping[str, Sequence[Hunk]],
    project_files: int,
    patches: Mapping[str, CommitPatch],
) -> PackTask:
    intent = parse_intent(row.task.text)
    past, history = timeline.history(row.task.revision)
    edits = collect_edits(patches[sha] for sha in past if sha in patches)
    likeness = task_weights(history, prepare_query(intent).terms)[0].tolist()
    tasks = task_numbers(history.times.tolist())
    files = tuple(
        PlacedFile(
            path,
            role_of(path),
            contents[path].cut,
            contents[path].data,
            chance,
            chunk_touches(contents[path].cut, find_touches(edits.get(path, ()), tasks, likeness)),
        )
        for path, chance in ranked[:READ]
        if path in contents
    )
    rows, starts = place_features(intent, files, project_files)
    truth = {
        path: changed_lines(hunks.get(path, ()), contents[path].cut.lines)
        for path in sorted(row.truth)
        if path in contents
    }
    task = PackTask(
        id=row.task.id,
        intent=intent,
        age=age_of(timeline, row.task),
        ranked=ranked,
        files=files,
        rows=rows,
        starts=tuple(starts),
        changed=np.zeros(len(rows), np.bool_),
        truth={path: changed for path, changed in truth.items() if changed},
        hunks={path: tuple(hunks.get(path, ())) for path in truth},
        contents=contents,
        project_files=project_files,
        likeliest=likeliest,
    )
    for number, (start, end) in enumerate(pairwise(starts)):
        task.changed[start:end] = task.changed_lines(number) > 0
    return task


def tasks_of(
    folder: Path,
    name: str,
    kind: str,
    count: int,
    *,
    cache: Path,
    ranking: RankingModel,
    files: ReadModel | None,
    say: Say,
) -> list[PackTask]:
    """Return the pack tasks of a repository, of a kind of `bench.ranking`; a missing one has none."""
    clones = repositories(folder, [name])
    rows = rows_of(folder, name, kind, count, cache=cache, embed=None, say=say, models=(ranking,))
    if not clones or not rows:
        return []
    return list(pack_tasks(Timeline(clones[0]), rows, ranking, files, token_counter()))
