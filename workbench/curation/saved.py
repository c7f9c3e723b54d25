"""A fold kept in a file, so that a new process folds only what was written since.

Records, changes and steps are lines of their own, each decoded when it is asked for: to edit one record of
many is to read a few lines. The file says which part of which stream it stands for, with checksums; a file or
a stream that is not as it was then is of no use, and all is folded again.
"""

from __future__ import annotations

import hashlib
import re
import sys
import zlib
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import accumulate, groupby
from pathlib import Path
from typing import IO, Any, Final, Generic, get_args, get_origin, get_type_hints

import msgspec

from workbench import __version__
from workbench.curation.lazy import FileLines, LazyDict, LazyList, StoredFile, StoredValues
from workbench.curation.ledger import L, Ledger
from workbench.curation.records import CurationStep, RecordChange, SettledConflict
from workbench.records.conversion import decode_lossless, encode_lossless
from workbench.records.dataclass import dataclass

_FORMAT: Final = 2
_CRC: Final = 9  # bytes of the first line
_BLOCK: Final = 1 << 20
_AT_ONCE: Final = 1_000  # lines; one call for all would hold up other threads
_NONE: Final = -1


class _ChangeRow(msgspec.Struct, array_like=True):
    at: str
    by: str
    record_id: str
    before: int
    after: int
    reason: str
    step: str
    successor: str
    machine: str


class _StepRow(msgspec.Struct, array_like=True):
    id: str
    at: str
    by: str
    title: str
    undoes: str
    redoes: str
    writes: tuple[str, ...]
    changes: list[int]
    resolved: list[SettledConflict]
    reopened: list[SettledConflict]
    machine: str


@dataclass(frozen=True, slots=True)
class StreamPlace:
    """Up to where a stream is folded: its last entry, where that begins and ends, and its sort key."""

    number: int
    name: str
    start: int
    end: int
    last: str
    key: str
    checksum: int


@dataclass(frozen=True, slots=True)
class SavedFold(Generic[L]):
    """A ledger and what it is the fold of: `entries` of streams, the last one at `latest`.

    `lineage` is that of the fold of everything that it goes on from. `machines` are those of a team whose
    streams have the numbers from two on.
    """

    ledger: L
    streams: tuple[StreamPlace, ...]
    latest: tuple[str, int, str]
    entries: int
    lineage: str
    machines: tuple[str, ...] = ()


class _Head(msgspec.Struct):
    form: str
    streams: tuple[StreamPlace, ...]
    latest: tuple[str, int, str]
    entries: int
    lineage: str
    machines: tuple[str, ...]
    records: dict[str, int]
    versions: dict[str, int]
    steps: list[str]
    successors: dict[str, str]
    settled: dict[str, SettledConflict]
    done: list[str]
    undone: list[str]
    walks: dict[str, tuple[str, ...]]
    heads: dict[str, tuple[int, ...]]
    slots: dict[str, str]
    parted: dict[str, tuple[int, ...]]
    parents: dict[str, tuple[str, ...]]
    forks: dict[str, tuple[str, str]]
    shared: bool
    skipped: list[str]
    sections: list[tuple[str, int, int]]  # name, bytes of lines, lines


def write_fold(path: Path, fold: SavedFold[Any]) -> None:
    """Write a fold into a new file. Raises: OSError."""
    ledger = fold.ledger
    sections = {name: (chunks, _ends(chunks)) for name, chunks in _sections(ledger)}
    last = {name: _places(ledger, name) for name in ("records", "versions")}
    head = _Head(
        _form(type(ledger), ledger.type.record),
        fold.streams,
        fold.latest,
        fold.entries,
        fold.lineage,
        fold.machines,
        last["records"],
        last["versions"],
        list(ledger.steps),
        ledger.successors,
        ledger.settled,
        ledger.done,
        ledger.undone,
        ledger.walks,
        ledger.heads,
        ledger.slots,
        ledger.parted,
        ledger.parents,
        ledger.forks,
        ledger.shared,
        ledger.skipped,
        [(name, ends[-1] if ends else 0, len(ends)) for name, (_, ends) in sections.items()],
    )
    parts: list[bytes | memoryview] = [encode_lossless(head), b"\n"]
    for chunks, ends in sections.values():
        parts += [*chunks, ends.tobytes()]
    crc = 0
    for part in parts:
        crc = zlib.crc32(part, crc)
    with path.open("wb") as file:
        file.write(b"%08x\n" % crc)
        file.writelines(parts)


