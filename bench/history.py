"""How long histories and lists of sessions take to be read from tables, on a repository with a long past.

    python -m bench.history REPOSITORY [--commits 10000] [--times 15]

The repository is cloned beside its objects into a scratch directory, so many commits are imported, and each
question is asked several times of tables that are up to date, in one process.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from store.file_history import AskedTask
from store.lists.sessions import SessionList, session_family
from workbench.config_layers import load
from workbench.entry.project import OpenedProject, open_workspace
from workbench.lists.filters import parse
from workbench.lists.sessions import SESSIONS
from workbench.lists.tables import ListQuery
from workbench.sessions.history import MAX_FILES_PER_TASK

FILTERS = ("", "fix the login", "file:core", "outcome:success edits:>3", "when:2025 -kind:bugfix")
SELECT_BUSIEST = """
SELECT file_path FROM episode_events WHERE event_type = 'edit' GROUP BY file_path
ORDER BY count(*) DESC, file_path LIMIT 20
"""


def main(arguments: Sequence[str]) -> None:
    """Print a table: the question, and the milliseconds it took in the median and at most."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("repository", type=Path)
    parser.add_argument("--commits", type=int, default=10_000)
    parser.add_argument("--times", type=int, default=15)
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="bench-history-") as scratch:
        os.environ["WORKBENCH_HOME"] = str(Path(scratch) / "home")
        root = Path(scratch) / "clone"
        subprocess.run(["git", "clone", "-q", "--shared", given.repository, root], check=True)
        program = [sys.executable, "-m", "workbench", "--project", str(root), "-q"]
        for command in (["index"], ["import", "git", "--limit", str(given.commits)]):
            subprocess.run([*program, *command], check=True, stdout=subprocess.DEVNULL)
        measure(open_workspace(root, load(project=root).config), given.times)


def measure(project: OpenedProject, times: int) -> None:
    """Ask each question so many times and print how long that took."""
    with project.tables() as tables:
        started = time.perf_counter()
        tables.catch_up()
        print(f"tables caught up in {time.perf_counter() - started:.1f} s")
        print(", ".join(f"{name} {count:,}" for name, count in tables.report().rows.items() if count))
        paths = [path for (path,) in tables.query(SELECT_BUSIEST)]
        files = iter(paths * times)

        def history(task: AskedTask) -> object:
            return tables.file_history(next(files), task, most=MAX_FILES_PER_TASK, limit=500)

        sessions = SessionList(tables, quiet_since=0, commits=True)
        first = sessions.page(ListQuery())
        numbers = sessions.order(ListQuery()).numbers.tolist()
        questions: dict[str, Callable[[], object]] = {
            "a file's past, of the 20 busiest": lambda: history(AskedTask()),
            "the same for a task": lambda: history(AskedTask("f", ("#1", "#2"))),
            "sessions: the first page": lambda: sessions.page(ListQuery()),
            "sessions: the next page": lambda: sessions.page(ListQuery(), first.cursor),
            "sessions: 128 rows by number": lambda: sessions.rows(numbers[len(numbers) // 2 :][:128]),
            "sessions: values of facets": lambda: sessions.facets(ListQuery()),
            "sessions: a family": lambda: session_family(tables, "s", "p", 100),
            "completeness": lambda: tables.completeness(quiet_since=0),
        }
        for text in FILTERS:
            query = ListQuery(parse(text, SESSIONS.fields))
            questions[f"sessions: order of {text or 'all'!r}"] = lambda query=query: sessions.order(query)  # type: ignore[misc]
        print(f"{'question':44} {'median ms':>9} {'worst ms':>9}")
        for name, ask in questions.items():
            took = [_timed(ask) for _ in range(times)]
            print(f"{name:44} {statistics.median(took):9.1f} {max(took):9.1f}")


def _timed(ask: Callable[[], object]) -> float:
    started = time.perf_counter()
    ask()
    return (time.perf_counter() - started) * 1000


if __name__ == "__main__":
    main(sys.argv[1:])
