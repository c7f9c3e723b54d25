"""Rules changed through the program: added, edited, switched, removed, and what happens to bad input."""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from workbench.entry.cli import exits

Run = Callable[..., Any]


def texts(run: Run) -> list[str]:
    return sorted(rule["rule"] for rule in run("rules", "list", "--json").json()["rules"])


def added(run: Run, *arguments: str, given: bytes = b"") -> dict[str, Any]:
    done = run("rules", "add", *arguments, "--json", given=given)
    assert done.code == exits.OK, done.err
    rules: list[dict[str, Any]] = done.json()["rules"]
    return rules[-1]


def test_a_rule_is_added_with_every_field(empty: Any, run: Run) -> None:
    """What is said is recorded; what is not has its default; nothing is indexed."""
    rule = added(
        run,
        "Use",
        "**tabs**.",
        *("--scope", "path:src/**/*.go", "--scope", "git", "--category", "Preference"),
        *("--authority", "absolute", "--priority", "80", "--tag", "language:go", "--tool", "claude"),
        *("--condition", "Go code", "--when", "os=linux", "--when", "os=mac", "--when", "ci=1"),
        *("--example", "indent this", "--cooldown", "60", "--reason", "gofmt"),
        *("--check", '{"command": "git push --force", "decision": "deny"}'),
    )
    expected = {
        "rule": "Use **tabs**.",
        "name": "Use tabs",
        "scope": ["path:src/**/*.go", "git"],
        "category": "preference",
        "authority": "absolute",
        "priority": 80,
        "tags": ["language:go"],
        "tool_targets": ["claude"],
        "condition_text": "Go code",
        "conditions": {"os": ["linux", "mac"], "ci": "1"},
        "examples": ["indent this"],
        "cooldown": 60,
        "level": "scenario",
        "source": "user",
        "version": 1,
    }
    assert {name: rule[name] for name in expected} == expected
    assert rule["project_id"] is not None
    assert rule["check"]["decision"] == "deny"
    shown = run("rules", "show", rule["id"])
    assert "when        ci=1, os=['linux', 'mac']" in shown.out
    assert not list((empty.root / ".workbench").glob("index/project-*"))


def test_text_from_stdin_and_a_rule_of_ones_own(empty: Any, run: Run, home: Path) -> None:
    """Line ends become line feeds, a byte order mark goes; the person's own rule is in the home's journal."""
    rule = added(run, "-", "--home", given="\ufeffUse tabs.\r\nAlways.\n".encode())
    assert (rule["rule"], rule["project_id"]) == ("Use tabs.\nAlways.", None)
    assert "Use tabs." in (home / "journal" / "rules.jsonl").read_text()
    assert "your own" in run("rules", "list").out
    assert run("rules", "add", "-", given=b"\xff\xfe").code == exits.USAGE
    assert run("rules", "add", "--stdin", "words", given=b"x").code == exits.USAGE


@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        ((), "rule is empty", "workbench rules add"),
        (("-",), "rule is empty", "workbench rules add"),
        (("x", "--priority", "101"), "priority is a whole number from 0 to 100", ""),
        (("x", "--priority", "high"), "not 'high'", ""),
        (("x", "--category", "behaviour"), "category is one of", "Did you mean behavior?"),
        (("x", "--authority", "absolut"), "authority is one of", "Did you mean absolute?"),
        (("x", "--level", "nowhere"), "level is one of", ""),
        (("x", "--tag", "laguage:python"), "laguage is not a category", "Did you mean language:python?"),
        (("x", "--scope", "src/**"), "'src/**' is not a context name", "Did you mean path:src/**?"),
        (("x", "--scope", "path:"), "path: needs a glob", "path:src/**/*.py"),
        (("x", "--tool", " "), "tool_targets has an empty entry", "Leave it out."),
        (("x", "--when", "linux"), "'linux' is not a condition", "NAME=VALUE"),
        (("x", "--cooldown", "-1"), "cooldown is a whole number", ""),
        (("x", "--check", "{"), "the check is not JSON", ""),
        (("x", "--check", '{"comand": "x"}'), "a check has no 'comand'", "Did you mean command?"),
        (("y" * 9000,), "rule has 9,000 characters", "Split it"),
        (("x", "--file", "notes.txt"), "notes.txt is not a rule file", "workbench rules import"),
        (("x", "--file", "../CLAUDE.md"), "is outside of the project", "Name a file below it."),
        (("x", "--file", "CLAUDE.md", "--home", "--json-lines", "f"), "from the file alone", ""),
    ],
)
def test_bad_values_are_refused(empty: Any, run: Run, arguments: Any, message: str, hint: str) -> None:
    """With what is wrong and what was meant; nothing is recorded."""
    done = run("rules", "add", *arguments)
    assert (done.code, done.out) == (exits.USAGE, "")
    assert message in done.err
    assert hint in done.err
    assert texts(run) == []


