"""Conflicts among learnings: duplicates and contradictions, found again from the journals each time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

from screens.conflicts.pair import PairSide, PairType, RecordPair
from screens.conflicts.pair_source import PairQuestion, PairSource
from screens.conflicts.queue import PairScan
from screens.engine import AppEngine
from screens.jobs import Job
from workbench.records.conflicts import Action, ConflictKind, Suggestion
from workbench.records.learnings import FeatureLearning
from workbench.records.rules import PATH_SCOPE

if TYPE_CHECKING:
    from workbench.memory.learnings.review import ConflictFound
    from workbench.memory.learnings.service import LearningService


TASK_SCOPE: Final = "task:"


class LearningPairs(PairSource[FeatureLearning]):
    """Conflicts among live learnings."""

    of = PairType.LEARNING

    def scan(self, engine: AppEngine, job: Job, asked: PairQuestion) -> PairScan:
        """Return the pairs of learnings that nobody settled."""
        from workbench.memory.learnings.kinds import has_memory

        with engine.workspace(job.progress) as opened:
            if not has_memory(opened.journal) and not has_memory(opened.home_journal):
                return PairScan()
        with engine.learnings(job.progress) as curated:
            job.progress("Learnings")
            ledger = curated.store.ledger()
            pairs = tuple(pair_of(found) for found in curated.conflicts())
        return self.compare(ledger, asked, pairs, len(ledger.live()))

    def held(
        self, engine: AppEngine, job: Job, operation: str = ""
    ) -> AbstractContextManager[LearningService]:
        """Hold the service that curates learnings."""
        return engine.learnings(job.progress)

    def seen(self, side: PairSide) -> FeatureLearning:
        """Return the learning of a side."""
        assert isinstance(side.seen, FeatureLearning)
        return side.seen


def pair_of(found: ConflictFound) -> RecordPair:
    """Return two conflicting learnings as a pair."""
    from workbench.comparison.verdicts import TextVerdict

    kind = ConflictKind.NEAR if found.verdict is TextVerdict.DUPLICATE else ConflictKind.CONTRADICTORY
    keep = found.right.id if found.suggestion is Action.SUPERSEDE else ""
    why = f"{found.why[:1].upper()}{found.why[1:]}."
    return RecordPair(
        found.id,
        PairType.LEARNING,
        kind,
        found.score,
        side_of(found.left),
        side_of(found.right),
        why,
        found.evidence,
        Suggestion(found.suggestion, why, keep, found.left.text if kind is ConflictKind.NEAR else ""),
    )


def side_of(one: FeatureLearning) -> PairSide:
    """Return a learning as a side of a pair."""
    from workbench.memory.learnings.review import provenance

    return PairSide(
        one.id,
        one.text,
        provenance(one),
        one,
        file=one.files[0] if one.files else "",
        facts=tuple(_facts(one)),
        scope=one.scope,
        scopes=tuple(dict.fromkeys(_scopes(one))),
        updated=max(one.timestamp, one.updated_at, one.reviewed_at),
    )


def _facts(one: FeatureLearning) -> Iterator[tuple[str, str]]:
    yield "state", "reviewed" if one.reviewed else "unreviewed"
    yield "confidence", f"{one.confidence:.2f}"
    yield "kind", str(one.kind)
    yield "holds", f"task {one.task_id}" if one.task_id else ", ".join(one.scope) or "for the whole feature"
    yield "found", f"{one.hit_count:,} times" if one.hit_count != 1 else "once"
    yield "session", one.session_id or "unknown"
    yield "files", ", ".join(one.files) or "none"
    yield "since", one.timestamp[:10] or "unknown"
    yield "reason", one.reason


def _scopes(one: FeatureLearning) -> Iterator[str]:
    """Yield what a learning could be narrowed to: its task, the directories and files it was seen in."""
    if one.task_id:
        yield f"{TASK_SCOPE}{one.task_id}"
    yield from (f"{PATH_SCOPE}{glob}" for glob in one.scope)
    for file in one.files:
        directory = PurePosixPath(file).parent.as_posix()
        if directory != ".":
            yield f"{PATH_SCOPE}{directory}/**"
        yield f"{PATH_SCOPE}{file}"
