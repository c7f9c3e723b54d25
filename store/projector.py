"""One round of projection: from where the tables are to where the journals end, in one transaction.

What several journals have of one kind of stream goes through one projector: in a team a round is a few
entries of each of many machines, and a statement costs the same for one row as for many.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Final, Protocol

from store.duck import storable
from store.journal import HEAD, PROJECT, FileJournal, Quarantined
from store.migrations import ForeignSchema
from store.projections import episodes, handovers, learnings, rows, rules, segments
from store.projections.rows import Place, insert_rows
from workbench.ports import Entry
from workbench.records.dataclass import dataclass

if TYPE_CHECKING:
    from store.duck import Connection


# Raised when the same entries give other rows than before: tables made by another number are made again.
PROJECTION: Final = 9
HELD_ROWS: Final = 50_000
SHOWN: Final = 100  # entries left out that a catch-up names

SELECT_FINGERPRINT: Final = "SELECT fingerprint FROM projected"
INSERT_FINGERPRINT: Final = "INSERT INTO projected VALUES (?)"
SELECT_APPLIED: Final = "SELECT origin, stream, position, head FROM applied"
# The beginning of a stream may have been applied as nothing; afterwards an UPDATE takes a third of the time.
# `staged` has a row for each stream.
PUT_APPLIED: Final = """
INSERT INTO applied SELECT origin, stream, position, head FROM staged
ON CONFLICT (origin, stream) DO UPDATE SET position = excluded.position, head = excluded.head
"""
UPDATE_APPLIED: Final = """
UPDATE applied SET position = staged.position, head = staged.head
FROM staged WHERE applied.origin = staged.origin AND applied.stream = staged.stream
"""
PUT_COUNTS: Final = """
INSERT INTO stream_counts SELECT origin, stream, entries, "unknown", rejected, quarantined FROM staged
ON CONFLICT (origin, stream) DO UPDATE SET
    entries = stream_counts.entries + excluded.entries,
    "unknown" = stream_counts."unknown" + excluded."unknown",
    rejected = stream_counts.rejected + excluded.rejected,
    quarantined = stream_counts.quarantined + excluded.quarantined
"""
ADD_COUNTS: Final = """
UPDATE stream_counts SET entries = stream_counts.entries + staged.entries,
    "unknown" = stream_counts."unknown" + staged."unknown",
    rejected = stream_counts.rejected + staged.rejected,
    quarantined = stream_counts.quarantined + staged.quarantined
FROM staged WHERE stream_counts.origin = staged.origin AND stream_counts.stream = staged.stream
"""
TYPES: Final = dict.fromkeys(("position", "entries", "unknown", "rejected", "quarantined"), "int64")
"""NumPy's, of the columns of these statements that are not texts."""
INSERT_REJECTED: Final = "INSERT INTO rejected VALUES (?, ?, ?, ?, ?)"
FORGET_METRICS: Final = (
    "DELETE FROM metrics",
    "DELETE FROM applied WHERE stream = 'metrics' OR stream LIKE 'metrics-%'",
    "DELETE FROM stream_counts WHERE stream = 'metrics' OR stream LIKE 'metrics-%'",
    "DELETE FROM rejected WHERE stream = 'metrics' OR stream LIKE 'metrics-%'",
)


class Projector(Protocol):
    """What turns the entries of streams into rows, of one stream after the other, each in its order."""

    @property
    def kinds(self) -> frozenset[str]:
        """The kinds it takes."""
        ...

    @property
    def held(self) -> int:
        """How many rows it holds back."""
        ...

    def take(self, place: Place, offset: int, entry: Entry) -> None:
        """Take an entry whose line begins at a byte of a stream. Raises ValueError for a malformed body."""
        ...

    def flush(self) -> None:
        """Write what is held back."""
        ...

    def finish(self) -> None:
        """Write what is held back and what is derived from it."""
        ...


@dataclass(frozen=True, slots=True)
class Rejected:
    """An entry whose body has another form than its kind says. `offset` is the first byte of its line."""

    origin: str
    stream: str
    offset: int
    kind: str
    reason: str


@dataclass(slots=True)
class RoundTally:
    """What happened to the entries of a stream in a round."""

    entries: int = 0
    bytes: int = 0
    quarantined: int = 0
    unknown: Counter[str] = field(default_factory=Counter)
    rejected: list[Rejected] = field(default_factory=list)

    def counts(self) -> dict[str, int]:
        """Return what it adds to the counts of its stream."""
        return {
            "entries": self.entries,
            "unknown": self.unknown.total(),
            "rejected": len(self.rejected),
            "quarantined": self.quarantined,
        }


@dataclass(frozen=True, slots=True)
class Round:
    """The tallies of a round; `more` if entries are left for another."""

    tallies: tuple[RoundTally, ...]
    more: bool


