"""`workbench rules undo|redo` and `workbench memory undo|redo`: the last step taken back, and done again."""

from __future__ import annotations

from functools import partial

from workbench.entry.cli.curation import LISTED, STEP, show_stacks, show_walk, show_walked
from workbench.entry.cli.frame import command
from workbench.entry.cli.memory.learnings import LEARNING_CHANGES
from workbench.entry.cli.rules.diff import RULE_CHANGES, show_written, written_document
from workbench.entry.cli.session import (
    RuleSession,
    learning_session,
    report_files,
    rule_session,
)
from workbench.rules.files.undo import Walked


@command
@STEP
@LISTED
def undo_rules(step: str, listed: bool) -> None:
    """Undo the last step, or STEP of --list: an edit, a removal, a settlement, an import by name.

    Lines that were written into rule files because of it are put back where they are still as written.
    Rules that came or changed with their files are not steps: change the files instead.
    `redo` does the step again.
    """
    with rule_session("rules" if listed else "rules-edit") as work:
        _show_rules(work, None if listed else work.service.undo(step))


@command
@LISTED
def redo_rules(listed: bool) -> None:
    """Redo the step that was undone last, also in the files that its undo was written into."""
    with rule_session("rules" if listed else "rules-edit") as work:
        _show_rules(work, None if listed else work.service.redo())


@command
@STEP
@LISTED
def undo_learnings(step: str, listed: bool) -> None:
    """Undo the last step, or STEP of --list: a review, an edit, a settlement, a promotion.

    What was learned automatically is not a step: reject or prune it. `redo` does the step again.
    """
    with learning_session("memory" if listed else "memory-edit") as work:
        walk = None if listed else partial(work.service.undo, step)
        show_walk(work.here, work.service, LEARNING_CHANGES, walk)


@command
@LISTED
def redo_learnings(listed: bool) -> None:
    """Redo the step that was undone last."""
    with learning_session("memory" if listed else "memory-edit") as work:
        show_walk(work.here, work.service, LEARNING_CHANGES, None if listed else work.service.redo)


def _show_rules(work: RuleSession, done: Walked | None) -> None:
    if done is None:
        show_stacks(work.here, work.store.ledger())
        return
    written = [written_document(item) for item in done.written]
    entries = show_walked(work.here, work.store.ledger(), RULE_CHANGES, done.title, written=written)
    if not work.here.flags.json:
        show_written(work.here.out, done.written)
        moved = [one.after or one.before for one in entries if one.what != "changed"]  # others are in no file
        report_files(work, [rule for rule in moved if rule is not None])
