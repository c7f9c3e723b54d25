"""Commands of the sessions."""

from __future__ import annotations

from typing import Final

from screens.commands.model import act, curate, move, view

_UNDO: Final = " u restores what was known before; the journal keeps both."

SESSIONS: Final = (
    view(
        "sessions.filter",
        "Filter by text, source:codex, outcome:failed, since:7d, file:login.py, open:yes, edits:>2.",
        "slash",
        rank=1,
    ),
    view(
        "sessions.transcript",
        "Read the conversation at this point: the prompt, the file's first call, or the end.",
        "t",
        rank=2,
    ),
    curate(
        "sessions.success",
        "Record that the session, or the marked ones, succeeded, and why." + _UNDO,
        "s",
        "workbench feedback SESSION --outcome success --why TEXT",
        does="judge('success')",
        rank=3,
    ),
    curate(
        "sessions.failed",
        "Record that the session, or the marked ones, failed, and why; its edits weigh less." + _UNDO,
        "x",
        "workbench feedback SESSION --outcome failed --why TEXT",
        does="judge('failed')",
        rank=4,
    ),
    curate(
        "sessions.partial",
        "Record that the session, or the marked ones, succeeded in part, and why." + _UNDO,
        "p",
        "workbench feedback SESSION --outcome partial --why TEXT",
        does="judge('partial')",
    ),
    curate(
        "sessions.clear",
        "Record that the outcome is unknown: earlier feedback on it no longer counts." + _UNDO,
        "c",
        "workbench feedback SESSION --outcome unknown --why TEXT",
        does="judge('unknown')",
    ),
    act(
        "sessions.plan",
        "Go to Plan with this task, to see what an agent would be given for it today.",
        "r",
        "workbench plan TASK",
        title="Plan again",
        rank=5,
    ),
    act(
        "sessions.import",
        "Count the transcripts of this project, and import them once you agree.",
        "i",
        "workbench import sessions",
        rank=6,
        changes=True,
    ),
    act(
        "sessions.import-from",
        "Import sessions from a file or a directory: of another machine, of stream-json, of an export.",
        "I",
        "workbench import sessions PATH",
        changes=True,
    ),
    view(
        "sessions.commits",
        "Show the commits of version control among the sessions, or hide them.",
        "m",
        "workbench episode list --commits",
        rank=7,
    ),
    view(
        "sessions.file",
        "Show which tasks read and edited the file under the cursor, and what changed with it.",
        "f",
        title="File's past",
        rank=8,
    ),
    view("sessions.sort", "Sort by the next column.", "o"),
    view("sessions.reverse", "Reverse the sort order.", "O"),
    act(
        "sessions.copy",
        "Copy the path, the commit or the task under the cursor.",
        "y",
        "workbench episode show SESSION",
    ),
    act(
        "sessions.copy-id",
        "Copy the session's id, for `workbench episode show`.",
        "Y",
        "workbench episode show SESSION",
    ),
    move("sessions.next-pane", "Go to the other pane.", "tab", title="Other pane"),
    move("sessions.list", "Go back to the list.", "escape"),
)
