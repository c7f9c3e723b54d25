"""The queue of conflicts: found once, compared again only where rules changed, settled for good."""

from __future__ import annotations

from typing import Any

import pytest

from workbench.curation.conflicts import ConflictDecision
from workbench.errors import UsageError
from workbench.records.conflicts import Action, ConflictKind
from workbench.records.rules import Rule
from workbench.rules.conflicts import queue as queues
from workbench.rules.conflicts.detection import find_conflicts
from workbench.rules.conflicts.findings import known_duplicates
from workbench.rules.conflicts.queue import Queue, conflict_queue, find_in_queue
from workbench.rules.curation.curator import Curator
from workbench.rules.curation.rulestore import RuleStore


class Desk:
    """A curator and the queue of its rules."""

    def __init__(self, store: RuleStore) -> None:
        self.store, self.curator = store, Curator(store, "test")

    def add(self, *texts: str) -> list[str]:
        return [self.curator.add(Rule("", "", text, project_id="p")).id for text in texts]

    def queue(self) -> Queue:
        ledger = self.store.ledger()
        return conflict_queue(self.store, sorted(ledger.live.values(), key=lambda rule: rule.id), ledger)

    def duplicates(self) -> list[tuple[str, str]]:
        """Return what is known to repeat something: (the rule that is kept, the one that adds nothing)."""
        ledger, kept = self.store.ledger(), self.store.latest("conflicts")
        if kept is None:
            return []
        return [(one.keep, one.drop) for one in known_duplicates(kept, ledger.live, ledger.settled)]

    def pairs(self) -> set[frozenset[str]]:
        live = self.store.ledger().live
        return {frozenset((live[item.left].rule, live[item.right].rule)) for item in self.queue().open}


@pytest.fixture
def desk(store: RuleStore) -> Desk:
    return Desk(store)


TABS, SPACES = "Use tabs for indentation in all files.", "Use spaces for indentation in all files."


def test_contradictions_wait_for_a_person(desk: Desk) -> None:
    """A contradiction is found with its evidence; listing it changes nothing."""
    desk.add(TABS, SPACES, "Never log tokens of users.")
    found = desk.queue()
    assert [item.kind for item in found.open] == [ConflictKind.CONTRADICTORY]
    assert len(desk.store.ledger().live) == 3
    assert found.notes == ()


def test_a_settled_conflict_stays_settled_until_the_words_change(desk: Desk) -> None:
    """It does not come back by itself, comes back with undo, and is judged anew for new words."""
    desk.add(TABS, SPACES)
    (conflict,) = desk.queue().open
    desk.curator.resolve(ConflictDecision(conflict.id, conflict.left, conflict.right, Action.KEEP_BOTH))
    after = desk.queue()
    assert (after.open, [item.action for item in after.settled]) == ((), ["keep_both"])
    with pytest.raises(UsageError, match="was settled on"):
        find_in_queue(after, conflict.id)
    desk.curator.undo()
    assert [item.id for item in desk.queue().open] == [conflict.id]
    desk.curator.redo()
    desk.curator.edit(conflict.left, rule="Use spaces for indentation in all YAML files.", reason="x")
    assert all(item.id != conflict.id for item in desk.queue().open)


