"""What was done to rules, taken back and done again, and what they were used for, through the program."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from workbench.entry.cli import exits, output
from workbench.entry.cli.arguments import moment
from workbench.errors import UsageError

Run = Callable[..., Any]


def added(run: Run, *arguments: str) -> str:
    identifier: str = run("rules", "add", *arguments, "--json").json()["rules"][0]["id"]
    return identifier


def reworded(run: Run, identifier: str, text: str, *arguments: str) -> str:
    after: str = run("rules", "edit", identifier, "--text", text, *arguments, "--json").json()["rule"]["id"]
    return after


def test_the_history_of_a_rule(empty: Any, run: Run) -> None:
    """Every version and change, oldest first, by any id of the rule, with who, why and which words."""
    first = added(run, "Use tabs.", "--reason", "start")
    second = reworded(run, first, "Use spaces.", "--reason", "gofmt")
    run("rules", "edit", second, "--priority", "70")
    lines = run("rules", "history", first[:13]).out.splitlines()
    assert [line.split()[2:] for line in lines[::2]] == [
        ["cli", "added", first[:13], "v1", "start"],
        ["cli", "reworded", second[:13], "v2", "gofmt"],
        ["cli", "changed", second[:13], "v2"],
    ]
    assert lines[1::2] == ["    Use tabs.", "    text: Use [-tabs-]{+spaces+}.", "    priority: 50 -> 70"]
    told = run("rules", "history", second, "--json").json()
    assert (told["versions"], told["standing"], told["total_count"]) == ([first, second], second, 3)
    assert told["changes"][1]["diff"] == "Use [-tabs-]{+spaces+}."
    assert told["changes"][2]["fields"] == {"priority": {"before": 50, "after": 70}}
    assert len(run("rules", "history", second, "--limit", "1", "--json").json()["changes"]) == 1


def test_a_check_is_shown_by_what_was_given(empty: Any, run: Run) -> None:
    """A check's other fields are left out, as they are where one is written."""
    rule = added(run, "Never force-push.", "--authority", "absolute")
    run("rules", "edit", rule, "--check", '{"command": "git push --force", "decision": "deny"}')
    last = run("rules", "history", rule).out.splitlines()[-1]
    assert last == "    check: none -> command=git push --force, decision=deny"


def test_the_newest_steps_come_first(project: Any, run: Run) -> None:
    """Imports and curation alike; what was undone says so; --limit bounds."""
    identifier = added(run, "Use tabs.")
    run("rules", "remove", identifier)
    run("rules", "undo")
    steps = run("rules", "history", "--json").json()
    assert [step["title"] for step in steps["steps"]] == [
        f"undo: remove {identifier[:13]}",
        f"remove {identifier[:13]}",
        f"add {identifier[:13]}",
        "import CLAUDE.md",
    ]
    assert [step["undone"] for step in steps["steps"]] == [False, True, False, False]
    assert [step["by"] for step in steps["steps"]] == ["cli", "cli", "cli", "import:rule-files"]
    shown = run("rules", "history", "--limit", "2")
    assert "1 restored" in shown.out.splitlines()[0]
    assert "the newest 2 of 4 steps" in shown.err
    assert run("rules", "history", "--limit", "0").code == exits.USAGE


def test_a_project_without_a_past(empty: Any, run: Run) -> None:
    """Every command says that there is nothing; undo and redo are mistakes then."""
    assert "no rule was changed yet" in run("rules", "history").err
    assert "no use was recorded" in run("rules", "usage").err
    assert "nothing to undo or redo" in run("rules", "undo", "--list").err
    for verb in ("undo", "redo"):
        done = run("rules", verb)
        assert (done.code, f"there is nothing to {verb}" in done.err) == (exits.USAGE, True)


def test_undo_and_redo_say_what_they_did(empty: Any, run: Run) -> None:
    """With the differences, and the stacks on demand."""
    first = added(run, "Use tabs.")
    second = reworded(run, first, "Use spaces.")
    done = run("rules", "undo", "--json").json()
    assert done["done"] == f"undo: edit {first[:13]}"
    assert [(one["what"], one["rule_id"]) for one in done["changes"]] == [("restored", first)]
    stacks = run("rules", "redo", "--list", "--json").json()
    assert [step["title"] for step in stacks["undo"]] == [f"add {first[:13]}"]
    assert [step["title"] for step in stacks["redo"]] == [f"edit {first[:13]}"]
    assert [line.split()[0] for line in run("rules", "undo", "--list").out.splitlines()] == ["undo", "redo"]
    again = run("rules", "redo").out.splitlines()
    assert (again[0], again[-1]) == (f"redo: edit {first[:13]}", "    text: Use [-tabs-]{+spaces+}.")
    assert run("rules", "show", second, "--json").json()["in_force"] is True


