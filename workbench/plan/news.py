"""What a changelog is, and its first section: where a change is written, whatever the rest of it says."""

from __future__ import annotations

import re
from typing import Final

import numpy as np
from numpy.typing import NDArray

from workbench.plan import cuts
from workbench.plan.chunks import ChunkKind
from workbench.plan.cuts import FileCut
from workbench.project.languages import is_changelog
from workbench.records.answers.plan import NamedPlace

SURE: Final = 0.5
"""The chance from which an older section is shown: a task that names its version."""
_NEWS: Final = re.compile(r"what'?s[-_]?new\b", re.IGNORECASE)
_TITLE_WORDS: Final = frozenset(
    "changelog change log changes history news release releases notes what's new".split()
)


def is_news(path: str) -> bool:
    """Whether a file says what is new, the newest first."""
    return is_changelog(path) or _NEWS.match(path.rpartition("/")[2]) is not None


def first_section(cut: FileCut) -> tuple[NamedPlace, ...]:
    """Return the first section of a changelog below its title."""
    name, start, end = "", 0, 0
    for index in range(cut.count):
        chunk = cut.chunk(index)
        if not name and chunk.kind is ChunkKind.SECTION and chunk.name and not _is_title(chunk.name):
            name, start, end = chunk.name, chunk.start, chunk.end
        elif name and chunk.name == name and chunk.part:
            end = chunk.end
        elif name:
            break
    return (NamedPlace(name, start, end),) if name else ()


def only_new(cut: FileCut, chances: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the chances of a changelog's chunks, float32 [c], 0 for older sections that are not sure.

    What begins the newest section is as likely as the title above it, which may hold its heading.
    """
    last = max((place.end for place in first_section(cut)), default=cut.lines)
    begin = begins_new(cut)
    chances = np.where(begin, chances[begin].max(initial=np.float32(0.0)), chances)
    return np.where((cut.table[:, cuts.START] <= last) | (chances >= SURE), chances, np.float32(0.0))


def begins_new(cut: FileCut) -> NDArray[np.bool_]:
    """Return which chunks of a changelog are its title and the begin of its newest section, bool [c]."""
    first = max((place.start for place in first_section(cut)), default=1)
    return np.asarray(cut.table[:, cuts.START] <= first)


def _is_title(name: str) -> bool:
    return all(word in _TITLE_WORDS for word in name.lower().split())
