"""Where state is: `<project>/.workbench/`, or the user's home where the project cannot hold it.

The state of a project that cannot be written is read from a copy of its journals in the user's home, an
overlay, and added to there. An overlay is a state directory like any other. Entries have ids that are never
given twice, so that both sides are brought together by them, in whatever order that is tried and however
often: what the project's state has gained is taken over whenever the overlay is used, and what was added to
the overlay is brought back when the project can be written again. Kept replays go the same ways. Figures for
`workbench stats` stay where they were measured.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

import msgspec

from store import locks
from store.files import PRIVATE_DIR, STATE, odd_below, private_dir, read_state, translate_errors, write_atomic
from store.journal_copies import append_lines, damaged_streams
from store.journal_files import ROTATED, list_streams, lock_path, readable_end, reading_stream, stream_path
from store.journal_lines import decode_line
from workbench.errors import StoreError
from workbench.places import fallback_root, user_home
from workbench.ports import Entry
from workbench.records.conversion import decode_json
from workbench.records.dataclass import dataclass
from workbench.text.counts import plural

DIRECTORY: Final = STATE
_IGNORE = (
    b"# State of the context workbench: local to this machine, shared settings aside.\n*\n!config.toml\n"
)
_SHARED = "config.toml"  # read by rules of its own


@dataclass(frozen=True, slots=True)
class Location:
    """Where a project's state is. `fallback_reason` is why it is not in the project, empty if it is.

    `brought_back` counts the entries that were added elsewhere while the project could not be written, and
    that its state has just taken in. `damaged` are journals that are not what was written into them.
    """

    root: Path
    project: Path
    home: Path
    fallback_reason: str = ""
    brought_back: int = 0
    damaged: tuple[Path, ...] = ()

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences about what is not as usual, for everyone who works with the state."""
        return (*self._place_notes, *damage_notes(self.damaged))

    @property
    def _place_notes(self) -> tuple[str, ...]:
        if self.fallback_reason:
            back = "; what is added is brought back when it can be written" if is_overlay(self.root) else ""
            return (f"state is kept in {self.root}, because {self.fallback_reason}{back}",)
        if self.brought_back:
            entries = "1 entry" if self.brought_back == 1 else f"{self.brought_back:,} entries"
            return (f"{entries} added while {self.root} could not be written: brought back",)
        return ()


def locate(project: Path, environment: Mapping[str, str], *, distrust: str = "") -> Location:
    """Find the project's state directory and make it ready: private, and ignored by git.

    `distrust` is why what the project holds must not be used: its state then goes to the user's home. What
    can be read and not written is taken over there, and what is added there brought back.

    Raises: StoreError if neither the project nor the user's home can hold it.
    """
    found = _find(project.absolute(), environment, distrust)
    return replace(found, damaged=damaged_journals(found.root, found.home))


def damaged_journals(*roots: Path) -> tuple[Path, ...]:
    """Return the journals of states that are not what was written into them, by a look at their files."""
    return tuple(
        stream_path(root, stream) for root in dict.fromkeys(roots) for stream in damaged_streams(root)
    )


def damage_notes(journals: tuple[Path, ...]) -> tuple[str, ...]:
    """Return a sentence for everyone who works with damaged journals, nothing without any."""
    if not journals:
        return ()
    more = f" and {plural(len(journals) - 1, 'other journal')}" if len(journals) > 1 else ""
    return (
        f"{journals[0]}{more} is not what was written into it: `workbench doctor` says what is missing, "
        "`workbench doctor --repair` brings it back",
    )


def _find(project: Path, environment: Mapping[str, str], distrust: str) -> Location:
    home = user_home(environment)
    root = project / DIRECTORY
    elsewhere = fallback_root(project, home)
    if reason := distrust or _refusal(root):
        _prepare(elsewhere)
        return Location(elsewhere, project, home, reason)
    if reason := _unwritable(root):
        _prepare(elsewhere)
        take_over(root, elsewhere)
        return Location(elsewhere, project, home, reason)
    return Location(root, project, home, brought_back=bring_back(elsewhere, root))


def is_usual(project: Path, environment: Mapping[str, str]) -> bool:
    """Tell at a glance whether `locate` will find the state in the project, with nothing to bring back.

    Whether git tracks what is in there is not looked at.
    """
    root = project / DIRECTORY
    place = root if os.path.lexists(root) else project
    plain = not place.is_symlink() or place == project
    return (
        plain
        and os.access(place, os.W_OK | os.X_OK)
        and (place == project or not any(odd_below(root, but=_SHARED)))
        and not is_overlay(fallback_root(project, user_home(environment)))
    )


def _refusal(root: Path) -> str:
    """Return why an existing directory must not be used, empty if it may be."""
    if root.is_symlink():
        return f"{root} is a symbolic link, which could lead out of the project"
    if not root.exists():
        return ""
    if not root.is_dir():
        return f"{root} is not a directory"
    if hasattr(os, "geteuid") and root.stat().st_uid != os.geteuid():
        return f"{root} belongs to another user"
    name, kind = odd_below(root, but=_SHARED)
    if name:
        danger = "could lead out of the project" if kind == "a symbolic link" else "is never opened"
        return f"{root / name} is {kind}, which {danger}"
    return ""


