"""What an iteration adds to a feature's learnings: lessons compared with what is known, little by default.

The order is what keeps junk and loops out. A lesson that echoes what the workbench injected is dropped, and
so is one that repeats a rule or was rejected before. One that repeats a learning raises its hits, unless that
learning was given to the iteration, which then merely followed it; one that contradicts a learning waits in
the review queue beside it. What is left starts in quarantine: unreviewed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Final

from workbench.curation.records import EntryDraft
from workbench.curation.store import preview, record
from workbench.memory.learnings.commands import command_lessons, is_not_callable, tried_commands
from workbench.memory.learnings.corrections.extract import correction_lessons
from workbench.memory.learnings.corrections.tally import template_of
from workbench.memory.learnings.echoes import ECHO, InjectionReader, Injections, echo_share, read_injections
from workbench.memory.learnings.learningstore import LOCK, LearningStore
from workbench.memory.learnings.ledger import AUTOMATIC, LearningLedger
from workbench.memory.learnings.lessons import (
    CUT_OUT,
    Lesson,
    cut_note,
    decision_lessons,
    error_signature,
    explanation_lessons,
    plain_line,
    recurring_lessons,
    sanitize_learning,
    sanitize_learning_text,
    should_exclude_from_auto_accumulation,
    too_vague,
)
from workbench.memory.learnings.pairs import check_deduplication, comparable
from workbench.records.iterations import (
    ExtractionResult,
    IterationOutcome,
    IterationRecord,
    RawIterationOutput,
)
from workbench.records.learnings import (
    MAX_FILES,
    Correction,
    FeatureLearning,
    LearningConflict,
    LearningDuplicate,
    LearningKind,
    LearningState,
    Strength,
)
from workbench.text.sanitize import QUOTED_ORDER

INSTRUCTS: Final = "it would instruct whoever reads it"
TEMPLATE_ECHO: Final = 0.9
MOST: Final = 8
"""More lessons than these from one iteration are left out: the first ones are the surest kinds."""


@dataclass(frozen=True, slots=True)
class Accumulated:
    """What an iteration did to the learnings. `left_out` are (text, reason) of lessons that were dropped."""

    added: tuple[FeatureLearning, ...] = ()
    hits: tuple[str, ...] = ()
    contradicted: tuple[str, ...] = ()
    conflicts: tuple[FeatureLearning, ...] = ()
    left_out: tuple[tuple[str, str], ...] = ()


@dataclass(slots=True)
class _Outcome:
    added: list[FeatureLearning] = field(default_factory=list)
    hits: list[str] = field(default_factory=list)
    contradicted: list[str] = field(default_factory=list)
    conflicts: list[FeatureLearning] = field(default_factory=list)
    left_out: list[tuple[str, str]] = field(default_factory=list)
    drafts: list[EntryDraft] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Work:
    """An iteration against what is known, and what was injected until now."""

    store: LearningStore
    ledger: LearningLedger
    record: IterationRecord
    raw: RawIterationOutput
    injections: Injections
    rules: tuple[str, ...]
    by: str
    out: _Outcome

    def comparable_learnings(self, learning: FeatureLearning) -> Sequence[FeatureLearning]:
        """Return the live learnings that a new one is compared with."""
        return comparable(learning, self.ledger.live())

    def was_given(self, learning_id: str) -> bool:
        """Whether the iteration was, or may have been, given a learning."""
        return self.injections.before(learning_id, self.record.timestamp, self.raw.session)

    def write(self, *drafts: EntryDraft) -> None:
        """Keep drafts for the journal and let what follows know them."""
        self.out.drafts += drafts
        preview(self.store, drafts, by=self.by, ledger=self.ledger)


def accumulate(
    record_: IterationRecord,
    extraction: ExtractionResult,
    raw: RawIterationOutput,
    store: LearningStore,
    *,
    before: Sequence[IterationRecord] = (),
    rules: Iterable[str] = (),
    by: str = "ingest",
    injected: InjectionReader | None = None,
) -> Accumulated:
    """Take in what an iteration teaches, in one append; iterations taken in again add nothing.

    `before` are the feature's earlier iterations, oldest first, `rules` the texts of rules in force, which
    agents are given in other ways; `injected` reads what was injected. Runs after the
    iteration's fingerprint was taken (F28). Raises: StoreError.
    """
    lessons = list(lessons_of(record_, extraction, raw, before))
    with store.lock(LOCK):
        ledger = store.ledger()
        injections = read_injections(store.journal) if injected is None else injected.injections()
        face = AUTOMATIC + by
        texts = tuple(rules) if lessons else ()
        work = _Work(store, ledger, record_, raw, injections, texts, face, _Outcome())
        for lesson in lessons[:MOST]:
            _take(work, lesson)
        work.out.left_out += [(lesson.text, "more than an iteration teaches") for lesson in lessons[MOST:]]
        _judge_outcomes(work)
        record(store, work.out.drafts, by=face)
    out = work.out
    return Accumulated(
        tuple(out.added), tuple(out.hits), tuple(out.contradicted), tuple(out.conflicts), tuple(out.left_out)
    )


def lessons_of(
    record_: IterationRecord,
    extraction: ExtractionResult,
    raw: RawIterationOutput,
    before: Sequence[IterationRecord] = (),
) -> Iterator[Lesson]:
    """Yield what an iteration seems to teach, what tools answered first, then what was said."""
    yield from chain(
        command_lessons(raw),
        recurring_lessons(record_, before),
        correction_lessons(raw),
        explanation_lessons(raw, record_.outcome),
        decision_lessons(extraction.decisions),
    )


def _take(work: _Work, lesson: Lesson) -> None:
    sanitized = sanitize_learning(lesson.text)
    text = sanitized.text
    if lesson.kind is LearningKind.CORRECTION:
        if sanitized.removed:
            work.out.left_out.append((text, INSTRUCTS))
            return
        _hear(work, lesson, text)
        return
    if sanitized.removed:
        lesson = replace(lesson, evidence=cut_note(sanitized.removed))
    reason = _no_lesson(work, lesson, text)
    if reason:
        work.out.left_out.append((text, reason))
        return
    learning = _learning(work, lesson, text)
    same = _same_trigger(work, lesson)
    if same is not None:
        _again(work, same, learning)
        return
    others = work.comparable_learnings(learning)
    deduplication = check_deduplication(text, others)
    if isinstance(deduplication, LearningDuplicate):
        _again(work, others[deduplication.existing_index], learning)
        return
    if isinstance(deduplication, LearningConflict):
        other = others[deduplication.existing_index]
        learning = replace(learning, conflicts_with=(other.id,))
        if lesson.observed:
            _against(work, other, f"seen otherwise: {text}")
    _add(work, learning, lesson)


def _hear(work: _Work, lesson: Lesson, text: str) -> None:
    """Take what the user said of how things are done: learned where it holds for more than the moment."""
    from workbench.memory.learnings.corrections.report import draft_correction, match_correction

    reason = _no_telling(work, text)
    if reason:
        work.out.left_out.append((text, reason))
        return
    raw = work.raw
    quote = plain_line(lesson.evidence)
    said = Correction(
        at=raw.started_at or work.record.timestamp,
        key=text,
        text=text,
        quote=quote,
        session_id=raw.session,
        prompt=raw.place + 1,
        strength=lesson.strength,
        feature=work.record.feature,
        template=template_of(raw.prompt, quote),
    )
    learning = _learning(work, lesson, text)
    correction = match_correction(work.ledger, said, work.rules, work.comparable_learnings(learning))
    said, known = correction.said, correction.known
    if correction.rejected and known is None:
        work.out.left_out.append((text, "it was rejected before"))
        return
    if known is None and not (said.rule and not said.against):
        others = tuple(other.id for other in correction.others)
        why = correction.why or ("one way instead of another" if said.strength == Strength.CORRECTING else "")
        if why:
            _add(work, replace(learning, conflicts_with=others), lesson)
            made = (work.out.conflicts if others else work.out.added)[-1]
            said = replace(said, learning_id=made.id)
        else:
            work.out.left_out.append((text, "said once: it may be for now"))
    work.write(draft_correction(said))
    if said.rule and not said.against:
        work.out.left_out.append((text, "a rule says it"))
    elif known is not None:
        # Who was given it is of no matter here: the user had to say it again.
        _again(work, known, learning, given=False)


def _no_telling(work: _Work, text: str) -> str:
    if echo_share(text, work.injections.prints) >= ECHO:
        return "the workbench injected it itself"
    return INSTRUCTS if text.startswith(QUOTED_ORDER) else ""


def _no_lesson(work: _Work, lesson: Lesson, text: str) -> str:
    """Return why a lesson is dropped, or ''."""
    # What tools answered has words of its own only in the commands: nearly all of it must have been injected.
    if echo_share(text, work.injections.prints) >= (TEMPLATE_ECHO if lesson.observed else ECHO):
        return "the workbench injected it itself"
    if text.startswith(QUOTED_ORDER):
        return INSTRUCTS
    vague = "" if lesson.observed else too_vague(text)
    if vague:
        return vague
    if lesson.files and all(map(should_exclude_from_auto_accumulation, lesson.files)):
        return "it is about files of the tooling"
    folded = " ".join(text.split()).casefold()
    if any(" ".join(rule.split()).casefold() == folded for rule in work.rules):
        return "a rule says it"
    gone = [one for one in work.ledger.records.values() if one.state is LearningState.REJECTED]
    mine = _learning(work, lesson, text)
    if isinstance(check_deduplication(text, comparable(mine, gone)), LearningDuplicate):
        return "it was rejected before"
    return ""


def _learning(work: _Work, lesson: Lesson, text: str) -> FeatureLearning:
    task = work.record.task_id or None
    # A command or a convention holds for the feature; what was decided or broke holds for the task (F25).
    wide = lesson.kind in (LearningKind.COMMAND, LearningKind.CORRECTION)
    number, reason = work.record.iteration_number, sanitize_learning_text(lesson.reason)
    made = FeatureLearning.auto_extracted(text, number, None if wide else task, reason=reason)
    if lesson.evidence.startswith(CUT_OUT):
        made = replace(made, confidence=0.0)  # what is left is given to nobody until it is reviewed
    return replace(
        made,
        feature=work.record.feature,
        kind=lesson.kind,
        timestamp=work.record.timestamp,
        session_id=work.raw.session,
        files=lesson.files[:MAX_FILES],
        evidence=plain_line(lesson.evidence),
        trigger=plain_line(lesson.trigger),
        remedy=plain_line(lesson.remedy),
        project_id=work.store.project_id,
    )


def _same_trigger(work: _Work, lesson: Lesson) -> FeatureLearning | None:
    """Return the learning of the same failure and the same remedy."""
    trigger, remedy = plain_line(lesson.trigger), plain_line(lesson.remedy)
    if not trigger:
        return None
    found = [
        one
        for one in work.ledger.live()
        if (one.trigger, one.remedy, one.feature) == (trigger, remedy, work.record.feature)
    ]
    return found[0] if found else None


def _again(
    work: _Work, known: FeatureLearning, learning: FeatureLearning, *, given: bool | None = None
) -> None:
    """A learning was found out again: it counts unless the iteration was given it."""
    from workbench.memory.learnings.ledger import draft_hit

    if work.was_given(known.id) if given is None else given:
        work.out.left_out.append((learning.text, f"{known.id[:17]} had been given to it"))
        return
    if known.session_id and known.session_id == learning.session_id:
        work.out.left_out.append((learning.text, f"{known.id[:17]} is from the same session"))
        return
    iteration = work.record.iteration_number
    work.write(draft_hit(known, session_id=learning.session_id, iteration=iteration, why="found out again"))
    work.out.hits.append(known.id)


def _add(work: _Work, learning: FeatureLearning, lesson: Lesson) -> None:
    from workbench.curation.steps import draft_addition

    drafts = draft_addition(work.ledger, learning, reason=lesson.reason, now=work.store.moment())
    work.write(*drafts.entries)
    made = drafts.records[0]
    (work.out.conflicts if made.conflicts_with else work.out.added).append(made)


def _judge_outcomes(work: _Work) -> None:
    """Lower the confidence of learnings that the iteration's outcome speaks against."""
    concerned = [
        one
        for one in work.ledger.live()
        if one.feature == work.record.feature and one.trigger and one.session_id != work.raw.session
    ]
    asked = any(one.kind is LearningKind.COMMAND for one in concerned)
    runs = list(tried_commands(work.raw)) if asked else []
    failed = {run.line for run in runs if is_not_callable(run)}
    worked = {run.line for run in runs if not run.failed and not run.piped}
    errors = {error_signature(error.message) for error in work.record.errors}
    ended_badly = work.record.outcome is not IterationOutcome.SUCCESS
    for one in concerned:
        if one.kind is LearningKind.COMMAND:
            if one.remedy in failed and one.remedy not in worked:
                _against(work, one, f"`{one.remedy}` could not be called")
            elif one.trigger in worked:
                _against(work, one, f"`{one.trigger}` worked")
        elif one.trigger in errors and ended_badly and work.was_given(one.id):
            _against(work, one, "it was given to an iteration that failed on the same error")


def _against(work: _Work, learning: FeatureLearning, why: str) -> None:
    from workbench.memory.learnings.ledger import draft_contradiction

    if learning.id not in work.out.contradicted:
        note = draft_contradiction(
            learning,
            session_id=work.raw.session,
            iteration=work.record.iteration_number,
            why=plain_line(why)[:200],
        )
        work.write(note)
        work.out.contradicted.append(learning.id)
