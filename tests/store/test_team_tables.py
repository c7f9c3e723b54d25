"""Tables of a project in a team hold what its ledgers do, whichever entries arrived when, usage included."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from store.files import write_atomic
from store.journal import HOME, PROJECT, FileJournal
from store.journal_lines import encode_line
from store.projector import project
from store.team.peers import PeerJournals
from store.team.replicas import is_for_team, is_shared, replica_root
from tests.adapters import ManualClock
from tests.curation.test_curation import learning, learning_service
from tests.deep import times
from tests.store.engines import connect_tables, transaction
from tests.stores import rule_store
from workbench.curation.concurrency import concurrent_edits
from workbench.curation.conflicts import ConflictDecision
from workbench.errors import UsageError
from workbench.memory.learnings.service import LearningService
from workbench.records.conflicts import Action
from workbench.records.rules import Rule
from workbench.rules.curation.curator import Curator
from workbench.rules.curation.rulestore import note_use

MACHINES = tuple(f"01J0000000000000000000000{end}" for end in "ABC")
RULES = "SELECT id, rule, version, usage_count, project_id FROM rules ORDER BY id"
LEARNINGS = "SELECT id, text, state, project_id FROM learnings ORDER BY id"


class Member:
    """A machine of a team with journals on disk and tables of all journals, in memory."""

    def __init__(self, root: Path, number: int, clock: ManualClock) -> None:
        self.root, self.machine, self.id = root, MACHINES[number], f"project-{number}"
        self.journal, home = FileJournal(root, clock), FileJournal(root / "home", clock)
        (root / "team" / "machines").mkdir(parents=True)
        write_atomic(root / "team" / "machine", self.machine.encode())
        self.own = {PROJECT: self.journal, HOME: home}
        self.peers = PeerJournals(root, clock, self.id)
        rules = rule_store(self.journal, home, clock, project_id=self.id, peers=self.peers.journals)
        self.rules = Curator(rules, "test")
        learnings: Any = learning_service(self.journal, home, clock).store
        self.learnings = LearningService(replace(learnings, peers=self.peers.journals), "test")

    @property
    def journals(self) -> Mapping[str, FileJournal]:
        return {**self.own, **self.peers.journals()}

    def send(self, other: Member) -> None:
        """Let another machine have all that is for the team."""
        for stream in filter(is_shared, self.journal.streams()):
            entries = [entry for _, entry in self.journal.read(stream) if is_for_team(stream, entry)]
            path = replica_root(other.root, self.machine) / "journal" / f"{stream}.jsonl"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(b"".join(map(encode_line, entries)))

    def act(self, what: str, number: int, text: str) -> None:
        """Do a step; what makes no sense here is refused."""
        service: Any = self.rules if number % 2 else self.learnings
        words = "rule" if number % 2 else "text"
        records = service.records()
        conflicts = concurrent_edits(service.store.ledger())
        try:
            if what == "add":
                said = f"Use {text}{number} here."
                if number % 2:
                    self.rules.add(Rule("", "", said, project_id=self.id))
                else:
                    self.learnings.create(learning(said, self.id))
            elif what == "undo":
                service.undo()
            elif what == "settle" and conflicts:
                one = conflicts[number % len(conflicts)]
                action = (Action.KEEP_LEFT, Action.KEEP_RIGHT)[number // 2 % 2]
                service.resolve(ConflictDecision(one.id, one.left.version, one.right.version, action))
            elif what == "edit" and records:
                service.edit(records[number % len(records)].id, **{words: f"Prefer {text}{number}."})
            elif what == "remove" and records:
                service.remove([records[number % len(records)].id])
            elif what == "use" and number % 2:
                note_use(self.rules.store, records, "s", "t", by="test")
        except UsageError:
            pass

    def expected(self) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]:
        """Return the rows that the ledgers say there are."""
        from workbench.rules.curation.ledger import with_use

        counts = self.rules.store.usage()
        live = self.rules.store.ledger().live
        rules = [with_use(live[key], counts) for key in sorted(live)]
        records = self.learnings.store.ledger().records
        return (
            [(rule.id, rule.rule, rule.version, rule.usage_count, rule.project_id) for rule in rules],
            [
                (key, records[key].text, records[key].state, records[key].project_id)
                for key in sorted(records)
            ],
        )


STEPS = st.lists(
    st.tuples(
        st.integers(0, 2),
        st.sampled_from(["add", "edit", "edit", "remove", "undo", "settle", "use"]),
        st.integers(0, 7),
        st.sampled_from("xy"),
        st.sets(st.tuples(st.integers(0, 2), st.integers(0, 2)), max_size=3),
    ),
    min_size=4,
    max_size=16,
)


@settings(max_examples=times(3, 5), deadline=None, suppress_health_check=list(HealthCheck))
@given(steps=STEPS)
def test_tables_hold_what_ledgers_do(steps: list[Any], tmp_path_factory: pytest.TempPathFactory) -> None:
    """On a machine that is caught up with now and then."""
    clock, root = ManualClock(), tmp_path_factory.mktemp("team")
    team = [Member(root / str(number), number, clock) for number in range(3)]
    member = team[2]
    everybody = [(one, other) for one in range(3) for other in range(3) if one != other]
    with connect_tables() as tables:
        for who, what, number, text, sent in [*steps, (0, "none", 0, "x", everybody)]:
            clock.advance(1)
            team[who].act(what, number, text)
            for one, other in sent:
                if one != other:
                    team[one].send(team[other])
                if other == 2:
                    project(tables, member.journals, 3)
        while project(tables, member.journals, 1_000).more:
            continue
        with transaction(tables):
            found = (tables.execute(RULES).fetchall(), tables.execute(LEARNINGS).fetchall())
        assert found == member.expected()
