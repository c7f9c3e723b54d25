"""What is written of the tables is true: every table and column is described, and nothing else is."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from itertools import islice
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import pytest

from store.journal import FileJournal
from store.sandbox import SELECT_TABLES
from store.table_notes import table_notes, with_reference
from store.tables import Tables
from tests.adapters import ManualClock

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs" / "tables.md"

# [img 6], with what SQLite calls INTEGER and TEXT as DuckDB's types, and autoincremented ids as plain ones.
SPECIFIED = {
    "episodes": {
        "session_id": "VARCHAR",
        "project_id": "VARCHAR",
        "task_text": "VARCHAR",
        "task_fingerprint": "VARCHAR",
        "query_type": "VARCHAR",
        "started_at": "BIGINT",
        "ended_at": "BIGINT",
        "outcome": "VARCHAR",
        "token_budget": "BIGINT",
        "token_used": "BIGINT",
        "latency_ms": "BIGINT",
    },
    "episode_events": {
        "id": "BIGINT",
        "session_id": "VARCHAR",
        "event_type": "VARCHAR",
        "file_path": "VARCHAR",
        "symbol": "VARCHAR",
        "payload_json": "VARCHAR",
        "timestamp": "BIGINT",
    },
    "task_file_affinity": {
        "task_fingerprint": "VARCHAR",
        "file_path": "VARCHAR",
        "reads": "BIGINT",
        "edits": "BIGINT",
        "success_edits": "BIGINT",
        "last_seen": "BIGINT",
        "weight": "FLOAT",
    },
    "causal_links": {
        "id": "BIGINT",
        "session_id": "VARCHAR",
        "issue_ref": "VARCHAR",
        "commit_sha": "VARCHAR",
        "change_path": "VARCHAR",
        "change_kind": "VARCHAR",
        "rationale": "VARCHAR",
        "timestamp": "BIGINT",
    },
    "model_registry": {
        "model_id": "VARCHAR",
        "model_kind": "VARCHAR",
        "version": "VARCHAR",
        "params_json": "VARCHAR",
        "created_at": "BIGINT",
        "active": "INTEGER",
    },
}
NOT_NULL = {
    "episodes": "session_id project_id task_text task_fingerprint query_type started_at",
    "episode_events": "id session_id event_type timestamp",
    "task_file_affinity": "task_fingerprint file_path reads edits success_edits last_seen weight",
    "causal_links": "id session_id change_path change_kind timestamp",
    "model_registry": "model_id model_kind version params_json created_at active",
}
KEYS = {
    "episodes": ["session_id"],
    "episode_events": ["id"],
    "task_file_affinity": ["task_fingerprint", "file_path"],
    "causal_links": ["id"],
    "model_registry": ["model_id"],
}
INDEXES = {
    "idx_episodes_project_time": ("episodes", ["project_id", "started_at"]),
    "idx_episode_events_session": ("episode_events", ["session_id", "timestamp"]),
    "idx_affinity_task_weight": ("task_file_affinity", ["task_fingerprint", "weight"]),
    "idx_causal_commit": ("causal_links", ["commit_sha"]),
}


@cache
def program() -> list[str]:
    places = (ROOT / place for place in ("store", "workbench", "screens"))
    return [path.read_text(encoding="utf-8") for place in places for path in place.glob("**/*.py")]


@pytest.fixture
def tables(journal: FileJournal, tmp_path: Path, clock: ManualClock) -> Tables:
    return Tables(tmp_path, {"project": journal}, clock)


def test_every_column_of_every_table_is_described(tables: Tables) -> None:
    """Tables, views and their columns are those of the notes, in the same order."""
    found: dict[str, list[str]] = {}
    for table, column, _ in tables.query(SELECT_TABLES):
        found.setdefault(table, []).append(column)
    assert found == {table: list(note.columns) for table, note in sorted(table_notes().items())}
    texts = [text for note in table_notes().values() for text in (note.meaning, *note.columns.values())]
    assert [text for text in texts if not text.endswith((".", "…"))] == []


def test_the_page_is_made_of_the_notes() -> None:
    """docs/tables.md says what the notes say: `python -m store.table_notes docs/tables.md` writes it."""
    page = DOCS.read_text(encoding="utf-8")
    assert with_reference(page) == page


def test_specified_tables_keep_their_columns_keys_and_indexes(tables: Tables) -> None:
    """What [img 6] specifies is there: names, types, what may be missing, primary keys, indexes."""
    columns = {
        table: {name: kind for found, name, kind in tables.query(SELECT_TABLES) if found == table}
        for table in SPECIFIED
    }
    assert columns == SPECIFIED
    wanted = "SELECT table_name, column_name FROM duckdb_columns() WHERE NOT is_nullable AND NOT internal"
    required = tables.query(wanted)
    assert {
        table: " ".join(name for found, name in required if found == table) for table in NOT_NULL
    } == NOT_NULL
    wanted = "SELECT table_name, constraint_column_names FROM duckdb_constraints()"
    keys = tables.query(f"{wanted} WHERE constraint_type = 'PRIMARY KEY'")
    assert {table: names for table, names in keys if table in KEYS} == KEYS
    indexes = tables.query("SELECT index_name, table_name, expressions FROM duckdb_indexes()")
    assert {
        name: (table, [one.strip("'\"") for one in expressions.strip("[]").split(", ")])
        for name, table, expressions in indexes
        if name in INDEXES
    } == {name: (table, parts) for name, (table, parts) in INDEXES.items()}


def texts_of(code: CodeType, names: dict[str, Any], owner: type | None, seen: set[str]) -> Iterator[str]:
    """Yield the texts that code uses: its own, its module's constants, those of functions it calls."""
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from texts_of(constant, names, owner, seen)
        elif isinstance(constant, str):
            yield constant
    for name in code.co_names:
        found = names.get(name, getattr(owner, name, None))
        if isinstance(found, str):
            yield found
        elif isinstance(found, FunctionType) and found.__qualname__ not in seen:
            seen.add(found.__qualname__)
            yield from texts_of(found.__code__, found.__globals__, owner, seen)


@pytest.mark.parametrize("table", table_notes())
def test_each_table_is_read_by_what_its_note_names(table: str, tables: Tables) -> None:
    """Every reader exists, is called by the program, and selects from the table or lists it; or is a view."""
    readers = table_notes()[table].readers
    assert readers, f"{table} is read by nothing: give it a reader or drop it"
    reading = re.compile(rf"\b(FROM|JOIN)\s+\(*{table}\b", re.I)
    for reader in readers:
        if reader.startswith("the view "):
            view = reader.removeprefix("the view ")
            [(definition,)] = tables.query("SELECT sql FROM duckdb_views() WHERE view_name = ?", [view])
            assert reading.search(definition), definition
            assert table_notes()[view].readers
            continue
        name, _, last = reader.rpartition(".")
        owner: Any = None
        try:
            place: Any = import_module(name)
        except ModuleNotFoundError:
            module, _, cls = name.rpartition(".")
            place = owner = getattr(import_module(module), cls)
        function = getattr(place, last)
        texts = texts_of(function.__code__, function.__globals__, owner, {function.__qualname__})
        assert any(text == table or reading.search(text) for text in texts), reader
        called = re.compile(rf"\b{last}\b")
        uses = islice(filter(called.search, program()), 2)
        assert last == "__init__" or len(list(uses)) > 1, f"{reader} is called by nothing"