def test_an_absolute_rule_without_a_check_says_so(empty: Any, run: Run, monkeypatch: Any) -> None:
    """With the command that accepts the check its words ask for, wherever a rule becomes absolute."""
    done = run("rules", "add", "Never run git push --force.", "--authority", "absolute", "--json")
    assert "no hook enforces rule-" in done.err
    [accept] = re.findall(r"workbench (rules edit .*)", done.err)
    call = ("rules", "check", "--tool", "Bash", "--input", '{"command": "git push --force"}')
    assert run(*call).out.startswith("allow")
    accepted = run(*shlex.split(accept))
    assert (accepted.code, "no hook" in accepted.err) == (exits.OK, False)
    assert run(*call).out.startswith("deny")
    assert "--check gives it one" in run("rules", "add", "Never be rude.", "--authority", "absolute").err
    plain = run("rules", "add", "Never run `rm -rf /`.", "--json")
    assert "no hook" not in plain.err
    edited = run("rules", "edit", plain.json()["rules"][0]["id"], "--authority", "absolute")
    assert "This accepts what its words ask for" in edited.err
    lines = (
        b'{"rule": "Never do a.", "authority": "absolute"}\n{"rule": "Never do b.", "authority": "absolute"}'
    )
    assert "no hook enforces 2 of them" in run("rules", "add", "--json-lines", "-", given=lines).err


def test_an_odd_tag_is_pointed_out_and_kept(empty: Any, run: Run) -> None:
    """A value that looks misspelt may well be right."""
    done = run("rules", "add", "Use snakes.", "--tag", "language:pyhton")
    assert (done.code, "Did you mean language:python?" in done.err) == (exits.OK, True)


def test_the_same_rule_is_not_added_twice(empty: Any, run: Run) -> None:
    """The error names the one that is there."""
    rule = added(run, "Use tabs.")
    done = run("rules", "add", "use TABS.")
    assert (done.code, rule["id"] in done.err) == (exits.USAGE, True)


def test_a_rule_for_a_file(project: Any, run: Run) -> None:
    """It names its file, holds for the file's directory, and says that the file is out of date."""
    done = run("rules", "add", "Use tabs here.", "--file", "pkg/AGENTS.md")
    assert "pkg/AGENTS.md is out of date: `workbench rules drift`" in done.err
    rule = next(
        one for one in run("rules", "list", "--json").json()["rules"] if one["rule"] == "Use tabs here."
    )
    assert (rule["provenance"]["format"], rule["scope"]) == ("agents", ["path:/pkg/"])
    own = added(run, "Use tabs.", "--home", "--file", str(Path(os.environ["HOME"]) / ".claude/CLAUDE.md"))
    assert own["provenance"]["file"] == "~/.claude/CLAUDE.md"
    assert not (project.root / "pkg" / "AGENTS.md").exists()


