"""What the screen asks of the engine about learnings: counts, one of them, changes. Called in jobs only."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Event
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from screens.curation.changes import Overtaken, Saved
from screens.curation.steps import wait_for
from screens.curation.walking import last_step_words, walk_back
from screens.engine import AppEngine
from screens.jobs import Job
from screens.learnings.learning_form import MINE, OWNER
from workbench.errors import UsageError
from workbench.lists.filters import Facet, Filter
from workbench.lists.learnings import LearningRow
from workbench.lists.tables import ListQuery, ValueCounts
from workbench.records.learnings import FeatureLearning, LearningKind
from workbench.records.rules import Rule
from workbench.rules.fields import new_rule

if TYPE_CHECKING:
    from workbench.entry.services.learnings import LearningPast
    from workbench.memory.learnings.promotion import Promotion
    from workbench.memory.learnings.prompt import MemoryPrompt


_LIVE: Final = frozenset({"unreviewed", "reviewed"})
_WAITS: Final = Facet("waits", ("yes",))


@dataclass(frozen=True, slots=True)
class LearningCounts:
    """How many learnings there are, live and gone, and how many wait, by why.

    `again` are the numbers of those that were asked about and still wait. `unreadable` entries of journals
    cannot be read, `reason` says why one cannot. `corrections` are those that came of what somebody said.
    """

    live: int = 0
    gone: int = 0
    whys: Mapping[str, int] = field(default_factory=dict)
    again: frozenset[int] = frozenset()
    unreadable: int = 0
    reason: str = ""
    corrections: int = 0

    @property
    def total(self) -> int:
        """How many there are."""
        return self.live + self.gone

    @property
    def waiting(self) -> int:
        """How many wait."""
        return sum(self.whys.values())


def count_learnings(engine: AppEngine, decided: frozenset[str], job: Job) -> LearningCounts:
    """Count learnings, and look which of those decided in this sitting still wait. Raises: WorkbenchError."""
    lists = engine.lists()
    table = lists.learning_list
    asked = ListQuery(Filter((_WAITS, Facet("id", tuple(sorted(decided))))))

    def read() -> tuple[ValueCounts, Sequence[int], tuple[int, str]]:
        counted = table.facets(ListQuery(), ("state", "why", "kind"))
        job.check()
        waiting: Sequence[int] = table.order(asked).numbers.tolist() if decided else ()
        return counted, waiting, lists.unreadable_learnings()

    counted, again, unreadable = table.snapshot(read)
    counts = counted.fields
    states = {one.value: one.count for one in counts["state"]}
    live = sum(count for state, count in states.items() if state in _LIVE)
    gone = sum(states.values()) - live
    whys = {one.value: one.count for one in counts["why"]}
    said = sum(one.count for one in counts["kind"] if one.value == LearningKind.CORRECTION)
    return LearningCounts(live, gone, whys, frozenset(again), *unreadable, corrections=said)


@dataclass(frozen=True, slots=True)
class LearningStory:
    """One learning with everything known of it; `warnings` name what it reads like."""

    row: LearningRow
    past: LearningPast
    warnings: tuple[str, ...] = ()

    @property
    def learning(self) -> FeatureLearning:
        """The learning."""
        return self.row.learning


def begin_story(row: LearningRow) -> LearningStory:
    """Return what is known of a learning before anything is read."""
    from workbench.entry.services.learnings import LearningPast

    return LearningStory(row, LearningPast(None))


def story(engine: AppEngine, row: LearningRow, job: Job) -> LearningStory:
    """Return what is known of a learning. Raises: WorkbenchError."""
    from workbench.entry.services.learnings import learning_past
    from workbench.text.injection import scan

    found = scan(row.learning.text)
    past = learning_past(engine.lists(), row.learning.id)
    return LearningStory(row, past, found.patterns if found.flagged else ())


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
    """Ids of the learnings that a step changed, why others were left alone, whether one is in a conflict."""

    done: tuple[str, ...]
    skipped: tuple[str, ...] = ()
    conflicting: bool = False


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
        done = tuple(one.id for one in sound)
        pairs = ListQuery(Filter((Facet("of", ("learning",)), Facet("side", done))))
        conflicting = self.engine.lists().conflicts.list_waiting().order(pairs).total > 0
        return Decided(done, tuple(skipped), conflicting)

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

    def undo(self, idle: Event, began: str, job: Job, step: str = "") -> str:
        """Undo the last step, or one, after those on their way; return it in words. Raises: as walk_back."""
        wait_for(idle, job)
        with self.engine.learnings(job.progress) as curated:
            return walk_back(curated, step, began=began)

    def redo(self, idle: Event, job: Job) -> str:
        """Redo the last undone step, after those on their way; return it in words."""
        wait_for(idle, job)
        with self.engine.learnings(job.progress) as curated:
            return last_step_words(curated, curated.redo().summary)

    def preview(self, feature: str, task: str, budget: int, job: Job) -> MemoryPrompt:
        """Return the learnings of a prompt; nothing is noted as given."""
        from workbench.memory.learnings.keeping import load_kept
        from workbench.memory.learnings.prompt import memory_prompt

        with self.engine.learnings(job.progress) as curated:
            store = curated.store
            known, now, count = load_kept(store).known, store.now(), store.count_tokens
            return memory_prompt(known, now, count, feature=feature, task=task or None, budget=budget)

    def note_given(self, made: MemoryPrompt, job: Job) -> bool:
        """Note that a preview was taken into a prompt, so that it is never learned again."""
        from workbench.memory.learnings.echoes import note_injected

        texts = {one.id: one.text for one in made.given}
        with self.engine.learnings(job.progress) as curated:
            return note_injected(curated.store, texts, surface="memory-prompt")


def _edit_fields(changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return changes as an edit takes them, whose own `reason` says why it is made."""
    return {"reason_text" if name == "reason" else name: value for name, value in changes.items()}
