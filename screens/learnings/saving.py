"""What the section asks of the engine to change learnings; every function runs in a job."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Event
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from screens.engine import BY, Engine
from screens.jobs import Job
from screens.learnings.form_fields import MINE, OWNER
from workbench.errors import UsageError
from workbench.records.learnings import FeatureLearning
from workbench.records.rules import Rule
from workbench.rules.fields import new_rule

if TYPE_CHECKING:
    from workbench.memory.learnings.desk import LearningDesk
    from workbench.memory.learnings.promoting import Promotion
    from workbench.memory.learnings.prompting import MemoryPrompt

_LOOK_EVERY: Final = 0.05  # seconds between two looks whether who waits was cancelled

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
class Overtaken:
    """A learning that somebody else changed while it was edited; `now` is None where it was taken out."""

    seen: FeatureLearning
    now: FeatureLearning | None
    changes: Mapping[str, Any]


@contextmanager
def held(engine: Engine, job: Job) -> Iterator[LearningDesk]:
    """Hold the desk; meanwhile the collector of garbage stays away, which with many learnings is felt."""
    from workbench.memory.learnings.desk import LearningDesk
    from workbench.memory.learnings.learningstore import store_of

    with engine.workspace(job.progress) as opened:
        yield LearningDesk(store_of(opened.workspace.rule_store()), BY)


def decide(engine: Engine, verb: Verb, seen: Sequence[FeatureLearning], job: Job) -> Decided:
    """Accept, reject, retire or restore learnings as one step, those that others changed since left alone.

    Raises: UsageError if none of them is as it was seen; StoreError.
    """
    from workbench.memory.learnings.guarding import LearningChanged, unchanged

    with held(engine, job) as desk:
        sound, skipped = list(seen), list[str]()
        if len(seen) > 1:
            ledger = desk.store.ledger()
            sound = []
            for one in seen:
                try:
                    unchanged(ledger, [one])
                    sound.append(one)
                except LearningChanged as changed:
                    skipped.append(changed.message)
        if not sound:
            raise UsageError(f"there is nothing to {verb}: {skipped[0]}", hint="Look at them again.")
        steps = {"accept": desk.accept, "reject": desk.reject, "retire": desk.retire}
        steps.get(verb, desk.restore)([one.id for one in sound], seen=sound)
    return Decided(tuple(one.id for one in sound), tuple(skipped))


def save_edit(
    engine: Engine, seen: FeatureLearning, changes: Mapping[str, Any], job: Job
) -> FeatureLearning | Overtaken:
    """Change fields of a learning as it was seen, or say what others did to it. Raises: WorkbenchError."""
    from workbench.memory.learnings.guarding import LearningChanged

    given = dict(changes)
    if "reason" in given:
        given["reason_text"] = given.pop("reason")
    try:
        with held(engine, job) as desk:
            return desk.edit(seen.id, seen=seen, **given)
    except LearningChanged as error:
        return Overtaken(seen, error.now, changes)


def save_new(engine: Engine, values: Mapping[str, Any], job: Job) -> FeatureLearning:
    """Add a learning that a person words. Raises: WorkbenchError."""
    given = {name: value for name, value in values.items() if name not in (OWNER, "text")}
    personal = values[OWNER] == MINE
    with held(engine, job) as desk:
        return desk.add(values["text"], personal=personal, **given)


def promote(engine: Engine, seen: FeatureLearning, fields: Mapping[str, Any], job: Job) -> Promotion:
    """Make a rule of a learning through the curator of rules. Raises: WorkbenchError."""
    with held(engine, job) as desk:
        return desk.promote(seen.id, seen=seen, **fields)


def save_rule(engine: Engine, fields: Mapping[str, Any], job: Job) -> Rule:
    """Add a rule to the project. Raises: WorkbenchError."""
    given = dict(fields)
    reason = given.pop("reason")
    with engine.rules("rules-edit", job.progress) as work:
        return work.curator.add(new_rule(given, work.store.project_id), reason=reason)


def prune(engine: Engine, job: Job) -> tuple[FeatureLearning, ...]:
    """Take out what may go by itself, as one step. Raises: WorkbenchError."""
    with held(engine, job) as desk:
        return desk.prune()


def walk(engine: Engine, back: bool, idle: Event, job: Job) -> str:
    """Undo or redo the last step, after those on their way; return its title. Raises: WorkbenchError."""
    while not idle.wait(_LOOK_EVERY):
        job.check()
    with held(engine, job) as desk:
        return desk.undo() if back else desk.redo()


def preview(engine: Engine, feature: str, task: str, budget: int, job: Job) -> MemoryPrompt:
    """Return what a prompt would be told; nothing is noted as given. Raises: WorkbenchError."""
    from workbench.memory.learnings.prompting import memory_prompt

    with held(engine, job) as desk:
        store = desk.store
        return memory_prompt(
            store.ledger(), store.now(), store.count_tokens, feature=feature, task=task or None, budget=budget
        )


def note_given(engine: Engine, made: MemoryPrompt, job: Job) -> bool:
    """Note that a preview was taken into a prompt, so that it is never learned again. Raises: StoreError."""
    from workbench.memory.learnings.injected import note_injected

    texts = {one.id: one.text for one in made.given}
    with held(engine, job) as desk:
        return note_injected(desk.store, texts, surface="memory-prompt")
