"""The list of rules: from their table, or what a search by meaning and words found among them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Final

from textual.app import ComposeResult
from textual.containers import Container, Vertical
from textual.content import Content

from screens.chrome import teach
from screens.curation.search_screen import TYPING, SearchAnswer, SearchScreen
from screens.engine import AppEngine
from screens.jobs import Job
from screens.rules.panes import PANES, RulePanes
from screens.rules.rule_service import SyncedRules, lint_files, revisions, sync_files
from screens.rules.rule_view import (
    COLUMNS,
    FINDING,
    columns,
    marked_cells,
    rule_cells,
    scored_cells,
    summary,
    warning_text,
    worst_of,
)
from screens.themes import style_of
from screens.widgets.filter import FilterBar
from screens.widgets.table import Column, VirtualTable
from workbench.lists.rules import FIELDS, RULES
from workbench.lists.tables import ListTable
from workbench.records.rules import Rule

if TYPE_CHECKING:
    from workbench.entry.project import OpenedProject
    from workbench.plan.matching import RuleMatcher
    from workbench.rules.keptbook import Rulebook
    from workbench.rules.lint.findings import LintFinding
    from workbench.rules.matching.search import FoundRule, RuleSearch

EMPTY: Final = teach(
    "No rules yet.\n\n"
    "Rules are instructions to your agents, such as “Never log a token.” They are found in CLAUDE.md, "
    "AGENTS.md, .cursor/rules and the like of this project and your home, by themselves.",
    ('workbench rules add "Never log a token." --file AGENTS.md',),
    {
        "rules.new": "writes the first one",
        "rules.import": "imports other files",
        "app.help": "lists all keys",
    },
)
NONE_LIKE_THAT: Final = "No rule is like that.\n\nescape takes the filter off."

_FOUND_BY: Final = {"hybrid": "meaning and words", "dense": "meaning", "sparse": "words"}
_MOST_FOUND: Final = 300  # rules that a search lists
_MOST_CHECKED: Final = 20_000  # rules up to which rule files are checked beside the list
_NEED_A_RULE: Final = frozenset(
    "edit toggle remove edit-marked edit-text add-example versions usage file copy copy-id".split()
)


class RuleListScreen(SearchScreen[Rule, Rule, "FoundRule"]):
    """Lists, filters, searches and sorts rules; looking at one and changing it is its subclass's."""

    list_type: ClassVar = RULES
    list_id: ClassVar = "rules"
    list_command: ClassVar = ("rules", "list")
    marks_hint: ClassVar = "B edits them · x d act on all"
    DEFAULT_CSS = style_of("RuleListScreen")

    def __init__(self) -> None:
        super().__init__()
        self.files: SyncedRules | None = None
        self.findings: Mapping[str, Sequence[LintFinding]] = {}
        self._finder = Finder()

    def compose_body(self) -> ComposeResult:
        """Lay out the bars above the list and the panes."""
        with Vertical(classes="body"):
            yield FilterBar(None, sign="≈", placeholder="what the rule is about", wait=TYPING, id="search")
            yield FilterBar(FIELDS, id="filter")
            with Container(classes="split"):
                yield VirtualTable(COLUMNS, empty=EMPTY, id="rules")
                yield RulePanes(id="panes", classes="record-pane")

    # What rules say.

    @property
    def panes(self) -> RulePanes:
        """The views of the rule under the cursor."""
        return self.query_one(RulePanes)

    def table_of(self, job: Job) -> ListTable[Rule]:
        """Return the table of the rules in force."""
        return self.engine.lists().rule_list

    def record_of(self, row: Rule) -> Rule:
        """Return the rule: rows are rules."""
        return row

    def text_of(self, record: Rule) -> str:
        """Return the rule's text."""
        return record.rule

    def cells_of(self, row: Rule) -> Sequence[Content | str]:
        """Return the rule's cells, its score before them where rules were searched."""
        if self.sought.found is None:
            cells = rule_cells(row)
        else:
            found = self.found_of(row.id)
            score = None if found is None else found.score
            cells = scored_cells(row, score, self.engine.config.rules.threshold)
        findings = self.findings.get(row.id)
        return marked_cells(cells, worst_of(findings)) if findings else cells

    def columns(self) -> Sequence[Column]:
        """Return the columns, with that of scores where rules were searched."""
        return columns(scored=self.sought.found is not None)

    def empty_text(self) -> str:
        """Return what to do without rules, or that none matches."""
        return NONE_LIKE_THAT if self.total else EMPTY

    def available(self, command_id: str) -> bool | None:
        """Commands about a rule need one."""
        name = command_id.partition(".")[2]
        if name in _NEED_A_RULE and not self.table.count:
            return None
        if name == "next-finding":
            return True if self.findings else None
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
        self.list_rows(recount=True, then=self._refresh_details)

    def _refresh_details(self) -> None:
        """Search again for what is searched for, and look at the files: they are not waited for."""
        self.search_again()
        first = self.files is None
        work = partial(sync_files, self.engine)
        self.ask("Rules", work, self._take_sync, group="sync", failed=self.not_read, quiet=not first)

    def stores(self) -> Iterable[str]:
        """Journals of rules and of their use."""
        return ("rule",)

    def remember(self) -> Mapping[str, Any]:
        """Keep the pane, too."""
        return {**super().remember(), "pane": self.panes.pane}

    def recall(self, kept: Mapping[str, Any]) -> None:
        """Take them back."""
        super().recall(kept)
        if kept.get("pane") in PANES:
            self.panes.pane = kept["pane"]

    # Files.

    def busy_text(self) -> str:
        """Return that files are read first where no rule is known yet."""
        return "" if self.total or self.files is not None else "reading rules"

    def _take_sync(self, synced: SyncedRules) -> None:
        first, self.files = self.files is None, synced
        if first and synced.warnings:
            self.bench.report(warning_text(synced.warnings), severity="warning")
        self.say(self.summary)
        if synced.changed or first:
            self.list_rows(recount=True)
            if synced.rules <= _MOST_CHECKED:
                self.ask(
                    "Rule files",
                    partial(lint_files, self.engine),
                    self._take_findings,
                    group="lint",
                    quiet=True,
                )

    def _take_findings(self, findings: Mapping[str, Sequence[LintFinding]]) -> None:
        if findings == self.findings:
            return
        self.findings = findings
        self.say(self.summary)
        self.list_rows(then=self.glance)

    @property
    def summary(self) -> str:
        """How many rules there are, of how many files, and what is out of sync."""
        if self.files is None:
            return ""
        marked = f" · {FINDING} {len(self.findings):,} with findings" if self.findings else ""
        return f"{summary(self.files)}{marked}"

    # Search.

    def find(self, text: str, job: Job) -> SearchAnswer[FoundRule]:
        """Return the rules a text finds by meaning and words. Raises: WorkbenchError."""
        search = self._finder.search(self.engine, text, job)
        return SearchAnswer({one.rule.id: one for one in search.found}, _FOUND_BY[search.mode], search.notes)


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
        found = search_selected(
            ready.index, text, None, ready.vector, limit=_MOST_FOUND, least=0.0, weights=weights
        )
        return replace(found, notes=tuple(dict.fromkeys((*ready.notes, *found.notes))))

    def _read(self, opened: OpenedProject) -> Rulebook:
        """Return the rules as of now; rule files are not looked at between keys."""
        if self._book is None or self._seen != revisions(opened):
            self._book, _ = opened.workspace.sync_rules()
            self._seen = revisions(opened)
        return self._book
