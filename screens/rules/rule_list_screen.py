"""The list of rules: from their table, or what a search by meaning and words found among them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Final

from textual import on
from textual.app import ComposeResult
from textual.containers import Container, Vertical
from textual.content import Content

from screens.curation.record_screen import RecordScreen
from screens.jobs import Failure, Job
from screens.rules.panes import PANES, RulePanes
from screens.rules.rows import COLUMNS, columns, rule_cells, scored_cells
from screens.rules.rule_service import SyncedRules, sync_files
from screens.rules.rule_text import summary, warning_text
from screens.rules.search import Finder
from screens.widgets.filter import FilterBar
from screens.widgets.table import Column, VirtualTable
from screens.widgets.window_rows import WindowRows
from workbench.lists.filters import Facet, Filter
from workbench.lists.rules import FIELDS, RULES
from workbench.lists.tables import ListQuery, ListTable, ValueCounts
from workbench.records.rules import Rule

if TYPE_CHECKING:
    from workbench.ports import Int64
    from workbench.rules.matching.search import FoundRule, RuleSearch

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


@dataclass(frozen=True, slots=True)
class LastSearch:
    """What was searched for last and what it found by id, best first; None while nothing is searched for."""

    text: str = ""
    found: Mapping[str, FoundRule] | None = None


class RuleListScreen(RecordScreen[Rule, Rule]):
    """Lists, filters, searches and sorts rules; looking at one and changing it is its subclass's."""

    list_type: ClassVar = RULES
    list_id: ClassVar = "rules"
    list_command: ClassVar = ("rules", "list")
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
        self.sought = LastSearch()
        self.files: SyncedRules | None = None
        self._finder = Finder()

    def compose_body(self) -> ComposeResult:
        """Lay out the bars above the list and the panes."""
        with Vertical(classes="body"):
            yield FilterBar(None, sign="≈", placeholder="what the rule is about", wait=TYPING, id="search")
            yield FilterBar(FIELDS, id="filter")
            with Container(id="split"):
                yield VirtualTable(COLUMNS, empty=EMPTY, id="rules")
                yield RulePanes(id="panes")

    # What rules say.

    @property
    def panes(self) -> RulePanes:
        """The views of the rule under the cursor."""
        return self.query_one(RulePanes)

    @property
    def search_bar(self) -> FilterBar:
        """Where a search is typed."""
        return self.query_one("#search", FilterBar)

    def table_of(self, job: Job) -> ListTable[Rule]:
        """Return the table of the rules in force."""
        return self.engine.lists().rule_list

    def record_of(self, row: Rule) -> Rule:
        """Return the rule: rows are rules."""
        return row

    def id_of(self, row: Rule) -> str:
        """Return the rule's id."""
        return row.id

    def text_of(self, record: Rule) -> str:
        """Return the rule's text."""
        return record.rule

    def cells_of(self, row: Rule) -> Sequence[Content | str]:
        """Return the rule's cells, its score before them where rules were searched."""
        if self.sought.found is None:
            return rule_cells(row)
        found = self.sought.found.get(row.id)
        return scored_cells(row, 0.0 if found is None else found.score, self.engine.config.rules.threshold)

    def columns(self) -> Sequence[Column]:
        """Return the columns, with that of scores where rules were searched."""
        return columns(scored=self.sought.found is not None)

    def empty_text(self) -> str:
        """Return what to do without rules, or that none matches."""
        return NONE_LIKE_THAT if self.total else EMPTY

    @property
    def is_narrowed(self) -> bool:
        """Whether less is listed than there is."""
        return super().is_narrowed or self.sought.found is not None

    def number_rows(self, table: ListTable[Rule], query: ListQuery, job: Job) -> Int64:
        """Return the rules that match; of a search only what it found, best first unless they are sorted."""
        found = self.sought.found
        if found is None:
            return super().number_rows(table, query, job)
        import numpy as np

        within = _found_numbers(table, found)
        order = table.order(query, within=within)
        if query.sort is not None:
            return order.numbers
        return within[np.isin(within, order.numbers)]

    def count_values(self, query: ListQuery, job: Job) -> ValueCounts:
        """Count the values of all facets, of a search only among what it found."""
        table, found = self.table_of(job), self.sought.found
        return table.facets(query, within=None if found is None else _found_numbers(table, found))

    def available(self, command_id: str) -> bool | None:
        """Commands about a rule need one."""
        name = command_id.partition(".")[2]
        if name in _NEED_A_RULE and not self.table.count:
            return None
        rule = self.current if name in ("remove-example", "edit-file") else None
        if name == "remove-example":
            return True if rule is not None and rule.examples else None
        if name == "edit-file":
            return True if rule is not None and rule.provenance is not None else None
        return True

    # The section.

    def load(self) -> None:
        """List the rules as the journals have them, then sync them with their files."""
        if self.files is None:
            self.table.busy = "reading rules"
        self.list_rows(recount=True, then=self._listed)

    def _listed(self) -> None:
        """Search again for what is searched for, and look at the files: they are not waited for."""
        if self.search_bar.text.strip():
            self._search()
        first = self.files is None
        work = partial(sync_files, self.engine)
        self.ask("Rules", work, self._synced, group="sync", failed=self.not_read, quiet=not first)

    def stores(self) -> Iterable[str]:
        """Journals of rules and of their use."""
        return ("rule",)

    def remember(self) -> Mapping[str, Any]:
        """Keep filter, search, order, cursor and pane."""
        return {**super().remember(), "search": self.search_bar.text, "pane": self.panes.pane}

    def recall(self, kept: Mapping[str, Any]) -> None:
        """Take them back."""
        super().recall(kept)
        if kept.get("pane") in PANES:
            self.panes.pane = kept["pane"]
        self.search_bar.set_text(str(kept.get("search") or ""))

    # Files.

    def busy_text(self) -> str:
        """Return that files are read first where no rule is known yet."""
        return "" if self.total or self.files is not None else "reading rules"

    def _synced(self, synced: SyncedRules) -> None:
        first, self.files = self.files is None, synced
        if first and synced.warnings:
            self.bench.report(warning_text(synced.warnings), severity="warning")
        self.say(self.summary)
        if synced.changed or first:
            self.list_rows(recount=True)

    @property
    def summary(self) -> str:
        """How many rules there are, of how many files, and what is out of sync."""
        return "" if self.files is None else summary(self.files)

    # Search.

    def sort_by(self, column: str) -> None:
        """Sort by a column; by scores means as they were found."""
        if column == "score":
            self.want(replace(self.wanted, sort=None))
        else:
            super().sort_by(column)

    def show_rows(self, rows: WindowRows[Rule], place: int | None) -> None:
        """Show rules; those of a search are sorted by their scores unless a column was chosen."""
        super().show_rows(rows, place)
        if self.sought.found is not None and self.wanted.sort is None:
            self.table.sort = ("score", True)

    @on(FilterBar.Changed, "#search")
    def _sought(self, event: FilterBar.Changed) -> None:
        event.stop()
        if self.is_listed and event.text.strip() != self.sought.text:
            self._search()

    def _search(self) -> None:
        bar = self.search_bar
        text = bar.text.strip()
        if not text:
            self.sought = LastSearch()
            bar.say("")
            self.list_rows()
            return
        bar.say("searching …")
        again = text == self.sought.text

        def then(search: RuleSearch) -> None:
            self.sought = LastSearch(text, {one.rule.id: one for one in search.found})
            notes = f" · {search.notes[0]}" if search.notes else ""
            bar.say(f"{len(search.found):,} by {search.mode}{notes}")
            self.list_rows(top=not again)

        def failed(failure: Failure) -> None:
            bar.say(failure.message)
            self.bench.report(f"{failure.message}\n{failure.hint}".strip(), severity="warning")

        work = partial(self._finder.search, self.engine, text)
        self.ask("Searching", work, then, group="search", failed=failed)

    def action_search(self) -> None:
        """Type a search."""
        self.search_bar.open()


def _found_numbers(table: ListTable[Rule], found: Mapping[str, FoundRule]) -> Int64:
    """Return the numbers of the rules that a search found, best first; those gone since are left out."""
    import numpy as np

    ids = Filter((Facet("id", tuple(found)),))
    numbers = table.order(ListQuery(ids)).numbers.tolist() if found else []
    places = {rule.id: number for number, rule in table.rows(numbers).items()}
    return np.array([places[one] for one in found if one in places], dtype=np.int64)
