"""`workbench sql`: one statement that reads, in the format that was asked for, and nothing else."""

from __future__ import annotations

import csv
import io
import json
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest

from sample_data.build import build
from tests.conftest import Work
from tests.entry.cli.conftest import Run
from tests.processes import LONG, running
from workbench.entry.cli import exits
from workbench.entry.cli.project import sql

DOCS = Path(__file__).parents[4] / "docs" / "tables.md"


@pytest.fixture(scope="module")
def shared(_package: Work, tmp_path_factory: pytest.TempPathFactory) -> Work:
    """A project for statements that change nothing; its tables are made once."""
    return _package.copy(tmp_path_factory.mktemp("shared") / "work")


def test_formats_hold_the_same_rows(indexed: Any, run: Run, tmp_path: Path) -> None:
    """Table, CSV, JSON and Parquet agree; lists and JSON are values; repeated names stay apart."""
    asked = """select 1 as a, 2 as a, [1, 2] as list, '{"x": null}'::JSON as json, NULL as nothing,
        'a,"b' as text"""
    assert run("sql", asked, "--json").json() == [
        {"a": 1, "a_2": 2, "list": [1, 2], "json": {"x": None}, "nothing": None, "text": 'a,"b'}
    ]
    rows = list(csv.reader(io.StringIO(run("sql", asked, "--format", "csv").out)))
    assert rows == [
        ["a", "a", "list", "json", "nothing", "text"],
        ["1", "2", "[1,2]", '{"x": null}', "", 'a,"b'],
    ]
    lines = run("sql", asked).out.splitlines()
    assert [line.split() for line in lines[::2]] == [
        ["a", "a", "list", "json", "nothing", "text"],
        ["1", "2", "[1,2]", '{"x":', "null}", "NULL", 'a,"b'],
    ]
    target = tmp_path / "episodes.parquet"
    assert run("sql", "from episodes", "--format", "parquet", "--output", str(target)).code == exits.OK
    counted = duckdb.execute("select count(*) from read_parquet(?)", [str(target)]).fetchall()
    assert counted == [(3,)]
    assert run("sql", "from episodes", "--format", "parquet", "--output", str(target)).code == exits.USAGE


def test_many_rows_come_in_batches(project: Any, run: Run) -> None:
    """Rows of every batch arrive once and in order, in all formats; the statement may come from stdin."""
    asked = "select i from range(2500) as numbers(i)"
    expected = list(range(2_500))
    assert [row["i"] for row in json.loads(run("sql", "-", "--json", given=asked.encode()).out)] == expected
    assert [int(line) for line in run("sql", asked, "--format", "csv").out.splitlines()[1:]] == expected
    assert [int(line) for line in run("sql", asked).out.splitlines()[2:]] == expected
    assert run("sql", "select 1 where false", "--json").json() == []


