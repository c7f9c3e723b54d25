"""`workbench memory`: the group and the registry of its commands, each imported when invoked."""

from __future__ import annotations

import click

from workbench.entry.cli.frame import LazyGroup, lazy_commands

COMMANDS = lazy_commands(
    "workbench.entry.cli.memory",
    {
        "collect": ("collection", "Pass an agent's stream-json through unchanged, and record the iteration."),
        "ingest": (
            "collection",
            "Record the iterations of files: stream-json, or transcripts of Claude Code and Codex.",
        ),
        "search": ("status", "Find iterations by what they were about, best first."),
        "status": ("status", "Show what is remembered of each feature, and what of it cannot be read."),
        "list": ("learnings", "List what was learned, reviewed first."),
        "show": ("learnings", "Show a learning with where it comes from and what spoke for and against it."),
        "queue": ("learnings", "List the learnings that wait for your decision, most urgent first."),
        "conflicts": ("learnings", "List learnings that contradict or repeat each other, with evidence."),
        "corrections": (
            "learnings",
            "List corrections found in prompts, and which rules they suggest.",
        ),
        "audit": ("learnings", "List what looks like junk, by kind, and what would be pruned."),
        "history": ("learnings", "Show what was done to learnings, by whom and why."),
        "prompt": (
            "learnings",
            "Print what was learned, for the prompt of an iteration, within a token budget.",
        ),
        "add": ("decisions", "Add a learning in your own or an agent's words."),
        "accept": ("decisions", "Mark learnings as reviewed."),
        "reject": ("decisions", "Take out what is wrong; the same is not learned again."),
        "edit": ("decisions", "Change what a learning says or is limited to."),
        "resolve": ("decisions", "Settle two learnings that contradict or repeat each other."),
        "promote": ("decisions", "Make a rule of a learning."),
        "retire": ("decisions", "Take out what was right once."),
        "restore": ("decisions", "Bring learnings back that were taken out."),
        "prune": ("decisions", "Take out what is automatic, unreviewed, seen once, and old."),
        "undo": ("workbench.entry.cli.undo:undo_learnings", "Take back the last step."),
        "redo": ("workbench.entry.cli.undo:redo_learnings", "Do the step again that was undone last."),
    },
)


@click.group(
    cls=LazyGroup,
    lazy=COMMANDS,
    examples=("workbench memory status", "workbench memory ingest run.jsonl --feature auth"),
)
def memory() -> None:
    """Record what iterations of an agent did, and what was learned from them."""
