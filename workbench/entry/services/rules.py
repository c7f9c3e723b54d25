"""Rules as faces ask for them: changed, listed, through caches, by a search, by meaning, again and again."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.entry.project import OpenedProject, find_state
from workbench.entry.services.opening import Operation, ProjectHost, report
from workbench.errors import ModelError, UnknownRecord
from workbench.records.dataclass import dataclass
from workbench.records.rules import Rule

if TYPE_CHECKING:
    from workbench.config import Config
    from workbench.entry.project import RedisCache
    from workbench.entry.services.metrics import Measured
    from workbench.lists.tables import Page
    from workbench.plan.matching import RuleMatcher
    from workbench.plan.workspace import Workspace
    from workbench.ports import Clock, Float32, Neighbours
    from workbench.records.requests import FilterFields
    from workbench.records.rules import ContextRules
    from workbench.rules.conflicts.queue import Meaning
    from workbench.rules.curation.curator import Curator
    from workbench.rules.fetching.cache import RuleFetcher
    from workbench.rules.fetching.facets import RuleFilter
    from workbench.rules.fetching.queries import Search
    from workbench.rules.matching.lexical import RuleWords
    from workbench.rules.matching.relevance import Mode
    from workbench.rules.matching.search import RuleIndex
    from workbench.rules.ruleset import RuleSet

LACKING = "cache.redis_url is set and Redis is not used: install context-workbench[redis]"

Progress = Callable[[int, int], None]


def rule_curator(project: OpenedProject, by: str) -> Curator:
    """Return the service that changes a project's rules in the name of a face."""
    from workbench.rules.curation.curator import Curator

    return Curator(project.workspace.rule_store(), by, project.workspace.rule_files)


@contextmanager
def curate_rules(host: ProjectHost, operation: str) -> Iterator[Curator]:
    """Hold the rules of a project that is kept open, synced with their files. Raises: WorkbenchError."""
    with host.operation(operation) as work:
        sync_rules(work)
        yield rule_curator(work.project, host.by)


def rule_page(
    host: ProjectHost, text: str, sort: str, *, limit: int, cursor: str | None = None
) -> Page[Rule]:
    """Return so many rules in force of a project that is kept open, from where a cursor says.

    `text` is a filter. Raises: UsageError for what is no filter, column or cursor; StoreError.
    """
    from workbench.lists.rules import RULES

    query = RULES.query(text, sort)
    with host.operation("rules") as work:
        sync_rules(work)
        return work.project.rule_list.page(query, cursor, limit)


def sync_rules(work: Operation) -> None:
    """Sync the rules with their files; what is odd about them is reported."""
    book, notes = work.project.workspace.sync_rules()
    work.measurement.candidates = len(book.rules)
    for note in (*notes, *book.warnings):
        report(note)


def load_stored_rules(
    start: Path, config: Config, environment: Mapping[str, str] = os.environ
) -> RuleSet | None:
    """Return a project's rules as they are stored, None if they have to be read again. Raises: StoreError.

    See `unchanged_rules`: takes no listing, no index and no model.
    """
    from workbench.rules.keptbook import unchanged_rules

    return unchanged_rules(find_state(start, config, environment).rule_store())


def rule_fetcher(
    workspace: Workspace, config: Config, clock: Clock, *, wait: float | None = None
) -> RuleFetcher:
    """Return what fetches a project's rules; its `notes` report a Redis that cannot be used.

    What no cache has comes from rules that are synced with their files, without indexing anything. `wait` is
    for how many seconds a command of Redis is waited for. Raises: ConfigError for an invalid address.
    """
    from workbench.entry.project import ProcessCache
    from workbench.rules.fetching.cache import RuleFetcher, rules_generation
    from workbench.rules.fetching.stored_pages import rules_held

    adapters = workspace.adapters

    def load(fresh: bool) -> RuleSet:
        return workspace.sync_rules(listed_for=0 if fresh else config.cache.seconds)[0].rules

    store = workspace.rule_store()

    def generation() -> str:
        origins = store.usage_origins
        return rules_generation([*origins.values()], adapters.project_id, str(store.home), *origins)

    shared, missing = _shared_cache(config, adapters.project_id, clock, wait)
    return RuleFetcher(
        generation,
        load,
        ProcessCache(clock, seconds=config.cache.seconds, most=config.cache.rules, parts=rules_held),
        shared,
        missing=missing,
    )


