"""Export: rules reach other agents' files once, and from then on files and store stay in step."""

from __future__ import annotations

from pathlib import Path

import pytest

from workbench.errors import UsageError
from workbench.records.rules import Level, Rule
from workbench.rules.curation.curator import Curator
from workbench.rules.curation.rulestore import RuleStore
from workbench.rules.files.drift import find_drift, write_pending
from workbench.rules.files.export import is_of
from workbench.rules.files.placement import TARGETS
from workbench.rules.files.publication import publish
from workbench.rules.keptbook import Rulebook
from workbench.rules.rulebook import load_rulebook

CLAUDE = "# Rules\n\nWelcome.\n\n- Never log tokens.\n- Prefer small functions.\n"
CURSOR = (
    "---\ndescription: TypeScript\nglobs: src/**/*.ts\nalwaysApply: false\n---\n\n- Avoid `any` in types.\n"
)


def names(store: RuleStore) -> list[str]:
    paths = [path for path in store.root.rglob("*") if path.is_file()]
    return sorted(path.relative_to(store.root).as_posix() for path in paths)


def contents(store: RuleStore) -> dict[str, bytes]:
    """Return what every file of the project says."""
    return {name: (store.root / name).read_bytes() for name in names(store)}


def load(store: RuleStore) -> Rulebook:
    return load_rulebook(store, names(store))


@pytest.fixture
def filled(store: RuleStore) -> RuleStore:
    """A project with a CLAUDE.md and a Cursor rule for TypeScript."""
    (store.root / "CLAUDE.md").write_text(CLAUDE, encoding="utf-8")
    place = store.root / ".cursor/rules/types.mdc"
    place.parent.mkdir(parents=True)
    place.write_text(CURSOR, encoding="utf-8")
    load(store)
    return store


@pytest.mark.parametrize("target", sorted(TARGETS))
def test_a_rule_reaches_every_target_once(filled: RuleStore, target: str) -> None:
    """Nothing is doubled in the store, a second export changes nothing, and nothing is out of step."""
    before = contents(filled)
    assert any(file.changed for file in publish(filled, names(filled), target).files)
    book = load(filled)
    assert sorted(rule.rule for rule in book.rules) == [
        "Avoid `any` in types.",
        "Never log tokens.",
        "Prefer small functions.",
    ]
    assert (book.pending, book.conflicts, find_drift(filled, names(filled)).drift) == (0, 0, [])
    after = contents(filled)
    assert not any(file.changed for file in publish(filled, names(filled), target).files)
    assert contents(filled) == after
    assert all(after[name].startswith(data) for name, data in before.items())
    own = {name for name in after if name not in before} | {"CLAUDE.md"}
    said = b"".join(after[name] for name in own)
    assert b"Never log tokens." in said


@pytest.mark.parametrize("target", sorted(TARGETS))
def test_what_two_files_say_is_written_once_and_reads_back_as_no_third_rule(
    store: RuleStore, target: str
) -> None:
    """The same words in two files for two agents, also where one is for a directory: each place once."""
    (store.root / "CLAUDE.md").write_text("- Never use tabs.\n- Use pnpm.\n", encoding="utf-8")
    (store.root / "AGENTS.md").write_text("## Must\n\n- Never use tabs.\n- Run ruff.\n", encoding="utf-8")
    (store.root / "GEMINI.md").write_text("- Never  use tabs.\n", encoding="utf-8")
    (store.root / "web").mkdir()
    (store.root / "web/CLAUDE.md").write_text("- Never use tabs.\n", encoding="utf-8")
    before = load(store)
    publish(store, names(store), target, directories=["web"])
    book = load(store)
    assert [rule.id for rule in book.rules] == [rule.id for rule in before.rules]
    assert (book.pending, book.conflicts, find_drift(store, names(store)).drift) == (0, 0, [])
    assert not any(file.changed for file in publish(store, names(store), target, directories=["web"]).files)
    texts = [data.decode() for name, data in contents(store).items() if is_of(name, TARGETS[target])]
    assert [" ".join(text.split()).count("Never use tabs.") for text in texts] == [1, 1]  # the root, web/


