"""Differences between versions: nothing is lost in them, and the story of a rule leaves nothing out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from workbench.curation.conflicts import ConflictDecision
from workbench.curation.records import new_marks
from workbench.curation.store import record
from workbench.errors import UsageError
from workbench.records.conflicts import Action
from workbench.records.rules import Authority, Provenance, Rule
from workbench.rules.curation.curator import Curator
from workbench.rules.curation.differences import changed_fields, describe_changes, story
from workbench.rules.curation.ledger import AUTOMATIC
from workbench.rules.curation.rulestore import RuleStore
from workbench.rules.curation.ruletype import RULES


def make(text: str) -> Rule:
    return Rule(id="", name="", rule=text, project_id="p")


def test_fields_that_follow_are_not_told(rule: Callable[..., Rule]) -> None:
    """New words bring a new name and cost along; a rule that moved within its file did not change."""
    where = Provenance("CLAUDE.md", 3, 3, "claude")
    before = rule("r1", "Use tabs.", provenance=where)
    after = replace(
        before,
        id="r2",
        rule="Use spaces.",
        name="Use spaces",
        action_text="Use spaces.",
        token_cost=99,
        authority=Authority.ABSOLUTE,
        provenance=replace(where, line=7, end_line=7),
    )
    assert [(field.name, field.before, field.after) for field in changed_fields(before, after)] == [
        ("rule", "Use tabs.", "Use spaces."),
        ("authority", "default", "absolute"),
    ]
    assert changed_fields(before, before) == ()


def test_the_story_of_a_rule(store: RuleStore) -> None:
    """From its first words to its removal, by any of its ids, with who and why, undone steps included."""
    curator = Curator(store, "test")
    first = curator.add(make("Use tabs."), reason="start")
    second = curator.edit(first.id, rule="Use spaces.", reason="formatter")
    curator.edit(second.id, priority=70)
    curator.undo()
    curator.undo()
    curator.redo()
    curator.remove([second.id], reason="gone")
    ledger = store.ledger()
    told = story(ledger, first.id)
    assert [(one.what, one.change.record_id, one.change.reason) for one in told] == [
        ("added", first.id, "start"),
        ("reworded", second.id, "formatter"),
        ("changed", second.id, ""),
        ("changed", second.id, ""),
        ("restored", first.id, ""),
        ("reworded", second.id, ""),
        ("removed", second.id, "gone"),
    ]
    assert story(ledger, second.id) == told
    assert told[1].fields[0].pieces == (("same", "Use "), ("old", "tabs"), ("new", "spaces"), ("same", "."))
    with pytest.raises(UsageError, match="not known"):
        story(ledger, "rule-none")


def test_a_line_that_moved_is_no_story(store: RuleStore) -> None:
    """What only happened to the file is left out of a rule's story, and kept with the changes of its step."""
    rule = Curator(store, "test").add(make("Use tabs."))
    moved = replace(rule, provenance=Provenance("CLAUDE.md", 3, 3, "claude", section=("Style",)))
    record(store, [RULES.put_draft(moved, new_marks("import CLAUDE.md"))], by=AUTOMATIC)
    ledger = store.ledger()
    assert [one.what for one in story(ledger, rule.id)] == ["added"]
    assert [change.what for change in describe_changes(ledger, ledger.changes)] == ["added", "moved"]


def test_a_rule_that_gave_way_names_the_other(store: RuleStore) -> None:
    """After a merge into the left one, the right one's story ends with its name."""
    curator = Curator(store, "test")
    left, right = curator.add(make("Use tabs.")), curator.add(make("Use tabs always."))
    curator.resolve(ConflictDecision("c1", left.id, right.id, Action.MERGE))
    last = story(store.ledger(), right.id)[-1]
    assert (last.what, last.change.successor, last.after) == ("removed", left.id, None)
