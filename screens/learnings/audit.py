"""The audit over the screen: junk by kind with counts, each finding, and what pruning would take out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Final

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content
from textual.widgets import Static

from screens.commands import widget_bindings
from screens.curation.dialog import Dialog
from screens.engine import AppEngine
from screens.headless import run_command
from screens.jobs import Job
from screens.learnings.learning_service import documents
from screens.safe_text import safe
from screens.widgets.bars import bar
from screens.widgets.dialogs import DIALOG_CSS, Confirm
from screens.widgets.table import Column, ListRows, VirtualTable
from workbench.errors import ProcessError
from workbench.lists.filters import Facet, Filter
from workbench.lists.tables import ListQuery, row_number
from workbench.text.counts import plural

PRUNE: Final = "would be pruned"
_WHAT: Final[Mapping[str, str]] = {
    "duplicate": "says what another says",
    "contradiction": "contradicts another",
    "stale": "not seen for long",
    "echo": "repeats what the workbench reported",
    "vague": "says too little",
    "secret": "holds a secret",
    PRUNE: "automatic, unreviewed, seen once, old",
}
_BAR: Final = 12


@dataclass(frozen=True, slots=True)
class JunkFinding:
    """A learning that looks like junk; `kind` also is PRUNE for those that pruning takes out."""

    kind: str
    id: str
    why: str
    text: str
    other: str = ""


@dataclass(frozen=True, slots=True)
class JunkAudit:
    """What an audit found among `total` live learnings, by kind, every kind named."""

    total: int
    findings: Mapping[str, tuple[JunkFinding, ...]]

    @property
    def prunable(self) -> tuple[JunkFinding, ...]:
        """What pruning would take out."""
        return self.findings.get(PRUNE, ())


def request_audit(engine: AppEngine, job: Job) -> JunkAudit:
    """Ask for the audit in a process of its own. Raises: ProcessError."""
    answer = run_command(job, engine.root, ["memory", "audit", "--json"])
    table = engine.lists().learning_list
    live = table.order(ListQuery(Filter((Facet("live", ("yes",)),)))).total

    def texts(identifiers: Iterable[str]) -> dict[str, str]:
        rows = table.rows(sorted(set(map(row_number, identifiers))))
        return {row.learning.id: row.learning.text for row in rows.values()}

    return audit_of(answer.output, texts, live, job)


def audit_of(
    text: str, texts: Callable[[Iterable[str]], Mapping[str, str]], live: int, job: Job
) -> JunkAudit:
    """Read the answer of `workbench memory audit --json`; `texts` gives those of learnings by id.

    Raises: ProcessError for a malformed answer.
    """
    found: dict[str, list[JunkFinding]] = {kind: [] for kind in _WHAT}
    try:
        for one in documents(text, "junk"):
            job.check()
            finding = JunkFinding(one["kind"], one["id"], one["why"], "", one["other"])
            found.setdefault(finding.kind, []).append(finding)
        for identifier in documents(text, "prunable"):
            found[PRUNE].append(JunkFinding(PRUNE, identifier, _WHAT[PRUNE], ""))
    except (ValueError, KeyError, TypeError, IndexError) as error:
        raise ProcessError(
            f"the answer of `memory audit` cannot be read: {error}", hint="Press X to ask again."
        ) from error
    known = texts(one.id for mine in found.values() for one in mine)
    named = {
        kind: tuple(replace(one, text=known.get(one.id, "")) for one in mine) for kind, mine in found.items()
    }
    return JunkAudit(live, named)


class AuditView(Dialog[str | None]):
    """Kinds above their findings; gives `prune`, the id of a learning to go to, or None."""

    DEFAULT_CSS = f"""AuditView {{
        {DIALOG_CSS}
        & > .dialog {{ width: 112; height: 90%; }}
        & #audit-kinds {{ height: 8; }}
        & #audit-findings {{ height: 1fr; border-top: solid $panel; }}
    }}"""
    BINDINGS: ClassVar[list[BindingType]] = widget_bindings("audit")

    def __init__(self, audit: JunkAudit) -> None:
        super().__init__()
        self.audit = audit

    def compose(self) -> ComposeResult:
        """Lay out the kinds above the findings of the one under the cursor."""
        junk = sum(len(mine) for kind, mine in self.audit.findings.items() if kind != PRUNE)
        title = f"Audit: {plural(junk, 'finding')} among {plural(self.audit.total, 'learning')}"
        with self.box(title):
            yield VirtualTable(
                (
                    Column("kind", "Kind", "A kind of fault.", 16, priority=9),
                    Column("count", "Count", "How many learnings have it.", 7, align="right", priority=8),
                    Column("bar", "Share", "Their share of the most frequent kind.", _BAR, priority=2),
                    Column("what", "What is wrong", "What is wrong about them.", priority=5, least=20),
                ),
                id="audit-kinds",
            )
            yield VirtualTable(
                (
                    Column("text", "Learning", "The learning's text.", priority=9, share=3, least=24),
                    Column("why", "Why", "Why it is listed here.", priority=8, share=2, least=20),
                    Column("other", "Other", "The learning it repeats or contradicts.", 9, priority=1),
                    Column("id", "Id", "The beginning of its id.", 9, priority=2),
                ),
                id="audit-findings",
                empty="None of this kind.",
            )
            yield Static(
                safe(
                    "ctrl+s prunes what may go · enter goes to the learning · tab other list · escape closes"
                ),
                classes="dialog-hint",
            )

    def on_mount(self) -> None:
        """Begin at the first kind that has findings."""
        kinds = list(self.audit.findings.items())
        most = max((len(mine) for _, mine in kinds), default=0)
        table = self.query_one("#audit-kinds", VirtualTable)
        table.set_rows(ListRows(kinds, key=lambda one: one[0], cells=lambda one: _kind_cells(one, most)))
        table.cursor = next((place for place, (_, mine) in enumerate(kinds) if mine), 0)
        table.focus()
        self._show()

    @on(VirtualTable.Highlighted, "#audit-kinds")
    def _handle_move(self, event: VirtualTable.Highlighted) -> None:
        event.stop()
        self._show()

    @on(VirtualTable.Opened, "#audit-kinds")
    def _into(self, event: VirtualTable.Opened) -> None:
        event.stop()
        self.query_one("#audit-findings").focus()

    @on(VirtualTable.Opened, "#audit-findings")
    def _handle_choice(self, event: VirtualTable.Opened) -> None:
        event.stop()
        self.dismiss(event.key.partition(" ")[0])

    def _show(self) -> None:
        kind = self.query_one("#audit-kinds", VirtualTable).cursor_key or ""
        found = self.audit.findings.get(kind, ())
        self.query_one("#audit-findings", VirtualTable).set_rows(
            ListRows(found, key=lambda one: f"{one.id} {one.other}", cells=_finding_cells)
        )

    def action_prune(self) -> None:
        """Ask whether to prune, saying what goes and how it comes back."""
        going = self.audit.prunable
        if not going:
            self.app.push_screen(Confirm("There is nothing to prune", _KEPT, yes="Close", no="Back"))
            return

        def answered(yes: bool | None) -> None:
            if yes:
                self.dismiss("prune")

        count = plural(len(going), "learning")
        self.app.push_screen(
            Confirm(f"Prune {count}?", prune_question(going), yes="Prune", danger=True), answered
        )


_KEPT: Final = (
    "Only what was learned automatically, never reviewed, seen once and not again for 60 days is pruned."
)


def prune_question(going: Sequence[JunkFinding]) -> str:
    """Return what will go and how it comes back."""
    listed = [f"· {' '.join(one.text.split())[:64]}" for one in going[:6]]
    more = [f"and {len(going) - 6:,} more"] if len(going) > 6 else []
    return "\n".join([*listed, *more, "", _KEPT, "One step: u takes it back; R restores single ones later."])


def _kind_cells(one: tuple[str, tuple[JunkFinding, ...]], most: int) -> tuple[Content | str, ...]:
    kind, mine = one
    style = "bold" if mine else "$text-muted"
    return (
        safe(kind, style),
        Content.styled(f"{len(mine):,}", style),
        Content.styled(bar(len(mine), most, _BAR), "$text-primary"),
        safe(_WHAT.get(kind, ""), "$text-muted"),
    )


def _finding_cells(one: JunkFinding) -> tuple[Content | str, ...]:
    return (
        safe(" ".join(one.text.split()) or one.id),
        safe(one.why, "$text-muted"),
        safe(one.other.removeprefix("learning-")[:8], "$text-muted"),
        safe(one.id.removeprefix("learning-")[:8], "$text-muted"),
    )
