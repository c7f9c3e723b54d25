"""What commands about curated records of any type share: steps are shown and walked, conflicts settled.

A type says how its changes are shown (`ChangeView`); rules and learnings do it beside their own commands.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from itertools import islice
from types import MappingProxyType
from typing import Any

import click

from workbench.curation.concurrency import writer
from workbench.curation.conflicts import CONFLICT_SHOWN, ConflictDecision
from workbench.curation.ledger import Ledger
from workbench.curation.records import CurationStep, RecordChange
from workbench.curation.service import CurationService
from workbench.entry.cli.frame import Function, Invocation, with_options
from workbench.entry.cli.inputs import WHY
from workbench.entry.cli.output import Output, shorten
from workbench.entry.project import find_state
from workbench.entry.services.conflicts import decide, find_beginning
from workbench.errors import UsageError
from workbench.lists.conflicts import ConflictRow
from workbench.memory.learnings.kinds import STREAMS
from workbench.records.conflicts import Action
from workbench.records.dataclass import dataclass
from workbench.text.counts import plural
from workbench.text.sanitize import visible_line

STEP = click.argument("step", metavar="[STEP]", required=False, default="")
LISTED = click.option("--list", "listed", is_flag=True, help="List what can be undone and redone instead.")
SHOWN_STEPS = 20
_SHOWN_WALKED = 50
_SHOWN_THEIRS = 20
ACTIONS = [action.value.replace("_", "-") for action in Action]
VERSION_ACTIONS = ("keep-left", "keep-right", "merge")
"""What settles two versions of one record."""
_SHOWN_CHANGES = 5
_OUTCOMES = ("added", "restored", "reworded", "changed", "moved", "removed")  # named first in a summary


@dataclass(frozen=True, slots=True)
class ChangeRow:
    """A change in a list: what became of which record, and its text."""

    what: str
    identifier: str
    text: str


@dataclass(frozen=True, slots=True)
class ChangeView:
    """How changes of a type are shown: `describe` makes entries of them, the others show an entry."""

    describe: Callable[[Any, Sequence[RecordChange[Any]]], Sequence[Any]]
    row: Callable[[Any], ChangeRow]
    lines: Callable[[Output, Any], Iterable[str]]
    document: Callable[[Any], dict[str, Any]]


def at_text(at: str) -> str:
    """Return a journal's time as people read it, to the minute, in UTC."""
    return visible_line(at[:16]).replace("T", " ")


def step_document(step: CurationStep[Any]) -> dict[str, str]:
    """Return what names a step as JSON has it."""
    return {"id": step.id, "at": step.at, "by": step.by, "title": step.title, **machine_document(step)}


