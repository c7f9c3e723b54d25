"""Rules hold in plans, matches and checks where their fields say so, and handing them over counts as use."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from store.journal import FileJournal
from workbench.entry.cli import exits
from workbench.errors import JournalError
from workbench.project import uncommitted

TASK = "jwt token is not refreshed on 401"
Uses = Callable[[str], list[dict[str, Any]]]

LIMITED: dict[str, dict[str, Any]] = {
    "Codex keeps patches small.": {"tool": "codex"},
    "Docs are British English.": {"scope": "handbook"},
    "Bump the version in the release phase.": {"when": "phase=release"},
    "Answer every comment at the review step.": {"level": "step", "scope": "review"},
    "Carts keep their currency.": {"level": "scenario", "scope": "checkout"},
    "Nothing is pushed from topic branches.": {"when": "branch=topic"},
}
GIVEN = (
    *("--agent", "Codex", "--context", "handbook", "--fact", "phase=release"),
    *("--step", "review", "--scenario", "checkout", "--fact", "branch=topic"),
)


@pytest.fixture
def limited(project: Any, run: Any) -> dict[str, str]:
    """Absolute rules that are limited by each of their fields; {text: id}."""
    lines = [{"rule": text, "authority": "absolute", **fields} for text, fields in LIMITED.items()]
    given = "\n".join(map(json.dumps, lines)).encode()
    added = run("rules", "add", "--json-lines", "-", "--json", given=given).json()["rules"]
    return {one["rule"]: one["id"] for one in added}


def packed(answer: Any, known: dict[str, str]) -> set[str]:
    """Return the texts of the known rules in a plan's answer."""
    ids = {one["id"] for one in answer["rules"]}
    return {text for text, identifier in known.items() if identifier in ids}


def test_a_plan_takes_rules_in_where_they_hold_and_says_of_the_others_why(
    limited: dict[str, str], run: Any
) -> None:
    """What a rule is limited to is looked for in the request and in git; its text is beside the reason."""
    plain = run("plan", TASK, "--json").json()
    assert packed(plain, limited) == set()
    dropped = {one["file"]: one["reason"] for one in plain["dropped_candidates"]}
    reasons = {text: dropped[identifier] for text, identifier in limited.items()}
    assert reasons == {
        text: f"“{text}” {why}"
        for text, why in zip(
            LIMITED,
            (
                "is for codex, and no agent is named: name the agent codex",
                "is for handbook, which is not in the context: name the context handbook",
                "holds where phase is release, and phase is not known: name the fact phase=release",
                "is for the step review, and none is active: name the step review",
                "is for the scenario checkout, and none is active: name the scenario checkout",
                "holds where branch is topic, and it is main",
            ),
            strict=True,
        )
    }
    assert packed(run("plan", TASK, "--json", *GIVEN).json(), limited) == set(LIMITED)
    assert "is for codex, not for claude" in run("plan", TASK, "--tool", "claude", "--why").out


def test_a_branch_and_a_directory_at_hand_are_in_the_context(
    project: Any, limited: dict[str, str], run: Any
) -> None:
    """Nobody has to give what git and the files say; an uncommitted file is at hand whatever the task."""
    project.write("handbook/style.md", "Colour.\n")
    project.commit("Add the handbook")
    project.git("checkout", "-q", "-b", "topic")
    project.write("handbook/style.md", "Colour, not color.\n")
    found = packed(run("plan", TASK, "--json").json(), limited)
    assert found == {"Docs are British English.", "Nothing is pushed from topic branches."}


def test_a_session_says_which_scenario_and_step_are_active(limited: dict[str, str], run: Any) -> None:
    """The last decision counts, an option outweighs it, and nothing is active once the session has ended."""

    def asked(*more: str) -> set[str]:
        return packed(run("plan", TASK, "--session", "s1", "--json", *more).json(), limited)

    step, scenario = "Answer every comment at the review step.", "Carts keep their currency."
    assert run("episode", "start", TASK, "--session", "s1", "--scenario", "checkout").code == exits.OK
    assert asked() == {scenario}
    assert run("episode", "event", "s1", "--type", "decision", "--step", "review").code == exits.OK
    assert asked() == {scenario, step}
    assert asked("--step", "deploy") == {scenario}
    assert run("episode", "event", "s1", "--type", "decision", "--scenario", "").code == exits.OK
    assert asked() == {step}
    assert run("episode", "end", "s1").code == exits.OK
    assert asked() == set()
    assert run("episode", "event", "s1", "--type", "read", "--file", "a", "--step", "x").code == exits.USAGE


def test_a_match_is_made_in_the_same_context(limited: dict[str, str], run: Any) -> None:
    """A rule whose words match is left out with its id, its text and the reason."""
    said = "Bump the version in the release phase."
    out = run("rules", "match", said, "--all").out
    assert f"{limited[said][:13]}  user  {said}\n" in out
    assert "holds where phase is release, and phase is not known: name the fact phase=release" in out
    found = run("rules", "match", said, "--fact", "phase=release", "--json").json()["matches"]
    assert [one["rule"] for one in found] == [said]


