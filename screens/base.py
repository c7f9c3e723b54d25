"""What every section is: a body between the bar of sections and the footer, with its commands bound.

A section declares its id, composes its body, says what it remembers and takes it back. Its commands come
from the registry; commands that change something are refused where the terminal is too small.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeVar, Unpack, cast

from textual.app import ComposeResult
from textual.events import DescendantFocus, Resize, ScreenResume
from textual.screen import Screen

from screens.chrome import MIN_HEIGHT, MIN_WIDTH, CommandFooter, StatusLine, TooSmall, TopBar
from screens.commands import BY_SECTION
from screens.jobs import Ahead, Job, JobOptions
from screens.modal import fit_screen
from screens.themes import style_of
from workbench.errors import UsageError

if TYPE_CHECKING:
    from screens.app import WorkbenchApp
    from screens.engine import AppEngine
    from screens.undo import Undo
    from screens.widgets.filter import FilterBar
    from screens.widgets.table import VirtualTable

Result = TypeVar("Result")
_UNDO: Final = frozenset({"app.undo"})


class SectionScreen(Screen[None]):
    """A section of the app. Subclasses set `section` and `BINDINGS` and override `compose_body`."""

    section: ClassVar[str] = ""
    curates: ClassVar[bool] = False
    """Whether `undo_with` has steps to walk, so that the footer names the key."""
    UNDO_ELSEWHERE: ClassVar[str] = "u undoes steps of Rules, Conflicts, Learnings, Stash and Sessions there."
    CSS = ""
    DEFAULT_CSS = style_of("SectionScreen")
    ESCAPE_TO_MINIMIZE = True

    def __init__(self) -> None:
        super().__init__(id=self.section)
        fit_screen(self, self.app)
        self._is_fresh = True
        self.stale = True

    @property
    def bench(self) -> WorkbenchApp:
        """The app."""
        return cast("WorkbenchApp", self.app)

    @property
    def engine(self) -> AppEngine:
        """The engine; to be asked in jobs only."""
        return self.bench.engine

    def compose(self) -> ComposeResult:
        """Put the body between the bars."""
        yield TopBar(self.section, self.bench.badges)
        yield from self.compose_body()
        yield StatusLine()
        yield CommandFooter(without=frozenset() if self.curates else _UNDO)
        yield TooSmall()

    def compose_body(self) -> ComposeResult:
        """Yield the widgets of this section; its outermost one has the class `body`."""
        yield from ()

    # What a section may override.

    def load(self) -> None:
        """Ask for what is shown. Called when the section first shows, on refresh, and when it is stale."""

    def remember(self) -> Mapping[str, Any]:
        """Return what this section needs to look the same at the next start, as JSON values."""
        return {}

    def recall(self, kept: Mapping[str, Any]) -> None:
        """Take back what `remember` returned in an earlier run; anything may be missing or foreign."""

    def stores(self) -> Iterable[str]:
        """Return how the journals it shows begin (`rules`, `memory/`): a change there makes it stale."""
        return ()

    def available(self, command_id: str) -> bool | None:
        """Whether a command can be given now: None shows it faint, False hides it."""
        return True

    def go_to(self, key: str) -> None:
        """Have the cursor on a thing with a key, now or once it is listed."""

    def undo_with(self) -> tuple[Undo, Callable[[Job], str], str]:
        """Return (undo, redo, command group) of what is curated here; both run in a job, return a title."""

        def refuse(job: Job, step: str = "") -> str:
            raise UsageError("nothing can be undone here", hint=self.UNDO_ELSEWHERE)

        return refuse, refuse, self.section

    def step_commands(self, verb: str) -> Iterable[Sequence[str]]:
        """Return the command lines that did the last undo or redo (`verb`), asked for once it is done."""
        return [(self.undo_with()[2], verb)]

    # What sections use.

    def ask(
        self,
        name: str,
        work: Callable[[Job], Result],
        then: Callable[[Result], None],
        *,
        group: str = "",
        **how: Unpack[JobOptions],
    ) -> Job:
        """Run `work` in the background, hand its result to `then`: see `Jobs.start`."""
        return self.bench.jobs.start(self, name, work, then, group=f"{self.section}/{group or name}", **how)

    def begin(self, ahead: Ahead[Any]) -> None:
        """Work out an answer before this is mounted; a failure is reported to whoever asks for it then."""
        self.ask(
            "Reading", ahead.run, lambda _: None, group=f"{id(ahead)}", quiet=True, failed=lambda _: None
        )

    def say(self, text: str) -> None:
        """Show a sentence in the status line."""
        self.query_one(StatusLine).left = text

    def clear_filter(self) -> bool:
        """Take off the first filter or search that is applied; return whether there was one."""
        bar = next(iter(self.applied_filters()), None)
        if bar is not None:
            bar.clear()
        return bar is not None

    def action_list(self) -> None:
        """Go back to the list; from there take the filter off."""
        first = next(iter(self._lists()), None)
        if first is None or first.has_focus:
            self.clear_filter()
        else:
            first.focus()

    def go_to_match(self, step: int) -> None:
        """Go to the next row that the filter or the search lets through, or to the one before."""
        lists, bars = self._lists(), self.applied_filters()
        table = next((one for one in lists if one.has_focus), next(iter(lists), None))
        if table is None or not bars:
            self.say("Nothing is searched for: / filters.")
        elif table.count:
            table.cursor = (table.cursor + step) % table.count
            bars[-1].say(f"match {table.cursor + 1:,} of {table.count:,}")

    def _lists(self) -> list[VirtualTable]:
        from screens.widgets.table import VirtualTable

        return [one for one in self.query(VirtualTable) if one.focusable and one.is_on_screen]

    def applied_filters(self) -> list[FilterBar]:
        """Return the bars in view in which something is filtered by or searched for."""
        from screens.widgets.filter import FilterBar

        return [bar for bar in self.query(FilterBar) if bar.text and bar.is_on_screen]

    @property
    def too_small(self) -> bool:
        """Whether the terminal is too small to work in."""
        width, height = self.app.size
        return width < MIN_WIDTH or height < MIN_HEIGHT

    # How it works.

    def on_mount(self) -> None:
        """Bind the commands, take back the place, and ask for what is shown."""
        self.recall(self.bench.place.of(self.section))
        self.bench.show_jobs()
        self._fit()
        self._reload()

    def on_screen_suspend(self) -> None:
        """Note that what styles depend on may change from now on."""
        self._is_fresh = False

    def on_screen_resume(self, event: ScreenResume) -> None:
        """Reload a stale section when it shows again. One just mounted needs no styles again."""
        event.refresh_styles = event.refresh_styles and not self._is_fresh
        if self.is_mounted:
            self.bench.show_jobs()
            self._reload()

    def on_descendant_focus(self, event: DescendantFocus) -> None:
        """Leave a zoomed panel for a widget outside of it: nobody types into what is not seen."""
        zoomed = self.maximized
        if zoomed is not None and zoomed not in event.widget.ancestors_with_self:
            self.minimize()

    def _reload(self) -> None:
        if self.stale and self.is_current:
            self.stale = False
            self.load()

    def mark_stale(self) -> None:
        """Note that what is shown is out of date; it is asked for again now or when the section shows."""
        self.stale = True
        self._reload()

    def on_resize(self, event: Resize) -> None:
        """Cover everything where there is too little room."""
        self._fit()

    def _fit(self) -> None:
        self.query_one(TooSmall).display = self.too_small
        self.refresh_bindings()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Refuse what changes something in a terminal too small, and what the section says cannot be done."""
        if action == "list":
            first = next(iter(self._lists()), None)
            return (first is not None and not first.has_focus) or bool(self.applied_filters())
        for command in BY_SECTION.get(self.section, ()):
            if command.action.partition("(")[0] == action:
                if command.changes and self.too_small:
                    return False
                return self.available(command.id)
        return True
