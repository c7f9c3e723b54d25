"""Finished replays as files, `<root>/runs/<id>.jsonl.gz`: written whole, listed newest first, bounded.

What a file holds is the engine's business. A state directory keeps the newest `KEPT` runs in at most
`MAX_RUNS_TOTAL` bytes; a run that is written again counts as new. DuckDB writes the rows of a replay, one for
each task and system, as a Parquet file.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import IO, Final

from store import locks
from store.files import open_state, private_dir, translate_errors, write_atomic
from workbench.errors import StoreError
from workbench.records.dataclass import dataclass
from workbench.records.ids import new_id

KEPT: Final = 50
MAX_RUNS_TOTAL: Final = 256 * 1024 * 1024  # bytes of all files
MAX_RUN_SIZE: Final = 64 * 1024 * 1024  # bytes of one file

_ID = re.compile(r"[0-9a-f]{8,64}")
_SUFFIX = ".jsonl.gz"
_BINARY = getattr(os, "O_BINARY", 0)


@dataclass(frozen=True, slots=True)
class RunFile:
    """A kept run: its id, its size in bytes and when it was written, in nanoseconds."""

    id: str
    path: Path
    size: int
    written: int


def put_run(root: Path, identifier: str, data: bytes, *, spare: Collection[str] = ()) -> RunFile:
    """Keep a run, and drop the oldest beyond the bounds but for those to spare.

    Raises: StoreError, StoreBusy.
    """
    if not _ID.fullmatch(identifier):
        raise StoreError(f"{identifier[:80]!r} is not the id of a run", hint="Ids are hexadecimal digits.")
    if len(data) > MAX_RUN_SIZE:
        raise StoreError(
            f"a run of {len(data):,} bytes is too large to keep; {MAX_RUN_SIZE:,} is the most",
            hint="Replay fewer tasks or systems at once.",
        )
    directory = private_dir(root / "runs")
    with locks.exclusive(root / "locks" / "runs.lock"):
        path = directory / f"{identifier}{_SUFFIX}"
        write_atomic(path, data)
        _prune(root, {identifier, *spare})
    return next(found for found in list_runs(root) if found.id == identifier)


def list_runs(root: Path) -> list[RunFile]:
    """Return the kept runs, the newest first. Raises: StoreError."""
    found = []
    with translate_errors("listing the kept runs"), contextlib.suppress(FileNotFoundError):
        for entry in os.scandir(root / "runs"):
            name = entry.name.removesuffix(_SUFFIX)
            if name == entry.name or not _ID.fullmatch(name):
                continue
            with contextlib.suppress(FileNotFoundError):  # dropped by another process meanwhile
                status = entry.stat(follow_symlinks=False)
                if stat.S_ISREG(status.st_mode):
                    found.append(RunFile(name, Path(entry.path), status.st_size, status.st_mtime_ns))
    return sorted(found, key=lambda one: (-one.written, one.id))


def open_run(root: Path, identifier: str) -> IO[bytes]:
    """Return the open file of a run. Raises: StoreError if there is none."""
    if not _ID.fullmatch(identifier):
        raise StoreError(f"{identifier[:80]!r} is not the id of a run", hint="Ids are hexadecimal digits.")
    with translate_errors(f"reading the run {identifier}"):
        return open(open_state(root / "runs" / f"{identifier}{_SUFFIX}", os.O_RDONLY | _BINARY), "rb")


def _prune(root: Path, spare: Collection[str]) -> None:
    total = 0
    for number, one in enumerate(list_runs(root)):
        total += one.size
        if one.id not in spare and (number >= KEPT or total > MAX_RUNS_TOTAL):
            total -= one.size
            with translate_errors(f"dropping the run {one.id}"):
                one.path.unlink(missing_ok=True)


CREATE: Final = """
CREATE TABLE replayed (
    run VARCHAR, task VARCHAR, session VARCHAR, source VARCHAR, head VARCHAR, query_type VARCHAR,
    revision VARCHAR, "commit" VARCHAR, "at" TIMESTAMP, truth VARCHAR[], missing VARCHAR[], fault VARCHAR,
    system VARCHAR, ranking VARCHAR[], tokens BIGINT,
    precision_at_10 DOUBLE, recall_at_5 DOUBLE, recall_at_10 DOUBLE, mrr DOUBLE, ndcg_at_10 DOUBLE,
    packed_recall DOUBLE, line_coverage DOUBLE, first_pass_success DOUBLE, context_tokens DOUBLE,
    affinity_hit_rate DOUBLE, rerank_invocation_rate DOUBLE, fallback_rate DOUBLE, cache_hit_ratio DOUBLE,
    latency_ms DOUBLE, recall_at_1 DOUBLE, recall_at_3 DOUBLE,
    explored_recall DOUBLE, explored_tokens DOUBLE, named_recall DOUBLE,
    packed MAP(VARCHAR, VARCHAR), contributions MAP(VARCHAR, MAP(VARCHAR, DOUBLE)),
    missed MAP(VARCHAR, VARCHAR), reasons MAP(VARCHAR, VARCHAR[])
)
"""

INSERT: Final = """
INSERT INTO replayed
SELECT run, task, session, source, head, query_type, revision, "commit", make_timestamp("at" * 1000000),
       truth, missing, fault, system, ranking, tokens,
       measures['precision_at_10'], measures['recall_at_5'], measures['recall_at_10'], measures['mrr'],
       measures['ndcg_at_10'], measures['packed_recall'], measures['line_coverage'],
       measures['first_pass_success'], measures['context_tokens'], measures['affinity_hit_rate'],
       measures['rerank_invocation_rate'], measures['fallback_rate'], measures['cache_hit_ratio'],
       measures['latency_ms'], measures['recall_at_1'], measures['recall_at_3'],
       measures['explored_recall'], measures['explored_tokens'], measures['named_recall'],
       packed, contributions, missed, reasons
