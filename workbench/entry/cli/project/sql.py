"""`workbench sql`: questions of one's own to the tables, as a table for people or rows for programs."""

from __future__ import annotations

import csv
import io
import itertools
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from workbench.entry.cli.frame import Invocation, command, current
from workbench.entry.cli.inputs import read_input
from workbench.entry.os.terminal import fold, terminal_columns
from workbench.errors import UsageError
from workbench.text.counts import plural
from workbench.text.sanitize import visible_line

if TYPE_CHECKING:
    from workbench.entry.project import ColumnType, StatementRows

_MAX_STATEMENT = 1 << 20  # bytes
_LEAST = 6  # cells of a column that has to give way
_NUMBERS = ("INT", "DOUBLE", "FLOAT", "DECIMAL")


@command
@click.argument("statement", default="")
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", "csv", "json", "parquet"]),
    help="Output format (default: table, json with --json).",
)
@click.option(
    "--output", type=click.Path(dir_okay=False), metavar="FILE", help="The file of --format parquet."
)
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True, max=3_600),
    default=30.0,
    show_default=True,
    metavar="SECONDS",
    help="How long the statement may take.",
)
@click.option("--tables", "listing", is_flag=True, help="List tables and views with what they hold.")
@click.option("--schema", is_flag=True, help="Show columns with types and meaning; a name shows one table.")
def sql(
    statement: str, form: str | None, output: str | None, timeout: float, listing: bool, schema: bool
) -> None:
    """Ask the project's tables a question in SQL.

    One statement in DuckDB's SQL; `-` reads it from stdin. Tables are first brought up to date with the
    journals. It runs on a copy: it changes nothing, and sees no other files and no network. docs/tables.md
    describes every table.
    """
    here = current()
    chosen = form or ("json" if here.flags.json else "table")
    if (chosen == "parquet") is not (output is not None):
        hint = "Other formats go to stdout." if output else "Such as --output episodes.parquet."
        raise UsageError("--format parquet and --output belong together", hint=hint)
    from workbench.entry.project import open_workspace

    place = open_workspace(here.project, here.settings().config)
    path = None if output is None else Path(output).expanduser().absolute()
    with place.sandbox(timeout, path) as box:
        if listing or schema:
            _show_tables(here, box.tables(), statement, columns=schema)
        elif path is not None:
            if path.exists():
                raise UsageError(f"{output} exists already", hint="Name a new file.")
            box.write_parquet(_read(statement), path)
            here.out.say(f"written to {output}")
        else:
            answer = box.select(_read(statement))
            _FORMATS[chosen](here, answer)


def _read(statement: str) -> str:
    if statement != "-":
        return statement
    return read_input("-", "the statement", _MAX_STATEMENT).decode("utf-8", "replace")


def _show_tables(
    here: Invocation, found: dict[str, tuple[ColumnType, ...]], name: str, *, columns: bool
) -> None:
    """Print what the tables hold, with `columns` what each of theirs means."""
    from workbench.entry.project import table_notes
    from workbench.suggest import did_you_mean

    if name and name not in found:
        raise UsageError(
            f"there is no table {name}",
            hint=did_you_mean(name, found, "`workbench sql --tables` lists them."),
        )
    notes = table_notes()
    shown = [table for table in found if not name or table == name]
    if here.flags.json:
        here.out.json(
            [
                {
                    "table": table,
                    "meaning": notes[table].meaning,
                    "origin": notes[table].origin,
                    "columns": [
                        {"name": one.name, "type": one.type, "meaning": notes[table].columns[one.name]}
                        for one in found[table]
                    ],
                }
                for table in shown
            ]
        )
        return
    for table in shown:
        width = 0 if columns else max(map(len, shown))
        text = fold(f"{table:<{width}}  {notes[table].meaning}", width + 2)
        here.out.paint(here.out.style(text[: len(table)], "1") + here.out.style(text[len(table) :], "0"))
        if columns:
            names, types = (max(len(getattr(one, part)) for one in found[table]) for part in ("name", "type"))
            for one in found[table]:
                head = f"  {one.name:<{names}}  {one.type:<{types}}  "
                here.out.data(fold(head + notes[table].columns[one.name], len(head)))


