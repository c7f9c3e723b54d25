"""What the screen asks of the engine about learnings: to read, compare and change them. Called in jobs only.

Comparing thousands of learnings with each other takes seconds and is done by a process of its own; what
waits for other reasons is known at once, so the queue is there from the beginning and pairs come to it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from threading import Event
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from screens.curation.changes import Overtaken, Saved
from screens.curation.steps import wait_for
from screens.engine import AppEngine
from screens.headless import run_command
from screens.jobs import Job
from screens.learnings.learning_form import MINE, OWNER
from workbench.errors import ProcessError, UsageError
from workbench.lists.learnings import LearningRow
from workbench.records.conflicts import Action, Evidence
from workbench.records.learnings import FeatureLearning
from workbench.records.rules import Rule
from workbench.rules.fields import new_rule

if TYPE_CHECKING:
    from workbench.curation.records import RecordChange
    from workbench.entry.project import OpenedProject
    from workbench.memory.learnings.learningstore import LearningStore
    from workbench.memory.learnings.ledger import LearningLedger, Note
    from workbench.memory.learnings.promotion import Promotion
    from workbench.memory.learnings.prompt import MemoryPrompt
    from workbench.memory.learnings.review import ConflictFound, ReviewItem


FEW: Final = 200
"""Live learnings that are compared with each other in a thread; more are in a process of their own."""

_MOST: Final = "1000000"
_PIECE: Final = 256  # pairs read between two looks whether to go on


@dataclass(frozen=True, slots=True)
class KnownLearnings:
    """All learnings: by id, what waits by id and in order, the time they were read at.

    `collisions` are the pairs known so far, `whole` says whether all were compared.
    """

    learnings: Mapping[str, FeatureLearning] = field(default_factory=dict)
    waiting: Mapping[str, ReviewItem] = field(default_factory=dict)
    changes: Mapping[str, tuple[RecordChange[FeatureLearning], ...]] = field(default_factory=dict)
    hits: Mapping[str, tuple[Note, ...]] = field(default_factory=dict)
    against: Mapping[str, tuple[Note, ...]] = field(default_factory=dict)
    collisions: tuple[ConflictFound, ...] = ()
    whole: bool = False
    live: int = 0
    now: float = 0.0
    skipped: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LearningStory:
    """One learning with everything known of it; `warnings` name what it reads like."""

    row: LearningRow
    item: ReviewItem | None
    warnings: tuple[str, ...]
    hits: tuple[Note, ...]
    against: tuple[Note, ...]
    changes: tuple[RecordChange[FeatureLearning], ...]

    @property
    def learning(self) -> FeatureLearning:
        """The learning."""
        return self.row.learning


class LearningLibrary:
    """Reads learnings; each line of the journals once."""

    def __init__(self) -> None:
        self._store: LearningStore | None = None

    def read(self, engine: AppEngine, before: KnownLearnings, job: Job) -> KnownLearnings:
        """Return what there is, with those collisions of `before` that still are some.

        Raises: WorkbenchError.
        """
        return self._known(engine, before.collisions, before.whole, job)

    def compare(self, engine: AppEngine, before: KnownLearnings, job: Job) -> KnownLearnings:
        """Compare all live learnings with each other, and have the list know. Raises: WorkbenchError."""
        from workbench.memory.learnings.review import conflict_rows, conflicts_of

        if before.live > FEW:
            job.progress("Comparing learnings")
            answer = run_command(job, engine.root, ["memory", "conflicts", "--json", "--limit", _MOST])
            with engine.workspace(job.progress) as opened:
                found = tuple(collisions_of(answer.output, self._ledger(opened), job))
        else:
            with engine.workspace(job.progress) as opened:
                ledger = self._ledger(opened)
            found = conflicts_of(ledger)
        engine.lists().conflicts.keep("learning", conflict_rows(found))
        return self._known(engine, found, True, job)

    def _known(
        self, engine: AppEngine, found: Iterable[ConflictFound], whole: bool, job: Job
    ) -> KnownLearnings:
        from workbench.memory.learnings.kinds import has_memory
        from workbench.memory.learnings.review import queue_of

        # In here the collector of garbage stays away: with many learnings it would hold up everything.
        with engine.workspace(job.progress) as opened:
            now = opened.clock.now()
            if not has_memory(opened.journal) and not has_memory(opened.home_journal):
                return KnownLearnings(whole=True, now=now)
            ledger = self._ledger(opened)
            collisions = tuple(still(found, ledger))
            job.check()
            queue = queue_of(ledger, now, collisions)
            learnings = {one.id: one for one in ledger.all()}
            job.check()
            changes: dict[str, list[RecordChange[FeatureLearning]]] = {}
            for change in ledger.changes:
                changes.setdefault(change.record_id, []).append(change)
            return KnownLearnings(
                learnings,
                {item.learning.id: item for item in queue},
                {identifier: tuple(mine) for identifier, mine in changes.items()},
                {identifier: tuple(mine) for identifier, mine in ledger.hits.items()},
                {identifier: tuple(mine) for identifier, mine in ledger.contradictions.items()},
                collisions,
                whole,
                sum(one.live for one in learnings.values()),
                now,
                tuple(ledger.skipped),
            )

    def _ledger(self, place: OpenedProject) -> LearningLedger:
        """Return the fold; the caller holds the workspace, so that one thread reads at a time."""
        from workbench.entry.services.memory import learning_store

        if self._store is None:
            self._store = learning_store(place)
        return self._store.ledger()


def story(known: KnownLearnings, row: LearningRow, job: Job) -> LearningStory:
    """Return what is known of a learning."""
    from workbench.text.injection import scan

    identifier, found = row.learning.id, scan(row.learning.text)
    return LearningStory(
        row,
        known.waiting.get(identifier),
        found.patterns if found.flagged else (),
        known.hits.get(identifier, ()),
        known.against.get(identifier, ()),
        known.changes.get(identifier, ()),
    )


def still(found: Iterable[ConflictFound], ledger: LearningLedger) -> Iterator[ConflictFound]:
    """Yield the pairs that hold: both live, neither reworded since, and settled by nobody."""
    for pair in found:
        left, right = ledger.find(pair.left.id), ledger.find(pair.right.id)
        if pair.id in ledger.settled or left is None or right is None or not (left.live and right.live):
            continue
        if (left.text, right.text) == (pair.left.text, pair.right.text):
            yield replace(pair, left=left, right=right)


def collisions_of(text: str, ledger: LearningLedger, job: Job) -> Iterator[ConflictFound]:
    """Yield the pairs of `workbench memory conflicts --json`, one at a time so that nothing waits long.

    Pairs of learnings that are gone meanwhile are left out. Raises: ProcessError for a malformed answer.
    """
    from workbench.comparison.verdicts import TextVerdict
    from workbench.memory.learnings.review import ConflictFound

    try:
        for number, one in enumerate(documents(text, "conflicts")):
            if number % _PIECE == 0:
                job.check()
            left, right = ledger.find(one["left"]["id"]), ledger.find(one["right"]["id"])
            if left is not None and right is not None:
                evidence = tuple(
                    Evidence(item["test"], item["score"], item["detail"]) for item in one["evidence"]
                )
                verdict, action = TextVerdict(one["verdict"]), Action(one["suggestion"])
                yield ConflictFound(
                    one["id"], verdict, left, right, one["score"], evidence, action, one["why"]
                )
    except (ValueError, KeyError, TypeError) as error:
        raise ProcessError(
            f"the answer of `memory conflicts` cannot be read: {error}", hint="Press f5 to ask again."
        ) from error


def documents(text: str, name: str) -> Iterator[Any]:
    """Yield the entries of the list `name` of a JSON object, each parsed alone. Raises: ValueError."""
    decoder = json.JSONDecoder()
    at = text.index(f'"{name}":')
    at = text.index("[", at) + 1
    while True:
        while text[at] in " \t\r\n,":
            at += 1
        if text[at] == "]":
            return
        document, at = decoder.raw_decode(text, at)
        yield document


Verb: TypeAlias = Literal["accept", "reject", "retire", "restore"]

DONE: Final[Mapping[Verb, str]] = {
    "accept": "reviewed",
    "reject": "rejected",
    "retire": "retired",
    "restore": "restored",
}


@dataclass(frozen=True, slots=True)
class Decided:
    """Ids of the learnings that a step changed, and why others were left alone."""

    done: tuple[str, ...]
    skipped: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LearningWriter:
    """Changes learnings, each call one step that `u` takes back. Raises: WorkbenchError."""

    engine: AppEngine

    def save(
        self, seen: FeatureLearning, changes: Mapping[str, Any], job: Job
    ) -> Saved[FeatureLearning] | Overtaken[FeatureLearning]:
        """Change fields of a learning as it was seen, or say what others did to it."""
        from workbench.curation.conflicts import RecordChanged

        try:
            with self.engine.learnings(job.progress) as curated:
                return Saved((curated.edit(seen.id, seen=seen, **_edit_fields(changes)),))
        except RecordChanged as error:
            return Overtaken(seen, error.now, changes)

    def add_again(self, found: Overtaken[FeatureLearning], job: Job) -> Saved[FeatureLearning]:
        """Restore a learning that was taken out while it was edited, then save what was written."""
        with self.engine.learnings(job.progress) as curated:
            curated.restore([found.seen.id])
            return Saved((curated.edit(found.seen.id, **_edit_fields(found.changes)),))

    def decide(self, verb: Verb, seen: Sequence[FeatureLearning], job: Job) -> Decided:
        """Accept, reject, retire or restore learnings as one step; what others changed since is left alone.

        Raises: UsageError if none of them is as it was seen; StoreError.
        """
        from workbench.curation.conflicts import RecordChanged, check_unchanged

        with self.engine.learnings(job.progress) as curated:
            sound, skipped = list(seen), list[str]()
            if len(seen) > 1:
                ledger = curated.store.ledger()
                sound = []
                for one in seen:
                    try:
                        check_unchanged(ledger, [one])
                        sound.append(one)
                    except RecordChanged as changed:
                        skipped.append(changed.message)
            if not sound:
                raise UsageError(f"there is nothing to {verb}: {skipped[0]}", hint="Look at them again.")
            steps = {"accept": curated.accept, "reject": curated.reject, "retire": curated.retire}
            steps.get(verb, curated.restore)([one.id for one in sound], seen=sound)
        return Decided(tuple(one.id for one in sound), tuple(skipped))

    def add(self, values: Mapping[str, Any], job: Job) -> FeatureLearning:
        """Add a learning that a person words."""
        given = {name: value for name, value in values.items() if name not in (OWNER, "text")}
        with self.engine.learnings(job.progress) as curated:
            return curated.add(values["text"], personal=values[OWNER] == MINE, **given)

    def promote(self, seen: FeatureLearning, fields: Mapping[str, Any], job: Job) -> Promotion:
        """Make a rule of a learning."""
        with self.engine.learnings(job.progress) as curated:
            return curated.promote(seen.id, seen=seen, **fields)

    def add_rule(self, fields: Mapping[str, Any], job: Job) -> Rule:
        """Add a rule to the project."""
        given = dict(fields)
        reason = given.pop("reason")
        with self.engine.rules("rules-edit", job.progress) as work:
            return work.curator.add(new_rule(given, work.store.project_id), reason=reason)

    def prune(self, job: Job) -> tuple[FeatureLearning, ...]:
        """Take out what may be pruned automatically, as one step."""
        with self.engine.learnings(job.progress) as curated:
            return curated.prune()

    def undo(self, idle: Event, job: Job) -> str:
        """Undo the last step, after those on their way; return its title."""
        wait_for(idle, job)
        with self.engine.learnings(job.progress) as curated:
            return curated.undo().title

    def redo(self, idle: Event, job: Job) -> str:
        """Redo the last undone step, after those on their way; return its title."""
        wait_for(idle, job)
        with self.engine.learnings(job.progress) as curated:
            return curated.redo().title

    def preview(self, feature: str, task: str, budget: int, job: Job) -> MemoryPrompt:
        """Return the learnings of a prompt; nothing is noted as given."""
        from workbench.memory.learnings.prompt import memory_prompt

        with self.engine.learnings(job.progress) as curated:
            store = curated.store
            ledger, now, count = store.ledger(), store.now(), store.count_tokens
            return memory_prompt(ledger, now, count, feature=feature, task=task or None, budget=budget)

    def note_given(self, made: MemoryPrompt, job: Job) -> bool:
        """Note that a preview was taken into a prompt, so that it is never learned again."""
        from workbench.memory.learnings.echoes import note_injected

        texts = {one.id: one.text for one in made.given}
        with self.engine.learnings(job.progress) as curated:
            return note_injected(curated.store, texts, surface="memory-prompt")


def _edit_fields(changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return changes as an edit takes them, whose own `reason` says why it is made."""
    return {"reason_text" if name == "reason" else name: value for name, value in changes.items()}
