"""Conflicts of every type, listed and settled by one service for every face."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.clones import Clone, edited_apart, stashed_apart
from workbench.curation.conflicts import ConflictDecision, ConflictSettled
from workbench.entry.services.conflicts import conflict_page, settle_conflict
from workbench.entry.services.opening import ProjectHost
from workbench.errors import UnknownRecord, UsageError
from workbench.lists.conflicts import ConflictRow
from workbench.records.conflicts import Action, ConflictKind
from workbench.records.rules import Authority
from workbench.rules.fields import new_rule


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Clone, Clone]:
    """Two clones that changed a rule, a learning and a segment apart."""
    anna, bob = edited_apart(tmp_path)
    stashed_apart(anna, bob)
    return anna, bob


def waiting(host: ProjectHost, text: str = "") -> dict[str, ConflictRow]:
    return {row.of: row for row in conflict_page(host, text, limit=10).rows}


def test_conflicts_of_every_type_are_listed_and_settled(pair: tuple[Clone, Clone]) -> None:
    """By words and fields, with who wrote what from what; each is one step that undo takes back."""
    anna, bob = pair
    host = ProjectHost(anna.opened(), "http")
    found = waiting(host)
    assert found.keys() == {"rule", "learning", "segment"}
    one = found["segment"]
    assert (one.left.text, one.right.text) == (
        "protected: no\ntopic: sessions\nWe keep sessions in Redis",
        "protected: yes\ntopic: auth\nWe keep sessions in Redis",
    )
    assert one.left.where.startswith("in force · this machine (anna), written by cli, ")
    assert one.evidence[-1].detail == "protected no | yes (base no); topic sessions | auth (base none)"
    assert waiting(host, "of:segment auth").keys() == {"segment"}
    assert waiting(host, "half up").keys() == {"rule"}

    for of, decided in (("rule", Action.KEEP_RIGHT), ("learning", Action.MERGE), ("segment", None)):
        words = "The cache is off but in production" if decided is Action.MERGE else ""
        done = settle_conflict(host, found[of].id[:17], decided, text=words, reason="agreed")
        assert done.conflict.id == found[of].id
        assert len(done.records) == 1
    assert waiting(host) == {}
    assert [record.rule for record in anna.rules.records()] == ["Round VAT half up."]
    assert [record.text for record in anna.learnings.records()] == ["The cache is off but in production"]
    [held] = anna.stash.store.ledger().records.values()
    assert (held.topic, held.protected) == ("sessions", True)
    anna.send(bob)
    assert waiting(ProjectHost(bob.opened(), "http")) == {}
    assert [record.topic for record in bob.stash.store.ledger().records.values()] == ["sessions"]
    for service in (anna.rules, anna.learnings, anna.stash):
        service.undo()
    again = ProjectHost(anna.opened(), "http")
    assert waiting(again).keys() == {"rule", "learning", "segment"}


def test_no_agent_takes_out_of_force_what_a_person_confirmed(pair: tuple[Clone, Clone]) -> None:
    """A reviewed learning, a protected segment, an absolute rule; what holds may stay, others are theirs."""
    anna, _ = pair
    [rule] = anna.rules.records()
    anna.rules.edit(rule.id, authority=Authority.ABSOLUTE)
    anna.rules.add(new_rule({"rule": "Never round VAT down, and log the rest."}, rule.project_id))
    anna.stash.protect(["seg-1"])
    host, person = ProjectHost(anna.opened(), "mcp"), ProjectHost(anna.opened(), "http")
    found = {(row.of, row.kind): row for row in conflict_page(host, limit=10).rows}
    assert len(found) == 4
    for one in found.values():
        left = one.kind is ConflictKind.CONCURRENT or one.left.text.startswith("Round")
        taken = Action.KEEP_RIGHT if left else Action.KEEP_LEFT
        with pytest.raises(UsageError, match="a person confirmed"):
            settle_conflict(host, one.id, taken)
    one = found["learning", ConflictKind.CONCURRENT]
    assert settle_conflict(host, one.id, Action.KEEP_LEFT).action is Action.KEEP_LEFT
    one = found["segment", ConflictKind.CONCURRENT]
    assert settle_conflict(person, one.id, Action.KEEP_RIGHT).action is Action.KEEP_RIGHT


def test_what_cannot_be_settled_says_why(pair: tuple[Clone, Clone]) -> None:
    """None such, several, an action for two records, one that another machine settled meanwhile."""
    anna, bob = pair
    host = ProjectHost(anna.opened(), "mcp")
    found = waiting(host)
    for identifier in ("conflict-none", ""):
        with pytest.raises(UnknownRecord, match="waits"):
            settle_conflict(host, identifier, None)
    with pytest.raises(UsageError, match="conflicts begin with"):
        settle_conflict(host, "conflict-", None)
    for of in found:
        with pytest.raises(UsageError, match="is for two records"):
            settle_conflict(host, found[of].id, Action.KEEP_BOTH)
        with pytest.raises(UsageError, match="never changes" if of == "segment" else "third version"):
            settle_conflict(host, found[of].id, Action.MERGE, text="x" if of == "segment" else "")
    one = found["segment"]
    bob.stash.resolve(ConflictDecision(one.id, one.left.id, one.right.id, Action.KEEP_RIGHT))
    bob.send(anna)
    with pytest.raises(ConflictSettled, match="settled by cli on another machine"):
        settle_conflict(host, one.id, Action.KEEP_LEFT)
