"""The rows of a replay for one's own analysis: one for each task and system, as JSON a database reads.

The columns are those of `store/runs.py`. A task that could not be replayed has a row without a system.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final

from workbench.records.replay import ReplayRun, SystemRow, TaskRow

BATCH: Final = 500  # tasks

_LONE = re.compile("[\ud800-\udfff]")


def row_batches(run: ReplayRun) -> Iterator[str]:
    """Yield JSON arrays of rows, some hundred tasks at a time.

    Lone surrogates, which no database holds, become escapes: `odd-\\udcff.py`.
    """
    for start in range(0, len(run.rows), BATCH):
        rows = [row for task in run.rows[start : start + BATCH] for row in flat_rows(run.id, task)]
        text = json.dumps(rows, ensure_ascii=False, separators=(",", ":"))
        yield _LONE.sub(lambda found: f"\\\\u{ord(found[0]):04x}", text)


def flat_rows(run: str, task: TaskRow) -> Iterator[dict[str, Any]]:
    """Yield a row for each system that did the task, or one without a system."""
    common = {
        "run": run,
        "task": task.id,
        "session": task.session,
        "source": task.source,
        "head": task.head,
        "query_type": task.query_type,
        "revision": task.revision,
        "commit": task.commit,
        "at": task.at,
        "truth": task.truth,
        "missing": task.missing,
        "fault": task.fault,
    }
    if not task.systems:
        yield {**common, "system": None, "measures": {}}
    for name, did in task.systems.items():
        yield {**common, "system": name, **_did(did)}


def _did(row: SystemRow) -> dict[str, Any]:
    return {
        "ranking": row.ranking,
        "tokens": row.tokens,
        "measures": dict(row.measures),
        "packed": dict(row.packed),
        "contributions": {path: dict(parts) for path, parts in row.contributions.items()},
        "missed": dict(row.missed),
    }