def test_only_changed_rules_are_compared_again(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Unchanged rules cost nothing, a changed one is compared alone; the result is that of a full search."""
    asked: list[Any] = []
    real = find_conflicts

    def spy(*arguments: Any, **options: Any) -> Any:
        asked.append(options["changed"])
        return real(*arguments, **options)

    monkeypatch.setattr(queues, "find_conflicts", spy)
    desk.add(TABS, SPACES, "Run the tests before each commit.")
    first = desk.queue()
    assert desk.queue().open == first.open
    assert asked == [None]
    (new,) = desk.add("Never run the tests before each commit.")
    incremental = desk.queue()
    assert asked == [None, {new}]
    ledger = desk.store.ledger()
    rules = sorted(ledger.live.values(), key=lambda rule: rule.id)
    assert incremental.open == real(rules)


def test_when_one_of_three_copies_goes_the_others_still_conflict(desk: Desk, store: RuleStore) -> None:
    """Equal texts have one speaker; another takes over when it is removed."""
    for name in ("CLAUDE.md", "AGENTS.md", "GEMINI.md"):
        (store.root / name).write_text(f"- {TABS}\n- {name} must stay short.\n", encoding="utf-8")
    from workbench.rules.rulebook import load_rulebook

    book = load_rulebook(store, [])
    copies = sorted(rule.id for rule in book.rules if rule.rule == TABS)
    assert len([item for item in desk.queue().open if item.kind is ConflictKind.EXACT]) == 2
    desk.curator.remove([copies[0]])
    assert {frozenset((item.left, item.right)) for item in desk.queue().open} == {frozenset(copies[1:])}


def test_ids_are_found_by_their_beginning(desk: Desk) -> None:
    """The digits are enough, near misses are pointed out, ambiguity is refused."""
    desk.add(TABS, SPACES)
    found = desk.queue()
    (conflict,) = found.open
    assert find_in_queue(found, conflict.id.removeprefix("conflict-")[:8]) == conflict
    wrong = conflict.id[:16] + ("0" if conflict.id[16] != "0" else "1")
    with pytest.raises(UsageError) as told:
        find_in_queue(found, wrong)
    assert conflict.id[:17] in told.value.hint


def test_a_damaged_queue_is_found_anew(desk: Desk, store: RuleStore) -> None:
    """What cannot be read is no reason to fail."""
    desk.add(TABS, SPACES)
    before = desk.queue()
    kept = store.latest("conflicts")
    assert kept is not None
    (kept / "conflicts.json").write_bytes(b"{")
    assert desk.queue().open == before.open


def test_many_are_settled_as_one_step(desk: Desk) -> None:
    """Decisions whose rules an earlier one removed are left alone; one undo takes all back."""
    one, two, three = desk.add("Use tabs a.", "Use tabs b.", "Use tabs c.")
    decisions = [
        ConflictDecision("c1", one, two, Action.KEEP_LEFT),
        ConflictDecision("c2", two, three, Action.KEEP_LEFT),
        ConflictDecision("c3", one, three, Action.KEEP_LEFT),
    ]
    done, skipped = desk.curator.resolve_all(decisions)
    assert [item.conflict for item in done] == ["c1", "c3"]
    assert len(skipped) == 1
    assert list(desk.store.ledger().live) == [one]
    desk.curator.undo()
    assert sorted(desk.store.ledger().live) == sorted([one, two, three])
    assert desk.store.ledger().settled == {}


LINT = "Always run the linter before you commit."


def test_duplicates_are_known_once_conflicts_were_found(desk: Desk) -> None:
    """What says more is kept, otherwise what binds more; contradictions and what was settled are none."""
    short, long = desk.add(LINT, "Always run the linter before you commit, and fix all of its warnings.")
    weak, strong = desk.add(
        "Update the changelog after every task.", "After every task, update the changelog."
    )
    desk.add(TABS, SPACES)
    desk.curator.edit(strong, priority=55, reason="x")
    assert desk.duplicates() == []
    found = desk.queue()
    assert sorted(desk.duplicates()) == sorted([(long, short), (strong, weak)])
    (conflict,) = (one for one in found.open if {one.left, one.right} == {long, short})
    desk.curator.resolve(ConflictDecision(conflict.id, conflict.left, conflict.right, Action.KEEP_BOTH))
    assert desk.duplicates() == [(strong, weak)]
    desk.curator.undo()
    assert sorted(desk.duplicates()) == sorted([(long, short), (strong, weak)])


def test_a_duplicate_is_known_while_its_rules_are_as_they_were(desk: Desk, store: RuleStore) -> None:
    """A changed rule repeats nothing until conflicts are found again; damage is no reason to fail."""
    one, two = desk.add("Update the changelog after every task.", "After every task, update the changelog.")
    desk.queue()
    assert len(desk.duplicates()) == 1
    desk.curator.edit(one, authority="absolute", reason="x")
    assert desk.duplicates() == []
    desk.queue()
    assert desk.duplicates() == [(one, two)]
    kept = store.latest("conflicts")
    assert kept is not None
    (kept / "duplicates.json").write_bytes(b"{")
    assert desk.duplicates() == []


def test_what_the_longer_rule_demands_is_never_left_out(desk: Desk) -> None:
    """Where the queue would keep both, for the shorter one binds more, neither is a duplicate."""
    short, _ = desk.add(LINT, "Always run the linter before you commit, and fix all of its warnings.")
    desk.curator.edit(short, authority="absolute", reason="x")
    assert [item.suggestion.action for item in desk.queue().open] == [Action.KEEP_BOTH]
    assert desk.duplicates() == []
