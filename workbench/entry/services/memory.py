"""Iterations recorded: numbered, compared with what the feature's journal holds, appended, learned from.

Recording an iteration twice adds nothing; a longer record of it replaces the shorter one.
Numbers are given under a lock, so that collectors of one feature at once each keep their record.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import field, replace
from datetime import UTC, datetime
from enum import StrEnum
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from workbench.config_layers import load
from workbench.entry.project import OpenedProject
from workbench.errors import WorkbenchError
from workbench.memory.iterations import DigestedOutput, digest_output, is_stagnant, journal_entry
from workbench.memory.journal import (
    GENERAL,
    KIND,
    PREFIX,
    FeatureJournal,
    JournalEntry,
    body_of,
    feature_name,
    feature_stream,
    read_journal,
)
from workbench.memory.learnings.kinds import KINDS as LEARNING_KINDS
from workbench.records.dataclass import dataclass
from workbench.records.iterations import ExtractionResult, IterationRecord, RawIterationOutput, Task
from workbench.sessions.importers.exclusions import Excluded, path_filter

if TYPE_CHECKING:
    from workbench.memory.learnings.accumulation import Accumulated
    from workbench.memory.learnings.learningstore import LearningStore

_LOCK: Final = "memory"
_PATIENCE: Final = 30.0  # seconds
_TRUNKS = frozenset({"main", "master", "trunk", "develop", "dev", "head", "HEAD", ""})

Learn = Callable[[IterationRecord, DigestedOutput], "Accumulated"]

_NOTHING: Final = "no error, and no correction of how things are done"
_SEEN_ONCE: Final = "errors that no other iteration had; one teaches when it comes again and a change ends it"
_KNOWN: Final = {
    "had been given to it": "a learning says it that the iteration was given",
    "is from the same session": "a learning of the same session says it",
}


class Novelty(StrEnum):
    """What a record of an iteration was to the journal."""

    ADDED = "added"
    UPDATED = "updated"
    UNCHANGED = "unchanged"


@dataclass(frozen=True, slots=True)
class KeptIteration:
    """An iteration in the journal, and whether its feature has come to a standstill with it.

    It added `learned` learnings and found `confirmed` out again; `untaught` says why it did neither.
    `unlearned` says why nothing could be learned from it, which leaves it recorded; empty if something could.
    """

    entry: JournalEntry
    novelty: Novelty
    extraction: ExtractionResult
    stagnant: bool = False
    learned: int = 0
    confirmed: int = 0
    untaught: str = ""
    unlearned: str = ""


@dataclass(slots=True)
class Summary:
    """What was recorded, in numbers."""

    novelty: Counter[str] = field(default_factory=Counter)
    outcomes: Counter[str] = field(default_factory=Counter)
    features: Counter[str] = field(default_factory=Counter)
    errors: int = 0
    decisions: int = 0
    files: int = 0
    learned: int = 0
    confirmed: int = 0
    stagnant: int = 0
    dropped: Counter[str] = field(default_factory=Counter)
    redacted: Counter[str] = field(default_factory=Counter)
    unlearned: Counter[str] = field(default_factory=Counter)
    untaught: Counter[str] = field(default_factory=Counter)

    def add(self, kept: Iterable[KeptIteration]) -> None:
        """Take in what was kept."""
        for one in kept:
            record = one.entry.record
            self.novelty[str(one.novelty)] += 1
            if one.novelty is Novelty.UNCHANGED:
                continue
            self.outcomes[str(record.outcome)] += 1
            self.features[record.feature] += 1
            self.errors += len(record.errors)
            self.decisions += len(record.decisions)
            self.files += len(record.files_touched)
            self.learned += one.learned
            self.confirmed += one.confirmed
            if one.untaught:
                self.untaught[one.untaught] += 1
            self.stagnant += one.stagnant
            self.dropped.update(one.extraction.dropped)
            self.redacted.update(one.extraction.redacted)
            self.unlearned[one.unlearned] += bool(one.unlearned)


def feature_streams(project: OpenedProject) -> list[str]:
    """Return the streams of a project's features, sorted."""
    return [name for name in project.journal.streams() if name.startswith(PREFIX)]


@dataclass(frozen=True, slots=True)
class RememberedIterations:
    """The newest iterations, the last one first, out of how many of how many features."""

    newest: tuple[IterationRecord, ...] = ()
    total: int = 0
    features: int = 0


def newest_iterations(project: OpenedProject, most: int) -> RememberedIterations:
    """Return the newest iterations of all features. Raises: JournalError."""
    found = [
        entry.record for name in feature_streams(project) for entry in read_stream(project, name).entries
    ]
    newest = sorted(found, key=lambda one: (one.timestamp, one.iteration_number, one.feature), reverse=True)
    return RememberedIterations(tuple(newest[:most]), len(found), len({one.feature for one in found}))


def read_feature(project: OpenedProject, name: str) -> FeatureJournal:
    """Return what is known of a feature, nothing for one that nobody worked on. Raises: JournalError."""
    return read_stream(project, feature_stream(name))


def read_stream(project: OpenedProject, stream: str) -> FeatureJournal:
    """Return what a feature's stream holds. Raises: JournalError."""
    return read_journal(stream, (entry for _, entry in project.journal.read(stream)), LEARNING_KINDS)


def feature_of(given: str, *branches: str) -> str:
    """Return the feature as given, else the first branch that is no trunk, else the general one."""
    for name in (given, *(branch for branch in branches if branch not in _TRUNKS)):
        if name.strip():
            return feature_name(name)
    return GENERAL


