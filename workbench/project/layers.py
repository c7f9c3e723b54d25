"""What the layers are made from and made of: a project in columns, sections of entries, text and JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from workbench.records.answers.project import ExploreResponse, ShownEntry, ShownLayer
from workbench.records.dataclass import dataclass
from workbench.records.plan import Detail, QueryType
from workbench.records.project import Layer, Role, Symbol
from workbench.text.sanitize import visible_line

if TYPE_CHECKING:
    from workbench.project.declared import Manifest

Int32 = NDArray[np.int32]


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
class LayerLimits:
    """How much each layer shows: files × symbols (L2, L3, L4), modules (L0, L1, L5), changes (L6)."""

    files: int
    symbols: int
    modules: int
    changes: int


@dataclass(frozen=True, slots=True)
class PathChange:
    """A path that changed. `kind` is added, modified or removed; `at` is seconds since the epoch."""

    path: str
    kind: str
    at: float
    note: str = ""


@dataclass(frozen=True, slots=True)
class LayerSource:
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
    changes: Sequence[PathChange] = ()


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


_ALL = tuple(Layer)
ROUTES: dict[QueryType, tuple[Layer, ...]] = {
    QueryType.GENERAL: _ALL,
    QueryType.UNKNOWN: _ALL,
    QueryType.BUGFIX: (Layer.L1, Layer.L3, Layer.L5, Layer.L6),
    QueryType.FEATURE: (Layer.L0, Layer.L1, Layer.L2, Layer.L3, Layer.L4, Layer.L5),
    QueryType.REFACTOR: (Layer.L1, Layer.L2, Layer.L3, Layer.L5),
    QueryType.INCIDENT: (Layer.L3, Layer.L4, Layer.L6),
}


LIMITS = {
    Detail.COMPACT: LayerLimits(files=5, symbols=8, modules=10, changes=8),
    Detail.NORMAL: LayerLimits(files=10, symbols=16, modules=20, changes=32),
    Detail.VERBOSE: LayerLimits(files=30, symbols=32, modules=50, changes=100),
}


def route(query_type: QueryType) -> tuple[Layer, ...]:
    """Return the layers for a kind of task."""
    return ROUTES[query_type]


def render(view: LayerView) -> str:
    """Return the layers as text, one heading a layer, one line an entry, details indented."""
    lines: list[str] = []
    for section in view.sections:
        lines.append(f"{section.layer} {TITLES[section.layer]}")
        lines.extend(_entry_lines(section.entries))
        if not section.entries:
            lines.append("  nothing known")
    return "\n".join(lines) + "\n" if lines else ""


def _entry_lines(entries: Iterable[LayerEntry]) -> Iterable[str]:
    for entry in entries:
        yield "  " + "  ".join(visible_line(part) for part in (entry.path, entry.text) if part)
        yield from (f"    {visible_line(detail)}" for detail in entry.details)


def explore_response(view: LayerView) -> ExploreResponse:
    """Return the layers as they are published."""
    return ExploreResponse(
        query_type=view.query_type,
        detail=view.detail,
        layers=tuple(
            ShownLayer(
                layer=section.layer,
                title=TITLES[section.layer],
                total=section.total,
                entries=tuple(ShownEntry(entry.path, entry.text, entry.details) for entry in section.entries),
            )
            for section in view.sections
        ),
    )
