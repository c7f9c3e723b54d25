"""What the screen asks of the engine to change rules; every function runs in a job."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from screens.engine import Engine, Rules
from screens.jobs import Job
from workbench.curation.conflicts import RecordChanged
from workbench.errors import UsageError
from workbench.records.rules import Rule
from workbench.rules.fields import new_rule


@dataclass(frozen=True, slots=True)
class Saved:
    """Rules as they are after a step, and files of theirs that do not say so yet."""

    rules: tuple[Rule, ...]
    behind: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Overtaken:
    """A rule that somebody else changed while it was edited; `now` is None where it was removed."""

    seen: Rule
    now: Rule | None
    changes: Mapping[str, Any]


def save_edit(engine: Engine, seen: Rule, changes: Mapping[str, Any], job: Job) -> Saved | Overtaken:
    """Change fields of a rule as it was seen, or say what others did to it. Raises: WorkbenchError."""
    with engine.rules("rules-edit", job.progress) as work:
        try:
            after = work.curator.edit(seen.id, seen=seen, **changes)
        except RecordChanged as error:
            return Overtaken(seen, error.now, changes)
        words = after.id != seen.id
        return Saved((after,), _behind(work, [after]) if words else ())


def save_new(engine: Engine, fields: Mapping[str, Any], home: bool, job: Job) -> Saved:
    """Add a rule of checked fields, to this project or for the person. Raises: WorkbenchError."""
    with engine.rules("rules-edit", job.progress) as work:
        rule = new_rule(fields, None if home else work.store.project_id)
        return Saved((work.curator.add(rule),))


def save_again(engine: Engine, seen: Rule, changes: Mapping[str, Any], job: Job) -> Saved:
    """Add a rule anew that somebody removed while it was edited. Raises: WorkbenchError."""
    with engine.rules("rules-edit", job.progress) as work:
        rule = replace(seen, **{"action_text": "", **changes}, id="", replaces=(), version=1)
        return Saved((work.curator.add(rule),), _behind(work, [rule]))


def save_each(engine: Engine, changes: Mapping[str, Mapping[str, Any]], title: str, job: Job) -> Saved:
    """Change several rules in one step, each in its way. Raises: UsageError if one of them cannot be."""
    with engine.rules("rules-edit", job.progress) as work:
        differing = {
            rule.id: mine
            for rule in work.book.rules
            if (mine := changes.get(rule.id)) and any(getattr(rule, name) != mine[name] for name in mine)
        }
        gone = set(changes) - {rule.id for rule in work.book.rules}
        if gone:
            raise UsageError(
                f"{len(gone):,} of the rules gave way or were removed meanwhile",
                hint="Nothing was changed: look at the list again and mark what is there now.",
            )
        if not differing:
            return Saved(())
        return Saved(tuple(work.curator.edit_each(differing, title=title)))


def remove_rules(engine: Engine, identifiers: Sequence[str], job: Job) -> Saved:
    """Put rules out of force in one step. Raises: WorkbenchError."""
    with engine.rules("rules-edit", job.progress) as work:
        wanted = set(identifiers)
        rules = tuple(rule for rule in work.book.rules if rule.id in wanted)
        work.curator.remove(list(identifiers))
        return Saved(rules, _behind(work, rules))


def _behind(work: Rules, rules: Sequence[Rule]) -> tuple[str, ...]:
    from workbench.rules.files.drift import files_behind  # reads and writes files: not for the first paint

    return files_behind(work.store, work.opened.workspace.rule_files, rules)
