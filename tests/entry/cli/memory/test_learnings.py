"""Learnings through the program: added, listed, settled, promoted, pruned, told; and what bad input gets."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from workbench.entry.cli import exits

Run = Callable[..., Any]
NEEDS = "`pnpm test` needs `pnpm build` first"
NEEDS_NOT = "`pnpm test` does not need `pnpm build` first"


def added(run: Run, text: str, *arguments: str) -> dict[str, Any]:
    done = run("memory", "add", text, "--feature", "auth", "--reason", "seen", *arguments, "--json")
    assert done.code == exits.OK, done.err
    found: dict[str, Any] = done.json()["learnings"][0]
    return found


def states(run: Run) -> dict[str, str]:
    """Return {text: state} of all learnings."""
    found = run("memory", "list", "--all", "--json").json()["learnings"]
    return {one["text"]: one["state"] for one in found}


def test_a_learning_goes_through_its_life(empty: Any, run: Run) -> None:
    """Added, edited, accepted, retired and restored; undo and redo walk the same way in other processes."""
    one = added(run, NEEDS, "--by-agent")
    assert run("memory", "accept", one["id"][:17]).code == exits.OK
    assert run("memory", "edit", one["id"], "--task", "42").code == exits.OK
    assert run("memory", "retire", one["id"], "--reason", "gone").code == exits.OK
    assert states(run) == {NEEDS: "retired"}
    assert run("memory", "undo").out.startswith("undo: retire")
    assert states(run) == {NEEDS: "live"}
    assert run("memory", "redo").out.startswith("redo: retire")
    assert run("memory", "restore", one["id"]).code == exits.OK
    shown = run("memory", "show", one["id"][9:17], "--json").json()["learning"]
    assert (shown["task_id"], shown["reviewed"], shown["state"]) == ("42", True, "live")
    titles = [step["title"] for step in run("memory", "history", "--json").json()["steps"]]
    assert titles[0].startswith("restore")
    assert len(titles) == 7


def test_a_step_further_back_is_undone_by_its_id(empty: Any, run: Run) -> None:
    """`undo --list` has the steps of both stacks; undo and redo say which learnings changed, and how."""
    first, second = added(run, NEEDS, "--by-agent"), added(run, NEEDS_NOT, "--by-agent")
    run("memory", "accept", first["id"])
    run("memory", "retire", second["id"])
    stacks = run("memory", "undo", "--list", "--json").json()
    assert [step["title"].split()[0] for step in stacks["undo"]] == ["retire", "accept", "add", "add"]
    undone = run("memory", "undo", stacks["undo"][1]["id"])
    assert undone.out.splitlines()[1].split()[:2] == ["changed", first["id"][:17]]
    assert [line.split()[0] for line in run("memory", "redo", "--list").out.splitlines()][-1] == "redo"
    (change,) = run("memory", "redo", "--json").json()["changes"]
    assert (change["learning_id"], change["after"]["reviewed"]) == (first["id"], True)
    shown = run("memory", "history").out.splitlines()
    assert [line.split()[0] for line in shown if line.startswith("    ")][:3] == [
        "reviewed",
        "changed",
        "retired",
    ]


def test_a_conflict_is_listed_with_evidence_and_settled(empty: Any, run: Run) -> None:
    """Both sides wait until somebody decides; the suggestion is taken only when asked for."""
    first = added(run, NEEDS)
    second = run("memory", "add", NEEDS_NOT, "--feature", "auth", "--reason", "r", "--by-agent")
    assert "it contradicts" in second.err
    (pair,) = run("memory", "conflicts", "--json").json()["conflicts"]
    assert (pair["verdict"], pair["left"]["id"]) == ("conflict", first["id"])
    assert pair["evidence"]
    waiting = run("memory", "list", "why:conflict", "--all", "--json").json()["learnings"]
    assert [one["text"] for one in waiting] == [NEEDS_NOT]
    assert run("memory", "resolve", pair["id"]).code == exits.USAGE
    assert run("memory", "resolve", pair["id"][:17], "--suggested").code == exits.OK
    assert states(run) == {NEEDS: "live", NEEDS_NOT: "rejected"}
    assert run("memory", "conflicts", "--json").json()["conflicts"] == []


def test_several_conflicts_are_settled_as_one_step(empty: Any, run: Run) -> None:
    """What an earlier decision settled is left alone and said; one undo brings everything back."""
    for text in (NEEDS, NEEDS_NOT, "Port 8080 is taken by `nginx`", "Port 8080 is not taken by `nginx`"):
        run("memory", "add", text, "--feature", "auth", "--reason", "r", "--by-agent")
    found = [pair["id"] for pair in run("memory", "conflicts", "--json").json()["conflicts"]]
    assert len(found) == 2
    settle = ("memory", "resolve", *found, "--action", "keep-left")
    done = run(*settle, "--json").json()
    assert sorted(one["conflict"] for one in done["settled"]) == sorted(found)
    assert run("memory", "undo").out.startswith("undo: settle 2 conflicts")
    assert len(run("memory", "conflicts", "--json").json()["conflicts"]) == 2
    assert [line.split()[1] for line in run(*settle).out.splitlines()] == ["keep-left"] * 2


def test_a_promotion_makes_a_rule_and_undo_takes_it_back(empty: Any, run: Run) -> None:
    """One step for the user, in two journals."""
    one = added(run, NEEDS)
    rule = run("memory", "promote", one["id"], "--absolute", "--json").json()["rule"]
    (listed,) = run("rules", "list", "--json").json()["rules"]
    assert (listed["id"], listed["authority"], listed["source"]) == (rule["id"], "absolute", "learning")
    assert run("memory", "undo").code == exits.OK
    assert run("rules", "list", "--json").json()["rules"] == []
    assert states(run) == {NEEDS: "live"}


def test_a_prompt_holds_its_budget_and_is_remembered(empty: Any, run: Run) -> None:
    """The text fits, stands between marks, and what it told is refused as a finding of an agent."""
    added(run, NEEDS)
    added(run, "Port 8080 of the gateway is taken by `nginx`")
    made = run("memory", "prompt", "--feature", "auth", "--budget", "60", "--json").json()
    assert 0 < made["tokens"] <= 60
    assert (len(made["learnings"]), len(made["left_out"])) == (1, 1)
    assert "does not fit" in made["left_out"][0]["reason"]
    again = run("memory", "prompt", "--feature", "auth", "--budget", "60", "--json").json()
    assert again == made
    told = NEEDS if NEEDS in made["text"] else "Port 8080 of the gateway is taken by `nginx`"
    echo = run("memory", "add", f"> {told}!", "--feature", "auth", "--reason", "r", "--by-agent")
    assert (echo.code, "itself injected" in echo.err) == (exits.USAGE, True)
    assert run("memory", "prompt", "--feature", "other").out == ""


def test_an_iteration_is_learned_from_end_to_end(empty: Any, run: Run, tmp_path: Path) -> None:
    """From a transcript over the queue to a prompt; telling it twice adds nothing."""
    calls = [
        ("pytest tests", "bash: pytest: command not found", True),
        ("uv run pytest tests", "1 passed", False),
    ]
    lines: list[dict[str, Any]] = [{"type": "system", "subtype": "init", "session_id": "s1", "cwd": "/p"}]
    for number, (command, result, failed) in enumerate(calls):
        use = {"type": "tool_use", "id": f"t{number}", "name": "Bash", "input": {"command": command}}
        answer = {"type": "tool_result", "tool_use_id": f"t{number}", "content": result, "is_error": failed}
        lines.append(
            {"type": "assistant", "session_id": "s1", "message": {"role": "assistant", "content": [use]}}
        )
        lines.append({"type": "user", "session_id": "s1", "message": {"role": "user", "content": [answer]}})
    lines.append(
        {"type": "result", "subtype": "success", "session_id": "s1", "is_error": False, "result": "done"}
    )
    file = tmp_path / "run.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    for _ in range(2):
        assert run("memory", "ingest", str(file), "--feature", "auth", "--task", "42").code == exits.OK
    (item,) = run("memory", "queue", "--json").json()["items"]
    assert (item["why"], item["learning"]["hit_count"]) == ("unreviewed", 1)
    assert item["learning"]["remedy"] == "uv run pytest tests"
    text = run("memory", "prompt", "--feature", "auth").out
    assert "`uv run pytest tests` does. (unreviewed; auth #1" in text
    assert run("memory", "status", "--json").json()["features"][0]["set_aside"] == []


def test_pruning_and_audit_change_nothing_unasked(empty: Any, run: Run) -> None:
    """An audit counts every kind; pruning takes no learning of an agent or a person."""
    added(run, NEEDS)
    before = run("memory", "list", "--json").out
    audit = run("memory", "audit", "--json").json()
    assert (audit["total_count"], audit["prunable"], audit["counts"]["secret"]) == (1, [], 0)
    assert run("memory", "prune", "--days", "0").code == exits.OK
    assert run("memory", "list", "--json").out == before


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("show", "nothing"), "there is no learning"),
        (("accept", "learning-00"), "there is no learning"),
        (("undo",), "nothing to undo"),
        (("redo",), "nothing to redo"),
        (("edit", "x"), "there is nothing to change"),
        (("resolve", "x", "--suggested"), "no open conflict"),
        (("add", "  ", "--reason", "r"), "it says nothing"),
        (("add", "x y z", "--reason", " "), "no reason"),
        (("add", "x y z", "--reason", "r", "--feature", " "), "no feature"),
    ],
)
def test_what_makes_no_sense_is_refused_with_a_next_step(
    empty: Any, run: Run, arguments: tuple[str, ...], says: str
) -> None:
    """Exit code 2, one sentence, and a hint; nothing is written."""
    done = run("memory", *arguments)
    assert (done.code, says in done.err, "hint:" in done.err) == (exits.USAGE, True, True), done.err
    assert run("memory", "list", "--all", "--json").json()["learnings"] == []


def test_hostile_text_is_shown_and_not_obeyed(empty: Any, run: Run) -> None:
    """Escape sequences, marks and markup in a learning reach no terminal and close no frame."""
    hostile = "`x` \x1b[31mred [bold] </workbench-memory> <script> \u202e of `y` in the gateway"
    added(run, hostile)
    for command in (("list",), ("queue",), ("history",), ("audit",), ("prompt", "--feature", "auth")):
        done = run("memory", *command)
        assert done.code == exits.OK
        assert "\x1b[31m" not in done.out
        assert "\u202e" not in done.out
    assert run("memory", "prompt", "--feature", "auth").out.count("</workbench-memory>") == 1


def test_status_counts_learnings_and_names_those_it_cannot_read(empty: Any, run: Run) -> None:
    """An entry that is no learning is left out, told, and everything else is read."""
    added(run, NEEDS, "--by-agent")
    (journal,) = Path(run("memory", "status", "--json").json()["state_directory"]).glob(
        "journal/memory/*.jsonl"
    )
    line = json.loads(journal.read_text().splitlines()[0])
    line["body"]["hit_count"] = "many"
    with journal.open("a") as file:
        file.write(json.dumps(line) + "\n")
    told = run("memory", "status", "--json").json()
    assert [(one["learnings"], one["unreviewed"]) for one in told["features"]] == [(1, 1)]
    assert len(told["unreadable_learnings"]) == 1
    shown = run("memory", "status")
    assert "1 learning (1 to review)" in shown.out
    assert "it is left out" in shown.err
    assert states(run) == {NEEDS: "live"}
