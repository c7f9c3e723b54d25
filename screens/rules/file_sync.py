"""Files and rules out of sync: what changed where, both sides of it, which one is kept, and the writing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar, Final

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content
from textual.widgets import Static

from screens.commands import widget_bindings
from screens.curation.dialog import ListDialog
from screens.jobs import Failure, Job
from screens.rules.file_differences import (
    RuleDifference,
    look_at,
    preview_text,
    put_file_back,
    sync_files,
    take_merged,
    take_side,
)
from screens.safe_text import embolden, safe
from screens.widgets.dialogs import DIALOG_CSS, Confirm
from screens.widgets.diff import WordDiff
from screens.widgets.merge import MergeEditor
from screens.widgets.table import Column, ListRows, VirtualTable
from workbench.rules.files.drift import SyncOutcome, Written
from workbench.text.counts import plural

if TYPE_CHECKING:
    from screens.rules.screen import RulesScreen


class SyncFiles(ListDialog[RuleDifference, bool]):
    """Lists what is out of sync; settles conflicts one by one, then writes the files."""

    DEFAULT_CSS = f"""SyncFiles {{
        {DIALOG_CSS}
        & > .dialog {{ width: 116; height: 90%; }}
        & VirtualTable {{ height: 2fr; min-height: 4; }}
        & WordDiff {{ height: 3fr; }}
        & .dialog-error {{ max-height: 3; }}
    }}"""
    BINDINGS: ClassVar[list[BindingType]] = widget_bindings("drift")

    def __init__(self, screen: RulesScreen) -> None:
        super().__init__()
        self._section = screen
        self._changed = False

    def compose(self) -> ComposeResult:
        """Lay out the differences above both sides of one."""
        with self.box("Files and rules out of sync"):
            yield VirtualTable(
                (
                    Column("what", "", "+ new, - removed, ~ changed.", 1, priority=6),
                    Column(
                        "side",
                        "Changed in",
                        "Where it changed: in the file, in the store or in both.",
                        10,
                        priority=5,
                    ),
                    Column("file", "File", "The file and its line.", 24, priority=4, path=True),
                    Column("text", "Rule", "The rule as it is now.", priority=7, share=3),
                ),
                empty="Files and rules are in sync: there is nothing to write.",
            )
            yield WordDiff(left_title="the store", right_title="the file")
            yield Static(classes="dialog-error")
            yield Static(safe(hint_of("")), classes="dialog-hint")

    def on_mount(self) -> None:
        """Look at the files."""
        self.table.focus()
        self._look()

    def _look(self) -> None:
        table, engine = self.table, self._section.engine
        table.busy = "comparing files and rules"

        def then(found: tuple[RuleDifference, ...]) -> None:
            table.busy = ""
            self.entries = found
            keep = table.cursor_key
            table.set_rows(ListRows(found, key=lambda one: one.key, cells=_cells), keep=keep)
            both = sum(one.side == "both" for one in found)
            self.say(f"{both:,} changed on both sides: say which one is kept" if both else "")
            self.show_here()

        self._section.ask(
            "Comparing", lambda job: look_at(engine, job), then, group="drift", failed=self.fail
        )

    @property
    def differences(self) -> tuple[RuleDifference, ...]:
        """What is out of sync."""
        return self.entries

    def action_take(self, side: str) -> None:
        """Say which side is kept."""
        here, engine = self.here, self._section.engine
        if here is not None and here.side == "file" and side == "ours":
            self._put_back(here)
            return
        if here is None or here.side != "both":
            self.say("only one side changed this: what ctrl+s does is below")
            return
        command = ["rules", "drift", "--resolve", here.identifier, "--take", side]
        self._step("Settling", lambda job: take_side(engine, here, side, job), command, f"kept {side}")

    def _put_back(self, here: RuleDifference) -> None:
        """Show what would be written into the file that changed, and write it when that is confirmed."""
        engine = self._section.engine
        command = ["rules", "drift", "--resolve", here.identifier, "--take", "ours"]

        def work(job: Job) -> None:
            put_file_back(engine, here, False, job)

        def then(written: Written | None) -> None:
            if written is None:
                self._section.bench.report("it was taken in meanwhile: e rewords it, V has its versions")
                self._look()
                return
            if written.refused or not written.changed:
                self.say("\n".join(written.refused) or "there is nothing to write")
                return

            def answered(yes: bool | None) -> None:
                if yes:
                    self._step("Writing", work, command, f"{here.file} says what the store says", "")

            body = preview_text([written])
            self.app.push_screen(Confirm(f"Put it back in {here.file}?", body, yes="Write"), answered)

        self._section.ask(
            "Comparing",
            lambda job: put_file_back(engine, here, True, job),
            then,
            group="drift",
            failed=self.fail,
        )

    def action_merge(self) -> None:
        """Merge both sides of a conflict."""
        here, engine = self.here, self._section.engine
        if here is None or here.side != "both" or here.ours is None or here.theirs is None:
            self.say("only what both sides changed, and neither removed, can be merged")
            return

        def merged(text: str | None) -> None:
            if text is not None:
                command = ["rules", "edit", here.store_id, "--text", text]
                self._step("Settling", lambda job: take_merged(engine, here, text, job), command, "merged")

        editor = MergeEditor(
            here.ours,
            here.theirs,
            title="Text",
            left_title="the store",
            right_title="the file",
            validate=lambda text: "" if text.strip() else "the text is empty",
        )
        self.app.push_screen(editor, merged)

    def action_write(self) -> None:
        """Show what would be written, and write it when that is confirmed."""
        engine = self._section.engine
        if not self.differences:
            return
        self.say("looking at what would be written …")

        def then(outcome: SyncOutcome) -> None:
            self.say("")
            incoming = sum(one.side == "file" for one in self.differences)
            taken = [f"{plural(incoming, 'change')} of files taken in."] if incoming else []
            files = sum(written.changed for written in outcome.written)
            if not files and not incoming:
                refused = _refusals(outcome)
                self.say("\n".join(refused) if refused else "what is left changed on both sides: L, R or m")
                return
            body = "\n".join([*taken, preview_text(outcome.written)])
            title = f"Write {plural(files, 'file')}?" if files else "Take in what files changed?"
            yes = "Write" if files else "Take in"
            self.app.push_screen(Confirm(title, body, yes=yes), self._sync_confirmed)

        self._section.ask(
            "Comparing", lambda job: sync_files(engine, True, job), then, group="drift", failed=self.fail
        )

    def action_leave(self) -> None:
        """Go back to the list."""
        self.dismiss(self._changed)

    def _sync_confirmed(self, yes: bool | None) -> None:
        engine, section = self._section.engine, self._section
        if not yes:
            return

        def then(outcome: SyncOutcome) -> None:
            self._changed = True
            refused = _refusals(outcome)
            files = sum(item.changed for item in outcome.written)
            outcome_text = f"{plural(files, 'file')} written" if files else "taken in; no file was written"
            section.bench.report(
                "\n".join([outcome_text, *refused]), severity="warning" if refused else "information"
            )
            section.bench.log_action(["rules", "drift", "--merge"], outcome_text)
            self._look()

        section.ask(
            "Writing",
            lambda job: sync_files(engine, False, job),
            then,
            group="drift",
            failed=self.fail,
            writes=True,
        )

    def _step(
        self,
        name: str,
        work: Callable[[Job], None],
        command: Sequence[str],
        outcome_text: str,
        next_step: str = "; ctrl+s writes the files, u takes it back",
    ) -> None:
        section = self._section

        def then(nothing: None) -> None:
            self._changed = True
            section.bench.log_action(command, outcome_text)
            section.bench.report(f"{outcome_text}{next_step}")
            self._look()

        section.ask(name, work, then, group="drift", failed=self.fail, writes=True)

    def open_here(self) -> None:
        """Merge both sides."""
        self.action_merge()

    def show_here(self) -> None:
        """Show both sides of the difference."""
        here = self.here
        self.query_one(".dialog-hint", Static).update(safe(hint_of("" if here is None else here.side)))
        ours, theirs = ("", "") if here is None else (here.ours, here.theirs)
        self.query_one(WordDiff).show(
            "(removed)" if ours is None else ours,
            "(removed)" if theirs is None else theirs,
            left_title=_LEFT.get("" if here is None else here.side, "the store"),
            right_title=_RIGHT.get("" if here is None else here.side, "the file"),
        )

    def fail(self, failure: Failure) -> None:
        """Say why a job did not end."""
        self.table.busy = ""
        super().fail(failure)


def hint_of(side: str) -> str:
    """Return what the keys do for a difference by where it changed, "" for none."""
    return {
        "both": "changed on both sides: L the rule · R the file · m merge · escape leaves",
        "store": "changed in the store: ctrl+s writes the file · escape leaves",
        "file": "changed in the file: ctrl+s takes it in · L puts it back · escape leaves",
    }.get(side, "escape leaves")


def _refusals(outcome: SyncOutcome) -> list[str]:
    return [f"{item.file}: {reason}" for item in outcome.written for reason in item.refused]


_LEFT: Final = {"both": "the store", "store": "the store, to be written", "file": "the store"}
_RIGHT: Final = {"both": "the file", "store": "the file", "file": "the file, to be taken in"}


def _cells(one: RuleDifference) -> tuple[Content, ...]:
    style = {"both": "bold $text-error", "store": "$text-warning", "file": "$text-primary"}[one.side]
    where = f"{one.file}:{one.line}" if one.line else one.file
    text = one.ours if one.ours is not None else one.theirs
    return (
        Content.styled(one.what, style),
        Content.styled({"both": "both sides", "store": "store", "file": "file"}[one.side], style),
        safe(where, "$text-primary"),
        embolden(safe(" ".join((text or "")[:400].split()))),
    )
