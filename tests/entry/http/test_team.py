"""What a member of a team writes is fetched from the server of another member, over a real PostgreSQL."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

from store.team import team
from tests.conftest import Work
from tests.entry.http.conftest import asking, service_of
from tests.postgres_server import DatabaseServer
from workbench.entry.cli import main
from workbench.entry.project import find_state
from workbench.entry.services import team as service


async def test_a_rule_of_one_member_is_fetched_from_the_server_of_another(
    postgres: DatabaseServer, work: Work, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its caches see what the other's commands change, as soon as the replica is there."""
    owner = postgres.make_database()
    suffix = owner.rpartition("/")[2].partition("?")[0]
    work.write("shop.py", "def vat(net):\n    return net\n")
    work.commit("Add VAT")
    other = work.copy(tmp_path / "other")
    for root, name in ((work.root, "anna"), (other.root, "bob")):
        project = find_state(root)
        url = service.add_member(project, f"{name}_{suffix}", owner, "shop").url
        service.join_team(project, url, "shop", lambda *_: None)

    exchanged = threading.Condition()
    real = team.ProjectTeam.sync

    def sync(*arguments: Any, **options: Any) -> Any:
        done = real(*arguments, **options)
        with exchanged:
            exchanged.notify_all()
        return done

    monkeypatch.setattr(team.ProjectTeam, "sync", sync)
    journals = find_state(work.root)

    def received(count: int) -> bool:
        with exchanged:
            return exchanged.wait_for(
                lambda: sum(1 for one in journals.peer_journals.values() for _ in one.read("rules")) >= count,
                60,
            )

    def say(*words: str) -> int:
        return main.run(["--project", str(other.root), *words])

    async with asking(service_of(work.root)) as client:

        async def rules() -> list[str]:
            listed, fetched = await client.get("/v1/rules"), await client.post("/v1/rules/fetch", json={})
            assert listed.json()["rows"] == fetched.json()["rows"]
            return [one["rule"] for one in fetched.json()["rows"]]

        assert await rules() == []
        assert await asyncio.to_thread(say, "rules", "add", "Round VAT down.") == 0
        assert await asyncio.to_thread(received, 1)
        assert await rules() == ["Round VAT down."]
        assert await asyncio.to_thread(say, "rules", "undo") == 0
        assert await asyncio.to_thread(received, 2)
        assert await rules() == []
