"""Rules of a real project come through the caches its settings ask for."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from importlib.machinery import ModuleSpec
from typing import Any

import pytest

import workbench
from store.clock import SystemClock
from tests.redis_server import RedisServer
from workbench.config import CacheConfig, Config
from workbench.entry.project import open_workspace
from workbench.entry.services import rules as rule_caches
from workbench.entry.services.doctor import examine
from workbench.entry.services.rules import rule_fetcher
from workbench.errors import ConfigError, ProjectError
from workbench.plan import rule_workspace
from workbench.records.answers.project import DoctorFinding, State
from workbench.rules.fetching.cache import CacheLevel, RuleFetcher


@pytest.fixture
def project(work: Any) -> Any:
    work.write("CLAUDE.md", "- Never log a token.\n- Prefer small functions.\n")
    work.commit("Begin")
    return work


def fetcher(project: Any, **cache: Any) -> RuleFetcher:
    """Open the project as a new process does."""
    config = replace(Config(), cache=CacheConfig(**cache))
    opened = open_workspace(project.root, config, dict(os.environ))
    return rule_fetcher(opened.workspace, config, SystemClock(), wait=60)


def texts(found: RuleFetcher, **query: Any) -> list[str]:
    return sorted(rule.rule for rule in found.get_rules(**query).rules)


def test_rules_of_rule_files_are_fetched_and_kept(project: Any) -> None:
    """The second request is answered in the process; what another process imports is seen at once."""
    one = fetcher(project)
    expected = ["Never log a token.", "Prefer small functions."]
    texts(one)  # imports the file, which is a write
    assert (texts(one), texts(one)) == (expected, expected)
    assert one.figures()["rules.l1"].hits == 1
    project.write("CLAUDE.md", "- Never log a token.\n")
    assert texts(fetcher(project)) == expected[:1]
    assert texts(one) == expected[:1]


def test_a_session_sees_what_was_edited_by_hand(project: Any) -> None:
    """The warm-up brings rule files in step although nobody wrote to a journal since."""
    found = fetcher(project)
    texts(found)
    project.write("CLAUDE.md", "- Never log a password.\n")
    found.warm_up(None, "claude")
    assert texts(found) == ["Never log a password."]


def test_what_others_add_is_fetched_without_listing_the_project(
    project: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Names are listed again for a file that changed, for a session that begins, and past the caches."""
    listed: list[int] = []
    list_files = rule_workspace.listed_rule_files

    def counted(*given: Any) -> Any:
        listed.append(1)
        return list_files(*given)

    monkeypatch.setattr(rule_workspace, "listed_rule_files", counted)
    found = fetcher(project)
    for text in ("Use tabs.", "Ask before a push."):
        texts(found)  # the first one imports the file
        with workbench.open_project(project.root) as other:
            other.rules.add(text)
        listed.clear()
    assert "Ask before a push." in texts(found)
    assert listed == []
    project.write("AGENTS.md", "- Never log a password.\n")
    assert "Never log a password." in texts(found, bypass_cache=True)
    assert listed == [1]
    project.write("AGENTS.md", "- Never log a secret.\n")
    with workbench.open_project(project.root) as other:
        other.rules.fetch()
    listed.clear()
    assert "Never log a secret." in texts(found)
    assert listed == [1]


def test_no_cache_is_a_setting(project: Any) -> None:
    """With no seconds or no rules to keep every request asks the store."""
    for setting in ({"seconds": 0}, {"rules": 0}):
        found = fetcher(project, **setting)
        for _ in range(3):
            texts(found)
        assert found.figures() == {"rules.l1": CacheLevel(0, 3), "rules.l3": CacheLevel(3, 0)}


def test_without_the_package_it_is_said_what_to_install(
    project: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A URL without the package answers all the same and names the extra once."""

    def missing(name: str) -> ModuleSpec | None:
        assert name == "redis"
        return None

    monkeypatch.setattr(rule_caches, "find_spec", missing)
    found = fetcher(project, redis_url="redis://localhost")
    assert len(texts(found)) == 2
    assert found.degraded == ("redis",)
    [note] = found.notes()
    assert "install context-workbench[redis]" in note
    assert found.notes() == ()


def test_an_address_that_is_none_is_refused(project: Any) -> None:
    """A wrong URL is a wrong setting."""
    with pytest.raises(ConfigError, match="URL of a Redis"):
        fetcher(project, redis_url="memcached://localhost")


def test_processes_share_the_redis_of_the_settings(
    project: Any, make_redis: Callable[..., RedisServer]
) -> None:
    """Rules are kept under the project's prefix for the settings' time."""
    server = make_redis()
    found = fetcher(project, redis_url=server.url, redis_seconds=60)
    texts(found)
    with server.client() as client:
        names = [name.decode() for name in client.keys("workbench:rules:*:value:*")]
        assert all(0 < client.ttl(name) <= 60 for name in names)
    assert "{work-" in names[0]
    assert names[0].endswith("limit:100|cursor:none")


def test_doctor_says_how_the_cache_is(
    make_redis: Callable[..., RedisServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Off, in use, away, without its package and with a wrong address: each with what to do."""

    def finding(url: str) -> DoctorFinding:
        config = replace(Config(), cache=CacheConfig(redis_url=url))
        findings = examine(config, ProjectError("no project", hint="none"))
        return next(each for each in findings if each.name == "cache")

    server = make_redis()
    assert finding("") == DoctorFinding("cache", State.OK, "in each process, no Redis")
    assert finding(server.url) == DoctorFinding("cache", State.OK, "in each process and in Redis")
    server.kill()
    away = finding(server.url)
    assert (away.state, "cannot be reached" in away.text, "unset" in away.step) == (State.NOTE, True, True)
    assert finding("http://x").state is State.BROKEN
    monkeypatch.setattr(rule_caches, "find_spec", lambda name: None)
    assert "install context-workbench[redis]" in finding(server.url).text
