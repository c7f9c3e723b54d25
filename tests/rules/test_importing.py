"""Rule files become rules, context and warnings; nothing is lost, and a second import changes nothing."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from workbench.errors import ParseError
from workbench.records.rules import Activation, Authority, Level
from workbench.rules.reading.discovery import RuleSource
from workbench.rules.reading.imports import RuleImport, import_rules
from workbench.text.sanitize import safe_lines

Import = Callable[..., RuleImport]

GUIDE = """# Guide

This project bills customers.

## Testing
- Always run `make check` before a push.
- Prefer fixtures over set-up code.

## Do not
- Edit generated files

## Releases
Before every release:
1. Tag the commit.
2. Write the notes.
"""


def test_a_plain_guide(imported: Import) -> None:
    """Sections and leads become conditions, prohibiting headings part of the rule, prose context."""
    result = imported({"CLAUDE.md": GUIDE})
    assert [rule.rule for rule in result.rules] == [
        "Always run `make check` before a push.",
        "Prefer fixtures over set-up code.",
        "Do not: Edit generated files",
        "Tag the commit.",
        "Write the notes.",
    ]
    first = result.rules[0]
    assert first.authority is Authority.ABSOLUTE
    assert first.condition_text == "Guide > Testing"
    assert first.action_text == "Always run make check before a push."
    assert first.project_id == "p"
    assert first.source == "import:claude"
    assert first.level is Level.GLOBAL
    assert first.token_cost > 0
    assert {"workflow:test", "priority:important"} <= set(first.tags)
    assert "Before every release" in result.rules[3].condition_text
    assert "This project bills customers." in [context.text for context in result.contexts]
    assert result.warnings == ()


def test_provenance_points_at_the_text(imported: Import) -> None:
    """A rule's lines in the file hold its words."""
    lines = GUIDE.split("\n")
    for rule in imported({"CLAUDE.md": GUIDE}).rules:
        where = rule.provenance
        assert where is not None
        assert where.file == "CLAUDE.md"
        shown = "\n".join(lines[where.line - 1 : where.end_line])
        assert rule.rule.removeprefix("Do not: ") in shown


def test_globs_become_scope(imported: Import) -> None:
    """Globs limit the rules, anchored at a nested file's directory; its description is a condition."""
    text = "---\ndescription: Python style\nglobs: *.py,**/x.{a,b}\nalwaysApply: false\n---\n- Use tabs."
    result = imported(
        {".cursor/rules/py.mdc": text, "pkg/.cursor/rules/py.mdc": text, "pkg/AGENTS.md": "Use y."}
    )
    scopes = {rule.provenance.file: rule.scope for rule in result.rules if rule.provenance}
    assert scopes == {
        ".cursor/rules/py.mdc": ("path:*.py", "path:**/x.{a,b}"),
        "pkg/.cursor/rules/py.mdc": ("path:/pkg/**/*.py", "path:/pkg/**/x.{a,b}"),
        "pkg/AGENTS.md": ("path:/pkg/",),
    }
    first = result.rules[0]
    assert first.level is Level.SCENARIO
    assert first.provenance is not None
    assert first.provenance.activation is Activation.PATHS
    assert first.provenance.line == 6
    assert first.condition_text.startswith("Python style; files *.py")
    assert "language:python" in first.tags


def test_unknown_keys_are_kept(imported: Import) -> None:
    """Front matter that a format doesn't define stays with the rule, and the head itself is context."""
    text = "---\napplyTo: '**/*.py'\nexcludeAgent: [a, b]\n---\nUse tabs."
    result = imported({".github/instructions/py.instructions.md": text})
    assert result.rules[0].metadata["front_matter"] == {"excludeAgent": ["a", "b"]}
    assert result.contexts[0].kind == "front matter"
    assert (result.contexts[0].provenance.line, result.contexts[0].provenance.end_line) == (1, 4)


def test_broken_front_matter_costs_a_warning(imported: Import) -> None:
    """The warning names file and line, and the body is imported."""
    result = imported({".cursor/rules/a.mdc": "---\nglobs: *.py\n- Use tabs.\n"})
    assert [(w.file, w.line) for w in result.warnings] == [(".cursor/rules/a.mdc", 1)]
    assert "Use tabs." in [rule.rule for rule in result.rules]


def test_ids_are_stable_and_unique(imported: Import) -> None:
    """White space, case and place don't change an id; equal texts have two; the file counts."""
    first = imported({"CLAUDE.md": "- Use tabs.\n- Use tabs.\n- Run tests."}).rules
    second = imported({"CLAUDE.md": "# Title\n\n* use   tabs.\n\n* Run tests.\n* Use tabs."}).rules
    assert {rule.id for rule in first} == {rule.id for rule in second}
    assert len({rule.id for rule in first}) == 3
    other = imported({"AGENTS.md": "- Use tabs."}).rules
    assert other[0].id not in {rule.id for rule in first}


def test_home_rules_belong_to_nobody() -> None:
    """Rules of the user's home have no project and keep their ids in every project."""
    source = RuleSource("~/.claude/CLAUDE.md", "claude", "x", home=True)
    one = import_rules([source], lambda _: b"Use tabs.", project_id="one").rules[0]
    two = import_rules([source], lambda _: b"Use tabs.", project_id="two").rules[0]
    assert one.id == two.id
    assert one.project_id is None
    assert one.provenance is not None
    assert one.provenance.home


