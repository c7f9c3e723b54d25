"""The rules: the one under the cursor from five sides, and the keys that change rules."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

from textual import on
from textual.binding import BindingType
from textual.events import Resize

from screens.commands import bindings
from screens.curation.dialog import Dialog
from screens.jobs import Job
from screens.rules.matches import MatchesView, MessageMatches, answers
from screens.rules.panes import RulePanes
from screens.rules.rule_changes import RuleChanges
from screens.rules.rule_list_screen import RuleListScreen
from screens.rules.rule_service import read_place, read_rule_uses, read_story
from screens.undo import Undo
from workbench.text.counts import plural


class RulesScreen(RuleListScreen):
    """Shows and changes rules; `changes` is what changes them."""

    section: ClassVar[str] = "rules"
    curates = True
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("rules")]

    def __init__(self) -> None:
        super().__init__()
        self.changes = RuleChanges(self)

    def undo_with(self) -> tuple[Undo, Callable[[Job], str], str]:
        """Walk the steps of curating rules."""
        return self.bench.undo_rule, self.bench.redo_rule, "rules"

    # The rule under the cursor.

    def open_current(self) -> None:
        """Go to what can be moved in."""
        self.glance()
        self.panes.focus_pane()

    def glance(self) -> None:
        """Show the rule under the cursor in the pane that is open."""
        rule, panes = self.current, self.panes
        if rule is None:
            if not self.table.count:
                panes.show_rule(None)
            return
        if panes.shows_file:
            read = partial(read_place, self.engine, rule)
            self.ask("File", read, partial(panes.show_file, rule), group="file", quiet=True)
        if panes.pane in ("rule", "file"):
            found = None if self.sought.found is None else self.sought.found.get(rule.id)
            panes.show_rule(rule, found, self.sought.text, self.findings.get(rule.id, ()))
        elif panes.pane == "versions":
            self._ask_pane("History", partial(read_story, self.engine, rule.id), panes.show_story)
        elif panes.pane == "usage":
            work = partial(read_rule_uses, self.engine, rule.id)
            self._ask_pane("Use", work, partial(panes.show_uses, rule))

    def on_resize(self, event: Resize) -> None:
        """Read the file where there is room for it now."""
        super().on_resize(event)
        if self.is_listed:
            self.call_after_refresh(self.glance)

    def _ask_pane(self, name: str, work: Callable[[Job], Any], then: Callable[[Any], None]) -> None:
        self.ask(name, work, then, group="pane", quiet=True)

    def _turn_to(self, pane: str) -> None:
        self.panes.pane = pane
        self.glance()

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
        self.glance()

    def action_previous_pane(self) -> None:
        """Show the view before."""
        self.panes.turn(-1)
        self.glance()

    @on(RulePanes.MessageGiven)
    def _test(self, event: RulePanes.MessageGiven) -> None:
        event.stop()
        message = event.text

        def then(found: MessageMatches) -> None:
            self.panes.show_answers(found)
            summary = f"{found.matched:,} of {plural(self.total, 'rule')} found"
            self.say(" · ".join((summary, *found.notes)))
            self.bench.log_action(["rules", "match", message, "--all"], summary)

        self.say("matching …")
        self.ask("Matching", partial(answers, self.engine, message), then, group="match")

    @on(MatchesView.RuleWanted)
    def _handle_request(self, event: MatchesView.RuleWanted) -> None:
        event.stop()
        self.go_to(event.rule_id)
        self.list_rows(missed=self._report_hidden)
        self.table.focus()

    def action_next_finding(self) -> None:
        """Go to the next rule with findings, by file and line; after the last one comes the first."""
        rules = list(self.findings)
        current = self.current
        at = rules.index(current.id) + 1 if current is not None and current.id in self.findings else 0
        if rules:
            self.go_to(rules[at % len(rules)])
            self.list_rows(missed=self._report_hidden)

    def _report_hidden(self) -> None:
        self.goal = ""
        self.say("the filter hides that rule")

    # Changing.

    def action_edit(self) -> None:
        """Edit the rule in a form."""
        self.with_current(self.changes.edit)

    def action_edit_text(self) -> None:
        """Edit the text in an editor."""
        self.with_current(self.changes.edit_text)

    def action_edit_file(self) -> None:
        """Open the rule's file in an editor."""
        self.with_current(self.changes.edit_file)

    def action_new(self) -> None:
        """Write a new rule."""
        self.changes.new()

    def action_switch(self) -> None:
        """Switch rules on or off."""
        self.with_chosen(self.changes.toggle)

    def action_remove(self) -> None:
        """Put rules out of force."""
        self.with_chosen(self.changes.remove)

    def action_edit_marked(self) -> None:
        """Change all marked rules."""
        self.with_chosen(self.changes.edit_marked)

    def action_add_example(self) -> None:
        """Add an example."""
        self.with_current(self.changes.add_example)

    def action_remove_example(self) -> None:
        """Remove an example."""
        self.with_current(self.changes.remove_example)

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
