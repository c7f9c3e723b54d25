"""What the tables hold, column by column: `sql/tables.toml`, which commands and documents quote.

`python -m store.table_notes docs/tables.md` writes the reference at the end of that page.
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Final

from workbench.records.dataclass import dataclass

HEADING: Final = "## Every table\n"


@dataclass(frozen=True, slots=True)
class TableNote:
    """A table or view: what it holds, where its rows come from, where it is specified, and what reads it.

    `readers` are `module.function`; `columns` maps each column to its meaning.
    """

    meaning: str
    origin: str
    specification: str
    readers: tuple[str, ...]
    columns: Mapping[str, str]


@cache
def table_notes() -> Mapping[str, TableNote]:
    """Return the note of each table and view, in the order of the file."""
    text = resources.files("store").joinpath("sql", "tables.toml").read_text("utf-8")
    return {
        name: TableNote(**{**note, "readers": tuple(note["readers"])})
        for name, note in tomllib.loads(text).items()
    }


def with_reference(page: str) -> str:
    """Return a page of Markdown with all tables described below its heading "Every table"."""
    parts = [page.partition(HEADING)[0] + HEADING]
    for name, note in table_notes().items():
        readers = ", ".join(f"`{reader}`" for reader in note.readers)
        read = f" Read by: {readers}." if readers else ""
        columns = "\n".join(f"| `{column}` | {meaning} |" for column, meaning in note.columns.items())
        parts.append(
            f"### {name}\n\n{note.meaning}\n\nFrom: {note.origin}. Specified: {note.specification}.{read}\n\n"
            f"| column | meaning |\n|---|---|\n{columns}\n"
        )
    return "\n".join(parts)


if __name__ == "__main__":
    page = Path(sys.argv[1])
    page.write_text(with_reference(page.read_text("utf-8")), encoding="utf-8")
