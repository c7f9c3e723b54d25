"""Rule files: which were found automatically, and others that are imported by name after a preview."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content
from textual.widgets import Input, Static

from screens.commands import widget_bindings
from screens.curation.dialog import Dialog
from screens.engine import BY, AppEngine
from screens.jobs import Failure, Job
from screens.safe_text import safe, shown_lines
from screens.widgets.dialogs import DIALOG_CSS
from screens.widgets.fields import SafeInput
from screens.widgets.table import Column, ListRows, VirtualTable
from workbench.errors import UsageError
from workbench.rules.files.merge import Incoming
from workbench.rules.files.named import import_named, named_files
from workbench.text.counts import plural

if TYPE_CHECKING:
    from screens.rules.screen import RulesScreen
    from workbench.rules.files.sync import SyncResult


@dataclass(frozen=True, slots=True)
class RuleFileRow:
    """A rule file: how many rules it holds, or what importing it would bring."""

    file: str
    what: str
    new: bool = False


@dataclass(frozen=True, slots=True)
class ImportPreview:
    """What importing paths would bring; `problems` are sentences about files that are left out."""

    paths: tuple[str, ...]
    rows: tuple[RuleFileRow, ...]
    rules: int
    problems: tuple[str, ...] = ()


def known_files(engine: AppEngine, job: Job) -> tuple[RuleFileRow, ...]:
    """Return the rule files that are kept in sync, with how many rules are in each."""
    with engine.rules("rules", job.progress) as work:
        book = work.book
    named = {source.path for source in book.named}
    counts = Counter(rule.provenance.file for rule in book.rules if rule.provenance is not None)
    files = sorted({*book.files, *named})
    return tuple(
        RuleFileRow(file, plural(counts[file], "rule") + (" · imported by name" if file in named else ""))
        for file in files
    )


def preview(engine: AppEngine, text: str, job: Job) -> ImportPreview:
    """Return what importing the files or directories named in a line would bring. Raises: UsageError."""
    paths = split_paths(text)
    with engine.rules("import", job.progress) as work:
        named = named_files(work.store.root, _from(engine, paths), progress=job.progress)
        found = import_named(work.store, named.sources, by=BY, dry_run=True)
    rows, rules = _rows(found)
    left = [f"{named.left:,} other text files left alone: name them"] if named.left else []
    return ImportPreview(paths, rows, rules, (*named.refused, *map(str, found.warnings), *left))


def import_paths(engine: AppEngine, paths: Sequence[str], job: Job) -> int:
    """Import files as one step; return how many rules changed. Raises: WorkbenchError."""
    with engine.rules("import", job.progress) as work:
        named = named_files(work.store.root, _from(engine, paths), progress=job.progress)
        found = import_named(work.store, named.sources, by=BY)
    return _rows(found)[1]


def split_paths(text: str) -> tuple[str, ...]:
    """Return the paths of a line, quoted like those of a shell. Raises: UsageError."""
    import shlex

    try:
        return tuple(shlex.split(text))
    except ValueError as error:
        raise UsageError(f"invalid list of paths: {error}", hint="Close the quotes.") from error


def _from(engine: AppEngine, paths: Sequence[str]) -> list[str]:
    """Return paths as seen from the project."""
    return [path if path.startswith("~") else str(engine.root / path) for path in paths]


def _rows(found: SyncResult) -> tuple[tuple[RuleFileRow, ...], int]:
    rows, total = [], 0
    for merge in found.merges:
        counts: Counter[Incoming] = Counter(
            item.what for item in merge.incoming if item.what is not Incoming.REFRESHED
        )
        total += sum(counts.values())
        outcome = ", ".join(f"{counts[what]:,} {what.value}" for what in Incoming if counts[what])
        rows.append(RuleFileRow(merge.state.file, outcome or "nothing new", bool(counts)))
    return tuple(rows), total


class ImportFiles(Dialog[bool]):
    """Lists the files that are known; a path that is written is looked at, then imported."""

    DEFAULT_CSS = f"""ImportFiles {{
        {DIALOG_CSS}
        & > .dialog {{ width: 96; height: 80%; }}
        & #import-outcome {{ height: auto; max-height: 6; color: $text-muted; }}
    }}"""
    BINDINGS: ClassVar[list[BindingType]] = widget_bindings("import")

    def __init__(self, screen: RulesScreen) -> None:
        super().__init__()
        self._section = screen
        self.preview: ImportPreview | None = None

    def compose(self) -> ComposeResult:
        """Lay out the path above the files."""
        with self.box("Rule files"):
            yield SafeInput(
                placeholder="~/dotfiles/CLAUDE.md or a directory, then enter",
                compact=True,
                select_on_focus=False,
            )
            yield VirtualTable(
                (
                    Column("state", "", "+ something in it is new, · nothing is.", 1, priority=3),
                    Column("file", "File", "A file of rules.", priority=4, share=2, path=True),
                    Column("what", "Rules", "How many rules are in it.", priority=2),
                ),
                empty=(
                    "No rule files were found here or in your home.\n\n"
                    "CLAUDE.md, AGENTS.md, .cursor/rules and the like are found automatically."
                ),
            )
            yield Static(id="import-outcome")
            yield Static(classes="dialog-error")
            yield Static(
                safe("enter looks at a path · ctrl+s imports it · escape leaves"), classes="dialog-hint"
            )

    def on_mount(self) -> None:
        """List the files that are known."""
        table = self.query_one(VirtualTable)
        table.busy = "looking for rule files"
        engine = self._section.engine

        def then(rows: tuple[RuleFileRow, ...]) -> None:
            table.busy = ""
            self._list(rows)
            self._tell(f"{plural(len(rows), 'file')} found automatically and kept in sync.")

        def failed(failure: Failure) -> None:
            table.busy = ""
            self.fail(failure)

        self._section.ask("Files", lambda job: known_files(engine, job), then, group="import", failed=failed)
        self.query_one(Input).focus()

    @on(Input.Submitted)
    def _handle_submit(self, event: Input.Submitted) -> None:
        event.stop()
        text, engine = event.value.strip(), self._section.engine
        if not text:
            return
        self.say("")
        self._tell("looking …")

        def then(found: ImportPreview) -> None:
            self.preview = found
            self._list(found.rows)
            files = plural(len(found.rows), "file")
            lines = [f"{plural(found.rules, 'rule')} would change in {files}: ctrl+s imports them"]
            if not found.rules:
                lines = ["nothing new to import"]
            self._tell("\n".join([*lines, *found.problems[:4]]))

        self._section.ask(
            "Looking at files", lambda job: preview(engine, text, job), then, group="import", failed=self.fail
        )

    @on(Input.Changed)
    def _handle_typing(self, event: Input.Changed) -> None:
        event.stop()
        self.preview = None

    @on(VirtualTable.Highlighted)
    @on(VirtualTable.Opened)
    def _quiet(self, event: VirtualTable.Highlighted | VirtualTable.Opened) -> None:
        event.stop()

    def action_import(self) -> None:
        """Import what was looked at."""
        found, engine, section = self.preview, self._section.engine, self._section
        if found is None or not found.rules:
            self._tell("Write a path and press enter to look at it first.")
            return
        self._tell("importing …")

        def then(count: int) -> None:
            outcome = f"{plural(count, 'rule')} changed"
            section.bench.report(f"imported: {outcome}; u takes it back")
            section.bench.log_action(["rules", "import", *found.paths], outcome)
            self.dismiss(True)

        section.ask(
            "Importing",
            lambda job: import_paths(engine, found.paths, job),
            then,
            group="import",
            failed=self.fail,
            writes=True,
        )

    def action_list(self) -> None:
        """Go to the list."""
        self.query_one(VirtualTable).focus()

    def action_path(self) -> None:
        """Go to the path."""
        self.query_one(Input).focus()

    def _list(self, rows: Sequence[RuleFileRow]) -> None:
        self.query_one(VirtualTable).set_rows(ListRows(rows, key=lambda row: row.file, cells=_cells))

    def _tell(self, text: str) -> None:
        self.query_one("#import-outcome", Static).update(shown_lines(text))

    def fail(self, failure: Failure) -> None:
        """Say why a job did not end."""
        self._tell("")
        super().fail(failure)


def _cells(row: RuleFileRow) -> tuple[Content, ...]:
    mark = ("+", "bold $text-success") if row.new else ("·", "$text-muted")
    return (Content.styled(*mark), safe(row.file), safe(row.what, "" if row.new else "$text-muted"))
