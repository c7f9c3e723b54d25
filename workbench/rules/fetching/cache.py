"""Fetching rules through caches [rules, Caching]: of this process, in Redis if there is one, then the store.

Every key holds the generation of the journals that rules come from. A write by any process changes it, so
that no process is ever given what was in force before: nobody has to be notified, and nothing expires late.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Unpack

from workbench.ports import Cache, Journal
from workbench.records.requests import FilterFields
from workbench.records.rules import Authority, Category, ContextRules, Rule
from workbench.rules.curation.ruletype import STREAM
from workbench.rules.fetching.facets import RuleFilter
from workbench.rules.fetching.queries import (
    DEFAULT_LIMIT,
    TOP_K,
    RulePage,
    RuleRequest,
    Search,
    every,
    fetch,
    get_context_rules,
    rule_filter,
    rule_request,
)
from workbench.rules.fetching.stored_pages import cache_key, decode_page, encode_page
from workbench.rules.ruleset import RuleSet

if TYPE_CHECKING:
    from workbench.rules.fetching.facets import RuleColumns


PROCESS = "rules.l1"
SHARED = "rules.l2"
STORE = "rules.l3"
WARM_CATEGORIES = (Category.PREFERENCE, Category.BEHAVIOR)

Load = Callable[[bool], RuleSet]
"""Syncs rules and returns them."""


@dataclass(frozen=True, slots=True)
class CacheLevel:
    """How often a level had the answer, did not have it, and was not asked though it could have been."""

    hits: int = 0
    misses: int = 0
    bypasses: int = 0


def rules_generation(journals: Sequence[Journal], *parts: str) -> str:
    """Return a text that changes with every write to the rules of the journals, and with `parts`.

    `parts` are what else decides which rules are in force, such as whether the user's home is read. Raises:
    StoreError.
    """
    state = "\0".join((*parts, *(journal.revision(STREAM) for journal in journals)))
    return hashlib.blake2b(state.encode("utf-8", "surrogateescape"), digest_size=12).hexdigest()


class RuleFetcher:
    """Fetches rules through the caches; any number of threads may use it.

    `generation` is asked on every request and `load` when no cache has the answer, by one thread at a time;
    it is given whether rule files are to be looked for, also those that nobody knows of yet.
    `shared` is None without a second level, and `missing` says why if there should be one.
    """

    def __init__(
        self,
        generation: Callable[[], str],
        load: Load,
        process: Cache[RulePage],
        shared: Cache[bytes] | None = None,
        *,
        missing: str = "",
    ) -> None:
        self._generation = generation
        self._load = load
        self._process = process
        self._shared = shared
        self._missing = missing
        self._latest = ""
        self._loading = threading.Lock()
        self._flights: dict[str, _Flight] = {}
        self._lock = threading.Lock()
        self._levels: dict[str, CacheLevel] = {}
        self._told: set[str] = set()

    def get_rules(
        self,
        *,
        limit: int = DEFAULT_LIMIT,
        cursor: str | None = None,
        bypass_cache: bool = False,
        **asked: Unpack[FilterFields],
    ) -> RulePage:
        """Return what `fetching.get_rules` does. `bypass_cache` asks the store and renews what is cached.

        How often a rule was used, and when last, may be as old as the cached page. Raises: UsageError;
        StoreError.
        """
        request = rule_request(rule_filter(**asked), limit=limit, cursor=cursor)
        return self.fetch(request, bypass_cache=bypass_cache)

    def get_rule(self, identifier: str) -> Rule | None:
        """Return the rule of that id from the store, None if there is none. Raises: StoreError."""
        with self._loading:
            return self._load(False).find(identifier)

    def get_context_rules(
        self,
        search: Search,
        query: str,
        selected: RuleFilter,
        *,
        k: int = TOP_K,
        score_threshold: float = 0.5,
    ) -> ContextRules:
        """Return all absolute rules, through the caches, and the `k` best default rules of a search."""
        return get_context_rules(self.fetch, search, query, selected, k=k, score_threshold=score_threshold)

    def warm_up(self, project_id: str | None, tool: str) -> None:
        """Fetch what a session of a tool begins with: absolute rules, then preferences and behaviors.

        The store is synced first, so that rule files edited by hand since the last session count.
        Raises: StoreError.
        """
        self._stored_columns(fresh=True)
        begin = rule_filter(project_id=project_id, tool_targets=(tool,) if tool else ())
        for _ in every(self.fetch, replace(begin, authority=Authority.ABSOLUTE)):
            pass  # all pages of them, as the composite asks for
        for category in WARM_CATEGORIES:
            self.fetch(RuleRequest(replace(begin, category=category)))

    def invalidate(self) -> None:
        """Forget everything cached, for all processes. Writes to the journals need no such call."""
        self._process.clear()
        if self._shared is not None:
            self._shared.clear()

    @property
    def degraded(self) -> tuple[str, ...]:
        """What is missing at the moment: `redis` where it was asked for and cannot be used."""
        return ("redis",) if self._fault() else ()

    def notes(self) -> tuple[str, ...]:
        """Return sentences about what is missing, each once in the life of the process."""
        fault = self._fault()
        with self._lock:
            if not fault or fault in self._told:
                return ()
            self._told.add(fault)
        return (fault,)

    def figures(self) -> Mapping[str, CacheLevel]:
        """Return how often each level that was asked at all had the answer."""
        with self._lock:
            return dict(self._levels)

    def lookups_since(self, since: Mapping[str, CacheLevel] | None = None) -> dict[str, tuple[int, int]]:
        """Return {level: (hits, misses)} for metrics, of what came after earlier `figures`."""
        before = since or {}
        found = {}
        for name, level in sorted(self.figures().items()):
            earlier = before.get(name, CacheLevel())
            counts = (level.hits - earlier.hits, level.misses - earlier.misses)
            if any(counts):
                found[name] = counts
        return found

    def fetch(self, request: RuleRequest, *, bypass_cache: bool = False) -> RulePage:
        """Answer a request from the first level that can. Raises: StoreError."""
        generation = self._generation()
        if generation != self._latest:
            self._latest = generation
            self._process.clear()  # what came before is never asked for again and would be in the way
        key = f"{generation}:{cache_key(request)}"
        if bypass_cache:
            self._count(PROCESS, bypasses=1)
            if self._shared is not None:
                self._count(SHARED, bypasses=1)
            return self._from_store(key, request, fresh=True)
        while True:
            page = self._process.get(key)
            if page is not None:
                self._count(PROCESS, hits=1)
                return page
            flight, leading = self._board(key)
            if leading:
                return self._lead(key, request, flight)
            flight.landed.wait()
            if flight.page is not None:
                self._count(PROCESS, hits=1)
                return flight.page

    def _board(self, key: str) -> tuple[_Flight, bool]:
        """Return the flight that fetches a key and whether it is this thread's own (single flight)."""
        with self._lock:
            flight = self._flights.get(key)
            if flight is not None:
                return flight, False
            flight = self._flights[key] = _Flight()
            return flight, True

    def _lead(self, key: str, request: RuleRequest, flight: _Flight) -> RulePage:
        """Fetch for everyone who waits; if it fails the others try for themselves."""
        try:
            # Whoever led before may have landed since this thread looked.
            flight.page = self._process.get(key)
            self._count(PROCESS, hits=flight.page is not None, misses=flight.page is None)
            if flight.page is None:
                flight.page = self._from_shared(key) or self._from_store(key, request)
            return flight.page
        finally:
            with self._lock:
                del self._flights[key]
            flight.landed.set()

    def _from_shared(self, key: str) -> RulePage | None:
        if self._shared is None:
            return None
        data = self._shared.get(key)
        page = None if data is None else decode_page(key, data)
        if page is None:
            self._count(SHARED, misses=1)
            return None
        self._count(SHARED, hits=1)
        self._process.put(key, page, len(page.rules))
        return page

    def _from_store(self, key: str, request: RuleRequest, *, fresh: bool = False) -> RulePage:
        page = fetch(self._stored_columns(fresh=fresh), request)
        self._count(STORE, hits=1)
        self._process.put(key, page, len(page.rules))
        if self._shared is not None:
            self._shared.put(key, encode_page(key, page), len(page.rules))
        return page

    def _stored_columns(self, *, fresh: bool) -> RuleColumns:
        with self._loading:
            return self._load(fresh).columns

    def _fault(self) -> str:
        return self._missing if self._shared is None else self._shared.fault

    def _count(self, level: str, *, hits: int = 0, misses: int = 0, bypasses: int = 0) -> None:
        with self._lock:
            found = self._levels.get(level, CacheLevel())
            self._levels[level] = CacheLevel(
                found.hits + hits, found.misses + misses, found.bypasses + bypasses
            )


@dataclass(slots=True, eq=False)
class _Flight:
    """A fetch under way. `page` is None if it failed."""

    landed: threading.Event = field(default_factory=threading.Event)
    page: RulePage | None = None
