"""Files and store are brought in step both ways, and nothing people wrote is lost on the way."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from workbench.curation.conflicts import ConflictDecision
from workbench.errors import UsageError
from workbench.records.conflicts import Action
from workbench.records.rules import Rule
from workbench.rules.curation.curator import Curator, standing_in
from workbench.rules.curation.rulestore import RuleStore
from workbench.rules.files.drift import find_drift, write_pending
from workbench.rules.files.settling import put_back, settle
from workbench.rules.rulebook import load_rulebook

FILE = """# Rules

Some words of welcome.

- Use tabs everywhere.
- Run the unit tests first.

## Git

* Never push on Fridays.
"""


class Desk:
    """One CLAUDE.md, its store and a curator."""

    def __init__(self, store: RuleStore) -> None:
        self.store, self.path = store, store.root / "CLAUDE.md"
        self.curator = Curator(store, "test")
        self.path.write_text(FILE, encoding="utf-8")
        load_rulebook(store, ["CLAUDE.md"])

    def text(self) -> str:
        return self.path.read_text(encoding="utf-8")

    def find(self, text: str) -> Rule:
        return next(rule for rule in self.store.ledger().live.values() if rule.rule == text)

    def left(self) -> list[tuple[int, int, int]]:
        """Return how many changes are incoming, pending and in conflict, by file."""
        return [
            (len(found.incoming), len(found.pending), len(found.conflicts))
            for found in find_drift(self.store, ["CLAUDE.md"]).drift
        ]


@pytest.fixture
def desk(store: RuleStore) -> Desk:
    """A project with a rule file that was imported."""
    return Desk(store)


def test_in_step_is_silent(desk: Desk) -> None:
    """Right after an import there is nothing to tell, and bringing in step writes nothing."""
    assert desk.left() == []
    assert write_pending(desk.store, ["CLAUDE.md"]).written == []
    assert desk.text() == FILE


def test_edits_go_into_their_own_lines(desk: Desk) -> None:
    """Changed, removed and added rules change their lines and no others; then nothing is out of step."""
    desk.curator.edit(desk.find("Use tabs everywhere.").id, rule="Use spaces everywhere.")
    desk.curator.remove([desk.find("Run the unit tests first.").id])
    where = standing_in("CLAUDE.md", "claude")
    desk.curator.add(Rule("", "", "Avoid force pushes.", project_id="p", provenance=where))
    assert desk.left() == [(0, 3, 0)]
    outcome = write_pending(desk.store, ["CLAUDE.md"])
    assert [written.refused for written in outcome.written] == [()]
    assert outcome.drift == []
    assert "- Use spaces everywhere.\n" in desk.text()
    assert "unit tests" not in desk.text()
    assert "Avoid force pushes." in desk.text()
    assert "* Never push on Fridays.\n" in desk.text()
    assert desk.left() == []
    assert desk.find("Use spaces everywhere.").version == 2


def test_a_dry_run_writes_nothing(desk: Desk) -> None:
    """It says what would be written, and leaves file and journals alone."""
    desk.curator.edit(desk.find("Use tabs everywhere.").id, rule="Use spaces everywhere.")
    size = desk.store.journal.size("rules")
    outcome = write_pending(desk.store, ["CLAUDE.md"], dry_run=True)
    assert b"Use spaces everywhere." in outcome.written[0].after
    assert (desk.text(), desk.store.journal.size("rules")) == (FILE, size)


def test_both_ways_at_once(desk: Desk) -> None:
    """What only the file changed comes in while what only the store changed goes out."""
    desk.curator.edit(desk.find("Use tabs everywhere.").id, rule="Use spaces everywhere.")
    desk.path.write_text(FILE.replace("on Fridays", "on Sundays"), encoding="utf-8")
    assert desk.left() == [(1, 1, 0)]
    outcome = write_pending(desk.store, ["CLAUDE.md"])
    assert outcome.drift == []
    assert desk.find("Never push on Sundays.").version == 2
    assert "- Use spaces everywhere.\n" in desk.text()
    assert "* Never push on Sundays.\n" in desk.text()


@pytest.mark.parametrize("side", ["ours", "theirs"])
def test_a_conflict_waits_for_a_person(desk: Desk, side: str) -> None:
    """Neither side is overwritten until one is chosen; the choice can be undone."""
    desk.curator.edit(desk.find("Use tabs everywhere.").id, rule="Use spaces everywhere.")
    theirs = FILE.replace("tabs everywhere", "tabs almost everywhere")
    desk.path.write_text(theirs, encoding="utf-8")
    assert desk.left() == [(0, 0, 1)]
    assert write_pending(desk.store, ["CLAUDE.md"]).written == []
    assert desk.text() == theirs
    conflict = settle(desk.store, ["CLAUDE.md"], desk.find("Use spaces everywhere.").id, side, by="test")
    assert conflict.base.rule == "Use tabs everywhere."
    desk.curator.undo()
    assert desk.left() == [(0, 0, 1)]
    desk.curator.redo()
    write_pending(desk.store, ["CLAUDE.md"])
    chosen = {"ours": "Use spaces everywhere.", "theirs": "Use tabs almost everywhere."}[side]
    assert desk.find(chosen).rule in desk.text()
    assert desk.left() == []


@pytest.mark.parametrize(("side", "stays"), [("ours", True), ("theirs", False)])
def test_edited_here_and_deleted_there(desk: Desk, side: str, stays: bool) -> None:
    """Ours puts the rule back into the file, theirs lets it go."""
    desk.curator.edit(desk.find("Use tabs everywhere.").id, rule="Use spaces everywhere.")
    desk.path.write_text(FILE.replace("- Use tabs everywhere.\n", ""), encoding="utf-8")
    assert desk.left() == [(0, 0, 1)]
    settle(desk.store, ["CLAUDE.md"], desk.find("Use spaces everywhere.").id, side, by="test")
    write_pending(desk.store, ["CLAUDE.md"])
    assert ("Use spaces everywhere." in desk.text()) is stays
    assert desk.left() == []


def test_removed_here_and_edited_there(desk: Desk) -> None:
    """Theirs brings the rule back with the file's words."""
    gone = desk.find("Use tabs everywhere.").id
    desk.curator.remove([gone])
    desk.path.write_text(FILE.replace("tabs everywhere", "tabs almost everywhere"), encoding="utf-8")
    assert desk.left() == [(0, 0, 1)]
    settle(desk.store, ["CLAUDE.md"], gone, "theirs", by="test")
    assert desk.left() == []
    assert desk.find("Use tabs almost everywhere.").enabled


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("tabs everywhere", "tabs nowhere,\n  not even here"),
        ("- Run the unit tests first.\n", ""),
        ("* Never push on Fridays.\n", "* Never push on Fridays.\n* Always push with force.\n"),
    ],
)
def test_what_a_file_changed_alone_is_put_back(desk: Desk, before: str, after: str) -> None:
    """Byte for byte, one change of several; the store stays as it was, and nothing is a step."""
    rules, steps = desk.store.ledger().live.keys(), len(desk.store.ledger().steps)
    desk.path.write_text(FILE.replace(before, after) + "* Always sign tags.\n", encoding="utf-8")
    change, _ = find_drift(desk.store, ["CLAUDE.md"]).drift[0].incoming
    [identifier] = {rule.id for rule in [change.before or change.after] if rule is not None}
    preview = put_back(desk.store, ["CLAUDE.md"], identifier, dry_run=True)
    assert preview is not None
    assert preview.changed
    assert put_back(desk.store, ["CLAUDE.md"], identifier) == preview
    assert desk.text() == FILE + "* Always sign tags.\n"
    assert desk.left() == [(1, 0, 0)]
    assert (desk.store.ledger().live.keys(), len(desk.store.ledger().steps)) == (rules, steps)
    assert put_back(desk.store, ["CLAUDE.md"], identifier) is None