@dataclass(frozen=True, slots=True)
class CatchUp:
    """What a catch-up did. `rebuilt` is why the tables were rebuilt, empty if they were not.

    `rejected` holds the first entries that were left out for their form, `rejections` counts all of them;
    `unknown` counts entries of kinds this program does not know; `quarantined` lines that cannot be read.
    `set_aside` is where a damaged file went.
    """

    entries: int = 0
    unknown: Mapping[str, int] | None = None
    rejected: tuple[Rejected, ...] = ()
    rejections: int = 0
    quarantined: int = 0
    rebuilt: str = ""
    set_aside: str = ""


@dataclass(frozen=True, slots=True)
class _Pending:
    origin: str
    stream: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class _Applied:
    pending: _Pending
    tally: RoundTally
    position: int
    head: str


class Replaced(Exception):
    """A journal is not the one the tables were made from."""


def caught_up(rounds: Iterable[Round]) -> CatchUp:
    """Return what rounds did together."""
    tallies = [tally for one in rounds for tally in one.tallies]
    unknown: Counter[str] = Counter()
    for tally in tallies:
        unknown.update(tally.unknown)
    rejected = [one for tally in tallies for one in tally.rejected]
    return CatchUp(
        entries=sum(tally.entries for tally in tallies),
        unknown=dict(sorted(unknown.items())),
        rejected=tuple(rejected[:SHOWN]),
        rejections=len(rejected),
        quarantined=sum(tally.quarantined for tally in tallies),
    )


def project(connection: Connection, journals: Mapping[str, FileJournal], limit: int) -> Round:
    """Project at most `limit` entries, at least one where there is one, in one transaction.

    Raises: Replaced, ForeignSchema if the tables must be rebuilt; duckdb.Error; JournalError; StoreBusy.
    """
    connection.execute("BEGIN")
    _check_fingerprint(connection)
    journals = dict(journals.items())  # who the machines of a team are is looked up once
    projectors: dict[object, Projector] = {}
    applied: list[_Applied] = []
    left, more = limit, False
    for one in _pending(connection, journals):
        if left <= 0:
            more = True
            break
        kind = _projector(one.origin, one.stream)
        assert kind is not None  # it is pending
        if kind not in projectors:
            projectors[kind] = kind(connection)
        tally, position = _apply(projectors[kind], journals[one.origin], one, left)
        tally.bytes = position - one.start
        left -= tally.entries
        head = fingerprint(journals[one.origin], one.stream, position)
        applied.append(_Applied(one, tally, position, head))
        more = position < one.end
        if more:
            break
    for projector in projectors.values():
        projector.finish()
    _record(connection, applied)
    connection.execute("COMMIT")
    return Round(tuple(one.tally for one in applied), more)


ALL: Final = ("",)
"""The beginnings of the names of all streams."""

Sizes = Mapping[Place, int]
"""How many bytes streams have, or the tables of them."""


def of_streams(sizes: Sizes, streams: tuple[str, ...]) -> Sizes:
    """Return the sizes of streams whose names begin in one of some ways."""
    return sizes if streams == ALL else {size: sizes[size] for size in sizes if size[1].startswith(streams)}


def with_streams(known: Sizes, sizes: Sizes, streams: tuple[str, ...]) -> Sizes:
    """Return known sizes, of streams whose names begin in one of some ways these."""
    return {**{one: known[one] for one in known if not one[1].startswith(streams)}, **sizes}


def is_current(
    connection: Connection,
    journals: Mapping[str, FileJournal],
    sizes: Sizes,
    streams: tuple[str, ...] = ALL,
) -> bool:
    """Tell whether the tables hold at least `sizes` bytes of the journals, and nothing of others.

    Only streams whose names begin in one of some ways are compared.
    """
    if connection.execute(SELECT_FINGERPRINT).fetchall() != [(PROJECTION,)]:
        return False
    journals = dict(journals.items())
    applied = {key: at for key, at in _applied_positions(connection).items() if key[1].startswith(streams)}
    if any(applied.get(key, (0, ""))[0] < size for key, size in sizes.items()):
        return False
    return all(_is_same(journals, key, position, head) for key, (position, head) in applied.items())


def projected_streams(origin: str, journal: FileJournal) -> list[str]:
    """Return the streams of a journal that tables are made of, in the order they are projected."""
    return [stream for stream in journal.streams() if _projector(origin, stream) is not None]


def fingerprint(journal: FileJournal, stream: str, position: int) -> str:
    """Return what distinguishes the first `position` bytes of a stream from those of another."""
    beginning = journal.prefix(stream, min(position, HEAD))
    return hashlib.blake2b(beginning, digest_size=8).hexdigest()


def _projector(origin: str, stream: str) -> Callable[[Connection], Projector] | None:
    if stream == rules.STREAM:
        return rules.RuleProjector
    if stream == rows.USAGE:
        return rows.UsageProjector
    if stream.startswith(learnings.PREFIX):
        return learnings.LearningProjector
    if origin != PROJECT:
        return None
    if _is_metrics(stream):
        return rows.MeasureProjector
    if stream == episodes.STREAM:
        return episodes.EpisodeProjector
    if stream == segments.STREAM:
        return segments.SegmentProjector
    if stream == handovers.STREAM:
        return handovers.HandoverProjector
    return rows.ModelProjector if stream == rows.MODELS else None


