"""A project as the signals see it: index and history with everything about them that no task changes.

Computed once per state: recency, frequency, fan-in, roles, memberships in layers, and where words point.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from workbench.project.index import ProjectIndex
from workbench.project.languages import is_changelog
from workbench.records.dataclass import dataclass
from workbench.records.project import Role
from workbench.sessions.history import History, path_numbers
from workbench.text.terms import parts, stem

Float32 = NDArray[np.float32]
Int64 = NDArray[np.int64]

ROLES = tuple(Role)
HALF_LIVES = (1.0, 3.0, 12.0, 50.0, 250.0)  # in tasks, newest first

_TEST_AFFIX = re.compile(r"^(?:test|spec)_?|_?(?:tests?|specs?|unittest)$")
_RISK = frozenset(
    stem(word)
    for word in "auth login session token password permission payment billing crypto security core".split()
)
_NEWS = re.compile(r"\0(?:change|history|news|release)", re.IGNORECASE)  # how names of changelogs begin
_NO_NAME = "\0"  # between names that are searched at once


@dataclass(frozen=True, slots=True)
class RankingView:
    """An index and a history with everything about them that no task changes.

    known: int64 [p] history path → file position or -1; pairs_*: the history's pairs whose file still exists
    recency: float32 [4, n], one row per half-life
    """

    index: ProjectIndex
    history: History
    pairs_task: Int64
    pairs_file: Int64
    pair_weight: Float32
    recency: Float32
    frequency: Float32
    last_seen: Float32
    fix_share: Float32
    fan_in: Float32
    fan_out: Float32
    size: Float32
    test_proximity: Float32
    layers: dict[str, Float32]
    places: Places


@dataclass(frozen=True, slots=True)
class Places:
    """What follows from paths alone. float32 or int64 [n]; the mappings lead from a word to positions."""

    roles: Int64
    risk: Float32
    changelog: Float32
    depth: Float32
    top: Float32
    parents: tuple[str, ...]
    folder_of: Int64
    stems: Mapping[str, tuple[int, ...]]
    names: Mapping[str, tuple[int, ...]]
    folders: FolderFiles


class FolderFiles:
    """The files below the folders of a name: a task asks for a few of them."""

    def __init__(self, inside: Mapping[str, Sequence[int]]) -> None:
        """Take the positions of the files of each folder."""
        self._inside = inside
        self._folders: dict[str, list[str]] = {}
        keys: dict[str, str] = {}
        for folder in inside:
            for name in set(folder.split("/")) if folder else ():
                key = keys.get(name)
                if key is None:
                    key = keys[name] = "".join(parts(name))
                self._folders.setdefault(key, []).append(folder)

    def get(self, name: str) -> tuple[int, ...] | None:
        """Return the positions of files below folders of that name, None if there is no such folder."""
        folders = self._folders.get(name)
        return None if folders is None else tuple(sorted(chain(*map(self._inside.__getitem__, folders))))

    def by_parent(self, name: str) -> dict[str, set[str]]:
        """Return the folders of a name, as they are written, by the folder they are in."""
        found: dict[str, set[str]] = {}
        for folder in self._folders.get(name, ()):
            pieces = folder.split("/")
            for depth, piece in enumerate(pieces):
                if "".join(parts(piece)) == name:
                    found.setdefault("/".join(pieces[:depth]), set()).add(piece)
        return found

    def below(self, parent: str) -> Iterator[tuple[str, Sequence[int]]]:
        """Yield the name of the child and the positions of files for each folder below another."""
        start = f"{parent}/" if parent else ""
        for folder, positions in self._inside.items():
            if folder.startswith(start) and folder:
                yield folder[len(start) :].partition("/")[0], positions


def view_project(
    index: ProjectIndex, history: History, *, touched: Sequence[str] = (), previous: RankingView | None = None
) -> RankingView:
    """Precompute everything a task does not change.

    `touched` are paths with uncommitted edits: they count as a task newer than any other. What a `previous`
    view knows of the same paths is taken over.
    """
    count = index.count
    if previous is not None and previous.index.positions is index.positions:
        places = previous.places
    else:
        places = _places(index)
    known = path_numbers(history, index.positions)
    files = known[history.files] if len(history.files) else np.zeros(0, dtype=np.int64)
    keep = files >= 0
    pairs_file = files[keep]
    pairs_task = history.tasks[keep].astype(np.int64)
    weight = (1.0 / np.sqrt(np.maximum(history.sizes, 1))).astype(np.float32)[pairs_task]
    weight = weight * history.trust[keep]
    rows = [total(pairs_file, weight * np.exp2(-pairs_task / half), count) for half in HALF_LIVES]
    last = np.full(count, np.inf, dtype=np.float64)
    np.minimum.at(last, pairs_file, pairs_task.astype(np.float64))
    for path in touched:
        position = index.positions.get(path)
        if position is not None:
            last[position] = 0.0
            for row in rows:
                row[position] += 1.0
    frequency = total(pairs_file, np.ones(len(pairs_file), dtype=np.float32), count)
    fixes = total(pairs_file, history.fixes[pairs_task].astype(np.float32), count)
    edges = index.edges
    return RankingView(
        index=index,
        history=history,
        pairs_task=pairs_task,
        pairs_file=pairs_file,
        pair_weight=weight,
        recency=np.stack(rows) if rows else np.zeros((0, count), dtype=np.float32),
        frequency=np.log1p(frequency),
        last_seen=(1.0 / (1.0 + last / 5.0)).astype(np.float32),
        fix_share=(fixes / (frequency + 3.0)).astype(np.float32),
        fan_in=np.log1p(np.bincount(edges[:, 1], minlength=count)).astype(np.float32),
        fan_out=np.log1p(np.bincount(edges[:, 0], minlength=count)).astype(np.float32),
        size=(np.log1p(index.size) / 16.0).astype(np.float32),
        test_proximity=test_proximity(index.tests.astype(np.int64), pairs_task, pairs_file, count),
        layers=_layer_membership(index, places, rows[2], edges),
        places=places,
    )


def _places(index: ProjectIndex) -> Places:
    numbers = {role: number for number, role in enumerate(ROLES)}
    split = [path.rpartition("/") for path in index.paths]
    parents, own = tuple(parent for parent, _, _ in split), [name for _, _, name in split]
    stems, names, inside = _pointers(parents, own, index.alive.tolist())
    depth = np.asarray([path.count("/") for path in index.paths], dtype=np.float32)
    places = {parent: number for number, parent in enumerate(dict.fromkeys(parents))}
    return Places(
        roles=np.asarray([numbers[role] for role in index.roles], dtype=np.int64),
        risk=_risks(index.paths),
        changelog=_changelogs(own),
        depth=depth / 8.0,
        top=(depth == 0).astype(np.float32),
        parents=parents,
        folder_of=np.asarray([places[parent] for parent in parents], dtype=np.int64),
        stems=stems,
        names=names,
        folders=FolderFiles(inside),
    )


def _layer_membership(
    index: ProjectIndex, places: Places, recent: Float32, edges: NDArray[np.int32]
) -> dict[str, Float32]:
    """Each file's membership in each layer, float32 [n] in [0, 1]: by fan-in in L1-L3, by recency in L6."""
    count, roles = index.count, places.roles
    fan_in = np.log1p(np.bincount(edges[:, 1], minlength=count))
    rank = ((1.0 + fan_in) / (1.0 + fan_in.max(initial=0.0))).astype(np.float32)
    source = (roles == ROLES.index(Role.SOURCE)).astype(np.float32)
    tested = np.zeros(count, dtype=np.float32)
    tested[index.tests.ravel()] = 1.0
    return {
        "L0": places.top,
        "L1": source * rank,
        "L2": source * rank,
        "L3": source * rank * (np.asarray(index.lines) > 0),
        "L4": (roles == ROLES.index(Role.BUILD)).astype(np.float32),
        "L5": tested,
        "L6": (recent / max(float(recent.max(initial=0.0)), 1e-9)).astype(np.float32),
    }


