"""Where the journals of a team's machines are on a disk, and which machine a state directory is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from store.files import write_atomic
from store.journal import FileJournal
from store.project_state import ProjectState
from store.team.replicas import is_for_team, is_shared, replica_root
from tests.adapters import ManualClock
from workbench.entry.project import find_state
from workbench.ports import Entry

OWN, OTHER, THIRD = (f"01J0000000000000000000000{end}" for end in "ABC")


def test_peers_are_the_machines_with_a_replica_but_the_own_one(tmp_path: Path) -> None:
    """Each has one journal for as long as the project is open, whatever else lies beside them."""
    project: ProjectState = find_state(tmp_path)
    assert dict(project.peer_journals) == {}
    write_atomic(project.state / "team" / "machine", OWN.encode())
    for machine in (THIRD, OWN, OTHER, "notes.txt"):
        FileJournal(replica_root(project.state, machine), ManualClock(1)).append("rules", "k", [{}], by="x")

    peers = project.peer_journals

    assert list(peers) == [OTHER, THIRD]
    assert [entry.kind for _, entry in peers[OTHER].read("rules")] == ["k"]
    assert project.peer_journals[THIRD] is peers[THIRD]


@pytest.mark.parametrize(
    ("stream", "kind", "body", "by", "shared"),
    [
        ("rules", "rule.put", {}, "cli", True),
        ("rule-usage", "rule.used", {}, "hook", True),
        ("stash", "segment.put", {}, "cli", True),
        ("memory/auth", "learning.put", {}, "cli", True),
        ("rules", "rule.put", {}, "import:rule-files", False),
        ("rules", "file.synced", {}, "cli", False),
        ("memory/auth", "iteration", {}, "cli", False),
        ("memory/auth", "correction.said", {}, "cli", False),
        ("stash", "segment.embedded", {}, "cli", False),
        ("stash", "segment.removed", {"curation": {"title": "collect 3 segments"}}, "cli", False),
        *(
            (stream, "any", {}, "cli", False)
            for stream in ("sessions", "handovers", "metrics", "models", "history")
        ),
    ],
)
def test_what_is_shared_and_what_never(
    stream: str, kind: str, body: dict[str, Any], by: str, shared: bool
) -> None:
    """What people wrote of rules, learnings and segments; no sessions, iterations, files or metrics."""
    entry = Entry(OWN, "2026-11-24T00:00:00Z", kind, by, body)
    assert (is_shared(stream) and is_for_team(stream, entry)) == shared
