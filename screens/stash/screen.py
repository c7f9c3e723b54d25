"""The stash: segments that were put aside, the one under the cursor, and what is decided about them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import ClassVar, Final, TypeVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container, Vertical
from textual.content import Content

from screens.chrome import teach, transcripts_of
from screens.commands import bindings
from screens.curation.record_pane import RecordPane
from screens.curation.search_screen import TYPING, SearchAnswer, SearchScreen
from screens.curation.steps import StepQueue
from screens.curation.walking import UNDOES
from screens.jobs import Failure, Job
from screens.stash.giving_up import AgreedPruning, CleanUp, PruningView
from screens.stash.segment_view import COLUMNS, columns, scored_cells, segment_cells, story_content
from screens.stash.segment_work import SegmentStory, StashWriter
from screens.undo import Undo
from screens.widgets.dialogs import Ask, Confirm
from screens.widgets.filter import FilterBar
from screens.widgets.table import Column, VirtualTable
from workbench.lists.segments import FIELDS, SEGMENTS, SegmentRow
from workbench.lists.tables import ListTable
from workbench.records.answers.stash import MergeResponse
from workbench.records.segments import ContextSegment, FoundSegment
from workbench.stash.lifecycle import StashCollection
from workbench.text.counts import plural
from workbench.text.sanitize import quote

ResultT = TypeVar("ResultT")

_ABOUT: Final = (
    "Nothing is stashed.\n\n"
    "The stash keeps what a long conversation has no room for: messages, code, errors, decisions. A later "
    "task gets back the few that matter, with their age and origin."
)
NONE_LIKE_THAT: Final = "No segment is like that.\n\nescape takes the filter off."

_ALWAYS: Final = frozenset("search filter facets sort reverse list clean prune".split())
_ALOUD: Final = frozenset({"Cleaning up", "Putting aside"})
_NEVER: Final = frozenset({"", "never"})


class StashScreen(SearchScreen[ContextSegment, SegmentRow, FoundSegment]):
    """Lists and searches segments, shows one, and decides about them."""

    section: ClassVar[str] = "stash"
    curates = True
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("stash")]
    list_type: ClassVar = SEGMENTS
    list_id: ClassVar = "segments"
    list_command: ClassVar = ("stash", "list")
    marks_hint: ClassVar = "P T d m i act on all of them"
    DEFAULT_CSS = "StashScreen.-wide #segments { width: 1fr; }"

    def __init__(self) -> None:
        super().__init__()
        self._steps = StepQueue(self)

    def compose_body(self) -> ComposeResult:
        """Lay out the bars above the list and the pane."""
        with Vertical(classes="body"):
            yield FilterBar(None, sign="≈", placeholder="what it is about", wait=TYPING, id="search")
            yield FilterBar(
                FIELDS, placeholder="words  !without  type:decision  topic:auth  age:<7", id="filter"
            )
            with Container(classes="split"):
                yield VirtualTable(COLUMNS, empty=" ", id="segments")
                yield RecordPane("segment", id="segment-pane")

    # What segments say.

    @property
    def pane(self) -> RecordPane:
        """The segment under the cursor."""
        return self.query_one(RecordPane)

    @property
    def writer(self) -> StashWriter:
        """What reads and changes segments."""
        return StashWriter(self.engine)

    def table_of(self, job: Job) -> ListTable[SegmentRow]:
        """Return the table of the segments."""
        return self.engine.lists().segment_list

    def record_of(self, row: SegmentRow) -> ContextSegment:
        """Return a row's segment."""
        return row.segment

    def text_of(self, record: ContextSegment) -> str:
        """Return what a segment says, as far as its row has it."""
        return record.text

    def cells_of(self, row: SegmentRow) -> Sequence[Content | str]:
        """Return the segment's cells, its score before them where segments were searched."""
        if self.sought.found is None:
            return segment_cells(row)
        return scored_cells(row, self.found_of(row.segment.id))

    def columns(self) -> Sequence[Column]:
        """Return the columns, with that of scores where segments were searched."""
        return columns(scored=self.sought.found is not None)

    def empty_text(self) -> str:
        """Return what to do without segments, or that none matches."""
        if self.total:
            return NONE_LIKE_THAT
        places = f"workbench stash import {transcripts_of(self.engine.root)}"
        return teach(
            _ABOUT, (places, 'workbench stash add --type decision "…"'), {"app.help": "lists all keys"}
        )

    # The section.

    def load(self) -> None:
        """List the segments as the journal has them."""
        if not self.is_listed:
            self.table.busy = "reading the stash"
        self.list_rows(recount=True, then=self.search_again)

    def find(self, text: str, job: Job) -> SearchAnswer[FoundSegment]:
        """Return the segments a text finds, with everything that makes their scores."""
        return self.writer.find(text, job)

    def stores(self) -> Iterable[str]:
        """The journal of the stash."""
        return ("stash",)

    def available(self, command_id: str) -> bool | None:
        """Commands about a segment need one."""
        name = command_id.partition(".")[2]
        if name in _ALWAYS or not self.is_mounted or self.table.count:
            return True
        return None

    def open_current(self) -> None:
        """Go to the pane."""
        self.pane.focus()

    def glance(self) -> None:
        """Show the segment under the cursor with everything known of it."""
        row = self.row
        if row is None:
            if not self.table.count:
                self.pane.show()
            return

        def then(found: SegmentStory) -> None:
            key = found.segment.id
            if key == self.table.cursor_key:
                self.pane.show(key, partial(story_content, found, self.found_of(key)))

        self.ask("Segment", partial(self.writer.story, row), then, group="story", quiet=True)
        key = row.segment.id
        known = SegmentStory(row, row.segment.text, (), ())
        self.show_meanwhile(self.pane, key, partial(story_content, known, self.found_of(key)))

    # Deciding.

    def action_protect(self) -> None:
        """Protect what is chosen, or let it go where all of it is protected."""

        def then(chosen: Sequence[ContextSegment]) -> None:
            on = not all(one.protected for one in chosen)
            wanted = [one for one in chosen if one.protected is not on]
            ids = [one.id for one in wanted]
            command = ["stash", "protect", *ids, *(() if on else ("--off",))]
            done = _so_many("protected" if on else "no longer protected", wanted)
            self._step("Protecting", partial(self.writer.protect, wanted, on), command, done)

        self.with_chosen(then)

    def action_expire(self) -> None:
        """Ask in how many days what is chosen expires."""

        def then(chosen: Sequence[ContextSegment]) -> None:
            ids = [one.id for one in chosen]

            def answered(text: str | None) -> None:
                if text is None:
                    return
                days = None if text.strip().casefold() in _NEVER else float(text)
                when = ("--never",) if days is None else ("--days", text.strip())
                done = _so_many(
                    "never expires" if days is None else f"expires in {text.strip()} days", chosen
                )
                command = ["stash", "expire", *ids, *when]
                self._step("Expiring", partial(self.writer.expire, ids, days), command, done)

            body = f"In how many days does {_each_of(chosen)} expire? Empty or “never” lets it stay."
            self.app.push_screen(
                Ask("Expires", body=body, placeholder="14", validate=_days_problem), answered
            )

        self.with_chosen(then)

    def action_remove(self) -> None:
        """Remove what is chosen, once that is agreed to."""

        def then(chosen: Sequence[ContextSegment]) -> None:
            ids = [one.id for one in chosen]

            def answered(yes: bool | None) -> None:
                if yes:
                    work = partial(self.writer.remove, ids)
                    self._step("Removing", work, ["stash", "remove", *ids], _so_many("removed", chosen))

            body = f"{_each_of(chosen)} leaves the stash. {UNDOES} it."
            self.app.push_screen(Confirm("Remove?", body, yes="Remove"), answered)

        self.with_chosen(then)

    def action_clean(self) -> None:
        """Show what retention gives up, and remove it once that is agreed to."""

        def answered(yes: bool | None) -> None:
            if yes:
                work = partial(self.writer.collect, False)
                self._step("Cleaning up", work, ["stash", "gc"], _describe_collection)

        def then(found: StashCollection) -> None:
            self.bench.log_action(["stash", "gc", "--dry-run"], f"{len(found.disposals):,} would go")
            self.app.push_screen(CleanUp(found), answered)

        self.ask("Clean-up", partial(self.writer.collect, True), then)

    def action_merge(self) -> None:
        """Merge what is chosen into one text on the clipboard."""

        def then(chosen: Sequence[ContextSegment]) -> None:
            ids = [one.id for one in chosen]

            def merged(found: MergeResponse) -> None:
                tokens = plural(found.tokens_added, "token")
                self.bench.copy(found.text, f"{plural(found.merged_count, 'segment')}, {tokens}")
                self.bench.log_action(["stash", "merge", *ids, "--copy"], tokens)
                self.mark_stale()

            self.ask("Merging", partial(self.writer.merge, ids), merged, writes=True)

        self.with_chosen(then)

    def action_pin(self) -> None:
        """Pin what is chosen into the pack that Plan forms, and go there."""
        from screens.plan.handover import open_plan

        def then(chosen: Sequence[ContextSegment]) -> None:
            ids = tuple(one.id for one in chosen)
            self.table.set_marks(())
            open_plan(self.bench, lambda one: replace(one, pinned=tuple(dict.fromkeys((*one.pinned, *ids)))))

        self.with_chosen(then)

    def action_prune(self) -> None:
        """Show what a transcript would be pruned to, and put aside what goes once that is agreed to."""

        def answered(agreed: AgreedPruning | None) -> None:
            if agreed is None:
                return
            made, command = agreed.pruning, ["stash", "prune", *agreed.arguments, "--apply"]
            self._step("Putting aside", partial(self.writer.put_aside, made), command, str)

        def then(transcript: str) -> None:
            self.app.push_screen(PruningView(self, transcript), answered)

        self.ask("Transcripts", self.writer.transcript, then)

    def action_copy(self) -> None:
        """Copy the whole text."""

        def read(one: ContextSegment) -> None:
            self.ask(
                "Reading",
                partial(self.writer.text, one.id),
                lambda text: self.bench.copy(text, "the segment"),
            )

        self.with_current(read)

    def undo_with(self) -> tuple[Undo, Callable[[Job], str], str]:
        """Walk the steps of the stash."""
        return (
            partial(self.writer.undo, self._steps.idle, self.bench.began),
            partial(self.writer.redo, self._steps.idle),
            "stash",
        )

    def _step(
        self,
        name: str,
        work: Callable[[Job], ResultT],
        command: Sequence[str],
        done: Callable[[ResultT], str],
    ) -> None:
        """Carry out a step; say what was done, over the screen if it was about many, or why it was not."""
        many = bool(self.table.mark_count) or name in _ALOUD

        def then(result: ResultT) -> None:
            text = f"{done(result)} · {UNDOES}"
            (self.bench.report if many else self.say)(text)
            self.bench.log_action(command, text)
            self.table.set_marks(())
            self.mark_stale()

        def failed(failure: Failure) -> None:
            self.bench.report(f"{failure.message}\n{failure.hint}".strip(), severity="error")
            self.bench.log_action(command, failure.details or failure.message, failed=True)

        self._steps.submit(name, work, then, failed=failed)


def _describe_collection(found: StashCollection) -> str:
    return f"cleaned up: {plural(len(found.disposals), 'segment')}, {plural(found.tokens, 'token')}"


def _so_many(done: str, chosen: Sequence[ContextSegment]) -> Callable[[Sequence[str]], str]:
    if len(chosen) == 1:
        return lambda _: f"{done}: {quote(chosen[0].text)}"
    return lambda ids: f"{done}: {plural(len(ids), 'segment')}"


def _each_of(chosen: Sequence[ContextSegment]) -> str:
    return quote(chosen[0].text) if len(chosen) == 1 else f"each of the {len(chosen):,} segments"


def _days_problem(text: str) -> str:
    text = text.strip().casefold()
    if text in _NEVER:
        return ""
    try:
        days = float(text)
    except ValueError:
        return "a number of days, like 14, or never"
    return "" if 0 <= days <= 36_500 else "from 0 to 36500 days"
