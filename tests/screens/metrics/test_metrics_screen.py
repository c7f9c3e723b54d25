"""The metrics screen: what was measured, by whichever process, is shown, followed and looked at closely."""

from __future__ import annotations

import dataclasses
import re
import time
from pathlib import Path

import pytest
from msgspec.structs import replace
from textual.widgets import Static

from screens.app import WorkbenchApp
from screens.metrics.figures import draw_charts, latency_chart
from screens.metrics.screen import MetricsScreen
from screens.metrics.usage import rule_cells, rule_story, variant_cells
from screens.widgets.code import Details
from screens.widgets.plot import Plot
from screens.widgets.table import VirtualTable
from store.clock import SystemClock
from store.journal import FileJournal
from store.metrics import HitPoint, LatencyPoint, Measurements, Totals, record_call
from tests.screens.conftest import press, settle
from tests.screens.golden import SIZES, check_every_size
from workbench.records.answers.project import OperationStats
from workbench.records.answers.usage import RuleOutcome, RuleUse, SessionUse, UsageResponse, VariantGap


def journal_of(root: Path) -> FileJournal:
    """Return the project's journal, as another process would open it."""
    return FileJournal(root / ".workbench", SystemClock())


def measure(root: Path, times: int = 4) -> None:
    """Record calls the way other processes do."""
    journal = journal_of(root)
    for n in range(1, times + 1):
        record_call(
            journal, "plan", 10.0 * n, by="cli", stages={"rank": 4.0 * n}, tokens=900, tokens_saved=2700
        )
        record_call(
            journal, "rules", 1.0 * n, by="mcp", cache={"l1": (3, 1)}, degraded=["redis [/]"], ok=n > 1
        )


def text_of(app: WorkbenchApp, selector: str) -> str:
    """Return what a static line says."""
    return str(app.screen.query_one(selector, Static).content)


async def opened(app: WorkbenchApp) -> MetricsScreen:
    """Return the screen once everything it asks for is there."""
    assert isinstance(app.section, MetricsScreen)
    return app.section


async def test_figures_of_all_operations_are_shown(roastery: Path) -> None:
    """Counts, failures, tokens and what was left out stand in the headline, operations in a table."""
    measure(roastery)
    app = WorkbenchApp(roastery, watch=False, section="metrics")
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        line = text_of(app, "#metrics-headline")
        assert "8 calls" in line
        assert "✗ 1 failed" in line
        assert "3,600 tokens packed" in line
        assert "11k left out of the files shown (75%)" in line
        table = app.screen.query_one("#metrics-operations", VirtualTable)
        assert [table.rows.key(n) for n in range(table.count)] == ["plan", "rules"]
        calls = app.screen.query_one("#card-calls", VirtualTable)
        assert calls.count == 8
        assert not app.screen.query_one("#metrics-usage").display
        given = {"session_id": "s", "event": "plan", "tokens": 900, "files": {"a.py": "full", "b.py": "path"}}
        journal_of(roastery).append("handovers", "handover.given", [given], by="cli")
        await press(pilot, "plus")
        await settle(pilot)
        line = "1 hand-over · 900 tokens · 2 files given · 0 opened · 0 edited"
        assert text_of(app, "#metrics-usage") == line


async def test_what_was_given_is_shown_by_hand_over(roastery: Path) -> None:
    """`w` puts the tables of `stats --usage` in place of the figures; a row opens with all of its figures."""
    given = {"session_id": "s", "agent": "[/]", "event": "UserPromptSubmit", "tokens": 1200}
    bodies = [{**given, "files": {"a.py": "full"}}, {**given, "tokens": 0}]
    journal_of(roastery).append("handovers", "handover.given", bodies, by="hook")
    app = WorkbenchApp(roastery, watch=False, section="metrics")
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await press(pilot, "w")
        await settle(pilot)
        doors = app.screen.query_one("#usage-doors", VirtualTable)
        assert doors.has_focus
        row = [str(cell) for cell in doors.rows.cells(0)]
        assert row == ["UserPromptSubmit", "[/]", "2", "1", "1,200", "1", "·", "·", "·"]
        assert not app.screen.query_one("#metrics-upper").display
        assert not app.screen.query_one("#usage-variants").display
        await press(pilot, "enter")
        assert isinstance(app.screen, Details)
        assert "times nothing was relevant enough" in app.screen._text
        await press(pilot, "escape", "w")
        assert app.screen.query_one("#metrics-operations").has_focus
        assert not app.screen.query_one("#metrics-used").display