def test_json_lines_are_added_in_one_step(empty: Any, run: Run, tmp_path: Path) -> None:
    """All fields by their names or short names; one undo takes them all back."""
    lines = [
        {"rule": "Use tabs.", "tags": ["language:go"], "priority": 60},
        {"text": "Use spaces.", "home": True, "when": {"os": ["linux", "mac"]}},
        {"rule": "Be kind.", "check": {"tools": ["Bash"]}, "enabled": False},
    ]
    file = tmp_path / "rules.jsonl"
    file.write_text("\n".join(map(json.dumps, lines)) + "\n\n")
    done = run("rules", "add", "--json-lines", str(file), "--json", "--reason", "wiki")
    assert [rule["rule"] for rule in done.json()["rules"]] == ["Use tabs.", "Use spaces.", "Be kind."]
    assert texts(run) == ["Be kind.", "Use spaces.", "Use tabs."]
    assert run("rules", "undo").out.startswith("undo: add 3 rules\n")
    assert texts(run) == []
    given = b'{"rule": "Use tabs."}\n'
    assert run("rules", "add", "--json-lines", "-", given=given).code == exits.OK


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"{", "not JSON"),
        (b"[1]", "not a JSON object"),
        (b"\xff", "not JSON"),
        (b'{"name": "x"}', "it has no rule"),
        (b'{"rule": 3}', "rule is a text, not 3"),
        (b'{"rule": "x", "priorty": 3}', "no field 'priorty'"),
        (b'{"rule": "x", "priority": 101}', "priority is a whole number"),
        (b'{"rule": "x", "priority": true}', "priority is a whole number"),
        (b'{"rule": "x", "tags": [3]}', "tags is a list of texts"),
        (b'{"rule": "x", "text": "y"}', "rule is given twice"),
        (b'{"rule": "x", "home": "yes"}', "home is true or false"),
        (b'{"rule": "x", "enabled": 1}', "enabled is true or false"),
        (b'{"rule": "x", "when": {"os": {}}}', "os is a text or a list"),
        (b'{"rule": "x", "check": 3}', "check is an object"),
        (b'{"rule": "x", "file": "/etc/CLAUDE.md"}', "is outside of the project"),
        (b'{"rule": "good ONE."}', "already there"),
        (b"[" * 100_000, "not JSON"),
    ],
)
def test_a_bad_line_stops_all(empty: Any, run: Run, tmp_path: Path, line: bytes, message: str) -> None:
    """The error names file and line, and no rule of the file is added."""
    file = tmp_path / "rules.jsonl"
    file.write_bytes(b'{"rule": "Good one."}\n' + line + b"\n")
    done = run("rules", "add", "--json-lines", str(file))
    assert done.code != exits.OK
    assert f"{file}:2: " in done.err
    assert message in done.err
    assert "defect" not in done.err
    assert texts(run) == []


def test_every_bad_line_is_told(empty: Any, run: Run, tmp_path: Path) -> None:
    """A person mends a file once; a file without rules is a mistake as well."""
    file = tmp_path / "rules.jsonl"
    file.write_text('{}\n{"rule": "x"}\n\nnot\n')
    done = run("rules", "add", "--json-lines", str(file))
    assert [f"{file}:{number}: " in done.err for number in (1, 2, 3, 4)] == [True, False, False, True]
    assert "2 of 3 lines are wrong" in done.err
    file.write_text("\n")
    assert "has no rules" in run("rules", "add", "--json-lines", str(file)).err
    assert run("rules", "add", "--json-lines", str(tmp_path / "none")).code == exits.ERROR


def test_an_edit_shows_what_changed(empty: Any, run: Run) -> None:
    """New words are a new version with the words that changed; other fields change in place."""
    first = added(run, "Use tabs.", "--tag", "language:go", "--scope", "git")
    done = run("rules", "edit", first["id"][:12], "--text", "Use spaces.", "--reason", "gofmt")
    second = run("rules", "list", "--json").json()["rules"][0]
    assert done.out.splitlines() == [
        f"{second['id']}  version 2 (was {first['id']})",
        "    text: Use [-tabs-]{+spaces+}.",
    ]
    done = run(
        *("rules", "edit", second["id"], "--priority", "70", "--add-tag", "tool:git"),
        *("--remove-tag", "language:go", "--clear", "scope", "--json"),
    )
    answer = done.json()
    assert (answer["rule"]["id"], answer["replaces"]) == (second["id"], None)
    assert answer["changed"] == {
        "scope": {"before": ["git"], "after": []},
        "priority": {"before": 50, "after": 70},
        "tags": {"before": ["language:go"], "after": ["tool:git"]},
    }
    plain = run("rules", "edit", second["id"], "--category", "agent", "--scope", "git")
    assert plain.out.splitlines()[1:] == ["    category: behavior -> agent", "    scope: none -> git"]
    assert run("rules", "edit", second["id"], "--text", "-", given=b"Use both.").code == exits.OK


