"""Commands of the replays."""

from __future__ import annotations

from typing import Final

from screens.commands.model import act, move, view

REPLAY: Final = (
    act(
        "replay.new",
        "Start a replay: choose what is replayed and by which systems; the command is shown first.",
        "n",
        "workbench replay --source commits --tasks N --systems A,B --budget N",
        rank=2,
        changes=True,
    ),
    view(
        "replay.open",
        "Open the run, the tasks of the system, or the task under the cursor.",
        "",
        "workbench runs show RUN",
    ),
    move(
        "replay.back",
        "Go back: from a task to the tasks, to the run, to the list of runs.",
        "b escape backspace",
        rank=1,
    ),
    view("replay.tasks", "List the tasks of the run.", "t", rank=3),
    act(
        "replay.compare",
        "Compare the two marked runs, or the one under the cursor with the one before it.",
        "c",
        "workbench runs compare BEFORE AFTER",
        rank=3,
    ),
    view("replay.systems", "Choose the two systems that are compared on each task.", "s", rank=4),
    view("replay.swap", "Swap the two systems.", "S"),
    view(
        "replay.order",
        "Order tasks by the next of: largest loss, largest gain, worst, best, newest, oldest, as replayed.",
        "o",
        rank=5,
    ),
    view(
        "replay.filter",
        "Filter: words, !without, field:value such as change:<0, missed:>=1, kind:bugfix, file:views.py.",
        "slash",
        rank=6,
    ),
    view(
        "replay.plot",
        "Show the next: gaps to the baseline, intervals, by age, over tasks, latency, gates.",
        "p",
        title="Plots",
        rank=5,
    ),
    act(
        "replay.gates",
        "Judge the gates G1 to G7 of this run and of the project's state.",
        "e",
        "workbench runs show RUN --gate",
        rank=7,
    ),
    move("replay.other", "Go to the same file in the other ranking.", "x", title="Other side", rank=5),
    move("replay.missed", "Go to the next gold file that this system missed.", "m", rank=6),
    act(
        "replay.weigh",
        "Rank the files of this task again, as of its start, to see what each feature adds.",
        "w",
        "workbench runs explain RUN TASK --system NAME",
        rank=6,
    ),
    move("replay.next", "Go to the next task.", "right_square_bracket", does="step(1)", rank=7),
    move("replay.previous", "Go to the previous task.", "left_square_bracket", does="step(-1)", rank=8),
    act(
        "replay.report",
        "Write the run as one HTML page with each task, and show where it is.",
        "H",
        "workbench runs show RUN --report FILE",
        rank=8,
        changes=True,
    ),
    act(
        "replay.rows",
        "Write a Parquet row for each task and system, and show where they are.",
        "R",
        "workbench runs show RUN --rows FILE",
        changes=True,
    ),
    view(
        "replay.copy",
        "Copy the path of the file, the id of the task or of the run under the cursor.",
        "y",
        rank=9,
    ),
    view(
        "replay.copy-report",
        "Copy the path of the report or the rows that were written last.",
        "Y",
        title="Copy path",
    ),
)
