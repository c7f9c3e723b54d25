"""The search by meaning and words: what finds rules, kept warm between keys."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from screens.engine import AppEngine
from screens.jobs import Job
from screens.rules.rule_service import revisions

if TYPE_CHECKING:
    from workbench.entry.project import OpenedProject
    from workbench.plan.matching import RuleMatcher
    from workbench.rules.matching.search import RuleSearch
    from workbench.rules.rulebook import Rulebook


MOST: Final = 300
"""Rules a search lists."""


class Finder:
    """Keeps the rules it searched last and their index. One job at a time: the engine's lock sees to that."""

    def __init__(self) -> None:
        self._matcher: RuleMatcher | None = None
        self._book: Rulebook | None = None
        self._seen: tuple[str, ...] = ()

    def search(self, engine: AppEngine, text: str, job: Job) -> RuleSearch:
        """Return the rules a text finds by meaning and words. Raises: WorkbenchError."""
        from workbench.entry.services.rules import ready_to_search
        from workbench.plan.matching import RuleMatcher
        from workbench.rules.matching.search import search_selected

        with engine.workspace(job.progress) as opened:
            if self._matcher is None:
                self._matcher = RuleMatcher()
            book = self._read(opened)
            ready = ready_to_search(self._matcher, book.rules, book.words, text, "hybrid", opened)
        config = engine.config
        job.check()
        weights = (config.rules.vector_weight, config.rules.lexical_weight)
        found = search_selected(ready.index, text, None, ready.vector, limit=MOST, least=0.0, weights=weights)
        return replace(found, notes=tuple(dict.fromkeys((*ready.notes, *found.notes))))

    def _read(self, opened: OpenedProject) -> Rulebook:
        """Return the rules as of now; rule files are not looked at between keys."""
        if self._book is None or self._seen != revisions(opened):
            self._book, _ = opened.workspace.sync_rules()
            self._seen = revisions(opened)
        return self._book
