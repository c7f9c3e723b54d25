"""`workbench memory add|accept|reject|edit|…`: decisions about learnings, in steps that can be undone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import click

from workbench.entry.cli.curation import (
    LISTED,
    STEP,
    check_asked,
    decide_all,
    find_conflict,
    settle_conflicts,
    settling_options,
    show_walk,
)
from workbench.entry.cli.frame import command
from workbench.entry.cli.inputs import IDENTIFIERS, WHY
from workbench.entry.cli.memory.learnings import LEARNING_CHANGES, WIDTH, line_of
from workbench.entry.cli.output import shorten
from workbench.entry.cli.session import LearningSession, learning_session
from workbench.errors import UsageError
from workbench.memory.learnings.learningtype import SHORT
from workbench.memory.learnings.review import conflict_rows
from workbench.records.learnings import FeatureLearning, LearningKind, LearningSource
from workbench.records.rules import PATH_SCOPE, Authority
from workbench.text.counts import plural

_KINDS = [one.value for one in LearningKind]


@command
@click.argument("text")
@click.option("--feature", default="general", show_default=True, metavar="NAME", help="What it is about.")
@click.option("--reason", required=True, metavar="TEXT", help="Why it is worth knowing.")
@click.option("--task", metavar="ID", help="It holds for this task only.")
@click.option(
    "--kind", type=click.Choice([one.value for one in LearningKind]), default="note", help="Its kind."
)
@click.option("--file", "files", multiple=True, metavar="PATH", help="Files it was seen in.")
@click.option("--by-agent", is_flag=True, help="It is an agent's wording and awaits review.")
@click.option("--session", default="", metavar="ID", help="The session it is from, with --by-agent.")
@click.option("--personal", is_flag=True, help="Keep it for all your projects.")
def add(
    text: str,
    feature: str,
    reason: str,
    task: str | None,
    kind: str,
    files: Sequence[str],
    by_agent: bool,
    session: str,
    personal: bool,
) -> None:
    """Add a learning. Secrets in it are masked, a repetition is refused, a contradiction is reported."""
    with learning_session("memory-edit") as work:
        made = work.service.add(
            text,
            feature=feature,
            reason=reason,
            source=LearningSource.AGENT if by_agent else LearningSource.HUMAN,
            task_id=task,
            kind=LearningKind(kind),
            files=files,
            session_id=session,
            personal=personal,
        )
    _show_learnings(work, [made])
    _warn_of_conflict(work, made)


@command
@IDENTIFIERS
@WHY
@click.option("--model", is_flag=True, help="A stronger model reviewed them, not a person.")
def accept(identifiers: Sequence[str], reason: str, model: bool) -> None:
    """Mark learnings as reviewed: they come first in prompts. It does not say that they are true."""
    _step(lambda work: work.service.accept(identifiers, reason=reason, model=model))


@command
@IDENTIFIERS
@WHY
def reject(identifiers: Sequence[str], reason: str) -> None:
    """Reject learnings that are wrong or worthless; the same is not learned again."""
    _step(lambda work: work.service.reject(identifiers, reason=reason))


@command
@IDENTIFIERS
@WHY
def retire(identifiers: Sequence[str], reason: str) -> None:
    """Retire learnings that used to be right."""
    _step(lambda work: work.service.retire(identifiers, reason=reason))


@command
@IDENTIFIERS
@WHY
def restore(identifiers: Sequence[str], reason: str) -> None:
    """Restore learnings that were rejected, retired, pruned or superseded."""
    _step(lambda work: work.service.restore(identifiers, reason=reason))


@command
@click.argument("identifier", metavar="ID")
@click.option("--text", help="What it says; new words count as a review.")
@click.option("--why", "reason_text", help="Why it exists.")
@click.option("--feature", metavar="NAME", help="Another feature.")
@click.option("--task", metavar="ID", help="Limit it to a task.")
@click.option("--whole-feature", is_flag=True, help="Let it hold for every task of the feature.")
@click.option("--kind", type=click.Choice(_KINDS), help="Another kind.")
@click.option("--scope", "scopes", multiple=True, metavar="GLOB", help="Limit it to files.")
@click.option("--everywhere", is_flag=True, help="Let it hold for every file.")
@WHY
def edit(
    identifier: str,
    text: str | None,
    reason_text: str | None,
    feature: str | None,
    task: str | None,
    whole_feature: bool,
    kind: str | None,
    scopes: Sequence[str],
    everywhere: bool,
    reason: str,
) -> None:
    """Change what a learning says, why it exists, or what it is limited to."""
    given: dict[str, Any] = {"text": text, "reason_text": reason_text, "feature": feature, "task_id": task}
    changes = {name: value for name, value in given.items() if value is not None}
    if kind is not None:
        changes["kind"] = LearningKind(kind)
    if scopes or everywhere:
        changes["scope"] = tuple(scopes)
    if whole_feature:
        changes["task_id"] = None
    if not changes:
        raise UsageError("there is nothing to change", hint="Pass --text, --task, --feature or --scope.")
    with learning_session("memory-edit") as work:
        after = work.service.edit(identifier, reason=reason, **changes)
    _show_learnings(work, [after])
    if text is not None:
        _warn_of_conflict(work, after)


@command
@click.argument("conflicts", metavar="ID...", nargs=-1, required=True)
@settling_options("The wording of a merge (default: the left one's).", "task:ID or a glob of files.")
def resolve(
    conflicts: Sequence[str],
    action: str | None,
    suggested: bool,
    text: str,
    keep: str | None,
    scopes: Sequence[str],
    reason: str,
) -> None:
    """Settle pairs that `conflicts` lists, as one step; `undo` undoes it."""
    check_asked(action, suggested)

    with learning_session("memory-edit") as work:
        waiting = conflict_rows(work.service.conflicts())
        chosen = [find_conflict(waiting, one, "memory") for one in dict.fromkeys(conflicts)]
        decisions = decide_all(chosen, action, text, keep, scopes, reason)
        settle_conflicts(work.here, work.service, decisions)


@command
@click.argument("identifier", metavar="ID")
@click.option("--text", help="The rule's words (default: the learning's).")
@click.option("--absolute", is_flag=True, help="The rule may never be left out.")
@click.option("--scope", "scopes", multiple=True, metavar="GLOB", help="Limit the rule to files.")
@WHY
def promote(identifier: str, text: str | None, absolute: bool, scopes: Sequence[str], reason: str) -> None:
    """Make a rule of a learning and supersede it. `memory undo` undoes both."""
    fields: dict[str, Any] = {"authority": Authority.ABSOLUTE} if absolute else {}
    if text is not None:
        fields["rule"] = text
    if scopes:
        fields["scope"] = tuple(f"{PATH_SCOPE}{glob.removeprefix(PATH_SCOPE)}" for glob in scopes)
    with learning_session("memory-edit") as work:
        done = work.service.promote(identifier, reason=reason, **fields)
    out = work.here.out
    if work.here.wrote_json({"learning": done.learning, "rule": done.rule}):
        return
    out.paint(f"{out.style(done.rule.id[:13], '1')}  {shorten(done.rule.rule, WIDTH)}")
    out.say(f"it is a rule now and supersedes {done.learning.id[:SHORT]}")


@command
@click.option("--days", type=click.FloatRange(min=0), help="Days since it was last seen (60).")
@click.option("--dry-run", is_flag=True, help="List what would go, and change nothing.")
def prune(days: float | None, dry_run: bool) -> None:
    """Take out what was learned automatically, never reviewed, seen once, and is old; `undo` restores it."""
    with learning_session("memory-edit") as work:
        found = work.service.prune(days=days, dry_run=dry_run)
    _show_learnings(work, found)
    done = "would be taken out" if dry_run else "taken out"
    work.here.out.say(f"{plural(len(found), 'learning')} {done}")


@command
@STEP
@LISTED
def undo(step: str, listed: bool) -> None:
    """Undo the last step, or STEP of --list: a review, an edit, a settlement, a promotion.

    What was learned automatically is not a step: reject or prune it. `redo` does the step again.
    """
    with learning_session("memory" if listed else "memory-edit") as work:
        walk = None if listed else partial(work.service.undo, step)
        show_walk(work.here, work.service, LEARNING_CHANGES, walk)


@command
@LISTED
def redo(listed: bool) -> None:
    """Redo the step that was undone last."""
    with learning_session("memory" if listed else "memory-edit") as work:
        show_walk(work.here, work.service, LEARNING_CHANGES, None if listed else work.service.redo)


def _warn_of_conflict(work: LearningSession, learning: FeatureLearning) -> None:
    if learning.conflicts_with:
        other = learning.conflicts_with[0][:SHORT]
        work.here.out.warn(f"it contradicts {other}: `workbench memory conflicts` shows both sides")


def _step(make: Callable[[LearningSession], Sequence[FeatureLearning]]) -> None:
    with learning_session("memory-edit") as work:
        done = make(work)
    _show_learnings(work, done)


def _show_learnings(work: LearningSession, learnings: Sequence[FeatureLearning]) -> None:
    out = work.here.out
    if work.here.wrote_json({"learnings": list(learnings)}):
        return
    now = work.store.now()
    for learning in learnings:
        out.paint(line_of(out, learning, now))
