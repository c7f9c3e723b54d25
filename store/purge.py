"""What its owner wants gone is taken out of what is made of journals, which `rewriting` writes again.

Tables, indexes, answers of language models and files that repairs set aside are removed: whoever asks next
makes them from the journals. A purge that is run again finishes what a killed one began. `remains` reads
every byte that is left.
"""

from __future__ import annotations

import gzip
import re
import shutil
import zlib
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from store import locks
from store.files import read_state, translate_errors, write_atomic
from store.journal_copies import ASIDE
from store.rewriting import ChangeBytes
from store.runs import list_runs
from store.tables import FILE as TABLES

KEPT_INDEX: Final = "transcripts"
"""What imports saw: without it the sessions that were taken out would be imported again."""
SENT_INDEX: Final = "sent_"
"""What the names of indexes begin with that say what a server of vectors has: without them it keeps it."""
_MADE: Final = ("answers", "replay", "spill", ASIDE)
_PATIENCE: Final = 60.0  # seconds
_BLOCK: Final = 1 << 20
_GZIP: Final = ".gz"


def remove_projections(root: Path, but: Collection[str] = ()) -> None:
    """Remove all that can be made again from the journals and the files, `but` some kinds of indexes.

    Raises: StoreError, StoreBusy.
    """
    with translate_errors(f"removing what was made from the journals of {root}"):
        with locks.FairLock(root / "locks", "tables", _PATIENCE).exclusive():
            for path in root.glob(f"{TABLES}*"):
                path.unlink(missing_ok=True)
        for name in _MADE:
            _remove(root / name)
    kept = {KEPT_INDEX, *but}
    _remove_indexes(root, lambda kind: kind not in kept and not kind.startswith(SENT_INDEX))


def remove_indexes(root: Path, kinds: Sequence[str]) -> None:
    """Remove the indexes of some kinds. Raises: StoreError, StoreBusy."""
    _remove_indexes(root, lambda kind: kind in kinds)


def _remove_indexes(root: Path, is_wanted: Callable[[str], bool]) -> None:
    with (
        translate_errors(f"removing what was made from the journals of {root}"),
        locks.exclusive(root / "locks" / "index.lock", timeout=_PATIENCE),
    ):
        for path in (root / "index").glob("*"):
            if is_wanted(re.split(r"[-.]", path.name)[0]):
                _remove(path)


def remove_runs(root: Path, change: ChangeBytes, *, dry: bool) -> int:
    """Remove the kept replays that a change alters: they can be made again. Returns how many; `dry` counts.

    Raises: StoreError.
    """
    count = 0
    for run in list_runs(root):
        with translate_errors(f"reading {run.path}"):
            content = gzip.decompress(read_state(run.path))
            if change(content) != content:
                count += 1
                if not dry:
                    run.path.unlink(missing_ok=True)
    return count


def rewrite_files(paths: Iterable[Path], change: ChangeBytes, *, dry: bool) -> int:
    """Write files of the user's home as a change leaves them, or remove them. Returns how many; `dry` counts.

    Raises: StoreError.
    """
    count = 0
    for path in paths:
        with translate_errors(f"rewriting {path}"), suppress(FileNotFoundError):
            before = read_state(path)
            after = change(before)
            count += after != before
            if after != before and not dry:
                path.unlink() if after is None else write_atomic(path, after)
    return count


def remains(roots: Sequence[Path], needles: Sequence[bytes]) -> list[Path]:
    """Return the files below directories that hold one of some texts, packed ones unpacked; sorted.

    What imports saw, names of files among it, and what cannot be read are left out.
    """
    found = []
    for root in roots:
        for path in sorted(root.rglob("*")):
            if path.is_symlink() or not path.is_file() or path.parent.name.startswith(f"{KEPT_INDEX}-"):
                continue
            with suppress(OSError, EOFError, zlib.error):
                if _holds(path, needles):
                    found.append(path)
    return found


def _holds(path: Path, needles: Sequence[bytes]) -> bool:
    overlap = max(map(len, needles), default=1) - 1
    rest = b""
    with gzip.open(path, "rb") if path.suffix == _GZIP else path.open("rb") as file:
        while block := file.read(_BLOCK):
            rest += block
            if any(needle in rest for needle in needles):
                return True
            rest = rest[len(rest) - overlap :] if overlap else b""
    return False


def _remove(path: Path) -> None:
    """Remove a file or all of a directory, if it is there."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
