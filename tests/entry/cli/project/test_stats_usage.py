"""What `stats --usage` reports of sessions that plans were made for."""

from __future__ import annotations

from typing import Any

import pytest

from workbench.config import RulesConfig
from workbench.entry.parameters import session_variant


def test_a_session_is_planned_for_by_its_variant(
    project: Any, run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same task gets other rules in another arm, and the report says which arm a session was in."""
    run("rules", "add", "Refresh the jwt token with care.", "--condition", "the jwt token is refreshed")
    monkeypatch.setenv("WORKBENCH_RULES_VARIANT", "threshold=0")
    arms = {}
    for n in range(8):
        name = f"s{n}"
        found = run("plan", "the jwt token is not refreshed", "--session", name, "--json").json()
        arms[name] = len(found["rules"])
    rules = RulesConfig(variant=("threshold=0",))
    tested = {name for name in arms if session_variant(rules, name) == "threshold=0"}
    assert 0 < len(tested) < 8
    assert {name for name, count in arms.items() if count == 3} == tested
    found = run("stats", "--usage", "--json").json()
    assert {one["session_id"] for one in found["sessions"] if one["variant"] == "threshold=0"} == tested
    [gap] = [one for one in found["variants"] if one["measure"] == "rules given"]
    assert gap["difference"] == 1.0
    assert "variant threshold=0 against default" in run("stats", "--usage").out


def test_a_plan_says_that_a_template_does_not_count(project: Any, run: Any) -> None:
    """Prompts of three sessions make a template known; a plan that follows it is that of its own words."""
    checks = "Check the store, naming, logging, security and error handling of all of it."
    review = "Act as a careful reviewer. {} " + checks
    task = "the jwt token is not refreshed after a 401"
    before = run("plan", review.format(task), "--json").json()
    for n, text in enumerate(("look at caching", "the docs are stale", "make the build faster")):
        run("episode", "start", review.format(text), "--session", f"s{n}")
        assert run("episode", "end", f"s{n}", "--outcome", "success").code == 0
    found = run("plan", review.format(task), "--json").json()
    line = "template of 3 sessions' prompts: its 18 words do not count"
    assert line in found["decision_trace"]
    assert line not in before["decision_trace"]
    assert found["intent"]["task_fingerprint"] == before["intent"]["task_fingerprint"]
    alone = run("plan", task, "--json").json()
    assert [one["path"] for one in found["selection"]] == [one["path"] for one in alone["selection"]]
