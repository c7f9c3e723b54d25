"""A record that two changed at once: what each changed, and which side is kept, field by field."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, TypeAlias

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content
from textual.widgets import Static

from screens.commands import widget_bindings
from screens.curation.dialog import ListDialog
from screens.curation.record_form import RecordFields
from screens.safe_text import safe
from screens.widgets.dialogs import DIALOG_CSS
from screens.widgets.diff import WordDiff
from screens.widgets.merge import MergeEditor
from screens.widgets.table import Column, ListRows, VirtualTable
from workbench.text.counts import plural

FieldChoice: TypeAlias = Literal["", "mine", "theirs", "merged"]


@dataclass(frozen=True, slots=True)
class FieldMerge:
    """A field that somebody changed: its value when the edit began, now, and as it was edited.

    `choice` is '' while both changed it differently and nobody said which is kept.
    """

    name: str
    before: Any
    theirs: Any
    mine: Any
    choice: FieldChoice = ""
    merged: Any = None

    @property
    def value(self) -> object:
        """The value that is kept; theirs while nothing was chosen."""
        return {"mine": self.mine, "merged": self.merged}.get(self.choice, self.theirs)

    @property
    def contested(self) -> bool:
        """Whether both changed it, differently."""
        return self.theirs != self.before and self.mine not in (self.before, self.theirs)


def field_merges(
    names: Iterable[str], seen: object, now: object, changes: Mapping[str, Any]
) -> tuple[FieldMerge, ...]:
    """Return the fields of these names that differ: what one side alone changed is chosen already."""
    found = []
    for name in names:
        before, theirs = getattr(seen, name), getattr(now, name)
        mine = changes.get(name, before)
        if before == theirs == mine:
            continue
        merge = FieldMerge(name, before, theirs, mine)
        if not merge.contested:
            merge = replace(merge, choice="theirs" if mine == before else "mine")
        found.append(merge)
    return tuple(found)


def count_undecided(merges: Sequence[FieldMerge]) -> int:
    """Return for how many fields nobody said which side is kept."""
    return sum(not merge.choice for merge in merges)


def merged_changes(merges: Sequence[FieldMerge]) -> dict[str, Any]:
    """Return what is to be changed of the record as it is now."""
    return {merge.name: merge.value for merge in merges if merge.value != merge.theirs}


_GLYPHS = {"": "?", "mine": "◀", "theirs": "▶", "merged": "◆"}

_WORDS = {"": "choose", "mine": "mine", "theirs": "theirs", "merged": "merged"}


class OvertakenRecord(ListDialog[FieldMerge, bool]):
    """Chooses a side for every field both changed. It closes when that is saved, or is left.

    `save` is given this and what to change of the record as it is now.
    """

    DEFAULT_CSS = f"""OvertakenRecord {{
        {DIALOG_CSS}
        & > .dialog {{ width: 110; height: 90%; border: heavy $warning; }}
        & VirtualTable {{ height: 8; }}
    }}"""
    BINDINGS: ClassVar[list[BindingType]] = widget_bindings("overtaken")

    def __init__(
        self,
        noun: str,
        merges: Sequence[FieldMerge],
        record: RecordFields,
        save: Callable[[OvertakenRecord, dict[str, Any]], None],
    ) -> None:
        super().__init__()
        self._save = save
        self.entries = tuple(merges)
        self._noun = noun
        self._record = record

    def compose(self) -> ComposeResult:
        """Lay out the fields above both sides of the one under the cursor."""
        with self.box(f"! The {self._noun} was changed meanwhile"):
            yield VirtualTable(
                (
                    Column("choice", "Keep", "Whose value will be kept.", 8, priority=3),
                    Column("field", "Field", "The field that two people changed.", 10, priority=4),
                    Column("mine", "Yours", "What you wrote."),
                    Column("theirs", "Theirs, as it is now", "What somebody wrote meanwhile."),
                ),
                self._rows(),
            )
            yield WordDiff()
            yield Static(classes="dialog-error")
            yield Static(
                safe("L mine · R theirs · m merge · ctrl+s saves · escape goes back to what you wrote"),
                classes="dialog-hint",
            )

    def on_mount(self) -> None:
        """Begin at the first field that nobody decided."""
        open_ = [place for place, merge in enumerate(self.merges) if not merge.choice]
        self.table.cursor = open_[0] if open_ else 0
        self.table.focus()
        self.show_here()

    def action_choose(self, choice: FieldChoice) -> None:
        """Say which side of the field is kept."""
        if here := self.here:
            self._put(replace(here, choice=choice))
            self.table.cursor += 1

    def action_merge(self) -> None:
        """Merge both texts of the field in three panes."""
        here, record = self.here, self._record
        if here is None:
            return
        if here.name not in record.texts:
            self.say(f"{record.labels[here.name]} has one of two values: L or R")
            return

        def merged(text: str | None) -> None:
            if text is not None:
                value = record.read({here.name: text})[here.name]
                self._put(replace(here, choice="merged", merged=value))

        self.app.push_screen(
            MergeEditor(
                record.written(here.name, here.mine),
                record.written(here.name, here.theirs),
                title=record.labels[here.name],
                left_title="yours",
                right_title="theirs, as it is now",
                result=None if here.merged is None else record.written(here.name, here.merged),
                validate=lambda text: record.problems({here.name: text}).get(here.name, ""),
            ),
            merged,
        )

    def action_save(self) -> None:
        """Save what was chosen, once every field is decided."""
        if left := count_undecided(self.merges):
            self.say(f"! {plural(left, 'field')} that both changed: L or R says which is kept")
        else:
            self.say("one moment …")
            self._save(self, merged_changes(self.merges))

    @property
    def unsaved(self) -> bool:
        """Whether a text was merged that is nowhere else."""
        return any(merge.choice == "merged" for merge in self.merges)

    @property
    def merges(self) -> tuple[FieldMerge, ...]:
        """The fields, as far as they are decided."""
        return self.entries

    def show_here(self) -> None:
        """Show both sides of the field."""
        if here := self.here:
            self.query_one(WordDiff).show(
                self._record.written(here.name, here.mine),
                self._record.written(here.name, here.theirs),
                left_title="yours",
                right_title="theirs, as it is now",
            )

    def open_here(self) -> None:
        """Merge the field."""
        self.action_merge()

    def _put(self, merge: FieldMerge) -> None:
        self.entries = tuple(merge if one.name == merge.name else one for one in self.entries)
        self.table.set_rows(self._rows(), keep=merge.name)
        self.say("")
        self.show_here()

    def _rows(self) -> ListRows[FieldMerge]:
        return ListRows(self.entries, key=lambda merge: merge.name, cells=self._cells)

    def _cells(self, merge: FieldMerge) -> tuple[Content, ...]:
        style = "bold $text-warning" if not merge.choice else "$text-success"
        written = self._record.written
        mine, theirs = written(merge.name, merge.mine), written(merge.name, merge.theirs)
        return (
            Content.styled(f"{_GLYPHS[merge.choice]} {_WORDS[merge.choice]}", style),
            safe(self._record.labels[merge.name]),
            safe(mine, "" if merge.mine != merge.before else "$text-muted"),
            safe(theirs, "" if merge.theirs != merge.before else "$text-muted"),
        )
