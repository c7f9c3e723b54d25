"""Fetching through caches gives what fetching from the store gives, and asks the store less."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from store.cache import ProcessCache
from store.redis_cache import RedisCache
from tests.adapters import ManualClock, MemoryCache, MemoryJournal
from tests.redis_server import RedisServer
from tests.rules.strategies import IDS, queries
from tests.rules.strategies import rules as rules_with
from workbench.errors import StoreError, UsageError
from workbench.records.rules import Authority, Category, Rule
from workbench.rules.curation.ruletype import from_body, to_body
from workbench.rules.fetching.cache import CacheLevel, RuleFetcher, rules_generation
from workbench.rules.fetching.facets import RuleFilter, column_rules
from workbench.rules.fetching.queries import RulePage, get_rules, rule_filter
from workbench.rules.fetching.stored_pages import rules_held, shared_prefix
from workbench.rules.ruleset import RuleSet, rule_set

Make = Callable[..., Rule]


class Store:
    """Two journals and what they add up to; counts how often it is asked."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.project, self.home = MemoryJournal(self.clock), MemoryJournal(self.clock)
        self.loads = 0
        self._read: tuple[str, RuleSet] = ("", rule_set(()))

    def put(self, *rules: Rule, home: bool = False) -> None:
        journal = self.home if home else self.project
        journal.append("rules", "rule.put", [to_body(found) for found in rules], by="test")

    def remove(self, identifier: str) -> None:
        """Take a rule out of both journals."""
        for journal in (self.project, self.home):
            journal.append("rules", "rule.removed", [{"id": identifier}], by="test")

    def rules(self) -> tuple[Rule, ...]:
        known: dict[str, Rule] = {}
        for journal in (self.project, self.home):
            for _, entry in journal.read("rules"):
                if entry.kind == "rule.put":
                    known[str(entry.body["id"])] = from_body(entry.body)
                else:
                    known.pop(str(entry.body["id"]), None)
        return tuple(known[identifier] for identifier in sorted(known))

    def load(self, fresh: bool) -> RuleSet:
        self.loads += 1
        if self._read[0] != self.generation():
            self._read = (self.generation(), rule_set(self.rules()))
        return self._read[1]

    def generation(self) -> str:
        return rules_generation((self.project, self.home))

    def fetcher(self, shared: Any = None, **options: Any) -> RuleFetcher:
        """Return a fetcher as another process would have it: with a first level of its own."""
        process = ProcessCache[RulePage](self.clock, seconds=300, most=1000, parts=rules_held)
        return RuleFetcher(self.generation, self.load, process, shared, **options)


@pytest.fixture
def store() -> Store:
    return Store()


def ids(page: RulePage) -> list[str]:
    return [found.id for found in page.rules]


def test_each_level_answers_for_the_next(store: Store, rule: Make) -> None:
    """The store is asked once, another process finds the answer in the second level, and each is counted."""
    store.put(rule("r1"))
    shared: MemoryCache[bytes] = MemoryCache()
    one, two = store.fetcher(shared), store.fetcher(shared)
    pages = [one.get_rules(scope="git"), one.get_rules(scope=["git"]), two.get_rules(scope=("git",))]
    assert [ids(page) for page in pages] == [["r1"]] * 3
    assert store.loads == 1
    assert one.figures() == {
        "rules.l1": CacheLevel(1, 1),
        "rules.l2": CacheLevel(0, 1),
        "rules.l3": CacheLevel(1, 0),
    }
    assert two.figures() == {"rules.l1": CacheLevel(0, 1), "rules.l2": CacheLevel(1, 0)}
    before = one.figures()
    one.get_rules(scope="git")
    assert one.lookups_since(before) == {"rules.l1": (1, 0)}
    assert one.lookups_since() == {"rules.l1": (2, 1), "rules.l2": (0, 1), "rules.l3": (1, 0)}