def show_steps(
    here: Invocation,
    ledger: Ledger[Any],
    view: ChangeView,
    limit: int,
    names: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Show what was done to all records of a type, newest first; `names` are those of a team's machines."""
    if names:
        _name_put_aside(here, ledger)
    steps = list(reversed(ledger.steps.values()))
    out, undone, unchanged = here.out, set(ledger.undone), f"no {ledger.type.noun} changed"
    if here.flags.json:
        documents = [_whole_step(ledger, view, step, step.id in undone) for step in steps[:limit]]
        out.json({"total_count": len(steps), "steps": documents})
        return
    for step in steps[:limit]:
        rows = [view.row(one) for one in view.describe(ledger, step.changes)]
        mark = out.style("  undone", "33") if step.id in undone else ""
        title = out.style(visible_line(step.title) or "recorded without a title", "1")
        by = visible_line(writer(step.by, step.machine, names))
        out.paint(f"{at_text(step.at)}  {by:<17}  {title}{mark}  {_summary(rows, step) or unchanged}")
        for row in rows[:_SHOWN_CHANGES]:
            identifier, text = out.style(row.identifier, "2"), out.style(shorten(row.text), "0")
            out.paint(f"    {row.what:<9} {identifier}  {text}")
        if len(rows) > _SHOWN_CHANGES:
            out.data(f"    and {len(rows) - _SHOWN_CHANGES:,} more")
    if not steps:
        out.say(f"no {ledger.type.noun} was changed yet")
    elif len(steps) > limit:
        out.say(f"the newest {limit:,} of {plural(len(steps), 'step')}")


def _name_put_aside(here: Invocation, ledger: Ledger[Any]) -> None:
    """Report what others wrote that is no part of the history, and why."""
    from workbench.entry.services.team import aside_sentence, entries_put_aside  # where a team is used

    with closing(find_state(here.project, here.settings().config)) as project:
        aside = entries_put_aside(project, ledger.type.one_stream or STREAMS)
    for one in aside[:_SHOWN_CHANGES]:
        here.out.warn(visible_line(aside_sentence(one)))
    if len(aside) > _SHOWN_CHANGES:
        here.out.warn(f"and {len(aside) - _SHOWN_CHANGES:,} more: `workbench store verify`")


def show_stacks(
    here: Invocation, ledger: Ledger[Any], names: Mapping[str, str] = MappingProxyType({})
) -> None:
    """List the steps that could be undone and done again, the next one of each first, then others' newest."""
    stacks = {
        name: [ledger.steps[identifier] for identifier in reversed(identifiers)]
        for name, identifiers in (("undo", ledger.done), ("redo", ledger.undone))
    }
    theirs = (step for step in reversed(ledger.steps.values()) if step.of_another)
    stacks["theirs"] = list(islice(theirs, _SHOWN_THEIRS))
    if here.flags.json:
        here.out.json({name: list(map(step_document, steps)) for name, steps in stacks.items()})
        return
    for name, steps in stacks.items():
        for step in steps:
            by = f"{visible_line(writer(step.by, step.machine, names)):<17}"
            here.out.data(f"{name}  {step.id}  {at_text(step.at)}  {by}  {visible_line(step.title)}")
    if not any(stacks.values()):
        here.out.say("there is nothing to undo or redo")


def show_walked(
    here: Invocation, ledger: Ledger[Any], view: ChangeView, title: str, **more: object
) -> list[Any]:
    """Show the step that was undone or done again; return its entries. `more` are further keys of JSON."""
    walked = (step for step in reversed(ledger.steps.values()) if not step.of_another)
    step, out = next(one for one in walked if one.undoes or one.redoes or one.title == title), here.out
    entries = list(view.describe(ledger, step.changes))
    if here.flags.json:
        out.json({"done": title, "changes": list(map(view.document, entries)), **more})
        return entries
    out.data(visible_line(title))
    for entry in entries[:_SHOWN_WALKED]:
        for line in view.lines(out, entry):
            out.paint(line)
    if len(entries) > _SHOWN_WALKED:
        out.data(f"    and {len(entries) - _SHOWN_WALKED:,} more")
    return entries


def show_walk(
    here: Invocation, service: CurationService[Any, Any], view: ChangeView, walk: Callable[[], Any] | None
) -> None:
    """Undo or redo a step by `walk` and show it; without it show the steps that could be."""
    title = "" if walk is None else walk().title
    if title:
        show_walked(here, service.store.ledger(), view, title)
    else:
        show_stacks(here, service.store.ledger(), service.store.names())


def change_document(noun: str, change: RecordChange[Any]) -> dict[str, Any]:
    """Return a change of a record as JSON has it."""
    return {
        "at": change.at,
        "by": change.by,
        f"{noun}_id": change.record_id,
        "before": change.before,
        "after": change.after,
        "reason": change.reason,
        "step": change.step,
        **machine_document(change),
    }


def machine_document(written: RecordChange[Any] | CurationStep[Any]) -> dict[str, str]:
    """Return which machine of a team wrote something, as JSON has it: nothing for this one."""
    return {"machine": written.machine} if written.machine else {}


def settling_options(text_help: str, scope_help: str) -> Callable[[Function], Function]:
    """Return what gives a command the options that say how conflicts are settled."""
    return with_options(
        click.option("--action", type=click.Choice(ACTIONS), help="What to do with the two."),
        click.option("--suggested", is_flag=True, help="Do what is suggested."),
        click.option("--text", default="", help=text_help),
        click.option(
            "--keep", type=click.Choice(["left", "right"]), help="With supersede, narrow-scope: which stays."
        ),
        click.option("--scope", "scopes", multiple=True, metavar="SCOPE", help=scope_help),
        WHY,
    )


def check_asked(action: str | None, suggested: bool) -> None:
    """Raise UsageError unless either an action or the suggested one is asked for."""
    if (action is None) is not suggested:
        raise UsageError("say what to do", hint=f"--action {'|'.join(ACTIONS)}, or --suggested.")


def find_conflict(found: Sequence[ConflictRow], beginning: str, group: str) -> ConflictRow:
    """Return the conflict that `workbench GROUP conflicts` lists whose id begins so. Raises: UsageError."""
    if fitting := find_beginning(found, beginning):
        return fitting
    raise UsageError(
        f"there is no open conflict {visible_line(beginning)[:40]}",
        hint=f"`workbench {group} conflicts` lists them.",
    )


def decide_all(
    conflicts: Iterable[ConflictRow],
    action: str | None,
    text: str,
    keep: str | None,
    scopes: Sequence[str],
    reason: str,
) -> list[ConflictDecision]:
    """Return what options decide about conflicts; without an action what is suggested."""
    chosen = None if action is None else Action(action.replace("-", "_"))
    given: dict[str, Any] = {"text": text, "keep": keep or "", "scope": scopes, "reason": reason}
    return [decide(conflict, chosen, **given) for conflict in conflicts]


def settle_conflicts(
    here: Invocation, service: CurationService[Any, Any], decisions: Sequence[ConflictDecision]
) -> int:
    """Settle conflicts as one step, show how, and return how many; a single one that cannot be is an error.

    Raises: UsageError, StoreError.
    """
    skipped: tuple[str, ...] = ()
    done = tuple(decisions)
    held: dict[str, Any] = {}
    if len(decisions) == 1:
        noun = service.store.empty_ledger().type.noun
        held = {f"{noun}s": service.resolve(decisions[0])}
    else:
        done, skipped = service.resolve_all(decisions)
    out = here.out
    if here.flags.json:
        settled = [{"conflict": one.conflict, "action": one.action.value} for one in done]
        out.json({"settled": settled, "skipped": list(skipped), **held})
        return len(done)
    for one in done:
        out.data(f"{one.conflict[:CONFLICT_SHOWN]}  {one.action.value.replace('_', '-')}")
    for reason in skipped:
        out.say(f"left alone: {reason}")
    return len(done)


def _summary(rows: Sequence[ChangeRow], step: CurationStep[Any]) -> str:
    outcomes = Counter(row.what for row in rows)
    names = dict.fromkeys((*_OUTCOMES, *outcomes))
    parts = [f"{outcomes[name]:,} {name}" for name in names if outcomes[name]]
    parts += [f"{len(step.resolved)} settled"] if step.resolved else []
    parts += [f"{len(step.reopened)} open again"] if step.reopened else []
    return ", ".join(parts)


def _whole_step(
    ledger: Ledger[Any], view: ChangeView, step: CurationStep[Any], undone: bool
) -> dict[str, Any]:
    return {
        **step_document(step),
        "undone": undone,
        "undoes": step.undoes or None,
        "redoes": step.redoes or None,
        "changes": list(map(view.document, view.describe(ledger, step.changes))),
        "resolved": step.resolved,
        "reopened": step.reopened,
    }
