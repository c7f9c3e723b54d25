"""The format of a file follows from its path, name and head; what is not a rule file is refused by name."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.errors import ParseError
from workbench.rules.files.named import detect_format
from workbench.rules.formats.families import BY_NAME, family_of, reader_of

TABS = b"- Use tabs."


@pytest.mark.parametrize(
    ("path", "data", "expected"),
    [
        ("foo/bar.mdc", TABS, "cursor"),
        ("x.instructions.md", TABS, "copilot-instructions"),
        (".cursorrules", TABS, "cursorrules"),
        ("/abs/dir/.windsurfrules", TABS, "windsurfrules"),
        (".clinerules", TABS, "cline"),
        ("deep/AGENTS.md", TABS, "agents"),
        ("CLAUDE.local.md", TABS, "claude"),
        ("a/.claude/rules/x/y.md", TABS, "claude-rules"),
        ("docs/README.md", TABS, "plain"),
        ("rules.txt", TABS, "plain"),
        ("RULES", TABS, "plain"),
        ("a.md", b"---\nalwaysApply: true\n---\n", "cursor"),
        ("a.md", b"---\napplyTo: '**'\n---\n", "copilot-instructions"),
        ("a.md", b"---\ntrigger: glob\nglobs: *.ts\n---\n", "windsurf"),
        ("a.md", b"---\ninclusion: always\n---\n", "kiro"),
        ("a.md", b"---\nglobs: *.ts\n---\n", "cursor"),
        ("a.md", b"---\npaths: [a]\n---\n", "claude-rules"),
        ("a.md", b"---\ntitle: x\n---\n", "plain"),
        ("a.md", "\ufeff- Use tabs.".encode("utf-16"), "plain"),
        ("a.md", b"[a](b) and {c}", "plain"),
        ("a.md", b"", "plain"),
    ],
)
def test_formats(path: str, data: bytes, expected: str) -> None:
    """The path decides, then the name, then the keys of the front matter."""
    assert detect_format(path, data) == expected


@pytest.mark.parametrize(
    ("path", "data", "words"),
    [
        ("a.md", b"\x89PNG\r\n\x1a\n", "not a text file"),
        ("AGENTS.md", bytes(range(32)) * 20, "not a text file"),
        ("package.json", b"{}", ".json"),
        ("main.py", b"x = 1", ".py"),
        ("rules.txt", b' {"rules": [1]}\n', "JSON"),
    ],
)
def test_what_is_no_rule_file_is_refused(path: str, data: bytes, words: str) -> None:
    """Binary files, source code and JSON are named with the reason and a next step."""
    with pytest.raises(ParseError) as caught:
        detect_format(path, data)
    assert caught.value.path == path
    assert words in caught.value.message
    assert caught.value.hint


def test_a_control_character_or_two_is_still_text() -> None:
    """Text with colours or a stray NUL is imported and warned about, not refused."""
    assert detect_format("AGENTS.md", b"- Use \x1b[31mtabs\x1b[0m.\x00\n" + TABS) == "agents"


@given(st.text(max_size=20), st.binary(max_size=60))
def test_any_file_has_a_format_or_a_reason(path: str, data: bytes) -> None:
    """Nothing but a ParseError comes out, and every name given has a reader."""
    reason = ""
    found = "plain"
    try:
        found = detect_format(path, data)
    except ParseError as error:
        reason = error.hint or "none"
    assert reason != "none"
    assert found == "plain" or found in BY_NAME
    assert callable(reader_of(found, path))


def test_the_directory_that_rules_are_for() -> None:
    """A file in an agent's own folder is for the directory that folder stands in."""
    found = {
        path: match[1]
        for path in (".claude/CLAUDE.md", "a/.claude/CLAUDE.md", "a/b/AGENTS.md", "m/.cursor/rules/x/y.mdc")
        if (match := family_of(path))
    }
    assert found == {
        ".claude/CLAUDE.md": "",
        "a/.claude/CLAUDE.md": "a",
        "a/b/AGENTS.md": "a/b",
        "m/.cursor/rules/x/y.mdc": "m",
    }