def test_a_page_is_asked_for_again_after_its_time(store: Store, rule: Make) -> None:
    """The first level forgets after 300 seconds; the key is the same for the same request alone."""
    store.put(rule("r1"))
    fetcher = store.fetcher()
    fetcher.get_rules()
    store.clock.advance(299)
    fetcher.get_rules()
    assert store.loads == 1
    store.clock.advance(1)
    fetcher.get_rules()
    fetcher.get_rules(limit=99)
    assert store.loads == 3


def test_the_first_level_holds_so_many_rules_and_counts_shared_ones_once(store: Store, rule: Make) -> None:
    """Pages of the same rules fit together; pages of other generations are gone with the first request."""
    store.put(*(rule(f"r{number}") for number in range(60)))
    process = ProcessCache[RulePage](store.clock, seconds=300, most=100, parts=rules_held)
    fetcher = RuleFetcher(store.generation, store.load, process)
    for scope in ("a", "b", "c"):
        fetcher.get_rules(scope=scope)
    assert process.held == 60
    assert [len(fetcher.get_rules(scope=scope).rules) for scope in ("a", "b", "c")] == [60] * 3
    assert store.loads == 3
    store.put(rule("r0"))
    fetcher.get_rules(limit=5)
    assert process.held == 5


@pytest.mark.parametrize("home", [False, True])
def test_the_next_request_after_a_write_sees_it(store: Store, rule: Make, home: bool) -> None:
    """A write to either journal is seen at once by every process, with no call to anyone."""
    shared: MemoryCache[bytes] = MemoryCache()
    fetchers = [store.fetcher(shared), store.fetcher(shared)]
    assert [ids(fetcher.get_rules()) for fetcher in fetchers] == [[], []]
    store.put(rule("r1"), home=home)
    assert [ids(fetcher.get_rules()) for fetcher in fetchers] == [["r1"], ["r1"]]
    store.put(rule("r1", "Use spaces."), home=home)
    assert [fetcher.get_rules().rules[0].rule for fetcher in fetchers] == ["Use spaces."] * 2
    store.remove("r1")
    assert [ids(fetcher.get_rules()) for fetcher in fetchers] == [[], []]


def test_the_generation_tells_everything_that_decides(store: Store, rule: Make) -> None:
    """Either journal and each further part change it; use of rules, in a stream of its own, does not."""
    seen = {store.generation()}
    store.put(rule("r1"))
    seen.add(store.generation())
    store.put(rule("r1"), home=True)
    seen.add(store.generation())
    store.project.append("rule-usage", "rule.used", [{"ids": ["r1"]}], by="test")
    seen.add(store.generation())
    journals = (store.project, store.home)
    seen |= {rules_generation(journals, "a"), rules_generation(journals, "a", "b")}
    seen |= {rules_generation(journals[::-1]), rules_generation(journals, "ab")}
    assert len(seen) == 7


def test_bypass_asks_the_store_and_renews(store: Store, rule: Make) -> None:
    """With bypass no cache is read; what the store says replaces what was cached."""
    shared: MemoryCache[bytes] = MemoryCache()
    fetcher = store.fetcher(shared)
    fetcher.get_rules()
    for key in shared.values:
        shared.values[key] = b"damaged"
    store.clock.advance(299)
    fetcher.get_rules(bypass_cache=True)
    assert store.loads == 2
    assert fetcher.figures() == {
        "rules.l1": CacheLevel(0, 1, 1),
        "rules.l2": CacheLevel(0, 1, 1),
        "rules.l3": CacheLevel(2, 0),
    }
    store.clock.advance(299)
    fetcher.get_rules()
    store.fetcher(shared).get_rules()
    assert store.loads == 2


def test_damaged_and_foreign_values_are_misses(store: Store, rule: Make) -> None:
    """Whatever stands under a key in the second level, the answer is the store's, which then stands there."""
    store.put(rule("r1"))
    shared: MemoryCache[bytes] = MemoryCache()
    store.fetcher(shared).get_rules()
    [key] = shared.values
    good = shared.values[key]
    for value in (b"", b"\xff", b"{}", b"null", good[:-1], good.replace(b'"key":"', b'"key":"x')):
        shared.values[key] = value
        assert ids(store.fetcher(shared).get_rules()) == ["r1"]
        assert shared.values[key] == good


