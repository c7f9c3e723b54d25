"""What the screen asks of the engine about rules: to read them and to change them. Called in jobs only."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from screens.curation.changes import Overtaken, Saved
from screens.curation.excerpt import open_file
from screens.engine import BY, AppEngine
from screens.jobs import Job
from workbench.beneath import LeadsOut
from workbench.curation.concurrency import sign_changes
from workbench.curation.conflicts import RecordChanged
from workbench.errors import UsageError
from workbench.lists.tables import ListQuery
from workbench.records.rules import Rule
from workbench.rules.curation.differences import DescribedChange, story
from workbench.rules.curation.ledger import Use, read_uses
from workbench.rules.curation.ruletype import STREAM
from workbench.rules.curation.versions import past_ids
from workbench.rules.fields import new_rule

if TYPE_CHECKING:
    from workbench.entry.project import OpenedProject
    from workbench.rules.curation.curator import Curator
    from workbench.rules.files.drift import Written
    from workbench.rules.lint.findings import LintFinding


@dataclass(frozen=True, slots=True, kw_only=True)
class FileQuestion(Saved[Rule]):
    """A step that would change rule files, as in `files`: nothing was done yet, `go_on` does all of it."""

    files: tuple[Written, ...]
    go_on: Callable[[Job], Saved[Rule]]


@dataclass(frozen=True, slots=True)
class RuleWriter:
    """Changes rules, each call one step that `u` takes back. Raises: WorkbenchError.

    What changes lines of files is done with them, once they were shown: until then it is a question.
    """

    engine: AppEngine

    def save(self, seen: Rule, changes: Mapping[str, Any], job: Job) -> Saved[Rule] | Overtaken[Rule]:
        """Change fields of a rule as it was seen, or say what others did to it."""
        try:
            return self._step(lambda curator: [curator.edit(seen.id, seen=seen, **changes)], job)
        except RecordChanged as error:
            return Overtaken(seen, error.now, changes)

    def add(self, fields: Mapping[str, Any], home: bool, job: Job) -> Saved[Rule]:
        """Add a rule of checked fields, to this project or to the person's own."""

        def act(curator: Curator) -> list[Rule]:
            return [curator.add(new_rule(fields, None if home else curator.store.project_id))]

        return self._step(act, job)

    def add_again(self, found: Overtaken[Rule], job: Job) -> Saved[Rule]:
        """Add a rule again that somebody removed while it was edited, with what was written."""
        rule = replace(found.seen, **{"action_text": "", **found.changes}, id="", replaces=(), version=1)
        return self._step(lambda curator: [curator.add(rule)], job)

    def save_each(self, changes: Mapping[str, Mapping[str, Any]], title: str, job: Job) -> Saved[Rule]:
        """Change several rules in one step, each in its way. Raises: UsageError if one of them cannot be."""

        def act(curator: Curator) -> list[Rule]:
            current = curator.store.ledger().live
            gone = set(changes) - current.keys()
            if gone:
                raise UsageError(
                    f"{len(gone):,} of the rules were superseded or removed meanwhile",
                    hint="Nothing was changed: look at the list again and mark what is there now.",
                )
            differing = {
                identifier: mine
                for identifier, mine in changes.items()
                if any(getattr(current[identifier], name) != value for name, value in mine.items())
            }
            return curator.edit_each(differing, title=title) if differing else []

        return self._step(act, job)

    def remove(self, identifiers: Sequence[str], job: Job) -> Saved[Rule]:
        """Put rules out of force in one step."""

        def act(curator: Curator) -> list[Rule]:
            curator.remove(list(identifiers))
            return []

        return self._step(act, job)

    def _step(
        self, act: Callable[[Curator], Sequence[Rule]], job: Job, shown: tuple[Written, ...] = ()
    ) -> Saved[Rule]:
        """Do a step and write its files, if what changes in them is what was `shown`."""
        from workbench.rules.curation.curator import StepPreview, StepWriter

        with self.engine.rules("rules-edit", job.progress) as work:
            rule_files = work.opened.workspace.rule_files
            tried = StepPreview(work.store, BY, rule_files)
            act(tried)
            files = tuple(one for one in tried.written if one.changed)
            if files and files != shown:
                return FileQuestion((), files=files, go_on=lambda job: self._step(act, job, files))
            names = tuple(one.file for one in tried.written)
            writer = StepWriter(work.store, BY, rule_files, names)
            rules, written = tuple(act(writer)), writer.written
            behind = {*names} - {one.file for one in written if one.changed and not one.refused}
            return Saved(rules, tuple(sorted(behind)), tuple(one.file for one in written if one.changed))


