"""The re-check as settings decide it."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from typing import Any

from tests.adapters import ScriptedModel
from tests.rules.reports import match_report
from workbench.config import Config, ModelsConfig, RulesConfig
from workbench.entry.project import language_model, open_project
from workbench.errors import ModelError
from workbench.records.rules import Rule
from workbench.rules.matching.match import RuleMatch, RuleQuery
from workbench.rules.matching.recheck import Rechecked, recheck_as_set


def matches() -> list[RuleMatch]:
    rules = [Rule(id=name, name=name, rule=name) for name in ("a", "b", "c")]
    return list(match_report(rules, RuleQuery(text="m"), relevance=[0.9, 0.8, 0.7]).matches)


def configured(url: str, **rules: Any) -> Config:
    """A configuration with a language model and the re-check on."""
    return Config(models=ModelsConfig(llm="tiny", llm_url=url), rules=RulesConfig(recheck=True, **rules))


def recheck_matches(config: Config) -> Rechecked:
    """Check the matches again with the model that the settings name."""
    return recheck_as_set(config.rules, partial(language_model, config), matches(), "m", len)


def test_nothing_is_asked_unless_it_is_on(work: Any, ollama: Any) -> None:
    """A model that is set up is not asked for a re-check that is off, which is the default."""
    config = configured(ollama.url)
    work.commit()
    assert open_project(work.root, config).planner.recheck is not None
    assert open_project(work.root, replace(config, rules=RulesConfig())).planner.recheck is None


def test_settings_say_how_many(ollama: Any) -> None:
    """`rules.recheck_top` matches are put to the model, in one request."""
    ollama.answers = [json.dumps({"r1": {"why": "", "answer": "no"}, "r2": {"why": "", "answer": "yes"}})]
    found = recheck_matches(configured(ollama.url, recheck_top=2))
    assert [match.rule.id for match in found.matches] == ["b", "c"]
    assert len(ollama.requests) == 1


def test_settings_say_how_long() -> None:
    """`rules.recheck_timeout` bounds it; what is late leaves the matches."""
    model = ScriptedModel(ModelError("too slow", hint="Wait."))
    config = configured("http://localhost", recheck_timeout=7.0)
    found = recheck_as_set(config.rules, lambda: model, matches(), "m", len)
    assert (found.matches, found.degraded) == (tuple(matches()), ("recheck",))
    assert [timeout for _, _, timeout, _ in model.asked] == [7.0]


def test_a_wrong_or_missing_address_leaves_the_matches() -> None:
    """An address that is none, and none at all, degrade with the reason."""
    for url, reason in (("nowhere", "is not an http"), ("", "models.llm_url")):
        found = recheck_matches(configured(url))
        assert (found.matches, found.degraded) == (tuple(matches()), ("recheck",))
        assert reason in found.note