def _unwritable(root: Path) -> str:
    """Make the directory ready, or return why it cannot be written."""
    if root.exists() and not os.access(root, os.W_OK | os.X_OK):
        return f"{root} is read-only"
    try:
        _prepare(root)
    except StoreError as error:
        return error.message
    return ""


def _prepare(root: Path) -> None:
    private_dir(root)
    ignore = root / ".gitignore"
    if not ignore.exists():
        write_atomic(ignore, _IGNORE)
    if os.name != "nt" and root.stat().st_mode & 0o077:
        with translate_errors(f"closing {root} to other users"):
            root.chmod(PRIVATE_DIR)


MARK: Final = "overlay.json"
_LOCK = "overlay.lock"
_RUN = "run "  # before the id of a kept replay, where a stream has its name


class _Sizes(msgspec.Struct):
    """Bytes of each stream and replay that were taken over from the project, and brought back to it."""

    taken: dict[str, int] = {}
    brought: dict[str, int] = {}


def is_overlay(root: Path) -> bool:
    """Tell whether a state directory was used in place of a project's that could not be written."""
    return (root / MARK).is_file()


def take_over(state: Path, overlay: Path) -> None:
    """Add to an overlay what the project's state has that it lacks; the state may not exist.

    Raises: StoreError, StoreBusy.
    """
    with locks.exclusive(overlay / "locks" / _LOCK):
        sizes = _read_sizes(overlay)
        if sizes is None:
            sizes = _Sizes()
            _write_sizes(overlay, sizes)
        ends = _ends(state)
        if ends == sizes.taken:
            return
        _carry_all(state, overlay, ends, sizes.taken)
        _write_sizes(overlay, _Sizes(ends, sizes.brought))


def bring_back(overlay: Path, state: Path) -> int:
    """Add to the project's state what was added to an overlay, and return how many entries that were.

    The overlay stays: another process may still be writing to it. Raises: StoreError, StoreBusy.
    """
    if not is_overlay(overlay):
        return 0
    with locks.exclusive(overlay / "locks" / _LOCK):
        sizes = _read_sizes(overlay) or _Sizes()
        ends = _ends(overlay)
        if ends == sizes.brought:
            return 0
        count = _carry_all(overlay, state, ends, sizes.brought)
        _write_sizes(overlay, _Sizes(sizes.taken, ends))
        return count


def _carry_all(source: Path, target: Path, ends: dict[str, int], before: dict[str, int]) -> int:
    """Carry what changed since `before`; return the number of entries."""
    changed = [name for name, end in ends.items() if end != before.get(name, 0)]
    runs = {name.removeprefix(_RUN) for name in changed if name.startswith(_RUN)}
    if runs:
        _carry_runs(source, target, runs)
    return sum(_carry(source, target, name) for name in changed if not name.startswith(_RUN))


def _carry(source: Path, target: Path, stream: str) -> int:
    """Append the entries of a stream that the other one lacks, in their order; return their number."""
    private_dir(stream_path(target, stream).parent)
    with locks.exclusive(lock_path(target, stream)):
        known = {entry.id for _, entry in _entries(target, stream)}
        lines = [line for line, entry in _entries(source, stream) if entry.id not in known]
        if lines:
            append_lines(target, stream, b"".join(line + b"\n" for line in lines), sync=True)
        return len(lines)


def _entries(root: Path, stream: str) -> list[tuple[bytes, Entry]]:
    """Return the lines of a stream that can be read, with their entries."""
    with reading_stream(root, stream) as file:
        if file is None:
            return []
        end = readable_end(file)
        file.seek(0)
        lines = file.read(end).split(b"\n")
    found = ((line, decode_line(line)) for line in lines)
    return [(line, entry) for line, entry in found if isinstance(entry, Entry)]


def _ends(root: Path) -> dict[str, int]:
    """Return how many bytes each stream that is carried has for readers, and each kept replay."""
    from store.runs import list_runs

    found = {f"{_RUN}{run.id}": run.size for run in list_runs(root)}
    for stream in list_streams(root):
        if stream.split("-")[0] in ROTATED:
            continue
        with reading_stream(root, stream) as file:
            if file is not None:
                found[stream] = readable_end(file)
    return found


def _carry_runs(source: Path, target: Path, runs: set[str]) -> None:
    """Copy kept replays that the other state lacks, as old as they are."""
    from store.runs import list_runs

    there = {run.id for run in list_runs(target)}
    for run in list_runs(source):
        if run.id in runs - there:
            copy = target / "runs" / run.path.name
            write_atomic(copy, read_state(run.path))
            os.utime(copy, ns=(run.written, run.written))


def _read_sizes(overlay: Path) -> _Sizes | None:
    """Return what was carried so far; nothing is known of what cannot be read, and that is only slower."""
    try:
        return decode_json(read_state(overlay / MARK), _Sizes)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.MsgspecError):
        return _Sizes()


def _write_sizes(overlay: Path, sizes: _Sizes) -> None:
    write_atomic(overlay / MARK, msgspec.json.encode(sizes))
