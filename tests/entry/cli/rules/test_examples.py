"""`workbench rules examples` run in a project, with a server that speaks Ollama's protocol."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest

from workbench.entry.cli import exits


@pytest.fixture
def identifier(project: Any, run: Any) -> str:
    rules = run("rules", "list", "--json").json()["rules"]
    return str(next(rule["id"] for rule in rules if "log the jwt" in rule["rule"]))


@pytest.fixture
def model(ollama: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A language model that proposes two messages, one of them twice."""
    monkeypatch.setenv("WORKBENCH_MODELS_LLM", "tiny")
    monkeypatch.setenv("WORKBENCH_MODELS_LLM_URL", ollama.url)
    ollama.answers = [json.dumps({"messages": ["log who signs in", "Log who signs in!", "debug the 401"]})]
    ollama.extra |= {"prompt_eval_count": 5000, "eval_count": 40}
    return ollama


def examples(run: Any, identifier: str) -> list[str]:
    return list(run("rules", "examples", identifier, "--json").json()["examples"])


def test_examples_are_added_shown_and_removed(run: Any, identifier: str) -> None:
    """Texts come in their order with numbers, and a number takes one away; each call sees the last one's."""
    assert run("rules", "examples", identifier).out == ""
    done = run("rules", "examples", identifier[:13], "--add", "log the  session", "--add", "trace a login")
    assert (done.code, done.out) == (exits.OK, "  1  log the session\n  2  trace a login\n")
    assert run("rules", "examples", identifier, "--remove", "1").out == "  1  trace a login\n"
    assert run("rules", "examples", identifier, "--remove", "1", "--add", "new").out == "  1  new\n"
    assert examples(run, identifier) == ["new"]


def test_wrong_examples_and_numbers_change_nothing(run: Any, identifier: str) -> None:
    """A text that cannot be one and a number that is not there are refused with a hint."""
    run("rules", "examples", identifier, "--add", "trace a login")
    for arguments in (["--add", "Trace a login."], ["--add", "ok", "--add", ""], ["--remove", "2"]):
        done = run("rules", "examples", identifier, *arguments)
        assert done.code == exits.USAGE
        assert "hint:" in done.err
    assert run("rules", "examples", "rule-none").code == exits.USAGE
    assert examples(run, identifier) == ["trace a login"]


def test_proposals_are_shown_and_not_kept_unless_agreed(run: Any, identifier: str, model: Any) -> None:
    """Without a terminal and without --yes the proposals, what was dropped and the cost are told, no more."""
    done = run("rules", "examples", identifier, "--generate", "3")
    assert (done.code, done.out) == (exits.OK, "")
    assert "  + log who signs in\n  + debug the 401\n" in done.err
    assert "dropped, it is there already: Log who signs in!" in done.err
    assert "asked ollama:tiny: 5,000 tokens sent, 40 received" in done.err
    assert "add --yes" in done.err
    told = run("rules", "examples", identifier, "--generate", "--json").json()
    assert told["proposed"] == ["log who signs in", "debug the 401"]
    assert told["dropped"] == [{"text": "Log who signs in!", "reason": "it is there already"}]
    assert (told["kept"], told["examples"]) == (False, [])
    assert told["cost"]["prompt_tokens"] == 5000
    assert json.loads(model.requests[-1][1]["messages"][1]["content"])["count"] == 10
    assert examples(run, identifier) == []


def test_yes_keeps_the_proposals(run: Any, identifier: str, model: Any) -> None:
    """With --yes they are stored, behind what is there and what is added."""
    done = run("rules", "examples", identifier, "--generate", "--yes", "--add", "trace a login")
    assert done.out == "  1  trace a login\n  2  log who signs in\n  3  debug the 401\n"
    assert examples(run, identifier) == ["trace a login", "log who signs in", "debug the 401"]


@pytest.mark.parametrize(
    ("answer", "expected"), [("y\n", ["log who signs in", "debug the 401"]), ("n\n", []), ("\n", [])]
)
def test_a_person_is_asked(
    run: Any, identifier: str, model: Any, monkeypatch: pytest.MonkeyPatch, answer: str, expected: list[str]
) -> None:
    """On a terminal the question is asked on stderr, and no is what a bare return means."""
    monkeypatch.setattr("workbench.entry.cli.rules.examples.sys", Terminal())
    done = run("rules", "examples", identifier, "--generate", given=answer.encode())
    assert "Keep these 2?" in done.err
    assert examples(run, identifier) == expected


class Terminal:
    """`sys` with a standard input that says it is a terminal."""

    @property
    def stdin(self) -> Any:
        """The real stream's answer, but for one."""
        return self

    def isatty(self) -> bool:
        return sys.stdin is not None


def test_a_model_that_fails_changes_nothing(run: Any, identifier: str, model: Any) -> None:
    """What was to be added is not, where the proposals that were asked for fail; the reason is told."""
    model.answers = ["no JSON"]
    done = run("rules", "examples", identifier, "--generate", "--yes", "--add", "trace a login")
    assert done.code == exits.ERROR
    assert "not JSON as agreed" in done.err
    assert "Nothing was changed" in done.err
    assert examples(run, identifier) == []


def test_without_a_model_the_way_by_hand_is_told(run: Any, identifier: str) -> None:
    """Where no language model is set up the hint names the settings and --add."""
    done = run("rules", "examples", identifier, "--generate")
    assert done.code == exits.ERROR
    assert "models.llm_url" in done.err
    assert "--add" in done.err


def test_a_rule_that_is_added_gets_proposals_that_wait(run: Any, project: Any, model: Any) -> None:
    """The model proposes as the rule is made, and nothing counts before it is accepted; undo takes it."""
    done = run("rules", "add", "Log no credentials of a user", "--json")
    assert "proposed 2 messages" in done.err
    [rule] = done.json()["rules"]
    assert rule["examples"] == []
    shown = run("rules", "examples", rule["id"])
    assert shown.out == "  ?  log who signs in\n  ?  debug the 401\n"
    assert "without effect" in shown.err
    assert run("rules", "examples", rule["id"], "--json").json()["waiting"] == [
        "log who signs in",
        "debug the 401",
    ]
    kept = run("rules", "examples", rule["id"], "--accept")
    assert kept.out == "  1  log who signs in\n  2  debug the 401\n"
    assert run("rules", "examples", rule["id"], "--accept").code == exits.USAGE
    assert run("rules", "undo").code == exits.OK
    assert examples(run, rule["id"]) == []


def test_adding_a_rule_asks_nothing_where_that_is_not_wanted(
    run: Any, project: Any, model: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With examples of its own or with rules.propose off no model is asked; one that fails costs no rule."""
    run("rules", "add", "Log no credentials of a user", "--example", "trace a login")
    monkeypatch.setenv("WORKBENCH_RULES_PROPOSE", "false")
    run("rules", "add", "Keep the cache keys short")
    assert model.requests == []
    monkeypatch.setenv("WORKBENCH_RULES_PROPOSE", "true")
    model.answers = ["no JSON"]
    done = run("rules", "add", "Rotate the signing keys each week")
    assert done.code == exits.OK
    assert "no messages were proposed for it" in done.err
