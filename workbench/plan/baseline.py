"""The layers L0-L6 of a workspace, and the baseline: files as routing by the kind of task orders them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from workbench.errors import GitError, ParseError
from workbench.plan.ranking import RankingModel
from workbench.plan.workspace import Workspace
from workbench.project.declared import Manifest
from workbench.project.directories import path_filter
from workbench.project.index import ProjectIndex
from workbench.project.layers import LayerSource, PathChange
from workbench.project.manifests import is_manifest, parse_manifest
from workbench.project.scan import read_bytes
from workbench.project.sections import baseline_ranking
from workbench.records.plan import QueryType, RankedFile
from workbench.records.project import Skipped

Int32 = NDArray[np.int32]

_RECENT = 200  # commits that the change digest looks at
_SOURCE = "baseline"


def layer_view(workspace: Workspace, *, notes: list[str] | None = None) -> LayerSource:
    """Return the columns the layers are made from, as of the last sync.

    Manifests are read from disk; those that cannot be read are left out and named in `notes`.
    """
    index = workspace.index
    found = [] if notes is None else notes
    manifests = _manifests(workspace, sorted(index.positions), found)
    return index_layers(index, manifests, _changes(workspace, found))


def index_layers(
    index: ProjectIndex, manifests: Sequence[Manifest], changes: Sequence[PathChange]
) -> LayerSource:
    """Return the columns the layers are made from: the living files of an index, manifests, changes."""
    living = [position for position in range(index.count) if index.alive[position]]
    column = {position: number for number, position in enumerate(living)}
    return LayerSource(
        paths=[index.paths[position] for position in living],
        languages=[index.languages[position] for position in living],
        roles=[index.roles[position] for position in living],
        symbols=lambda number: index.record(living[number])[0],
        edges=_renumber(index.edges, column),
        tests=_renumber(index.tests, column),
        manifests=manifests,
        changes=changes,
    )


def baseline_files(
    workspace: Workspace, query_type: QueryType, model: RankingModel
) -> tuple[RankedFile, ...]:
    """Return the files as the kind of task alone orders them, as a ranking that can be packed."""
    return score_by_place(baseline_ranking(layer_view(workspace), query_type), model, _SOURCE)


def score_by_place(paths: Iterable[str], model: RankingModel, source: str) -> tuple[RankedFile, ...]:
    """Return files whose order is all that is known of them as a ranking that can be packed.

    The file in place k gets the score that the model takes for a relevance of 1 / (k + 1).
    """
    slope, offset = model.relevance
    return tuple(
        RankedFile(
            path=path,
            score=round((-math.log(place) - offset) / slope, 6),
            features={f"{source}_place": float(place)},
            sources=(source,),
        )
        for place, path in enumerate(paths, 1)
    )


def _renumber(pairs: Int32, column: dict[int, int]) -> Int32:
    kept = [(column[a], column[b]) for a, b in pairs.tolist() if a in column and b in column]
    return np.asarray(kept, dtype=np.int32).reshape(-1, 2)


def _manifests(workspace: Workspace, paths: list[str], notes: list[str]) -> list[Manifest]:
    found = []
    for path in filter(is_manifest, paths):
        data = read_bytes(workspace.adapters.root, path, workspace.limits.max_bytes)
        if isinstance(data, Skipped):
            notes.append(f"{path}: {data.reason}")
            continue
        try:
            manifest = parse_manifest(path, data.decode("utf-8", "replace"))
        except ParseError as error:
            notes.append(error.message)
            continue
        if manifest is not None:
            found.append(manifest)
    return found


def _changes(workspace: Workspace, notes: list[str]) -> list[PathChange]:
    control = workspace.adapters.control
    if control is None:
        return []
    try:
        if control.head().sha is None:
            return []
        commits = list(islice(control.commits.newest(_RECENT, None, set()), _RECENT))
        touched = control.touched()
    except GitError as error:
        notes.append(f"changes are not known: {error.message}")
        return []
    admits = path_filter(workspace.limits.excluded)
    changes = [PathChange(path, "modified", math.inf, "uncommitted") for path in touched if admits(path)]
    changes += [
        PathChange(change.path, str(change.kind), float(commit.at), commit.subject)
        for commit in commits
        for change in commit.files
        if admits(change.path)
    ]
    return changes
