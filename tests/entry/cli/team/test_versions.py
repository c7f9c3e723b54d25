"""Versions that two machines of a team wrote apart, and who did what, from the command line and in panes."""

from __future__ import annotations

import json
import re
from pathlib import Path

from tests.clones import MACHINES, edited_apart
from tests.entry.cli.conftest import Run
from workbench.entry.services.learnings import learning_past


def test_conflicts_have_both_versions_and_their_machines(tmp_path: Path, run: Run) -> None:
    """In lists, shown alone, and settled; what else differs is said, what makes no sense is not offered."""
    anna, _ = edited_apart(tmp_path)
    here = ("--project", str(anna.root))
    for command in (("rules", "conflicts", "list"), ("memory", "conflicts")):
        listed = run(*here, *command).out
        assert "in force: this machine (anna), written by cli, " in listed
        assert "not in force: bobs-pc (bob), written by cli, " in listed
        assert ("base: Round VAT down.\n" in listed) or ("base: The cache is on\n" in listed)
    for member in ("anna", "bob"):
        assert run(*here, "rules", "conflicts", "list", member, "--json").json()["total_count"] == 1
    found = json.loads(run(*here, "rules", "conflicts", "list", "--json").out)["conflicts"][0]
    shown = run(*here, "rules", "conflicts", "show", found["id"])
    assert re.search(
        r"not in force · bobs-pc \(bob\), written by cli, .* UTC\n  Round VAT half up\.", shown.out
    )
    assert "differs: priority 50 | 80 (base 50)" in shown.out
    assert "keep-left|keep-right|merge" in shown.err
    assert run(*here, "rules", "conflicts", "resolve", found["id"], "--action", "keep-both").code == 2
    third = ("--action", "merge", "--text", "Round VAT half up, and log the rest.")
    assert run(*here, "rules", "conflicts", "resolve", found["id"], *third).code == 0
    assert [record.rule for record in anna.rules.records()] == ["Round VAT half up, and log the rest."]


def test_histories_name_the_other_machines(tmp_path: Path, run: Run) -> None:
    """Of one record, where a change is another's; a learning's pane has the pair that it waits for."""
    anna, _ = edited_apart(tmp_path)
    here, [rule] = ("--project", str(anna.root)), anna.rules.records()
    [learning] = anna.learnings.records()
    for group, identifier in (("rules", rule.id), ("memory", learning.id)):
        changes = json.loads(run(*here, group, "history", identifier, "--json").out)["changes"]
        assert [change.get("machine") for change in changes] == [None, MACHINES["bob"], None]
        shown = run(*here, group, "history", identifier).out
        assert shown.count(" cli on bobs-pc (bob) ") == 1
        assert shown.count(" cli on this machine (anna) ") == 2
    project = anna.opened()
    project.conflicts.keep("learning", [])
    past = learning_past(project, learning.id)
    assert [change.by for change in past.changes] == [
        own := "cli on this machine (anna)",
        "cli on bobs-pc (bob)",
        own,
    ]
    assert past.item is not None
    assert past.item.other is not None
    assert past.item.other.text == "The cache is off in tests"


def test_a_merge_holds_where_one_side_was_taken_out(tmp_path: Path, run: Run) -> None:
    """What a person writes for both counts, also where the version in force is a rejected one."""
    anna, _ = edited_apart(tmp_path)
    here, [learning] = ("--project", str(anna.root)), anna.learnings.records()
    anna.learnings.reject([learning.id])
    run(*here, "memory", "conflicts")
    [conflict] = json.loads(run(*here, "memory", "conflicts", "--json").out)["conflicts"]
    merged = ("--action", "merge", "--text", "The cache is off in tests alone")
    assert run(*here, "memory", "resolve", conflict["id"], *merged).code == 0
    [after] = anna.learnings.records()
    assert (after.text, after.live) == ("The cache is off in tests alone", True)
    assert run(*here, "memory", "conflicts", "--json").out