FROM (
    SELECT unnest(from_json(CAST($rows AS JSON), '[{
        "run": "VARCHAR", "task": "VARCHAR", "session": "VARCHAR", "source": "VARCHAR", "head": "VARCHAR",
        "query_type": "VARCHAR", "revision": "VARCHAR", "commit": "VARCHAR", "at": "BIGINT",
        "truth": ["VARCHAR"], "missing": ["VARCHAR"], "fault": "VARCHAR", "system": "VARCHAR",
        "ranking": ["VARCHAR"], "tokens": "BIGINT", "measures": "MAP(VARCHAR, DOUBLE)",
        "packed": "MAP(VARCHAR, VARCHAR)", "contributions": "MAP(VARCHAR, MAP(VARCHAR, DOUBLE))",
        "missed": "MAP(VARCHAR, VARCHAR)", "reasons": "MAP(VARCHAR, VARCHAR[])"
    }]'), recursive := true)
)
"""


def write_rows(path: Path, batches: Iterable[str]) -> None:
    """Write a Parquet file from batches of rows, each a JSON array of objects; it appears whole or not.

    Raises: StoreError.
    """
    import duckdb

    from store.duck import SETTINGS  # state is found without the tables

    temporary = path.with_name(f".{path.name}.{new_id()}.tmp")
    try:
        with duckdb.connect(":memory:", config=SETTINGS) as connection:
            connection.execute(CREATE)
            for rows in batches:
                connection.execute(INSERT, {"rows": rows})
            connection.table("replayed").write_parquet(str(temporary), compression="zstd")
        with translate_errors(f"writing {path}"):
            temporary.replace(path)
    except duckdb.Error as error:
        first = str(error).splitlines()[0]
        raise StoreError(
            f"{path} cannot be written: {first}", hint="Name a file in a directory you can write."
        ) from error
    finally:
        temporary.unlink(missing_ok=True)
