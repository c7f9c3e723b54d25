"""All journals of a team go from one place to another, and what differs between two places is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from store.journal import FileJournal
from store.team import copying
from store.team.copying import StreamDifference, TeamComparison, compare_teams, copy_team
from store.team.directory import DirectoryTeam
from store.team.server import TeamServer
from store.team.sync import TeamReplicas
from store.team.team import open_place, open_team_server
from tests.adapters import ManualClock
from tests.store.team.memory_server import MemoryTeam, cut
from workbench.errors import ServerUnreachable, StoreError, TeamError, UsageError

FIRST, SECOND = (f"01J0000000000000000000000{end}" for end in "ABC"[:2])


def no_progress(label: str, done: int, total: int) -> None:
    assert label
    assert done <= total


def filled(machine: str, *texts: str, team: MemoryTeam | None = None) -> MemoryTeam:
    team = team or MemoryTeam()
    server = team.connect()
    server.register(machine, f"of {machine[-1]}")
    ids = [f"01J0000000000000000000{number:04}" for number in range(len(texts))]
    lines = "".join(
        f'{{"v":1,"id":"{identifier}","at":"x","kind":"rule.put","by":"x","body":{{"text":"{text}"}}}}\n'
        for identifier, text in zip(ids, texts, strict=True)
    )
    server.append("rules", 0, lines.encode())
    return team


def copied(source: TeamServer, target: TeamServer) -> tuple[int, TeamComparison]:
    return copy_team(source, target, no_progress), compare_teams(source, target, no_progress)


def test_a_copy_has_all_machines_and_records(tmp_path: Path) -> None:
    """From a server into a directory, from there into another server, the same bytes each time."""
    team = filled(SECOND, "three", team=filled(FIRST, "one", "two"))
    assert copied(team.connect(), DirectoryTeam(tmp_path / "a")) == (3, TeamComparison(2, 2, 3))
    again = MemoryTeam()
    assert copied(open_place(str(tmp_path / "a"), ""), again.connect()) == (3, TeamComparison(2, 2, 3))
    assert again.lines == team.lines
    assert {machine.name for machine in again.machines.values()} == {"of A", "of B"}
    assert copy_team(team.connect(), DirectoryTeam(tmp_path / "a"), no_progress) == 0


def test_a_copy_that_was_interrupted_is_finished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And nothing that the target has otherwise is overwritten."""
    monkeypatch.setattr(copying, "MOST", 200)
    team = filled(FIRST, *(f"text {number}" for number in range(20)))
    reads = iter(range(100))
    team.fail = lambda call: cut("read")(call) if call == "read" and next(reads) == 4 else None
    with pytest.raises(ServerUnreachable):
        copy_team(team.connect(), DirectoryTeam(tmp_path / "a"), no_progress)
    team.fail = lambda call: None
    rest, found = copied(team.connect(), DirectoryTeam(tmp_path / "a"))
    assert 0 < rest < 20
    assert found == TeamComparison(1, 1, 20)
    for other in (filled(FIRST, "another"), filled(SECOND, "more")):
        before = dict(other.lines)
        with pytest.raises(TeamError, match="other records of the journal rules"):
            copy_team(team.connect(), other.connect(), no_progress)
        assert other.lines == before


def test_what_differs_is_named_by_line_and_id() -> None:
    """The first record of each journal, also one that is on one side alone."""
    here, there = filled(FIRST, "one", "two"), filled(FIRST, "one", "other", "three")
    filled(SECOND, "alone", team=there)
    teams = compare_teams(here.connect(), there.connect(), no_progress)
    second, first = "01J00000000000000000000001", "01J00000000000000000000000"
    assert teams.differences == (
        StreamDifference(FIRST, "rules", 2, second, second),
        StreamDifference(SECOND, "rules", 1, "", first),
    )
    assert teams.records == 1


def test_a_projects_replicas_bring_a_server_back(tmp_path: Path) -> None:
    """Each machine has all of its team: one directory is enough."""
    team = filled(FIRST, "one", "two")
    project = tmp_path / "project"
    project.mkdir()
    state = project / ".workbench"
    journal = FileJournal(state, ManualClock())
    journal.append("rules", "rule.put", [{"text": "mine"}], by="x")
    TeamReplicas(state, journal, "here").exchange(team.connect())
    again = MemoryTeam()
    assert copy_team(open_place(str(project), ""), again.connect(), no_progress) == 3
    assert again.lines == team.lines


def test_a_directory_that_is_damaged_is_refused(tmp_path: Path) -> None:
    """An unfinished line is no record; what is no server is no URL."""
    path = tmp_path / "machines" / FIRST / "journal" / "rules.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(b'{"v":1')
    with pytest.raises(StoreError, match="unfinished"):
        DirectoryTeam(tmp_path).heads()
    with pytest.raises(UsageError, match="not the address"):
        open_team_server("https://user:secret@example.org", "x")
