"""Tables that go along when journals are written again: rows move with their lines, or go with them.

They are worked on in a file beside, while the tables are held. The tables are removed before the first
journal is replaced, and the file takes their place after the last one: a process that is killed leaves the
tables of the journals that are there, or none, and then whoever asks next makes them.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from store.duck import DamagedTables, KeptConnection, insert
from store.files import sync_dir, translate_errors
from store.journal import PROJECT, FileJournal, Quarantined
from store.journal_lines import decode_line
from store.migrations import is_migrated
from store.projections import episodes, handovers, learnings
from store.projections.rows import insert_rows
from store.projector import (
    ADD_COUNTS,
    INSERT_REJECTED,
    PROJECTION,
    SELECT_APPLIED,
    SELECT_FINGERPRINT,
    TYPES,
    UPDATE_APPLIED,
    RoundTally,
    fingerprint,
    open_projector,
    take_entry,
)
from store.rewriting import ChangeBytes, LineMoves, StreamRewrite, rewrite_lock, rewriting
from store.table_files import remove
from workbench.errors import StoreError
from workbench.ports import Entry

if TYPE_CHECKING:
    from store.duck import Connection
    from store.tables import Tables

PUT_MOVES: Final = "CREATE OR REPLACE TEMP TABLE moves AS SELECT * FROM staged"
ATTACH_FORMER: Final = "ATTACH $path AS former (READ_ONLY)"
# Rows of one stream alone, by the byte where their line began.
_MOVED: Final = """
INSERT INTO {table}
SELECT old.* REPLACE (old.{column} + shift AS {column})
FROM former.{table} AS old ASOF JOIN temp.moves ON old.{column} >= moves.start WHERE stays
"""
_MOVED_OF: Final = _MOVED + " AND origin = $origin AND stream = $stream"
_DELETE_OF: Final = "DELETE FROM {table} WHERE origin = $origin AND stream = $stream"
MOVED: Final[Mapping[str, tuple[tuple[str, str], ...]]] = {
    episodes.STREAM: (("episode_events", "id"), ("causal_links", "id")),
    handovers.STREAM: (("handovers", "position"), ("loaded_instructions", "position")),
}
EMPTIED: Final[Mapping[str, tuple[str, ...]]] = {handovers.STREAM: ("TRUNCATE rule_breaches",)}
"""Tables whose entries are all read again: of two lines about one breach, one may have gone."""
SELECT_GONE: Final = """
SELECT "key", learning_id FROM former.corrections AS old ASOF JOIN temp.moves ON old.position >= moves.start
WHERE NOT stays AND origin = $origin AND stream = $stream
"""
SELECT_BACKWARDS: Final = """
SELECT 1 FROM (
    SELECT moment, entry_id FROM corrections WHERE origin = $origin AND stream = $stream
    UNION ALL SELECT moment, entry_id FROM learning_events WHERE origin = $origin AND stream = $stream
) WHERE moment > entry_id LIMIT 1
"""
COUNT_REJECTED: Final = "SELECT count(*) FROM rejected WHERE origin = $origin AND stream = $stream"
FORGET_STREAM: Final = tuple(_DELETE_OF.format(table=table) for table in ("applied", "stream_counts"))


def rewrite_streams(
    journal: FileJournal,
    streams: Sequence[str],
    change_of: Callable[[str, Mapping[str, StreamRewrite]], ChangeBytes | None],
    tables: Tables | None,
    *,
    dry: bool,
) -> Mapping[str, StreamRewrite]:
    """Write journals of a project again, with the tables that are made of them; `dry` only counts.

    `change_of` gives what becomes of the lines of a stream, None where all stay, and gets those before it.
    Of a session some lines of which become others, all are `Again`; so are all hand-overs about rules that
    were broken. Raises: JournalError, StoreError, StoreBusy.
    """
    root = journal.root
    with ExitStack() as held:
        if not dry:
            held.enter_context(rewrite_lock(root))
        positions = {} if dry or tables is None else _positions(tables)
        ones: dict[str, StreamRewrite] = {}
        for stream in streams:
            change = change_of(stream, ones)
            one = change and held.enter_context(rewriting(root, stream, change, dry=dry))
            if not one:
                continue
            if stream in positions:
                one.go_on(positions[stream], noted=True)
            elif dry:
                one.go_on()
            else:
                one.go_on_to_readable(noted=True)
            ones[stream] = one
        if not dry and any(one.done.lines for one in ones.values()):
            for one in ones.values():
                one.sync()
            along = nullcontext(_nothing) if tables is None else _along(tables, journal, ones)
            with along as forget:
                for one in ones.values():
                    one.put(forget)
    return ones


def _nothing() -> None:
    """No tables are to be removed."""


def _positions(tables: Tables) -> dict[str, int]:
    """Return up to which byte the streams of the project are in the tables, once they are up to date."""
    if not tables.path.exists():
        return {}
    return _of_project(tables.query(SELECT_APPLIED))


def _of_project(applied: Iterable[tuple[str, str, int, str]]) -> dict[str, int]:
    return {stream: position for origin, stream, position, _ in applied if origin == PROJECT}


@contextmanager
def _along(
    tables: Tables, journal: FileJournal, ones: Mapping[str, StreamRewrite]
) -> Iterator[Callable[[], None]]:
    """Hold the tables while journals are replaced; what is yielded is to be called before each one is."""
    path = tables.path
    beside = path.with_name(f"{path.name}.moved")
    with tables.replacing() as kept, translate_errors(f"bringing {path} along"), ExitStack() as held:
        remove(beside)
        held.callback(remove, beside)
        is_along = _bring(kept, path, beside, ones)
        yield partial(remove, path)
        if is_along:
            with kept.attach(beside) as connection:
                for stream, one in ones.items():
                    place = {"origin": PROJECT, "stream": stream, "position": one.moves.now}
                    head = fingerprint(journal, stream, one.moves.now)
                    insert_rows(connection, UPDATE_APPLIED, [{**place, "head": head}], TYPES)
                connection.execute("CHECKPOINT tables")
            remove(path)
            os.replace(beside, path)
            sync_dir(path.parent)


def _bring(kept: KeptConnection, path: Path, beside: Path, ones: Mapping[str, StreamRewrite]) -> bool:
    """Make tables of the journals as they are to be; False where whoever asks next has to make them."""
    if not path.exists():
        return False
    try:
        with kept.attach(path) as connection:
            if not is_migrated(connection) or connection.execute(SELECT_FINGERPRINT).fetchall() != _KNOWN:
                return False
            positions = _of_project(connection.execute(SELECT_APPLIED).fetchall())
            connection.execute("CHECKPOINT tables")
        shutil.copyfile(path, beside)
    except (DamagedTables, OSError):
        return False
    for stream, one in ones.items():
        one.go_on(positions.get(stream, 0), noted=True)
        if one.moves.end != positions.get(stream, 0):
            return False  # it was read beyond what the tables hold
    with suppress(DamagedTables, StoreError, _Unmovable), kept.attach(beside) as connection:
        connection.execute(ATTACH_FORMER, {"path": str(path)})
        for stream, one in ones.items():
            if one.moves.end:
                _move(connection, stream, one.moves)
        connection.execute("DETACH former")
        return True
    return False


_KNOWN: Final = [(PROJECTION,)]


class _Unmovable(Exception):
    """What the tables would hold cannot be worked out from what they hold."""


def _move(connection: Connection, stream: str, moves: LineMoves) -> None:
    """Let the rows of a stream be those of its lines as they are to be."""
    place = {"origin": PROJECT, "stream": stream}
    staged: dict[str, tuple[str, Sequence[Any]]] = {
        "start": ("int64", moves.starts),
        "shift": ("int64", [shift or 0 for shift in moves.shifts]),
        "stays": ("bool", [shift is not None for shift in moves.shifts]),
    }
    insert(connection, PUT_MOVES, staged)
    for statement in EMPTIED.get(stream, ()):
        connection.execute(statement)
    for table, column in MOVED.get(stream, ()):
        connection.execute(f"TRUNCATE {table}")
        connection.execute(_MOVED.format(table=table, column=column))
    [rejected] = connection.execute(COUNT_REJECTED, place).fetchall()
    of_stream = ("rejected", *(_MEMORY if stream.startswith(learnings.PREFIX) else ()))
    for table in of_stream:
        connection.execute(_DELETE_OF.format(table=table), place)
        connection.execute(_MOVED_OF.format(table=table, column="position"), place)
    if stream.startswith(learnings.PREFIX):
        _forget_said(connection, place)
    forgotten = [_forgotten(sorted(moves.sessions))] if stream == episodes.STREAM else []
    connection.execute("BEGIN")
    projector, tally = open_projector(connection, PROJECT, stream), RoundTally()
    for entry in forgotten:
        projector.take((PROJECT, stream), 0, entry)
    for offset, found in _again(moves):
        take_entry(projector, tally, (PROJECT, stream), offset, found)
    projector.finish()
    for one in tally.rejected:
        connection.execute(INSERT_REJECTED, [one.origin, one.stream, one.offset, one.kind, one.reason])
    [left] = connection.execute(COUNT_REJECTED, place).fetchall()
    counts = {
        "entries": tally.entries - sum(count for kind, count in moves.kinds.items() if kind),
        "unknown": tally.unknown.total()
        - sum(count for kind, count in moves.kinds.items() if kind and kind not in projector.kinds),
        "rejected": left[0] - rejected[0],
        "quarantined": tally.quarantined - moves.kinds[""],
    }
    insert_rows(connection, ADD_COUNTS, [{**place, **counts}], TYPES)
    insert_rows(connection, UPDATE_APPLIED, [{**place, "position": moves.now, "head": ""}], TYPES)
    for statement in () if moves.now else FORGET_STREAM:
        connection.execute(statement, place)
    connection.execute("COMMIT")


_MEMORY: Final = ("corrections", "learning_events")


def _again(moves: LineMoves) -> Iterator[tuple[int, Entry | Quarantined]]:
    """Yield the entries that are read again with where they begin; those that forget only such sessions."""
    for offset, line in moves.again:
        entry = decode_line(line)
        if not isinstance(entry, Entry):
            yield offset, Quarantined("", 0, offset, entry)
        elif entry.kind == _FORGOTTEN and isinstance(entry.body.get("session_ids"), list):
            yield offset, _forgotten([one for one in entry.body["session_ids"] if one in moves.sessions])
        else:
            yield offset, entry


_FORGOTTEN: Final = "episode.forgotten"


def _forgotten(sessions: list[Any]) -> Entry:
    return Entry("", "", _FORGOTTEN, "", {"session_ids": sessions})


def _forget_said(connection: Connection, place: Mapping[str, str]) -> None:
    """Work out again what holds of learnings of which corrections went."""
    gone = connection.execute(SELECT_GONE, place).fetchall()
    if gone and connection.execute(SELECT_BACKWARDS, place).fetchall():
        raise _Unmovable  # a clock went back: what comes later took its place in time from what went
    if gone:
        learnings.project_said(connection, {key for key, _ in gone}, {one for _, one in gone})