def test_undo_says_which_files_lag_behind(project: Any, run: Run) -> None:
    """What changed in place is in no file; what was written is undone in its file, and shown."""
    identifier = run("rules", "list", "--json").json()["rules"][0]["id"]
    run("rules", "edit", identifier, "--priority", "3")
    assert run("rules", "undo").err == ""
    assert "CLAUDE.md is out of date" in run("rules", "remove", identifier).err
    assert run("rules", "undo").err == ""
    assert "CLAUDE.md is out of date" in run("rules", "redo").err
    before = (project.root / "CLAUDE.md").read_bytes()
    run("rules", "drift", "--merge")
    undone = run("rules", "undo")
    assert (undone.err, (project.root / "CLAUDE.md").read_bytes()) == ("", before)
    assert "+++ b/CLAUDE.md" in undone.out
    again = run("rules", "redo", "--json").json()
    assert [(item["file"], item["refused"]) for item in again["written"]] == [("CLAUDE.md", [])]
    assert (project.root / "CLAUDE.md").read_bytes() != before


def test_a_step_that_was_built_upon_is_left_for_an_older_one(project: Any, run: Run) -> None:
    """The refusal names the file that changed since and the command that undoes the step before it."""
    rule = run("rules", "list", "--json").json()["rules"][0]
    run("rules", "edit", rule["id"], "--priority", "3")
    reworded(run, rule["id"], "Never log a token at all.")
    run("rules", "drift", "--merge")
    path = project.root / "CLAUDE.md"
    path.write_text(path.read_text("utf-8").replace("token at all", "token, ever"), "utf-8")
    refused = run("rules", "undo")
    assert refused.code == exits.USAGE
    assert "changed in CLAUDE.md" in refused.err
    step = refused.err.split("`workbench rules undo ")[1].split("`")[0]
    listed = run("rules", "undo", "--list").out.splitlines()
    assert listed[1].split()[:2] == ["undo", step]
    assert "was changed since" in run("rules", "undo", step).err
    assert "there is no step 123" in run("rules", "undo", "123").err


def test_words_that_a_file_cannot_hold_are_refused(project: Any, run: Run) -> None:
    """At once, with the reason and what to type instead; store and file stay in step."""
    identifier = run("rules", "list", "--json").json()["rules"][0]["id"]
    refused = run("rules", "edit", identifier, "--text", "The suite takes two minutes")
    assert refused.code == exits.USAGE
    assert "CLAUDE.md:" in refused.err
    assert "reads as no instruction" in refused.err
    assert "hint: Word it as an instruction" in refused.err
    assert "up to date" in run("rules", "drift").err


def test_use_is_recorded_and_counted(empty: Any, run: Run) -> None:
    """By tool and session; what an earlier version was used for counts for the rule in its place."""
    first, other = added(run, "Use tabs."), added(run, "Be kind.", "--home")
    noted = run(
        "rules", "usage", "--record", first[:12], other, "--session", "s1", "--tool", "claude", "--json"
    )
    assert noted.json() == {"recorded": 2}
    second = reworded(run, first, "Use spaces.")
    run("rules", "usage", "--record", second, "--session", "s2", "--tool", "codex")
    told = run("rules", "usage", "--json").json()
    assert (told["total_count"], told["uses"]) == (2, 3)
    assert told["rules"][0]["id"] == second
    assert told["rules"][0]["usage_count"] == 2
    assert told["rules"][0]["by_tool"] == {"claude": 1, "codex": 1}
    assert told["rules"][0]["by_session"] == {"s1": 1, "s2": 1}
    assert run("rules", "show", second, "--json").json()["usage_count"] == 2
    mine = run("rules", "usage", other)
    assert mine.out.split()[0] == "1"
    assert "claude 1 in 1 session" in mine.out
    assert "1 rule" in run("rules", "usage", "--record", other, "--session", "s", "--tool", "t").err


@pytest.mark.parametrize(
    "arguments",
    [
        ("--record",),
        ("--record", "--session", "s", "--tool", "t"),
        ("--session", "s"),
        ("--limit", "0"),
        ("rule-none",),
    ],
)
def test_usage_that_makes_no_sense(empty: Any, run: Run, arguments: tuple[str, ...]) -> None:
    """Nothing is recorded without rules, a session and a tool."""
    assert run("rules", "usage", *arguments).code == exits.USAGE


