"""How the tables are: how large, how many rows, how far behind the journals, what was not projected."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from store import projector
from store.duck import log_file
from store.journal import FileJournal
from store.journal_files import stream_path
from store.table_notes import table_notes
from workbench.records.dataclass import dataclass

if TYPE_CHECKING:
    from store.tables import Tables

SELECT_COUNTS: Final = """
SELECT coalesce(sum(entries), 0)::BIGINT, coalesce(sum(unknown), 0)::BIGINT, count(*) FROM stream_counts
"""
SELECT_MODELS: Final = """
SELECT model_id, model_kind, version, active = 1 FROM model_registry
ORDER BY active DESC, model_kind, model_id
"""


@dataclass(frozen=True, slots=True)
class TableFile:
    """The file of the tables as the disk has it: its bytes, and the streams that changed after it."""

    bytes: int
    behind: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RegisteredModel:
    """A model of the registry; `active` is the one of its kind that is used."""

    model_id: str
    model_kind: str
    version: str
    active: bool


@dataclass(frozen=True, slots=True)
class TablesReport:
    """What is in the tables: rows by table, entries of so many streams, those of unknown kinds; models."""

    rows: Mapping[str, int]
    entries: int
    unknown: int
    streams: int
    models: tuple[RegisteredModel, ...]


def table_file(path: Path, journals: Mapping[str, FileJournal]) -> TableFile | None:
    """Return how the file is without opening it, None before the first. Raises: OSError."""
    if not path.exists():
        return None
    found = [one.stat() for one in (path, log_file(path)) if one.exists()]
    written = max(one.st_mtime_ns for one in found)
    behind = [
        stream if origin == projector.PROJECT else f"{origin}:{stream}"
        for origin, journal in sorted(journals.items())
        for stream in projector.projected_streams(origin, journal)
        if stream_path(journal.root, stream).stat().st_mtime_ns > written
    ]
    return TableFile(sum(one.st_size for one in found), tuple(behind))


def tables_report(tables: Tables) -> TablesReport:
    """Return what up-to-date tables hold. Raises: StoreError."""
    names = sorted(table_notes())
    counting = " UNION ALL ".join(f'SELECT {at}, count(*) FROM "{name}"' for at, name in enumerate(names))
    rows, [(entries, unknown, streams)], models = tables.read(
        lambda connection: [
            connection.execute(statement).fetchall() for statement in (counting, SELECT_COUNTS, SELECT_MODELS)
        ]
    )
    return TablesReport(
        {names[at]: count for at, count in sorted(rows)},
        entries,
        unknown,
        streams,
        tuple(RegisteredModel(*row) for row in models),
    )
