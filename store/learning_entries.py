"""The journal entries of a few learnings: the tables say where they are, the journals what they say."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from store.duck import select
from store.journal import FileJournal
from store.tables import Tables
from workbench.ports import Entry

# What users said before a learning was learned of it has its key.
SELECT_PLACES: Final = """
SELECT origin, stream, position FROM (
    SELECT origin, stream, position, moment FROM learning_events JOIN staged ON staged.id = learning_id
    UNION SELECT origin, stream, position, moment FROM corrections WHERE "key" IN (
        SELECT "key" FROM corrections JOIN staged ON staged.id = learning_id)
) ORDER BY moment, origin, stream, position
"""
SELECT_UNREADABLE: Final = "SELECT count(*), min(reason) FROM rejected WHERE starts_with(stream, 'memory/')"


def learning_entries(
    tables: Tables, journals: Mapping[str, FileJournal], identifiers: Iterable[str]
) -> list[tuple[Entry, str]]:
    """Return the entries about some learnings in their order, each with whose journal it is in.

    Raises: StoreError, StoreBusy.
    """
    ids = {"id": ("str", list(identifiers))}
    places = tables.read(lambda connection: select(connection, SELECT_PLACES, ids))
    found: list[tuple[Entry, str]] = []
    for origin, stream, position in places:
        _, _, entry = next(journals[origin].scan(stream, position), (0, 0, None))
        if isinstance(entry, Entry):
            found.append((entry, origin))
    return found


def unreadable_learnings(tables: Tables) -> tuple[int, str]:
    """Return how many entries about learnings were left out for their form, and why one was."""
    [(count, reason)] = tables.query(SELECT_UNREADABLE)
    return count, reason or ""
