"""Commands of the sessions."""

from __future__ import annotations

from typing import Final

from screens.commands.model import ACT, CURATE, MOVE, VIEW, Command

_UNDO: Final = " u says again what was known before; both words stay in the journal."

SESSIONS: Final = (
    Command(
        "sessions.filter",
        "Filter",
        "Filter by text, source:codex, outcome:failed, since:7d, file:login.py, open:yes, edits:>2.",
        ("slash",),
        group=VIEW,
        rank=1,
    ),
    Command(
        "sessions.transcript",
        "Transcript",
        "Read the conversation at this point: the prompt, the file's first call, or the end.",
        ("t",),
        group=VIEW,
        rank=2,
    ),
    Command(
        "sessions.success",
        "Success",
        "Say that the session, or the marked ones, succeeded, and why." + _UNDO,
        ("s",),
        "workbench feedback SESSION --outcome success --why TEXT",
        CURATE,
        rank=3,
        changes=True,
    ),
    Command(
        "sessions.failed",
        "Failed",
        "Say that the session, or the marked ones, failed, and why: its edits count less in plans." + _UNDO,
        ("x",),
        "workbench feedback SESSION --outcome failed --why TEXT",
        CURATE,
        rank=4,
        changes=True,
    ),
    Command(
        "sessions.partial",
        "Partial",
        "Say that the session, or the marked ones, succeeded in part, and why." + _UNDO,
        ("p",),
        "workbench feedback SESSION --outcome partial --why TEXT",
        CURATE,
        changes=True,
    ),
    Command(
        "sessions.clear",
        "Clear",
        "Say that how it ended is unknown: takes every earlier word on the outcome out of account." + _UNDO,
        ("c",),
        "workbench feedback SESSION --outcome unknown --why TEXT",
        CURATE,
        changes=True,
    ),
    Command(
        "sessions.plan",
        "Plan again",
        "Go to Plan with this task, to see what an agent would be given for it today.",
        ("r",),
        "workbench plan TASK",
        ACT,
        rank=5,
    ),
    Command(
        "sessions.import",
        "Import",
        "Look for transcripts of this project, tell how many there are, and import them once you agree.",
        ("i",),
        "workbench import sessions",
        ACT,
        rank=6,
        changes=True,
    ),
    Command(
        "sessions.commits",
        "Commits",
        "Show the commits of version control among the sessions, or hide them.",
        ("m",),
        "workbench episode list --commits",
        VIEW,
        rank=7,
    ),
    Command(
        "sessions.file",
        "File's past",
        "Show which tasks read and edited the file under the cursor, and what was changed with it.",
        ("f",),
        group=VIEW,
        rank=8,
    ),
    Command("sessions.sort", "Sort", "Sort by the next column.", ("o",), group=VIEW),
    Command("sessions.reverse", "Reverse", "Turn the order round.", ("O",), group=VIEW),
    Command(
        "sessions.copy",
        "Copy",
        "Copy the path, the commit or the task under the cursor.",
        ("y",),
        "workbench episode show SESSION",
        ACT,
    ),
    Command(
        "sessions.copy-id",
        "Copy id",
        "Copy the session's id, for `workbench episode show`.",
        ("Y",),
        "workbench episode show SESSION",
        ACT,
    ),
    Command("sessions.next-pane", "Other pane", "Go to the other pane.", ("tab",), group=MOVE),
    Command("sessions.list", "List", "Go back to the list.", ("escape",), group=MOVE),
)