def test_only_a_check_judges_whether_a_rule_was_obeyed() -> None:
    """A rule without one says so in its row and where it is opened; broken ones carry a mark."""
    judged = RuleUse("rule-0", "", 3, 2, 0, True, 1, 1, 1, 0)
    row = [str(cell) for cell in rule_cells(judged, {"rule-0": "Never\n push [/]"})]
    assert row == ["Never push [/]", "3", "2", "·", "1", "✗ 1", "1", "·", "·", ""]
    ended = replace(judged, outcome=RuleOutcome(4, 0.5, 0.15, 0.85, 10, 0.4, 0.1, -0.35, 0.5))
    assert str(rule_cells(ended, {})[8]) == "50% (15%–85%)"
    assert "40% of 10 without it: +10 points (-35 to +50" in rule_story(ended, {})
    assert "        1  had it and broke it" in rule_story(judged, {})
    blind = replace(judged, checkable=False, obeyed=0, broken=0, variant="wide")
    assert [str(cell) for cell in rule_cells(blind, {})][4:6] == ["·", "·"]
    assert "had it and obeyed" not in rule_story(blind, {})
    assert "variant wide" in rule_story(blind, {})
    gap = VariantGap("tokens added", False, "wide", 12, 11, 900.0, 700.0, -200.0, -380.0, -15.0, 0.04)
    cells = [str(cell) for cell in variant_cells(gap)]
    assert cells == ["tokens added (11 and 12)", "700", "900", "-200", "-380 to -15", "0.04"]


async def test_charts_are_a_dashboard_or_one_alone(roastery: Path) -> None:
    """The latency is of the operation under the cursor; `c` shows a chart alone, after the last one all."""
    measure(roastery)
    app = WorkbenchApp(roastery, watch=False, section="metrics")
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        charts = {name: app.screen.query_one(f"#card-{name}", Plot) for name in ("latency", "cache-hits")}
        assert [one.name for one in charts["latency"].chart.series] == ["median", "95th", "99th"]
        assert charts["latency"].chart.title == "Plans take 25 ms in the median, 38 ms at the 95th percentile"
        assert [(one.name, list(one.y)) for one in charts["cache-hits"].chart.series] == [("l1", [75.0])]
        await press(pilot, "j")
        assert charts["latency"].chart.title.startswith("Calls of rules take 2.5 ms")
        cards = app.screen.query(".card")
        assert all(card.region.height > 5 for card in cards)
        for number in range(5):
            await press(pilot, "right_square_bracket")
            assert [card.display for card in cards] == [place == number for place in range(6)]
        await press(pilot, "right_square_bracket")
        assert all(card.display for card in cards)


async def test_on_a_small_screen_charts_and_calls_take_turns(roastery: Path) -> None:
    """After the last chart come the slowest calls, then the first chart again."""
    measure(roastery)
    app = WorkbenchApp(roastery, watch=False, section="metrics")
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        shown = []
        for _ in range(7):
            shown.append([card.display for card in app.screen.query(".card")].index(True))
            await press(pilot, "right_square_bracket")
        assert shown == [0, 1, 2, 3, 4, 5, 0]


def test_charts_say_what_there_is_to_see() -> None:
    """Titles are figures of all that was measured; what there is nothing of has a sentence in its place."""
    stats = OperationStats("plan", 4, 0, 24.0, 61.0, 90.0, {}, {}, 900.0, None, 0.5, {"grepai": 2})
    point = LatencyPoint("plan", 60.0, 4, 24.0, 61.0, 90.0, 0.5, 3600, 10_800)
    found = Measurements(
        Totals(4, 0, 3600, 10_800, 2, 60.0), (stats,), (point,), (HitPoint("l1", 60.0, 3, 1),), ()
    )
    session = SessionUse("s", "claude", 61.0, 1, 10, 5, 2, ("a.py",), ("b.py",), 0, 0, (), "", "")
    usage = UsageResponse("24h", (), (session,), (), ())
    drawn = draw_charts(found, usage, "plan", (0.0, 120.0), 60.0)
    assert [chart.title for chart in drawn.values()] == [
        "Plans take 24 ms in the median, 61 ms at the 95th percentile",
        "Caches answer 75% of what they are asked",
        "3,600 tokens packed, 11k left out of the files shown (75%)",
        "2 of 4 plans degraded: without grepai",
        "2 of 5 files given opened, 1 edited without",
    ]
    opened = drawn["usage"].series[0]
    assert (opened.name, list(opened.x), list(opened.y)) == ("opened", [60.0], [2])
    single = OperationStats("rules", 1, 0, 9.0, 9.0, 9.0, {}, {}, None, None, 0.0, {})
    alone = Measurements(
        found.totals, (single,), (dataclasses.replace(point, operation="rules", count=1),), (), ()
    )
    assert latency_chart(alone, "rules", (0.0, 120.0)).title == "One call of rules took 9.0 ms"
    blank = Measurements(Totals(0, 0, 0, 0, 0, None), (), (), (), ())
    nothing = draw_charts(blank, None, "", (0.0, 1.0), 1.0)
    assert not any(chart.series for chart in nothing.values())
    assert all(chart.empty.endswith("in this time.") for chart in nothing.values())


