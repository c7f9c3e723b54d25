"""Curation: every step is recorded with who and why, and every step can be taken back and done again."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.adapters import ManualClock, MemoryJournal
from workbench.curation.conflicts import ConflictDecision, ConflictSettled, RecordChanged
from workbench.curation.records import new_marks
from workbench.curation.store import record
from workbench.errors import UsageError
from workbench.records.conflicts import Action
from workbench.records.rules import Authority, Provenance, Rule
from workbench.rules.curation.curator import Curator, lineage
from workbench.rules.curation.ledger import RuleLedger
from workbench.rules.curation.rulestore import RuleStore, record_usage
from workbench.rules.curation.ruletype import RULES


def make(text: str, **fields: Any) -> Rule:
    return Rule(id="", name="", rule=text, **{"project_id": "p", **fields})


@pytest.fixture
def curator(store: RuleStore) -> Curator:
    return Curator(store, "test")


def in_force(curator: Curator) -> list[str]:
    return sorted(rule.rule for rule in curator.store.ledger().live.values())


def test_an_added_rule_is_whole(curator: Curator) -> None:
    """Its id, name, cost and times are made; it goes into the project's journal."""
    rule = curator.add(make("Use **tabs**."), reason="we agreed")
    assert rule.id.startswith("rule-")
    assert (rule.name, rule.action_text, rule.token_cost > 0) == ("Use tabs", "Use tabs.", True)
    assert curator.store.ledger().live == {rule.id: rule}
    with pytest.raises(UsageError, match="already there"):
        curator.add(make("use  **TABS**."))


SECRET = "ghp_" + "a1" * 18


def test_a_typed_secret_is_masked_before_a_rule_is_made_of_it(curator: Curator) -> None:
    """Text, id, name and reason agree: what the journal gives back is what was returned."""
    rule = curator.add(make(f"Log in with {SECRET}.", examples=(SECRET,)), reason=f"of {SECRET}")
    assert (rule.rule, rule.examples) == ("Log in with [secret:github-token].", ("[secret:github-token]",))
    edited = curator.edit(rule.id, rule=f"Never log in with {SECRET}.", reason=f"or {SECRET}")
    merged = curator.add(make("Log in."), reason="x")
    decision = ConflictDecision(
        "c", edited.id, merged.id, Action.MERGE, reason=SECRET, text=f"Ask for {SECRET}."
    )
    (last,) = curator.resolve(decision)
    assert curator.store.ledger().live == {last.id: last}
    assert SECRET not in repr([entry for _, entry in curator.store.journal.read("rules")])


def test_a_secret_of_a_rule_file_stays_as_the_file_has_it(curator: Curator) -> None:
    """A change of other fields leaves the words alone, which would differ from the file's otherwise."""
    place = Provenance("CLAUDE.md", 1, 1, "claude")
    rule = replace(make(f"Log in with {SECRET}."), id="rule-0", provenance=place)
    record(curator.store, [RULES.put_draft(rule, new_marks("import"))], by="auto")
    edited = curator.edit("rule-0", priority=80, rule=rule.rule)
    assert (edited.rule, edited.priority) == (rule.rule, 80)


def test_several_rules_are_added_in_one_step(curator: Curator) -> None:
    """All or none, whichever journal each goes to, and undone as one."""
    given = [make("Use tabs."), make("Run the tests.", project_id=None)]
    assert [rule.rule for rule in curator.add_all(given)] == ["Use tabs.", "Run the tests."]
    with pytest.raises(UsageError, match=r"^f:2: that rule is already there"):
        curator.add_all([make("Use spaces."), make("use SPACES.")], places=["f:1", "f:2"])
    assert in_force(curator) == ["Run the tests.", "Use tabs."]
    assert curator.undo().title == "undo: add 2 rules"
    assert in_force(curator) == []


def test_several_rules_are_edited_in_one_step(curator: Curator) -> None:
    """The same change of all of them is one step; one that is refused leaves all as they were."""
    rules = curator.add_all([make("Use tabs."), make("Run the tests.")])
    ids = [rule.id for rule in rules]
    assert [rule.enabled for rule in curator.edit_all([*ids, ids[0]], enabled=False)] == [False, False]
    with pytest.raises(UsageError, match="not known"):
        curator.edit_all([ids[0], "rule-none"], enabled=True)
    assert [rule.enabled for rule in curator.store.ledger().live.values()] == [False, False]
    curator.undo()
    assert curator.store.ledger().live == {rule.id: rule for rule in rules}


def test_rules_are_edited_in_one_step_each_in_its_way(curator: Curator) -> None:
    """Different changes of several rules are one step, undone as one."""
    rules = curator.add_all([make("Use tabs."), make("Run the tests.")])
    changes = {rule.id: {"priority": place} for place, rule in enumerate(rules)}
    assert [rule.priority for rule in curator.edit_each(changes, title="tidy")] == [0, 1]
    assert curator.undo().title == "undo: tidy"
    assert curator.store.ledger().live == {rule.id: rule for rule in rules}


def test_what_was_changed_meanwhile_is_not_overwritten(curator: Curator) -> None:
    """An edit of a rule as it was seen is refused once somebody decided otherwise; it says what holds."""
    seen = curator.add(make("Use tabs."))
    assert curator.edit(seen.id, seen=replace(seen, usage_count=7), priority=1).priority == 1
    with pytest.raises(RecordChanged, match="changed") as caught:
        curator.edit(seen.id, seen=seen, priority=2)
    assert caught.value.now is not None
    assert caught.value.now.priority == 1
    now = curator.edit(seen.id, rule="Use spaces.")
    with pytest.raises(RecordChanged) as caught:
        curator.edit(seen.id, seen=seen, enabled=False)
    assert caught.value.now == now
    curator.remove([now.id])
    with pytest.raises(RecordChanged, match="removed") as caught:
        curator.edit(now.id, seen=now, priority=2)
    assert caught.value.now is None


