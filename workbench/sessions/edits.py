"""The lines that past commits changed, by file: the latest edits of each, kept as a generation of their own.

They cost a millisecond a commit to read, so that `workbench index` reads them and a plan only those of a few
new commits; where there are none, plans do without.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import field
from pathlib import Path
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from workbench.errors import GitError, StoreError
from workbench.ports import Damaged
from workbench.project.arrays import offsets, open_arrays, write_arrays
from workbench.records.conversion import path_bytes, path_text
from workbench.records.dataclass import dataclass
from workbench.records.worktree import CommitPatch, Hunk

GENERATION: Final = "edits"
MAX_EDITS: Final = 12  # of a file; older ones say little, and their lines have moved too often
MAX_HUNKS: Final = 100  # an edit of more rewrote the file
CATCH_UP: Final = 100  # commits that a plan reads at most

_FILE: Final = "edits.arrays"


@dataclass(frozen=True, slots=True)
class FileEdit:
    """What one commit did to one file. `at` is its time in seconds.

    `hunks` are in line order, as `git diff --unified=0` gives them; none where the `whole` file was written.
    """

    at: int
    hunks: tuple[Hunk, ...]
    whole: bool = False


@dataclass(frozen=True, slots=True)
class Edits:
    """The latest edits of each file as of the commit `tip`, read from the newest `depth` commits.

    `unreadable` is how many of those git could not read.
    starts: int64 [p + 1] of p paths into at, whole [e] and bounds int64 [e + 1]; bounds into hunks int32
    [h, 4]. `moved` holds the lines of edits where they are now, by path, once somebody asked for them.
    """

    tip: str
    depth: int
    places: Mapping[bytes, int]
    starts: NDArray[np.int64]
    at: NDArray[np.int64]
    whole: NDArray[np.bool_]
    bounds: NDArray[np.int64]
    hunks: NDArray[np.int32]
    unreadable: int = 0
    moved: dict[str, tuple[tuple[int, tuple[tuple[int, int], ...]], ...]] = field(
        default_factory=dict, init=False
    )

    def of(self, path: str) -> tuple[FileEdit, ...]:
        """Return the latest edits of a file, newest first."""
        return self._edits(self.places.get(path_bytes(path), -1))

    def _edits(self, place: int) -> tuple[FileEdit, ...]:
        if place < 0:
            return ()
        found = []
        for edit in range(int(self.starts[place]), int(self.starts[place + 1])):
            rows = self.hunks[int(self.bounds[edit]) : int(self.bounds[edit + 1])].tolist()
            found.append(
                FileEdit(int(self.at[edit]), tuple(Hunk(*row) for row in rows), bool(self.whole[edit]))
            )
        return tuple(found)

    def all(self) -> dict[str, tuple[FileEdit, ...]]:
        """Return the edits of every file."""
        return {path_text(raw): self._edits(place) for raw, place in self.places.items()}


def collect_edits(
    patches: Iterable[CommitPatch], before: Mapping[str, tuple[FileEdit, ...]] | None = None
) -> dict[str, tuple[FileEdit, ...]]:
    """Return the latest edits of each file, newest first, under the name the file has now.

    patches: newest first; `before` are the edits of before all of them.
    """
    edits: dict[str, list[FileEdit]] = {}
    today: dict[str, str] = {}
    for patch in patches:
        for file in patch.files:
            path = today.get(file.path, file.path)
            if file.old_path:
                today[file.old_path] = path
            held = edits.setdefault(path, [])
            if len(held) < MAX_EDITS and not (held and held[-1].whole):
                whole = file.whole or len(file.hunks) > MAX_HUNKS
                held.append(FileEdit(patch.at, () if whole else file.hunks, whole))
    for name, older in (before or {}).items():
        held = edits.setdefault(today.get(name, name), [])
        if not (held and held[-1].whole):
            held += older[: MAX_EDITS - len(held)]
    return {path: tuple(edit) for path, edit in edits.items()}


def save_edits(
    edits: Mapping[str, tuple[FileEdit, ...]], tip: str, depth: int, directory: Path, unreadable: int = 0
) -> None:
    """Write edits into a directory; `load_edits` opens them memory-mapped."""
    flat = [edit for path in sorted(edits) for edit in edits[path]]
    document = {
        "tip": tip,
        "depth": depth,
        "unreadable": unreadable,
        "paths": [path_bytes(path) for path in sorted(edits)],
    }
    rows = [msgspec.structs.astuple(hunk) for edit in flat for hunk in edit.hunks]
    write_arrays(
        directory / _FILE,
        {
            "document": msgspec.msgpack.encode(document),
            "starts": offsets([len(edits[path]) for path in sorted(edits)]),
            "at": np.asarray([edit.at for edit in flat], dtype=np.int64),
            "whole": np.asarray([edit.whole for edit in flat], dtype=np.bool_),
            "bounds": offsets([len(edit.hunks) for edit in flat]),
            "hunks": np.asarray(rows, dtype=np.int32).reshape(-1, 4),
        },
    )


def load_edits(directory: Path) -> Edits | None:
    """Open what `save_edits` wrote; None if it is damaged."""
    try:
        arrays = open_arrays(directory / _FILE)
        document = msgspec.msgpack.decode(arrays.pop("document").data)
        places = {bytes(raw): place for place, raw in enumerate(document["paths"])}
        found = Edits(
            str(document["tip"]),
            int(document["depth"]),
            places,
            **{name: arrays[name] for name in ("starts", "at", "whole", "bounds", "hunks")},
            unreadable=int(document.get("unreadable", 0)),
        )
        sound = len(found.starts) == len(places) + 1 and len(found.bounds) == len(found.at) + 1
    except (OSError, ValueError, KeyError, TypeError, msgspec.MsgspecError):
        return None
    return found if sound else None


@dataclass(frozen=True, slots=True)
class EditStore:
    """Where edits come from and go to.

    `open()` and `publish(write)` are of the generation. `patches(limit, since, unreadable)` yields the newest
    commits with what they did to lines, newest first, without those that the commit `since` reaches, and adds
    the ids of those that it cannot read to `unreadable`; `distance(since)` is how many those are, None where
    the line of `since` is another one. Both may raise GitError.
    """

    open: Callable[[], Path | Damaged | None]
    publish: Callable[[Callable[[Path], None]], Path]
    lock: Callable[[], AbstractContextManager[None]]
    patches: Callable[[int | None, str | None, set[str]], Iterator[CommitPatch]]
    distance: Callable[[str], int | None]


class EditKeeper:
    """Keeps the edits of one project; not thread-safe."""

    def __init__(self, store: EditStore | None) -> None:
        self.store = store
        self._held: tuple[Path, Edits | None] | None = None

    def at(self, head: str | None, depth: int) -> Edits | None:
        """Return the edits as of the commit `head`, None before `sync` made any.

        Where too many commits are missing, and where version control or the disk fail, they are those of the
        last sync.
        """
        held = self._open()
        if held is None or self.store is None or head is None or held.tip == head:
            return held
        try:
            missing = self.store.distance(held.tip)
            if missing is not None and missing <= CATCH_UP:
                return self._renew(self.store, held, head, depth)
        except (GitError, StoreError):
            pass
        return held

    def sync(self, head: str | None, depth: int, *, rebuild: bool = False) -> None:
        """Read the edits of the newest `depth` commits up to `head`. Raises: GitError, StoreError."""
        store = self.store
        if store is None or head is None or not depth:
            return
        held = None if rebuild else self._open()
        if held is not None and held.depth < depth:
            held = None
        if held is None or held.tip != head:
            known = held if held is not None and store.distance(held.tip) is not None else None
            self._renew(store, known, head, depth)

    def _renew(self, store: EditStore, known: Edits | None, head: str, depth: int) -> Edits | None:
        with store.lock():
            unreadable: set[str] = set()
            patches = store.patches(depth, None if known is None else known.tip, unreadable)
            edits = collect_edits(patches, None if known is None else known.all())
            count = len(unreadable) + (0 if known is None else known.unreadable)
            store.publish(lambda directory: save_edits(edits, head, depth, directory, count))
        return self._open()

    def _open(self) -> Edits | None:
        directory = None if self.store is None else self.store.open()
        if directory is None or isinstance(directory, Damaged):
            return None
        if self._held is None or self._held[0] != directory:
            self._held = directory, load_edits(directory)
        return self._held[1]