def test_filters_pages_and_totals(empty: Any, run: Run) -> None:
    """Each filter by itself; pages miss and repeat nothing."""
    ids = [
        added(run, "Use tabs.", "--authority", "absolute", "--tag", "language:go", "--scope", "path:**/*.go"),
        added(run, "Run the tests.", "--category", "agent", "--tool", "claude", "--priority", "90"),
        added(run, "Be kind.", "--home", "--scope", "git"),
    ]

    def listed(*arguments: str) -> list[int]:
        done = run("rules", "list", *arguments, "--json")
        return sorted(ids.index(rule["id"]) for rule in done.json()["rules"])

    assert listed("--authority", "absolute") == [0]
    assert listed("--category", "agent") == [1]
    assert listed("--tag", "language:go") == [0]
    assert listed("--tool", "codex") == [0, 2]
    assert listed("--scope", "path:cmd/main.go") == [0, 1]
    assert listed("--scope", "git") == [1, 2]
    seen: list[str] = []
    cursor: str | None = ""
    for _ in ids:
        more = ("--cursor", cursor) if cursor else ()
        page = run("rules", "list", "--limit", "1", *more, "--json").json()
        assert page["total_count"] == 3
        seen += [rule["id"] for rule in page["rules"]]
        cursor = page["next_cursor"]
    assert (seen, cursor) == (ids, None)
    assert "1 of 3 rules; go on with --cursor" in run("rules", "list", "--limit", "1").err
    own = str(Path.home() / ".claude/CLAUDE.md")
    ids.append(added(run, "Use vi.", "--home", "--file", own))
    ids.append(added(run, "Use ed.", "--file", "CLAUDE.md"))
    assert listed("--file", own) == [3]
    assert listed("--file", "./CLAUDE.md") == listed("--file", str(empty.root / "CLAUDE.md")) == [4]
    run("rules", "remove", *ids[3:])
    assert "no rule is like that (3 rules in force)" in run("rules", "list", "--file", "AGENTS.md").err


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (("--category", "behaviour"), "Did you mean behavior?"),
        (("--tag", "laguage:go"), "Did you mean language:go?"),
        (("--limit", "0"), "page by page"),
        (("--cursor", "nonsense"), "without a cursor"),
        (("--as-of", "yesterday"), "2026-01-31"),
    ],
)
def test_filters_that_make_no_sense(empty: Any, run: Run, arguments: tuple[str, ...], hint: str) -> None:
    """With what was meant."""
    done = run("rules", "list", *arguments)
    assert (done.code, hint in done.err) == (exits.USAGE, True)


def test_rules_as_of_a_date(project: Any, run: Run, entries: Any) -> None:
    """The journals tell what was in force, and how often it was used by then; files do not matter."""
    first = added(run, "Use tabs.")
    when = run("rules", "history", "--json").json()["steps"][0]["at"]
    run("rules", "usage", "--record", first, "--session", "s", "--tool", "t")
    reworded(run, first, "Use spaces.")
    project.write("CLAUDE.md", "")
    then = run("rules", "list", "--as-of", when, "--json").json()["rules"]
    assert {rule["rule"]: rule["usage_count"] for rule in then}["Use tabs."] == 0
    assert len(then) == 3
    assert len(run("rules", "list", "--as-of", "2100-01-01", "--json").json()["rules"]) == 3
    assert "no rule was in force then" in run("rules", "list", "--as-of", "2001-01-01").err
    assert [rule["rule"] for rule in run("rules", "list", "--json").json()["rules"]] == ["Use spaces."]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-01-31", "2026-01-31T23:59:59.999999Z"),
        ("2026-01-31T18:30", "2026-01-31T18:30:00.000000Z"),
        (" 2026-01-31 18:30:05.5+02:00 ", "2026-01-31T16:30:05.500000Z"),
        ("2026-01-31T18:30:00Z", "2026-01-31T18:30:00.000000Z"),
    ],
)
def test_moments(text: str, expected: str) -> None:
    """A date means its end; no zone means UTC."""
    assert moment(text) == expected


@pytest.mark.parametrize("text", ["", "soon", "2026-13-01", "9999-12-31T23:59:59-12:00"])
def test_no_moments(text: str) -> None:
    """Anything else is a mistake, not a crash."""
    with pytest.raises(UsageError, match="is not a date"):
        moment(text)


def test_changes_are_coloured_on_a_terminal(empty: Any, run: Run, monkeypatch: Any) -> None:
    """Red and green beside the marks; hostile text still does not reach the terminal."""
    first = added(run, "Use tabs.")
    reworded(run, first, "Use \x1b[5mspaces.")
    monkeypatch.setattr("workbench.entry.cli.frame.wants_color", lambda **flags: True)
    shown = run("rules", "history", first).out
    assert "\x1b[31m[-tabs-]\x1b[0m\x1b[32m{+" in shown
    assert "\x1b[5m" not in shown
    assert output.wants_color({"NO_COLOR": "1"}) is False


def test_a_reader_that_leaves_is_no_error(empty: Any, run: Run, tmp_path: Path) -> None:
    """`rules history | head` ends with the code of a broken pipe and without a traceback."""
    lines = tmp_path / "rules.jsonl"
    lines.write_text("".join(f'{{"rule": "Use tool {number} for its work."}}\n' for number in range(3000)))
    assert run("rules", "add", "--json-lines", str(lines)).code == exits.OK
    command = [sys.executable, "-m", "workbench", "rules", "list"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=empty.root) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        errors = process.stderr.read()
    assert (process.returncode, errors) == (exits.BROKEN_PIPE, b"")