@pytest.mark.parametrize(
    "statement",
    [
        "insert into rejected values ('', '', 0, '', '')",
        "with gone as (delete from metrics returning *) from gone",
        "drop table metrics",
        "create table mine (x integer)",
        "copy metrics to 'stolen.csv'",
        "attach 'other.duckdb'",
        "install httpfs",
        "load httpfs",
        "set memory_limit = '8GB'",
        "pragma database_list",
        "call pragma_version()",
        "export database 'elsewhere'",
        "from read_csv('CLAUDE.md')",
        "from read_text('CLAUDE.md')",
        "from 'CLAUDE.md'",
        "from glob('*')",
        "explain analyze copy metrics to 'stolen.csv'",
        "select 1; select 2",
        "from build",  # a name of this module
        "selec 1",
        "",
        "-- nothing",
    ],
)
def test_what_does_not_read_tables_is_refused(
    shared: Work, run: Run, statement: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Writing, other files, extensions, settings and several statements are wrong usage and leave no file."""
    monkeypatch.chdir(shared.root)
    before = sorted(shared.root.iterdir())
    ran = run("sql", statement)
    assert (ran.code, ran.out) == (exits.USAGE, "")
    assert "hint:" in ran.err
    made = [path for path in sorted(shared.root.iterdir()) if path not in before]
    assert [path.name for path in made if path.name != ".workbench"] == []
    assert list((shared.root / ".workbench" / "spill").iterdir()) == []


def test_mistakes_come_with_near_names(project: Any, run: Run) -> None:
    """Tables and columns that do not exist are refused with what is near and where it is."""
    ran = run("sql", "select * from episods")
    assert "Did you mean episodes?" in ran.err
    assert "LINE 1" in ran.err
    assert "outcome" in run("sql", "select outcom from episodes").err
    assert "Did you mean episodes?" in run("sql", "--schema", "episods").err


def test_time_is_bounded(project: Any, run: Run) -> None:
    """A statement that would run for hours is interrupted and says how to give it longer."""
    ran = run(
        "sql", "select sum(a.i * b.i) from range(10000000) a(i), range(10000000) b(i)", "--timeout", "0.2"
    )
    assert ran.code == exits.ERROR
    assert "--timeout" in ran.err


def test_memory_is_bounded(project: Any, run: Run) -> None:
    """A statement that wants more memory than it may have fails as such, and the program goes on."""
    ran = run("sql", "select list(i) from range(200000000) as numbers(i)")
    assert ran.code == exits.ERROR
    assert "hint:" in ran.err


def test_ctrl_c_ends_a_statement(indexed: Any) -> None:
    """One that is at work is interrupted as well as one whose rows are being read; no copy stays."""
    endless = "select i from range(1000000000000) as numbers(i)"
    program = [sys.executable, "-m", "workbench", "sql", "--format", "csv", "--timeout", "3600"]
    with running([*program, endless], stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert [process.stdout.readline() for _ in range(3)] == ["i\n", "0\n", "1\n"]
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=LONG)
    assert (process.returncode, "interrupted" in errors) == (exits.INTERRUPTED, True)
    assert list((indexed.root / ".workbench" / "spill").iterdir()) == []


def test_hostile_text_is_shown(project: Any, run: Run) -> None:
    """Text from files drives no terminal: control characters and line ends are shown."""
    out = run("sql", "select chr(27) || '[2J' || chr(10) || 'x' as text").out
    assert "\x1b" not in out
    assert out.splitlines()[2] == "␛[2J␊x"


def test_parquet_and_its_file_belong_together(project: Any, run: Run) -> None:
    """One without the other is refused before anything is opened."""
    assert run("sql", "select 1", "--format", "parquet").code == exits.USAGE
    assert run("sql", "select 1", "--output", "x.csv").code == exits.USAGE


@pytest.mark.parametrize(
    ("natural", "columns", "expected"),
    [
        ([3, 4], 80, [3, 4]),
        ([50, 50], 62, [30, 30]),
        ([3, 90], 45, [3, 40]),
        ([50] * 20, 30, [6, 6, 6, 6]),
        ([90], 40, [40]),
    ],
)
def test_columns_fit_a_terminal(natural: list[int], columns: int, expected: list[int]) -> None:
    """Narrow columns keep their width, wide ones share the rest, and what cannot fit is left out."""
    widths = sql.fit(natural, columns)
    assert sum(widths) + 2 * (len(widths) - 1) <= columns
    assert widths == expected


def test_examples_of_the_documentation_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Callable[..., Any]
) -> None:
    """The five questions have answers in the sample project."""
    monkeypatch.chdir(build(tmp_path)[0])
    run("import", "sessions", "../sessions")
    run("plan", "a customer cancelled an order", "--budget", "500")
    questions = re.findall(r"```sql\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.S)
    assert len(questions) == 5
    for question in questions:
        ran = run("sql", question, "--json")
        assert (ran.code, bool(ran.json())) == (exits.OK, True), question


def test_tables_and_columns_are_explained(project: Any, run: Run) -> None:
    """Both lists say what things mean, for people and for programs, of all tables or of one."""
    lines = run("sql", "--tables").out.splitlines()
    assert "episodes" in [line.split()[0] for line in lines]
    assert len(lines) == len(run("sql", "--tables", "--json").json())
    assert "timeout where nobody said that it ended." in run("sql", "--schema", "episode_sources").out
    [table] = run("sql", "--schema", "rejected", "--json").json()
    assert table["table"] == "rejected"
    assert table["columns"][2] == {
        "name": "position",
        "type": "BIGINT",
        "meaning": "Byte offset of its line in the journal.",
    }
