"""`rules check`: the verdict on a tool call, as text, JSON and exit code."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from workbench.config import Config
from workbench.entry.cli import exits
from workbench.entry.project import open_workspace
from workbench.records.rules import Authority, Check, Decision, Rule
from workbench.rules.curation.curator import Curator

FORCE = Check(command="git push --force", decision=Decision.DENY)


@pytest.fixture
def enforce(project: Any) -> Callable[[Check], Rule]:
    """Return what puts a check on the project's first rule."""

    def put(check: Check, **changes: Any) -> Rule:
        workspace = open_workspace(project.root, Config()).workspace
        book, _ = workspace.sync_rules()
        curator = Curator(workspace.rule_store(), "test")
        first = next(rule for rule in book.rules if rule.provenance and rule.provenance.line == 3)
        return curator.edit(first.id, check=check, authority=Authority.ABSOLUTE, **changes)

    return put


def bash(line: str) -> tuple[str, ...]:
    """Return the arguments that ask about a shell line."""
    return ("rules", "check", "--tool", "Bash", "--input", json.dumps({"command": line}))


def test_the_exit_code_is_the_decision(enforce: Any, run: Any) -> None:
    """Allow is 0, ask 10 and deny 11, with the rule and the reason on stdout."""
    rule = enforce(FORCE)
    denied = run(*bash("git push -f"))
    assert denied.code == exits.DENY
    first, second = denied.out.splitlines()
    assert first == f"deny  {rule.rule} — it runs `git push -f`"
    assert second.split()[:2] == [rule.id[:13], "CLAUDE.md:3"]
    assert run(*bash("git push")).code == exits.OK
    enforce(Check(command="git push --force"))
    assert run(*bash("git push -f")).code == exits.ASK


def test_json_tells_rule_breaches_and_notes(enforce: Any, run: Any) -> None:
    """Everything that the text says, for programs; a broken shell line is noted."""
    rule = enforce(FORCE)
    answer = run(*bash("echo 'a; git push --force"), "--json").json()
    assert (answer["decision"], answer["rule"]["id"]) == ("deny", rule.id)
    assert answer["breaches"][0]["doubt"]
    assert len(answer["notes"]) == 1
    allowed = run(*bash("ls"), "--json").json()
    assert (allowed["decision"], allowed["rule"], allowed["breaches"]) == ("allow", None, [])


def test_where_no_rule_has_a_check_the_next_step_is_named(project: Any, enforce: Any, run: Any) -> None:
    """An allowed call does not look as if rules had been asked that cannot decide."""
    assert "rules check --suggest" in run(*bash("git push -f")).err
    enforce(FORCE)
    assert "rules check --suggest" not in run(*bash("git push")).err


def test_the_input_comes_from_an_argument_stdin_or_a_file(enforce: Any, run: Any, tmp_path: Path) -> None:
    """`-` reads stdin and `@FILE` a file."""
    enforce(FORCE)
    given = json.dumps({"command": "git push --force"}).encode()
    (tmp_path / "call.json").write_bytes(given)
    ask = ("rules", "check", "--tool", "Bash", "--input")
    assert run(*ask, "-", given=given).code == exits.DENY
    assert run(*ask, f"@{tmp_path / 'call.json'}").code == exits.DENY


def test_paths_are_seen_from_where_the_call_runs(enforce: Any, run: Any, project: Any) -> None:
    """--cwd says where; the project's root is found from here."""
    enforce(Check(paths=("pkg/store.py",), writes=True, decision=Decision.DENY))
    ask = ("rules", "check", "--tool", "Edit", "--input", '{"file_path": "store.py"}')
    assert run(*ask).code == exits.OK
    assert run(*ask, "--cwd", str(project.root / "pkg")).code == exits.DENY


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ((), "a tool and an input"),
        (("--tool", "Bash"), "a tool and an input"),
        (("--tool", "Bash", "--input", "{"), "not JSON"),
        (("--tool", "Bash", "--input", "[1]"), "not an object"),
        (("--tool", "Bash", "--input", "[" * 100_000), "not JSON"),
        (("--tool", " ", "--input", "{}"), "no name"),
        (("--tool", "Bash", "--input", "@nowhere.json"), "cannot be read"),
        (("--suggest", "--tool", "Bash"), "takes no call"),
    ],
)
def test_a_call_that_makes_no_sense_is_refused(
    project: Any, run: Any, arguments: tuple[str, ...], told: str
) -> None:
    """A sentence, a hint and exit code 2; nothing on stdout."""
    done = run("rules", "check", *arguments)
    assert (done.code, done.out) == (exits.USAGE, "")
    assert told in done.err
    assert "hint:" in done.err


def test_hostile_text_is_shown_not_sent(enforce: Any, run: Any) -> None:
    """A command with terminal sequences is told with its control characters visible."""
    enforce(FORCE)
    assert "\x1b" not in run(*bash("git push --force \x1b[2J")).out


def test_suggestions_come_with_the_command_that_accepts_them(project: Any, run: Any) -> None:
    """A rule that names a command is proposed; nothing is applied."""
    text = "# Rules\n\n- Never run `git push --force`.\n- Never log a token.\n- Don't use `npm`.\n"
    project.write("CLAUDE.md", text)
    done = run("rules", "check", "--suggest")
    assert "1 more" in done.err
    assert done.code == exits.OK
    assert done.out.splitlines()[0] == "CLAUDE.md:3  Never run `git push --force`."
    assert done.out.splitlines()[1].startswith("  workbench rules edit rule-")
    assert run("rules", "check", "--suggest", "--json").json()[0]["check"]["command"] == "git push --force"
    assert run(*bash("git push --force")).code == exits.OK
    project.write("CLAUDE.md", "# Rules\n\n- Never log a token.\n")
    assert run("rules", "check", "--suggest").out == ""


def test_a_changed_rule_file_is_seen(enforce: Any, run: Any, project: Any) -> None:
    """A rule that is gone from its file stands against nothing any more."""
    enforce(FORCE)
    assert run(*bash("git push -f")).code == exits.DENY
    project.write("CLAUDE.md", "# Rules\n\n- Use tabs.\n")
    assert run(*bash("git push -f")).code == exits.OK


@pytest.mark.parametrize(
    ("line", "code", "more"),
    [("git status", exits.OK, {"re2"}), ("git push -f", exits.DENY, set())],
    ids=["allowed", "denied"],
)
def test_checking_in_a_known_project_imports_nothing_heavy(
    enforce: Any, project: Any, line: str, code: int, more: set[str]
) -> None:
    """The second call in a project needs no numbers, models, index or database.

    Only what is told of a breach is looked through for secrets, by RE2.
    """
    enforce(FORCE)
    program = (
        "import sys\n"
        "from workbench.entry.cli.main import run\n"
        f"print(run({list(bash(line))!r}))\n"
        "print(' '.join(sorted({name.partition('.')[0] for name in sys.modules})))\n"
        "print(' '.join(sorted(name for name in sys.modules if name.startswith('workbench.p'))))\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment
        )
    lines = done.stdout.splitlines()
    heavy = {"numpy", "onnxruntime", "duckdb", "tree_sitter", "bm25s", "fastembed", "pathspec", *more}
    assert lines[-3] == str(code)
    assert heavy & set(lines[-2].split()) == set()
    assert [
        name for name in lines[-1].split() if name.startswith(("workbench.plan", "workbench.project"))
    ] == []