def test_a_second_level_that_fails_is_told_once_and_costs_no_answer(store: Store, rule: Make) -> None:
    """While it is away every request is answered and marked; the sentence about it comes once."""
    store.put(rule("r1"))
    shared: MemoryCache[bytes] = MemoryCache()
    fetcher = store.fetcher(shared)
    shared.broken = "Redis is away"
    assert ids(fetcher.get_rules()) == ["r1"]
    assert (fetcher.degraded, fetcher.notes(), fetcher.notes()) == (("redis",), ("Redis is away",), ())
    shared.broken = "Redis is full"
    assert (fetcher.degraded, fetcher.notes(), fetcher.notes()) == (("redis",), ("Redis is full",), ())
    shared.broken = ""
    assert (fetcher.degraded, fetcher.notes()) == ((), ())
    lacking = store.fetcher(missing="install it")
    assert ids(lacking.get_rules()) == ["r1"]
    assert (lacking.degraded, lacking.notes()) == (("redis",), ("install it",))
    assert (store.fetcher().degraded, store.fetcher().notes()) == ((), ())


def test_a_session_begins_warm(store: Store, rule: Make) -> None:
    """After the warm-up the session's absolute rules, preferences and behaviors come from the first level."""
    store.put(rule("r1", authority=Authority.ABSOLUTE), rule("r2", category=Category.PREFERENCE))
    store.put(*(rule(f"q{number}", authority=Authority.ABSOLUTE, project_id="q") for number in range(120)))
    fetcher = store.fetcher()
    fetcher.warm_up("q", "claude")
    selected = rule_filter(project_id="q", tool_targets=["claude"])
    before = fetcher.figures()
    assert len(fetcher.get_context_rules(lambda *_: [], "q", selected).absolute) == 121
    assert fetcher.lookups_since(before) == {"rules.l1": (2, 0)}
    fetcher.warm_up("p", "claude")
    loads, before = store.loads, fetcher.figures()
    session = {"project_id": "p", "tool_targets": ["claude"]}
    assert ids(fetcher.get_rules(authority="absolute", **session)) == ["r1"]  # type: ignore[arg-type]
    assert ids(fetcher.get_rules(category="preference", **session)) == ["r2"]  # type: ignore[arg-type]
    assert ids(fetcher.get_rules(category="behavior", **session)) == ["r1"]  # type: ignore[arg-type]
    assert store.loads == loads
    assert fetcher.lookups_since(before) == {"rules.l1": (3, 0)}


def test_requests_that_make_no_sense_reach_no_cache(store: Store) -> None:
    """A wrong request is refused before anything is asked or kept."""
    fetcher = store.fetcher()
    for wrong in ({"category": "x"}, {"authority": "x"}, {"limit": 0}, {"cursor": "x"}):
        with pytest.raises(UsageError):
            fetcher.get_rules(**wrong)
    assert (store.loads, fetcher.figures()) == (0, {})


def test_a_store_that_fails_is_tried_again(store: Store, rule: Make) -> None:
    """The error reaches who asked, nothing is cached of it, and the next request asks anew."""
    store.put(rule("r1"))
    fetcher = store.fetcher()
    whole = store.project.read
    store.project.read = _failing  # type: ignore[method-assign]
    for _ in range(2):
        with pytest.raises(StoreError, match="no disk"):
            fetcher.get_rules()
    store.project.read = whole  # type: ignore[method-assign]
    assert ids(fetcher.get_rules()) == ["r1"]


def _failing(stream: str, start: int = 0) -> Any:
    raise StoreError(f"no disk for {stream} at {start}")


def test_invalidate_forgets_everything_everywhere(store: Store) -> None:
    """After it both levels are empty."""
    shared: MemoryCache[bytes] = MemoryCache()
    fetcher = store.fetcher(shared)
    fetcher.get_rules()
    fetcher.invalidate()
    assert shared.values == {}
    fetcher.get_rules()
    assert store.loads == 2


