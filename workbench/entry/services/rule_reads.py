"""Rules fetched again and again by a face that stays open: one fetcher, each question measured."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from workbench.entry.services.opening import ProjectHost, report
from workbench.errors import UnknownRecord

if TYPE_CHECKING:
    from workbench.entry.project import OpenedProject
    from workbench.lists.tables import Page
    from workbench.plan.matching import RuleMatcher
    from workbench.records.requests import FilterFields
    from workbench.records.rules import ContextRules, Rule
    from workbench.rules.fetching.cache import RuleFetcher
    from workbench.rules.fetching.facets import RuleFilter
    from workbench.rules.fetching.queries import Search
    from workbench.rules.matching.relevance import Mode


class RuleReads:
    """What a host fetches of rules, through the caches. Any number of threads may ask."""

    def __init__(self, host: ProjectHost) -> None:
        self._host = host
        self._fetcher: RuleFetcher | None = None
        self._matcher: RuleMatcher | None = None

    def page(self, limit: int, cursor: str | None, bypass_cache: bool, asked: FilterFields) -> Page[Rule]:
        """Return a page of the rules that filters let through. Raises: UsageError, StoreError."""
        from workbench.lists.tables import Page

        with self._asked() as (_, fetcher):
            page = fetcher.get_rules(limit=limit, cursor=cursor, bypass_cache=bypass_cache, **asked)
        return Page(page.rules, page.total_count, page.next_cursor)

    def context(self, query: str, k: int, threshold: float | None, asked: FilterFields) -> ContextRules:
        """Return every absolute rule and the `k` best default ones for a query.

        Raises: UsageError, StoreError.
        """
        from workbench.rules.fetching.queries import rule_filter

        with self._asked() as (project, fetcher):
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

        with self._asked() as (project, _):
            return self._search(project, mode)(query, rule_filter(**asked), limit, least)

    def rule(self, identifier: str) -> Rule:
        """Return a rule in force. Raises: UnknownRecord, StoreError."""
        with self._asked() as (_, fetcher):
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
        """Fetch what a session of an agent begins with, '' for any, after a look at rule files."""
        with self._asked() as (project, fetcher):
            fetcher.warm_up(project.project_id, agent)

    def invalidate(self) -> None:
        """Forget what is cached, for all processes."""
        with self._asked() as (_, fetcher):
            fetcher.invalidate()

    @contextmanager
    def _asked(self) -> Iterator[tuple[OpenedProject, RuleFetcher]]:
        from workbench.entry.services.rules import rule_fetcher

        with self._host.operation("rules") as work:
            project = work.project
            if self._fetcher is None:
                self._fetcher = rule_fetcher(project.workspace, project.config, project.clock)
            before = self._fetcher.figures()
            yield project, self._fetcher
            work.measurement.cache.update(self._fetcher.measured(before))
            work.measurement.degraded = self._fetcher.degraded
        for note in self._fetcher.notes():
            report(note)

    def _search(self, project: OpenedProject, mode: Mode = "hybrid") -> Search:
        """Return what searches rules by meaning where a model is ready, and by words."""
        from workbench.entry.services.rules import ready_to_search
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
