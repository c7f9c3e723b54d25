"""All commands of the app by screen, which the palette, the help and the documentation list.

Commands that work on every screen, and those of the smallest screens, are declared here.
"""

from __future__ import annotations

from typing import Final

from screens.commands.conflicts import CONFLICTS
from screens.commands.learnings import LEARNINGS
from screens.commands.model import AppCommand, act, curate, move, view
from screens.commands.plan import PLAN
from screens.commands.replay import REPLAY
from screens.commands.rules import RULES
from screens.commands.sessions import SESSIONS
from screens.sections import SECTIONS

GO: Final = tuple(
    move(
        f"app.{section.id}",
        f"Go to {section.title}: {section.summary}",
        f"{section.key} alt+{section.key}",
        title=section.title,
        does=f"show_section('{section.id}')",
    )
    for section in SECTIONS
)
EVERYWHERE: Final = (
    view(
        "app.help",
        "List the keys and commands of this screen, with the command line that does the same.",
        "question_mark f1",
        rank=90,
        does="show_help",
    ),
    view(
        "app.palette",
        "Search all commands by what they do.",
        "ctrl+p colon",
        title="Commands",
        rank=91,
        does="command_palette",
    ),
    curate(
        "app.undo",
        "Undo the last step of curation, also one of an earlier day or another process.",
        "u",
        "workbench rules undo",
    ),
    curate("app.redo", "Redo what was undone last.", "U", "workbench rules redo"),
    view("app.zoom", "Let the focused panel fill the screen, and back.", "z"),
    move(
        "app.jump",
        "Show a letter on every panel and go to the one whose letter is pressed; a digit goes to its screen.",
        "semicolon ctrl+g",
    ),
    act(
        "app.refresh",
        "Reload the screen from the files and from what other processes wrote.",
        "f5 ctrl+r",
        "workbench refresh",
        does="refresh_section",
    ),
    act(
        "app.cancel",
        "Cancel the work that is running in the background; pressed again, leave. A selection is copied.",
        "ctrl+c",
        "Ctrl-C",
        does="cancel_jobs",
    ),
    view("app.theme", "Choose another theme.", does="change_theme"),
    move(
        "app.suspend",
        "Stop the program and go back to the shell; fg there brings it back.",
        "ctrl+z",
        does="suspend_process",
    ),
    move(
        "app.quit",
        "Leave; every decision is saved. Asks first if something is unsaved or being written.",
        "q",
        does="quit",
    ),
    move("app.leave", "Quit, also from a field, a form or a dialog.", "ctrl+q", priority=True),
    *GO,
)


LOG: Final = (
    act(
        "log.copy",
        "Put the command line of this action on the clipboard.",
        "y",
        "workbench plan TASK --copy",
        rank=1,
    ),
)


METRICS: Final = (
    view(
        "metrics.chart",
        "Show the next chart: latency, cache hits, degraded calls; on a small screen the slowest calls, too.",
        "c",
        rank=1,
    ),
    act(
        "metrics.longer",
        "Look further back: up to 90 days.",
        "right_square_bracket",
        "workbench stats --since 7d",
        does="widen(1)",
        rank=2,
    ),
    act(
        "metrics.shorter",
        "Look at a shorter time: down to 15 minutes.",
        "left_square_bracket",
        "workbench stats --since 15m",
        does="widen(-1)",
        rank=3,
    ),
    view("metrics.pause", "Stop following what other processes write, and follow again.", "p space", rank=4),
    view(
        "metrics.one",
        "Show the charts and the slowest calls of the operation under the cursor alone, and of all again.",
        "o",
        title="Only this",
        rank=5,
    ),
    act("metrics.doctor", "Check everything the workbench relies on.", "d", "workbench doctor", rank=6),
)


BY_SECTION: Final[dict[str, tuple[AppCommand, ...]]] = {
    "app": EVERYWHERE,
    "plan": PLAN,
    "rules": RULES,
    "replay": REPLAY,
    "conflicts": CONFLICTS,
    "learnings": LEARNINGS,
    "sessions": SESSIONS,
    "metrics": METRICS,
    "log": LOG,
}


def commands_of(section: str) -> tuple[AppCommand, ...]:
    """Return the commands of a screen, then those that are everywhere."""
    return (*BY_SECTION.get(section, ()), *EVERYWHERE)


def find_command(identifier: str) -> AppCommand | None:
    """Return the command with an id, None for an unknown one."""
    known = BY_SECTION.get(identifier.partition(".")[0], ())
    return next((command for command in known if command.id == identifier), None)