def test_a_decision_others_overtook_is_refused(curator: Curator) -> None:
    """A conflict whose rules changed, or that somebody settled, since it was seen is left as it is."""
    left, right, third = curator.add_all([make("Use tabs."), make("Use spaces."), make("Use both.")])
    curator.edit(left.id, priority=80)
    decision = ConflictDecision("c1", left.id, right.id, Action.KEEP_BOTH)
    with pytest.raises(RecordChanged):
        curator.resolve(decision, seen=(left, right))
    other = ConflictDecision("c2", right.id, third.id, Action.KEEP_LEFT)
    done, skipped = curator.resolve_all([decision, other], seen={one.id: one for one in (left, right, third)})
    assert done == (other,)
    assert ["was changed by somebody else meanwhile" in told for told in skipped] == [True]
    curator.resolve(decision)
    with pytest.raises(ConflictSettled, match="settled by test meanwhile: keep-both"):
        curator.resolve(replace(decision, action=Action.KEEP_LEFT))


def test_a_persons_own_rule_goes_home(curator: Curator) -> None:
    """A rule of no project is in the journal of the home, and so is its use."""
    rule = curator.add(make("Use tabs.", project_id=None))
    assert curator.store.journal.size("rules") == 0
    assert record_usage(curator.store, [rule.id, "nope"], "s1", "claude", by="test") == 1
    assert curator.store.usage()[rule.id][0] == 1


def test_new_words_are_a_new_version(curator: Curator) -> None:
    """The old rule is kept, the new one names it and tells why."""
    first = curator.add(make("Use tabs."))
    second = curator.edit(first.id, rule="Use spaces.", reason="the formatter does")
    assert (second.version, second.replaces, second.name) == (2, (first.id,), "Use spaces")
    assert second.metadata["version_history"][-1]["reason"] == "the formatter does"
    assert in_force(curator) == ["Use spaces."]
    assert curator.store.ledger().versions[first.id].rule == "Use tabs."
    with pytest.raises(UsageError, match="superseded by"):
        curator.edit(first.id, priority=3)


def test_authority_and_scope_change_in_place(curator: Curator) -> None:
    """Same id and version, a later time, and a change on the record."""
    rule = curator.add(make("Use tabs."))
    after = curator.edit(rule.id, authority=Authority.ABSOLUTE, scope=("git",), reason="it matters")
    assert (after.id, after.version, after.authority) == (rule.id, 1, Authority.ABSOLUTE)
    assert [(change.by, change.reason) for change in curator.history(rule.id)] == [
        ("test", ""),
        ("test", "it matters"),
    ]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"priority": 101}, "outside 0 to 100"),
        ({"usage_count": 3}, "cannot be edited"),
        ({"priority": 50}, "nothing to change"),
        ({"rule": " "}, "rule is empty"),
    ],
)
def test_unsound_edits_are_refused(curator: Curator, changes: dict[str, Any], message: str) -> None:
    """Nothing is recorded of an edit that makes no sense."""
    rule = curator.add(make("Use tabs."))
    size = curator.store.journal.size("rules")
    with pytest.raises(UsageError, match=message):
        curator.edit(rule.id, **changes)
    assert curator.store.journal.size("rules") == size


def test_rules_as_of_a_moment(curator: Curator) -> None:
    """The journals tell what was in force at any time."""
    clock = ManualClock()
    journal = MemoryJournal(clock)
    timed = Curator(replace(curator.store, journal=journal, now=clock.now), "test")
    rule = timed.add(make("Use tabs."))
    clock.advance(3600)
    timed.edit(rule.id, rule="Use spaces.")
    entry = next(iter(journal.read("rules")))[1]
    assert [found.rule for found in timed.store.ledger(entry.at).live.values()] == ["Use tabs."]
    assert [found.rule for found in timed.store.ledger().live.values()] == ["Use spaces."]


def standing(ledger: RuleLedger, identifier: str) -> str:
    """Return the id of the rule in an id's place, or ''."""
    rule = ledger.current(identifier)
    return "" if rule is None else rule.id


def test_what_was_superseded_leads_to_its_successor(curator: Curator) -> None:
    """Both sides of a merge lead to the merged rule, and its history has both."""
    left, right = curator.add(make("Use tabs.")), curator.add(make("Use spaces."))
    (merged,) = curator.resolve(
        ConflictDecision("c1", left.id, right.id, Action.MERGE, text="Use tabs, not spaces.")
    )
    ledger = curator.store.ledger()
    assert standing(ledger, left.id) == standing(ledger, right.id) == merged.id
    assert set(lineage(ledger, merged.id)) == {left.id, right.id, merged.id}


def test_a_circle_of_replacements_ends(curator: Curator) -> None:
    """Damaged journals in which rules replace each other are read to their end."""
    bodies = [
        {"id": "a", "name": "a", "rule": "A.", "project_id": "p", "replaces": ["b"]},
        {"id": "b", "name": "b", "rule": "B.", "project_id": "p", "replaces": ["a"]},
    ]
    curator.store.journal.append("rules", "rule.put", bodies, by="x")
    curator.store.journal.append("rules", "rule.removed", [{"id": "b", "successor": "a"}], by="x")
    ledger = curator.store.ledger()
    assert ledger.current("a") is None
    assert list(ledger.live) == []