def test_proximity(tests: Int64, tasks: Int64, files: Int64, count: int) -> Float32:
    """Return float32 [n] in [0, 1], how near each file is to tests [img 7.3], whatever the task.

    tests: [e, 2] pairs of a test and a file it tests; tasks, files: [p] ends of what past tasks touched. It
    is 0 for a file without tests, which test nothing, and from 0.5 to 1 by the largest share of their past
    tasks that one of its pairs has in common (Jaccard).
    """
    found = np.zeros(count, dtype=np.float32)
    if not len(tests):
        return found
    order = np.argsort(files, kind="stable")
    starts = np.searchsorted(files[order], np.arange(count + 1))
    degrees = np.diff(starts)
    lengths = degrees[tests[:, 0]]
    pair_of = np.repeat(np.arange(len(tests)), lengths)
    within = np.arange(len(pair_of)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    touched = tasks[order][within + np.repeat(starts[tests[:, 0]], lengths)]
    theirs, pairs = touched * count + tests[pair_of, 1], np.sort(tasks * count + files)
    both = pairs[np.minimum(np.searchsorted(pairs, theirs), len(pairs) - 1)] == theirs if len(pairs) else []
    shared = np.bincount(pair_of, weights=both, minlength=len(tests))
    either = degrees[tests[:, 0]] + degrees[tests[:, 1]] - shared
    values = (0.5 + 0.5 * shared / np.maximum(either, 1)).astype(np.float32)
    for side in (0, 1):
        np.maximum.at(found, tests[:, side], values)
    return found


def total(positions: Int64 | NDArray[np.int32], weights: NDArray[np.floating], count: int) -> Float32:
    """Return float32 [count]: the sum of the weights at each position."""
    return np.bincount(positions, weights=weights, minlength=count).astype(np.float32)


def _risks(paths: Sequence[str]) -> Float32:
    """Return 1 for each path with a word of risk, else 0."""
    found = np.zeros(len(paths), dtype=np.float32)
    joined = _NO_NAME.join(["", *paths, ""]).lower()
    rows = {row for word in sorted(_RISK) for row in _rows_at(joined, _places_of(joined, word))}
    for row in rows:  # a stem begins every word it is the stem of
        found[row] = not _RISK.isdisjoint(stem(piece) for piece in parts(paths[row]))
    return found


def _changelogs(names: Sequence[str]) -> Float32:
    """Return 1 for each name of a changelog, else 0."""
    found = np.zeros(len(names), dtype=np.float32)
    joined = _NO_NAME.join(["", *names, ""])
    for row in _rows_at(joined, (match.end() for match in _NEWS.finditer(joined))):
        found[row] = is_changelog(names[row])
    return found


def _places_of(joined: str, word: str) -> Iterator[int]:
    at = joined.find(word)
    while at >= 0:
        yield at
        at = joined.find(word, at + 1)


def _rows_at(joined: str, places: Iterable[int]) -> Iterator[int]:
    """Yield the numbers of the names at ascending places of a text, which begins with `_NO_NAME`."""
    row = before = 0
    for place in places:
        row += joined.count(_NO_NAME, before, place)
        before = place
        yield row - 1


def file_stem(path: str) -> str:
    """Return a file's bare name, lower-cased: `test_textArea.py` → textarea."""
    name = path.rsplit("/", 1)[-1]
    base = name.split(".", 1)[0] if not name.startswith(".") else name.lstrip(".").split(".", 1)[0]
    if base.islower() and base.isascii() and base.isidentifier() and not ("test" in base or "spec" in base):
        return base.replace("_", "")  # what follows gives the same; most names are such
    lowered = "_".join(parts(base))
    return _TEST_AFFIX.sub("", lowered).replace("_", "") or lowered.replace("_", "")


def _pointers(
    parents: Sequence[str], own: Sequence[str], alive: Sequence[bool]
) -> tuple[dict[str, tuple[int, ...]], dict[str, tuple[int, ...]], dict[str, list[int]]]:
    """Return the positions of living files by bare name, by name in lower case and by folder."""
    named: dict[str, list[int]] = {}
    inside: dict[str, list[int]] = {}
    for position, (folder, name, living) in enumerate(zip(parents, own, alive, strict=True)):
        if living:
            named.setdefault(name, []).append(position)
            inside.setdefault(folder, []).append(position)
    return _merge_keys(named, file_stem), _merge_keys(named, str.lower), inside


def _merge_keys(named: Mapping[str, list[int]], key: Callable[[str], str]) -> dict[str, tuple[int, ...]]:
    found: dict[str, list[int]] = {}
    for name, positions in named.items():
        found.setdefault(key(name), []).extend(positions)
    return {name: tuple(sorted(positions)) for name, positions in found.items()}