@contextmanager
def measured_fetcher(project: OpenedProject, measurement: Measured) -> Iterator[RuleFetcher]:
    """Give what fetches a project's rules and add to a measurement how often each level had the answer.

    Raises: ConfigError for an invalid address of a Redis.
    """
    fetcher = rule_fetcher(project.workspace, project.config, project.clock)
    yield fetcher
    measurement.cache.update(fetcher.lookups_since())


def redis_fault(config: Config, clock: Clock, *, wait: float = 1.0) -> str:
    """Return why the Redis of the settings cannot be used, empty if it can; it is asked for a value once.

    Raises: ConfigError for an invalid address.
    """
    shared, missing = _shared_cache(config, "", clock, wait)
    if shared is None:
        return missing
    shared.get("")
    fault = shared.fault
    shared.close()
    return fault


def _shared_cache(
    config: Config, project_id: str, clock: Clock, wait: float | None
) -> tuple[RedisCache | None, str]:
    """Return the Redis of the settings, and why there is none although they name one."""
    if not config.cache.redis_url:
        return None, ""
    if find_spec("redis") is None:
        return None, LACKING
    from workbench.entry.project import RedisCache
    from workbench.rules.fetching.stored_pages import shared_prefix

    cache = RedisCache(
        config.cache.redis_url,
        shared_prefix(project_id),
        clock,
        seconds=config.cache.redis_seconds,
        weight=config.cache.redis_rules,
        retry=config.cache.redis_retry,
        wait=wait,
    )
    return cache, ""


def text_meaning(project: OpenedProject, progress: Callable[[str, int, int], None]) -> Meaning | None:
    """Return how texts are compared by meaning here, None without an embedding model that is ready."""
    from workbench.entry.project import GraphSize, build_measured
    from workbench.places import user_cache
    from workbench.rules.conflicts.queue import Meaning

    embedder, _ = project.text_vectors
    if embedder is None:
        return None

    size = GraphSize(project.config.vectors.m, project.config.vectors.ef)

    def embed(texts: Sequence[str]) -> Float32:
        return embedder.embed(texts, progress=lambda done, total: progress("embedding", done, total))

    def index(vectors: Float32) -> Neighbours:
        batch = len(vectors)
        return build_measured(user_cache(), vectors, model=embedder.model, searches=batch, graph_size=size)

    return Meaning(embedder.model, embed, index)


@dataclass(frozen=True, slots=True)
class ReadySearch:
    """An index of rules and a query's unit vector float32 [d], None without one.

    `notes` say what is missing.
    """

    index: RuleIndex
    vector: Float32 | None
    notes: tuple[str, ...] = ()


def ready_to_search(
    matcher: RuleMatcher,
    rules: Sequence[Rule],
    words: RuleWords,
    query: str,
    mode: str,
    project: OpenedProject,
    progress: Progress | None = None,
) -> ReadySearch:
    """Return what a search of rules, whose words are `words`, for a query in a mode needs.

    With `progress` it waits until all rules are embedded; without, it does so only where few are missing.
    """
    if mode == "sparse" or not rules:
        return ReadySearch(matcher.index(rules, words, None), None)
    embedder, note = project.text_vectors
    if embedder is None:
        return ReadySearch(matcher.index(rules, words, None), None, (note,) if note else ())
    index = matcher.index(rules, words, embedder, progress=progress)
    try:
        vector = embedder.embed([query])[0]
    except ModelError as error:
        return ReadySearch(index, None, (error.message,))
    return ReadySearch(index, vector, (matcher.note,) if matcher.note else ())