def test_a_rule_and_the_composite_come_through_the_fetcher(store: Store, rule: Make) -> None:
    """A rule is found by id; absolute rules of the composite come from the caches the second time."""
    store.put(rule("a", authority=Authority.ABSOLUTE), rule("d"))
    fetcher = store.fetcher()
    found = fetcher.get_rule("d")
    assert (found is not None and found.id, fetcher.get_rule("x")) == ("d", None)

    def search(query: str, selected: RuleFilter, limit: int, least: float) -> list[tuple[Rule, float]]:
        assert (query, selected.authority, limit, least) == ("q", Authority.DEFAULT, 5, 0.5)
        return [(rule("d"), 0.8)]

    context = [fetcher.get_context_rules(search, "q", rule_filter(project_id="p")) for _ in range(2)]
    assert [[found.id for found in each.rules] for each in context] == [["a", "d"]] * 2
    assert fetcher.figures()["rules.l1"] == CacheLevel(1, 1)


def test_columns_follow_the_use_of_rules(store: Store, rule: Make) -> None:
    """Rules that differ in their use alone are given as the store has them now."""
    counts = iter((1, 2))

    held = rule_set([rule("r1")])

    def load(fresh: bool) -> RuleSet:
        return held.with_counts({"r1": rule("r1", usage_count=next(counts))})

    fetcher = RuleFetcher(lambda: "g", load, MemoryCache())
    used = [fetcher.get_rules(bypass_cache=True).rules[0].usage_count for _ in range(2)]
    assert used == [1, 2]


def test_threads_that_want_the_same_ask_the_store_once(store: Store, rule: Make) -> None:
    """Eight threads at the barrier, one load: the others get what the first one fetched."""
    store.put(rule("r1"))
    fetcher = store.fetcher()
    for scope in ("a", "b", "c"):
        loads = store.loads
        pages = together(8, lambda scope=scope: fetcher.get_rules(scope=scope))  # type: ignore[misc]
        assert [ids(page) for page in pages] == [["r1"]] * 8
        assert store.loads == loads + 1
    figures = fetcher.figures()
    assert (figures["rules.l1"], figures["rules.l3"]) == (CacheLevel(21, 3), CacheLevel(3, 0))


def test_threads_that_waited_for_a_failure_try_for_themselves(store: Store, rule: Make) -> None:
    """One thread gets the store's error; the others, who had no part in it, get an answer."""
    store.put(rule("r1"))
    failures = iter([StoreError("once")])

    def load(fresh: bool) -> RuleSet:
        error = next(failures, None)
        if error is not None:
            raise error
        return store.load(fresh)

    fetcher = RuleFetcher(
        store.generation, load, ProcessCache(store.clock, seconds=300, most=1000, parts=rules_held)
    )

    def attempt() -> list[str]:
        try:
            return ids(fetcher.get_rules())
        except StoreError as error:
            return [error.message]

    results = together(8, attempt)
    assert sorted(results) == [["once"], *[["r1"]] * 7]
    assert store.loads == 1


def test_threads_read_while_others_write(store: Store, rule: Make) -> None:
    """A reader who begins after a write was acknowledged never gets what was before it."""
    fetcher = store.fetcher(MemoryCache())
    written = 0
    stale: list[tuple[int, int]] = []
    lock = threading.Lock()

    def work(number: int) -> None:
        nonlocal written
        for _ in range(40):
            if number == 0:
                with lock:
                    store.put(rule("r1", priority=(written + 1) % 101))
                    written += 1
            else:
                least = written
                page = fetcher.get_rules()
                found = page.rules[0].priority if page.rules else 0
                if found < least:
                    stale.append((found, least))

    numbers = iter(range(4))
    together(4, lambda: work(next(numbers)))
    assert (stale, written) == ([], 40)


