"""The stash in the app: what is kept shows whole, every decision is a step, merging gives a text."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from screens.app import WorkbenchApp
from screens.plan.screen import PlanScreen
from screens.stash.giving_up import CleanUp, PruningView
from screens.stash.screen import StashScreen
from screens.widgets.dialogs import Ask, Confirm
from screens.widgets.fields import SafeInput
from tests.screens.conftest import press, settle
from tests.screens.golden import screen_text
from workbench.config_layers import load
from workbench.entry.project import open_workspace
from workbench.entry.services.stash import stash_service
from workbench.records.segments import ContextSegment, SegmentType
from workbench.stash.service import StashService

HOSTILE = "The value [/] of list[int] = x[0] is \x1b[31mred\x1b[0m, \x00 and \u202eslort and 🎉"


@dataclass
class Opened:
    """An app on the stash, how it is driven, and the stash as another process has it."""

    app: WorkbenchApp
    pilot: Pilot[Any]
    stash: StashService

    @property
    def screen(self) -> StashScreen:
        """The section, below any dialog."""
        return next(one for one in self.app.screen_stack if isinstance(one, StashScreen))

    @property
    def shown(self) -> list[str]:
        rows = self.screen.table.rows
        return [rows.key(index) for index in range(len(rows))]

    @property
    def commands(self) -> list[str]:
        """The command lines of the log, the first one first."""
        return [action.command for action in self.app.log_of_actions.actions]

    async def go(self, identifier: str) -> None:
        """Have the cursor on a segment that is listed."""
        assert self.screen.table.select_key(identifier)
        await settle(self.pilot)

    async def press(self, *keys: str) -> None:
        """Press keys one by one, each when what the last one led to is over."""
        await press(self.pilot, *keys)


Open = Callable[[], AbstractAsyncContextManager[Opened]]


@pytest.fixture
def stash(roastery: Path) -> StashService:
    return stash_service(open_workspace(roastery, load(project=roastery).config), "cli")


@pytest.fixture
def kept(stash: StashService) -> dict[str, ContextSegment]:
    """Put a decision, the error that led to it, a hostile message and an expired note aside."""
    made = stash.add_many(
        [
            ContextSegment(
                segment_id="error",
                session_id="s-1",
                text="KeyError: 'lot' in roast.py\n  at line 12",
                type=SegmentType.ERROR_LOG,
                timestamp="2026-11-01T08:00:00+00:00",
            ),
            ContextSegment(
                segment_id="decision",
                session_id="s-1",
                text="We key the cache by lot number, because batches repeat.",
                type=SegmentType.DECISION,
                topic="cache",
                timestamp="2026-11-01T09:00:00+00:00",
                references=("error", "nowhere"),
            ),
            ContextSegment(segment_id="hostile", text=HOSTILE, timestamp="2026-10-01T08:00:00+00:00"),
            ContextSegment(
                segment_id="over",
                text="A note of yesterday.",
                type=SegmentType.RESEARCH,
                timestamp="2026-09-01T08:00:00+00:00",
                expires_at="2026-09-02T08:00:00+00:00",
            ),
        ]
    )
    return {one.id: one for one in made.segments}


@pytest.fixture
def opened(roastery: Path, stash: StashService) -> Open:
    """Return what opens the app on the stash of the sample project."""

    @asynccontextmanager
    async def open_app() -> AsyncIterator[Opened]:
        app = WorkbenchApp(roastery, watch=False, section="stash")
        async with app.run_test(size=(120, 40)) as pilot:
            await settle(pilot)
            yield Opened(app, pilot, stash)

    return open_app


async def test_a_segment_shows_whole_with_what_is_linked_with_it(
    opened: Open, kept: dict[str, ContextSegment]
) -> None:
    """The newest comes first; text, origin, references both ways and history are beside it; text is data."""
    async with opened() as place:
        assert place.shown == ["decision", "error", "hostile", "over"]
        text = screen_text(place.app)
        assert "batches repeat." in text
        assert "refers to" in text
        assert "nowhere  is not in the stash" in text
        await place.go("error")
        text = screen_text(place.app)
        assert "at line 12" in text
        assert "is referred to by" in text
        await place.go("hostile")
        assert "[/] of list[int] = x[0]" in screen_text(place.app)
        await place.go("over")
        assert "◷ expired" in screen_text(place.app)


async def test_decisions_are_steps_that_undo_takes_back(
    opened: Open, kept: dict[str, ContextSegment]
) -> None:
    """Protecting, expiring and removing each are one step for all that is marked; u brings back what was."""
    async with opened() as place:
        await place.press("space", "space", "P")
        assert [place.stash.find(one).protected for one in kept] == [True, True, False, False]
        assert place.commands[-1] == "workbench stash protect decision error"
        await place.press("u")
        assert not any(place.stash.find(one).protected for one in kept)
        assert place.commands[-1] == "workbench stash undo"
        await place.go("error")
        await place.press("T")
        assert isinstance(place.app.screen, Ask)
        place.app.screen.query_one(SafeInput).value = "14"
        await place.press("enter")
        assert place.stash.find("error").expires_at is not None
        await place.press("d")
        assert isinstance(place.app.screen, Confirm)
        await place.press("n", "d", "y")
        assert place.shown == ["decision", "hostile", "over"]
        await place.press("u", "u")
        assert "error" in place.shown
        assert place.stash.find("error").expires_at is None


async def test_merging_is_one_text_and_counts_as_use(opened: Open, kept: dict[str, ContextSegment]) -> None:
    """What is marked is merged in the order of its times; the list then says that it was."""
    async with opened() as place:
        copied: list[str] = []
        place.app.copy = lambda text, what, **_: copied.append(text)  # type: ignore[method-assign]
        await place.press("space", "space", "m")
        assert copied[0].index("KeyError") < copied[0].index("batches repeat")
        assert place.stash.uses("decision").merged == 1
        assert place.commands[-1] == "workbench stash merge decision error --copy"
        row = place.screen.rows.row(0) if place.screen.rows else None
        assert row is not None
        assert row.merged == 1


async def test_clean_up_says_what_goes_before_it_goes(opened: Open, kept: dict[str, ContextSegment]) -> None:
    """What expired is listed with the reason; only ctrl+s removes it."""
    async with opened() as place:
        await place.press("X")
        assert isinstance(place.app.screen, CleanUp)
        assert [one.segment.id for one in place.app.screen.entries] == ["over"]
        await place.press("escape")
        assert "over" in place.shown
        await place.press("X", "ctrl+s")
        assert "over" not in place.shown
        await place.press("u")
        assert "over" in place.shown


async def test_an_empty_stash_names_the_next_command(opened: Open) -> None:
    """Without segments the list says what fills it; keys about a segment do nothing."""
    async with opened() as place:
        assert "workbench stash import" in screen_text(place.app)
        await place.press("P", "T", "d", "m", "y")
        assert isinstance(place.app.screen, StashScreen)


async def test_a_search_lists_what_it_finds_with_the_parts_of_the_score(
    opened: Open, kept: dict[str, ContextSegment]
) -> None:
    """Typing searches; the best match is under the cursor, and why it came back is beside it."""
    async with opened() as place:
        await place.press("s")
        place.screen.search_bar.field.value = "how is the cache keyed by lot number"
        await place.press("enter")
        assert place.screen.table.cursor_key == "decision"
        assert "over" not in place.shown
        text = screen_text(place.app)
        assert "similarity" in text
        assert "stash age" in text
        place.screen.search_bar.clear()
        await settle(place.pilot)
        assert "over" in place.shown


async def test_a_context_is_pruned_before_and_after(opened: Open, tmp_path: Path) -> None:
    """A transcript's pieces are listed with what stays and why; what goes is put aside as one step."""
    transcript = tmp_path / "4f0c.jsonl"
    turns = [
        ("user", "Read the roast log"),
        *(("assistant", f"Line {at}: " + "beans " * 90) for at in range(9)),
    ]
    turns += [("user", "Now fix the refunds"), *(("assistant", f"Refund step {at}") for at in range(6))]
    transcript.write_text(
        "".join(
            json.dumps(
                {
                    "type": role,
                    "uuid": f"u{at}",
                    "sessionId": "4f0c",
                    "timestamp": f"2026-11-01T08:{at:02}:00.000Z",
                    "cwd": "/srv/shop",
                    "message": {"role": role, "content": [{"type": "text", "text": text}]},
                }
            )
            + "\n"
            for at, (role, text) in enumerate(turns)
        )
    )
    async with opened() as place:
        await place.press("t")
        view = place.app.screen
        assert isinstance(view, PruningView)
        view.query_one("#pruning-transcript", SafeInput).value = str(transcript)
        view.query_one("#pruning-budget", SafeInput).value = "300"
        await place.press("enter")
        text = screen_text(place.app)
        assert "before" in text
        assert "aside" in text
        assert "Now fix the refunds" in text
        aside = view.made.proposal.aside if view.made else ()
        assert aside
        await place.press("ctrl+s")
        assert len(place.shown) == len(aside)
        assert place.commands[-1] == f"workbench stash prune --budget 300 {transcript} --apply"
        await place.press("u")
        assert place.shown == []


async def test_a_segment_is_pinned_into_the_pack(opened: Open, kept: dict[str, ContextSegment]) -> None:
    """Plan opens with the segment among what must be in the pack."""
    async with opened() as place:
        await place.go("error")
        await place.press("i")
        plan = place.app.section
        assert isinstance(plan, PlanScreen)
        assert plan.asked.pinned == ("error",)
