"""How fast big lists are: `python -m bench.table [--rows N] [--repeat N]`.

Processor time of this process for opening a table (mount, rows, first paint) and for a key that moves the
cursor, of the virtual table at two sizes and of Textual's DataTable at a size it can bear, as medians and as
ratios. Each table is opened in an app of its own without a terminal, at 120 columns and 40 rows; what the
same app costs without a table is taken off.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any, Final

from textual.app import App, ComposeResult
from textual.content import Content
from textual.widget import Widget
from textual.widgets import DataTable

from screens.widgets.table import Column, ListRows, VirtualTable

LIMIT_OPEN: Final = 0.150
LIMIT_KEY: Final = 0.030
LIMIT_RATIO: Final = 1.5
NOISE: Final = 0.020
"""Seconds below which two times count as equal."""
SIZE: Final = (120, 40)
KEYS: Final = 20
DATA_TABLE_ROWS: Final = 5_000

COLUMNS: Final = (
    Column("id", "Id", "About it.", 12, priority=9),
    Column("text", "Text", "About it.", priority=10),
    Column("priority", "Priority", "About it.", 8, align="right"),
    Column("tags", "Tags", "About it.", 20, priority=1),
)


def cells(number: int) -> Sequence[Content | str]:
    text = f"Never log the access token {number}, not even in tests [/] of x[0]"
    return (f"rule-{number:07}", text, str(number % 101), "language:python")


def virtual(count: int) -> Widget:
    """Return a virtual table of `count` rows."""
    return VirtualTable(COLUMNS, ListRows(range(count), key=str, cells=cells))


def data_table(count: int) -> Widget:
    """Return a DataTable of `count` rows."""
    table: DataTable[Content] = DataTable(cursor_type="row")
    for column in COLUMNS:
        table.add_column(column.title, width=column.width)
    for number in range(count):
        table.add_row(*[Content(str(cell)) for cell in cells(number)])
    return table


class Lists(App[None]):
    """An app of one widget, made when it mounts, or of none."""

    def __init__(self, make: Callable[[], Widget] | None) -> None:
        super().__init__()
        self._make = make

    def compose(self) -> ComposeResult:
        if self._make is not None:
            yield self._make()


async def measure(make: Callable[[], Widget] | None) -> tuple[float, float]:
    """Return the processor seconds of opening an app and, as the median, of a key that moves the cursor."""
    app: App[Any] = Lists(make)
    start = time.process_time()
    keys = []
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        opened = time.process_time() - start
        for _ in range(KEYS):
            start = time.process_time()
            await pilot.press("down")
            keys.append(time.process_time() - start)
    return opened, statistics.median(keys)


def medians(make: Callable[[], Widget] | None, repeat: int) -> tuple[float, float]:
    """Return the medians of `repeat` measurements."""
    measured = [asyncio.run(measure(make)) for _ in range(repeat)]
    return statistics.median(opened for opened, _ in measured), statistics.median(key for _, key in measured)


def main(arguments: list[str] | None = None) -> int:
    """Print the table of times in Markdown; return 1 if a limit is exceeded."""
    parser = argparse.ArgumentParser(prog="python -m bench.table", description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000, help="rows of the smaller table")
    parser.add_argument("--repeat", type=int, default=7, help="measurements of each (default: 7)")
    options = parser.parse_args(arguments)
    sizes = (options.rows, options.rows * 10)
    medians(None, 2)
    bare, bare_key = medians(None, options.repeat)
    print("| list | rows | open, ms CPU | a cursor key, ms CPU |")
    print("|---|---|---|---|")
    print(f"| none | 0 | {bare * 1e3:.0f} | {bare_key * 1e3:.1f} |")
    times = {}
    for count in sizes:
        opened, key = medians(lambda count=count: virtual(count), options.repeat)  # type: ignore[misc]
        times[count] = (opened - bare, key)
        print(f"| virtual table | {count:,} | +{(opened - bare) * 1e3:.0f} | {key * 1e3:.1f} |")
    opened, key = medians(lambda: data_table(DATA_TABLE_ROWS), 1)
    print(f"| DataTable | {DATA_TABLE_ROWS:,} | +{(opened - bare) * 1e3:.0f} | {key * 1e3:.1f} |")
    small, big = times[sizes[0]], times[sizes[1]]
    ratio = big[0] / max(small[0], 1e-3)
    of_data_table = (opened - bare) / DATA_TABLE_ROWS / max(small[0] / sizes[0], 1e-9)
    print(f"\nTen times the rows: {ratio:.2f} of the time. A row of a DataTable: {of_data_table:.0f} times.")
    fast = small[0] <= LIMIT_OPEN and max(small[1], big[1]) <= LIMIT_KEY
    kept = fast and big[0] <= LIMIT_RATIO * max(small[0], NOISE)
    return 0 if kept else 1


if __name__ == "__main__":
    raise SystemExit(main())