def test_unknown_and_ambiguous_ids(empty: Any, run: Run) -> None:
    """Nothing is guessed; a rule that gave way names the one in its place."""
    first = added(run, "Use tabs.")
    added(run, "Use spaces.")
    assert "2 rules begin with 'rule-'" in run("rules", "edit", "rule-", "--priority", "1").err
    for verb in ("edit", "show", "disable", "remove", "history", "usage"):
        done = run("rules", verb, "rule-zzzz\x1b[31m")
        assert (done.code, done.out, "\x1b" in done.err) == (exits.USAGE, "", False)
    run("rules", "edit", first["id"], "--text", "Use two tabs.")
    done = run("rules", "edit", first["id"], "--priority", "1")
    assert (done.code, "superseded by" in done.err) == (exits.USAGE, True)
    assert run("rules", "edit", first["id"], "--clear", "scop").err.count("Did you mean scope?") == 0
    now = run("rules", "show", first["id"], "--json").json()
    assert (now["in_force"], now["successor"] is not None) == (False, True)
    assert "Did you mean scope?" in run("rules", "edit", now["successor"], "--clear", "scop").err


def test_rules_are_switched_and_removed_in_one_step(empty: Any, run: Run) -> None:
    """Several at once, once each; what is that way already is told."""
    ids = [added(run, text)["id"] for text in ("Use tabs.", "Run the tests.", "Be kind.")]
    done = run("rules", "disable", *ids[:2], ids[0], "--json")
    assert [rule["enabled"] for rule in done.json()["rules"]] == [False, False]
    assert [rule["id"] for rule in run("rules", "list", "--disabled", "--json").json()["rules"]] == sorted(
        ids[:2]
    )
    assert "1 of 2 rules are disabled already" in run("rules", "disable", *ids[1:]).err
    assert run("rules", "enable", *ids).err == ""
    removed = run("rules", "remove", ids[0], ids[1], "--reason", "outdated")
    assert len(removed.out.splitlines()) == 2
    assert texts(run) == ["Be kind."]
    assert run("rules", "undo").code == exits.OK
    assert len(texts(run)) == 3
    assert run("rules", "redo").code == exits.OK
    assert texts(run) == ["Be kind."]


def test_hostile_text_is_kept_and_shown_safely(empty: Any, run: Run) -> None:
    """Escape sequences, carriage returns and reordering marks stay in the rule and off the terminal."""
    hostile = "Use \x1b[31mred\r \u202e[bold]tabs[/bold] \x00 \udcff."
    rule = added(run, hostile, "--tag", "custom:odd", "--condition", "a\x1bb")
    assert rule["rule"] == hostile
    for arguments in (
        ("list",),
        ("show", rule["id"]),
        ("edit", rule["id"], "--priority", "3", "--name", "x\x1b]0;y\x07"),
        ("history",),
        ("history", rule["id"]),
        ("remove", rule["id"]),
        ("undo",),
    ):
        done = run("rules", *arguments)
        assert done.code == exits.OK, done.err
        assert not {"\x1b", "\r", "\u202e", "\x00", "\x07"} & set(done.out + done.err), arguments
    assert "[bold]tabs[/bold]" in run("rules", "list").out


