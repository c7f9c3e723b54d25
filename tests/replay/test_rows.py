"""Rows are flat, hold every value of a run, and come back from Parquet."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pytest

from store.runs import write_rows
from tests.replay.made import made_run
from workbench.errors import StoreError
from workbench.records.replay import MEASURES
from workbench.replay import runs
from workbench.replay.runs import flat_rows, row_batches

ODD = 'odd-\udcff\x00"\\ud800 {}.py'


def read(path: Path, query: str) -> list[Any]:
    with duckdb.connect(":memory:") as connection:
        connection.read_parquet(str(path)).create_view("rows")
        return connection.execute(query).fetchall()


def test_every_value_comes_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Measures, rankings, contributions and reasons are in the file, in batches or at once."""
    monkeypatch.setattr(runs, "BATCH", 4)
    run = made_run(10)
    path = tmp_path / "rows.parquet"
    write_rows(path, row_batches(run))
    found = read(
        path,
        "SELECT task, system, ranking, ndcg_at_10, packed_recall, contributions, missed, reasons FROM rows",
    )
    assert len(found) == 30
    tasks = [row for row in run.rows for _ in row.systems]
    for row, (task, system, ranking, ndcg, packed, contributions, missed, reasons) in zip(
        tasks, found, strict=True
    ):
        did = row.systems[system]
        assert (row.id, list(did.ranking), did.measures["ndcg_at_10"], None) == (task, ranking, ndcg, packed)
        assert (did.contributions, did.missed) == (contributions, missed)
        assert {path: [*sentences] for path, sentences in did.reasons.items()} == reasons
    assert read(path, "SELECT count(*) FROM rows WHERE \"at\" >= TIMESTAMP '2023-11-15'")[0][0] == 27


def test_columns_are_the_measures(tmp_path: Path) -> None:
    """Every measure of a replay has a column."""
    write_rows(tmp_path / "r.parquet", row_batches(made_run(1)))
    columns = {row[0] for row in read(tmp_path / "r.parquet", "DESCRIBE rows")}
    assert set(MEASURES) <= columns
    assert set(next(flat_rows("r", made_run(1).rows[0]))) - {"measures"} <= columns


def test_odd_texts_are_kept_as_a_database_can(tmp_path: Path) -> None:
    """Lone surrogates become escapes; quotes, backslashes and NUL stay."""
    write_rows(tmp_path / "r.parquet", row_batches(made_run(2, path=ODD, head=ODD)))
    head, ranking = read(tmp_path / "r.parquet", "SELECT head, ranking FROM rows")[0]
    assert head == 'odd-\\udcff\x00"\\ud800 {}.py'
    assert all(path.startswith('odd-\\udcff\x00"\\ud800 ') for path in ranking)


def test_a_task_that_failed_has_a_row_without_a_system(tmp_path: Path) -> None:
    """What could not be replayed is there with its reason; a run without tasks has no rows."""
    run = made_run(1)
    run = replace(run, rows=(replace(run.rows[0], systems={}, fault="no tree"),))
    write_rows(tmp_path / "r.parquet", row_batches(run))
    assert read(tmp_path / "r.parquet", "SELECT system, fault, mrr FROM rows") == [(None, "no tree", None)]
    write_rows(tmp_path / "r.parquet", row_batches(replace(run, rows=())))
    assert read(tmp_path / "r.parquet", "SELECT count(*) FROM rows") == [(0,)]


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    """A missing directory is a sentence with a hint, and nothing is left behind."""
    with pytest.raises(StoreError, match="nowhere") as caught:
        write_rows(tmp_path / "nowhere" / "r.parquet", row_batches(made_run(1)))
    assert caught.value.hint
    assert list(tmp_path.iterdir()) == []


def test_batches_are_json() -> None:
    """Each batch is an array of objects."""
    (batch,) = row_batches(made_run(2))
    assert [load["system"] for load in json.loads(batch)] == ["baseline", "bm25", "hybrid"] * 2