def open_fold(path: Path, empty: L) -> SavedFold[L] | None:
    """Return what was written, brought into an empty ledger; None if it is damaged or of another program."""
    try:
        with path.open("rb") as file:
            crc = int(file.read(_CRC), 16)
            first = file.readline()
            found = zlib.crc32(first)
            while block := file.read(_BLOCK):
                found = zlib.crc32(block, found)
            if found != crc:
                return None
            head = decode_lossless(first, _Head)
            if head.form != _form(type(empty), empty.type.record):
                return None
            lines = _open_sections(path, file, _CRC + len(first), head)
        _fill(empty, head, lines)
    except (OSError, ValueError, KeyError, RecursionError):
        return None
    return SavedFold(empty, head.streams, head.latest, head.entries, head.lineage, head.machines)


def _sections(ledger: Ledger[Any]) -> Iterator[tuple[str, list[bytes | memoryview]]]:
    """Yield the lines of each section by name. The record of a line is the one that its change left."""
    changes = ledger.changes
    first = changes.begun
    last = _latest_changes(ledger, first)
    rows: list[_ChangeRow] = []
    records: list[object] = []
    for number, change in enumerate(changes.added, start=first):
        before = _NONE if change.before is None else last[change.record_id]
        if change.after is not None:
            last[change.record_id] = number
        records.append(change.after)
        after = _NONE if change.after is None else number
        facts = (change.reason, change.step, change.successor, change.machine)
        rows.append(_ChangeRow(change.at, change.by, change.record_id, before, after, *facts))
    kept = ledger.versions.stored
    yield "records", [*_stored_lines(kept), *_encode_values(records)]
    yield "changes", [*_stored_lines(changes.stored), *_encode_values(rows)]
    yield "steps", list(_step_lines(ledger, first))
    for name, kind in _facts(type(ledger)).items():
        value = getattr(ledger, name)
        if get_origin(kind) is LazyList:
            yield name, [*_stored_lines(value.stored), *_encode_values(value.added)]
        else:
            yield name, [encode_lossless(value) + b"\n"]


def _latest_changes(ledger: Ledger[Any], first: int) -> dict[str, int]:
    """Return, by record, the last of the stored changes, which are the first so many, that left it."""
    return {key: place for key, place in ledger.versions.places.items() if place < first}


def _places(ledger: Ledger[Any], name: str) -> dict[str, int]:
    """Return in which line the records of a ledger are, by id."""
    first = ledger.changes.begun
    last = _latest_changes(ledger, first)
    for number, change in enumerate(ledger.changes.added, start=first):
        if change.after is not None:
            last[change.record_id] = number
    return {key: last[key] for key in getattr(ledger, name)}


def _step_lines(ledger: Ledger[Any], first: int) -> Iterator[bytes | memoryview]:
    """Yield the lines of steps: those that nobody asked for as they are stored."""
    steps, stored = ledger.steps, ledger.changes.stored
    numbers = {id(change): number for number, change in enumerate(ledger.changes.added, start=first)}
    if stored is not None:
        numbers |= {id(change): number for number, change in stored.decoded.items()}
    for raw, keys in groupby(steps, key=lambda key: steps.place(key) is not None):
        if raw and steps.stored is not None:
            lines = steps.stored.lines
            yield from (lines[steps.place(key) or 0] + b"\n" for key in keys)
        else:
            yield from _encode_values([_step_row(steps[key], numbers) for key in keys])


def _step_row(step: CurationStep[Any], numbers: Mapping[int, int]) -> _StepRow:
    facts = (step.id, step.at, step.by, step.title, step.undoes, step.redoes)
    changes = [numbers[id(change)] for change in step.changes]
    return _StepRow(*facts, step.writes, changes, step.resolved, step.reopened, step.machine)


def _stored_lines(values: StoredValues[Any] | None) -> list[bytes | memoryview]:
    return [] if values is None or not len(values) else [values.lines.whole()]


