"""The tables of rules say what the engine's ledger says, whoever reads the journals in whatever pieces."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from store.journal import FileJournal
from store.lists.rules import rule_list
from store.migrations import migrate
from store.projector import project
from store.table_digests import digests
from tests.adapters import ManualClock
from tests.deep import times
from tests.store.engines import open_tables
from tests.stores import rule_store
from workbench.curation.conflicts import ConflictDecision
from workbench.errors import UsageError
from workbench.lists.tables import ListQuery
from workbench.records.conflicts import Action
from workbench.records.rules import Check, Provenance, Rule
from workbench.rules.curation.curator import Curator
from workbench.rules.curation.ledger import RuleLedger, read_uses, with_use
from workbench.rules.curation.rulestore import record_usage
from workbench.rules.curation.ruletype import to_body

COLUMNS = """
SELECT id, origin, rule, version, priority, enabled, usage_count, last_used, replaces, "check", project_id
FROM rules ORDER BY id
"""


class Desk:
    """A project and a home with journals on disk and tables of both."""

    def __init__(self, root: Path) -> None:
        self.clock = ManualClock()
        self.journal, self.home = FileJournal(root, self.clock), FileJournal(root / "home", self.clock)
        self.journals = {"project": self.journal, "home": self.home}
        self.tables = open_tables(root, self.journals, self.clock)
        self.store = rule_store(self.journal, self.home, self.clock, root=root, home=root)
        self.curator = Curator(self.store, "test")

    def ledger(self) -> RuleLedger:
        """Return what the engine makes of the journals."""
        return self.store.ledger()

    def expected(self) -> list[tuple[Any, ...]]:
        """Return the rows that the ledger and the streams of use say there are."""
        counts = self.store.usage()
        live = self.ledger().live
        return [_row(with_use(live[identifier], counts)) for identifier in sorted(live)]


def _row(rule: Rule) -> tuple[Any, ...]:
    check = to_body(rule)["check"]
    return (
        rule.id,
        "home" if rule.project_id is None else "project",
        rule.rule,
        rule.version,
        rule.priority,
        rule.enabled,
        rule.usage_count,
        rule.last_used,
        list(rule.replaces),
        None if check is None else json.dumps(check, separators=(",", ":")),
        rule.project_id,
    )


def make(text: str, *, home: bool = False, **fields: Any) -> Rule:
    return Rule(id="", name="", rule=text, project_id=None if home else "p", **fields)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def test_a_rule_has_its_check_and_its_versions(desk: Desk) -> None:
    """Who changed what, when, why and in which step can be asked of the tables."""
    first = desk.curator.add(make("Use tabs.", check=Check(command="git push")), reason="start")
    second = desk.curator.edit(first.id, rule="Use spaces.", reason="formatter")
    desk.curator.remove([second.id], reason="gone")
    desk.curator.undo()
    rows = desk.tables.query(
        "SELECT rule_id, change, version, rule, reason, title, \"by\", undoes <> '' FROM rule_versions "
        "ORDER BY position"
    )
    assert rows == [
        (first.id, "put", 1, "Use tabs.", "start", f"add {first.id[:13]}", "test", False),
        (second.id, "put", 2, "Use spaces.", "formatter", f"edit {first.id[:13]}", "test", False),
        (second.id, "removed", None, None, "gone", f"remove {second.id[:13]}", "test", False),
        (second.id, "put", 2, "Use spaces.", "", f"undo: remove {second.id[:13]}", "test", True),
    ]
    assert desk.tables.query("SELECT \"check\"->>'command', lineage FROM rules") == [
        ("git push", [second.id, first.id])
    ]
    [(body,)] = desk.tables.query("SELECT body FROM rule_versions WHERE version = 1")
    assert json.loads(body) == json.loads(json.dumps(to_body(first)))


def test_use_counts_for_the_rule_in_force(desk: Desk) -> None:
    """Uses come before or after the rule, from either journal; those of earlier versions count as its own."""
    first = desk.curator.add(make("Use tabs.", home=True))
    record_usage(desk.store, [first.id], "s1", "claude", by="hook")
    desk.tables.catch_up()
    second = desk.curator.edit(first.id, rule="Use spaces.")
    record_usage(desk.store, [second.id, second.id], "s2", "codex", by="hook")
    assert desk.tables.query(COLUMNS) == desk.expected()
    assert desk.tables.query("SELECT usage_count FROM rules") == [(2,)]
    uses = [(use.rule_id, use.session_id, use.tool, use.at, use.by) for use in read_uses((desk.home,))]
    assert desk.tables.query(
        'SELECT rule_id, session_id, tool, "at", "by" FROM rule_usage ORDER BY rule_id, session_id'
    ) == sorted(uses)


def test_a_rule_of_one_journal_replaces_one_of_the_other(desk: Desk) -> None:
    """The journals are read one after the other, and the later word counts all the same."""
    mine, own = desk.curator.add(make("Use tabs.")), desk.curator.add(make("Use spaces.", home=True))
    desk.clock.advance(1)
    desk.curator.resolve(ConflictDecision("c1", mine.id, own.id, Action.SUPERSEDE))
    desk.tables.catch_up()
    assert desk.tables.query("SELECT id FROM rules") == [(own.id,)]
    assert desk.tables.query("SELECT id, origin, left_id, right_id, action FROM rule_conflicts") == [
        ("c1", "project", mine.id, own.id, "supersede")
    ]
    desk.clock.advance(1)
    desk.curator.undo()
    assert desk.tables.query(COLUMNS) == desk.expected()
    assert desk.tables.query("SELECT count(*) FROM rule_conflicts") == [(0,)]
    before = desk.tables.digest()
    desk.tables.rebuild()
    assert desk.tables.digest() == before


def test_rule_files_are_known(desk: Desk) -> None:
    """A file in step has a row until it is forgotten."""
    body = {
        "file": "CLAUDE.md",
        "format": "claude",
        "digest": "d",
        "anchors": [{"rule_id": "r", "line": 3, "end_line": 3, "digest": "e"}],
    }
    desk.journal.append("rules", "file.synced", [body], by="import:rule-files")
    assert desk.tables.query("SELECT file, named, anchors->0->>'line' FROM rule_files") == [
        ("CLAUDE.md", False, "3")
    ]
    desk.journal.append("rules", "file.forgotten", [{"file": "CLAUDE.md"}], by="import:rule-files")
    assert desk.tables.query("SELECT * FROM rule_files") == []


def test_what_is_no_rule_is_rejected(desk: Desk) -> None:
    """The tables refuse what the engine refuses, and say so; other entries are not held up."""
    good = {"id": "a", "name": "n", "rule": "Use tabs.", "project_id": "p"}
    bad: list[dict[str, Any]] = [
        {**good, "priority": 101},
        {**good, "rule": " "},
        {**good, "replaces": ["a"]},
        {**good, "cooldown": -1},
        {**good, "metadata": 3},
    ]
    desk.journal.append("rules", "rule.put", [*bad, good], by="x")
    desk.journal.append("rules", "rule.removed", [{"id": ""}], by="x")
    desk.journal.append("rules", "conflict.resolved", [{"left": "a"}], by="x")
    desk.journal.append("rules", "file.synced", [{"file": 3}], by="x")
    desk.journal.append("rule-usage", "rule.used", [{"rule_ids": "a"}, {"rule_ids": ["a"]}], by="x")
    report = desk.tables.catch_up()
    assert (report.rejections, report.unknown) == (len(bad) + 4, {})
    assert desk.tables.query(COLUMNS) == desk.expected()
    assert desk.tables.query("SELECT usage_count FROM rules") == [(1,)]


def test_an_odd_history_is_no_crash(desk: Desk) -> None:
    """Metadata can hold anything."""
    for number, history in enumerate((5, "x", [3, {"rule_id": 4}], {"a": 1})):
        fields = {"name": "n", "rule": "Use tabs.", "project_id": "p"}
        rule = {"id": f"r{number}", "metadata": {"version_history": history}, **fields}
        desk.journal.append("rules", "rule.put", [rule], by="x")
    assert desk.tables.catch_up().rejections == 0
    assert desk.tables.query(COLUMNS) == desk.expected()


STEPS = st.lists(
    st.tuples(
        st.sampled_from(
            ["add", "own", "reword", "rank", "remove", "merge", "supersede", "undo", "redo", "use"]
        ),
        st.integers(0, 9),
        st.integers(0, 9),
        st.booleans(),
    ),
    min_size=1,
    max_size=25,
)


@settings(max_examples=times(3, 5), deadline=None, suppress_health_check=list(HealthCheck))
@given(steps=STEPS)
def test_the_tables_are_the_ledger(steps: list[Any], tmp_path_factory: pytest.TempPathFactory) -> None:
    """After any curation, caught up with now and then or at once, the tables hold what the engine holds."""
    desk = Desk(tmp_path_factory.mktemp("desk"))
    with duckdb.connect(":memory:") as often, duckdb.connect(":memory:") as once:
        migrate(often)
        migrate(once)
        for number, (what, left, right, stop) in enumerate(steps):
            desk.clock.advance(1)
            _act(desk, number, what, left, right)
            if stop:
                project(often, desk.journals, 3)
        while project(often, desk.journals, 5).more:
            continue
        project(once, desk.journals, 10_000)
        assert often.execute(COLUMNS).fetchall() == desk.expected()
        settled = often.execute("SELECT id, action FROM rule_conflicts ORDER BY id").fetchall()
        assert settled == sorted((one.id, one.action) for one in desk.ledger().settled.values())
        assert digests(often) == digests(once)


def _act(desk: Desk, number: int, what: str, left: int, right: int) -> None:
    """Do a step if it makes sense now."""
    live = sorted(desk.ledger().live)
    if what in ("add", "own"):
        desk.curator.add(make(f"Use tool {number}.", home=what == "own"))
        return
    try:
        if what == "undo":
            desk.curator.undo()
        elif what == "redo":
            desk.curator.redo()
        elif not live:
            return
        elif what == "reword":
            desk.curator.edit(live[left % len(live)], rule=f"Use other tool {number}.")
        elif what == "rank":
            desk.curator.edit(live[left % len(live)], priority=number)
        elif what == "remove":
            desk.curator.remove([live[left % len(live)]])
        elif what == "use":
            record_usage(desk.store, [live[left % len(live)], live[right % len(live)]], "s", "t", by="x")
        elif left % len(live) != right % len(live):
            action = Action.MERGE if what == "merge" else Action.SUPERSEDE
            text = f"Use merged tool {number}." if what == "merge" else ""
            pair = live[left % len(live)], live[right % len(live)]
            desk.curator.resolve(ConflictDecision(f"c{number}", *pair, action, text=text))
    except UsageError:
        return  # nothing to undo, or it was built upon


ANCHORS = st.lists(st.tuples(st.integers(0, 3), st.integers(1, 40)), max_size=4)


@settings(
    max_examples=times(3, 5),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(
    st.lists(st.tuples(st.sampled_from(("a.md", "b.md")), ANCHORS, st.booleans()), min_size=1, max_size=5),
    st.integers(0, 3),
)
def test_rules_are_where_their_files_have_them(
    tmp_path_factory: pytest.TempPathFactory,
    looks: list[tuple[str, list[tuple[int, int]], bool]],
    edited: int,
) -> None:
    """Lines follow what was read of files last, for rules in the place of others too, in whatever rounds."""
    desk = Desk(tmp_path_factory.mktemp("d"))
    rules = [
        desk.curator.add(
            make(f"Use tool {number}.", provenance=Provenance(("a.md", "b.md")[number % 2], 1, 2, "claude"))
        )
        for number in range(4)
    ]
    changed = desk.curator.edit(rules[edited].id, rule="Use another tool.")
    ids = [rule.id for rule in rules] + [changed.id]
    listed = rule_list(desk.tables, "p", home=True)
    for file, anchors, last in looks:
        body = {
            "file": file,
            "format": "claude",
            "digest": "x",
            "anchors": [
                {"rule_id": ids[number], "line": line, "end_line": line + 1, "digest": ""}
                for number, line in anchors
            ],
        }
        desk.journal.append("rules", "file.synced", [body], by="t")
        if last:
            desk.tables.catch_up()

    def places(found: Iterable[Rule]) -> dict[str, tuple[int, int]]:
        return {one.id: (one.provenance.line, one.provenance.end_line) for one in found if one.provenance}

    expected = places(desk.ledger().with_places().values())
    assert places(listed.page(ListQuery()).rows) == expected
    desk.tables.rebuild()
    assert places(listed.page(ListQuery()).rows) == expected
    desk.journal.append("rules", "file.forgotten", [{"file": "a.md"}], by="t")
    assert places(listed.page(ListQuery()).rows) == places(desk.ledger().with_places().values())
    desk.tables.close()
