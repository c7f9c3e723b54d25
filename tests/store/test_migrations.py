"""Migrations are applied once, in order, each with its record."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

import store
from store.migrations import SCHEMA, ForeignSchema, first_schema, known_migrations, migrate, migration
from tests.screens.golden import UPDATE


@pytest.fixture
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect(":memory:") as made:
        yield made


ONE = migration("0001_one.sql", "CREATE TABLE one (x INTEGER)")
TWO = migration("0002_two.sql", "CREATE TABLE two (x INTEGER)")
BROKEN = migration("0002_broken.sql", "CREATE TABLE two (x INTEGER); CREATE TABLE one (x INTEGER)")


def tables(connection: duckdb.DuckDBPyConnection) -> list[str]:
    """Return the names of the tables that migrations of this test made."""
    rows = connection.execute("SELECT table_name FROM duckdb_tables() ORDER BY 1").fetchall()
    return [name for (name,) in rows if name in ("one", "two")]


def test_migrations_are_applied_once(connection: duckdb.DuckDBPyConnection) -> None:
    """Running them again does nothing; a new one is added to the old ones."""
    assert migrate(connection, [ONE]) == 1
    assert migrate(connection, [ONE]) == 0
    assert migrate(connection, [ONE, TWO]) == 1
    assert tables(connection) == ["one", "two"]


def test_a_failed_migration_leaves_no_trace(connection: duckdb.DuckDBPyConnection) -> None:
    """What a migration did before its error is undone, with what came before it in the same run."""
    with pytest.raises(duckdb.CatalogException):
        migrate(connection, [ONE, BROKEN])

    assert tables(connection) == []
    assert migrate(connection, [ONE, TWO]) == 2


@pytest.mark.parametrize("here", [[ONE], [ONE, BROKEN], [migration("0001_one.sql", "SELECT 1"), TWO]])
def test_a_schema_of_another_program_is_told(
    connection: duckdb.DuckDBPyConnection, here: list[object]
) -> None:
    """Records that are not the beginning of the program's own migrations are not built upon."""
    migrate(connection, [ONE, TWO])

    with pytest.raises(ForeignSchema):
        migrate(connection, here)  # type: ignore[arg-type]


def catalog(connection: duckdb.DuckDBPyConnection) -> dict[str, list[tuple[object, ...]]]:
    """Return all that a database has but rows, and the records of its migrations."""
    parts = {
        "tables": "SELECT sql FROM duckdb_tables() WHERE NOT internal",
        "views": "SELECT sql FROM duckdb_views() WHERE NOT internal",
        "indexes": "SELECT sql FROM duckdb_indexes()",
        "columns": "SELECT table_name, column_index, column_name, data_type, is_nullable, column_default "
        "FROM duckdb_columns() WHERE NOT internal",
        "constraints": "SELECT table_name, constraint_type, constraint_text, constraint_column_names "
        "FROM duckdb_constraints()",
        "macros": "SELECT function_name, macro_definition FROM duckdb_functions() WHERE NOT internal",
        "sequences": "SELECT sequence_name FROM duckdb_sequences()",
        "records": "SELECT * FROM schema_migrations",
    }
    return {name: connection.execute(f"{sql} ORDER BY ALL").fetchall() for name, sql in parts.items()}


def made_by(connection: duckdb.DuckDBPyConnection, count: int) -> str:
    """Return the text of `schema.sql` for what so many migrations made, in their order."""
    statements = [
        row[0]
        for part in ("table", "view", "index")
        for row in connection.execute(
            f"SELECT sql FROM duckdb_{'indexes' if part == 'index' else part + 's'}() "
            f"{'' if part == 'index' else 'WHERE NOT internal '}ORDER BY {part}_oid"
        ).fetchall()
    ]
    head = (
        f"-- What the first migrations amount to, so many of them: {count}",
        f"-- {UPDATE}=1 pytest tests/store/test_migrations.py writes this file for all there are.",
    )
    return "".join(f"{line.rstrip()}\n" for line in (*head, *statements))


def test_a_new_database_is_as_if_migrated_step_by_step() -> None:
    """What it begins with is what the first migrations make, to every column and index; the rest follow."""
    if os.environ.get(UPDATE):
        with duckdb.connect(":memory:") as steps:
            migrate(steps, known_migrations())
            path = Path(store.__path__[0], "sql", SCHEMA)
            path.write_text(made_by(steps, len(known_migrations())), encoding="utf-8", newline="\n")
        first_schema.cache_clear()
    with duckdb.connect(":memory:") as begun, duckdb.connect(":memory:") as steps:
        assert migrate(begun) == migrate(steps, known_migrations()) == len(known_migrations())
        assert catalog(begun) == catalog(steps)
        assert migrate(begun) == migrate(begun, known_migrations()) == 0


def test_the_files_are_numbered_without_gaps() -> None:
    """Every migration file is found, in order."""
    assert [one.version for one in known_migrations()] == list(range(1, len(known_migrations()) + 1))


def test_the_schema_has_the_columns_of_the_specification(connection: duckdb.DuckDBPyConnection) -> None:
    """The five tables and four indexes of the data model are there, column for column."""
    migrate(connection)
    columns = {
        table: [
            name
            for (name,) in connection.execute(
                "SELECT column_name FROM duckdb_columns() WHERE table_name = ? ORDER BY column_index", [table]
            ).fetchall()
        ]
        for table in ("episodes", "episode_events", "task_file_affinity", "causal_links", "model_registry")
    }

    assert columns == {
        "episodes": [
            "session_id",
            "project_id",
            "task_text",
            "task_fingerprint",
            "query_type",
            "started_at",
            "ended_at",
            "outcome",
            "token_budget",
            "token_used",
            "latency_ms",
        ],
        "episode_events": [
            "id",
            "session_id",
            "event_type",
            "file_path",
            "symbol",
            "payload_json",
            "timestamp",
        ],
        "task_file_affinity": [
            "task_fingerprint",
            "file_path",
            "reads",
            "edits",
            "success_edits",
            "last_seen",
            "weight",
        ],
        "causal_links": [
            "id",
            "session_id",
            "issue_ref",
            "commit_sha",
            "change_path",
            "change_kind",
            "rationale",
            "timestamp",
        ],
        "model_registry": ["model_id", "model_kind", "version", "params_json", "created_at", "active"],
    }
    indexes = connection.execute("SELECT index_name FROM duckdb_indexes() ORDER BY 1").fetchall()
    assert [name for (name,) in indexes] == [
        "idx_affinity_task_weight",
        "idx_causal_commit",
        "idx_episode_events_session",
        "idx_episodes_project_time",
    ]
