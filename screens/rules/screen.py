"""The rules: a list that is filtered, searched and sorted off the event loop, and the rule under it."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Final

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container, Vertical

from screens.commands.model import bindings
from screens.commands.rules import RULES
from screens.curation.dialog import Dialog
from screens.curation.record_screen import RecordScreen
from screens.filters import Facet, write
from screens.jobs import Failure, Job
from screens.rules.facets import FacetCount, FacetDialog, count_facets, plain_facets
from screens.rules.matches import MatchesView, MessageMatches, answers
from screens.rules.panes import PANES, RulePanes
from screens.rules.rows import COLUMNS, RuleRows, columns, position_of
from screens.rules.rule_changes import RuleChanges
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
from screens.rules.rule_service import LoadedRules, RuleLibrary, read_place
from screens.rules.search import Finder, SearchBar
from screens.widgets.filter import FilterBar
from screens.widgets.table import VirtualTable
from workbench.records.rules import Rule
from workbench.text.counts import counted

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

_GLANCE: Final = 0.04  # seconds the cursor rests on a rule before it is shown
_NEED_A_RULE: Final = frozenset(
    "edit toggle remove edit-marked edit-text add-example versions usage file copy copy-id".split()
)


@dataclass(slots=True)
class LastSearch:
    """What was searched for last and what it found by position; None while nothing is searched for."""

    text: str = ""
    found: Mapping[int, Any] | None = None


class RulesScreen(RecordScreen[Rule, RuleListQuery]):
    """Lists rules; `changes` is what changes them."""

    section: ClassVar[str] = "rules"
    noun: ClassVar = "rule"
    list_id: ClassVar = "rules"
    list_command: ClassVar = ("rules", "list")
    sort_columns: ClassVar = SORT_KEYS
    largest_first: ClassVar = DESCENDING_FIRST
    default_sort: ClassVar = (PLACE, False)
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(RULES)]
    DEFAULT_CSS = """
    RulesScreen {
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
        self.library = RuleLibrary()
        self.loaded: LoadedRules | None = None
        self.wanted = RuleListQuery()
        self.sought = LastSearch()
        self.changes = RuleChanges(self)
        self._finder = Finder()
        self._bases: dict[tuple[str, bool], array[int]] = {}
        self._marked_among: tuple[Rule, ...] = ()

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
    def rules(self) -> tuple[Rule, ...]:
        """The rules in force, by id."""
        return () if self.loaded is None else self.loaded.book.rules

    def record(self, identifier: str) -> Rule | None:
        """Return the rule in force with an id."""
        position = position_of(self.rules, identifier)
        return None if position is None else self.rules[position]

    def text_of(self, record: Rule) -> str:
        """Return the rule's text."""
        return record.rule

    # The section.

    def load(self) -> None:
        """Read the rules, synced with their files."""
        self.table.busy = "reading rules"
        self.ask("Rules", partial(self.library.read, self.engine), self._arrived, failed=self.not_read)

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
            self.bench.tell(loaded.odd, severity="warning")
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
        self._glance()

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
            self.bench.tell(f"{failure.message}\n{failure.hint}".strip(), severity="warning")

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

    # The rule under the cursor.

    @on(VirtualTable.Highlighted, "#rules")
    def _moved(self, event: VirtualTable.Highlighted) -> None:
        event.stop()
        self.bench.jobs.later("rules/glance", _GLANCE, self._glance)

    @on(VirtualTable.Opened, "#rules")
    def _opened(self, event: VirtualTable.Opened) -> None:
        event.stop()
        self._glance()
        self.panes.focus_pane()

    @on(VirtualTable.MarksChanged, "#rules")
    def _marked(self, event: VirtualTable.MarksChanged) -> None:
        event.stop()
        summary = "" if self.loaded is None else self.loaded.summary
        self.say(f"{event.count:,} marked · B edits them · x d act on all" if event.count else summary)

    def _glance(self) -> None:
        """Show the rule under the cursor in the pane that is open."""
        rule, panes = self.current, self.panes
        if rule is None:
            panes.show_rule(None)
            return
        if panes.pane == "rule":
            position = position_of(self.rules, rule.id)
            found = self.sought.found.get(position) if self.sought.found and position is not None else None
            panes.show_rule(rule, found, self.sought.text)
        elif panes.pane == "versions":
            self._ask_pane("History", partial(self.library.story, self.engine, rule.id), panes.show_story)
        elif panes.pane == "usage":
            work = partial(self.library.uses, self.engine, rule.id)
            self._ask_pane("Use", work, partial(panes.show_uses, rule))
        elif panes.pane == "file":
            self._ask_pane("File", partial(read_place, self.engine, rule), partial(panes.show_file, rule))

    def _ask_pane(self, name: str, work: Callable[[Job], Any], then: Callable[[Any], None]) -> None:
        self.ask(name, work, then, group="pane", quiet=True)

    def _turn_to(self, pane: str) -> None:
        self.panes.pane = pane
        self._glance()

    def action_versions(self) -> None:
        """Show what was done to the rule."""
        self._turn_to("versions")
        self.panes.focus_pane()

    def action_usage(self) -> None:
        """Show how the rule was used."""
        self._turn_to("usage")

    def action_file(self) -> None:
        """Show the rule in its file."""
        self._turn_to("file")
        self.panes.focus_pane()

    def action_test(self) -> None:
        """Write a message."""
        self._turn_to("test")
        self.panes.focus_pane()

    def action_next_pane(self) -> None:
        """Show the next view."""
        self.panes.turn(1)
        self._glance()

    def action_previous_pane(self) -> None:
        """Show the view before."""
        self.panes.turn(-1)
        self._glance()

    @on(RulePanes.MessageGiven)
    def _test(self, event: RulePanes.MessageGiven) -> None:
        event.stop()
        message = event.text

        def then(found: MessageMatches) -> None:
            self.panes.show_answers(found)
            summary = f"{found.matched:,} of {counted(len(self.rules), 'rule')} found"
            self.say(" · ".join((summary, *found.notes)))
            self.bench.log_action(["rules", "match", message, "--all"], summary)

        self.say("matching …")
        self.ask("Matching", partial(answers, self.engine, message), then, group="match")

    @on(MatchesView.RuleWanted)
    def _wanted(self, event: MatchesView.RuleWanted) -> None:
        event.stop()
        if not self.table.select_key(event.rule_id):
            self.say("the filter hides that rule")
        self.table.focus()

    # Changing.

    def action_edit(self) -> None:
        """Edit the rule in a form."""
        if rule := self.current:
            self.changes.edit(rule)

    def action_edit_text(self) -> None:
        """Edit the text in an editor."""
        if rule := self.current:
            self.changes.edit_text(rule)

    def action_edit_file(self) -> None:
        """Open the rule's file in an editor."""
        if rule := self.current:
            self.changes.edit_file(rule)

    def action_new(self) -> None:
        """Write a new rule."""
        self.changes.new()

    def action_switch(self) -> None:
        """Switch rules on or off."""
        self.changes.toggle(self.chosen)

    def action_remove(self) -> None:
        """Put rules out of force."""
        self.changes.remove(self.chosen)

    def action_edit_marked(self) -> None:
        """Change all marked rules."""
        self.changes.edit_marked(self.chosen)

    def action_add_example(self) -> None:
        """Add an example."""
        if rule := self.current:
            self.changes.add_example(rule)

    def action_remove_example(self) -> None:
        """Remove an example."""
        if rule := self.current:
            self.changes.remove_example(rule)

    def action_import_files(self) -> None:
        """Choose rule files and import them."""
        from screens.rules.file_import import ImportFiles

        self._open_files(ImportFiles(self))

    def action_export(self) -> None:
        """Choose agents and write their files."""
        from screens.rules.file_export import ExportRules

        self._open_files(ExportRules(self))

    def action_drift(self) -> None:
        """Sync files and rules."""
        from screens.rules.file_sync import SyncFiles

        self._open_files(SyncFiles(self))

    def _open_files(self, dialog: Dialog[bool]) -> None:
        def closed(changed: bool | None) -> None:
            if changed:
                self.mark_stale()

        self.app.push_screen(dialog, closed)
