"""Rules of files in a team: git carries what files say, the team what people decide, and both end as one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from store.team.replicas import is_for_team
from tests.adapters import ManualClock, MemoryJournal
from tests.curation.test_team import Replica
from tests.stores import rule_store
from workbench.ports import Entry
from workbench.rules.curation.curator import Curator
from workbench.rules.curation.rulestore import RuleStore
from workbench.rules.rulebook import load_rulebook

FILE = "CLAUDE.md"
BEFORE, AFTER = "# Rules\n\n- Use npm.\n- Write tests.\n", "# Rules\n\n- Use pnpm.\n- Write tests.\n"


class Shared(Replica):
    """What another machine shares, not what it read from files; it says of its project what holds here."""

    project_id = ""

    def read(self, stream: str, start: int = 0) -> Iterator[tuple[int, Entry]]:
        for after, entry in super().read(stream, start):
            if is_for_team(stream, entry):
                mine = {"project_id": self.project_id} if "project_id" in entry.body else {}
                yield after, replace(entry, body={**entry.body, **mine})


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def stores(tmp_path: Path, clock: ManualClock) -> tuple[RuleStore, RuleStore]:
    """Two clones of a repository with a rule file, in a team, that have read it."""
    peers = dict[str, Shared](), dict[str, Shared]()
    journals = MemoryJournal(clock), MemoryJournal(clock)
    made = []
    for number, journal in enumerate(journals):
        root = tmp_path / str(number)
        root.mkdir()
        (root / FILE).write_text(BEFORE)
        peer = peers[number]["ab"[1 - number]] = Shared("ab"[1 - number], journals[1 - number])
        peer.project_id = f"p{number}"
        store = rule_store(journal, MemoryJournal(clock), clock)
        store = replace(store, root=root, project_id=peer.project_id, peers=peers[number].copy)
        made.append(store)
        assert texts(store) == ["Use npm.", "Write tests."]
    clock.advance(1)
    return made[0], made[1]


def texts(store: RuleStore) -> list[str]:
    """Sync a machine with its files and what it received; return the words of its rules."""
    return sorted(rule.rule for rule in load_rulebook(store, [FILE]).rules)


def receive(clock: ManualClock, *stores: RuleStore) -> None:
    """Let machines receive everything; what they write afterwards has ids after what they received."""
    clock.advance(1)
    for store in stores:
        for peer in store.team.values():
            assert isinstance(peer, Shared)
            peer.receive()


def reword(store: RuleStore) -> None:
    """Let a person reword the first rule on a machine."""
    rule = next(rule for rule in load_rulebook(store, [FILE]).rules if rule.rule == "Use npm.")
    Curator(store, "test").edit(rule.id, rule="Use pnpm.")


@pytest.mark.parametrize("git_first", [False, True])
def test_a_reworded_rule_of_a_file_is_one_rule_everywhere(
    stores: tuple[RuleStore, RuleStore], clock: ManualClock, git_first: bool
) -> None:
    """It waits for the file until git brings it, and then nothing is left to do, whichever comes first."""
    here, there = stores
    reword(here)
    if git_first:
        (there.root / FILE).write_text(AFTER)
        assert texts(there) == ["Use pnpm.", "Write tests."]
    receive(clock, here, there)
    assert texts(there) == ["Use pnpm.", "Write tests."]
    assert load_rulebook(there, [FILE]).pending == (0 if git_first else 1)

    for store in stores:
        (store.root / FILE).write_text(AFTER)
        assert texts(store) == ["Use pnpm.", "Write tests."]
    receive(clock, here, there)
    sizes = [store.journal.size("rules") for store in stores]
    for store in stores:
        book = load_rulebook(store, [FILE])
        assert (texts(store), book.pending, book.conflicts) == (["Use pnpm.", "Write tests."], 0, 0)
    assert [store.journal.size("rules") for store in stores] == sizes  # no machine answers the other one


def test_a_rule_of_a_file_that_was_removed_is_so_everywhere(
    stores: tuple[RuleStore, RuleStore], clock: ManualClock
) -> None:
    """Until somebody writes it into the file again; its lines wait to be taken out."""
    here, there = stores
    rule = next(rule for rule in load_rulebook(here, [FILE]).rules if rule.rule == "Use npm.")
    Curator(here, "test").remove([rule.id])
    receive(clock, there)
    assert texts(there) == ["Write tests."]
    assert load_rulebook(there, [FILE]).pending == 1
