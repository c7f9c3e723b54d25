"""The rule under the cursor from five sides, one at a time; its file beside them where there is room."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.events import Click
from textual.message import Message
from textual.reactive import reactive
from textual.widget import Widget
from textual.widgets import ContentSwitcher, Input, Static

from screens.commands import key_of
from screens.rules.matches import MatchesView, MessageMatches
from screens.rules.rule_view import change_cells, change_content, rule_content, use_content
from screens.safe_text import safe
from screens.themes import style_of
from screens.widgets.code import CodeView
from screens.widgets.fields import SafeInput
from screens.widgets.table import Column, ListRows, VirtualTable
from workbench.records.rules import Rule
from workbench.rules.curation.differences import DescribedChange
from workbench.rules.curation.ledger import Use

if TYPE_CHECKING:
    from workbench.rules.lint.findings import LintFinding
    from workbench.rules.matching.search import FoundRule

PANES: Final = ("rule", "versions", "usage", "file", "test")
_MARGIN: Final = 5  # cells of padding, border and scrollbar
TITLES: Final = {
    "rule": "Rule",
    **{
        name: f"{key_of(f'rules.{name}')} {title}"
        for name, title in (("versions", "Versions"), ("usage", "Use"), ("file", "File"), ("test", "Test"))
    },
}


class PaneTabs(Widget):
    """The names of the panes behind their keys, the one that is shown in brackets."""

    DEFAULT_CSS = style_of("PaneTabs")
    shown_pane: reactive[str] = reactive(PANES[0])

    class Chosen(Message):
        """A name was clicked."""

        def __init__(self, pane: str) -> None:
            super().__init__()
            self.pane = pane

    def render(self) -> Content:
        """Write the names."""
        return Content(" ").join(
            Content.styled(f"[{TITLES[pane]}]", "bold $text-primary")
            if pane == self.shown_pane
            else Content.styled(f" {TITLES[pane]} ", "$text-muted")
            for pane in PANES
        )

    def on_click(self, event: Click) -> None:
        """Show the pane whose name was clicked."""
        at = 0
        for pane in PANES:
            at += len(TITLES[pane]) + 3
            if event.x < at:
                self.post_message(self.Chosen(pane))
                return


class RulePanes(Vertical):
    """Five views of a rule. It shows what it is given and asks for nothing itself."""

    DEFAULT_CSS = style_of("RulePanes")

    class MessageGiven(Message):
        """A message was written, to see which rules match it."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    pane: reactive[str] = reactive(PANES[0], init=False)

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self.story: tuple[DescribedChange, ...] = ()
        self._rule: tuple[Rule | None, FoundRule | None, str] = (None, None, "")
        self._findings: Sequence[LintFinding] = ()

    def compose(self) -> ComposeResult:
        """Lay out the names above the panes."""
        yield PaneTabs()
        with Horizontal(id="pane-parts"):
            with ContentSwitcher(initial="pane-rule"):
                with VerticalScroll(id="pane-rule", classes="pane"):
                    yield Static(id="rule-text")
                with Vertical(id="pane-versions"):
                    yield VirtualTable(
                        (
                            Column("at", "When", "When it was done.", 16, priority=3),
                            Column(
                                "what",
                                "What",
                                "What was done: added, reworded, removed, restored.",
                                11,
                                priority=5,
                            ),
                            Column("version", "Version", "The rule's version afterwards.", 7, priority=4),
                            Column("by", "By", "Who did it.", 8, priority=1),
                            Column(
                                "why",
                                "Why",
                                "The reason that was given, or the fields that changed.",
                                priority=2,
                            ),
                        ),
                        empty="Nothing was done to this rule yet.",
                        id="versions-list",
                    )
                    with VerticalScroll(id="version-text"):
                        yield Static(id="version-content")
                with VerticalScroll(id="pane-usage", classes="pane"):
                    yield Static(id="usage-text")
                with Vertical(id="pane-test"):
                    yield SafeInput(
                        placeholder="a message to your agent: which rules match it?",
                        compact=True,
                        select_on_focus=False,
                        id="test-message",
                    )
                    yield MatchesView(id="test-answers")
            with Vertical(id="pane-file"):
                yield Static(id="file-name")
                yield CodeView(empty="This rule is in no file.", id="file-code")

    def watch_pane(self, pane: str) -> None:
        """Show a pane."""
        self.query_one(PaneTabs).shown_pane = pane
        self.set_class(pane == "file", "-file")
        self.query_one(ContentSwitcher).current = f"pane-{'rule' if pane == 'file' else pane}"

    @property
    def shows_file(self) -> bool:
        """Whether the file is to be seen, alone or beside another view."""
        return self.query_one("#pane-file").display

    @on(PaneTabs.Chosen)
    def _handle_choice(self, event: PaneTabs.Chosen) -> None:
        event.stop()
        self.pane = event.pane

    def turn(self, step: int) -> None:
        """Show the next pane, or the one before."""
        self.pane = PANES[(PANES.index(self.pane) + step) % len(PANES)]

    def focus_pane(self) -> None:
        """Focus what can be moved in."""
        targets = {
            "rule": "#pane-rule",
            "versions": "#versions-list",
            "usage": "#pane-usage",
            "file": "#file-code",
            "test": "#test-message",
        }
        self.query_one(targets[self.pane]).focus()

    # What it shows.

    def show_rule(
        self,
        rule: Rule | None,
        found: FoundRule | None = None,
        searched: str = "",
        findings: Sequence[LintFinding] = (),
    ) -> None:
        """Show a rule with what is wrong about it, or that there is none."""
        self._rule = rule, found, searched
        self._findings = findings
        self._show_rule()
        self.query_one("#pane-rule", VerticalScroll).scroll_home(animate=False)

    def _show_rule(self) -> None:
        rule, found, searched = self._rule
        room = max((self.query_one(ContentSwitcher).size.width or self.size.width) - _MARGIN, 0)
        content = (
            safe("Move to a rule to read it here.", "$text-muted italic")
            if rule is None
            else rule_content(rule, found, searched, findings=self._findings, width=room)
        )
        self.query_one("#rule-text", Static).update(content)

    def on_resize(self) -> None:
        """Wrap at the new width."""
        self._show_rule()

    def show_story(self, story: Sequence[DescribedChange]) -> None:
        """Show what was done to a rule, the newest first."""
        self.story = tuple(reversed(story))
        table = self.query_one("#versions-list", VirtualTable)
        table.set_rows(ListRows(self.story, key=_key, cells=change_cells))
        self._show_change(0)

    def show_uses(self, rule: Rule, uses: Sequence[Use]) -> None:
        """Show how often a rule was used."""
        self.query_one("#usage-text", Static).update(use_content(rule, uses))

    def show_file(self, rule: Rule, read: tuple[Path, bytes] | None) -> None:
        """Show the file a rule is in, at its lines."""
        code, where = self.query_one("#file-code", CodeView), rule.provenance
        name = self.query_one("#file-name", Static)
        if read is None or where is None:
            gone = "" if where is None else f"{where.file} is not there"
            name.update(safe(gone))
            code.show("")
            return
        line = f":{where.line}" if where.line else "  (not written into it yet)"
        name.update(safe(f"{where.file}{line}   F opens it in $EDITOR"))
        marks = ((where.line, where.end_line),) if where.line else ()
        code.show(read[1], path=where.file, marks=marks)
        if where.line:
            code.goto(where.line)

    def show_answers(self, found: MessageMatches) -> None:
        """Show which rules match a message."""
        self.query_one(MatchesView).show(found)

    @on(VirtualTable.Highlighted, "#versions-list")
    def _version(self, event: VirtualTable.Highlighted) -> None:
        event.stop()
        self._show_change(event.index)

    @on(Input.Submitted, "#test-message")
    def _message(self, event: Input.Submitted) -> None:
        event.stop()
        if event.value.strip():
            self.post_message(self.MessageGiven(event.value.strip()))

    @on(Input.Changed, "#test-message")
    def _handle_typing(self, event: Input.Changed) -> None:
        event.stop()

    def _show_change(self, index: int) -> None:
        known = 0 <= index < len(self.story)
        content = change_content(self.story[index]) if known else safe("")
        self.query_one("#version-content", Static).update(content)
        self.query_one("#version-text", VerticalScroll).scroll_home(animate=False)


def _key(entry: DescribedChange) -> str:
    return f"{entry.change.step} {entry.change.record_id} {entry.what} {entry.change.at}"