def test_limits_that_no_file_can_say_are_named(filled: RuleStore) -> None:
    """A fact, a level, a cooldown and a name: the rule is in the file without, and comes back with them."""
    curator = Curator(filled, "test")
    limited = curator.add(
        Rule(
            id="", name="", rule="Tag the commit.", level=Level.STEP, scope=("git",), cooldown=60,
            conditions={"phase": "release", "os": ["linux", "mac"]},
        )
    )  # fmt: skip
    [note] = [note for file in publish(filled, names(filled), "cursor").files for note in file.notes]
    assert note == (
        f"rule {limited.id}: the file cannot say the scope git, the condition os=linux|mac, phase=release, "
        "the level step, the cooldown of 60 s, and it holds there without"
    )
    found = load(filled).rules.find(limited.id)
    assert found is not None
    assert (found.conditions, found.level, found.cooldown) == (limited.conditions, Level.STEP, 60)
    assert len(load(filled).rules) == 4


def test_an_agent_is_a_name_of_the_files_it_reads(filled: RuleStore) -> None:
    """Everything else says `codex`; its files are those of `agents`."""
    [file] = publish(filled, names(filled), "codex", dry_run=True).files
    assert file == publish(filled, names(filled), "agents", dry_run=True).files[0]


def test_a_dry_run_writes_nothing(filled: RuleStore) -> None:
    """It says what would stand where."""
    before, size = contents(filled), filled.journal.size("rules")
    found = publish(filled, names(filled), "agents", dry_run=True)
    assert [file.path for file in found.files if file.changed] == ["AGENTS.md"]
    assert (contents(filled), filled.journal.size("rules")) == (before, size)


def test_an_edit_of_an_exported_copy_edits_the_rule(filled: RuleStore) -> None:
    """The copy's change is the rule's next version, and goes into the file it came from."""
    publish(filled, names(filled), "agents")
    agents = filled.root / "AGENTS.md"
    agents.write_text(
        agents.read_text(encoding="utf-8").replace("log tokens", "log session tokens"), encoding="utf-8"
    )
    write_pending(filled, names(filled))
    assert "- Never log session tokens.\n" in (filled.root / "CLAUDE.md").read_text(encoding="utf-8")
    book = load(filled)
    assert [rule.version for rule in book.rules if rule.rule == "Never log session tokens."] == [2]
    assert (book.pending, book.conflicts) == (0, 0)


def test_a_removed_rule_leaves_every_file(filled: RuleStore) -> None:
    """What is removed in the store goes from its own file and from the copies."""
    publish(filled, names(filled), "agents")
    gone = next(rule.id for rule in load(filled).rules if rule.rule == "Never log tokens.")
    Curator(filled, "test").remove([gone])
    write_pending(filled, names(filled))
    assert all(b"Never log tokens." not in data for data in contents(filled).values())
    assert find_drift(filled, names(filled)).drift == []


def test_a_fresh_clone_knows_copies_as_copies(filled: RuleStore, tmp_path: Path) -> None:
    """Without any journal, exported parts are not taken for rules of their own."""
    for target in ("agents", "cursor", "copilot"):
        publish(filled, names(filled), target)
    from dataclasses import replace

    from tests.adapters import MemoryJournal

    clone = replace(
        filled, journal=MemoryJournal(), latest=lambda kind: None, publish=lambda kind, write: tmp_path
    )
    assert len(load(clone).rules) == 3
    assert find_drift(clone, names(clone)).drift == []


def test_a_file_in_conflict_is_left_alone(filled: RuleStore) -> None:
    """Export does not decide what a person has to."""
    publish(filled, names(filled), "agents")
    rule = next(rule for rule in load(filled).rules if rule.rule == "Never log tokens.")
    Curator(filled, "test").edit(rule.id, rule="Never log tokens or keys.")
    agents = filled.root / "AGENTS.md"
    agents.write_text(
        agents.read_text(encoding="utf-8").replace("log tokens", "log any tokens"), encoding="utf-8"
    )
    before = agents.read_bytes()
    found = publish(filled, names(filled), "agents")
    assert any("conflicts" in note for note in found.notes)
    assert agents.read_bytes() == before


def test_an_unknown_target_is_named(filled: RuleStore) -> None:
    """The error lists what there is."""
    with pytest.raises(UsageError, match="nothing exports to 'emacs'"):
        publish(filled, names(filled), "emacs")
