"""Copying all of a team's journals from one place to another, and comparing two places record by record.

A place is a server or a directory. Nothing is overwritten: a stream of the target that the source's begins
with is gone on with, so that a copy that was interrupted is finished by the next one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import zip_longest

from store.journal_lines import decode_line
from store.team.server import MOST, StreamHead, StreamKey, TeamServer
from workbench.errors import TeamError
from workbench.ports import Entry
from workbench.records.dataclass import dataclass

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class StreamDifference:
    """The first line of a stream in which two places differ: its number, and the id in each ("" for none)."""

    machine: str
    stream: str
    line: int
    here: str
    there: str


@dataclass(frozen=True, slots=True)
class TeamComparison:
    """What was compared: machines, streams, records that are the same in both, and where they differ."""

    machines: int
    streams: int
    records: int
    differences: tuple[StreamDifference, ...] = ()


def copy_team(source: TeamServer, target: TeamServer, progress: Progress) -> int:
    """Copy every stream of a team and return how many records were. Raises: StoreError.

    Raises: TeamError, before anything is copied, if the target has what the source has not.
    """
    heads, there = source.heads(), target.heads()
    for key, head in sorted(there.items()):
        if not _begins_with(source, key, heads.get(key, StreamHead()), head):
            raise TeamError(
                f"the target has other records of the journal {key[1]} of machine {key[0]}",
                hint="Copy into an empty directory, or to another project of the server; nothing was copied.",
            )
    total, done, records = sum(head.size for head in heads.values()), 0, 0
    for machine in source.machines():
        target.register(machine.id, machine.name)
        for key, head in sorted(heads.items()):
            if key[0] != machine.id:
                continue
            at = there.get(key, StreamHead()).size
            while at < head.size:
                lines = source.read(*key, at, MOST)[: head.size - at]
                if not lines:
                    break
                target.append(key[1], at, lines)
                at, records = at + len(lines), records + lines.count(b"\n")
                progress("Copying", done + at, total)
            done += head.size
    return records


def compare_teams(here: TeamServer, there: TeamServer, progress: Progress) -> TeamComparison:
    """Compare every record of two places. Raises: StoreError."""
    ours, theirs = here.heads(), there.heads()
    keys = sorted({key for heads in (ours, theirs) for key, head in heads.items() if head.size})
    total, done, records = sum(head.size for head in ours.values()), 0, 0
    differences = []
    for key in keys:
        for number, (mine, other) in enumerate(
            zip_longest(_lines(here, key, ours), _lines(there, key, theirs), fillvalue=b""), start=1
        ):
            if mine != other:
                differences.append(StreamDifference(*key, number, _id(mine), _id(other)))
                break
            records += 1
            done += len(mine)
            progress("Comparing", done, total)
    return TeamComparison(len({key[0] for key in keys}), len(keys), records, tuple(differences))


def _begins_with(source: TeamServer, key: StreamKey, head: StreamHead, part: StreamHead) -> bool:
    """Whether a stream of a source begins with what a target has of it."""
    if part.size > head.size:
        return False
    begun = StreamHead()
    while begun.size < part.size:
        lines = source.read(*key, begun.size, MOST)[: part.size - begun.size]
        if not lines:
            return False
        begun = begun.after(lines, "")
    return begun.crc == part.crc


def _lines(place: TeamServer, key: StreamKey, heads: Mapping[StreamKey, StreamHead]) -> Iterator[bytes]:
    at, end = 0, heads.get(key, StreamHead()).size
    while at < end and (block := place.read(*key, at, MOST)[: end - at]):
        yield from block.splitlines(keepends=True)
        at += len(block)


def _id(line: bytes) -> str:
    entry = decode_line(line) if line else ""
    return entry.id if isinstance(entry, Entry) else line[:80].decode(errors="replace").strip()
