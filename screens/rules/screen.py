"""The rules: a list that is filtered, searched and sorted off the event loop, and the rule under it."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Final

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container, Vertical

from screens.base import SectionScreen
from screens.commands.model import bindings
from screens.commands.rules import RULES
from screens.filtering import Filter
from screens.jobs import Failure, Job
from screens.rules.desk import Desk
from screens.rules.matches import AnswersView, answers
from screens.rules.panes import PANES, RulePanes
from screens.rules.rows import COLUMNS, RuleRows, columns, position_of
from screens.rules.rule_list import (
    DESCENDING_FIRST,
    FIELDS,
    SORT_KEYS,
    Listing,
    Wanted,
    base_order,
    by_position,
    listed,
)
from screens.rules.rule_service import Library, Loaded, read_place
from screens.rules.search import Finder, SearchBar
from screens.widgets.filter import FilterBar
from screens.widgets.table import VirtualTable
from workbench.records.rules import Rule
from workbench.text.counts import counted

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
class Sought:
    """What was searched for last and what it found by position; None while nothing is searched for."""

    text: str = ""
    found: Mapping[int, Any] | None = None


class RulesScreen(SectionScreen):
    """Lists rules; what changes them is at the desk."""

    section: ClassVar[str] = "rules"
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
        self.library = Library()
        self.loaded: Loaded | None = None
        self.wanted = Wanted()
        self.sought = Sought()
        self.desk = Desk(self)
        self._finder = Finder()
        self._bases: dict[tuple[str, bool], array[int]] = {}
        self._marked_among: tuple[Rule, ...] = ()
        self._wanted_key: str | None = None

    def compose_body(self) -> ComposeResult:
        """Lay out the bars above the list and the panes."""
        with Vertical(classes="body"):
            yield SearchBar(id="search")
            yield FilterBar(FIELDS, id="filter")
            with Container(id="split"):
                yield VirtualTable(COLUMNS, empty=EMPTY, id="rules")
                yield RulePanes(id="panes")

    # What is shown.

    @property
    def table(self) -> VirtualTable:
        """The list."""
        return self.query_one("#rules", VirtualTable)

    @property
    def panes(self) -> RulePanes:
        """The views of the rule under it."""
        return self.query_one(RulePanes)

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules in force, by id."""
        return () if self.loaded is None else self.loaded.book.rules

    @property
    def current(self) -> Rule | None:
        """The rule under the cursor."""
        key = self.table.cursor_key
        return None if key is None else self.rule(key)

    def rule(self, identifier: str) -> Rule | None:
        """Return the rule in force with an id."""
        position = position_of(self.rules, identifier)
        return None if position is None else self.rules[position]

    @property
    def chosen(self) -> tuple[Rule, ...]:
        """The marked rules, or the one under the cursor."""
        return tuple(rule for key in self.table.chosen if (rule := self.rule(key)) is not None)

    # The section.

    def load(self) -> None:
        """Read the rules, in step with their files."""
        self.table.busy = "reading rules"
        self.ask("Rules", partial(self.library.read, self.engine), self._arrived, failed=self._not_read)

    def stores(self) -> Iterable[str]:
        """Journals of rules and of their use."""
        return ("rule",)

    def remember(self) -> Mapping[str, Any]:
        """Keep filter, search, order, cursor and pane."""
        return {
            "filter": self.query_one(FilterBar).text,
            "search": self.query_one(SearchBar).text,
            "sort": list(self.wanted.sort) if self.wanted.sort else None,
            "key": self.table.cursor_key or self._wanted_key or "",
            "pane": self.panes.pane,
        }

    def recall(self, kept: Mapping[str, Any]) -> None:
        """Take them back."""
        sort, key, pane = kept.get("sort"), kept.get("key"), kept.get("pane")
        if isinstance(sort, list) and len(sort) == 2 and sort[0] in SORT_KEYS:
            self.wanted = replace(self.wanted, sort=(str(sort[0]), bool(sort[1])))
        self._wanted_key = key if isinstance(key, str) and key else None
        if pane in PANES:
            self.panes.pane = pane
        self.query_one(SearchBar).set_text(str(kept.get("search") or ""))
        self.query_one(FilterBar).set_text(str(kept.get("filter") or ""))
        self.wanted = replace(self.wanted, filter=self.query_one(FilterBar).filter)
        self.table.focus()

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

    def _arrived(self, loaded: Loaded) -> None:
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

    def _not_read(self, failure: Failure) -> None:
        self.table.busy = ""
        self.bench.tell(f"the rules cannot be read: {failure.message}\n{failure.hint}", severity="error")
        self.bench.log_action(["rules", "list"], failure.details or failure.message, failed=True)

    def _list(self, *, stay: bool = True) -> None:
        """List what is wanted, off the loop; the cursor stays on its rule or goes to the best one."""
        wanted, found, rules = self.wanted, self.sought.found, self.rules
        known = self._bases.get(wanted.order)

        def work(job: Job) -> tuple[array[int], Listing]:
            base = known or base_order(rules, wanted, job.progress)
            return base, listed(rules, wanted, base, found, job.progress)

        def then(made: tuple[array[int], Listing]) -> None:
            if rules is self.rules:
                self._bases[wanted.order] = made[0]
                self._show(made[1], stay=stay)

        self.ask("Listing", work, then, group="list")

    def _show(self, listing: Listing, *, stay: bool) -> None:
        table = self.table
        scored = listing.found is not None
        wanted = columns(scored=scored)
        if table.columns != wanted:
            table.set_columns(wanted)
        least = self.engine.config.rules.threshold
        key = self._wanted_key or (table.cursor_key if stay else None)
        self._wanted_key = None
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

    @on(FilterBar.Changed)
    def _filtered(self, event: FilterBar.Changed) -> None:
        event.stop()
        self._want(event.query)

    def _want(self, query: Filter) -> None:
        if query != self.wanted.filter:
            self.wanted = replace(self.wanted, filter=query)
            if self.loaded is not None:
                self._list(stay=not query.ranks)

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
            self.sought = Sought()
            bar.say("")
            self._list()
            return
        bar.say("searching …")
        work = partial(self._finder.search, self.engine, loaded.book, text)
        search_again = text == self.sought.text

        def then(search: Any) -> None:
            self.sought = Sought(text, by_position(loaded.book.rules, search.found))
            notes = f" · {search.notes[0]}" if search.notes else ""
            bar.say(f"{len(search.found):,} by {search.mode}{notes}")
            self._list(stay=search_again)

        def failed(failure: Failure) -> None:
            bar.say(failure.message)
            self.bench.tell(f"{failure.message}\n{failure.hint}".strip(), severity="warning")

        self.ask("Searching", work, then, group="search", failed=failed)

    @on(VirtualTable.SortRequested, "#rules")
    def _sort_by(self, event: VirtualTable.SortRequested) -> None:
        event.stop()
        self._sort(event.column_id)

    def _sort(self, column: str) -> None:
        if column == "score":
            self.wanted = replace(self.wanted, sort=None)
        elif column in SORT_KEYS:
            now = self.wanted.sort
            descending = not now[1] if now and now[0] == column else column in DESCENDING_FIRST
            self.wanted = replace(self.wanted, sort=(column, descending))
        if self.loaded is not None:
            self._list()

    def action_sort(self) -> None:
        """Sort by the next column, after the last one as it was."""
        names = list(SORT_KEYS)
        now = self.wanted.sort
        place = names.index(now[0]) + 1 if now else 0
        if place < len(names):
            self.wanted = replace(self.wanted, sort=None)
            self._sort(names[place])
        else:
            self._sort("score")

    def action_reverse(self) -> None:
        """Turn the order round."""
        column, descending = self.wanted.order
        self.wanted = replace(self.wanted, sort=(column, descending))
        self._sort(column)

    def action_filter(self) -> None:
        """Type a filter."""
        self.query_one(FilterBar).open()

    def action_search(self) -> None:
        """Type a search."""
        self.query_one(SearchBar).open()

    def action_facets(self) -> None:
        """Count values and filter by some."""
        self.desk.facets(self.query_one(FilterBar), self.table)

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
        told = "" if self.loaded is None else self.loaded.summary
        self.say(f"{event.count:,} marked · B edits them · x d act on all" if event.count else told)

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

    def _ask_pane(self, name: str, work: Any, then: Any) -> None:
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

    def action_list(self) -> None:
        """Go back to the list."""
        self.table.focus()

    @on(RulePanes.MessageGiven)
    def _test(self, event: RulePanes.MessageGiven) -> None:
        event.stop()
        message = event.text

        def then(found: Any) -> None:
            self.panes.show_answers(found)
            told = f"{found.matched:,} of {counted(len(self.rules), 'rule')} found"
            self.say(" · ".join((told, *found.notes)))
            self.bench.log_action(["rules", "match", message, "--all"], told)

        self.say("matching …")
        self.ask("Matching", partial(answers, self.engine, message), then, group="match")

    @on(AnswersView.RuleWanted)
    def _wanted(self, event: AnswersView.RuleWanted) -> None:
        event.stop()
        if not self.table.select_key(event.rule_id):
            self.say("the filter hides that rule")
        self.table.focus()

    def action_copy(self) -> None:
        """Copy the text."""
        if rule := self.current:
            self.bench.copy(rule.rule, "the rule")

    def action_copy_id(self) -> None:
        """Copy the id."""
        if rule := self.current:
            self.bench.copy(rule.id, "the rule's id")

    # The desk.

    def action_edit(self) -> None:
        """Edit the rule in a form."""
        if rule := self.current:
            self.desk.edit(rule)

    def action_edit_text(self) -> None:
        """Edit the text in an editor."""
        if rule := self.current:
            self.desk.edit_text(rule)

    def action_edit_file(self) -> None:
        """Open the rule's file in an editor."""
        if rule := self.current:
            self.desk.edit_file(rule)

    def action_new(self) -> None:
        """Write a new rule."""
        self.desk.new()

    def action_switch(self) -> None:
        """Switch rules on or off."""
        self.desk.toggle(self.chosen)

    def action_remove(self) -> None:
        """Put rules out of force."""
        self.desk.remove(self.chosen)

    def action_edit_marked(self) -> None:
        """Change all marked rules."""
        self.desk.edit_marked(self.chosen)

    def action_add_example(self) -> None:
        """Add an example."""
        if rule := self.current:
            self.desk.add_example(rule)

    def action_remove_example(self) -> None:
        """Remove an example."""
        if rule := self.current:
            self.desk.remove_example(rule)

    def action_import_files(self) -> None:
        """Import rule files."""
        self.desk.import_files()

    def action_export(self) -> None:
        """Write other agents' files."""
        self.desk.export()

    def action_drift(self) -> None:
        """Bring files and rules in step."""
        self.desk.drift()

    def go_to(self, key: str) -> None:
        """Have the cursor on a rule once it is listed."""
        self._wanted_key = key