def test_a_check_is_made_in_the_same_context(project: Any, run: Any) -> None:
    """A check of a rule with a condition decides once the fact is given or git says it."""
    check = '{"command": "git tag", "decision": "deny"}'
    call = ("rules", "check", "--tool", "Bash", "--input", '{"command": "git tag v1"}')
    add = ("rules", "add", "--authority", "absolute", "--check", check)
    assert run(*add, "Never tag in the release phase.", "--when", "phase=release").code == exits.OK
    allowed = run(*call)
    assert allowed.code == exits.OK
    assert (
        "would deny, but holds where phase is release, and phase is not known: name the fact phase=release"
        in (allowed.err)
    )
    assert run(*call, "--fact", "phase=release").code == exits.DENY
    assert run(*add, "Never tag on main.", "--when", "branch=main", "--when", "dirty=true").code == exits.OK
    assert run(*call).code == exits.OK
    project.write("pyproject.toml", "")
    assert run(*call).code == exits.DENY


def test_what_is_no_fact_is_refused(project: Any, run: Any) -> None:
    """The message shows how one is written."""
    done = run("plan", TASK, "--fact", "release")
    assert done.code == exits.USAGE
    assert "--fact phase=release" in done.err


def test_the_setting_names_the_agent(
    limited: dict[str, str], run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Plans of somebody with one agent need no option."""
    monkeypatch.setenv("WORKBENCH_RULES_TOOL", "codex")
    assert packed(run("plan", TASK, "--json").json(), limited) == {"Codex keeps patches small."}


def test_plans_and_matches_record_the_use_of_their_rules(project: Any, run: Any, entries: Uses) -> None:
    """Each is one line with the session and the agent, and every reader of rules shows it."""
    assert entries("rule-usage") == []
    plan = run("plan", TASK, "--session", "s1", "--tool", "gemini-cli", "--json").json()
    ids = [one["id"] for one in plan["rules"]]
    assert ids
    assert entries("rule-usage") == [{"rule_ids": ids, "session_id": "s1", "tool": "gemini"}]
    matched = run("rules", "match", "never log the jwt token", "--json").json()["matches"]
    assert entries("rule-usage")[1:] == [
        {"rule_ids": [one["id"] for one in matched], "session_id": "", "tool": ""}
    ]
    shown = run("rules", "show", ids[0], "--json").json()
    listed = next(one for one in run("rules", "list", "--json").json()["rules"] if one["id"] == ids[0])
    assert shown["usage_count"] == listed["usage_count"] == 1 + (ids[0] in {one["id"] for one in matched})
    (used,) = run("rules", "usage", ids[0], "--json").json()["rules"]
    assert (used["by_tool"]["gemini"], used["by_session"]["s1"]) == (1, 1)
    assert run("rank", TASK).code == run("rules", "list").code == exits.OK
    assert len(entries("rule-usage")) == 2


def test_use_changes_neither_the_next_answer_nor_how_it_is_made(project: Any, run: Any) -> None:
    """The same request gives the same bytes, from the same caches."""
    run("index")
    first, second = run("plan", TASK, "--json").json(), run("plan", TASK, "--json").json()
    assert first.pop("timing") != second.pop("timing")
    assert first == second
    assert second["cache_status"] == "hit"
    before = _generations(project.root)
    run("plan", TASK)
    assert _generations(project.root) == before


def _generations(root: str) -> list[str]:
    """Return what is kept, but for git's answer: times of files that just changed are asked about again."""
    names = os.listdir(Path(root, ".workbench", "index"))
    return sorted(name for name in names if not name.startswith(f"{uncommitted.KIND}-"))


def test_a_rule_cools_down_after_it_was_handed_over(project: Any, run: Any) -> None:
    """It is in the first plan and not in the next, which says until when."""
    text = "Ask before you change the build."
    added = run("rules", "add", text, "--authority", "absolute", "--cooldown", "3600", "--json").json()
    identifier = added["rules"][0]["id"]
    assert text in run("plan", TASK).out
    second = run("plan", TASK, "--json").json()
    assert identifier not in {one["id"] for one in second["rules"]}
    (reason,) = [one["reason"] for one in second["dropped_candidates"] if one["file"] == identifier]
    assert reason.startswith(f"“{text}” was used at ")
    assert "and cools down until " in reason


def test_a_plan_is_given_where_its_use_cannot_be_recorded(
    project: Any, run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The journal of use cannot be written: the plan is whole, and a warning says what is missing."""

    def full(self: FileJournal, stream: str, *_: object, **__: object) -> None:
        raise JournalError(f"writing the journal {stream} failed: no space left")

    monkeypatch.setattr(FileJournal, "append", full)
    done = run("plan", TASK)
    assert done.code == exits.OK
    assert "Never log the jwt token" in done.out
    assert "what was handed over is not recorded: writing the journal rule-usage failed" in done.err
