"""What is known about one file of a project, before any task is considered."""

from __future__ import annotations

from dataclasses import field
from enum import StrEnum

from workbench.records.dataclass import dataclass


class Role(StrEnum):
    """What a file is for; decided from its path alone."""

    SOURCE = "source"
    TEST = "test"
    DOCS = "docs"
    CONFIG = "config"
    BUILD = "build"
    CI = "ci"
    DATA = "data"
    OTHER = "other"


class Freshness(StrEnum):
    """Whether an index describes the files on disk [img 2.1]."""

    FRESH = "fresh"
    STALE = "stale"
    DIRTY = "dirty"


class CacheStatus(StrEnum):
    """How much of what is needed was at hand: all, what changed was read first, nothing."""

    HIT = "hit"
    PARTIAL = "partial"
    MISS = "miss"


class Layer(StrEnum):
    """What a layer shows."""

    L0 = "L0"
    L1 = "L1"
    L2 = "L2"
    L3 = "L3"
    L4 = "L4"
    L5 = "L5"
    L6 = "L6"


@dataclass(frozen=True, slots=True)
class Symbol:
    """A definition. `line` and `end_line` are 1-based and inclusive; `signature` is one line of text."""

    name: str
    kind: str  # function | method | class | type | constant | module
    line: int
    end_line: int
    signature: str
    parent: str = ""
    exported: bool = True


@dataclass(frozen=True, slots=True)
class FileFacts:
    """Everything the content says about a file; a pure function of (path, bytes).

    `body_terms` and `name_terms` count identifier-aware terms of the content and of the defined names.
    `imports` are specifiers as written (`os.path`, `./store`, `crate::net::tcp`).
    """

    language: str
    role: Role
    lines: int
    tokens: int
    symbols: tuple[Symbol, ...] = ()
    imports: tuple[str, ...] = ()
    body_terms: dict[str, int] = field(default_factory=dict)
    name_terms: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FileStat:
    """A file as the file system shows it, without its content."""

    path: str  # project-relative, posix separators
    size: int
    mtime_ns: int


@dataclass(frozen=True, slots=True)
class Skipped:
    """A path the scan left out, and why."""

    path: str
    reason: str
