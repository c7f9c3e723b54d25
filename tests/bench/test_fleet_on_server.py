"""A small fleet on the real server: three machines, one of them cut off for a while, and nothing is lost."""

from __future__ import annotations

import threading
from pathlib import Path

import psycopg

from bench.fleet.faces import LibraryFace
from bench.fleet.load import Agents, Notes
from bench.fleet.outcome import differing, lost_on_machine, lost_on_server, read_work
from bench.fleet.proxy import Proxy
from bench.fleet.state import ENTRIES, entries_digest, machine_state
from tests.postgres_server import DatabaseServer
from workbench.entry.services.team import join_team, sync_team

SELECT_LINES = "SELECT line FROM workbench.entries"


def progress(stage: str, done: int, total: int) -> None:
    """Show nothing."""


def test_a_fleet_loses_nothing(postgres: DatabaseServer, tmp_path: Path) -> None:
    """What was acknowledged is there once everywhere; edits of one rule on both sides are one conflict."""
    owner = postgres.make_database()
    places = [(tmp_path / f"machine-{number}", tmp_path / f"home-{number}") for number in range(3)]
    with Proxy(postgres.directory / ".s.PGSQL.5432") as proxy:
        before, _, rest = owner.rpartition("@")
        cut_off = f"{before}@127.0.0.1:{proxy.port}{rest.partition('?')[0]}"
        faces = []
        for (root, home), url in zip(places, (cut_off, owner, owner), strict=True):
            (root / ".git").mkdir(parents=True)
            faces.append(LibraryFace(root, home))
            join_team(faces[-1].host.project, url, "shop", progress)
        shared = faces[0].add_rule("Round invoices to cents.")
        for face in faces:
            sync_team(face.host.project, progress)
        notes = Notes(tmp_path / "notes")
        crews = [
            Agents(number, f"m{number}", face, notes, agents=0, pace=1.0) for number, face in enumerate(faces)
        ]

        def work(crew: Agents, number: int) -> None:
            for turn, kind in enumerate(("rule", "fetch", "learning", "use", "segment", "rule")):
                crew.turn(kind, number, turn)

        proxy.refuse()
        threads = [
            threading.Thread(target=work, args=(crew, number)) for crew in crews for number in range(2)
        ]
        for thread in threads:
            thread.start()
        for priority, face in enumerate(faces[:2], 60):
            face.project.rules.edit(shared, priority=priority)
        for thread in threads:
            thread.join()
        proxy.heal()
        for face in (*faces, *faces):
            sync_team(face.host.project, progress)
        for face in faces:
            face.close()
    work_done = read_work([tmp_path / "notes"])
    assert len(work_done.writes) == 30
    assert work_done.failed == []
    with psycopg.connect(owner) as connection:
        lines = [bytes(line) for (line,) in connection.execute(SELECT_LINES)]
    states = {number: machine_state(*place) for number, place in enumerate(places)}
    assert [*lost_on_server(work_done, lines)] == []
    assert [*differing({**states, -1: {"digests": {ENTRIES: entries_digest(lines)}}})] == []
    for number, state in states.items():
        assert [*lost_on_machine(work_done, number, state["texts"])] == []
        assert len(state["conflicts"]) == 1