def _encode_values(values: Sequence[object]) -> Iterator[bytes]:
    encoder = msgspec.json.Encoder()
    for start in range(0, len(values), _AT_ONCE):
        some = values[start : start + _AT_ONCE]
        try:
            yield encoder.encode_lines(some)
        except UnicodeEncodeError:
            yield b"".join([encode_lossless(value) + b"\n" for value in some])


def _ends(chunks: Iterable[bytes | memoryview]) -> array[int]:
    lengths = (len(line) + 1 for chunk in chunks for line in bytes(chunk).split(b"\n")[:-1])
    return array("q", accumulate(lengths))


def _open_sections(path: Path, file: IO[bytes], start: int, head: _Head) -> dict[str, FileLines]:
    """Return the lines of all sections by name. Raises: ValueError if they are not as they should be."""
    found, stored = {}, StoredFile(path)
    for name, size, count in head.sections:
        ends = array("q")
        file.seek(start + size)
        ends.frombytes(file.read(count * ends.itemsize))
        if len(ends) != count or (ends[-1] if count else 0) != size:
            raise ValueError(f"the lines of {name} are cut short")
        found[name] = FileLines(stored, ends, begin=start)
        start += size + count * ends.itemsize
    return found


def _fill(ledger: Ledger[Any], head: _Head, lines: Mapping[str, FileLines]) -> None:
    """Bring what is stored into an empty ledger."""
    records = StoredValues[Any](lines["records"], partial(decode_lossless, kind=ledger.type.record))

    def change_of(line: bytes) -> RecordChange[Any]:
        row = decode_lossless(line, _ChangeRow)
        before = None if row.before == _NONE else records[row.before]
        after = None if row.after == _NONE else records[row.after]
        facts = (row.reason, row.step, row.successor, row.machine)
        return RecordChange(row.at, row.by, row.record_id, before, after, *facts)

    changes = StoredValues(lines["changes"], change_of)

    def step_of(line: bytes) -> CurationStep[Any]:
        row = decode_lossless(line, _StepRow)
        facts = (row.id, row.at, row.by, row.title, row.undoes, row.redoes, row.writes)
        mine = [changes[number] for number in row.changes]
        return CurationStep(*facts, mine, row.resolved, row.reopened, row.machine)

    steps = StoredValues(lines["steps"], step_of)
    ledger.records = LazyDict(stored=records, places=head.records)
    ledger.versions = LazyDict(stored=records, places=head.versions)
    ledger.changes = LazyList(stored=changes)
    ledger.steps = LazyDict(stored=steps, places={key: place for place, key in enumerate(head.steps)})
    ledger.successors, ledger.settled = head.successors, head.settled
    ledger.done, ledger.undone, ledger.walks = head.done, head.undone, head.walks
    ledger.heads, ledger.slots, ledger.parted = head.heads, head.slots, head.parted
    ledger.parents = head.parents
    ledger.forks, ledger.shared, ledger.skipped = head.forks, head.shared, head.skipped
    for name, kind in _facts(type(ledger)).items():
        if get_origin(kind) is LazyList:
            stored = StoredValues[Any](lines[name], partial(decode_lossless, kind=get_args(kind)[0]))
            setattr(ledger, name, LazyList(stored=stored))
        else:
            setattr(ledger, name, decode_lossless(lines[name][0], kind))


def _facts(kind: type[Ledger[Any]]) -> dict[str, Any]:
    """Return the types of what a ledger folds besides records, by field."""
    hints = get_type_hints(kind)
    return {
        name: hints[name] for name in kind.__dataclass_fields__ if name not in Ledger.__dataclass_fields__
    }


def _form(kind: type[Ledger[Any]], record: type) -> str:
    """Return a text that differs for programs that write something else."""
    types = (record, _Head, SettledConflict, *_facts(kind).values())
    forms = re.sub(" at 0x[0-9a-f]+", "", repr([msgspec.inspect.type_info(one) for one in types]))
    form = f"{__version__} {_FORMAT} {sys.byteorder} {forms}"
    return hashlib.blake2b(form.encode(), digest_size=12).hexdigest()
