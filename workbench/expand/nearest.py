"""What to say of a handle that means nothing: the nearest names, or why a file is not shown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

from workbench.expand.handles import Handle
from workbench.expand.lookup import listed_definitions
from workbench.expand.sources import Sources
from workbench.project.admission import refusal
from workbench.suggest import suggest
from workbench.text.sanitize import visible_line
from workbench.text.terms import parts

_MOST: Final = 20_000  # names that are compared
_SHOWN: Final = 3
_CUTOFF: Final = 0.75
_SUFFIX: Final = re.compile(r"\.[a-z]{1,5}(?::|\Z)")


def leads_out(handle: Handle) -> str:
    """Return why a name that is a path is not looked for at all, '' where it may be a name."""
    path = handle.name.replace("\\", "/")
    if path.startswith(("/", "~")) or ".." in path.split("/"):
        return "leads out of the project; paths are relative to its root"
    return refused_path(handle) if path.startswith(".") else ""


def refused_path(handle: Handle) -> str:
    """Return why a file of this name is none that is shown, '' where it may be a name."""
    path = handle.name.partition(":")[0].replace("\\", "/")
    reason = refusal(path) if "/" in path or "." in path else None
    return f"is not shown: {reason}" if reason else ""


def nearest_names(sources: Sources, handle: Handle) -> str:
    """Return a sentence: nothing of this name, and the names that are nearest to it."""
    wanted = handle.parts[-1] if handle.parts else handle.text
    index = sources.index
    rows = range(index.count) if not handle.paths else [index.positions[path] for path in handle.paths]
    pieces = set(parts(wanted))
    places: dict[str, str] = {}
    for row in rows:
        if len(places) > _MOST:
            break
        if not index.alive[row]:
            continue
        for one in sources.symbols(row):
            if abs(len(one.name) - len(wanted)) <= max(3, len(wanted) // 3) or pieces & set(parts(one.name)):
                places.setdefault(one.name, f"{visible_line(index.paths[row])}:{one.line}")
    found: list[str] = []
    if not handle.paths and ("/" in handle.name or _SUFFIX.search(handle.name)):
        files = {
            path.rpartition("/")[2]: path
            for path in sorted(index.positions)
            if index.alive[index.positions[path]]
        }
        found = [files[name] for name in _near(handle.name.rpartition("/")[2].partition(":")[0], files)]
    if not found:
        found = [
            f"{visible_line(name)} ({_place(sources, handle, name, places)})"
            for name in _near(wanted, places)
        ]
    where = f"in {visible_line(handle.paths[0])}" if handle.paths else "in this project"
    hint = f" Did you mean {', '.join(found)}?" if found else ""
    if handle.paths and not found:
        hint = f" {visible_line(handle.paths[0])}:outline lists what it has."
    return f"no definition{'' if handle.paths else ' or file'} of this name {where}.{hint}"


def _near(wanted: str, names: Iterable[str]) -> list[str]:
    """Return the nearest names, nearest first."""
    left = list(names)
    found: list[str] = []
    while len(found) < _SHOWN and (name := suggest(wanted, left, cutoff=_CUTOFF)):
        found.append(name)
        left.remove(name)
    return found


def _place(sources: Sources, handle: Handle, name: str, places: Mapping[str, str]) -> str:
    best = listed_definitions(sources, (name,), handle.paths)
    return f"{visible_line(best[0].path)}:{best[0].symbol.line}" if best else places[name]
