"""Conflicts among learnings: found in this process where there are few learnings, else by a child."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, Final

from screens.conflicts.pair import PairSide, PairType
from screens.conflicts.pair_source import PairSearch, PairSource
from screens.engine import AppEngine
from screens.headless import run_command
from screens.jobs import Job
from workbench.lists.conflicts import ConflictRow
from workbench.lists.filters import Facet, Filter
from workbench.lists.tables import ListQuery
from workbench.records.learnings import FeatureLearning
from workbench.records.rules import PATH_SCOPE

if TYPE_CHECKING:
    from workbench.curation.service import CurationService
    from workbench.entry.project import OpenedProject
    from workbench.memory.learnings.ledger import LearningLedger
    from workbench.memory.learnings.service import LearningService


TASK_SCOPE: Final = "task:"

FEW: Final = 200
"""Live learnings that are compared with each other in a thread; more are in a process of their own."""

_LIVE: Final = ListQuery(Filter((Facet("live", ("yes",)),)))


class LearningPairs(PairSource[FeatureLearning]):
    """Conflicts among live learnings."""

    of = PairType.LEARNING

    def search(self, engine: AppEngine, job: Job) -> PairSearch:
        """Compare all live learnings with each other."""
        from workbench.memory.learnings.review import conflict_rows

        lists = engine.lists()
        count = lists.learning_list.order(_LIVE).total
        if count > FEW:
            job.progress("Comparing learnings")
            run_command(job, engine.root, ["memory", "conflicts", "--json", "--limit", "1"])
            return PairSearch(count, few=False)
        with engine.learnings(job.progress) as curated:
            found = conflict_rows(curated.conflicts()) if count else []
        lists.conflicts.keep(self.of.value, found)
        return PairSearch(count)

    def held(
        self, engine: AppEngine, job: Job, operation: str = ""
    ) -> AbstractContextManager[LearningService]:
        """Hold the service that curates learnings."""
        return engine.learnings(job.progress)

    def seen(self, side: PairSide) -> FeatureLearning:
        """Return the learning of a side."""
        assert isinstance(side.seen, FeatureLearning)
        return side.seen

    def sides(self, lists: OpenedProject, numbers: Sequence[int]) -> Iterator[PairSide]:
        """Yield learnings as sides."""
        return (side_of(row.learning) for row in lists.learning_list.rows(numbers).values())

    def edits(self, curated: CurationService[Any, FeatureLearning]) -> list[ConflictRow]:
        """Return the concurrent edits of a team."""
        from workbench.memory.learnings.review import conflict_rows, edits_of

        return conflict_rows(edits_of(curated.store.ledger(), curated.store.names()))

    def conflict(
        self, ledger: LearningLedger, left: FeatureLearning, right: FeatureLearning
    ) -> ConflictRow | None:
        """Return the conflict of two live learnings, None if they are in none."""
        from workbench.memory.learnings.review import conflict_rows, conflicts_among

        found = conflicts_among(ledger, (left, right)) if left.live and right.live else ()
        return next(iter(conflict_rows(found)), None)


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
