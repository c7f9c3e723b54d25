"""The rows of a replay as a Parquet file, written by DuckDB: one row for each task and system."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from store.duck import SETTINGS
from store.files import translated
from workbench.errors import StoreError
from workbench.records.ids import new_id

CREATE: Final = """
CREATE TABLE replayed (
    run VARCHAR, task VARCHAR, session VARCHAR, source VARCHAR, head VARCHAR, query_type VARCHAR,
    revision VARCHAR, "commit" VARCHAR, "at" TIMESTAMP, truth VARCHAR[], missing VARCHAR[], fault VARCHAR,
    system VARCHAR, ranking VARCHAR[], tokens BIGINT,
    precision_at_10 DOUBLE, recall_at_5 DOUBLE, recall_at_10 DOUBLE, mrr DOUBLE, ndcg_at_10 DOUBLE,
    packed_recall DOUBLE, line_coverage DOUBLE, first_pass_success DOUBLE, context_tokens DOUBLE,
    affinity_hit_rate DOUBLE, rerank_invocation_rate DOUBLE, fallback_rate DOUBLE, cache_hit_ratio DOUBLE,
    latency_ms DOUBLE,
    packed MAP(VARCHAR, VARCHAR), contributions MAP(VARCHAR, MAP(VARCHAR, DOUBLE)),
    missed MAP(VARCHAR, VARCHAR)
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
       measures['latency_ms'], packed, contributions, missed
FROM (
    SELECT unnest(from_json(CAST($rows AS JSON), '[{
        "run": "VARCHAR", "task": "VARCHAR", "session": "VARCHAR", "source": "VARCHAR", "head": "VARCHAR",
        "query_type": "VARCHAR", "revision": "VARCHAR", "commit": "VARCHAR", "at": "BIGINT",
        "truth": ["VARCHAR"], "missing": ["VARCHAR"], "fault": "VARCHAR", "system": "VARCHAR",
        "ranking": ["VARCHAR"], "tokens": "BIGINT", "measures": "MAP(VARCHAR, DOUBLE)",
        "packed": "MAP(VARCHAR, VARCHAR)", "contributions": "MAP(VARCHAR, MAP(VARCHAR, DOUBLE))",
        "missed": "MAP(VARCHAR, VARCHAR)"
    }]'), recursive := true)
)
"""


def write_rows(path: Path, batches: Iterable[str]) -> None:
    """Write a Parquet file from batches of rows, each a JSON array of objects; it appears whole or not.

    Raises: StoreError.
    """
    import duckdb

    temporary = path.with_name(f".{path.name}.{new_id()}.tmp")
    try:
        with duckdb.connect(":memory:", config=SETTINGS) as connection:
            connection.execute(CREATE)
            for rows in batches:
                connection.execute(INSERT, {"rows": rows})
            connection.table("replayed").write_parquet(str(temporary), compression="zstd")
        with translated(f"writing {path}"):
            temporary.replace(path)
    except duckdb.Error as error:
        first = str(error).splitlines()[0]
        raise StoreError(
            f"{path} cannot be written: {first}", hint="Name a file in a directory you can write."
        ) from error
    finally:
        temporary.unlink(missing_ok=True)
