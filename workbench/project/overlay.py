"""The few files in which an index differs from its generation, kept beside it instead of writing another.

To write a generation takes longer than everything else in a plan; the facts of a few changed files are
written in a moment, and applied to the generation without reading the files again.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import field, replace
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from workbench.project.index import ProjectIndex
from workbench.records.conversion import decode_msgpack, path_bytes, path_text
from workbench.records.dataclass import dataclass
from workbench.records.project import FileFacts

if TYPE_CHECKING:
    from workbench.project.updates import Relations


@dataclass(frozen=True, slots=True)
class Overlay:
    """Changed and added files, {path: (facts, bytes)}, and the paths that are not in the index any more.

    `relations` are those of the generation with all that, None where they are the generation's.
    """

    changed: Mapping[str, tuple[FileFacts, int]] = field(default_factory=dict)
    removed: frozenset[str] = frozenset()
    relations: Relations | None = None

    def __len__(self) -> int:
        return len(self.changed) + len(self.removed)


def apply_overlay(ground: ProjectIndex, overlay: Overlay) -> ProjectIndex:
    """Return the index of a generation with the differences."""
    if not overlay:
        return ground
    from workbench.project.updates import update_index

    return update_index(ground, overlay.changed, overlay.removed, overlay.relations)


def extend_overlay(
    ground: ProjectIndex,
    overlay: Overlay,
    index: ProjectIndex,
    changed: Mapping[str, tuple[FileFacts, int]],
    removed: Collection[str],
) -> tuple[ProjectIndex, Overlay]:
    """Return the index and the overlay after further changes; `index` is the generation with the overlay."""
    from workbench.project.updates import keeps_relations

    kept = {path: facts for path, facts in overlay.changed.items() if path not in removed}
    relations = overlay.relations if not removed and keeps_relations(index, changed) else None
    after = Overlay({**kept, **changed}, (overlay.removed | frozenset(removed)) - changed.keys(), relations)
    found = apply_overlay(ground, after)
    same = found.edges is ground.edges
    return found, replace(after, relations=None if same else (found.edges, found.tests))


def pack_overlay(overlay: Overlay) -> bytes:
    """Return an overlay as bytes; names need not be UTF-8."""
    changed = sorted((path_bytes(path), *found) for path, found in overlay.changed.items())
    removed = sorted(map(path_bytes, overlay.removed))
    related = (
        None if overlay.relations is None else [one.astype("<i4").tobytes() for one in overlay.relations]
    )
    return msgspec.msgpack.encode((changed, removed, related))


def unpack_overlay(data: bytes) -> Overlay:
    """Undo `pack_overlay`. Raises: ValueError for anything else."""
    packed = decode_msgpack(data, _Packed)
    changed = {path_text(path): (facts, size) for path, facts, size in packed.changed}
    related = None
    if packed.relations is not None:
        edges, tests = (np.frombuffer(one, np.dtype("<i4")).reshape(-1, 2) for one in packed.relations)
        related = (edges, tests)
    return Overlay(changed, frozenset(map(path_text, packed.removed)), related)


class _Packed(msgspec.Struct, array_like=True):
    changed: tuple[tuple[bytes, FileFacts, int], ...]
    removed: tuple[bytes, ...]
    relations: tuple[bytes, bytes] | None
