"""What retention gives up, and what a transcript would be pruned to, before anything is done."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Final

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.widgets import Input, Static

from screens.commands import widget_bindings
from screens.curation.dialog import ListDialog
from screens.safe_text import join_parts, safe, shown_lines
from screens.stash.segment_view import TYPES, short_id
from screens.widgets.bars import bar
from screens.widgets.dialogs import DIALOG_CSS
from screens.widgets.fields import SafeInput
from screens.widgets.table import Column, ListRows, VirtualTable
from workbench.stash.lifecycle import Disposal, StashCollection
from workbench.text.counts import plural
from workbench.text.sanitize import visible_line

if TYPE_CHECKING:
    from screens.stash.screen import StashScreen
    from workbench.entry.services.stash_context import TranscriptPruning
    from workbench.stash.pruning import PrunedPiece


BUDGET: Final = 60_000
_TYPING: Final = 0.3  # seconds without typing after which it is proposed again
_BAR: Final = 30
_TEXT: Final = 300
_LINES: Final = 200


@dataclass(frozen=True, slots=True)
class AgreedPruning:
    """A proposal that somebody agreed to, and the arguments of the command that makes it."""

    pruning: TranscriptPruning
    arguments: tuple[str, ...]


class PruningView(ListDialog["PrunedPiece", AgreedPruning | None]):
    """Transcript, tokens and task above what stays and what goes; gives the proposal that is agreed to."""

    DEFAULT_CSS = f"""PruningView {{
        {DIALOG_CSS}
        & > .dialog {{ width: 130; height: 95%; }}
        & .pruning-asked {{ height: 1; }}
        & .pruning-label {{ width: auto; padding: 0 1 0 0; color: $text-muted; }}
        & #pruning-transcript {{ width: 1fr; }}
        & #pruning-task {{ width: 1fr; }}
        & #pruning-budget {{ width: 9; }}
        & #pruning-outcome {{ height: auto; }}
        & VirtualTable {{ height: 2fr; min-height: 4; }}
        & .piece {{ height: 1fr; min-height: 3; border-top: solid $panel; }}
        & .piece Static {{ height: auto; }}
    }}"""
    BINDINGS: ClassVar[list[BindingType]] = widget_bindings("pruning")

    def __init__(self, section: StashScreen, transcript: str) -> None:
        super().__init__()
        self._section = section
        self._transcript = transcript
        self.made: TranscriptPruning | None = None

    def compose(self) -> ComposeResult:
        """Lay out what is asked above the pieces and the one under the cursor."""
        with self.box("What a context would be pruned to"):
            with Horizontal(classes="pruning-asked"):
                yield Static(safe("transcript"), classes="pruning-label")
                yield SafeInput(
                    visible_line(self._transcript),
                    placeholder="~/.claude/projects/…/….jsonl",
                    compact=True,
                    select_on_focus=False,
                    id="pruning-transcript",
                )
                yield Static(safe("tokens"), classes="pruning-label")
                yield SafeInput(str(BUDGET), compact=True, select_on_focus=False, id="pruning-budget")
            with Horizontal(classes="pruning-asked"):
                yield Static(safe("task"), classes="pruning-label")
                yield SafeInput(
                    placeholder="what the user asked for last",
                    compact=True,
                    select_on_focus=False,
                    id="pruning-task",
                )
            yield Static(id="pruning-outcome")
            yield VirtualTable(
                (
                    Column(
                        "kept",
                        "Fate",
                        "Whether the piece stays in the conversation or is put aside.",
                        5,
                        priority=9,
                    ),
                    Column("type", "Type", "What kind of piece it is.", 8, priority=7),
                    Column("tokens", "Tokens", "Tokens of the piece.", 7, align="right", priority=8),
                    Column(
                        "turn",
                        "Turn",
                        "The turn of the conversation it is from.",
                        4,
                        align="right",
                        priority=4,
                    ),
                    Column("text", "Piece", "How the piece begins.", priority=6, share=2, least=20),
                    Column("why", "Why", "Why it stays or goes.", priority=5, share=2, least=20),
                ),
                empty="Name a transcript: what stays and what goes shows here.",
            )
            with VerticalScroll(classes="piece"):
                yield Static()
            yield Static(safe("tab moves · ctrl+s puts aside · escape closes"), classes="dialog-hint")

    def on_mount(self) -> None:
        """Propose for what is known; the focus is on the list, or on the path without any."""
        if self._transcript:
            self.table.focus()
            self._make()
        else:
            self.query_one("#pruning-transcript", SafeInput).focus()

    @on(Input.Changed)
    def _handle_typing(self, event: Input.Changed) -> None:
        event.stop()
        self._section.bench.jobs.later("stash/pruning", _TYPING, self._make)

    @on(Input.Submitted)
    def _handle_submit(self, event: Input.Submitted) -> None:
        event.stop()
        self.table.focus()

    def _make(self) -> None:
        if not self.is_attached:
            return
        path, tokens, task = map(self._field, ("transcript", "budget", "task"))
        if not path:
            return
        if not tokens.isdecimal() or int(tokens) < 1:
            self._tell(safe("✗ tokens: a whole number above 0", "bold $text-error"))
            return
        work = partial(self._section.writer.propose, path, int(tokens), task)
        self._section.ask("Pruning", work, self._show, group="pruning", failed=self.fail)

    def _field(self, name: str) -> str:
        return self.query_one(f"#pruning-{name}", SafeInput).value.strip()

    def show_refusal(self, message: str, hint: str = "") -> None:
        """Say why there is no proposal."""
        self.made = None
        if self.is_attached:
            self._tell(safe(f"✗ {message}  {hint}".rstrip(), "bold $text-error"))

    def _show(self, made: TranscriptPruning) -> None:
        if not self.is_attached:
            return
        self.made, self.entries = made, made.proposal.pieces
        self.table.set_rows(ListRows(self.entries, key=_key, cells=_cells))
        self._tell(outcome(made))
        self.show_here()

    def _tell(self, content: Content) -> None:
        self.query_one("#pruning-outcome", Static).update(content)

    def show_here(self) -> None:
        """Show the piece under the cursor."""
        here = self.here
        text = "" if here is None else here.segment.text
        self.query_one(".piece Static", Static).update(shown_lines(text, lines=_LINES))

    def open_here(self) -> None:
        """Read the piece."""
        self.query_one(".piece", VerticalScroll).focus()

    def action_agree(self) -> None:
        """Put aside what goes."""
        if self.made is not None and self.made.proposal.aside:
            proposal = self.made.proposal
            task = ("--task", proposal.task) if self._field("task") else ()
            budget = ("--budget", str(proposal.budget))
            self.dismiss(AgreedPruning(self.made, (*budget, *task, self._field("transcript"))))
        else:
            self._tell(safe("✗ there is nothing to put aside", "bold $text-error"))


def outcome(made: TranscriptPruning) -> Content:
    """Return a context before and after as bars of one scale, with what is amiss."""
    proposal = made.proposal
    most = max(proposal.tokens_before, proposal.budget)
    lines = [
        join_parts(
            (f"{name:<7}", "bold"),
            (bar(tokens, most, _BAR), style),
            (f" {plural(tokens, 'token')}, {plural(count, 'piece')}", ""),
        )
        for name, tokens, count, style in (
            ("before", proposal.tokens_before, len(proposal.pieces), "$text-warning"),
            ("after", proposal.tokens_after, len(proposal.kept), "$text-success"),
        )
    ]
    if not proposal.fits:
        over = plural(proposal.tokens_after - proposal.budget, "token")
        lines.append(safe(f"⚠ what must stay is {over} over the budget", "bold $text-warning"))
    if made.note:
        lines.append(safe(made.note, "$text-muted"))
    return Content("\n").join(lines)


def _key(one: PrunedPiece) -> str:
    return one.segment.segment_id


def _cells(one: PrunedPiece) -> tuple[Content | str, ...]:
    word, style = TYPES[one.segment.type]
    return (
        Content.styled("keep", "$text-success") if one.kept else Content.styled("aside", "$text-warning"),
        Content.styled(word, style),
        f"{one.tokens:,}",
        f"{one.turn:,}",
        safe(" ".join(one.segment.text.split()), "" if one.kept else "$text-muted", limit=_TEXT),
        safe(one.why, "$text-muted", limit=_TEXT),
    )


class CleanUp(ListDialog[Disposal, bool]):
    """Segments that would go, with why; gives whether they are to go."""

    DEFAULT_CSS = f"""CleanUp {{
        {DIALOG_CSS}
        & > .dialog {{ width: 100; height: 80%; }}
        & VirtualTable {{ height: 1fr; min-height: 4; }}
    }}"""
    BINDINGS: ClassVar[list[BindingType]] = widget_bindings("clean-up")

    def __init__(self, found: StashCollection) -> None:
        super().__init__()
        self.entries = found.disposals
        self._found = found

    def compose(self) -> ComposeResult:
        """Lay out the numbers, the list and the reason of the one under the cursor."""
        found = self._found
        with self.box(f"Clean up: {plural(len(found.disposals), 'segment')} would go"):
            yield Static(safe(_summary(found)))
            yield VirtualTable(
                (
                    Column("reason", "Reason", "Expired, unused or repeated.", 9, priority=9),
                    Column("type", "Type", "What kind of segment it is.", 8, priority=6),
                    Column("tokens", "Tokens", "Tokens that going frees.", 6, align="right", priority=5),
                    Column(
                        "why", "In words", "Why it would go, in a sentence.", priority=8, share=3, least=24
                    ),
                    Column("id", "Id", "The beginning of its id.", 8, priority=4),
                ),
                empty="Nothing has to go: nothing is expired, unused or repeated.",
            )
            hint = (
                "ctrl+s removes them, u restores them · escape closes" if found.disposals else "escape closes"
            )
            yield Static(safe(hint), classes="dialog-hint")

    def on_mount(self) -> None:
        """List them."""
        self.table.set_rows(ListRows(self.entries, key=lambda one: one.segment.id, cells=_given_up_cells))
        self.table.focus()

    def open_here(self) -> None:
        """Enter decides nothing here."""

    def show_here(self) -> None:
        """The reasons are in the rows."""

    def action_agree(self) -> None:
        """Let them go."""
        if self.entries:
            self.dismiss(True)


def _summary(found: StashCollection) -> str:
    counts = Counter(one.reason.value for one in found.disposals)
    reasons = ", ".join(f"{count:,} {reason}" for reason, count in counts.items())
    kept = f"{found.kept:,} stay with {plural(found.kept_tokens, 'token')}"
    protected = f", {found.protected:,} of them protected" if found.protected else ""
    freed = f"{reasons}: {plural(found.tokens, 'token')} · " if reasons else ""
    return f"{freed}{kept}{protected}"


def _given_up_cells(one: Disposal) -> tuple[Content | str, ...]:
    word, style = TYPES[one.segment.type]
    return (
        safe(one.reason.value, "$text-warning"),
        Content.styled(word, style),
        f"{one.segment.tokens:,}",
        safe(one.why),
        safe(short_id(one.segment.id), "$text-muted"),
    )
