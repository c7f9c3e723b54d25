"""What a hook or a cold plan needs of the store costs no database."""

from __future__ import annotations

import subprocess
from collections.abc import Callable

Start = Callable[..., subprocess.Popen[str]]
Outputs = Callable[[list[subprocess.Popen[str]]], list[str]]

CODE = """
import sys
import store.clock, store.files, store.generations, store.journal, store.location, store.locks
import store.metrics, store.tables
print(sorted({"duckdb", "numpy", "platformdirs"} & set(sys.modules)))
"""


def test_heavy_libraries_are_imported_when_used(start: Start, outputs: Outputs) -> None:
    """Importing every module of the store's own leaves DuckDB and NumPy out."""
    assert outputs([start(CODE)]) == ["[]\n"]