async def test_what_another_process_writes_is_followed_until_it_is_paused(roastery: Path) -> None:
    """A change of the stream brings new figures; paused, the stream is not looked at."""
    measure(roastery, 1)
    app = WorkbenchApp(roastery, watch=False, section="metrics")
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        screen = await opened(app)
        assert "2 calls" in text_of(app, "#metrics-headline")
        measure(roastery, 1)
        assert "metrics" in screen.stores()
        screen.mark_stale()
        await settle(pilot)
        assert "4 calls" in text_of(app, "#metrics-headline")
        await press(pilot, "P")
        assert not list(screen.stores())
        assert "‖ paused" in text_of(app, "#metrics-headline")


async def test_one_operation_can_be_looked_at_alone(roastery: Path) -> None:
    """`o` leaves the calls of one operation, and brings the others back."""
    measure(roastery)
    app = WorkbenchApp(roastery, watch=False, section="metrics")
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await press(pilot, "t")
        calls = app.screen.query_one("#card-calls", VirtualTable)
        assert calls.count == 4
        assert "only plan" in text_of(app, "#metrics-headline")
        await press(pilot, "t")
        assert calls.count == 8


async def test_a_slow_call_tells_its_story(roastery: Path) -> None:
    """Enter on a call shows its stages; text of other processes is shown as it is."""
    measure(roastery)
    app = WorkbenchApp(roastery, watch=False, section="metrics")
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        app.screen.query_one("#card-calls", VirtualTable).focus()
        await press(pilot, "G", "enter")
        assert isinstance(app.screen, Details)
        assert "redis [/]" in app.screen._text
        await press(pilot, "escape", "b")
        await settle(pilot)
        assert isinstance(app.screen, Details)
        assert re.search(r"plan_context_p95_ms  [\d,.]+\n  95th percentile", app.screen._text)
        assert "affinity_hit_rate  no evidence yet" in app.screen._text
        assert re.search(r"storage  [\d.]+ .B in all; .* free on the disk", app.screen._text)


@pytest.mark.parametrize(("key", "name"), [("plus", "7d"), ("minus", "6h")])
async def test_the_time_looked_at_changes_and_is_remembered(roastery: Path, key: str, name: str) -> None:
    """Plus and minus change the span, which the log has as a command and the next start has again."""
    app = WorkbenchApp(roastery, watch=False, section="metrics")
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await press(pilot, key)
        screen = await opened(app)
        assert screen.remember()["span"] == name
        assert [action.command for action in app.log_of_actions.actions] == [
            f"workbench stats --since {name}"
        ]


async def test_foreign_memories_are_ignored(roastery: Path) -> None:
    """A place kept by another version opens with the defaults."""
    app = WorkbenchApp(roastery, watch=False, section="metrics")
    app.place.sections["metrics"] = {"span": 7, "chart": [], "paused": "yes"}
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        screen = await opened(app)
        assert screen.remember() == {"span": "24h", "chart": "", "paused": False}


async def test_the_screen_without_measurements(tmp_path: Path) -> None:
    """An empty screen says what to press."""
    app = WorkbenchApp(tmp_path, watch=False, section="metrics")
    async with app.run_test(size=SIZES[0]) as pilot:
        await settle(pilot)
        app.screen.query_one("#metrics-parts", Static).update("")
        await pilot.pause()
        await check_every_size(pilot, "metrics-empty")


async def test_the_screen_with_measurements(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables, chart and headline fit at every size."""
    now = 1_790_000_000.0
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    monkeypatch.setattr("screens.metrics.screen.time.time", lambda: now)
    monkeypatch.setattr(SystemClock, "now", lambda self: now - 600)
    measure(tmp_path)
    app = WorkbenchApp(tmp_path, watch=False, section="metrics")
    async with app.run_test(size=SIZES[0]) as pilot:
        await settle(pilot)
        app.screen.query_one("#metrics-parts", Static).update("")
        await app.workers.wait_for_complete()
        await pilot.pause()
        await check_every_size(pilot, "metrics")
