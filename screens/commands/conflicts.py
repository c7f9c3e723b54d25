"""Commands of the conflict queue: a key for each resolution, then the next pair."""

from __future__ import annotations

from typing import Final

from screens.commands.model import act, curate, move, view

_RESOLVE: Final = "workbench rules conflicts resolve ID"

CONFLICTS: Final = (
    curate(
        "conflicts.accept",
        "Do what is suggested for this pair; where a scope is missing, ask for it.",
        "a",
        f"{_RESOLVE} --suggested",
        rank=1,
    ),
    curate(
        "conflicts.keep-left",
        "Keep the left one; the right one is taken out of force.",
        "L",
        f"{_RESOLVE} --action keep-left",
        title="Left",
        rank=2,
    ),
    curate(
        "conflicts.keep-right",
        "Keep the right one; the left one is taken out of force.",
        "R",
        f"{_RESOLVE} --action keep-right",
        title="Right",
        rank=3,
    ),
    curate(
        "conflicts.keep-both",
        "Keep both as they are; the pair is not asked about again while both keep their words.",
        "b",
        f"{_RESOLVE} --action keep-both",
        title="Both",
        rank=4,
    ),
    curate(
        "conflicts.merge",
        "Write one text for both in an editor with three panes.",
        "m",
        f"{_RESOLVE} --action merge --text TEXT",
        rank=5,
    ),
    view(
        "conflicts.later",
        "Let this pair wait: it moves to the end of the queue until the app is left.",
        "w",
        title="Wait",
        rank=6,
    ),
    curate(
        "conflicts.narrow",
        "Limit one of the two to a scope, so that they do not meet.",
        "n",
        f"{_RESOLVE} --action narrow-scope --keep left --scope SCOPE",
        rank=7,
    ),
    curate(
        "conflicts.supersede",
        "Let one of the two take the other one's place, as its next version.",
        "s",
        f"{_RESOLVE} --action supersede --keep left",
        rank=8,
    ),
    curate(
        "conflicts.accept-all",
        "Settle all marked pairs, or without marks all listed exact duplicates, as suggested: one step.",
        "A",
        "workbench rules conflicts resolve --kind exact --suggested",
        rank=9,
    ),
    move("conflicts.next", "Show the next pair without deciding this one.", "J"),
    move("conflicts.previous", "Show the pair before.", "K"),
    view("conflicts.queue", "Show or hide the list of pairs.", "t", rank=10),
    view(
        "conflicts.filter",
        "Show only some pairs: words, !words, kind:exact, file:CLAUDE.md, scope:*, of:learning.",
        "slash",
        rank=11,
    ),
    view("conflicts.sort", "Order the pairs by certainty, kind, file or last change, in turn.", "r"),
    view(
        "conflicts.open-left",
        "Show where the left one comes from, at its line.",
        "o",
        "workbench rules show ID",
        rank=12,
    ),
    view(
        "conflicts.open-right",
        "Show where the right one comes from, at its line.",
        "O",
        "workbench rules show ID",
    ),
    act(
        "conflicts.copy",
        "Put the command line that shows this pair on the clipboard.",
        "y",
        "workbench rules conflicts show ID",
    ),
    act(
        "conflicts.scan",
        "Search for conflicts again; in a large store this runs beside the app, and ctrl+c cancels it.",
        "S",
        "workbench rules conflicts list",
    ),
)
