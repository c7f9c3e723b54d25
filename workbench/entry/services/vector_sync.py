"""Bringing what a server keeps of vectors up to date with what is here: segments, rules, iterations.

What was sent is remembered by its keys and digests, so that only differences are written; what a server lost
is sent again. A server that failed is left alone for `vectors.retry` seconds, whichever process asks next.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec
import numpy as np

from workbench.entry.project import server_identity, write_atomic
from workbench.errors import ConfigError, StoreError
from workbench.project.arrays import open_arrays, write_arrays
from workbench.records.answers.vectors import SyncedVectors
from workbench.records.conversion import decode_json
from workbench.records.dataclass import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from workbench.entry.project import OpenedProject
    from workbench.ports import Int64, PointKeys, VectorCollection

KINDS: Final = ("stash", "rules", "iterations")
BATCH: Final = 2_000
"""Points between two reports of how far it is."""

_AWAY: Final = "vectors-away.json"
_ARRAYS: Final = "sent.arrays"
KEY_BYTES: Final = 16

Progress = Callable[[str, int, int], None]


class SentState(msgspec.Struct, frozen=True):
    """The server that was sent to (`server_identity`), the model, and which generation is there whole."""

    server: str
    model: str
    of: str


@dataclass(frozen=True, slots=True, eq=False)
class _Sent:
    """What a server has of this project: keys uint8 [n, 16], digests uint64 [n]; `of` is all of what."""

    keys: PointKeys
    digests: NDArray[np.uint64]
    of: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Points:
    """What a server is to have: keys and digests as they are sent, and `write`, which sends some rows."""

    kind: str
    name: str
    keys: PointKeys
    digests: NDArray[np.uint64]
    write: Callable[[Int64], None]
    of: str = ""


def wanted_kinds(project: OpenedProject) -> tuple[str, ...]:
    """Return the kinds that the server of the settings gets; none where there is none, or no team.

    Raises: ConfigError.
    """
    settings = project.config.vectors
    for kind in settings.kinds:
        if kind not in KINDS:
            raise ConfigError(
                f"vectors.kinds: {kind!r} is not a kind of vector", hint=f"Kinds are {', '.join(KINDS)}."
            )
    if settings.store == "postgres" and not project.has_team:
        return ()
    there = {"local": (), "postgres": ("stash",), "qdrant": KINDS}[settings.store]
    return tuple(kind for kind in there if kind in settings.kinds)


def sync_points(
    project: OpenedProject, collection: VectorCollection, points: Points, progress: Progress | None
) -> SyncedVectors:
    """Write what a collection lacks, remove what is gone, and remember it, also where it breaks off.

    Raises: StoreError.
    """
    sent = _read_sent(project, points.name, collection)
    if collection.count() < len(sent.keys):  # it lost some, or another machine removed them
        there = collection.has_points(sent.keys)
        sent = _Sent(sent.keys[there], sent.digests[there])
    before = dict(zip(_key_bytes(sent.keys), sent.digests.tolist(), strict=True))
    now = {key: row for row, key in enumerate(_key_bytes(points.keys))}
    digests = points.digests.tolist()
    fresh = np.array([row for key, row in now.items() if before.get(key) != digests[row]], np.int64)
    gone = [key for key in before if key not in now]
    done, held = 0, dict(before)
    try:
        for start in range(0, len(fresh), BATCH):
            rows = fresh[start : start + BATCH]
            points.write(rows)
            done += len(rows)
            held |= {points.keys[row].tobytes(): digests[row] for row in rows.tolist()}
            if progress is not None:
                progress(f"sending {points.kind}", done, len(fresh))
        collection.delete(join_keys(gone))
        collection.serve()
    except StoreError:
        _write_sent(project, points.name, collection, held, "")
        raise
    if len(fresh) or gone or sent.of != points.of:
        now_sent = {key: digests[row] for key, row in now.items()}
        _write_sent(project, points.name, collection, now_sent, points.of)
    return SyncedVectors(points.kind, collection.place, collection.model, len(now), len(fresh), len(gone))


def note_away(project: OpenedProject, reason: str) -> None:
    """Write down that the server failed, for whoever asks next. Raises: StoreError."""
    until = project.clock.now() + project.config.vectors.retry
    write_atomic(project.state / _AWAY, msgspec.json.encode({"until": until, "reason": reason}))


def clear_away(project: OpenedProject) -> None:
    """Let the server be asked again at once."""
    (project.state / _AWAY).unlink(missing_ok=True)


def away(project: OpenedProject) -> str:
    """Return why the server is left alone for now, "" if it is not."""
    try:
        found = decode_json((project.state / _AWAY).read_bytes(), dict[str, Any])
        left = float(found["until"]) - project.clock.now()
        return str(found["reason"]) if 0 < left <= project.config.vectors.retry else ""
    except (OSError, ValueError, KeyError, TypeError):
        return ""


def join_keys(found: Sequence[bytes]) -> PointKeys:
    """Return keys uint8 [n, 16]."""
    return np.frombuffer(b"".join(found), np.uint8).reshape(-1, KEY_BYTES)


def _key_bytes(keys: PointKeys) -> list[bytes]:
    data = np.ascontiguousarray(keys).tobytes()
    return [data[start : start + KEY_BYTES] for start in range(0, len(data), KEY_BYTES)]


def sent_state(project: OpenedProject, name: str) -> SentState | None:
    """Return where what was sent went, and what it is all of; None where that is not known."""
    found = project.usable(f"sent_{name}")
    if found is None:
        return None
    try:
        return decode_json(open_arrays(found / _ARRAYS)["state"].tobytes(), SentState)
    except (OSError, ValueError, KeyError):
        return None


def _read_sent(project: OpenedProject, name: str, collection: VectorCollection) -> _Sent:
    """Return what was sent to a collection, nothing where that is not known."""
    nothing = _Sent(np.empty((0, KEY_BYTES), np.uint8), np.empty(0, np.uint64))
    state, found = sent_state(project, name), project.usable(f"sent_{name}")
    if (
        found is None
        or state is None
        or (state.server, state.model) != (server_identity(project), collection.model)
    ):
        return nothing
    try:
        arrays = open_arrays(found / _ARRAYS)
        keys, digests = arrays["keys"], arrays["digests"]
        return _Sent(keys, digests, state.of) if keys.shape == (len(digests), KEY_BYTES) else nothing
    except (OSError, ValueError, KeyError):
        return nothing


def _write_sent(
    project: OpenedProject, name: str, collection: VectorCollection, held: Mapping[bytes, int], of: str
) -> None:
    state = SentState(server_identity(project), collection.model, of)

    def write(directory: Path) -> None:
        arrays: dict[str, NDArray[Any] | bytes] = {
            "state": msgspec.json.encode(state),
            "keys": join_keys(list(held)),
            "digests": np.array(list(held.values()), np.uint64),
        }
        write_arrays(directory / _ARRAYS, arrays)

    project.publish(f"sent_{name}", write)