def test_identical_copies_are_one(imported: Import) -> None:
    """AGENTS.md with the same bytes as CLAUDE.md gives its rules once, with both names."""
    result = imported({"AGENTS.md": "Use tabs.", "CLAUDE.md": "Use tabs.", "pkg/CLAUDE.md": "Use tabs."})
    assert [(rule.provenance.file, rule.provenance.names) for rule in result.rules if rule.provenance] == [
        ("AGENTS.md", ("CLAUDE.md",)),
        ("pkg/CLAUDE.md", ()),
    ]


def test_imports_are_followed_one_level(imported: Import) -> None:
    """`@file.md` in CLAUDE.md pulls a file in, not what that one names, nothing outside, none in code."""
    files = {
        "CLAUDE.md": "See @docs/style.md and @AGENTS.md, not `@docs/code.md`.\n"
        "@../up.md @~/x.md @user @docs/gone.md",
        "AGENTS.md": "Use tabs.",
    }
    more = {"docs/style.md": b"Use spaces.\n@docs/deeper.md", "docs/deeper.md": b"Never reached."}
    sources = [RuleSource(path, "claude" if path == "CLAUDE.md" else "agents", path) for path in files]

    def read(source: RuleSource) -> bytes:
        if source.path in files:
            return files[source.path].encode()
        if source.path in more:
            assert source.inside == "/root"
            return more[source.path]
        raise FileNotFoundError(2, "No such file")

    result = import_rules(sources, read, project_root="/root")
    assert [rule.rule for rule in result.rules] == ["Use tabs.", "Use spaces."]
    assert [(line.target, line.followed) for line in result.imports] == [
        ("docs/style.md", True),
        ("AGENTS.md", True),
        ("../up.md", False),
        ("~/x.md", False),
        ("docs/gone.md", True),
    ]
    assert result.unreadable == ("docs/gone.md",)


def test_unreadable_files_cost_a_warning() -> None:
    """One bad file doesn't cost the others."""
    sources = [RuleSource(name, "agents", name) for name in ("a", "b", "c")]

    def read(source: RuleSource) -> bytes:
        if source.path == "a":
            raise PermissionError(13, "Permission denied")
        if source.path == "b":
            raise ParseError("is larger than 5 MB", path="b")
        return b"Use tabs."

    result = import_rules(sources, read)
    assert [(w.file, w.message) for w in result.warnings] == [
        ("a", "could not be read: Permission denied"),
        ("b", "is larger than 5 MB"),
    ]
    assert len(result.rules) == 1


def test_hostile_bytes_are_shown(imported: Import) -> None:
    """Terminal sequences, NUL, hidden direction marks and broken UTF-8 reach nobody, and are reported."""
    text = "- Use \x1b[31mred\x00 [/] ‮ marks.\n".encode() + b"- Use \xff bytes.\n"
    result = imported({"CLAUDE.md": text})
    joined = "".join(rule.rule for rule in result.rules)
    assert not set(joined) & {"\x1b", "\x00", "‮"}
    assert "[/]" in joined
    assert [w.line for w in result.warnings] == [2, 1]


def test_encodings_and_line_ends(imported: Import) -> None:
    """A mark at the start, Windows line ends and UTF-16 give the same rules at the same lines."""
    text = "# T\r\n\r\n- Use tabs.\r\n- Run é tests.\r\n"
    results = [
        imported({"CLAUDE.md": data}).rules
        for data in (
            text.encode(),
            b"\xef\xbb\xbf" + text.encode(),
            text.encode("utf-16"),
            text.replace("\r", ""),
        )
    ]
    assert all(result == results[0] for result in results)
    assert [rule.provenance.line for rule in results[0] if rule.provenance] == [3, 4]


def test_two_thousand_bullets(imported: Import) -> None:
    """Each of two thousand equal bullets is a rule with its own id."""
    result = imported({"CLAUDE.md": "- Use tabs.\n" * 2_000})
    assert len({rule.id for rule in result.rules}) == 2_000


def test_a_document_in_one_line_is_context(imported: Import) -> None:
    """A unit too long to be an instruction is kept as context."""
    result = imported({"CLAUDE.md": "Use tabs and " * 1000})
    assert result.rules == ()
    assert len(result.contexts) == 1


LINES = st.lists(
    st.sampled_from(
        [
            "",
            "# Rules",
            "- Use tabs.",
            "  - a",
            "Never do x.",
            "```",
            "| a | b |",
            "|--|--|",
            "Prose.",
            "@x.md",
        ]
    )
    | st.text(max_size=20),
    max_size=15,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(LINES)
def test_nothing_of_a_file_is_lost(imported: Import, texts: list[str]) -> None:
    """Every non-blank line lies in exactly one rule or piece of context."""
    data = "\n".join(texts).encode("utf-8", "replace")
    result = imported({"AGENTS.md": data})
    places = [rule.provenance for rule in result.rules] + [context.provenance for context in result.contexts]
    covered = [line for place in places if place for line in range(place.line, place.end_line + 1)]
    assert len(covered) == len(set(covered))
    assert {
        number for number, line in enumerate(safe_lines(data.decode("utf-8-sig")), 1) if line.strip()
    } <= set(covered)
