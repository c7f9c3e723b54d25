"""From the journal's episodes to the history a plan weighs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from workbench.ports import Entry
from workbench.records.episodes import ChangeKind, FileChange
from workbench.records.plan import QueryType
from workbench.sessions.history import History, PastTask, build_history
from workbench.text.terms import count_terms

STREAM = "sessions"
IMPORTED = "episode.imported"
FORGOTTEN = "episode.forgotten"


def past_task(body: Mapping[str, Any]) -> PastTask:
    """Read an imported episode. Raises KeyError, ValueError or TypeError if it is malformed."""
    return PastTask(
        at=int(body["started_at"]),
        terms=count_terms(str(body["task_text"])),
        changes=tuple(
            FileChange(str(path), ChangeKind(kind), int(added), int(removed), str(old))
            for path, kind, added, removed, old in body["changes"]
        ),
        issue_refs=tuple(str(reference) for reference in body["issue_refs"]),
        fix=body["query_type"] == QueryType.BUGFIX.value,
    )


def recall(entries: Iterable[Entry], limit: int) -> tuple[History, tuple[str, ...], int]:
    """Build the history of the newest `limit` episodes.

    Returns (history, task heads newest first, number of malformed episodes). Episodes are ordered by time,
    then by their place in the journal; forgotten ones are left out.
    """
    kept: dict[str, tuple[int, int, PastTask, str]] = {}
    malformed = 0
    for order, entry in enumerate(entries):
        if entry.kind == FORGOTTEN:
            for session in entry.body.get("session_ids", ()):
                kept.pop(session, None)
        elif entry.kind == IMPORTED:
            try:
                task = past_task(entry.body)
                head = str(entry.body["task_text"]).split("\n", 1)[0]
                kept[str(entry.body["session_id"])] = (task.at, order, task, head)
            except (KeyError, ValueError, TypeError):
                malformed += 1
    newest = sorted(kept.values(), key=lambda item: (-item[0], -item[1]))[:limit]
    return build_history(item[2] for item in newest), tuple(item[3] for item in newest), malformed
