"""Commands that work on every screen: going elsewhere, undo, help, zoom, jump and leaving."""

from __future__ import annotations

from typing import Final

from screens.commands.model import ACT, CURATE, MOVE, VIEW, Command
from screens.sections import SECTIONS

GO: Final = tuple(
    Command(
        f"app.{section.id}",
        section.title,
        f"Go to {section.title}: {section.summary}",
        (section.key, f"alt+{section.key}"),
        group=MOVE,
        does=f"show_section('{section.id}')",
    )
    for section in SECTIONS
)
EVERYWHERE: Final = (
    Command(
        "app.help",
        "Help",
        "List the keys and commands of this screen, with the command line that does the same.",
        ("question_mark", "f1"),
        group=VIEW,
        rank=90,
        does="show_help",
    ),
    Command(
        "app.palette",
        "Commands",
        "Search all commands by what they do.",
        ("ctrl+p", "colon"),
        group=VIEW,
        rank=91,
        does="command_palette",
    ),
    Command(
        "app.undo",
        "Undo",
        "Take back the last step of curation, also one of an earlier day or another process.",
        ("u",),
        "workbench rules undo",
        CURATE,
        changes=True,
    ),
    Command(
        "app.redo",
        "Redo",
        "Do again what was undone last.",
        ("U",),
        "workbench rules redo",
        CURATE,
        changes=True,
    ),
    Command("app.zoom", "Zoom", "Let the focused panel fill the screen, and back.", ("z",), group=VIEW),
    Command(
        "app.jump",
        "Jump",
        "Show a letter on every panel and go to the one whose letter is pressed; a digit goes to its screen.",
        ("semicolon", "ctrl+g"),
        group=MOVE,
    ),
    Command(
        "app.refresh",
        "Refresh",
        "Bring the screen in step with the files and with what other processes wrote.",
        ("f5", "ctrl+r"),
        "workbench refresh",
        ACT,
        does="refresh_section",
    ),
    Command(
        "app.cancel",
        "Cancel",
        "Cancel the work that is running in the background; pressed again, leave. A selection is copied.",
        ("ctrl+c",),
        group=ACT,
        does="cancel_jobs",
        cli="Ctrl-C",
    ),
    Command("app.theme", "Theme", "Choose another theme.", (), group=VIEW, does="change_theme"),
    Command(
        "app.suspend",
        "Suspend",
        "Stop the program and go back to the shell; fg there brings it back.",
        ("ctrl+z",),
        group=MOVE,
        does="suspend_process",
    ),
    Command(
        "app.quit",
        "Quit",
        "Leave; all that was decided is kept. Asks first if something is unsaved or being written.",
        ("q",),
        group=MOVE,
        does="quit",
    ),
    Command(
        "app.leave",
        "Leave",
        "Quit, also from a field, a form or a dialog.",
        ("ctrl+q",),
        group=MOVE,
        priority=True,
    ),
    *GO,
)
