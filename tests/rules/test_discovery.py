"""Rule files are found where agents look for them, once each, and read with bounds."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from workbench.errors import ParseError
from workbench.rules.formats.families import family_of
from workbench.rules.reading.discovery import MAX_BYTES, RuleSource, discover, read_source

Maker = Callable[[dict[str, str]], Path]

EVERY_PLACE = {
    "CLAUDE.md": "claude",
    "CLAUDE.local.md": "claude",
    ".claude/CLAUDE.md": "claude",
    "AGENTS.md": "agents",
    "GEMINI.md": "gemini",
    ".cursorrules": "cursorrules",
    ".cursor/rules/style.mdc": "cursor",
    ".cursor/rules/deep/er/style.mdc": "cursor",
    ".github/copilot-instructions.md": "copilot",
    ".github/instructions/api/py.instructions.md": "copilot-instructions",
    ".windsurfrules": "windsurfrules",
    ".windsurf/rules/a.md": "windsurf",
    ".clinerules/a.md": "cline",
    ".claude/rules/sub/a.md": "claude-rules",
    ".kiro/steering/tech.md": "kiro",
}


def test_every_place_at_the_root(project: Maker) -> None:
    """All formats are found without a listing, so that ignored local rules count as well."""
    root = project({path: f"Use {path}." for path in EVERY_PLACE})
    found = discover(str(root))
    assert {source.path: source.format for source in found} == EVERY_PLACE
    assert [source.path for source in found] == sorted(EVERY_PLACE)


def test_nested_files_are_for_their_directory(project: Maker) -> None:
    """A listing brings in nested rule files, except those of other people's code."""
    files = {
        "pkg/a/AGENTS.md": "Use a.",
        "pkg/b/.cursor/rules/x.mdc": "Use b.",
        "node_modules/dep/CLAUDE.md": "Use c.",
        "vendor/dep/AGENTS.md": "Use d.",
        "docs/AGENTS.md.txt": "no",
        "src/main.py": "",
    }
    root = project(files)
    found = discover(str(root), None, [*files, "pkg/gone/AGENTS.md"])
    assert [(source.path, source.directory) for source in found] == [
        ("pkg/a/AGENTS.md", "pkg/a"),
        ("pkg/b/.cursor/rules/x.mdc", "pkg/b"),
    ]


def test_the_users_home(project: Maker, tmp_path: Path) -> None:
    """The user's own rules come first and are called by their place in the home."""
    home = tmp_path / "home"
    for path in (
        ".claude/CLAUDE.md",
        ".claude/rules/a.md",
        ".codex/AGENTS.md",
        ".gemini/GEMINI.md",
        "CLAUDE.md",
    ):
        (home / path).parent.mkdir(parents=True, exist_ok=True)
        (home / path).write_text(f"Use {path}.")
    root = project({"AGENTS.md": "Use tabs."})
    found = discover(str(root), str(home))
    assert [(source.path, source.home) for source in found] == [
        ("~/.claude/CLAUDE.md", True),
        ("~/.claude/rules/a.md", True),
        ("~/.codex/AGENTS.md", True),
        ("~/.gemini/GEMINI.md", True),
        ("AGENTS.md", False),
    ]


def test_links_to_one_file_are_one_source(project: Maker) -> None:
    """A symbolic link is another name of its file; dangling links and loops are nothing."""
    root = project({"AGENTS.md": "Use tabs."})
    os.symlink("AGENTS.md", root / "CLAUDE.md")
    os.symlink("nowhere.md", root / "GEMINI.md")
    os.symlink(".cursorrules", root / ".cursorrules")
    found = discover(str(root), None, ["AGENTS.md", "CLAUDE.md", "GEMINI.md"])
    assert [(source.path, source.names) for source in found] == [("AGENTS.md", ("CLAUDE.md",))]


def test_directories_and_pipes_are_no_rule_files(project: Maker) -> None:
    """A directory called CLAUDE.md and a pipe called AGENTS.md are passed over, not opened."""
    root = project({"CLAUDE.md/x": "y"})
    os.mkfifo(root / "AGENTS.md")
    assert discover(str(root), None, ["CLAUDE.md", "AGENTS.md"]) == ()
    with pytest.raises(ParseError, match="regular"):
        read_source(RuleSource("AGENTS.md", "agents", str(root / "AGENTS.md")))


def test_reading_is_bounded(project: Maker) -> None:
    """A file over the limit is refused with its size limit, a file of the limit is read."""
    root = project({})
    large = root / "CLAUDE.md"
    large.write_bytes(b"x" * MAX_BYTES)
    source = RuleSource("CLAUDE.md", "claude", str(large))
    assert len(read_source(source)) == MAX_BYTES
    large.write_bytes(b"x" * (MAX_BYTES + 1))
    with pytest.raises(ParseError, match="5 MB"):
        read_source(source)


def test_imported_files_stay_inside(project: Maker, tmp_path: Path) -> None:
    """A file pulled in by another must not lead out of the project through a link."""
    outside = tmp_path / "secret.md"
    outside.write_text("Use the secret.")
    root = project({"in.md": "Use in."})
    os.symlink(outside, root / "out.md")
    with pytest.raises(ParseError, match="out of the project"):
        read_source(RuleSource("out.md", "imported", str(root / "out.md"), inside=str(root)))
    assert read_source(RuleSource("in.md", "imported", str(root / "in.md"), inside=str(root))) == b"Use in."


def test_other_names_are_no_rule_files() -> None:
    """Only the known names count."""
    for path in (
        "README.md",
        "claude.md",
        "x/.cursor/rules/a.md",
        ".github/instructions/a.md",
        "MYCLAUDE.md",
    ):
        assert family_of(path) is None
