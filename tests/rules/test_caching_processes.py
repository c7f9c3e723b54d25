"""Real processes on real journals: what one writes the next request of the other sees, also through Redis."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.processes import end
from tests.redis_server import RedisServer

CODE = """
import json, sys
from pathlib import Path

from store.cache import ProcessCache
from store.clock import SystemClock
from store.journal import FileJournal
from store.redis_cache import RedisCache
from workbench.records.rules import Rule
from workbench.rules.curation.ruletype import from_body, to_body
from workbench.rules.fetching.stored_pages import rules_held, shared_prefix
from workbench.rules.fetching.cache import RuleFetcher, rules_generation
from workbench.rules.ruleset import rule_set

root, url = Path(sys.argv[1]), sys.argv[2]
clock = SystemClock()
journals = {name: FileJournal(root / name, clock) for name in ("project", "home")}
loads = 0

def load(fresh):
    global loads
    loads += 1
    known = {}
    for journal in journals.values():
        for _, entry in journal.read("rules"):
            known[entry.body["id"]] = from_body(entry.body)
    return rule_set(known[identifier] for identifier in sorted(known))

def generation():
    return rules_generation(tuple(journals.values()))

shared = None
if url:
    limits = {"seconds": 1800, "weight": 10_000, "retry": 30, "wait": 60}
    shared = RedisCache(url, shared_prefix("p"), clock, **limits)
process = ProcessCache(clock, seconds=300, most=1000, parts=rules_held)
fetcher = RuleFetcher(generation, load, process, shared)
for line in sys.stdin:
    asked = json.loads(line)
    if "put" in asked:
        rule = Rule(id=asked["put"], name="n", rule=asked["text"])
        journals[asked["journal"]].append("rules", "rule.put", [to_body(rule)], by="test")
    texts = {rule.id: rule.rule for rule in fetcher.get_rules(**asked.get("query", {})).rules}
    print(json.dumps({"rules": texts, "loads": loads}), flush=True)
"""


class Engine:
    """A process that writes and fetches when told."""

    def __init__(self, root: Path, url: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", CODE, str(root), url],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ask(self, **what: Any) -> dict[str, Any]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(what) + "\n")
        self.process.stdin.flush()
        answer: dict[str, Any] = json.loads(self.process.stdout.readline())
        return answer


@pytest.fixture
def engines(tmp_path: Path) -> Iterator[Callable[[str], tuple[Engine, Engine]]]:
    """Start two processes on the same journals."""
    started: list[Engine] = []

    def start(url: str) -> tuple[Engine, Engine]:
        started.extend((Engine(tmp_path, url), Engine(tmp_path, url)))
        return started[-2], started[-1]

    yield start
    for engine in started:
        end(engine.process)


def rounds(one: Engine, two: Engine) -> None:
    """Let the processes write in turns, into both journals, and see each write in the other one at once."""
    expected: dict[str, str] = {}
    for number in range(12):
        writer, reader = (one, two) if number % 2 else (two, one)
        identifier, journal = f"r{number % 3}", ("project", "home")[number % 2]
        # Each rule stays in its journal; the texts are all of one length.
        identifier += journal[0]
        expected[identifier] = f"text {number:04}"
        writer.ask(put=identifier, text=expected[identifier], journal=journal)
        assert reader.ask()["rules"] == expected
        assert reader.ask(query={"limit": 1})["rules"] == dict(sorted(expected.items())[:1])


def test_a_write_is_seen_by_the_next_request_of_any_process(
    engines: Callable[[str], tuple[Engine, Engine]],
) -> None:
    """Without Redis: neither process is ever behind, and what is unchanged is not read again."""
    one, two = engines("")
    rounds(one, two)
    before = one.ask()
    assert [one.ask()["loads"] for _ in range(3)] == [before["loads"]] * 3


def test_a_write_is_seen_through_redis(
    engines: Callable[[str], tuple[Engine, Engine]], redis_server: RedisServer
) -> None:
    """With Redis: the same, and what one process read the other one need not read."""
    with redis_server.client() as client:
        client.flushall()
    one, two = engines(redis_server.url)
    rounds(one, two)
    query = {"tags": ["language:python"]}
    loads = two.ask()["loads"]
    one.ask(query=query)
    assert two.ask(query=query) == {"rules": {}, "loads": loads}


def test_journals_that_were_replaced_are_noticed(
    engines: Callable[[str], tuple[Engine, Engine]], tmp_path: Path
) -> None:
    """State that was removed and made anew has other rules, though its journal has the same size."""
    one, two = engines("")
    one.ask(put="r", text="old text", journal="project")
    assert two.ask()["rules"] == {"r": "old text"}
    path = tmp_path / "project" / "journal" / "rules.jsonl"
    size = path.stat().st_size
    path.unlink()
    one.ask(put="r", text="new text", journal="project")
    assert path.stat().st_size == size
    assert two.ask()["rules"] == {"r": "new text"}
