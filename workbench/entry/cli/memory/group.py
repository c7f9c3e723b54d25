"""`workbench memory`: the group and the registry of its commands, each imported when invoked."""

from __future__ import annotations

import click

from workbench.entry.cli.frame import Lazy, LazyGroup

_PLACE = "workbench.entry.cli"

COMMANDS = {
    "collect": Lazy(
        f"{_PLACE}.memory.collection:collect",
        "Pass an agent's stream-json through unchanged, and record the iteration.",
    ),
    "ingest": Lazy(
        f"{_PLACE}.memory.collection:ingest",
        "Record the iterations of files: stream-json, or transcripts of Claude Code and Codex.",
    ),
    "search": Lazy(
        f"{_PLACE}.memory.search:search",
        "Find iterations by what they were about, best first.",
    ),
    "status": Lazy(
        f"{_PLACE}.memory.status:status",
        "Show what is remembered of each feature, and what of it cannot be read.",
    ),
    "list": Lazy(
        f"{_PLACE}.memory.learnings:list_",
        "List what was learned, reviewed first.",
    ),
    "show": Lazy(
        f"{_PLACE}.memory.learnings:show",
        "Show a learning with where it comes from and what spoke for and against it.",
    ),
    "queue": Lazy(
        f"{_PLACE}.memory.learnings:queue",
        "List the learnings that wait for your decision, most urgent first.",
    ),
    "conflicts": Lazy(
        f"{_PLACE}.memory.learnings:conflicts",
        "List learnings that contradict or repeat each other, with evidence.",
    ),
    "corrections": Lazy(
        f"{_PLACE}.memory.corrections:corrections",
        "List what you told agents of how things are done, and which rules it suggests.",
    ),
    "audit": Lazy(
        f"{_PLACE}.memory.learnings:audit",
        "List what looks like junk, by kind, and what would be pruned.",
    ),
    "history": Lazy(
        f"{_PLACE}.memory.learnings:history", "Show what was done to learnings, by whom and why."
    ),
    "prompt": Lazy(
        f"{_PLACE}.memory.learnings:prompt",
        "Print what was learned, for the prompt of an iteration, within a token budget.",
    ),
    "add": Lazy(
        f"{_PLACE}.memory.decisions:add",
        "Add a learning in your own or an agent's words.",
    ),
    "accept": Lazy(
        f"{_PLACE}.memory.decisions:accept",
        "Mark learnings as reviewed.",
    ),
    "reject": Lazy(
        f"{_PLACE}.memory.decisions:reject", "Take out what is wrong; the same is not learned again."
    ),
    "edit": Lazy(
        f"{_PLACE}.memory.decisions:edit",
        "Change what a learning says or is limited to.",
    ),
    "resolve": Lazy(
        f"{_PLACE}.memory.decisions:resolve",
        "Settle two learnings that contradict or repeat each other.",
    ),
    "promote": Lazy(
        f"{_PLACE}.memory.decisions:promote",
        "Make a rule of a learning.",
    ),
    "retire": Lazy(
        f"{_PLACE}.memory.decisions:retire",
        "Take out what was right once.",
    ),
    "restore": Lazy(f"{_PLACE}.memory.decisions:restore", "Bring learnings back that were taken out."),
    "prune": Lazy(
        f"{_PLACE}.memory.decisions:prune",
        "Take out what is automatic, unreviewed, seen once, and old.",
    ),
    "undo": Lazy(
        f"{_PLACE}.memory.decisions:undo",
        "Take back the last step.",
    ),
    "redo": Lazy(
        f"{_PLACE}.memory.decisions:redo",
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
