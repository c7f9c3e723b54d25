"""The list of rules, filtered, searched and sorted off the event loop."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Final

from textual import on
from textual.app import ComposeResult
from textual.containers import Container, Vertical

from screens.curation.record_screen import RecordScreen
from screens.jobs import Failure, Job
from screens.rules.facets import FacetCount, FacetDialog, count_facets, plain_facets
from screens.rules.panes import PANES, RulePanes
from screens.rules.rows import COLUMNS, RuleRows, columns, position_of
from screens.rules.rule_list import (
    DESCENDING_FIRST,
    FIELDS,
    PLACE,
    SORT_KEYS,
    RuleListing,
    RuleListQuery,
    base_order,
    by_position,
    listed,
)
from screens.rules.rule_service import LoadedRules, read_rules
from screens.rules.search import Finder, SearchBar
from screens.widgets.filter import FilterBar
from screens.widgets.table import VirtualTable
from workbench.lists.filters import Facet, write
from workbench.records.rules import Rule

if TYPE_CHECKING:
    from workbench.rules.matching.search import RuleSearch

EMPTY: Final = (
    "No rules yet.\n\n"
    "Rules are instructions to your agents, such as “Never log a token.” They are found in CLAUDE.md, "
    "AGENTS.md, .cursor/rules and the like of this project and your home, by themselves.\n\n"
    "n  writes the first one    i  imports other files    ?  lists all keys"
)
NONE_LIKE_THAT: Final = "No rule is like that.\n\nescape in the bar above takes the filter away."
TYPING: Final = 0.15
"""Seconds without typing after which a search begins."""

_NEED_A_RULE: Final = frozenset(
    "edit toggle remove edit-marked edit-text add-example versions usage file copy copy-id".split()
)


@dataclass(slots=True)
class LastSearch:
    """What was searched for last and what it found by position; None while nothing is searched for."""

    text: str = ""
    found: Mapping[int, Any] | None = None


class RuleListScreen(RecordScreen[Rule, RuleListQuery]):
    """Reads, filters, searches and sorts rules; looking at one and changing it is its subclass's."""

    noun: ClassVar = "rule"
    list_id: ClassVar = "rules"
    list_command: ClassVar = ("rules", "list")
    sort_columns: ClassVar = SORT_KEYS
    largest_first: ClassVar = DESCENDING_FIRST
    default_sort: ClassVar = (PLACE, False)
    DEFAULT_CSS = """
    RuleListScreen {
        & #split { height: 1fr; layout: horizontal; }
        & #rules { width: 3fr; }
        & #panes { width: 2fr; border-left: vkey $panel; }
        &.-wide #panes { width: 1fr; }
        &.-wide #rules { width: 2fr; }
        &.-narrow #split { layout: vertical; }
        &.-narrow #rules { width: 1fr; height: 1fr; }
        &.-narrow #panes { width: 1fr; height: 45%; border-left: none; }
    }
    """

    def __init__(self) -> None:
        super().__init__()
        self.loaded: LoadedRules | None = None
        self.wanted = RuleListQuery()
        self.sought = LastSearch()
        self._finder = Finder()
        self._bases: dict[tuple[str, bool], array[int]] = {}
        self._marked_among: Sequence[Rule] = ()

    def compose_body(self) -> ComposeResult:
        """Lay out the bars above the list and the panes."""
        with Vertical(classes="body"):
            yield SearchBar(id="search")
            yield FilterBar(FIELDS, id="filter")
            with Container(id="split"):
                yield VirtualTable(COLUMNS, empty=EMPTY, id="rules")
                yield RulePanes(id="panes")

    # What is listed.

    @property
    def panes(self) -> RulePanes:
        """The views of the rule under it."""
        return self.query_one(RulePanes)

    @property
    def rules(self) -> Sequence[Rule]:
        """The rules in force, by id."""
        return () if self.loaded is None else self.loaded.book.rules

    def record(self, identifier: str) -> Rule | None:
        """Return the rule in force with an id."""
        position = position_of(self.rules, identifier)
        return None if position is None else self.rules[position]

    def text_of(self, record: Rule) -> str:
        """Return the rule's text."""
        return record.rule

    def glance(self) -> None:
        """Show the rule under the cursor."""
        raise NotImplementedError

    # The section.

    def load(self) -> None:
        """Read the rules, synced with their files."""
        self.table.busy = "reading rules"
        self.ask("Rules", partial(read_rules, self.engine), self._arrived, failed=self.not_read)

    def stores(self) -> Iterable[str]:
        """Journals of rules and of their use."""
        return ("rule",)

    def remember(self) -> Mapping[str, Any]:
        """Keep filter, search, order, cursor and pane."""
        return {**super().remember(), "search": self.query_one(SearchBar).text, "pane": self.panes.pane}

    def recall(self, kept: Mapping[str, Any]) -> None:
        """Take them back."""
        super().recall(kept)
        if kept.get("pane") in PANES:
            self.panes.pane = kept["pane"]
        self.query_one(SearchBar).set_text(str(kept.get("search") or ""))

    def available(self, command_id: str) -> bool | None:
        """Commands about a rule need one."""
        name = command_id.partition(".")[2]
        if name in _NEED_A_RULE and self.table.cursor_key is None:
            return None
        rule = self.current if name in ("remove-example", "edit-file") else None
        if name == "remove-example":
            return True if rule is not None and rule.examples else None
        if name == "edit-file":
            return True if rule is not None and rule.provenance is not None else None
        return True

    # Reading and listing.

    def _arrived(self, loaded: LoadedRules) -> None:
        before = self.loaded
        self.loaded = loaded
        if before is None or before.book.rules is not loaded.book.rules:
            self._bases.clear()
        if before is None and loaded.warnings:
            self.bench.report(loaded.odd, severity="warning")
        self.say(loaded.summary)
        if self.query_one(SearchBar).text:
            self._search()
        else:
            self._list()

    def _list(self, *, stay: bool = True) -> None:
        """List what is wanted, off the loop; the cursor stays on its rule or goes to the best one."""
        wanted, found, rules = self.wanted, self.sought.found, self.rules
        known = self._bases.get(wanted.order)

        def work(job: Job) -> tuple[array[int], RuleListing]:
            base = known or base_order(rules, wanted, job.progress)
            return base, listed(rules, wanted, base, found, job.progress)

        def then(made: tuple[array[int], RuleListing]) -> None:
            if rules is self.rules:
                self._bases[wanted.order] = made[0]
                self._show(made[1], stay=stay)

        self.ask("Listing", work, then, group="list")

    def _show(self, listing: RuleListing, *, stay: bool) -> None:
        table = self.table
        scored = listing.found is not None
        wanted = columns(scored=scored)
        if table.columns != wanted:
            table.set_columns(wanted)
        least = self.engine.config.rules.threshold
        key = self.goal or (table.cursor_key if stay else None)
        self.goal = ""
        table.busy = ""
        table.set_empty(EMPTY if not self.rules else NONE_LIKE_THAT)
        table.sort = self.wanted.sort or (("score", True) if scored else None)
        table.set_rows(RuleRows(self.rules, listing.order, listing.places, listing.found, least), keep=key)
        self.query_one(FilterBar).show_count(len(listing.order), len(self.rules))
        if table.mark_count and self._marked_among is not self.rules:
            marks = table.marks  # a copy of them all: asked for once, not for each rule
            table.keep_marks({rule.id for rule in self.rules if rule.id in marks})
        self._marked_among = self.rules
        self.refresh_bindings()
        self.glance()

    # Filter, search, order.

    def want(self, wanted: RuleListQuery) -> None:
        """List something else; a filter that ranks brings the cursor to the best one."""
        if wanted != self.wanted:
            stay = wanted.filter == self.wanted.filter or not wanted.filter.ranks
            self.wanted = wanted
            if self.loaded is not None:
                self._list(stay=stay)

    def sort_by(self, column: str) -> None:
        """Sort by a column; by scores means as they were found."""
        if column == "score":
            self.want(replace(self.wanted, sort=None))
        else:
            super().sort_by(column)

    @on(SearchBar.Changed)
    def _sought(self, event: SearchBar.Changed) -> None:
        event.stop()
        if self.loaded is not None and event.text != self.sought.text:
            self.bench.jobs.later("rules/search", TYPING, self._search)

    def _search(self) -> None:
        bar, loaded = self.query_one(SearchBar), self.loaded
        text = bar.text
        if loaded is None:
            return
        if not text:
            self.sought = LastSearch()
            bar.say("")
            self._list()
            return
        bar.say("searching …")
        work = partial(self._finder.search, self.engine, loaded.book, text)
        search_again = text == self.sought.text

        def then(search: RuleSearch) -> None:
            self.sought = LastSearch(text, by_position(loaded.book.rules, search.found))
            notes = f" · {search.notes[0]}" if search.notes else ""
            bar.say(f"{len(search.found):,} by {search.mode}{notes}")
            self._list(stay=search_again)

        def failed(failure: Failure) -> None:
            bar.say(failure.message)
            self.bench.report(f"{failure.message}\n{failure.hint}".strip(), severity="warning")

        self.ask("Searching", work, then, group="search", failed=failed)

    def action_search(self) -> None:
        """Type a search."""
        self.query_one(SearchBar).open()

    def action_facets(self) -> None:
        """Count the values of every field among the rules shown, and filter by some of them."""
        rows, bar = self.table.rows, self.query_one(FilterBar)
        if not isinstance(rows, RuleRows):
            return

        def chosen(facets: tuple[Facet, ...] | None) -> None:
            if facets is not None:
                kept = [term for term in bar.filter.terms if term not in plain_facets(bar.filter)]
                bar.set_text(write([*kept, *facets]))

        def then(counts: tuple[FacetCount, ...]) -> None:
            self.app.push_screen(FacetDialog(counts, plain_facets(bar.filter)), chosen)

        self.ask("Counting", lambda job: count_facets(rows, job.progress), then)