class RuleReads:
    """What a host fetches of rules, through the caches. Any number of threads may ask."""

    def __init__(self, host: ProjectHost) -> None:
        self._host = host
        self._fetcher: RuleFetcher | None = None
        self._matcher: RuleMatcher | None = None

    def page(self, limit: int, cursor: str | None, bypass_cache: bool, asked: FilterFields) -> Page[Rule]:
        """Return a page of the rules that filters let through. Raises: UsageError, StoreError."""
        from workbench.lists.tables import Page

        with self._open_fetcher() as (_, fetcher):
            page = fetcher.get_rules(limit=limit, cursor=cursor, bypass_cache=bypass_cache, **asked)
        return Page(page.rules, page.total_count, page.next_cursor)

    def context(self, query: str, k: int, threshold: float | None, asked: FilterFields) -> ContextRules:
        """Return every absolute rule and the `k` best default ones for a query.

        Raises: UsageError, StoreError.
        """
        from workbench.rules.fetching.queries import rule_filter

        with self._open_fetcher() as (project, fetcher):
            least = project.config.rules.threshold if threshold is None else threshold
            selected = rule_filter(**asked)
            search = self._search(project)
            return fetcher.get_context_rules(search, query, selected, k=k, score_threshold=least)

    def search(
        self, query: str, mode: Mode, limit: int, least: float, asked: FilterFields
    ) -> Sequence[tuple[Rule, float]]:
        """Return the rules most relevant to a query among those that filters let through, best first.

        `mode` is hybrid, dense (by meaning) or sparse (by words); `least` the least relevance. Raises:
        UsageError, StoreError.
        """
        from workbench.rules.fetching.queries import rule_filter

        with self._open_fetcher() as (project, _):
            return self._search(project, mode)(query, rule_filter(**asked), limit, least)

    def rule(self, identifier: str) -> Rule:
        """Return a rule in force. Raises: UnknownRecord, StoreError."""
        with self._open_fetcher() as (_, fetcher):
            found = fetcher.get_rule(identifier)
        if found is None:
            raise UnknownRecord(f"there is no rule {identifier}", hint="`workbench rules list` shows all.")
        return found

    def record_usage(self, rule_ids: Sequence[str], session: str, tool: str) -> int:
        """Note that a session of a tool was given rules; return how many are known. Raises: StoreError."""
        from workbench.rules.curation.rulestore import record_usage

        with self._host.turn() as project:
            return record_usage(project.workspace.rule_store(), rule_ids, session, tool, by=self._host.by)

    def warm_up(self, agent: str) -> None:
        """Fetch what a session of an agent begins with, '' for any, after a look at rule files.

        Pages are those of `page` and `context` without a project: here all rules are of this one or of none.
        """
        with self._open_fetcher() as (_, fetcher):
            fetcher.warm_up(None, agent)

    def invalidate(self) -> None:
        """Forget what is cached, for all processes."""
        with self._open_fetcher() as (_, fetcher):
            fetcher.invalidate()

    @contextmanager
    def _open_fetcher(self) -> Iterator[tuple[OpenedProject, RuleFetcher]]:
        with self._host.operation("rules") as work:
            project = work.project
            if self._fetcher is None:
                self._fetcher = rule_fetcher(project.workspace, project.config, project.clock)
            before = self._fetcher.figures()
            yield project, self._fetcher
            work.measurement.cache.update(self._fetcher.lookups_since(before))
            work.measurement.degraded = self._fetcher.degraded
        for note in self._fetcher.notes():
            report(note)

    def _search(self, project: OpenedProject, mode: Mode = "hybrid") -> Search:
        """Return what searches rules by meaning where a model is ready, and by words."""
        from workbench.plan.matching import RuleMatcher
        from workbench.rules.matching.search import search_selected

        self._matcher = self._matcher or RuleMatcher()
        matcher, config = self._matcher, project.config.rules

        def search(
            query: str, selected: RuleFilter, limit: int, least: float
        ) -> Sequence[tuple[Rule, float]]:
            book, _ = project.workspace.sync_rules()
            ready = ready_to_search(matcher, book.rules, book.words, query, mode, project)
            weights = (config.vector_weight, config.lexical_weight)
            found = search_selected(
                ready.index,
                query,
                selected,
                ready.vector,
                mode=mode,
                limit=limit,
                least=least,
                weights=weights,
            )
            return found.pairs()

        return search
