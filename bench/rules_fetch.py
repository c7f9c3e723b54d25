"""How fast rules are fetched by filters, and how often from a cache: `python -m bench.rules_fetch [DATA]`.

The first table times single fetches through each level on real journals in a directory made here. The second
replays a day of requests on a clock that jumps from event to event: the sessions of DATA (a folder of Claude
Code transcripts) with their times of day, projects, tools and paths, or a made-up day without it.

What a session asks is assumed: it begins with a warm-up; each prompt asks for absolute rules, preferences
and behaviors; each tool call for absolute rules, and for those of its context, which is `shell` or the kind
of the file it names (`py`, `md`, …). The second half of the table asks by the file's path instead, which
makes nearly as many keys as there are files. During the day rules are edited in two bursts, after one and two
thirds of the events, ten edits each; every edit changes the generation of all keys.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from bench.rules_day import SHELL, Event, made_up_day, recorded_day
from bench.rules_edit import PROCESSES, edit_rule, fetch_after_edits, fetch_in_new_process, figures
from store.cache import ProcessCache
from store.clock import SystemClock
from tests.adapters import ManualClock, MemoryJournal
from workbench.config import CacheConfig, Config
from workbench.entry.project import open_workspace
from workbench.entry.services.rules import rule_fetcher
from workbench.lists.rules import RULES
from workbench.records.rules import Authority, Category, Rule
from workbench.rules.curation.ruletype import to_body
from workbench.rules.fetching.cache import WARM_CATEGORIES, RuleFetcher, rules_generation
from workbench.rules.fetching.facets import RuleFilter, column_rules
from workbench.rules.fetching.queries import RulePage, RuleRequest, every, fetch, rule_filter
from workbench.rules.fetching.stored_pages import rules_held
from workbench.rules.ruleset import rule_set

ROUNDS = 2000
EDITS = 10  # in each of two bursts
EDITED = 10  # rules, one after the other, each followed by a fetch

TOOLS = ("claude", "codex", "gemini")
SCOPES = ("git", SHELL, "tests", "docs", "path:src/**", "path:tests/**", "path:*.py", "path:*.ts")
TAGS = ("language:python", "language:typescript", "tool:git", "workflow:commit")


def main(arguments: Sequence[str] | None = None) -> int:
    """Print both tables in Markdown."""
    parser = argparse.ArgumentParser(prog="python -m bench.rules_fetch", description=__doc__)
    parser.add_argument("data", nargs="?", type=Path, help="folder of Claude Code transcripts")
    parser.add_argument("--rules", default="1000,50000", help="sizes of rulebooks (default: 1000,50000)")
    parser.add_argument("--redis", default="", metavar="URL", help="measure the second level there")
    options = parser.parse_args(arguments)
    print(f"{os.cpu_count()} cores, Python {sys.version.split()[0]}, {ROUNDS:,} fetches a figure.\n")
    print("| fetch by filters | rules | p50 ms | p95 ms | worst ms | aim p95 |\n|---|--:|--:|--:|--:|---|")
    for size in map(int, options.rules.split(",")):
        for row in latencies(size, options.redis):
            print(row, flush=True)
    day = made_up_day() if options.data is None else recorded_day(options.data)
    origin = "made up" if options.data is None else "recorded"
    sessions = len({event.session for event in day})
    print(f"\nA {origin} day: {sessions} sessions, {len(day):,} events, {2 * EDITS} edits of 1,000 rules.\n")
    print("| scopes by | processes | requests | hit ratio | l1 | l2 | without edits | without warm-up |")
    print("|---|---|--:|--:|--:|--:|--:|--:|")
    for row in (*ratios(day), *ratios([replace(event, by_path=True) for event in day])):
        print(row)
    return 0


def make_rules(count: int) -> list[Rule]:
    """Return rules as large collections have them: a tenth absolute, half with a scope, few for one tool."""
    chance = random.Random(7)
    return [
        Rule(
            id=f"rule-{number:08}",
            name=f"rule {number}",
            rule=f"Use the helper of module {number % 997} for {chance.choice(('logs', 'tests', 'dates'))}.",
            category=chance.choice(tuple(Category)),
            authority=Authority.ABSOLUTE if chance.random() < 0.1 else Authority.DEFAULT,
            scope=tuple(chance.sample(SCOPES, chance.choice((0, 0, 1, 2)))),
            tool_targets=tuple(chance.sample(TOOLS, chance.choice((0, 0, 0, 1)))),
            tags=tuple(chance.sample(TAGS, chance.choice((0, 1, 1, 2)))),
            priority=chance.choice((0, 50, 50, 50, 80, 100)),
            token_cost=12,
        )
        for number in range(count)
    ]


def queries() -> list[RuleRequest]:
    """Return the requests that are timed: what a session asks, and narrower ones."""
    return [
        RuleRequest(rule_filter(tool_targets=[tool], authority=authority, scope=scope, tags=tags))
        for tool in TOOLS[:2]
        for authority in (None, "absolute", "default")
        for scope in ((), ("git",), ("path:src/a.py", SHELL))
        for tags in ((), ("language:python",))
    ]


def latencies(size: int, redis_url: str) -> Iterator[str]:
    """Yield the rows of a rulebook's size; each level is timed with the levels before it switched off."""
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch) / "project"
        root.mkdir()
        (root / "CLAUDE.md").write_text("- Never log a token.\n", encoding="utf-8")
        environment = {**os.environ, "HOME": scratch, "WORKBENCH_HOME": str(Path(scratch) / "home")}

        def fetcher(**cache: object) -> RuleFetcher:
            config = replace(Config(), cache=CacheConfig(**cache))  # type: ignore[arg-type]
            opened = open_workspace(root, config, environment)
            return rule_fetcher(opened.workspace, config, SystemClock(), wait=5)

        opened = open_workspace(root, Config(), environment)
        rules = make_rules(size)
        for start in range(0, size, 10_000):  # what is written at once has a limit
            bodies = [to_body(rule) for rule in rules[start : start + 10_000]]
            opened.journal.append("rules", "rule.put", bodies, by="bench")
        columns = column_rules(tuple(sorted(rules, key=lambda rule: rule.id)))
        requests = queries()
        yield _row("filters alone", size, [partial(fetch, columns, ask) for ask in requests], "")
        third = fetcher(seconds=0)
        first_load = _timed(lambda: third.fetch(requests[0]))
        third.fetch(requests[0])  # reading the rule files was a write
        label = "l3, the store, rule files compared"
        yield _row(label, size, [partial(third.fetch, ask) for ask in requests], "≤ 20")
        asked = [f"enabled:yes tool:{tool} authority:{one}" for tool in TOOLS[:2] for one in Authority]
        listed, wanted = opened.rule_list, [RULES.query(text) for text in asked]
        _ = listed.page(wanted[0])
        label = "pages of the tables, in place of l3"
        yield _row(label, size, [partial(listed.page, one) for one in wanted], "", rounds=ROUNDS // 20)
        if redis_url:
            second = fetcher(seconds=0, redis_url=redis_url)
            calls = [partial(second.fetch, ask) for ask in requests]
            for call in calls:
                call()
            yield _row("l2, Redis", size, calls, "")
            if second.degraded:
                raise SystemExit(f"Redis failed while it was measured: {second.notes()}")
            second.invalidate()
        first = fetcher()
        calls = [partial(first.fetch, ask) for ask in requests[:6]]  # so many fit into 1,000 rules
        for call in calls:
            call()
        yield _row("l1, this process", size, calls, "≤ 2")
        yield f"| once: first load of the store | {size:,} | {first_load:.3g} | | | |"
        edits = []
        for number in range(EDITED):
            edit_rule(opened.journal, rules[number])
            edits.append(_timed(lambda: first.fetch(requests[0])))
        yield f"| once: the first edit's fetch, which folds the journals | {size:,} | {edits[0]:.3g} | | | |"
        median, worst = float(np.median(edits[1:])), max(edits[1:])
        yield f"| first fetch after an edit | {size:,} | {median:.3g} | | {worst:.3g} | ≤ 500 |"
        whole, own = fetch_after_edits(root, environment, opened.journal, rules[EDITED:])
        for part, taken, aim in (("", whole, "≤ 500"), (", imports aside", own, "")):
            median, worst = figures(taken)
            label = f"first fetch after an edit, in a new process{part}"
            yield f"| {label} | {size:,} | {median:.3g} | | {worst:.3g} | {aim} |"
        fetched = [fetch_in_new_process(root, environment) for _ in range(PROCESSES)]
        median, worst = figures([one[1] for one in fetched])
        label = "fetch in a new process, imports aside"
        yield f"| {label} | {size:,} | {median:.3g} | | {worst:.3g} | |"
        yield f"| memory of that process, MB | {size:,} | {fetched[0][2]:.3g} | | | |"


def _row(
    name: str, size: int, calls: Sequence[Callable[[], object]], aim: str, *, rounds: int = ROUNDS
) -> str:
    taken = [_timed(calls[number % len(calls)]) for number in range(rounds)]
    median, late = np.percentile(taken, [50, 95])
    return f"| {name} | {size:,} | {median:.3g} | {late:.3g} | {max(taken):.3g} | {aim} |"


def _timed(call: Callable[[], object]) -> float:
    """Return the milliseconds of a call."""
    started = time.perf_counter()
    call()
    return (time.perf_counter() - started) * 1000


def ratios(day: Sequence[Event]) -> Iterator[str]:
    """Yield a row for each way the processes of a day can live."""
    for name, life in (
        ("one for all sessions, no Redis", Life("all")),
        ("one for all sessions, no Redis, cache.seconds 1800", Life("all", seconds=1800)),
        ("one for each session, no Redis", Life("session")),
        ("one for each session, Redis", Life("session", shared=True)),
        ("one for each event (hooks), Redis", Life("event", shared=True)),
    ):
        counts = replay(day, life)
        quiet = replay(day, life, edits=0)
        cold = replay(day, life, warm=False)
        total = counts["requests"]
        by = "path" if day[0].by_path else "context"
        yield (
            f"| {by} | {name} | {total:,} | {_hits(counts):.1%} | {counts['l1'] / total:.1%} "
            f"| {counts['l2'] / total:.1%} | {_hits(quiet):.1%} | {_hits(cold):.1%} |"
        )


def _hits(counts: dict[str, int]) -> float:
    return (counts["l1"] + counts["l2"]) / counts["requests"]


class SharedCache:
    """A second level with Redis's limits on a clock that jumps, which the time of a real one can't."""

    def __init__(self, clock: ManualClock) -> None:
        self._kept = ProcessCache[tuple[bytes, int]](
            clock, seconds=1800, most=10_000, parts=lambda kept: [(id(kept), part) for part in range(kept[1])]
        )
        self.fault = ""

    def get(self, key: str) -> bytes | None:
        found = self._kept.get(key)
        return None if found is None else found[0]

    def put(self, key: str, value: bytes, weight: int = 1) -> None:
        self._kept.put(key, (value, weight))

    def clear(self) -> None:
        self._kept.clear()


@dataclass(frozen=True, slots=True)
class Life:
    """How long a process lives (all, session or event), and what its caches are."""

    lasting: str
    shared: bool = False
    seconds: int = 300


def replay(day: Sequence[Event], life: Life, *, edits: int = EDITS, warm: bool = True) -> dict[str, int]:
    """Replay a day and return how many requests each level answered.

    The warm-up's own requests are not counted: nobody waits for them.
    """
    clock = ManualClock(0.0)
    journal = MemoryJournal(clock)
    rules = make_rules(1_000)
    held = rule_set(rules)
    journal.append("rules", "rule.put", [to_body(rule) for rule in rules], by="bench")
    second = SharedCache(clock) if life.shared else None
    fetchers: dict[object, RuleFetcher] = {}
    edited = {len(day) * third // 3 + burst for third in (1, 2) for burst in range(edits)}
    counts = {"requests": 0, "l1": 0, "l2": 0}
    started: set[str] = set()
    for number, event in enumerate(day):
        clock.advance(event.at - clock.now())
        if number in edited:
            journal.append("rules", "rule.put", [to_body(rules[number % 1_000])], by="bench")
        owner = {"all": "", "session": event.session, "event": number}[life.lasting]
        if owner not in fetchers:
            process = ProcessCache[RulePage](clock, seconds=life.seconds, most=1000, parts=rules_held)
            fetchers[owner] = RuleFetcher(
                lambda: rules_generation([journal]),
                lambda fresh: held,
                process,
                second,
            )
        found = fetchers[owner]
        if event.session not in started:
            started.add(event.session)
            if warm:
                found.warm_up(event.project, "claude")
        before = found.lookups_since()
        for wanted in _asked(event):
            if wanted.authority is Authority.ABSOLUTE:
                list(every(found.fetch, wanted))
            else:
                found.fetch(RuleRequest(wanted))
        after = found.lookups_since()
        for level in ("l1", "l2", "l3"):
            hits = after.get(f"rules.{level}", (0, 0))[0] - before.get(f"rules.{level}", (0, 0))[0]
            counts["requests"] += hits
            counts[level] = counts.get(level, 0) + hits
    return counts


def _asked(event: Event) -> list[RuleFilter]:
    """Return what an event asks for, see the module's text."""
    begin = rule_filter(project_id=event.project, tool_targets=["claude"])
    absolute = replace(begin, authority=Authority.ABSOLUTE)
    if event.kind == "prompt":
        return [absolute, *(replace(begin, category=category) for category in WARM_CATEGORIES)]
    if event.kind == "tool":
        return [absolute, *([replace(begin, scope=(event.scope,))] if event.scope else [])]
    return []


if __name__ == "__main__":
    sys.exit(main())
