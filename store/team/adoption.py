"""Segments that others put aside, taken into this machine's own stash with where they come from.

The text of a segment never changes, so that a stash is a set that grows: what others wrote is appended to the
own journal, by `auto:team:NAME`, and index, lists, tables and plans have it as they have everything else. Of
what else is known of a segment the entry with the highest id holds, here as everywhere. What a machine took
out of its own journal goes here, too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Any, Final

import msgspec

from store import locks
from store.files import read_state, write_atomic
from store.journal import FileJournal
from store.journal_lines import decode_line, encode_line
from store.team.replicas import ADOPTED, TEAM
from store.team.server import Mark
from workbench.ports import Entry
from workbench.records.conversion import decode_json

STASH: Final = "stash"
_ORIGIN: Final = "team"
_FILE: Final = "adopted.json"
_CURATION: Final = "curation"
_KINDS: Final = {"segment.put": "segment_id", "segment.removed": "id"}
_PATIENCE: Final = 30.0  # seconds


def adopt_segments(
    state: Path,
    own: FileJournal,
    peers: Mapping[str, FileJournal],
    marks: Mapping[str, Mark],
    names: Mapping[str, str],
) -> int:
    """Append what other machines wrote of segments, each entry once, and return how many entries that were.

    `marks` say how far each machine's stash was received, `names` what machines are called.
    Raises: StoreError, StoreBusy.
    """
    known = _read_marks(state)
    news = {one: mark for one, mark in marks.items() if one in peers and known.get(one) != mark}
    if not news:
        return 0
    with locks.exclusive(state / "locks" / f"{STASH}.lock", timeout=_PATIENCE):
        for machine, mark in news.items():
            if machine in known and known[machine][0] != mark[0]:
                _follow_rewritten(state, machine, {one.id: one for _, one in peers[machine].read(STASH)})
        origins, latest = _adopted(own)
        theirs = sorted(
            ((one.id, machine, one) for machine in news for _, one in peers[machine].read(STASH)),
            key=lambda found: found[:2],
        )
        drafts: list[tuple[str, tuple[str, dict[str, Any]]]] = []
        for identifier, machine, entry in theirs:
            segment = _segment(entry)
            if segment and identifier not in origins and identifier > latest.get(segment, ""):
                latest[segment] = identifier
                drafts.append((machine, (entry.kind, _body(entry, machine))))
        for machine, group in groupby(drafts, key=lambda one: one[0]):
            by = f"{ADOPTED}{names.get(machine, machine)}"
            own.append_all(STASH, [draft for _, draft in group], by=by)
        write_atomic(state / TEAM / _FILE, msgspec.json.encode({**known, **news}))
    return len(drafts)


def give_up_segments(state: Path) -> None:
    """Take out all that came from other machines. Raises: StoreError, StoreBusy."""
    with locks.exclusive(state / "locks" / f"{STASH}.lock", timeout=_PATIENCE):
        _rewrite(state, lambda origin, entry: None)
        (state / TEAM / _FILE).unlink(missing_ok=True)


def _follow_rewritten(state: Path, machine: str, theirs: Mapping[str, Entry]) -> None:
    """Let what came from a machine that wrote its journal again be what is in that one now."""

    def change(origin: Mapping[str, Any], entry: Entry) -> Entry | None:
        if origin.get("machine") != machine:
            return entry
        now = theirs.get(str(origin.get("id")))
        return None if now is None else replace(entry, body=_body(now, machine))

    _rewrite(state, change)


def _rewrite(state: Path, change: Callable[[Mapping[str, Any], Entry], Entry | None]) -> None:
    """Write the stash again with others' entries as `change` leaves them, and what is made of it, if any is.

    What is made of the journals goes with it: it would hold what is to be gone.
    """
    from store.purge import remove_projections  # where that happens
    from store.rewriting import rewrite_stream

    def changed(line: bytes) -> bytes | None:
        entry = decode_line(line)
        origin = entry.body.get(_ORIGIN) if isinstance(entry, Entry) else None
        if not isinstance(entry, Entry) or not isinstance(origin, dict):
            return line
        left = change(origin, entry)
        return None if left is None else line if left == entry else encode_line(left)

    if rewrite_stream(state, STASH, changed, dry=False).lines:
        remove_projections(state)


def _adopted(own: FileJournal) -> tuple[set[str], dict[str, str]]:
    """Return the ids of others' entries that are here, and by segment the highest id of an entry about it."""
    origins: set[str] = set()
    latest: dict[str, str] = {}
    for _, entry in own.read(STASH):
        if segment := _segment(entry):
            origin = entry.body.get(_ORIGIN)
            identifier = str(origin.get("id")) if isinstance(origin, dict) else entry.id
            if identifier != entry.id:
                origins.add(identifier)
            latest[segment] = max(identifier, latest.get(segment, ""))
    return origins, latest


def _segment(entry: Entry) -> str:
    """Return the id of the segment that an entry puts or removes, empty for other entries."""
    return str(entry.body.get(_KINDS[entry.kind], "")) if entry.kind in _KINDS else ""


def _body(entry: Entry, machine: str) -> dict[str, Any]:
    """Return the body of another machine's entry, no part of a step here, with where it comes from."""
    kept = {key: value for key, value in entry.body.items() if key != _CURATION}
    return {**kept, _ORIGIN: {"machine": machine, "id": entry.id}}


def _read_marks(state: Path) -> dict[str, Mark]:
    with suppress(OSError, msgspec.MsgspecError, ValueError):
        return decode_json(read_state(state / TEAM / _FILE), dict[str, Mark])
    return {}
