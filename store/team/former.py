"""What a machine does that had another id: its directory was copied, and both wrote on under the same one.

What both have is in its own journals. Of the old id's streams it therefore reads only what comes after that,
and its own streams begin there.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from store.journal_lines import decode_line
from store.team.replica_files import last_id, read_file
from workbench.ports import Entry


def last_common(blocks: Iterable[bytes], path: Path) -> str:
    """Return the id of the last entry that a stream and a replica's file begin with alike, "" for none."""
    at, last = 0, ""
    for block in blocks:
        mine = read_file(path, at, len(block)) if path.exists() else b""
        if mine == block:
            at, last = at + len(block), last_id(block) or last
            continue
        common = 0
        for line, other in zip(block.splitlines(keepends=True), mine.splitlines(keepends=True), strict=False):
            if line != other:
                break
            common += len(line)
        return last_id(block[:common]) or last
    return last


def lines_after(lines: bytes, identifier: str) -> bytes:
    """Return the lines after that of an entry; where it is gone, those of entries with higher ids."""
    found = lines.find(b'"id":"%s"' % identifier.encode()) if identifier else -1
    if found >= 0 or not identifier:
        return lines[lines.find(b"\n", found) + 1 :] if identifier else lines
    kept = []
    for line in lines.splitlines(keepends=True):
        entry = decode_line(line)
        if isinstance(entry, Entry) and entry.id > identifier:
            kept.append(line)
    return b"".join(kept)