def open_projector(connection: Connection, origin: str, stream: str) -> Projector:
    """Return what turns the entries of a stream that tables are made of into rows."""
    make = _projector(origin, stream)
    assert make is not None  # it is one of `projected_streams`
    return make(connection)


def _is_metrics(stream: str) -> bool:
    return stream == rows.METRICS or stream.startswith(f"{rows.METRICS}-")


def _check_fingerprint(connection: Connection) -> None:
    recorded = connection.execute(SELECT_FINGERPRINT).fetchall()
    if not recorded:
        connection.execute(INSERT_FINGERPRINT, [PROJECTION])
    elif recorded != [(PROJECTION,)]:
        raise ForeignSchema("the tables were projected by another version of the program")


def _pending(connection: Connection, journals: Mapping[str, FileJournal]) -> list[_Pending]:
    applied = _applied_positions(connection)
    replaced = [
        key for key, (position, head) in applied.items() if not _is_same(journals, key, position, head)
    ]
    if any(not _is_metrics(stream) for _, stream in replaced):
        origin, stream = min(key for key in replaced if not _is_metrics(key[1]))
        raise Replaced(f"the {origin} journal {stream} was replaced")
    if replaced:
        # Metrics forget: their oldest part is gone or the newest one was set aside.
        for statement in FORGET_METRICS:
            connection.execute(statement)
        applied = {key: value for key, value in applied.items() if not _is_metrics(key[1])}
    return list(_pending_entries(journals, {key: position for key, (position, _) in applied.items()}))


def _applied_positions(connection: Connection) -> dict[Place, tuple[int, str]]:
    rows = connection.execute(SELECT_APPLIED).fetchall()
    return {(origin, stream): (position, head) for origin, stream, position, head in rows}


def _is_same(journals: Mapping[str, FileJournal], key: tuple[str, str], position: int, head: str) -> bool:
    origin, stream = key
    journal = journals.get(origin)
    if journal is None:
        return False
    size = journal.size(stream)
    if size < position or fingerprint(journal, stream, position) != head:
        return False
    return size == position or journal.begins_line(stream, position)  # else it was cut, and has grown since


def _pending_entries(
    journals: Mapping[str, FileJournal], positions: Mapping[tuple[str, str], int]
) -> Iterator[_Pending]:
    for origin, journal in sorted(journals.items()):
        for stream in projected_streams(origin, journal):
            start = positions.get((origin, stream), 0)
            if journal.size(stream) > start:
                yield _Pending(origin, stream, start, journal.settled_size(stream))


def _apply(
    projector: Projector, journal: FileJournal, pending: _Pending, limit: int
) -> tuple[RoundTally, int]:
    """Have up to `limit` entries of a stream taken; return the tally and the offset where it stopped."""
    tally = RoundTally()
    position = pending.start
    for offset, after, found in journal.scan(pending.stream, pending.start, pending.end):
        position = after
        take_entry(projector, tally, (pending.origin, pending.stream), offset, found)
        if tally.entries >= limit:
            break
    else:
        position = pending.end
    return tally, position


def take_entry(
    projector: Projector,
    tally: RoundTally,
    place: Place,
    offset: int,
    found: Entry | Quarantined,
) -> None:
    """Have a projector take what a line holds, and count that. `place` are origin and stream."""
    if isinstance(found, Quarantined):
        tally.quarantined += 1
        return
    tally.entries += 1
    if found.kind not in projector.kinds:
        tally.unknown[found.kind[:200]] += 1
        return
    try:
        projector.take(place, offset, found)
    except (ValueError, RecursionError) as error:
        reason = (str(error) or type(error).__name__)[:200]
        tally.rejected.append(Rejected(*place, offset, found.kind[:200], reason))
    if projector.held >= HELD_ROWS:
        projector.flush()


def _record(connection: Connection, applied: Sequence[_Applied]) -> None:
    for is_new, put, add in ((True, PUT_APPLIED, PUT_COUNTS), (False, UPDATE_APPLIED, ADD_COUNTS)):
        found = [one for one in applied if (not one.pending.start) is is_new]
        places = [{"origin": one.pending.origin, "stream": one.pending.stream} for one in found]
        ends = [{"position": one.position, "head": one.head} for one in found]
        counts = [one.tally.counts() for one in found]
        insert_rows(connection, put, [place | end for place, end in zip(places, ends, strict=True)], TYPES)
        insert_rows(connection, add, [place | one for place, one in zip(places, counts, strict=True)], TYPES)
    for one in (rejected for each in applied for rejected in each.tally.rejected):
        row = [one.origin, one.stream, one.offset, storable(one.kind), storable(one.reason)]
        connection.execute(INSERT_REJECTED, row)
