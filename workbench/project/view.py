"""What the layers are made from and made of: a project in columns, and sections of entries."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from workbench.records.plan import Detail, QueryType
from workbench.records.project import Role, Symbol

if TYPE_CHECKING:
    from workbench.project.manifests import Manifest

Int32 = NDArray[np.int32]


class Layer(StrEnum):
    """What a layer shows."""

    L0 = "L0"
    L1 = "L1"
    L2 = "L2"
    L3 = "L3"
    L4 = "L4"
    L5 = "L5"
    L6 = "L6"


TITLES = {
    Layer.L0: "project map",
    Layer.L1: "module index",
    Layer.L2: "type graph",
    Layer.L3: "API surface",
    Layer.L4: "dependency manifest",
    Layer.L5: "test map",
    Layer.L6: "change digest",
}


@dataclass(frozen=True, slots=True)
class Limits:
    """How much each layer shows: files × symbols (L2, L3, L4), modules (L0, L1, L5), changes (L6)."""

    files: int
    symbols: int
    modules: int
    changes: int


@dataclass(frozen=True, slots=True)
class Change:
    """A path that changed. `kind` is added, modified or removed; `at` is seconds since the epoch."""

    path: str
    kind: str
    at: float
    note: str = ""


@dataclass(frozen=True, slots=True)
class ProjectView:
    """What the layers are made from: n living files in columns.

    symbols: definitions by position, asked only for files that are shown; edges: int32 [m, 2] importer →
    imported; tests: int32 [t, 2] test → source; changes: any order, latest ones are shown first.
    """

    paths: Sequence[str]
    languages: Sequence[str]
    roles: Sequence[Role]
    symbols: Callable[[int], Sequence[Symbol]]
    edges: Int32
    tests: Int32
    manifests: Sequence[Manifest] = ()
    changes: Sequence[Change] = ()


@dataclass(frozen=True, slots=True)
class LayerEntry:
    """A line of a layer with the lines under it. `path` is '' for entries that are no file."""

    path: str
    text: str
    details: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LayerSection:
    """One layer. `total` counts what could have been shown."""

    layer: Layer
    entries: tuple[LayerEntry, ...]
    total: int


@dataclass(frozen=True, slots=True)
class LayerView:
    """The layers a kind of task is routed to."""

    query_type: QueryType
    detail: Detail
    sections: tuple[LayerSection, ...] = field(default=())

    @property
    def paths(self) -> list[str]:
        """The files shown, in order of first appearance."""
        return list(
            dict.fromkeys(entry.path for section in self.sections for entry in section.entries if entry.path)
        )
