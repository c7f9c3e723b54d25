"""A connection as the tables use one: DuckDB's statements and columns, run by PostgreSQL.

Texts of the tables may hold U+0000, those of PostgreSQL may not: it is two characters there, as in
`table_functions.sql`, and read back.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, cast

import msgspec
import psycopg
from psycopg.abc import Buffer
from psycopg.sql import SQL, Composed, Identifier, Literal
from psycopg.types.numeric import FloatLoader
from psycopg.types.string import StrDumper, TextLoader

from store.lists.patterns import Pattern
from store.postgres.table_dialect import translate_statement, translated_pattern, with_staged

if TYPE_CHECKING:
    import numpy as np

BEGIN_READING: Final = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"

# A pooler may give each transaction a session of its own: nothing is set for longer.
# What lists are made of stays in memory; compiling a statement takes longer than running it.
ENTER: Final = (
    "; SET LOCAL search_path TO {schema}, pg_catalog; SET LOCAL TimeZone TO 'UTC'"
    "; SET LOCAL work_mem TO '64MB'; SET LOCAL jit TO off"
)
LOCK: Final = "; SELECT pg_advisory_xact_lock(hashtextextended({schema}, 0))"

_JSON_ESCAPE: Final = re.compile(r"(?<!\\)((?:\\\\)*)\\u0001\\u000([23])")
_TYPES: Final = {"i": "bigint", "u": "bigint", "b": "boolean", "f": "float8"}


class TableConnection:
    """A connection in whose transactions the tables of `schema` are in use, as DuckDB's would be."""

    def __init__(self, connection: psycopg.Connection, schema: str) -> None:
        self._connection = connection
        self._enter = SQL(ENTER).format(schema=Identifier(schema))
        self._lock = SQL(LOCK).format(schema=Literal(schema))
        adapters = connection.adapters
        adapters.register_dumper(str, _TextDumper)
        adapters.register_dumper(Pattern, _PatternDumper)
        adapters.register_loader("numeric", FloatLoader)
        adapters.register_loader("text", _TextLoader)
        adapters.register_loader("json", _JsonLoader)

    def execute(self, statement: str, parameters: object = (), /) -> TableResult:
        """Run a statement as the tables write it, its values by place or by name."""
        if statement.startswith("BEGIN"):
            lock = SQL("") if statement == BEGIN_READING else self._lock
            begin = SQL("").join((SQL(statement), self._enter, lock))
            return TableResult(self._connection.execute(begin))
        text = translate_statement(statement)
        return TableResult(self._connection.execute(text.encode(), cast("Any", parameters or None)))

    def define(self, statements: str | Composed) -> None:
        """Run statements of PostgreSQL's own, without values."""
        self._connection.execute(statements.encode() if isinstance(statements, str) else statements)

    def execute_staged(
        self, statement: str, columns: Mapping[str, np.ndarray], parameters: Mapping[str, Any], /
    ) -> TableResult:
        """Run a statement that reads columns of values as the table `staged`, all in one parameter."""
        types = ", ".join(f'"{column}" {_type(values)}' for column, values in columns.items())
        rows = f"SELECT * FROM json_to_recordset(%(staged rows)s::json) AS staged({types})"
        lists = (map(_storable, values.tolist()) for values in columns.values())
        values = [dict(zip(columns, row, strict=True)) for row in zip(*lists, strict=True)]
        given = {**parameters, "staged rows": msgspec.json.encode(values).decode()}
        text = with_staged(translate_statement(statement), rows)
        return TableResult(self._connection.execute(text.encode(), given))


class TableResult:
    """The rows of a statement."""

    def __init__(self, cursor: psycopg.Cursor) -> None:
        self._cursor = cursor

    def fetchall(self) -> list[Any]:
        """Return all rows, in tuples."""
        return self._cursor.fetchall()

    def fetchmany(self, size: int) -> list[Any]:
        """Return the next rows, in tuples."""
        return self._cursor.fetchmany(size)

    def fetchnumpy(self) -> dict[str, np.ndarray]:
        """Return the columns by name."""
        import numpy as np

        names = [column.name for column in self._cursor.description or ()]
        values = [*zip(*self._cursor.fetchall(), strict=True)] or [()] * len(names)
        return {
            name: np.array(value, dtype=None if value else np.int64)
            for name, value in zip(names, values, strict=True)
        }


class _TextDumper(StrDumper):
    def dump(self, obj: str) -> Buffer | None:
        return super().dump(_escape(obj))


class _PatternDumper(StrDumper):
    def dump(self, obj: str) -> Buffer | None:
        return super().dump(translated_pattern(obj))


class _TextLoader(TextLoader):
    def load(self, data: Buffer) -> str:
        text = bytes(data).decode()
        return text.replace("\x01\x02", "\0").replace("\x01\x03", "\x01") if "\x01" in text else text


class _JsonLoader(TextLoader):
    def load(self, data: Buffer) -> str:
        text = bytes(data).decode()
        return _JSON_ESCAPE.sub(_json_control, text) if r"\u0001" in text else text


def _json_control(found: re.Match[str]) -> str:
    return rf"{found[1]}\u000{int(found[2]) - 2}"


def _escape(text: str) -> str:
    return text if text.isprintable() else text.replace("\x01", "\x01\x03").replace("\0", "\x01\x02")


def _storable(value: object) -> object:
    return _escape(value) if isinstance(value, str) else value


def _type(values: np.ndarray) -> str:
    """Return the type of a column of NumPy's; of objects it is that of the first value."""
    if values.dtype.kind == "O":
        first = next((value for value in values if value is not None), "")
        return "text" if isinstance(first, str) else "bigint"
    return _TYPES[values.dtype.kind]