def _print_csv(here: Invocation, answer: StatementRows) -> None:
    for rows in itertools.chain([[[column.name for column in answer.columns]]], answer.batches):
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows([_plain(value) for value in row] for row in rows)
        here.out.data(text.getvalue())


def _print_json(here: Invocation, answer: StatementRows) -> None:
    """Print an array of objects, one a line; columns of JSON are values, not texts."""
    import msgspec

    names = _unique([column.name for column in answer.columns])
    nested = [column.type == "JSON" for column in answer.columns]
    held = ""  # a comma follows a row once there is another
    for rows in answer.batches:
        lines = []
        for row in rows:
            values = (
                msgspec.Raw(value.encode()) if json and value is not None else value
                for value, json in zip(row, nested, strict=True)
            )
            line = msgspec.json.encode(dict(zip(names, values, strict=True)), enc_hook=str)
            lines.append("[" if not held else f"{held},")
            held = line.decode()
        here.out.data("\n".join(lines))
    here.out.data(f"{held}\n]" if held else "[]")


def _unique(names: Sequence[str]) -> list[str]:
    """Return names that an object can have side by side: a repeated one gets a number."""
    found: list[str] = []
    for name in names:
        numbers = itertools.chain([name], (f"{name}_{number}" for number in itertools.count(2)))
        found.append(next(number for number in numbers if number not in found))
    return found


def _print_table(here: Invocation, answer: StatementRows) -> None:
    """Print aligned columns as wide as the first rows need; a terminal gets what fits, page by page."""
    first = next(answer.batches, ())
    cells = [[_cell(value) for value in row] for row in first]
    names = [visible_line(column.name) for column in answer.columns]
    natural = [max(len(row[at]) for row in [names, *cells]) for at in range(len(names))]
    columns = terminal_columns()
    cut = columns is not None  # a pipe gets all of a later, wider cell
    widths = natural if columns is None else fit(natural, columns)
    right = [any(part in one.type for part in _NUMBERS) and "[" not in one.type for one in answer.columns]
    seen = 0

    def lines() -> Iterator[str]:
        nonlocal seen
        yield _line(names, widths, right, cut=cut)
        yield "  ".join("-" * width for width in widths)
        for row in itertools.chain(cells, ([_cell(value) for value in row] for row in _rows(answer))):
            seen += 1
            yield _line(row, widths, right, cut=cut)

    if columns is not None and sys.stdin.isatty() and len(cells) > shutil.get_terminal_size().lines - 4:
        click.echo_via_pager(f"{line}\n" for line in lines())
    else:
        for line in lines():
            here.out.data(line)
    left = len(names) - len(widths)
    here.out.say(plural(seen, "row") + (f"; {plural(left, 'column')} not shown" if left else ""))


def _rows(answer: StatementRows) -> Iterable[Sequence[Any]]:
    return itertools.chain.from_iterable(answer.batches)


def _plain(value: object) -> object:
    """Return a value as one cell can hold it: lists and maps as JSON."""
    import msgspec

    nested = isinstance(value, list | dict | tuple)
    return msgspec.json.encode(value, enc_hook=str).decode() if nested else value


def _cell(value: object) -> str:
    if value is None:
        return "NULL"
    return visible_line(f"{value:.6g}" if isinstance(value, float) else str(_plain(value)))


def _line(cells: Sequence[str], widths: Sequence[int], right: Sequence[bool], *, cut: bool) -> str:
    parts = []
    for cell, width, number in zip(cells, widths, right, strict=False):
        text = cell[: width - 1] + "…" if cut and len(cell) > width else cell
        parts.append(f"{text:>{width}}" if number else f"{text:<{width}}")
    return "  ".join(parts).rstrip()


def fit(natural: Sequence[int], columns: int) -> list[int]:
    """Return the widths of as many columns as fit beside each other: wide ones give way first."""
    count = len(natural)
    while count > 1 and sum(min(width, _LEAST) + 2 for width in natural[:count]) - 2 > columns:
        count -= 1
    widths = list(natural[:count])
    room = columns - 2 * (count - 1)
    for place, column in enumerate(sorted(range(count), key=lambda at: widths[at])):
        widths[column] = max(min(widths[column], room // (count - place)), 1)
        room -= widths[column]
    return widths


_FORMATS = {"table": _print_table, "csv": _print_csv, "json": _print_json}
