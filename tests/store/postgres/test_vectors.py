"""Vectors on a team's server: of a project's members alone, through the graph, and after a restart again."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from store.postgres.connection import Connections
from store.postgres.members import remove_member
from store.postgres.vectors import INDEXED, PostgresVectors
from tests.postgres_server import DatabaseServer
from tests.store.collections import key_numbers, numbered_keys, random_vectors
from tests.teams import Team
from workbench.errors import ServerUnreachable, TeamError
from workbench.ports import PointFilter

FIELDS = [{"type": "message", "time": at} for at in range(40)]


def vectors_of(
    team: Team, member: str, project: str, dimensions: int = 384, model: str = "m"
) -> PostgresVectors:
    return PostgresVectors(Connections(team.url(member)), project, "stash", model, dimensions)


def test_projects_are_apart(team: Team) -> None:
    """Members share what their project has; of others they see, write and remove nothing."""
    ours, theirs = team.project("anna", "ben"), team.project("eve")
    given = random_vectors(40)
    anna, ben = vectors_of(team, "anna", ours), vectors_of(team, "ben", ours)
    anna.put(numbered_keys(40), given, FIELDS)
    assert key_numbers(ben.search(given[5], 1)[0]) == [5]
    ben.delete(numbered_keys(1))
    assert anna.count() == 39
    eve = vectors_of(team, "eve", ours)
    assert eve.count() == 0
    assert len(eve.search(given[5], 9)[0]) == 0
    eve.delete(numbered_keys(40))
    with pytest.raises(TeamError):
        eve.put(numbered_keys(1), given[:1], FIELDS[:1])
    own = vectors_of(team, "eve", theirs)
    own.put(numbered_keys(1), given[:1], FIELDS[:1])
    assert (own.count(), anna.count()) == (1, 39)
    remove_member(team.owner, ours, team.role("ben"))
    with pytest.raises(TeamError):
        ben.count()
    for one in (anna, ben, eve, own):
        one.close()


def test_the_graph_is_used_under_filters(team: Team) -> None:
    """The plan of a search as a member, filters and all, scans the graph of its dimensions."""
    project = team.project("ann")
    team.execute(f"ALTER ROLE {team.role('ann')} SET enable_sort = off")
    for dimensions in INDEXED[:2]:
        kept = vectors_of(team, "ann", project, dimensions, f"m{dimensions}")
        given = random_vectors(40, dimensions)
        kept.put(numbered_keys(40), given, FIELDS)
        only = PointFilter({"type": ("message",)}, {"time": 30})
        assert min(key_numbers(kept.search(given[3], 5, only)[0])) >= 30
        plan = "\n".join(kept.explain(given[3], 5, only))
        assert f"vectors_{dimensions}" in plan
        kept.close()


def test_models_side_by_side(team: Team) -> None:
    """Each model has its own vectors; those of others can be removed."""
    project = team.project("kim")
    old, new = (vectors_of(team, "kim", project, 384, model) for model in ("old", "new"))
    given = random_vectors(40)
    old.put(numbered_keys(40), given, FIELDS)
    new.put(numbered_keys(3), given[:3], FIELDS[:3])
    assert new.stored_models() == [("stash", "new", 3), ("stash", "old", 40)]
    assert new.drop_others() == ("old",)
    assert new.stored_models() == [("stash", "new", 3)]
    for one in (old, new):
        one.close()


def test_a_table_is_made_later_where_the_server_could_not_hold_one(team: Team) -> None:
    """It says what is missing; once pgvector is there the owner makes it, once."""
    project = team.project("joe")
    team.execute("DROP TABLE workbench.vectors")
    member = vectors_of(team, "joe", project)
    with pytest.raises(TeamError):
        member.count()
    with pytest.raises(TeamError, match="keeps no vectors"):
        member.prepare()
    owner = PostgresVectors(Connections(team.owner_url), project, "stash", "m", 384)
    owner.prepare()
    owner.prepare()
    member.prepare()
    assert member.count() == 0
    member.put(numbered_keys(1), random_vectors(1), FIELDS[:1])
    assert member.count() == 1
    for one in (member, owner):
        one.close()


def test_a_server_that_restarts(make_postgres: Callable[..., DatabaseServer]) -> None:
    """What it did not answer is an error, nothing is lost, and the next call connects again."""
    server = make_postgres()
    team = Team(server)
    project = team.project("max")
    kept = vectors_of(team, "max", project)
    given = random_vectors(40)
    kept.put(numbered_keys(20), given[:20], FIELDS[:20])
    team.owner.close()
    server.stop()
    for call in (
        lambda: kept.search(given[0], 3),
        lambda: kept.put(numbered_keys(1), given[:1], FIELDS[:1]),
        lambda: kept.delete(numbered_keys(1)),
        lambda: kept.vectors(numbered_keys(1)),
        kept.count,
    ):
        with pytest.raises(ServerUnreachable):
            call()
    server.start()
    kept.put(numbered_keys(20, start=20), given[20:], FIELDS[20:])
    assert kept.count() == 40
    kept.close()
