"""Where the journals of a team's machines are on a disk, and which machine a state directory is."""

from __future__ import annotations

from pathlib import Path

from store.files import write_atomic
from store.journal import FileJournal
from store.project_state import ProjectState
from store.team.replicas import replica_root
from tests.adapters import ManualClock
from workbench.entry.project import find_state

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
