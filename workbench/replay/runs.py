"""Finished replays as they are stored: an id that follows from the content, one header line, one line a task.

The id is the beginning of the SHA-256 of everything but itself, so that a file that changed is noticed and
the same run has the same name everywhere. The header alone holds what a list shows.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import re
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import IO, Any, Final

import msgspec

from workbench.errors import StoreError, UsageError
from workbench.records.replay import (
    ReplayRun,
    SystemRow,
    TaskRow,
    row_from_json,
    row_to_json,
    run_from_json,
    run_to_json,
)
from workbench.suggest import did_you_mean

ID_LENGTH: Final = 16  # hexadecimal digits
LAST: Final = "last"
LEAST_PREFIX: Final = 4
MAX_TEXT: Final = 1024 * 1024 * 1024  # bytes of a run; a larger file is not a run of ours

_LEVEL = 6
_DAMAGE = "Remove it from the directory `runs` of the project's state, or replay again."

BATCH: Final = 500  # tasks

_LONE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class RunSummary:
    """What a list shows of a stored run. `scores` maps a system to its precision@10 and nDCG@10.

    `sources` counts the tasks that were replayed by where they come from; empty for runs without it.
    """

    id: str
    at: str
    project: str
    version: str
    tasks: int
    faults: int
    complete: bool
    settings: Mapping[str, Any]
    scores: Mapping[str, tuple[float, float]]
    sources: Mapping[str, int] = field(default_factory=dict)


def encode_run(run: ReplayRun) -> tuple[str, bytes]:
    """Return a run's id and its file. The same run gives the same bytes."""
    lines = list(_lines(run))
    identifier = _digest(lines)
    first = json.dumps({"id": identifier}).encode()
    return identifier, gzip.compress(b"\n".join([first, *lines, b""]), _LEVEL, mtime=0)


def decode_run(file: IO[bytes]) -> ReplayRun:
    """Return the run of a file. Raises: StoreError if it is damaged or of another format."""
    with _explain_damage("a kept run"), gzip.GzipFile(fileobj=file) as lines:
        identifier = _identifier(lines.readline(MAX_TEXT))
        content = lines.read(MAX_TEXT + 1).removesuffix(b"\n").split(b"\n")
        if sum(map(len, content)) + len(content) > MAX_TEXT:
            raise ValueError(f"it has more than {MAX_TEXT:,} bytes")
        if _digest(content) != identifier:
            raise ValueError("its content does not match its id")
        header = json.loads(content[0])
        header.pop("counts")
        rows = tuple(row_from_json(json.loads(line)) for line in content[1:])
        return replace(run_from_json({**header, "tasks": []}), id=identifier, rows=rows)


def decode_summary(file: IO[bytes]) -> RunSummary:
    """Return the summary in the first lines of a file. Raises: StoreError."""
    with _explain_damage("a kept run"), gzip.GzipFile(fileobj=file) as lines:
        identifier = _identifier(lines.readline(MAX_TEXT))
        header = json.loads(lines.readline(MAX_TEXT))
        counts = header.pop("counts")
        run = run_from_json({**header, "tasks": []})
        return RunSummary(
            identifier,
            run.at,
            run.project,
            run.version,
            int(counts["tasks"]),
            int(counts["faults"]),
            run.complete,
            run.settings,
            {score.system: (score.precision_at_10, score.ndcg_at_10) for score in run.systems},
            {str(name): int(count) for name, count in counts.get("sources", {}).items()},
        )


def run_of_document(text: bytes, name: str) -> ReplayRun:
    """Return the run of what `--json` printed. Raises: StoreError naming the file."""
    with _explain_damage(
        name, "Give a run's id, or a file that `workbench --replay --json` or `runs show --json` made."
    ):
        document = json.loads(text)
        if not isinstance(document, dict):
            raise ValueError("it is not a JSON object")
        known = {*ReplayRun.__dataclass_fields__, "tasks"} - {"rows"}
        return run_from_json({key: value for key, value in document.items() if key in known})


def find_run(name: str, newest: Sequence[str]) -> str:
    """Return the id that a name means among ids, newest first: `last`, `last~2`, an id or its beginning.

    Raises: UsageError.
    """
    if not newest:
        raise UsageError("no run is kept yet", hint="`workbench --replay` makes one.")
    word, _, back = name.partition("~")
    if word == LAST and (not back or back.isdecimal()):
        place = int(back[:6] or 0)
        if place >= len(newest):
            raise UsageError(
                f"there is no {name}: {len(newest)} runs are kept", hint="See `workbench runs list`."
            )
        return newest[place]
    found = [one for one in newest if one.startswith(name.lower())] if len(name) >= LEAST_PREFIX else []
    if len(found) == 1 or name in found:
        return name if name in found else found[0]
    if found:
        raise UsageError(f"{name} begins the ids of {len(found)} runs", hint="Give more of its digits.")
    hint = did_you_mean(name, [*newest, LAST], "See `workbench runs list`; `last` is the newest.")
    raise UsageError(f"no run is called {name!r}", hint=hint)


def _lines(run: ReplayRun) -> Iterator[bytes]:
    header = run_to_json(replace(run, id="", rows=()))
    del header["tasks"]
    sources = Counter(row.source for row in run.rows if not row.fault)
    header["counts"] = {
        "tasks": len(run.rows),
        "faults": sum(bool(row.fault) for row in run.rows),
        "sources": dict(sorted(sources.items())),
    }
    yield _json(header)
    for row in run.rows:
        yield _row(row)


def _row(row: TaskRow) -> bytes:
    try:
        return msgspec.json.encode(row)
    except UnicodeEncodeError:
        return _json(row_to_json(row))


def _json(value: object) -> bytes:
    # File names that are not UTF-8 are lone surrogates, which JSON can escape and UTF-8 not hold.
    return json.dumps(value, ensure_ascii=True, separators=(",", ":")).encode("ascii")


def _digest(lines: Iterator[bytes] | Sequence[bytes]) -> str:
    found = hashlib.sha256()
    for line in lines:
        found.update(line + b"\n")
    return found.hexdigest()[:ID_LENGTH]


def _identifier(line: bytes) -> str:
    found = json.loads(line)["id"]
    if not isinstance(found, str):
        raise ValueError("its id is not a string")
    return found


@contextmanager
def _explain_damage(name: str, hint: str = _DAMAGE) -> Iterator[None]:
    """Turn what a damaged file raises into a sentence about it."""
    try:
        yield
    except (ValueError, KeyError, TypeError, IndexError, EOFError, zlib.error, OSError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise StoreError(f"{name} cannot be read: {reason}", hint=hint) from error


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
        "reasons": {path: list(sentences) for path, sentences in row.reasons.items()},
    }
