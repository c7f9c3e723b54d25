"""What docs/scale.md shows of the results: tables between its markers, and curves in docs/pictures.

A table is between `<!-- NAME -->` and `<!-- end -->`; what is beside it is written by hand.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from bench.scale.curves import Chart, draw

DOCS: Final = Path(__file__).parent.parent.parent / "docs"
PAGE: Final = DOCS / "scale.md"

Results = Mapping[tuple[str, Any], Mapping[str, float]]
Rows = Sequence[tuple[str, str]]
"""What a row is called, and the name of its value, or of two that are shown as `a / b`."""

SPREAD: Final = "{} p50 cpu ms+{} p95 cpu ms"
EDITED: Final = "command fetch after an edit"
ASKED: Final = (
    ("written, s", "build all cpu s"),
    ("indexed, vectors cached, s", "index all cpu s"),
    ("first tables, s", "tables all cpu s"),
    ("disk, MB", "disk MB"),
    ("memory while indexing, MB", "index peak MB"),
    ("memory of a process that was asked, MB", "ask peak MB"),
    ("first answer of a process, s", "ask first answer cpu s"),
    ("answer p50 / p95, ms", SPREAD.format("ask answer", "ask answer")),
    ("page of a list p50 / p95, ms", SPREAD.format("ask page", "ask page")),
    ("list filtered by two words, ms", "ask filter p50 cpu ms"),
)
TABLES: Final[dict[str, tuple[str, Rows]]] = {
    "segments": (
        "segments",
        (
            *ASKED,
            ("recall@10", "ask recall"),
            ("`stash search`, ms / MB", "command search cpu ms+command search MB"),
            ("`stash list`, ms / MB", "command list cpu ms+command list MB"),
            ("`stash add`, ms / MB", "command add cpu ms+command add MB"),
        ),
    ),
    "rules": (
        "rules",
        (
            *ASKED,
            ("fetch by filters p50 / p95, ms", SPREAD.format("ask fetch", "ask fetch")),
            ("`rules match`, ms / MB", "command match cpu ms+command match MB"),
            ("`rules list --limit 100`, ms / MB", "command fetch cpu ms+command fetch MB"),
            ("the same after an edit, ms / MB", f"{EDITED} cpu ms+{EDITED} MB"),
            ("`rules list WORDS`, ms / MB", "command list cpu ms+command list MB"),
            ("`rules add`, ms / MB", "command add cpu ms+command add MB"),
        ),
    ),
    "learnings": (
        "learnings",
        (
            *ASKED,
            ("`memory prompt`, ms / MB", "command prompt cpu ms+command prompt MB"),
            ("`memory list WORDS`, ms / MB", "command list cpu ms+command list MB"),
            ("`memory queue`, the first one, ms", "command queue first cpu ms"),
            ("`memory queue`, ms / MB", "command queue cpu ms+command queue MB"),
            ("`memory add`, ms / MB", "command add cpu ms+command add MB"),
        ),
    ),
    "files": (
        "files",
        PLANS := (
            ("first index, s of the clock / of CPU", "index s+index cpu s"),
            ("memory of the first index, MB", "index MB"),
            ("index on disk, MB", "disk MB"),
            ("`workbench plan`, ms / MB", "cold cpu ms+cold MB"),
            ("plan in a process p50 / p95, ms", "warm cpu p50 ms+warm cpu p95 ms"),
            ("after an edit p50 / p95, ms", "edited cpu p50 ms+edited cpu p95 ms"),
            ("memory of planning, MB", "warm MB"),
        ),
    ),
    "commits": ("commits", PLANS),
    "clones": ("clone", (("files / commits", "files+commits"), *PLANS)),
    "levels": (
        "levels",
        (
            ("this process (level 1)", SPREAD.format("process", "process")),
            ("Redis (level 2)", SPREAD.format("redis", "redis")),
            ("the rulebook (level 3)", SPREAD.format("store", "store")),
            ("tables", SPREAD.format("tables", "tables")),
            ("first fetch of a new process: Redis", SPREAD.format(*["redis of a new process"] * 2)),
            ("first fetch of a new process: the rulebook", SPREAD.format(*["store of a new process"] * 2)),
        ),
    ),
}
BESIDE: Final = {
    "segments": "stash search",
    "sqlite": "SQLite FTS5 + numpy, exact",
    "usearch": "usearch, its own settings",
    "duckdb": "DuckDB, array functions",
}
BESIDE_ROWS: Final = (
    ("built, s", "build all cpu s"),
    ("disk, MB", "disk MB"),
    ("memory while asked, MB", "ask peak MB"),
    ("first answer, s", "ask first answer cpu s"),
    ("answer p50 / p95, ms", SPREAD.format("ask answer", "ask answer")),
    ("recall@10", "ask recall"),
)


def write(lines: Sequence[Mapping[str, Any]]) -> None:
    """Draw the page and its pictures from results."""
    for path, text in drawn(lines).items():
        path.write_text(text, encoding="utf-8")


def drawn(lines: Sequence[Mapping[str, Any]]) -> dict[Path, str]:
    """Return the page and its pictures by path; of a part and a size the last result is taken."""
    results: dict[tuple[str, Any], Mapping[str, float]] = {
        (line["part"], line["size"]): line["values"] for line in lines
    }
    text = PAGE.read_text(encoding="utf-8")
    tables = {name: table(results, part, rows) for name, (part, rows) in TABLES.items()}
    tables["beside"] = beside(results)
    for name, shown in tables.items():
        marked = re.compile(rf"(<!-- {name} -->\n).*?(<!-- end -->)", re.DOTALL)
        text = marked.sub(lambda found, shown=shown: found[1] + shown + found[2], text)  # type: ignore[misc]
    found = {PAGE: text}
    for name, charts in pictures(results).items():
        found[DOCS / "pictures" / f"scale-{name}.svg"] = draw([chart for chart in charts if chart.curves])
    return found


def table(results: Results, part: str, rows: Rows) -> str:
    """Return a table of a part: a column for each size."""
    sizes = sorted(size for name, size in results if name == part)
    heads = [f"{size:,}" if isinstance(size, int) else str(size) for size in sizes]
    return _table(heads, [results[part, size] for size in sizes], rows)


def beside(results: Results) -> str:
    """Return the table of what users would put together themselves, a column for each and size."""
    columns: list[Mapping[str, float]] = []
    heads = []
    for size in sorted({size for part, size in results if part in BESIDE}):
        for part, title in BESIDE.items():
            if (part, size) in results:
                values = dict(results[part, size])
                if part == "segments":
                    values["build all cpu s"] = values["build all cpu s"] + values["index all cpu s"]
                columns.append(values)
                heads.append(f"{size:,} {title}")
    return _table(heads, columns, BESIDE_ROWS)


def _table(heads: Sequence[str], columns: Sequence[Mapping[str, float]], rows: Rows) -> str:
    """Return a table in Markdown; it is turned over where it would be too wide."""
    cells = [[title, *(_cell(column, name) for column in columns)] for title, name in rows]
    shown = [["", *heads], *cells]
    if len(heads) > 6:
        shown = [list(row) for row in zip(*shown, strict=True)]
    ruler = ["---", *["--:"] * (len(shown[0]) - 1)]
    return "".join(f"| {' | '.join(row)} |\n" for row in (shown[0], ruler, *shown[1:]))


def _cell(values: Mapping[str, float], name: str) -> str:
    return " / ".join(_figure(values[one]) if one in values else "–" for one in name.split("+"))


def _figure(value: float) -> str:
    """Return a figure as its size asks for."""
    if value >= 100 or value == int(value):
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.3g}"


def pictures(results: Results) -> dict[str, list[Chart]]:
    def curve(part: str, name: str) -> list[tuple[float, float]]:
        sizes = sorted(size for one, size in results if one == part)
        return [(size, results[part, size][name]) for size in sizes if name in results[part, size]]

    def chart(title: str, unit: str, across: str, named: Mapping[str, tuple[str, str]]) -> Chart:
        found = {label: curve(*where) for label, where in named.items()}
        return Chart(title, unit, across, {label: line for label, line in found.items() if len(line) > 1})

    kinds = ("segments", "rules", "learnings")
    answer = "ask answer p50 cpu ms"
    others = {title: (part, answer) for part, title in BESIDE.items()}
    plans = {
        "cold": "cold cpu ms",
        "in a process, p95": "warm cpu p95 ms",
        "after an edit, p95": "edited cpu p95 ms",
    }

    def planned(kind: str) -> dict[str, tuple[str, str]]:
        return {name: (kind, key) for name, key in plans.items()}

    return {
        "answers": [
            chart("An answer, the query embedded", "ms", "records", {kind: (kind, answer) for kind in kinds}),
            chart("Beside plain alternatives", "ms", "segments", others),
        ],
        "commands": [
            chart(
                "A command of its own",
                "ms",
                "records",
                {
                    "stash search": ("segments", "command search cpu ms"),
                    "stash add": ("segments", "command add cpu ms"),
                    "rules match": ("rules", "command match cpu ms"),
                    "rules list": ("rules", "command fetch cpu ms"),
                    "rules add": ("rules", "command add cpu ms"),
                    "memory prompt": ("learnings", "command prompt cpu ms"),
                    "memory add": ("learnings", "command add cpu ms"),
                },
            ),
            chart(
                "Memory",
                "MB",
                "records",
                {
                    **{f"{kind}, asked": (kind, "ask peak MB") for kind in kinds},
                    **{f"{kind}, indexing": (kind, "index peak MB") for kind in kinds},
                },
            ),
        ],
        "plans": [
            chart("A plan by files", "ms", "files", planned("files")),
            chart("A plan by commits", "ms", "commits", planned("commits")),
            chart(
                "The first index",
                "s",
                "files or commits",
                {"by files": ("files", "index cpu s"), "by commits": ("commits", "index cpu s")},
            ),
        ],
    }