@pytest.fixture
def editor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Set an editor that runs Python code on the file `path`."""

    def choose(code: str) -> None:
        script = tmp_path / "editor.py"
        script.write_text(f"import os, signal, sys\npath = sys.argv[1]\n{code}\n")
        monkeypatch.setenv("EDITOR", f"{sys.executable} {script}")
        monkeypatch.delenv("VISUAL", raising=False)

    return choose


def test_without_options_the_text_is_edited(empty: Any, run: Run, editor: Any) -> None:
    """What the editor leaves is the new version; nothing is left behind."""
    rule = added(run, "Use tabs.")
    editor(
        "text = open(path, 'rb').read()\n"
        "open(path, 'wb').write(text.replace(b'tabs.\\n', b'tabs.\\r\\nAlways.\\r\\n\\r\\n'))"
    )
    assert run("rules", "edit", rule["id"]).code == exits.OK
    assert texts(run) == ["Use tabs.\nAlways."]
    assert list((empty.root / ".workbench" / "drafts").iterdir()) == []


def test_what_others_decided_while_the_editor_was_open_is_not_overwritten(
    empty: Any, run: Run, editor: Any
) -> None:
    """The edit is refused, theirs holds, and what was written is kept for the next try."""
    rule = added(run, "Use tabs.")
    command = [sys.executable, "-m", "workbench", "rules", "edit", rule["id"], "--text", "Use spaces."]
    editor(
        "import subprocess\n"
        f"subprocess.run({command!r}, check=True, cwd={str(empty.root)!r}, stdout=subprocess.DEVNULL)\n"
        "open(path, 'w').write('Use two tabs.')"
    )
    done = run("rules", "edit", rule["id"])
    assert done.code == exits.USAGE
    assert "changed by somebody else meanwhile" in done.err
    assert texts(run) == ["Use spaces."]
    assert "kept in" in done.err


def test_an_editor_that_changes_nothing(empty: Any, run: Run, editor: Any) -> None:
    """Nothing is recorded, and that is no error."""
    rule = added(run, "Use tabs.")
    editor("")
    done = run("rules", "edit", rule["id"])
    assert (done.code, done.out) == (exits.OK, "")
    assert "nothing was changed" in done.err
    assert run("rules", "show", rule["id"], "--json").json()["version"] == 1


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("open(path, 'w').write('Use spaces.'); sys.exit(1)", exits.ERROR),
        ("open(path, 'w').write('Use spaces.'); os.kill(os.getpid(), signal.SIGINT)", exits.ERROR),
        (
            "open(path, 'w').write('Use spaces.'); os.kill(os.getppid(), signal.SIGINT); sys.exit(1)",
            exits.ERROR,
        ),
        ("open(path, 'wb').write(b'Use spaces.\\xff\\xff')", exits.USAGE),
        ("open(path, 'w').write('x' * 9000)", exits.USAGE),
    ],
)
def test_what_was_written_is_kept(empty: Any, run: Run, editor: Any, code: str, expected: int) -> None:
    """Ctrl-C, an editor that fails, a text that is refused: rule and draft stay; the next edit goes on."""
    rule = added(run, "Use tabs.")
    editor(code)
    done = run("rules", "edit", rule["id"])
    assert (done.code, "is kept in" in done.err) == (expected, True)
    assert texts(run) == ["Use tabs."]
    editor("assert b'Use tabs' not in open(path, 'rb').read(); open(path, 'w').write('Use both.')")
    again = run("rules", "edit", rule["id"])
    assert (again.code, "resuming" in again.err) == (exits.OK, True)
    assert texts(run) == ["Use both."]


def test_an_emptied_text_is_refused(empty: Any, run: Run, editor: Any) -> None:
    """An empty file says nothing, so nothing is kept of it."""
    rule = added(run, "Use tabs.")
    editor("open(path, 'w').close()")
    done = run("rules", "edit", rule["id"])
    assert (done.code, "rule is empty" in done.err, "kept" in done.err) == (exits.USAGE, True, False)
    assert list((empty.root / ".workbench" / "drafts").iterdir()) == []


def test_without_an_editor_nothing_hangs(empty: Any, run: Run, monkeypatch: Any) -> None:
    """In a pipe without $EDITOR the command says what is missing."""
    monkeypatch.delenv("EDITOR", raising=False)
    monkeypatch.delenv("VISUAL", raising=False)
    rule = added(run, "Use tabs.")
    done = run("rules", "edit", rule["id"])
    assert (done.code, "set $EDITOR" in done.err) == (exits.USAGE, True)