def digest_of(project: OpenedProject, raw: RawIterationOutput) -> DigestedOutput:
    """Take an iteration's fingerprint, then extract what it holds, with paths from the project's root.

    The directory that the run was in counts as the project, too, unless it is one that holds everything.
    """
    roots = [str(project.root), str(project.root.resolve())]
    if raw.cwd.count("/") > 2 or raw.cwd.count("\\") > 2:
        roots.append(raw.cwd)
    roots = list(dict.fromkeys(roots))
    return digest_output(raw, roots, excluded=_exclusion_filter(project.root, tuple(roots)))


@lru_cache(maxsize=64)
def _exclusion_filter(project: Path, roots: tuple[str, ...]) -> Excluded:
    """Return what recognises the paths that the settings of a project exclude. Raises: ConfigError."""
    return path_filter(load(project=project).config.privacy.exclude, roots)


def record(
    project: OpenedProject,
    found: Sequence[DigestedOutput],
    task: Task,
    *,
    by: str,
    learn: Learn | None = None,
    sync: bool = True,
) -> list[KeptIteration]:
    """Append the iterations of a feature that are new or longer than before. Raises: StoreError, StoreBusy.

    What is learned from them is the business of `learn`, called once each entry is in the journal. Without
    `sync` a failing machine can lose them; the caller then has the journal synced in the end.
    """
    stream = feature_stream(task.feature)
    now = (
        datetime.fromtimestamp(project.clock.now(), UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    )
    kept: list[KeptIteration] = []
    with project.lock(_LOCK, _PATIENCE):
        journal = read_stream(project, stream)
        known = {entry.key: entry for entry in journal.entries if entry.key}
        prints = [entry.fingerprint for entry in journal.entries]
        number = journal.next_number
        bodies: list[dict[str, Any]] = []
        for one in found:
            entry = journal_entry(one, task, number, now)
            before = known.get(entry.key)
            if before is not None and (before.digest == entry.digest or before.extent > entry.extent):
                kept.append(KeptIteration(before, Novelty.UNCHANGED, one.extraction))
                continue
            if before is not None:
                entry = _lengthen(entry, before)
            else:
                number += 1
                prints.append(entry.fingerprint)
            known[entry.key] = entry
            novelty = Novelty.ADDED if before is None else Novelty.UPDATED
            kept.append(KeptIteration(entry, novelty, one.extraction, is_stagnant(prints)))
            bodies.append(body_of(entry))
        if bodies:
            project.journal.append(stream, KIND, bodies, by=by, sync=sync)
    if learn is None:
        return kept
    return [
        one if one.novelty is Novelty.UNCHANGED else _learn_from(one, output, learn)
        for one, output in zip(kept, found, strict=True)
    ]


def _learn_from(kept: KeptIteration, output: DigestedOutput, learn: Learn) -> KeptIteration:
    try:
        done = learn(kept.entry.record, output)
    except WorkbenchError as error:
        return replace(kept, unlearned=error.message)
    learned = len(done.added) + len(done.conflicts)
    untaught = "" if learned or done.hits else _why_untaught(kept.entry.record, done)
    return replace(kept, learned=learned, confirmed=len(done.hits), untaught=untaught)


def _why_untaught(record_: IterationRecord, done: Accumulated) -> str:
    """Return why an iteration taught nothing: of what was left out the first, which is the surest kind."""
    if done.left_out:
        reason = done.left_out[0][1]
        return next((words for end, words in _KNOWN.items() if reason.endswith(end)), reason)
    return _SEEN_ONCE if record_.errors else _NOTHING


def _lengthen(entry: JournalEntry, before: JournalEntry) -> JournalEntry:
    """Return a longer record with the number and the task of the earlier one."""
    longer, first = entry.record, before.record
    return replace(
        entry,
        record=replace(
            longer,
            iteration_number=first.iteration_number,
            task_id=longer.task_id or first.task_id,
            task_title=longer.task_title or first.task_title,
            discipline=longer.discipline or first.discipline,
        ),
    )


def learner(project: OpenedProject) -> Learn:
    """Return what learns from an iteration of a project and reports what that did to the learnings.

    It is for one run: rules and a feature's earlier iterations are read once.
    """
    from workbench.memory.learnings.accumulation import accumulate
    from workbench.memory.learnings.echoes import InjectionReader

    store = learning_store(project)
    injected = InjectionReader(store.journal)

    @cache
    def known_rules() -> tuple[str, ...]:
        from workbench.curation.folding import read_ledger
        from workbench.rules.curation.ledger import RuleLedger

        ledger = read_ledger(RuleLedger, store.all_journals)
        return tuple(rule.rule for rule in ledger.live.values())

    def rules() -> Iterator[str]:
        yield from known_rules()

    @cache
    def iterations(feature: str) -> dict[int, IterationRecord]:
        return {one.record.iteration_number: one.record for one in read_feature(project, feature).entries}

    def learn(record: IterationRecord, found: DigestedOutput) -> Accumulated:
        known = iterations(record.feature)
        before = [known[number] for number in sorted(known) if number < record.iteration_number]
        known[record.iteration_number] = record
        return accumulate(
            record,
            found.extraction,
            found.raw,
            store,
            before=before,
            rules=rules(),
            injected=injected,
        )

    return learn


def learning_store(project: OpenedProject) -> LearningStore:
    """Return where the learnings of a project are; a rule store is opened when it is asked for."""
    from workbench.memory.learnings.learningstore import LearningStore

    return project.curated_store(LearningStore, rules=project.rule_store)
