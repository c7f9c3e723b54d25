"""Tables on a server say what those of the file say, which answer whenever the server does not."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
import pytest

from store.duck import Connection
from store.file_history import AskedTask
from store.journal import FileJournal
from store.lists.learnings import learning_list
from store.lists.rules import rule_list
from store.lists.segments import segment_list
from store.lists.sessions import SessionList
from store.lists.sql_list import SqlList
from store.metrics import record_call
from store.postgres.table_connection import TableConnection
from store.postgres.tables import PATIENCE, ServerTables, schema_name
from store.table_queries import TableQueries
from store.team.replicas import name_machine
from store.team.settings import TeamSettings, write_settings
from store.team.team import ProjectTeam
from tests.adapters import ManualClock
from tests.store import test_learning_tables as learnings
from tests.store import test_segment_tables as segments
from tests.store.lists.test_rule_list import made_rules
from tests.store.lists.test_sessions import NOW, PAST
from workbench.config import Config, StoreConfig
from workbench.entry.project import find_state
from workbench.entry.services.index import rebuild_tables
from workbench.entry.services.purge import purge_project
from workbench.lists.tables import ListQuery
from workbench.records.ids import new_id
from workbench.rules.curation.ruletype import to_body

if TYPE_CHECKING:
    from tests.teams import Team

SELECT_SCHEMAS = "SELECT nspname FROM pg_namespace WHERE nspname LIKE 'workbench_tables%'"
STEPS = [
    ("add", 1),
    ("add", 2),
    ("add", 3),
    ("hit", 0),
    ("contradict", 1),
    ("say", 1),
    ("say", 4),
    ("say", 5),
]


@pytest.fixture
def journals(tmp_path: Path, clock: ManualClock) -> dict[str, FileJournal]:
    return {name: FileJournal(tmp_path / name, clock) for name in ("project", "home")}


@pytest.fixture
def open_server(database: str, tmp_path: Path, clock: ManualClock) -> Iterator[Callable[..., ServerTables]]:
    """Open the tables of journals on a server, of a machine of their own if none is given."""
    opened: list[ServerTables] = []

    def open_(journals: Mapping[str, FileJournal], machine: str = "", url: str = database) -> ServerTables:
        opened.append(ServerTables(url, machine or new_id(), tmp_path / "beside", journals, clock))
        return opened[-1]

    yield open_
    for tables in opened:
        tables.close()


def compare(make: Callable[[TableQueries], SqlList[Any]], file: TableQueries, server: ServerTables) -> None:
    """Hold every order, filter, page and count of a list to be the same on both."""
    ours, theirs = make(file), make(server)
    kinds = ours.type
    queries = [kinds.query(text) for text in ("", "rtok !u", "日 tok", "text", "id:*1*")]
    for query in queries:
        pages = [one.page(query, limit=3) for one in (ours, theirs)]
        assert pages[0] == pages[1]
        if pages[0].cursor is not None:
            assert ours.page(query, pages[0].cursor) == theirs.page(query, pages[1].cursor)
    for query in (*queries, *(ListQuery(queries[0].filter, (sort, True)) for sort in kinds.sorts)):
        orders = [one.order(query).numbers.tolist() for one in (ours, theirs)]
        assert orders[0] == orders[1]
    assert ours.facets(queries[0]) == theirs.facets(queries[0])
    some = ours.order(queries[0]).numbers[:2]
    assert ours.facets(queries[0], within=some) == theirs.facets(queries[0], within=some)


def test_a_server_lists_what_the_file_lists(
    tmp_path: Path, clock: ManualClock, open_server: Callable[..., ServerTables]
) -> None:
    """Rules, learnings, segments and sessions, whatever is in their texts."""
    root, learned, stashed = tmp_path / "p", learnings.Place(tmp_path / "l"), segments.Place(tmp_path / "s")
    journals = {"project": FileJournal(root, clock), "home": FileJournal(root / "home", clock)}
    journals["project"].append("rules", "rule.put", [*map(to_body, made_rules(3, 25))], by="test")
    journals["project"].append_all("sessions", PAST, by="cli")
    learnings.play(learned, STEPS)
    segments.play(stashed, [("add", number) for number in range(5)] + [("edit", 1), ("remove", 2)])
    file, server = TableQueries(root, journals, clock), open_server(journals)
    compare(lambda tables: rule_list(tables, "p", home=True), file, server)
    compare(lambda tables: SessionList(tables, quiet_since=NOW - 600, commits=True), file, server)
    server = open_server(learned.journals)
    compare(lambda tables: learning_list(tables, clock), learned.tables, server)
    server = open_server(stashed.journals)
    compare(lambda tables: segment_list(tables, clock), stashed.tables, server)
    assert server.degraded == ""


def test_a_server_counts_what_the_file_counts(
    journals: dict[str, FileJournal],
    tmp_path: Path,
    clock: ManualClock,
    open_server: Callable[..., ServerTables],
) -> None:
    """Measurements, usage, a file's past and how complete sessions are."""
    project = journals["project"]
    project.append_all("sessions", PAST, by="cli")
    for at in range(7):
        facts: dict[str, Any] = {
            "stages": {"scan": at, "lock tables": 1.0},
            "tokens": at,
            "cache": {"l1": (at, 2)},
        }
        record_call(project, "plan", at * 3.0, by="cli", degraded=("embeddings",) * (at % 2), **facts)
    given = {"agent": "claude", "files": {"a.py": "full"}, "passages": ["r1"], "tokens": 5}
    project.append("handovers", "handover.given", [given, given | {"session_id": "live"}], by="hook")
    file, server = TableQueries(tmp_path / "project", journals, clock), open_server(journals)
    asks: tuple[Callable[[TableQueries], object], ...] = (
        lambda tables: tables.measurements(since=0, until=clock.now() + 9, step=60.0),
        lambda tables: tables.lock_waits(),
        lambda tables: tables.usage_records(0.0, patience=1e12),
        lambda tables: tables.completeness(quiet_since=NOW),
        lambda tables: tables.file_history("a.py", AskedTask("f", ("#7",)), most=5, limit=5),
        lambda tables: tables.report(),
    )
    for ask in asks:
        assert ask(file) == ask(server)
    assert server.degraded == ""


