"""The screens of the app in the order of their keys: what each is called and where its code is.

A screen's module is imported when it is first shown, so that the first paint pays for one screen alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from screens.base import SectionScreen


@dataclass(frozen=True, slots=True)
class Section:
    """A screen: its id, the key that opens it, its title, what it is for, and `module:Class`."""

    id: str
    key: str
    title: str
    summary: str
    target: str

    def load(self) -> SectionScreen:
        """Import the screen and make it."""
        module, _, name = self.target.partition(":")
        screen: SectionScreen = getattr(import_module(module), name)()
        return screen


SECTIONS: Final = (
    Section(
        "plan",
        "1",
        "Plan",
        "a task, the pack that forms for it, and why.",
        "screens.plan.screen:PlanScreen",
    ),
    Section(
        "rules",
        "2",
        "Rules",
        "browse, filter, search, edit, and sync rule files.",
        "screens.rules.screen:RulesScreen",
    ),
    Section(
        "conflicts",
        "3",
        "Conflicts",
        "pairs that repeat or contradict each other, to be settled.",
        "screens.conflicts.screen:ConflictsScreen",
    ),
    Section(
        "learnings",
        "4",
        "Learnings",
        "what iterations found out: review it, edit it, make rules of it.",
        "screens.learnings.screen:LearningsScreen",
    ),
    Section(
        "sessions",
        "5",
        "Sessions",
        "what agents did: task, reads, edits, outcome; transcripts and feedback.",
        "screens.sessions.screen:SessionsScreen",
    ),
    Section(
        "replay",
        "6",
        "Replay",
        "past tasks replayed with several systems: which was right, and why.",
        "screens.replay.screen:ReplayScreen",
    ),
    Section(
        "metrics",
        "8",
        "Metrics",
        "latency, caches and what is missing.",
        "screens.metrics.screen:MetricsScreen",
    ),
    Section("log", "0", "Log", "every action as the command that does the same.", "screens.log:LogScreen"),
)


def find_section(identifier: str) -> Section | None:
    """Return the section with an id, None for an unknown one."""
    return next((section for section in SECTIONS if section.id == identifier), None)