def test_there_is_no_conflict_to_settle(desk: Desk) -> None:
    """Settling what is not in conflict is refused."""
    with pytest.raises(UsageError, match="in no conflict"):
        settle(desk.store, ["CLAUDE.md"], desk.find("Use tabs everywhere.").id, "ours", by="test")


def test_a_merge_of_two_files_goes_into_both(desk: Desk) -> None:
    """Duplicates in two agents' files become one rule that stands in both, and follows edits of either."""
    (desk.store.root / "AGENTS.md").write_text(
        "- Use tabs anywhere.\n- Stay calm always.\n", encoding="utf-8"
    )
    names = ["AGENTS.md", "CLAUDE.md"]
    load_rulebook(desk.store, names)
    left, right = desk.find("Use tabs everywhere."), desk.find("Use tabs anywhere.")
    text = "Use tabs in all files."
    desk.curator.resolve(ConflictDecision("c", left.id, right.id, Action.MERGE, text=text))
    outcome = write_pending(desk.store, names)
    assert outcome.drift == []
    assert f"- {text}\n" in desk.text()
    assert f"- {text}\n" in (desk.store.root / "AGENTS.md").read_text(encoding="utf-8")
    book = load_rulebook(desk.store, names)
    assert [rule.rule for rule in book.rules].count(text) == 1
    assert (book.pending, book.conflicts) == (0, 0)
    (desk.store.root / "AGENTS.md").write_text("- Use tabs in many files.\n", encoding="utf-8")
    write_pending(desk.store, names)
    assert "- Use tabs in many files.\n" in desk.text()


def test_a_file_that_changes_meanwhile_is_not_overwritten(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An edit that an editor saved between reading and writing is kept."""
    from dataclasses import replace

    from workbench.errors import StoreError
    from workbench.rules.files import drift

    desk.curator.edit(desk.find("Use tabs everywhere.").id, rule="Use spaces everywhere.")
    real: Callable[..., None] = desk.store.replace_file

    def slow(*arguments: object) -> None:
        desk.path.write_text("- Something else must be done.\n", encoding="utf-8")
        real(*arguments)

    with pytest.raises(StoreError, match="changed while"):
        drift.write_pending(replace(desk.store, replace_file=slow), ["CLAUDE.md"])
    assert desk.text() == "- Something else must be done.\n"


def test_an_edit_below_an_introduction_leaves_it_alone(desk: Desk) -> None:
    """A rule that carries its introduction changes in its own line alone."""
    desk.path.write_text("Never do these:\n\n- log tokens\n- skip tests\n", encoding="utf-8")
    load_rulebook(desk.store, ["CLAUDE.md"])
    rules = sorted(rule.rule for rule in desk.store.ledger().live.values())
    assert rules == ["Never do these: log tokens", "Never do these: skip tests"]
    desk.curator.edit(desk.find(rules[0]).id, rule="Never do these: log any tokens")
    outcome = write_pending(desk.store, ["CLAUDE.md"])
    assert "- log any tokens\n- skip tests\n" in desk.text()
    assert (outcome.drift, [written.refused for written in outcome.written]) == ([], [()])
