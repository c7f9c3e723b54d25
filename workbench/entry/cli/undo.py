"""`workbench rules undo|redo` and `workbench memory undo|redo`: the last step taken back, and done again."""

from __future__ import annotations

from collections.abc import Callable

import click

from workbench.entry.cli.frame import command
from workbench.entry.cli.memory.session import learning_session
from workbench.entry.cli.output import Output
from workbench.entry.cli.rules.diff import (
    at_text,
    change_document,
    change_line,
    diff_lines,
    step_document,
    tell_written,
    written_document,
)
from workbench.entry.cli.rules.session import rule_session, tell_files
from workbench.rules.curation.curator import Curator
from workbench.rules.curation.differences import describe_changes
from workbench.rules.curation.ledger import RuleLedger
from workbench.rules.files.undo import Walked
from workbench.text.sanitize import visible_line


@command(
    name="undo",
    examples=(
        "workbench rules undo",
        "workbench rules undo --list",
        "workbench rules undo 01ka2b3c4d5e6f7g8h9j0k1m2n",
    ),
)
@click.argument("step", metavar="[STEP]", required=False, default="")
@click.option("--list", "listed", is_flag=True, help="List what could be undone and done again instead.")
def undo_rules(step: str, listed: bool) -> None:
    """Take back the last step, or STEP of --list: an edit, a removal, a settlement, an import by name.

    Lines that were written into rule files because of it are put back, where they are as they were written.
    Rules that came or changed with their files are not steps of anybody's: change the files for that.
    `redo` does it again.
    """
    _walk_rules(listed, lambda curator: curator.undo(step))


@command(name="redo", examples=("workbench rules redo", "workbench rules redo --list"))
@click.option("--list", "listed", is_flag=True, help="List what could be undone and done again instead.")
def redo_rules(listed: bool) -> None:
    """Do the step again that was undone last, also in the files that its undo was written into."""
    _walk_rules(listed, Curator.redo)


def _walk_rules(listed: bool, walk: Callable[[Curator], Walked]) -> None:
    with rule_session("rules" if listed else "rules-edit") as work:
        done = None if listed else walk(work.curator)
        ledger = work.store.ledger()
    out = work.here.out
    if done is None:
        _stacks(out, ledger, as_json=work.here.flags.json)
        return
    step = next(one for one in reversed(ledger.steps.values()) if one.undoes or one.redoes)
    entries = describe_changes(ledger, step.changes)
    if work.here.flags.json:
        written = [written_document(item) for item in done.written]
        out.json(
            {"done": done.title, "changes": [change_document(one) for one in entries], "written": written}
        )
        return
    out.data(visible_line(done.title))
    for one in entries:
        out.painted(change_line(out, one))
        for line in diff_lines(out, one.fields):
            out.painted(line)
    tell_written(out, done.written)
    # What changes in place is in no file.
    tell_files(work, (rule for one in entries if one.what != "changed" and (rule := one.after or one.before)))


def _stacks(out: Output, ledger: RuleLedger, *, as_json: bool) -> None:
    done = [ledger.steps[identifier] for identifier in reversed(ledger.done)]
    undone = [ledger.steps[identifier] for identifier in reversed(ledger.undone)]
    if as_json:
        out.json(
            {"undo": [step_document(step) for step in done], "redo": [step_document(step) for step in undone]}
        )
        return
    for name, steps in (("undo", done), ("redo", undone)):
        for step in steps:
            shown = f"{step.id}  {at_text(step.at)}  {visible_line(step.by):<17}  {visible_line(step.title)}"
            out.data(f"{name}  {shown}")
    if not done and not undone:
        out.say("there is nothing to undo or to do again")


@command(name="undo", examples=("workbench memory undo",))
def undo_learnings() -> None:
    """Take back the last step. What was learned by itself is not a step: reject or prune it."""
    _walk_learnings(back=True)


@command(name="redo", examples=("workbench memory redo",))
def redo_learnings() -> None:
    """Do the step again that was undone last."""
    _walk_learnings(back=False)


def _walk_learnings(*, back: bool) -> None:
    with learning_session("memory-edit") as work:
        title = (work.service.undo() if back else work.service.redo()).title
    if work.here.flags.json:
        work.here.out.json({"done": title})
    else:
        work.here.out.data(visible_line(title))
