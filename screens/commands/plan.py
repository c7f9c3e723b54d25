"""Commands of the plan."""

from __future__ import annotations

from typing import Final

from screens.commands.model import act, curate, move, view

PLAN: Final = (
    act(
        "plan.index",
        "Read this project for the first time: its files, its rules, its history.",
        "enter",
        "workbench index",
        title="Index and go",
        rank=1,
        changes=True,
    ),
    act(
        "plan.index-all",
        "Index, and turn the sessions of coding agents here into past tasks as well.",
        "f2 a",
        "workbench import sessions",
        title="With sessions",
        rank=2,
        changes=True,
    ),
    move("plan.task", "Write the task; the plan follows as you type.", "t", rank=1),
    curate(
        "plan.pin",
        "Pack the candidate, or the marked ones, before anything else; again unpins it.",
        "i",
        "workbench plan TASK --pin PATH",
        rank=2,
    ),
    curate(
        "plan.exclude",
        "Leave the candidate, or the marked ones, out; again lets it back in.",
        "x",
        "workbench plan TASK --exclude PATH",
        rank=3,
    ),
    act("plan.copy", "Put the whole pack on the clipboard.", "y", "workbench plan TASK --copy", rank=4),
    act(
        "plan.more",
        "Enlarge the token budget by a step.",
        "plus equals_sign",
        "workbench plan TASK --budget N",
        title="More budget",
        does="step_budget(1)",
        rank=7,
    ),
    act(
        "plan.less",
        "Reduce the token budget by a step.",
        "minus",
        "workbench plan TASK --budget N",
        title="Less budget",
        does="step_budget(-1)",
        rank=8,
    ),
    act("plan.budget", "Type a token budget.", "b", "workbench plan TASK --budget N", rank=6),
    act(
        "plan.mode",
        "Switch between the learned ranking and the baseline, which knows only the kind of task.",
        "m",
        "workbench plan TASK --baseline",
        title="Baseline",
        rank=9,
    ),
    act(
        "plan.kind",
        "Set the kind of task, or let it be predicted from the words.",
        "K",
        "workbench plan TASK --query-type bugfix",
        title="Kind of task",
    ),
    act(
        "plan.strict",
        "Refuse to plan when files changed since the last index, or allow it again.",
        "S",
        "workbench plan TASK --strict",
    ),
    curate(
        "plan.clear",
        "Take back all pins and exclusions.",
        "c",
        "workbench plan TASK",
        title="Clear overrides",
    ),
    act(
        "plan.export",
        "Write the pack to a file as text, markdown, xml, or json with everything about it.",
        "e",
        "workbench plan TASK --format xml",
        rank=10,
        changes=True,
    ),
    act(
        "plan.save",
        "Start an episode with this task and this pack, so that plans learn from its outcome.",
        "s",
        "workbench episode start TASK",
        rank=11,
        changes=True,
    ),
    view("plan.filter", "Filter the candidates.", "slash", rank=12),
    view(
        "plan.pack",
        "Show the pack as it would be handed over, or one candidate.",
        "p",
        title="Whole pack",
        rank=5,
    ),
    view(
        "plan.file",
        "Show of a file what is packed, or all of it with that marked.",
        "f",
        title="Packed or file",
    ),
    view(
        "plan.why",
        "Show or hide why a candidate is in or out, and its score.",
        "w",
        title="Why or text",
        rank=13,
    ),
    view("plan.reasons", "Read every reason of this plan as one text.", "r", title="All reasons"),
)
