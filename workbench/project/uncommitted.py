"""Which files have uncommitted changes, kept from one process to the next while nothing moved.

Asking git takes two programs. Its answer about the files of the index follows from the commit checked out,
git's own index and the files themselves, all of which a check of the disk has just looked at.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from workbench.project.snapshot import Snapshot
from workbench.records.conversion import decode_msgpack

KIND: Final = "uncommitted"
_FILE: Final = "paths.msgpack"


class _Kept(msgspec.Struct):
    state: str
    paths: list[bytes]


def state_of(head: str, snapshot: Snapshot) -> str:
    """Return a digest of everything that the answer about a verified snapshot follows from."""
    text = "\0".join((head, repr(snapshot.inputs), *snapshot.paths, *snapshot.hashes))
    digest = hashlib.blake2b(text.encode("utf-8", "surrogateescape"), digest_size=16)
    digest.update(snapshot.seen.tobytes())  # a change of mode is looked at again, and changes no content
    return digest.hexdigest()


def read_paths(directory: Path | None, state: str) -> tuple[str, ...] | None:
    """Return the paths that were kept for a state, None if there are none."""
    try:
        held = None if directory is None else decode_msgpack((directory / _FILE).read_bytes(), _Kept)
    except (OSError, msgspec.MsgspecError):
        return None
    if held is None or held.state != state:
        return None
    return tuple(path.decode("utf-8", "surrogateescape") for path in held.paths)


def write_paths(directory: Path, state: str, paths: Sequence[str]) -> None:
    """Keep the paths for a state. Raises: OSError."""
    held = _Kept(state, [path.encode("utf-8", "surrogateescape") for path in paths])
    (directory / _FILE).write_bytes(msgspec.msgpack.encode(held))