@dataclass(frozen=True, slots=True)
class SyncedRules:
    """What syncing rules with their files came to: how many there are, of how many files, how many are `off`.

    `pending` changes are not in the files yet, `conflicts` were changed on both sides; `changed` says whether
    the sync changed rules.
    """

    rules: int = 0
    files: int = 0
    off: int = 0
    pending: int = 0
    conflicts: int = 0
    warnings: tuple[str, ...] = ()
    changed: bool = False


def sync_files(engine: AppEngine, job: Job) -> SyncedRules:
    """Sync the rules with their files. Raises: WorkbenchError."""
    with engine.workspace(job.progress) as opened:
        before = revisions(opened)
    with engine.rules("rules", job.progress) as work:
        book, notes, changed = work.book, work.notes, before != revisions(work.opened)
    counts = engine.lists().rule_list.facets(ListQuery(), ("enabled",))
    return SyncedRules(
        len(book.rules),
        len(book.files) + len(book.named),
        sum(one.count for one in counts.fields["enabled"] if one.value == "no"),
        book.pending,
        book.conflicts,
        tuple(dict.fromkeys((*notes, *book.warnings))),
        changed,
    )


def lint_files(engine: AppEngine, job: Job) -> dict[str, tuple[LintFinding, ...]]:
    """Return what is wrong with rule files, by the ids of the rules it concerns. Raises: WorkbenchError."""
    from workbench.entry.services.rule_lint import known_conflicts, lint_project
    from workbench.rules.lint.checks import lint_rules
    from workbench.rules.lint.findings import findings_by_rule

    with engine.workspace(job.progress) as opened:
        book = opened.workspace.rulebook
        project = lint_project(opened, book, known_conflicts(opened, book))
    job.progress("Checking rule files", 0, 0)
    return findings_by_rule(project.rules, lint_rules(project))


def revisions(opened: OpenedProject) -> tuple[str, ...]:
    """Return what differs when somebody curated rules."""
    return tuple(journal.revision(STREAM) for journal in opened.journals.values())


def read_story(engine: AppEngine, identifier: str, job: Job) -> tuple[DescribedChange, ...]:
    """Return what was done to a rule and its earlier versions, oldest first. Raises: WorkbenchError."""
    with engine.workspace(job.progress) as opened:
        store = opened.workspace.rule_store()
        found, names = story(store.ledger(), identifier), store.names()
    return tuple(replace(one, change=sign_changes((one.change,), names)[0]) for one in found)


def read_rule_uses(engine: AppEngine, identifier: str, job: Job) -> tuple[Use, ...]:
    """Return every use of a rule and its earlier versions. Raises: WorkbenchError."""
    with engine.workspace(job.progress) as opened:
        store = opened.workspace.rule_store()
        rule = store.ledger().current(identifier)
        wanted = {identifier} if rule is None else {rule.id, *past_ids(rule)}
        return tuple(use for use in read_uses(store.usage_journals) if use.rule_id in wanted)


def read_place(engine: AppEngine, rule: Rule, job: Job) -> tuple[Path, bytes] | None:
    """Return the file a rule is in, None without one or where a link leads out of the project to it.

    Raises: OSError if it cannot be read.
    """
    path = place_of(engine, rule, job.progress)
    if path is None:
        return None
    assert rule.provenance is not None
    with suppress(LeadsOut), open_file(engine.root, rule.provenance.file) as file:
        return path, file.read()
    return None


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
