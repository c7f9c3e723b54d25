"""Which files a call reads or changes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.records.episodes import ChangeKind
from workbench.sessions.importers.touches import Touch, absolute, shell_commands, staged_paths, touches
from workbench.sessions.importers.transcripts import ToolUse

CHANGED, ADDED, REMOVED = ChangeKind.MODIFIED, ChangeKind.ADDED, ChangeKind.REMOVED


def use(tool: str, cwd: str = "/p", /, **given: Any) -> ToolUse:
    return ToolUse("a", tool, given, "", "s", cwd, "claude")


def shell(command: str) -> list[tuple[str, str]]:
    """Return (path, kind) of what a shell line touches; `read` for reads."""
    return [
        (touch.path, touch.kind.value if touch.kind else "read")
        for touch in touches(use("Bash", command=command))
    ]


@pytest.mark.parametrize(
    ("call", "touch"),
    [
        (use("Read", file_path="/p/a.py"), Touch("/p/a.py")),
        (use("Read", file_path="a.py"), Touch("/p/a.py")),
        (
            use("Edit", file_path="/p/a.py", old_string="a\nb", new_string="c"),
            Touch("/p/a.py", CHANGED, 1, 2),
        ),
        (
            use("MultiEdit", file_path="/p/a.py", edits=[{"old_string": "a", "new_string": "b\nc\n"}, 3]),
            Touch("/p/a.py", CHANGED, 2, 1),
        ),
        (use("Write", file_path="/p/a.py", content="a\nb\n"), Touch("/p/a.py", CHANGED, 2)),
        (use("NotebookEdit", notebook_path="/p/a.ipynb", new_source="x"), Touch("/p/a.ipynb", CHANGED, 1)),
        (use("str_replace_based_edit_tool", command="view", path="/p/a.py"), Touch("/p/a.py")),
        (
            use("str_replace_based_edit_tool", command="create", path="/p/a.py", file_text="x"),
            Touch("/p/a.py", CHANGED, 1),
        ),
        (use("mcp__files__read_file", path="/p/a.py"), Touch("/p/a.py")),
        (use("Edit", "C:\\w", file_path="C:\\w\\b\\a.py"), Touch("C:/w/b/a.py", CHANGED)),
    ],
)
def test_tools_for_files_name_them(call: ToolUse, touch: Touch) -> None:
    """By the keys of their inputs, with lines counted."""
    assert (touch,) == touches(call)


@pytest.mark.parametrize(
    "call",
    [
        use("Grep", path="/p/a.py"),
        use("TodoWrite", todos=[]),
        use("Read"),
        use("Edit", file_path=3),
        use("Bash", command=["ls", 3]),
    ],
)
def test_other_calls_touch_nothing(call: ToolUse) -> None:
    """What only may read a file doesn't count, nor does a malformed input."""
    assert touches(call) == ()


def test_patches_are_read() -> None:
    """Files added, changed, moved and deleted, with their lines counted; as a tool and in a shell."""
    patch = (
        "*** Begin Patch\n*** Add File: new.py\n+a\n+b\n*** Update File: old.py\n*** Move to: b/moved.py\n"
        "@@\n-x\n+y\n"
        "*** Delete File: gone.py\n*** End Patch\n"
    )
    expected = (
        Touch("/p/new.py", ADDED, 2),
        Touch("/p/b/moved.py", CHANGED, 1, 1, "/p/old.py"),
        Touch("/p/gone.py", REMOVED),
    )
    assert expected == touches(use("apply_patch", input=patch))
    assert expected == touches(use("exec_command", cmd=f"apply_patch <<'EOF'\n{patch}EOF"))
    assert expected == touches(use("shell", command=["apply_patch", patch]))


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("cat src/a.py | head -30", [("/p/src/a.py", "read")]),
        ("sed -n '1,220p' package.json", [("/p/package.json", "read")]),
        ("sed -i 's/a.b/c/' src/x.ts", [("/p/src/x.ts", "modified")]),
        ("sed -i.bak -e 's/a/b/' Makefile", [("/p/Makefile", "modified")]),
        ("rg -n 'foo.bar' src/a.ts lib", [("/p/src/a.ts", "read")]),
        ("grep -rn x.y src/ --include '*.py'", []),
        ("cd web && cat b.css > ../out.txt", [("/p/out.txt", "modified"), ("/p/web/b.css", "read")]),
        ("cat <<'EOF' > src/n.py\nx\nEOF", [("/p/src/n.py", "modified")]),
        ("git mv a.py b/c.py", [("/p/b/c.py", "modified")]),
        ("git -C web rm -f x.py", [("/p/web/x.py", "removed")]),
        ("mv a.py pkg/", [("/p/pkg/a.py", "modified")]),
        ("cp a.py b.py", [("/p/a.py", "read"), ("/p/b.py", "modified")]),
        ("echo x | tee -a notes.md", [("/p/notes.md", "modified")]),
        ("cat *.py $FILE `ls a.py` > $OUT", []),
        ("pytest tests/test_a.py 2>/dev/null; ls a.py; echo a.py; git commit -m 'a.py'", []),
        ("head -n 5 README", [("/p/README", "read")]),
        ("cat .gitignore", [("/p/.gitignore", "read")]),
        ("bash -lc 'cat q.md'", [("/p/q.md", "read")]),
        ("cat 'unfinished", []),
    ],
)
def test_shell_lines_count_where_they_are_plain(command: str, expected: list[tuple[str, str]]) -> None:
    """Readers of files, redirections and moves; scripts, patterns and guesses don't count."""
    assert sorted(expected) == sorted(shell(command))


def test_renames_keep_the_old_name() -> None:
    """Of a moved file both names are known."""
    assert (Touch("/p/b.py", CHANGED, old_path="/p/a.py"),) == touches(
        use("Bash", command="git mv a.py b.py")
    )


def test_a_call_has_a_directory_of_its_own() -> None:
    """Codex' `workdir` counts before the session's."""
    assert (Touch("/q/a.md"),) == touches(use("exec_command", cmd="cat a.md", workdir="/q"))


def test_staged_files_are_those_named_one_by_one() -> None:
    """Not directories, and not everything."""
    commands, start = shell_commands(use("Bash", command="git add a.py web/b.css docs/ && git add -A ."))
    assert list(staged_paths(commands, start)) == ["/p/a.py", "/p/web/b.css"]


@given(st.text(max_size=60), st.text(max_size=20))
def test_any_input_is_read(text: str, path: str) -> None:
    """Whatever a model writes into a call, reading it ends with paths from a root."""
    for call in (
        use("Bash", command=text),
        use("Edit", file_path=path),
        use("apply_patch", input=f"*** Add File: {text}"),
    ):
        assert all("/./" not in touch.path for touch in touches(call))


@pytest.mark.parametrize(
    ("path", "cwd", "expected"),
    [
        ("a/../b", "/p", "/p/b"),
        ("../../..", "/p", "/"),
        ("./a", "", "a"),
        ("/x//y/", "/p", "/x/y"),
        ("~/a", "/p", "~/a"),
    ],
)
def test_paths_are_made_absolute(path: str, cwd: str, expected: str) -> None:
    """Without a directory they stay as they are."""
    assert expected == absolute(path, cwd)