def together(count: int, action: Callable[[], Any]) -> list[Any]:
    """Run an action in several threads that start at a barrier; return what each returned."""
    barrier, results = threading.Barrier(count), []

    def run() -> None:
        barrier.wait()
        results.append(action())

    threads = [threading.Thread(target=run) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def test_processes_share_a_real_redis(
    make_redis: Callable[..., RedisServer], store: Store, rule: Make
) -> None:
    """Through Redis and, once it is killed, without it: the same rules, and the loss is told once."""
    store.put(*(rule(f"r{number:03}", "Use \udcff tabs.") for number in range(250)))
    server = make_redis()
    levels = [
        RedisCache(
            server.url, shared_prefix("p"), store.clock, seconds=1800, weight=10_000, retry=30, wait=60
        )
        for _ in range(2)
    ]
    one, two = (store.fetcher(level) for level in levels)
    expected = get_rules(column_rules(store.rules()))
    assert one.get_rules() == two.get_rules() == expected
    assert store.loads == 1
    store.put(rule("r000", "Use spaces."))
    assert two.get_rules().rules[0].rule == one.get_rules().rules[0].rule == "Use spaces."
    assert store.loads == 2
    server.kill()
    store.put(rule("r000", "Use neither."))
    assert [each.get_rules().rules[0].rule for each in (one, two)] == ["Use neither."] * 2
    assert (one.degraded, len(one.notes()), one.notes()) == (("redis",), 1, ())
    for level in levels:
        level.close()


class Interleaving(RuleBasedStateMachine):
    """Two processes and one second level, which is damaged and lost; the store is the oracle."""

    def __init__(self) -> None:
        super().__init__()
        self.store = Store()
        self.shared: MemoryCache[bytes] = MemoryCache()
        self.fetchers = [self.store.fetcher(self.shared), self.store.fetcher(self.shared)]
        self.paging: tuple[dict[str, Any], int, str] | None = None

    @rule(data=st.data(), identifier=st.sampled_from(IDS), home=st.booleans())
    def put(self, data: st.DataObject, identifier: str, home: bool) -> None:
        self.store.put(data.draw(rules_with(identifier)), home=home)

    @rule(identifier=st.sampled_from(IDS))
    def remove(self, identifier: str) -> None:
        self.store.remove(identifier)

    @rule(seconds=st.sampled_from((1, 150, 301, -10)))
    def wait(self, seconds: int) -> None:
        """Time passes, or the clock is set back."""
        self.store.clock.advance(seconds)

    @rule(broken=st.sampled_from(("", "away")))
    def outage(self, broken: str) -> None:
        """The second level goes or comes back with what it had."""
        self.shared.broken = broken

    @rule(cut=st.integers(0, 40))
    def damage(self, cut: int) -> None:
        """All values of the second level lose their ends."""
        self.shared.values = {key: value[:cut] for key, value in self.shared.values.items()}

    @rule(process=st.integers(0, 1))
    def restart(self, process: int) -> None:
        """A process ends and another one begins with a cold first level and a warm-up."""
        self.fetchers[process] = self.store.fetcher(self.shared)
        self.fetchers[process].warm_up("p", "claude")

    @rule(process=st.integers(0, 1))
    def invalidate(self, process: int) -> None:
        self.fetchers[process].invalidate()

    @rule(
        process=st.integers(0, 1), query=queries(), limit=st.sampled_from((1, 3, 100)), bypass=st.booleans()
    )
    def read(self, process: int, query: dict[str, Any], limit: int, bypass: bool) -> None:
        """A process fetches: it gets what the store says now."""
        page = self.fetchers[process].get_rules(limit=limit, bypass_cache=bypass, **query)
        assert page == get_rules(column_rules(self.store.rules()), limit=limit, **query)
        if page.next_cursor is not None:
            self.paging = (query, limit, page.next_cursor)

    @precondition(lambda self: self.paging is not None)
    @rule(process=st.integers(0, 1))
    def read_on(self, process: int) -> None:
        """A process fetches the page after one that some process fetched before."""
        assert self.paging is not None
        query, limit, cursor = self.paging
        page = self.fetchers[process].get_rules(limit=limit, cursor=cursor, **query)
        assert page == get_rules(column_rules(self.store.rules()), limit=limit, cursor=cursor, **query)

    @invariant()
    def everything_is_known(self) -> None:
        """The plainest request is right in both processes after every step."""
        expected = get_rules(column_rules(self.store.rules()))
        assert [fetcher.get_rules() for fetcher in self.fetchers] == [expected, expected]


TestInterleaving = Interleaving.TestCase
