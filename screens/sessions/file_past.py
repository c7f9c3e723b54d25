"""What sessions did with one file: who edited and read it, and which files were changed with it."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from screens.commands import widget_bindings
from screens.modal import Modal
from screens.safe_text import safe
from screens.sessions.listing import head, outcome, source, when
from screens.widgets.dialogs import DIALOG_CSS
from screens.widgets.table import Column, ListRows, VirtualTable
from workbench.text.counts import plural

if TYPE_CHECKING:
    from workbench.entry.project import Companion, FileHistory, FileSession

SESSIONS = (
    Column("when", "When", "When the session began, in local time.", 11, priority=6),
    Column("did", "", "~ edited the file, · read it.", 1, priority=8),
    Column("outcome", "", "✓ success, ◐ partial, ✗ failed, · not known.", 1, priority=7),
    Column("task", "Task", "What the session was asked for.", least=20, priority=9),
    Column("because", "Because", "The reason that was given, issues, and the commit.", 16, priority=4),
    Column("source", "Source", "The agent, or commits of the history.", 8, priority=3),
)
FILES = (
    Column(
        "path",
        "Changed together with",
        "A file sessions changed with it.",
        least=24,
        priority=9,
        path=True,
    ),
    Column("times", "Times", "How many sessions changed both.", 6, "right", priority=8),
    Column(
        "share",
        "Of its edits",
        "Their share of all sessions that changed this file.",
        12,
        "right",
        priority=7,
    ),
)


class FilePastDialog(Modal[tuple[str, str] | None]):
    """Gives ("session", id) or ("file", path) for the row that was opened, or None."""

    DEFAULT_CSS = f"""FilePastDialog {{
        {DIALOG_CSS}
        & > .dialog {{ width: 110; height: 90%; }}
        & #past-head {{ height: 1; color: $text-muted; text-wrap: nowrap; text-overflow: ellipsis; }}
        & #past-sessions {{ height: 3fr; }}
        & #past-files {{ height: 2fr; border-top: solid $panel; }}
    }}"""
    BINDINGS: ClassVar[list[BindingType]] = widget_bindings("past")

    def __init__(self, past: FileHistory, now: float) -> None:
        super().__init__()
        self.past = past
        self._now = now

    def compose(self) -> ComposeResult:
        """Lay out the sessions above the files."""
        past = self.past
        dialog = Vertical(classes="dialog")
        dialog.border_title = safe(past.path)
        with dialog:
            yield Static(
                safe(f"edited by {past.edited:,}, read by {plural(past.read, 'task')}{_facts(past)}"),
                id="past-head",
            )
            yield VirtualTable(
                SESSIONS,
                ListRows(past.sessions, key=lambda one: one.session_id, cells=self._session),
                id="past-sessions",
                empty="No session read or edited it.",
            )
            yield VirtualTable(
                FILES,
                ListRows(past.companions, key=lambda one: one.path, cells=_file),
                id="past-files",
                empty="No session changed another file with it.",
            )
            yield Static(safe("enter opens, tab changes lists, escape closes"), classes="dialog-hint")

    def _session(self, one: FileSession) -> tuple[Content | str, ...]:
        return (
            safe(when(one.started_at, self._now), "$text-muted"),
            Content.styled("~", "bold $text-warning") if one.edited else Content.styled("·", "$text-muted"),
            outcome(one.outcome)[:1],
            safe(head(one.task_text), limit=300),
            safe(because(one), "$text-muted", limit=100),
            source(one.source),
        )

    @on(VirtualTable.Opened)
    def _handle_open(self, message: VirtualTable.Opened) -> None:
        message.stop()
        self.dismiss(("session" if message.table.id == "past-sessions" else "file", message.key))

    def action_close(self) -> None:
        """Go back to the sessions."""
        self.dismiss(None)


def _facts(past: FileHistory) -> str:
    """Return what the file is, as the index of the last plan has it."""
    facts = past.facts
    if facts is None:
        return " · not in the index"
    kind = " ".join(filter(None, (facts.language, facts.role)))
    parts = (kind, plural(facts.lines, "line"), f"about {plural(facts.tokens, 'token')}")
    return "".join(f" · {part}" for part in parts)


def because(one: FileSession) -> str:
    """Return why a task changed the file: feedback's reason, issues, the commit."""
    return " ".join(filter(None, (one.rationale, *one.issues, one.commit_sha[:8])))


def _file(one: Companion) -> tuple[Content | str, ...]:
    return (
        safe(one.path),
        f"{one.times:,}",
        safe(f"{one.share:.0%}", "bold" if one.share >= 0.5 else "$text-muted"),
    )
