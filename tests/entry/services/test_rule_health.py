"""What doctor says of rules: entries left out, circles, files that lag behind, each with the next step."""

from __future__ import annotations

from typing import Any

import pytest

from workbench.config import Config
from workbench.entry.project import OpenedProject, open_project
from workbench.entry.services.project_health import rule_findings
from workbench.records.answers.project import State
from workbench.rules.curation.curator import Curator


@pytest.fixture
def opened(work: Any) -> OpenedProject:
    """A repository with one rule in a file."""
    work.write("CLAUDE.md", "- Use tabs.\n")
    work.commit()
    return open_project(work.root, Config())


def texts(opened: OpenedProject) -> list[str]:
    """Return what was found, after checking that notes have a next step."""
    found = list(rule_findings(opened))
    assert all(one.step for one in found if one.state is not State.OK)
    return [one.text for one in found]


def test_sound_rules_are_counted(opened: OpenedProject) -> None:
    """Before the first command and after it."""
    assert texts(opened) == ["none yet"]
    opened.workspace.sync_rules()
    assert texts(opened) == ["1 in force"]


def test_what_is_odd_is_told(opened: OpenedProject) -> None:
    """Entries that are no rules, and rules that replace each other; looking records nothing."""
    good: dict[str, Any] = {"id": "a", "name": "a", "rule": "A.", "replaces": ["b"]}
    unsound = [{**good, "id": f"x{number}", "priority": 999} for number in range(7)]
    bodies = [good, {**good, "id": "b", "replaces": ["a"]}, *unsound]
    opened.journal.append("rules", "rule.put", bodies, by="x")
    size = opened.journal.size("rules")
    found = texts(opened)
    assert found[0] == "a recorded rule is left out: rule 'x0': priority 999 is outside 0 to 100"
    assert found[5:] == ["and 2 more", "rules replace each other in a circle: a -> b -> a"]
    assert opened.journal.size("rules") == size


def test_files_that_lag_behind_are_told(opened: OpenedProject, work: Any) -> None:
    """A rule reworded here and not in its file, then in both places differently; nothing is recorded."""
    book, _ = opened.workspace.sync_rules()
    Curator(opened.workspace.rule_store(), "test").edit(book.rules[0].id, rule="Use spaces.")
    size = opened.journal.size("rules")
    assert texts(opened) == ["CLAUDE.md does not have what changed here: 1 of its rules"]
    work.write("CLAUDE.md", "- Use tabs and tabs.\n")
    assert texts(opened) == ["CLAUDE.md and the store changed rules differently: 1"]
    assert opened.journal.size("rules") == size
    work.write("CLAUDE.md", "- Use tabs.\n" * 600_000)
    assert texts(opened)[0].startswith("CLAUDE.md:0: ")


def test_secrets_in_rules_are_told_of_and_left_alone(opened: OpenedProject, work: Any) -> None:
    """The kind is told, the secret is not, and the file stays as it is."""
    secret = "gh" + "p_" + "a1B2" * 9
    work.write("CLAUDE.md", f"- Push with {secret} as the token.\n")
    opened.workspace.sync_rules()
    found = texts(opened)

    assert [one.split(" ", 2)[2] for one in found] == ["holds what looks like a secret: github-token"]
    assert secret in (work.root / "CLAUDE.md").read_text(encoding="utf-8")
