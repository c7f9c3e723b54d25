"""Rule files that a person names: what a path means, and an import that is one step."""

from __future__ import annotations

from pathlib import Path

import pytest

from workbench.errors import UsageError
from workbench.rules.curation.curator import Curator
from workbench.rules.curation.rulestore import RuleStore
from workbench.rules.files.named import import_named, named_files
from workbench.rules.rulebook import load_rulebook


def put(path: Path, text: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_a_file_is_taken_whatever_it_is_called(store: RuleStore, tmp_path: Path) -> None:
    """In the project by its path there, elsewhere by its absolute one; the format is found out."""
    inside = put(store.root / "docs/team.md", "- Use tabs.\n")
    outside = put(tmp_path / "x.mdc", "---\nglobs: *.ts,**/x\n---\n- Use tabs.\n")
    found = named_files(store.root, [str(inside), str(outside)])
    assert {(source.path, source.format) for source in found.sources} == {
        ("docs/team.md", "plain"),
        (outside.as_posix(), "cursor"),
    }


def test_of_a_directory_rule_files_are_taken(tmp_path: Path) -> None:
    """Known names and endings; other text only when all is asked for, and its count is told."""
    put(tmp_path / "d/a.mdc", "- Use tabs.")
    put(tmp_path / "d/b.instructions.md", "- Use tabs.")
    put(tmp_path / "d/CLAUDE.md", "- Use tabs.")
    put(tmp_path / "d/notes.md", "- Use tabs.")
    put(tmp_path / "d/code.py", "x = 1")
    found = named_files(tmp_path, [str(tmp_path / "d")])
    assert [source.path for source in found.sources] == ["d/CLAUDE.md", "d/a.mdc", "d/b.instructions.md"]
    assert found.left == 1
    assert len(named_files(tmp_path, [str(tmp_path / "d")], every=True).sources) == 4


def test_what_is_no_rule_file_is_refused_and_the_rest_taken(tmp_path: Path) -> None:
    """Binary data, JSON and unreadable names cost a sentence each; a path that is not there is an error."""
    good = put(tmp_path / "good.md", "- Use tabs.")
    bad = [put(tmp_path / "x.md", b"\x89PNG" + bytes(200)), put(tmp_path / "y.txt", '{"a": 1}')]
    found = named_files(tmp_path, [str(good), *map(str, bad)])
    assert [source.path for source in found.sources] == ["good.md"]
    assert [reason.split(":")[0] for reason in found.refused] == [str(path) for path in bad]
    with pytest.raises(UsageError, match="does not exist"):
        named_files(tmp_path, [str(tmp_path / "nope.md")])


def test_a_named_file_stays_in_step(store: RuleStore) -> None:
    """Its rules are in force, follow the file, survive other imports, and go with undo."""
    path = put(store.root / "docs/team.md", "- Use tabs everywhere.\n- Never push on Fridays.\n")
    put(store.root / "CLAUDE.md", "- Run the tests.\n")
    sources = named_files(store.root, [str(path)]).sources
    assert import_named(store, sources, by="cli", dry_run=True).changed == 2
    assert [rule.rule for rule in load_rulebook(store, ["CLAUDE.md"]).rules] == ["Run the tests."]
    import_named(store, sources, by="cli")
    assert len(load_rulebook(store, ["CLAUDE.md"]).rules) == 3
    put(path, "- Use tabs nearly everywhere.\n- Never push on Fridays.\n")
    book = load_rulebook(store, ["CLAUDE.md"])
    assert sorted(rule.rule for rule in book.rules) == [
        "Never push on Fridays.",
        "Run the tests.",
        "Use tabs nearly everywhere.",
    ]
    put(path, "- Use tabs everywhere.\n- Never push on Fridays.\n")
    load_rulebook(store, ["CLAUDE.md"])
    Curator(store, "cli").undo()
    assert [rule.rule for rule in load_rulebook(store, ["CLAUDE.md"]).rules] == ["Run the tests."]


def test_importing_twice_changes_nothing(store: RuleStore, tmp_path: Path) -> None:
    """A file outside of the project is imported once and kept while it is away."""
    path = put(tmp_path / "elsewhere/rules.md", "- Use tabs.\n")
    sources = named_files(store.root, [str(path)]).sources
    import_named(store, sources, by="cli")
    assert import_named(store, sources, by="cli").changed == 0
    path.unlink()
    assert [rule.rule for rule in load_rulebook(store, []).rules] == ["Use tabs."]
