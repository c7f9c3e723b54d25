"""`workbench memory`: the group and the registry of its commands, each imported when invoked."""

from __future__ import annotations

import click

from workbench.entry.cli.frame import Lazy, LazyGroup

_PLACE = "workbench.entry.cli"

COMMANDS = {
    "collect": Lazy(
        f"{_PLACE}.memory_collect_commands:collect",
        "Pass an agent's stream-json through unchanged, and record the iteration.",
    ),
    "ingest": Lazy(
        f"{_PLACE}.memory_collect_commands:ingest",
        "Record the iterations of files: stream-json, or transcripts of Claude Code and Codex.",
    ),
    "search": Lazy(
        f"{_PLACE}.memory_search_commands:search",
        "Find iterations by what they were about, best first.",
    ),
    "status": Lazy(
        f"{_PLACE}.memory_journal_commands:status",
        "Show what is remembered of each feature, and what of it cannot be read.",
    ),
    "list": Lazy(
        f"{_PLACE}.memory_learning_commands:list_",
        "List what was learned, reviewed first.",
    ),
    "show": Lazy(
        f"{_PLACE}.memory_learning_commands:show",
        "Show a learning with where it comes from and what spoke for and against it.",
    ),
    "queue": Lazy(
        f"{_PLACE}.memory_learning_commands:queue",
        "List the learnings that wait for your decision, most urgent first.",
    ),
    "conflicts": Lazy(
        f"{_PLACE}.memory_learning_commands:conflicts",
        "List learnings that contradict or repeat each other, with evidence.",
    ),
    "corrections": Lazy(
        f"{_PLACE}.memory_corrections_command:corrections",
        "List what you told agents of how things are done, and which rules it suggests.",
    ),
    "audit": Lazy(
        f"{_PLACE}.memory_learning_commands:audit",
        "List what looks like junk, by kind, and what would be pruned.",
    ),
    "history": Lazy(
        f"{_PLACE}.memory_learning_commands:history", "Show what was done to learnings, by whom and why."
    ),
    "prompt": Lazy(
        f"{_PLACE}.memory_learning_commands:prompt",
        "Print what was learned, for the prompt of an iteration, within a token budget.",
    ),
    "add": Lazy(
        f"{_PLACE}.memory_curation_commands:add",
        "Add a learning in your own or an agent's words.",
    ),
    "accept": Lazy(
        f"{_PLACE}.memory_curation_commands:accept",
        "Mark learnings as reviewed.",
    ),
    "reject": Lazy(
        f"{_PLACE}.memory_curation_commands:reject", "Take out what is wrong; the same is not learned again."
    ),
    "edit": Lazy(
        f"{_PLACE}.memory_curation_commands:edit",
        "Change what a learning says or is limited to.",
    ),
    "resolve": Lazy(
        f"{_PLACE}.memory_curation_commands:resolve",
        "Settle two learnings that contradict or repeat each other.",
    ),
    "promote": Lazy(
        f"{_PLACE}.memory_curation_commands:promote",
        "Make a rule of a learning.",
    ),
    "retire": Lazy(
        f"{_PLACE}.memory_curation_commands:retire",
        "Take out what was right once.",
    ),
    "restore": Lazy(
        f"{_PLACE}.memory_curation_commands:restore", "Bring learnings back that were taken out."
    ),
    "prune": Lazy(
        f"{_PLACE}.memory_curation_commands:prune",
        "Take out what is automatic, unreviewed, seen once, and old.",
    ),
    "undo": Lazy(
        f"{_PLACE}.memory_curation_commands:undo",
        "Take back the last step.",
    ),
    "redo": Lazy(
        f"{_PLACE}.memory_curation_commands:redo",
        "Do the step again that was undone last.",
    ),
}


@click.group(
    cls=LazyGroup,
    lazy=COMMANDS,
    examples=("workbench memory status", "workbench memory ingest run.jsonl --feature auth"),
)
def memory() -> None:
    """Keep what iterations of an agent did, and what was learned from them."""
