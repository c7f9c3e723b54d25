"""The protocols `store/` implements; tests have adapters of their own that keep everything in memory."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import field
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from workbench.records.dataclass import dataclass

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from workbench.records.segments import ContextSegment, FoundSegment, StashQuery

    Float32 = NDArray[np.float32]
    Int64 = NDArray[np.int64]
    PointKeys = NDArray[np.uint8]


REBUILD_WATCHER: Final[ContextVar[Callable[[int, int], None] | None]] = ContextVar(
    "REBUILD_WATCHER", default=None
)
"""What a rebuild of tables in this thread reports to: how many of how many bytes of journals they hold."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A journal line: `{"v":1,"id":ulid,"at":iso,"kind":…,"by":…,"body":{…}}`.

    `machine` is the id of the machine of a team whose journal it is of, empty for this one's.
    """

    id: str
    at: str
    kind: str
    by: str
    body: Mapping[str, Any]
    machine: str = ""


@dataclass(frozen=True, slots=True)
class Damaged:
    """Something stored that cannot be used, and why; whoever finds it rebuilds it."""

    reason: str


class Verbatim(dict[str, Any]):
    """A journal body with the text of a file of the user's own, kept as it is, secrets included."""


class Journal(Protocol):
    """Append-only streams of entries; the source of truth. Only `Verbatim` bodies may hold secrets."""

    def append(
        self, stream: str, kind: str, bodies: Sequence[Mapping[str, Any]], *, by: str, sync: bool = True
    ) -> list[Entry]:
        """Append one entry per body with a single write. Returns them once they are on disk if `sync`."""
        ...

    def append_all(
        self, stream: str, drafts: Sequence[tuple[str, Mapping[str, Any]]], *, by: str, sync: bool = True
    ) -> list[Entry]:
        """Append entries of several kinds, given as (kind, body), with a single write: all or none."""
        ...

    def read(self, stream: str, start: int = 0) -> Iterator[tuple[int, Entry]]:
        """Yield (offset after the line, entry) from byte `start`; a torn tail ends the iteration."""
        ...

    def size(self, stream: str) -> int:
        """Bytes that a reader may consume now (0 for a stream that does not exist)."""
        ...

    def revision(self, stream: str) -> str:
        """Return a short text that differs when what a reader may consume differs, in size or otherwise."""
        ...

    def checksum(self, stream: str, end: int) -> int:
        """Return the checksum of everything before `end`, -1 where the stream does not reach so far."""
        ...

    def streams(self) -> list[str]:
        """Names of the streams that exist, sorted."""
        ...


class Embedder(Protocol):
    """Text to unit vectors."""

    @property
    def model(self) -> str:
        """Identity of the vectors: two embedders with the same one give the same vector for a text."""
        ...

    @property
    def dimensions(self) -> int:
        """Length of a vector."""
        ...

    def embed(self, texts: Sequence[str]) -> Float32:
        """Return float32 [n, dimensions], rows of length 1. Raises ModelError."""
        ...


@dataclass(frozen=True, slots=True)
class Completion:
    """An answer, and what it cost in tokens as the server counts them (0 where it does not say)."""

    value: Mapping[str, Any]
    prompt_tokens: int = 0
    answer_tokens: int = 0


class LanguageModel(Protocol):
    """Answers in JSON. Whoever asks pays for it: no one asks unless the user has turned it on."""

    @property
    def model(self) -> str:
        """Identity of the answers, shown wherever one is used."""
        ...

    def complete_json(
        self, prompt: str, schema: Mapping[str, Any], *, system: str = "", timeout: float, max_tokens: int
    ) -> Completion:
        """Return an object that fits the schema (`store.ollama`). Raises ModelError.

        `timeout` is in seconds for the whole call, `max_tokens` bounds the answer.
        """
        ...


class Neighbours(Protocol):
    """Nearest neighbours by cosine over unit vectors float32 [n, d]; ids are their rows."""

    def search(self, query: Float32, k: int, allowed: Int64 | None = None) -> tuple[Int64, Float32]:
        """Return (rows, similarities) of at most k nearest, best first, ties by row; only those `allowed`."""
        ...


class VectorIndex(Neighbours, Protocol):
    """The neighbours, with all of the vectors."""

    @property
    def vectors(self) -> Float32:
        """The vectors."""
        ...

    @property
    def approximate(self) -> bool:
        """Whether a search may miss a neighbour."""
        ...

    def cosines(self, query: Float32, nearest: int = ...) -> Float32:
        """Return float32 [n]; of an approximate index those of the `nearest`, NaN for the others."""
        ...


