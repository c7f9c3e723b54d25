"""The metrics: figures of each operation, charts, the slowest calls, and whether hand-overs helped, live.

Where there is room the charts and the slowest calls are a dashboard, else one of them is shown at a time.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container, Vertical
from textual.events import Resize
from textual.widgets import Static

from screens.base import SectionScreen
from screens.commands import bindings
from screens.headless import CommandOutput, run_command
from screens.jobs import Job
from screens.metrics.figures import (
    CHARTS,
    SPANS,
    busiest,
    call_cells,
    call_story,
    draw_charts,
    figure_lines,
    find_span,
    headline,
    operation_cells,
)
from screens.metrics.usage import ShownUsage, UsageTables, usage_line
from screens.safe_text import safe
from screens.themes import style_of
from screens.widgets.code import Details
from screens.widgets.plot import Plot
from screens.widgets.table import Column, ListRows, VirtualTable

if TYPE_CHECKING:
    from workbench.entry.project import Measurements
    from workbench.records.answers.usage import UsageResponse

_FOLLOW_EVERY = 0.5  # seconds between two questions while others write
_ALL, _CALLS_CARD = "", "calls"

_OPERATIONS = (
    Column("operation", "Operation", "What was done.", 12, priority=9),
    Column("calls", "Calls", "How often, in the time looked at.", 7, "right", priority=8),
    Column("failed", "Failed", "How many calls failed.", 7, "right", priority=3),
    Column("p50", "Median", "Half of the calls took no longer.", 8, "right", priority=6),
    Column("p95", "95th", "95 % of the calls took no longer.", 8, "right", priority=7),
    Column("p99", "99th", "99 % of the calls took no longer.", 8, "right", priority=5),
    Column("tokens", "Tokens", "Tokens packed, in the median.", 7, "right", priority=2),
    Column(
        "hits",
        "Cache hits",
        "The share of what was asked that each cache answered.",
        priority=4,
        least=12,
        share=2,
    ),
    Column(
        "missing",
        "Without",
        "Parts that were missing, and how often; else how often a second stage was asked.",
        priority=1,
        least=10,
    ),
)
_CALLS = (
    Column("at", "Time", "When it began.", 14, priority=5),
    Column("operation", "Slowest", "What was done, the slowest first.", 12, priority=9),
    Column("took", "Took", "How long it took.", 8, "right", priority=8),
    Column("by", "By", "Command line, app, hook, server or agent.", 6, priority=2),
    Column("candidates", "Candidates", "How many candidates were ranked.", 10, "right", priority=1),
    Column("note", "Note", "Whether it failed, or what it had to do without.", priority=3),
)


class MetricsScreen(SectionScreen):
    """Looks back over a span of time that `+` and `-` change, and follows unless it is paused."""

    section: ClassVar[str] = "metrics"
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("metrics")]
    DEFAULT_CSS = style_of("MetricsScreen")

    def __init__(self) -> None:
        super().__init__()
        self.span = find_span("")
        self.which = _ALL
        self.alone = ""
        self.paused = False
        self.found: Measurements | None = None
        self.used: UsageResponse | None = None

    def compose_body(self) -> ComposeResult:
        """Put figures and charts above the slowest calls."""
        with Vertical(classes="body"):
            yield Static(id="metrics-headline")
            yield Static(id="metrics-parts")
            yield Static(id="metrics-usage")
            with Container(id="metrics-upper"):
                yield VirtualTable(
                    _OPERATIONS,
                    id="metrics-operations",
                    empty="Nothing was measured in this time. Press + to look further back, 1 to plan.",
                )
                with Container(id="metrics-board"):
                    yield from (Plot(id=_card(name), classes="card") for name in CHARTS)
                    yield VirtualTable(_CALLS, id=_card(_CALLS_CARD), classes="card", empty="No calls.")
            yield UsageTables(id="metrics-used")

    def stores(self) -> Iterable[str]:
        """Follow the streams of measurements and of hand-overs."""
        return () if self.paused else ("metrics", "handovers")

    def remember(self) -> Mapping[str, Any]:
        """Keep the span, the chart and whether it is paused."""
        return {"span": SPANS[self.span].name, "chart": self.which, "paused": self.paused}

    def recall(self, kept: Mapping[str, Any]) -> None:
        """Take them back."""
        self.span = find_span(kept.get("span"))
        self.which = kept["chart"] if kept.get("chart") in (*CHARTS, _CALLS_CARD) else _ALL
        self.paused = kept.get("paused") is True

    def load(self) -> None:
        """Ask for the figures, at most some times a second however fast others write."""
        if self.found is not None:
            self.bench.jobs.later("metrics/follow", _FOLLOW_EVERY, self._ask)
            return
        self._ask()
        self.ask("Looking at the parts", self._parts, self._show_parts, quiet=True)

    def _ask(self) -> None:
        self.ask("Reading measurements", self._measurements, self._show, group="measurements", quiet=True)
        self.ask("Counting hand-overs", self._usage, self._show_usage, group="usage", quiet=True)

    def _measurements(self, job: Job) -> Measurements:
        from workbench.entry.services.metrics import measurements_between

        span, now = SPANS[self.span], time.time()
        with self.engine.workspace(job.progress) as place:
            return measurements_between(
                place, since=now - span.seconds, until=now + 1, step=span.step, operation=self.alone
            )

    def _usage(self, job: Job) -> ShownUsage:
        from workbench.entry.services.usage import rules_in_book, usage_for

        span = SPANS[self.span]
        with self.engine.workspace(job.progress) as place:
            found = usage_for(place, time.time() - span.seconds, span.name)
            return ShownUsage(found, {rule.id: rule.rule for rule in rules_in_book(place)})

    def _show_usage(self, usage: ShownUsage) -> None:
        self.used = usage.found
        self._draw()
        line = usage_line(usage.found)
        self.set_class(bool(line), "-used")
        self.query_one("#metrics-usage", Static).update(safe(line))
        self.query_one(UsageTables).show(usage)

    def _parts(self, job: Job) -> str:
        from workbench.plan.planner import missing_parts
        from workbench.plan.semantics import known_past

        with self.engine.open_project(job.progress) as opened:
            planner = opened.planner
            embedding = "none: by words alone" if planner.embedder is None else planner.embedder.model
            stored = opened.workspace.look().past
            past = known_past(planner.embedder, stored.heads if stored else ())
            without = ", ".join(missing_parts(opened.workspace, planner, past)) or "nothing"
            return f"embedding {embedding} · tokens by {planner.counter.name} · missing: {without}"

    def _show_parts(self, line: str) -> None:
        self.query_one("#metrics-parts", Static).update(safe(line))

    def _show(self, found: Measurements) -> None:
        self.found = found
        names = [one.operation for one in found.operations]
        operations = self.query_one("#metrics-operations", VirtualTable)
        keep = operations.cursor_key if operations.count else busiest(found.operations)
        operations.set_rows(
            ListRows(found.operations, key=lambda one: one.operation, cells=operation_cells), keep=keep
        )
        calls = self.query_one("#card-calls", VirtualTable)
        calls.set_rows(
            ListRows(found.slowest, key=lambda call: call.id, cells=call_cells), keep=calls.cursor_key
        )
        state = "‖ paused" if self.paused else "▶ live"
        only = f" · only {self.alone}" if self.alone in names else ""
        line = f"{headline(found, SPANS[self.span].name)}{only} · {state}"
        self.query_one("#metrics-headline", Static).update(safe(line, "bold"))
        self._draw()

    def _draw(self) -> None:
        turns = self._turns()
        chosen = self.which if self.which in turns else turns[0]
        for name in (*CHARTS, _CALLS_CARD):
            self.query_one(f"#{_card(name)}").set_class(name == chosen, "-chosen")
        self.set_class(chosen == _ALL, "-board")
        if self.found is None:
            return
        span, now = SPANS[self.span], time.time()
        operation = self.query_one("#metrics-operations", VirtualTable).cursor_key or ""
        drawn = draw_charts(self.found, self.used, operation, (now - span.seconds, now), span.step)
        for name, chart in drawn.items():
            self.query_one(f"#{_card(name)}", Plot).show(chart)

    def _turns(self) -> tuple[str, ...]:
        """Return what can be shown in turn: all at once if they fit, one alone, else the calls."""
        if not self.has_class("-tall"):
            return (*CHARTS, _CALLS_CARD)
        return CHARTS if self.has_class("-narrow") else (_ALL, *CHARTS)

    def on_resize(self, event: Resize) -> None:
        """Show as much at once as there is room for."""
        super().on_resize(event)
        self.call_after_refresh(self._draw)

    @on(VirtualTable.Highlighted, "#metrics-operations")
    def _handle_choice(self) -> None:
        self._draw()

    @on(VirtualTable.Opened, "#card-calls")
    def _handle_open(self, message: VirtualTable.Opened) -> None:
        if self.found is not None:
            call = next(call for call in self.found.slowest if call.id == message.key)
            self.app.push_screen(Details("A call", call_story(call)))

    def action_chart(self, step: int) -> None:
        """Show the next chart alone or the one before, after the last one all or the slowest calls."""
        turns = self._turns()
        at = turns.index(self.which) if self.which in turns else 0
        self.which = turns[(at + step) % len(turns)]
        self._draw()

    def action_widen(self, step: int) -> None:
        """Look further back by a step, or at a shorter time."""
        self.span = min(max(self.span + step, 0), len(SPANS) - 1)
        self.bench.log_action(["stats", "--since", SPANS[self.span].name])
        self._ask()

    def action_usage(self) -> None:
        """Show what became of what sessions were given in place of the figures, or the figures again."""
        self.toggle_class("-usage")
        usage = self.has_class("-usage")
        self.bench.log_action(["stats", *(["--usage"] if usage else []), "--since", SPANS[self.span].name])
        self.query_one("#usage-doors" if usage else "#metrics-operations", VirtualTable).focus()

    def action_pause(self) -> None:
        """Follow no more, or again."""
        self.paused = not self.paused
        self._ask()

    def action_one(self) -> None:
        """Show one operation alone, or all again."""
        self.alone = (
            "" if self.alone else self.query_one("#metrics-operations", VirtualTable).cursor_key or ""
        )
        self._ask()

    def action_figures(self) -> None:
        """Show the figures of the span by the names that other programs know."""
        span = SPANS[self.span]

        def read(job: Job) -> str:
            from workbench.entry.services.metrics import FIGURES, specified_figures, statistics
            from workbench.entry.services.storage import storage_report, storage_sentence

            since = time.time() - span.seconds
            with self.engine.workspace(job.progress) as place:
                plans = next((one for one in statistics(place, since) if one.operation == "plan"), None)
                figures = figure_lines(specified_figures(place, plans, since), FIGURES, span.name)
                return f"{figures}\n\nstorage  {storage_sentence(storage_report(place))}"

        def then(text: str) -> None:
            self.bench.log_action(["stats", "--since", span.name])
            self.app.push_screen(Details(f"Figures of the last {span.name}", text))

        self.ask("Counting", read, then)

    def action_doctor(self) -> None:
        """Check everything and show what was found."""

        def check(job: Job) -> CommandOutput:
            return run_command(job, self.engine.root, ["doctor"], accept=(0, 1))

        def then(result: CommandOutput) -> None:
            self.bench.log_action(["doctor"], "sound" if result.code == 0 else "something is broken")
            self.app.push_screen(Details("Doctor", result.output))

        self.ask("Checking", check, then)


def _card(name: str) -> str:
    return f"card-{name.replace(' ', '-')}"
