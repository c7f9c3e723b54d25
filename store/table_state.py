"""How the tables are: how large, how many rows, how far behind the journals, what was not projected."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from store import projector
from store.duck import log_file
from store.journal import PROJECT, FileJournal
from store.journal_files import SUFFIX
from store.projections.rows import Place
from store.table_notes import table_notes
from workbench.records.answers.models import ModelEntry, ModelProvenance
from workbench.records.dataclass import dataclass

if TYPE_CHECKING:
    from store.tables import Tables

SELECT_COUNTS: Final = """
SELECT coalesce(sum(entries), 0)::BIGINT, coalesce(sum(unknown), 0)::BIGINT, count(*) FROM stream_counts
"""
SELECT_MODELS: Final = """
SELECT model_id, model_kind, version, created_at, active = 1, canary, base, since, until, samples, sessions,
    metrics::VARCHAR, code_version, seed
FROM model_registry JOIN model_provenance USING (model_id)
ORDER BY active DESC, model_kind, created_at DESC, model_id
"""


@dataclass(frozen=True, slots=True)
class TableFile:
    """The file of the tables as the disk has it: its bytes, and the streams that changed after it."""

    bytes: int
    behind: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TablesReport:
    """What is in the tables: rows by table, entries of so many streams, those of unknown kinds; models."""

    rows: Mapping[str, int]
    entries: int
    unknown: int
    streams: int
    models: tuple[ModelEntry, ...]


def table_file(path: Path, journals: Mapping[str, FileJournal]) -> TableFile | None:
    """Return how the file is without opening it, None before the first. Raises: OSError."""
    if not path.exists():
        return None
    places = [
        (origin, stream)
        for origin, journal in sorted(journals.items())
        for stream in projector.projected_streams(origin, journal)
    ]
    behind = [
        stream if origin == PROJECT else f"{origin}:{stream}"
        for origin, stream in written_later(path, journals, places)
    ]
    return TableFile(sum(one.stat().st_size for one in (path, log_file(path)) if one.exists()), tuple(behind))


def written_later(
    path: Path, journals: Mapping[str, FileJournal], places: Iterable[Place]
) -> Iterator[Place]:
    """Yield which streams were written after the tables at `path`. Raises: OSError."""
    written = os.stat(path).st_mtime_ns
    with suppress(FileNotFoundError):
        written = max(written, os.stat(log_file(path)).st_mtime_ns)
    known = dict(journals.items())
    for origin, stream in places:
        if os.stat(f"{known[origin].root}/journal/{stream}{SUFFIX}").st_mtime_ns > written:
            yield origin, stream


def tables_report(tables: Tables) -> TablesReport:
    """Return what up-to-date tables hold. Raises: StoreError."""
    names = sorted(table_notes())
    counting = " UNION ALL ".join(f'SELECT {at}, count(*) FROM "{name}"' for at, name in enumerate(names))
    rows, [(entries, unknown, streams)] = tables.read(
        lambda connection: [
            connection.execute(statement).fetchall() for statement in (counting, SELECT_COUNTS)
        ]
    )
    return TablesReport(
        {names[at]: count for at, count in sorted(rows)},
        entries,
        unknown,
        streams,
        model_entries(tables),
    )


def model_entries(tables: Tables) -> tuple[ModelEntry, ...]:
    """Return the registered models, the active ones first, the newest first. Raises: StoreError."""
    return tuple(_entry(*row) for row in tables.query(SELECT_MODELS))


def _entry(*row: Any) -> ModelEntry:
    entry = dict(zip(ModelEntry.__struct_fields__, row[:6], strict=False))
    made = dict(zip(ModelProvenance.__struct_fields__, row[6:], strict=True))
    return ModelEntry(**entry, provenance=ModelProvenance(**{**made, "metrics": json.loads(made["metrics"])}))
