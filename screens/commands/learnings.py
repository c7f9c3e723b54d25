"""Commands of the learnings: a key for each decision, the next one at once."""

from __future__ import annotations

from typing import Final

from screens.commands.model import act, curate, move, view

LEARNINGS: Final = (
    curate(
        "learnings.accept",
        "Mark the learning, or all marked ones, as reviewed; earlier outcomes against it no longer count.",
        "a",
        "workbench memory accept ID",
        rank=1,
    ),
    curate(
        "learnings.reject",
        "Reject what is wrong or worthless; the same is not learned automatically again.",
        "x",
        "workbench memory reject ID",
        rank=2,
    ),
    curate(
        "learnings.edit",
        "Edit the learning in a form; what others changed meanwhile is shown, and nothing is overwritten.",
        "e",
        "workbench memory edit ID --text TEXT",
        rank=3,
    ),
    curate("learnings.retire", "Retire what used to be right.", "d", "workbench memory retire ID", rank=4),
    curate(
        "learnings.promote",
        "Make a rule of the learning, which it supersedes; undoing removes the rule as well.",
        "P",
        "workbench memory promote ID",
        rank=5,
    ),
    curate(
        "learnings.merge",
        "Write one text for the learning and the one it repeats or contradicts, in three panes.",
        "m",
        "workbench memory resolve ID --action merge --text TEXT",
        rank=6,
    ),
    move(
        "learnings.conflict",
        "Go to the conflict queue, to the pair this learning is in.",
        "c",
        "workbench memory conflicts",
        title="Settle",
        rank=7,
    ),
    curate(
        "learnings.new",
        "Add a learning; a repetition is refused, a contradiction is reported.",
        "n",
        "workbench memory add TEXT --reason TEXT",
        rank=8,
    ),
    view(
        "learnings.view",
        "Show what awaits review, or all learnings ever recorded.",
        "t",
        "workbench memory list --all",
        title="Queue/all",
        rank=9,
    ),
    view(
        "learnings.filter",
        "Filter by fuzzy words, !without, and every field: feature:auth source:auto hits:>=3 stale:>90.",
        "slash",
        "workbench memory list",
        rank=10,
    ),
    act(
        "learnings.audit",
        "Count what looks like junk, by kind, preview what pruning would do, and apply it.",
        "A",
        "workbench memory audit",
        rank=11,
    ),
    act(
        "learnings.corrections",
        "List what you corrected agents on, with quotes, and make a rule of it.",
        "C",
        "workbench memory corrections",
        rank=12,
    ),
    act(
        "learnings.prompt",
        "Preview the learnings a prompt for a feature and a task would get within a budget, and copy them.",
        "p V",
        "workbench memory prompt --feature NAME",
        rank=13,
    ),
    curate(
        "learnings.restore",
        "Restore the learning, or all marked ones, after a rejection or retirement.",
        "R",
        "workbench memory restore ID",
        rank=14,
    ),
    view(
        "learnings.open",
        "Open what it was learned from: a file at its line, or the transcript of its session.",
        "o",
        "workbench memory show ID",
        title="Origin",
        rank=15,
    ),
    view("learnings.sort", "Sort by the next column, after the last one as it was.", "s"),
    view("learnings.reverse", "Reverse the sort order.", "S"),
    move("learnings.list", "Go back to the list.", "escape"),
    act("learnings.copy", "Put the learning's text on the clipboard.", "y", "workbench memory show ID"),
    act("learnings.copy-id", "Put the learning's id on the clipboard.", "Y", "workbench memory show ID"),
)