@dataclass(frozen=True, slots=True)
class PointFilter:
    """What a point has to have to be searched at all: for each field one of some values, or a number.

    `among` gives the values a field may have, `least` and `most` the bounds of a number, both included.
    """

    among: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    least: Mapping[str, int] = field(default_factory=dict)
    most: Mapping[str, int] = field(default_factory=dict)

    def also(self, name: str, value: str) -> PointFilter:
        """Return the filter with one more field, which has to have just this value."""
        return PointFilter({**self.among, name: (value,)}, self.least, self.most)


class VectorCollection(Protocol):
    """Vectors of one kind of records by one model, which a server keeps and searches [ralph].

    A point is a unit vector float32 [d] under a key of 16 bytes, with fields that filters look at;
    `PointKeys` are uint8 [n, 16]. Whatever fails raises StoreError; what was done before that stays, and
    doing it again changes nothing.
    """

    @property
    def place(self) -> str:
        """Which server and collection it is, without what is secret in its address."""
        ...

    @property
    def model(self) -> str:
        """Identity of the model."""
        ...

    def search(self, query: Float32, k: int, only: PointFilter | None = None) -> tuple[PointKeys, Float32]:
        """Return (keys, similarities) of at most k nearest that pass the filter, best first."""
        ...

    def put(self, keys: PointKeys, vectors: Float32, fields: Sequence[Mapping[str, Any]]) -> None:
        """Write points, in place of those under the same keys. The collection is made by the first."""
        ...

    def delete(self, keys: PointKeys) -> None:
        """Remove points; an unknown key is none."""
        ...

    def vectors(self, keys: PointKeys) -> tuple[Float32, NDArray[np.bool_]]:
        """Return (float32 [n, d], known bool [n]); rows not known are 0."""
        ...

    def has_points(self, keys: PointKeys) -> NDArray[np.bool_]:
        """Return bool [n]: which keys have points."""
        ...

    def count(self) -> int:
        """Return how many points there are, 0 without a collection."""
        ...

    def serve(self) -> None:
        """Let its model be the one that those who do not name one are answered by: it is complete."""
        ...

    def close(self) -> None:
        """Free the connection."""
        ...


class TextVectors(Protocol):
    """An embedder that knows the vectors of texts it embedded before, and an index of them by kind of text.

    `notes` say what was found amiss with what is stored.
    """

    @property
    def lookups(self) -> tuple[int, int]:
        """How many texts were embedded before, and how many were not."""
        ...

    @property
    def model(self) -> str:
        """Identity of the model."""
        ...

    @property
    def notes(self) -> Sequence[str]:
        """What was found amiss, in sentences."""
        ...

    def embed(self, texts: Sequence[str], *, progress: Callable[[int, int], None] | None = None) -> Float32:
        """Return float32 [n, d] unit vectors. Raises ModelError."""
        ...

    def known_vectors(self, kind: str, texts: Sequence[str]) -> tuple[VectorIndex, NDArray[np.bool_]]:
        """Return (index of the texts' vectors, known bool [n]); nothing is embedded, rows not known are 0."""
        ...

    def complete(
        self, kind: str, texts: Sequence[str], *, progress: Callable[[int, int], None] | None = None
    ) -> VectorIndex:
        """Return the index of the texts' vectors, embedding those that are missing. Raises ModelError."""
        ...


class StashSearch(Protocol):
    """The segments of a project's stash that are not over, as a plan asks for them."""

    @property
    def lexical(self) -> bool:
        """Whether words alone decide what is found, for want of vectors."""
        ...

    @property
    def fault(self) -> str:
        """Why the server that is to compare vectors does not, "" where there is none or it does."""
        ...

    def ids(self) -> Collection[str]:
        """Return their ids. Raises: StoreError."""
        ...

    def find(self, query: StashQuery) -> tuple[FoundSegment, ...]:
        """Return the segments a query finds, the best first. Raises: StoreError, ModelError."""
        ...

    def segments(self, identifiers: Collection[str]) -> tuple[ContextSegment, ...]:
        """Return segments by id with their texts, in the order of the ids. Raises: StoreError."""
        ...


Value = TypeVar("Value")


class Cache(Protocol[Value]):
    """Values by key, for a while. Losing one costs time and never changes an answer."""

    @property
    def fault(self) -> str:
        """Why values are not found or kept at the moment, in a sentence; empty if all is well."""
        ...

    def get(self, key: str) -> Value | None:
        """Return the value or None."""
        ...

    def put(self, key: str, value: Value, weight: int = 1) -> None:
        """Keep the value. `weight` is its share of what the cache may hold."""
        ...

    def clear(self) -> None:
        """Forget everything."""
        ...


class Clock(Protocol):
    """Time, so that tests and replays decide what now is."""

    def now(self) -> float:
        """Seconds since the epoch."""
        ...
