"""Commands of the rules."""

from __future__ import annotations

from typing import Final

from screens.commands.model import act, curate, move, view

RULES: Final = (
    view(
        "rules.filter",
        "Filter by fuzzy words, !without, and every field: tag:python priority:>=80 file:CLAUDE.md.",
        "slash",
        "workbench rules list",
        rank=1,
    ),
    view(
        "rules.search",
        "Search by meaning and words while you type, best first, with scores and reasons.",
        "s",
        "workbench rules search QUERY",
        rank=2,
    ),
    curate(
        "rules.edit",
        "Edit the rule in a form; what others changed meanwhile is shown, and nothing is overwritten.",
        "e",
        "workbench rules edit ID --priority 80",
        rank=3,
    ),
    curate(
        "rules.new", "Add a rule to this project or to your own.", "n a", "workbench rules add TEXT", rank=4
    ),
    curate(
        "rules.toggle",
        "Switch the rule, or all marked ones, off or on again.",
        "x",
        "workbench rules disable ID",
        title="On/off",
        rank=5,
        does="switch",
    ),
    curate(
        "rules.remove",
        "Remove the rule, or all marked ones; undo restores them.",
        "d delete",
        "workbench rules remove ID",
        rank=6,
    ),
    act(
        "rules.test",
        "Write a message and see which rules match it, with the parts of their scores.",
        "t",
        "workbench rules match TASK --all",
        rank=7,
    ),
    curate(
        "rules.edit-marked",
        "Change priority, tags, level, scope and more of all marked rules in one step.",
        "B",
        "workbench rules edit ID --add-tag TAG",
        title="Bulk edit",
        rank=8,
    ),
    view(
        "rules.facets",
        "Count the values of every field among what is shown, and filter by some of them.",
        "f",
        "workbench rules tags",
        rank=9,
    ),
    curate(
        "rules.drift",
        "See which files and rules are out of sync, take a side or merge, and write the files.",
        "D",
        "workbench rules drift --merge",
        rank=10,
    ),
    curate(
        "rules.edit-text", "Edit the rule's text in $EDITOR.", "E ctrl+e", "workbench rules edit ID", rank=11
    ),
    curate(
        "rules.import",
        "See which rule files were found, and import others by name after a preview.",
        "i",
        "workbench rules import PATH --dry-run",
        rank=12,
        does="import_files",
    ),
    curate(
        "rules.export",
        "Write the rules into the files of other agents, after a preview of every line.",
        "w",
        "workbench rules export --to cursor --dry-run",
        rank=13,
    ),
    curate(
        "rules.add-example",
        "Add an example message that this rule should match.",
        "plus",
        "workbench rules examples ID --add TEXT",
    ),
    curate(
        "rules.remove-example",
        "Remove one of the rule's example messages.",
        "minus",
        "workbench rules examples ID --remove 2",
    ),
    view(
        "rules.versions",
        "Show what was done to the rule, with the words that changed.",
        "V",
        "workbench rules history ID",
    ),
    view(
        "rules.usage",
        "Show how often sessions were given the rule, when and by which tool.",
        "N",
        "workbench rules usage ID",
        title="Use",
    ),
    view("rules.file", "Show the file the rule is in, at its line.", "p", "workbench rules show ID"),
    curate(
        "rules.edit-file",
        "Open the file the rule is in, at its line, in $EDITOR.",
        "F",
        "workbench rules show ID",
    ),
    view("rules.sort", "Sort by the next column; a click on a header sorts by it.", "o"),
    view("rules.reverse", "Reverse the sort order.", "O"),
    move(
        "rules.next-pane",
        "Show the next view of the rule: text, versions, use, file, test.",
        "right_square_bracket",
    ),
    move("rules.previous-pane", "Show the previous view of the rule.", "left_square_bracket"),
    act(
        "rules.copy",
        "Put the rule's text on the clipboard.",
        "y",
        "workbench rules show ID",
        title="Copy text",
    ),
    act("rules.copy-id", "Put the rule's id on the clipboard.", "Y", "workbench rules show ID"),
    move("rules.list", "Go back to the list.", "escape"),
)
