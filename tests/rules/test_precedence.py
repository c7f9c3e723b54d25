"""Each agent's order of rule files is the one it documents; hostile trees are bounded."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from workbench.errors import ParseError
from workbench.records.rules import Activation
from workbench.rules.formats.families import family_of
from workbench.rules.precedence.agents import PRECEDENCE
from workbench.rules.precedence.cases import AgentSettings, LoadCase
from workbench.rules.precedence.effective import LoadOrder, count_reports, load_order
from workbench.rules.precedence.tree import MOST_IMPORTED, RuleTree, rule_tree
from workbench.rules.reading.discovery import RuleSource

HOME = "/h/ann"


def tree_of(files: Mapping[str, str | bytes | Exception], links: Mapping[str, str] | None = None) -> RuleTree:
    """Return a tree of files by name; an exception is what reading the file raises."""
    sources = []
    for name in files:
        found = family_of(name.removeprefix("~/"))
        outside = ".claude/rules/" in name and name.startswith("/")
        copilot = name.startswith("~/.copilot/instructions/")
        format_ = (
            "claude-rules" if outside else "copilot-instructions" if copilot else found and found[0].name
        )
        if format_:
            directory = found[1] if found and not name.startswith("~") else ""
            names = tuple(link for link, target in (links or {}).items() if target == name)
            location = (links or {}).get(name, name)
            sources.append(RuleSource(name, format_, location, directory, name.startswith("~"), names))

    def read(source: RuleSource) -> bytes:
        content = files.get((links or {}).get(source.path, source.path))
        if content is None:
            raise FileNotFoundError(source.path)
        if isinstance(content, Exception):
            raise content
        return content.encode() if isinstance(content, str) else content

    return rule_tree("/h/ann/work", HOME, sources, read)


def ask(
    agent: str,
    files: Mapping[str, str | bytes | Exception],
    file: str = "src/api/app.py",
    cwd: str = "",
    settings: AgentSettings | None = None,
    above: tuple[str, ...] = (),
    links: Mapping[str, str] | None = None,
) -> LoadOrder:
    case = LoadCase(tree_of(files, links), file, cwd, above, settings or AgentSettings())
    return load_order(agent, case)


def names(order: LoadOrder, *when: Activation) -> list[str]:
    """Return the names of what is loaded, of some moments or of all."""
    return [one.name for one in order.loaded if not when or one.when in when]


def reasons(order: LoadOrder) -> dict[str, str]:
    """Return why each file is left out."""
    return {one.name: one.why for one in order.left_out}


def scoped(key: str, value: str) -> str:
    """Return a rule file with one field of front matter."""
    return f"---\n{key}: {value}\n---\n- Use it.\n"


def test_claude_reads_managed_user_root_to_start_then_what_the_file_brings() -> None:
    """The managed file is first, the closest last; nested files and `paths` come with the file."""
    files = {
        "/etc/claude-code/CLAUDE.md": "- Managed.",
        "~/.claude/CLAUDE.md": "- Mine.",
        "~/.claude/rules/all.md": "- Mine, too.",
        "~/.claude/rules/py.md": scoped("paths", '"**/*.py"'),
        "/h/CLAUDE.md": "- Above.",
        "/h/.claude/rules/above.md": "- Above, too.",
        "CLAUDE.md": "- Root.",
        ".claude/CLAUDE.md": "- Root, too.",
        ".claude/rules/a.md": "- Always.",
        ".claude/rules/go.md": scoped("paths", "'**/*.go'"),
        ".claude/rules/py.md": scoped("paths", "['src/**/*.py']"),
        ".claude/rules/other.md": scoped("globs", "web/**"),
        "CLAUDE.local.md": "- Local.",
        "src/CLAUDE.md": "- Src.",
        "src/.claude/rules/s.md": "- Src rules.",
        "src/api/CLAUDE.md": "- Api.",
        "docs/CLAUDE.md": "- Docs.",
        "AGENTS.md": "- Agents.",
        "src/AGENTS.md": "- Src agents.",
    }
    order = ask("claude", files, above=("/h", "/h/ann"))
    assert names(order, Activation.ALWAYS) == [
        "/etc/claude-code/CLAUDE.md",
        "~/.claude/CLAUDE.md",
        "~/.claude/rules/all.md",
        "/h/CLAUDE.md",
        "/h/.claude/rules/above.md",
        "CLAUDE.md",
        ".claude/CLAUDE.md",
        ".claude/rules/a.md",
        ".claude/rules/other.md",
        "CLAUDE.local.md",
    ]
    assert names(order, Activation.PATHS) == [
        "src/CLAUDE.md",
        "src/api/CLAUDE.md",
        ".claude/rules/py.md",
        "src/.claude/rules/s.md",
    ]
    assert reasons(order) == {
        "~/.claude/rules/py.md": "`paths` in the user's own rules keeps them from being loaded at all",
        ".claude/rules/go.md": "its paths are **/*.go",
        "AGENTS.md": "there is a CLAUDE.md, and AGENTS.md is read only where there is none",
        "src/AGENTS.md": "there is a CLAUDE.md, and AGENTS.md is read only where there is none",
        "docs/CLAUDE.md": "it is for another directory than the file's, or than where the session starts",
    }
    started = ask("claude", files, cwd="src")
    assert names(started, Activation.ALWAYS)[-2:] == ["src/CLAUDE.md", "src/.claude/rules/s.md"]


def test_claude_reads_agents_files_where_there_is_no_claude_file() -> None:
    """Since 2.1.277; the option decides otherwise, and excluded files are left out."""
    files = {"AGENTS.md": "- Root.", "src/AGENTS.md": "- Src.", "src/api/CLAUDE.md": "- Api."}
    assert names(ask("claude", files)) == ["AGENTS.md", "src/AGENTS.md", "src/api/CLAUDE.md"]
    alone = AgentSettings(instructions="claude-md")
    assert names(ask("claude", files, settings=alone)) == ["src/api/CLAUDE.md"]
    both = AgentSettings(instructions="claude-md-and-agents-md")
    assert names(ask("claude", {**files, "CLAUDE.md": "- C."}, settings=both))[:2] == [
        "CLAUDE.md",
        "AGENTS.md",
    ]
    without = AgentSettings(excluded=("**/src/AGENTS.md",), instructions="claude-md-or-agents-md")
    assert reasons(ask("claude", files, settings=without)) == {
        "src/AGENTS.md": "claudeMdExcludes in its settings names it"
    }
    managed = AgentSettings(instructions="managed-only")
    assert names(ask("claude", {**files, "/etc/claude-code/CLAUDE.md": "- M."}, settings=managed)) == [
        "/etc/claude-code/CLAUDE.md"
    ]


def test_imports_are_followed_in_their_place_without_leaving_the_project() -> None:
    """Cycles end, missing files and files outside are named, code does not import, depth is bounded."""
    files: dict[str, str | bytes | Exception] = {
        "CLAUDE.md": "- Read @docs/a.md and `@docs/code.md`, ask @one.\n\n- @../out.md @~/own.md @gone.md",
        "docs/a.md": "- Back to @../CLAUDE.md, on to @b.md @LICENSE",
        "docs/b.md": b"\0\1binary",
        "docs/LICENSE": "Text.",
        "AGENTS.md": "- Beside.",
    }
    order = ask("claude", files)
    assert [(one.name, one.via) for one in order.loaded] == [
        ("CLAUDE.md", ""),
        ("docs/a.md", "CLAUDE.md"),
        ("docs/LICENSE", "docs/a.md"),
    ]
    left = reasons(order)
    assert left["docs/b.md"] == "it is imported by docs/a.md:1, and is not text"
    assert left["gone.md"] == "it is imported by CLAUDE.md:3, and is not there"
    assert left["../out.md"].endswith("is outside, and read only once the agent was allowed to")
    assert left["~/own.md"] == left["../out.md"]
    chain: dict[str, str | bytes | Exception] = {f"d{at}.md": f"- Next: @d{at + 1}.md" for at in range(9)}
    deep = ask("claude", {"CLAUDE.md": "- Begin: @d0.md", **chain})
    assert names(deep)[-1] == "d4.md"
    assert "deeper than 5" in reasons(deep)["d5.md"]
    many: dict[str, str | bytes | Exception] = {f"m{at}.md": "- Text." for at in range(MOST_IMPORTED + 3)}
    wide = ask("claude", {"CLAUDE.md": "- All: " + " ".join(f"@{name}" for name in many), **many})
    assert len(wide.loaded) == MOST_IMPORTED + 1
    assert names(ask("codex", files)) == ["AGENTS.md"], "Codex imports nothing"


def test_codex_takes_one_file_a_directory_up_to_its_limit() -> None:
    """The override comes first, fallbacks last, empty files do not count; what is too much is cut."""
    files = {
        "~/.codex/AGENTS.override.md": " \n",
        "~/.codex/AGENTS.md": "- Mine.",
        "AGENTS.md": "- Root.",
        "AGENTS.override.md": "- Override.",
        "src/TEAM.md": "- Team.",
        "src/api/AGENTS.md": "- Api.",
    }
    order = ask("codex", files, cwd="src", settings=AgentSettings(fallbacks=("TEAM.md",)))
    assert names(order) == ["~/.codex/AGENTS.md", "AGENTS.override.md", "src/TEAM.md"]
    assert reasons(order) == {
        "AGENTS.md": "AGENTS.override.md is read in its place",
        "src/api/AGENTS.md": "it is loaded only by a session that starts in there",
    }
    short = ask("codex", files, cwd="src/api", settings=AgentSettings(most_bytes=5))
    assert [(one.name, one.text, one.cut) for one in short.loaded[1:]] == [
        ("AGENTS.override.md", "- Ove", True)
    ]
    assert reasons(short)["src/api/AGENTS.md"] == "those before it have all of the 5 bytes it takes"


def test_cursor_goes_by_the_kind_of_each_rule() -> None:
    """Always, globs, described, named; nested rules with their files; AGENTS.md beside them."""
    files = {
        ".cursor/rules/always.mdc": "---\nglobs: *.go\nalwaysApply: true\n---\n- Always.",
        ".cursor/rules/go.mdc": scoped("globs", "*.go"),
        ".cursor/rules/named.mdc": scoped("alwaysApply", "false"),
        ".cursor/rules/py.mdc": scoped("globs", "*.py,*.pyi"),
        ".cursor/rules/sql.mdc": scoped("description", "queries"),
        "src/.cursor/rules/src.mdc": "---\nalwaysApply: true\n---\n- In src.",
        "web/.cursor/rules/web.mdc": "---\nalwaysApply: true\n---\n- In web.",
        "AGENTS.md": "- Root.",
        "src/AGENTS.md": "- Src.",
        ".cursorrules": "- Old.",
    }
    order = ask("cursor", files)
    assert [(one.name, str(one.when)) for one in order.loaded] == [
        (".cursor/rules/always.mdc", "always"),
        ("src/.cursor/rules/src.mdc", "paths"),
        (".cursor/rules/py.mdc", "paths"),
        (".cursor/rules/sql.mdc", "requested"),
        (".cursor/rules/named.mdc", "manual"),
        ("AGENTS.md", "always"),
        ("src/AGENTS.md", "paths"),
        (".cursorrules", "always"),
    ]
    assert reasons(order)[".cursor/rules/go.mdc"] == "its globs are *.go"
    assert "another directory" in reasons(order)["web/.cursor/rules/web.mdc"]


def test_copilot_reads_all_conventions_once() -> None:
    """The user's, the root's, then by applyTo, then nested; a copy of what was read is left out."""
    files = {
        "~/.copilot/copilot-instructions.md": "- Mine.",
        "~/.copilot/instructions/py.instructions.md": scoped("applyTo", "'**/*.py'"),
        ".github/copilot-instructions.md": "- Repository.",
        ".github/instructions/go.instructions.md": scoped("applyTo", "'**/*.go'"),
        ".github/instructions/py.instructions.md": "---\napplyTo: '**/*.py'\n---\n- Project's.",
        ".github/instructions/sql.instructions.md": scoped("description", "queries"),
        "AGENTS.md": "- Agents.",
        "CLAUDE.md": "- Agents.",
        "GEMINI.md": "- Gemini.",
        "src/AGENTS.md": "- Src.",
    }
    order = ask("copilot", files)
    assert names(order) == [
        "~/.copilot/copilot-instructions.md",
        ".github/copilot-instructions.md",
        "AGENTS.md",
        "GEMINI.md",
        ".github/instructions/py.instructions.md",
        ".github/instructions/sql.instructions.md",
        "~/.copilot/instructions/py.instructions.md",
        "src/AGENTS.md",
    ]
    assert reasons(order) == {
        ".github/instructions/go.instructions.md": "its applyTo is **/*.go",
        "CLAUDE.md": "it says the same as AGENTS.md",
    }


def test_gemini_reads_from_the_root_down_and_imports_texts() -> None:
    """Its settings name other files; an import of anything but a text is no import."""
    files = {
        "~/.gemini/GEMINI.md": "- Mine.",
        "GEMINI.md": "- Root, with @docs/more.md and @LICENSE.",
        "docs/more.md": "- More.",
        "LICENSE": "Text.",
        "src/GEMINI.md": "- Src.",
        "AGENTS.md": "- Agents.",
    }
    assert names(ask("gemini", files)) == [
        "~/.gemini/GEMINI.md",
        "GEMINI.md",
        "docs/more.md",
        "src/GEMINI.md",
    ]
    named = AgentSettings(names=("AGENTS.md", "GEMINI.md"))
    assert names(ask("gemini", files, settings=named))[1:3] == ["AGENTS.md", "GEMINI.md"]


@pytest.mark.parametrize("agent", list(PRECEDENCE))
def test_what_cannot_be_read_is_named(agent: str) -> None:
    """A pipe, a link out, no right to read and bytes: each with its reason, nothing raised."""
    files: dict[str, str | bytes | Exception] = {
        "AGENTS.md": ParseError("is not regular", path="AGENTS.md"),
        "CLAUDE.md": "---\npaths: [\n- Never closed",
        "GEMINI.md": PermissionError(13, "Permission denied"),
        ".cursor/rules/x.mdc": b"\0" * 99,
    }
    order = ask(agent, files, file="a\nb.py", links={".claude/CLAUDE.md": "CLAUDE.md"})
    left = reasons(order)
    assert left.get("AGENTS.md", "it is not regular") == "it is not regular"
    assert left.get("GEMINI.md", "") in ("", "it could not be read: Permission denied")
    assert left.get(".cursor/rules/x.mdc", "it is not text") == "it is not text"
    assert left or names(order)
    if agent == "claude":
        assert names(order) == ["CLAUDE.md"]
        assert left[".claude/CLAUDE.md"] == "it is the same file as CLAUDE.md"


def test_of_linked_files_the_one_read_at_the_start_counts() -> None:
    """A link below .cursor/rules, read if asked, does not stand for the AGENTS.md that is always read."""
    linked = {".cursor/rules/all.mdc": "AGENTS.md"}
    order = ask(
        "cursor", {"AGENTS.md": "- Always test.", ".cursor/rules/all.mdc": "- Always test."}, links=linked
    )
    assert [(file.name, file.when) for file in order.loaded] == [("AGENTS.md", Activation.ALWAYS)]
    assert reasons(order)[".cursor/rules/all.mdc"].startswith("it is the same file as AGENTS.md")


def test_reports_are_counted_by_session() -> None:
    """A file counts once a session; what was loaded at a start and is not predicted is named."""
    events = [
        ("s1", "CLAUDE.md", "session_start"),
        ("s1", "CLAUDE.md", "compact"),
        ("s2", "CLAUDE.md", "session_start"),
        ("s2", "src/CLAUDE.md", "nested_traversal"),
        ("s2", "AGENTS.md", "session_start"),
    ]
    reports = count_reports(events)
    assert (reports.sessions, reports.files) == (2, {"AGENTS.md": 1, "CLAUDE.md": 2, "src/CLAUDE.md": 1})
    assert reports.unpredicted_files(ask("claude", {"CLAUDE.md": "- Root."})) == ("AGENTS.md",)
    assert count_reports([]).sessions == 0
