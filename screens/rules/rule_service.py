"""What the screen asks of the engine about rules: to read them and to change them. Called in jobs only."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from screens.curation.changes import Overtaken, Saved
from screens.engine import AppEngine, Rules
from screens.jobs import Job
from screens.rules.rule_text import summary
from workbench.curation.conflicts import RecordChanged
from workbench.errors import UsageError
from workbench.records.rules import Rule
from workbench.rules.curation.differences import DescribedChange, story
from workbench.rules.curation.ledger import Use, read_uses
from workbench.rules.curation.versions import past_ids
from workbench.rules.fields import new_rule
from workbench.rules.rulebook import Rulebook


@dataclass(frozen=True, slots=True)
class RuleWriter:
    """Changes rules, each call one step that `u` takes back. Raises: WorkbenchError."""

    engine: AppEngine

    def save(self, seen: Rule, changes: Mapping[str, Any], job: Job) -> Saved[Rule] | Overtaken[Rule]:
        """Change fields of a rule as it was seen, or say what others did to it."""
        with self._held(job) as work:
            try:
                after = work.curator.edit(seen.id, seen=seen, **changes)
            except RecordChanged as error:
                return Overtaken(seen, error.now, changes)
            return Saved((after,), _outdated(work, [after]) if after.id != seen.id else ())

    def add(self, fields: Mapping[str, Any], home: bool, job: Job) -> Saved[Rule]:
        """Add a rule of checked fields, to this project or to the person's own."""
        with self._held(job) as work:
            rule = new_rule(fields, None if home else work.store.project_id)
            return Saved((work.curator.add(rule),))

    def add_again(self, found: Overtaken[Rule], job: Job) -> Saved[Rule]:
        """Add a rule again that somebody removed while it was edited, with what was written."""
        with self._held(job) as work:
            rule = replace(found.seen, **{"action_text": "", **found.changes}, id="", replaces=(), version=1)
            return Saved((work.curator.add(rule),), _outdated(work, [rule]))

    def save_each(self, changes: Mapping[str, Mapping[str, Any]], title: str, job: Job) -> Saved[Rule]:
        """Change several rules in one step, each in its way. Raises: UsageError if one of them cannot be."""
        with self._held(job) as work:
            current = {rule.id: rule for rule in work.book.rules}
            gone = set(changes) - current.keys()
            if gone:
                raise UsageError(
                    f"{len(gone):,} of the rules were superseded or removed meanwhile",
                    hint="Nothing was changed: look at the list again and mark what is there now.",
                )
            differing = {
                identifier: mine
                for identifier, rule in current.items()
                if (mine := changes.get(identifier))
                and any(getattr(rule, name) != mine[name] for name in mine)
            }
            if not differing:
                return Saved(())
            return Saved(tuple(work.curator.edit_each(differing, title=title)))

    def remove(self, identifiers: Sequence[str], job: Job) -> Saved[Rule]:
        """Put rules out of force in one step."""
        with self._held(job) as work:
            wanted = set(identifiers)
            rules = tuple(rule for rule in work.book.rules if rule.id in wanted)
            work.curator.remove(list(identifiers))
            return Saved(rules, _outdated(work, rules))

    def _held(self, job: Job) -> AbstractContextManager[Rules]:
        return self.engine.rules("rules-edit", job.progress)


def _outdated(work: Rules, rules: Sequence[Rule]) -> tuple[str, ...]:
    from workbench.rules.files.drift import files_behind  # reads and writes files: not for the first paint

    return files_behind(work.store, work.opened.workspace.rule_files, rules)


@dataclass(frozen=True, slots=True)
class LoadedRules:
    """The rules in force, how many there are in a line, and what is wrong with their files."""

    book: Rulebook
    summary: str
    warnings: tuple[str, ...] = ()

    @property
    def odd(self) -> str:
        """What is wrong in one note: many at once would cover what they are about."""
        if not self.warnings:
            return ""
        first, more = self.warnings[0], len(self.warnings) - 1
        return f"{first}\n… and {more:,} more: see `workbench rules list`" if more else first


def read_rules(engine: AppEngine, job: Job) -> LoadedRules:
    """Return the rules in force, synced with their files. Raises: WorkbenchError."""
    with engine.rules("rules", job.progress) as work:
        book, notes = work.book, work.notes
    return LoadedRules(book, summary(book), tuple(dict.fromkeys((*notes, *book.warnings))))


def read_story(engine: AppEngine, identifier: str, job: Job) -> tuple[DescribedChange, ...]:
    """Return what was done to a rule and its earlier versions, oldest first. Raises: WorkbenchError."""
    with engine.workspace(job.progress) as opened:
        return story(opened.workspace.rule_store().ledger(), identifier)


def read_rule_uses(engine: AppEngine, identifier: str, job: Job) -> tuple[Use, ...]:
    """Return every use of a rule and its earlier versions. Raises: WorkbenchError."""
    with engine.workspace(job.progress) as opened:
        store = opened.workspace.rule_store()
        rule = store.ledger().current(identifier)
        wanted = {identifier} if rule is None else {rule.id, *past_ids(rule)}
        return tuple(use for use in read_uses((store.journal, store.home_journal)) if use.rule_id in wanted)


def read_place(engine: AppEngine, rule: Rule, job: Job) -> tuple[Path, bytes] | None:
    """Return the file a rule is in, None if there is none. Raises: OSError if it cannot be read."""
    path = place_of(engine, rule, job.progress)
    return None if path is None else (path, path.read_bytes())


def place_of(engine: AppEngine, rule: Rule, progress: Callable[[str, int, int], None]) -> Path | None:
    """Return the path of the file a rule is in, None if it is in none or that is gone."""
    if rule.provenance is None:
        return None
    with engine.workspace(progress) as opened:
        store = opened.workspace.rule_store()
    file = rule.provenance.file
    if file.startswith("~/"):
        path = None if store.home is None else store.home / file[2:]
    else:
        path = store.root / file
    return path if path is not None and path.is_file() else None