def test_a_server_that_goes_away_is_not_missed(
    journals: dict[str, FileJournal], clock: ManualClock, open_server: Callable[..., ServerTables]
) -> None:
    """A connection that breaks while something is read: the file answers, and for a minute nobody asks."""
    tables = open_server(journals)
    journals["project"].append_all("sessions", PAST, by="cli")
    asked = []

    def work(connection: Connection) -> list[Any]:
        asked.append(isinstance(connection, TableConnection))
        if len(asked) == 1:
            connection.execute("SELECT pg_terminate_backend(pg_backend_pid())").fetchall()
        return connection.execute("SELECT count(*) FROM episodes").fetchall()

    assert tables.read(work) == [(4,)]
    assert tables.degraded
    assert open_server(journals).degraded  # another command's do not ask either
    assert tables.read(work) == [(4,)]
    clock.advance(PATIENCE + 1)
    assert tables.read(work) == [(4,)]
    assert asked == [True, False, False, True]
    assert tables.degraded == ""


def test_what_is_on_the_server_is_made_again_and_removed(
    database: str, journals: dict[str, FileJournal], open_server: Callable[..., ServerTables]
) -> None:
    """A rebuild gives the same tables in another schema of the same name; what is removed comes back."""
    machine = new_id()
    first, other = open_server(journals, machine), open_server(journals, machine)
    journals["project"].append_all("sessions", PAST, by="cli")
    before, place = first.digest(), first.file()
    assert other.digest() == before  # whoever projected it
    assert first.rebuild().rebuilt == "asked for"
    assert (first.digest(), other.digest()) == (before, before)
    assert first.file() != place
    journals["project"].append_all("sessions", PAST, by="cli")
    with psycopg.connect(database) as looking:
        assert looking.execute(SELECT_SCHEMAS).fetchall() == [(schema_name(machine),)]
        first.remove()
        assert looking.execute(SELECT_SCHEMAS).fetchall() == []
    before = first.digest()
    with psycopg.connect(database) as breaking:
        breaking.execute(f"DROP TABLE {schema_name(machine)}.session_counts CASCADE")
    assert other.digest() == before  # what somebody removed is made again
    assert (first.degraded, other.degraded) == ("", "")


def test_a_member_that_may_make_no_schema_has_the_file(
    team: Team, journals: dict[str, FileJournal], open_server: Callable[..., ServerTables]
) -> None:
    """The right is CREATE on the database; who may not see the schema of another machine does not."""
    team.project("anna")
    tables = open_server(journals, url=team.url("anna"))
    journals["project"].append_all("sessions", PAST, by="cli")
    assert tables.query("SELECT count(*) FROM episodes") == [(4,)]
    assert "permission denied for database" in tables.degraded


def test_the_setting_says_where_the_tables_are(tmp_path: Path, database: str) -> None:
    """On the server of a team; without one in the file, and whoever looks is told why."""
    config = Config(store=StoreConfig(tables="postgres"))
    opened = find_state(tmp_path, config)
    assert opened.rule_list.page(ListQuery()).total == 0
    assert "store use" in opened.kept_tables.degraded
    opened.close()

    write_settings(opened.state, TeamSettings(database, "p", "laptop"))
    machine = name_machine(opened.state)
    opened.journal.append("rules", "rule.put", [*map(to_body, made_rules(3, 2))], by="test")
    there = find_state(tmp_path, config)
    with closing(there.open_tables()) as tables:
        assert tables.query("SELECT count(*) FROM rules") == [(2,)]
        assert tables.place.endswith(f"schema {schema_name(machine)}")
    with there.sandbox(9.0) as box:
        assert "rules" in box.tables()
    with psycopg.connect(database, autocommit=True) as looking:
        assert looking.execute(SELECT_SCHEMAS).fetchall()
        rebuild_tables(find_state(tmp_path, Config()))  # with the usual settings
        assert looking.execute(SELECT_SCHEMAS).fetchall() == []
        for remove in (
            lambda: ProjectTeam(there).leave(forget=False),
            lambda: purge_project(there, dry=False),
        ):
            write_settings(there.state, TeamSettings(database, "p", "laptop"))
            assert there.rule_list.page(ListQuery()).total == 2
            assert looking.execute(SELECT_SCHEMAS).fetchall()
            remove()
            assert looking.execute(SELECT_SCHEMAS).fetchall() == []
            there.close()
            del vars(there)["kept_tables"], vars(there)["rule_list"]
