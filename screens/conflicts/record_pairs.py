"""Conflicts among rules, learnings and segments: found in this process where there are few, else by a child.

A search among thousands computes for many seconds, which would make the screen stutter, so that it runs as
`workbench rules conflicts list`. What happens afterwards is looked up in the journals alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, Final

from screens.conflicts.pair import PairSide, PairType
from screens.conflicts.pair_source import PairSearch, PairSource, walkable_at
from screens.engine import BY, AppEngine
from screens.headless import run_command
from screens.jobs import Job
from workbench.lists.conflicts import ConflictRow
from workbench.lists.filters import Facet, Filter
from workbench.lists.tables import ListQuery
from workbench.records.learnings import FeatureLearning
from workbench.records.rules import PATH_SCOPE, Rule
from workbench.records.segments import ContextSegment
from workbench.rules.curation.curator import Curator
from workbench.rules.descriptions import origin
from workbench.text.counts import plural

if TYPE_CHECKING:
    from workbench.curation.service import CurationService
    from workbench.entry.project import OpenedProject
    from workbench.memory.learnings.ledger import LearningLedger
    from workbench.memory.learnings.service import LearningService
    from workbench.rules.curation.ledger import RuleLedger
    from workbench.stash.service import StashService
    from workbench.stash.stashstore import StashLedger


SMALL: Final = 400
"""Rules up to which conflicts are searched in this process, in a fraction of a second."""


class RulePairs(PairSource[Rule]):
    """The rules in force.

    With few of them every question syncs the rules with their files first. With very many that takes seconds,
    so that only a search does it, and the journals answer all else.
    """

    of = PairType.RULE

    def __init__(self) -> None:
        self._many = False

    def search(self, engine: AppEngine, job: Job) -> PairSearch:
        """Search among the rules in force, synced with their files."""
        from workbench.entry.services.conflicts import rule_queue
        from workbench.rules.conflicts.queue import conflict_rows

        with engine.rules("conflicts", job.progress) as rules:
            self._many = len(rules.book.rules) > SMALL
            if not self._many:
                queue, known = rule_queue(rules.opened, rules.book, progress=job.progress)
                engine.lists().conflicts.keep(self.of.value, conflict_rows(queue.open, known))
                count = sum(rule.enabled for rule in rules.book.rules)
                return PairSearch(count, notes=queue.notes)
        # With an order the command has the tables say what it found.
        command = ["rules", "conflicts", "list", "--sort", "surest", "--limit", "1", "--json"]
        answer = run_command(job, engine.root, command).json()
        return PairSearch(answer["rule_count"], few=False, notes=tuple(answer["notes"]))

    @contextmanager
    def hold_service(self, engine: AppEngine, job: Job, operation: str = "") -> Iterator[Curator]:
        """Hold the service that curates rules."""
        if self._many or not operation:
            with engine.workspace(job.progress) as opened:
                yield Curator(opened.workspace.rule_store(), BY, opened.workspace.rule_files)
        else:
            with engine.rules(operation, job.progress) as rules:
                yield rules.curator

    def record_of(self, side: PairSide) -> Rule:
        """Return the rule of a side."""
        assert isinstance(side.seen, Rule)
        return side.seen

    def outdated_files(self, curated: CurationService[Any, Rule], records: Sequence[Rule]) -> tuple[str, ...]:
        """Return the rule files that are out of date after a step."""
        from workbench.rules.files.drift import files_behind

        assert isinstance(curated, Curator)
        assert curated.rule_files is not None
        return files_behind(curated.store, curated.rule_files, records)

    def sides(self, lists: OpenedProject, numbers: Sequence[int]) -> Iterator[PairSide]:
        """Yield rules as sides."""
        return map(rule_side, lists.rule_list.rows(numbers).values())

    def edits(self, curated: CurationService[Any, Rule]) -> list[ConflictRow]:
        """Return the concurrent edits of a team."""
        from workbench.rules.conflicts.queue import Queue, conflict_rows, with_edits

        ledger = curated.store.ledger()
        queue, known = with_edits(Queue((), ()), {}, ledger, curated.store.names())
        return conflict_rows(queue.open, known)

    def conflict(self, ledger: RuleLedger, left: Rule, right: Rule) -> ConflictRow | None:
        """Return the conflict of two rules in force, None if they are in none."""
        from workbench.rules.conflicts.detection import judge_pair
        from workbench.rules.conflicts.queue import conflict_rows
        from workbench.rules.conflicts.readings import overlap, read_rule

        rules = ledger.with_places((left.id, right.id))
        if not (left.enabled and right.enabled and len(rules) == 2 and overlap(left, right)):
            return None
        found = judge_pair(read_rule(rules[left.id]), read_rule(rules[right.id]))
        return None if found is None else conflict_rows([found], rules)[0]


def rule_side(rule: Rule) -> PairSide:
    """Return a rule as a side of a pair."""
    where = rule.provenance
    return PairSide(
        rule.id,
        rule.rule,
        origin(rule),
        rule,
        file="" if where is None else where.file,
        lines=(0, 0) if where is None else (where.line, where.end_line),
        facts=tuple(_rule_facts(rule)),
        scope=rule.scope,
        scopes=tuple(dict.fromkeys(_rule_scopes(rule))),
    )


def _rule_facts(rule: Rule) -> Iterator[tuple[str, str]]:
    where = rule.provenance
    yield "authority", str(rule.authority)
    yield "priority", str(rule.priority)
    yield "scope", ", ".join(rule.scope) or "everywhere"
    if where is not None:
        yield "section", " > ".join(where.section) or "none"
        yield "read", f"{where.activation}{' ' if where.globs else ''}{', '.join(where.globs)}"
    else:
        yield "source", rule.source
    yield "tools", ", ".join(rule.tool_targets) or "all"
    yield "owner", "you, in all projects" if rule.project_id is None else "this project"
    last = f", last {rule.last_used[:10]}" if rule.last_used else ""
    yield "used", f"{plural(rule.usage_count, 'time')}{last}" if rule.usage_count else "never"
    yield "since", rule.created_at[:10] or "unknown"
    yield "changed", rule.updated_at[:10] or "never"


def _rule_scopes(rule: Rule) -> Iterator[str]:
    """Yield what a rule could be narrowed to: its file's globs, the directory of its file."""
    yield from rule.scope
    where = rule.provenance
    if where is None or where.home:
        return
    yield from (f"{PATH_SCOPE}{glob}" for glob in where.globs)
    directory = PurePosixPath(where.file).parent.as_posix()
    if directory != "." and not directory.startswith("."):
        yield f"{PATH_SCOPE}{directory}/**"


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
        changed = lists.conflicts.keep(self.of.value, found)
        return PairSearch(count, changed=changed)

    def hold_service(
        self, engine: AppEngine, job: Job, operation: str = ""
    ) -> AbstractContextManager[LearningService]:
        """Hold the service that curates learnings."""
        return engine.learnings(job.progress)

    def record_of(self, side: PairSide) -> FeatureLearning:
        """Return the learning of a side."""
        assert isinstance(side.seen, FeatureLearning)
        return side.seen

    def sides(self, lists: OpenedProject, numbers: Sequence[int]) -> Iterator[PairSide]:
        """Yield learnings as sides."""
        return (learning_side(row.learning) for row in lists.learning_list.rows(numbers).values())

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


def learning_side(one: FeatureLearning) -> PairSide:
    """Return a learning as a side of a pair."""
    from workbench.memory.learnings.review import provenance

    return PairSide(
        one.id,
        one.text,
        provenance(one),
        one,
        file=one.files[0] if one.files else "",
        facts=tuple(_learning_facts(one)),
        scope=one.scope,
        scopes=tuple(dict.fromkeys(_learning_scopes(one))),
    )


def _learning_facts(one: FeatureLearning) -> Iterator[tuple[str, str]]:
    yield "state", "reviewed" if one.reviewed else "unreviewed"
    yield "confidence", f"{one.confidence:.2f}"
    yield "kind", str(one.kind)
    yield "holds", f"task {one.task_id}" if one.task_id else ", ".join(one.scope) or "for the whole feature"
    yield "found", f"{one.hit_count:,} times" if one.hit_count != 1 else "once"
    yield "session", one.session_id or "unknown"
    yield "files", ", ".join(one.files) or "none"
    yield "since", one.timestamp[:10] or "unknown"
    yield "reason", one.reason


def _learning_scopes(one: FeatureLearning) -> Iterator[str]:
    """Yield what a learning could be narrowed to: its task, the directories and files it was seen in."""
    if one.task_id:
        yield f"{TASK_SCOPE}{one.task_id}"
    yield from (f"{PATH_SCOPE}{glob}" for glob in one.scope)
    for file in one.files:
        directory = PurePosixPath(file).parent.as_posix()
        if directory != ".":
            yield f"{PATH_SCOPE}{directory}/**"
        yield f"{PATH_SCOPE}{file}"


class SegmentPairs(PairSource[ContextSegment]):
    """Versions of segments that machines of a team wrote apart: the journals say which, without a search."""

    of = PairType.SEGMENT

    def search(self, engine: AppEngine, job: Job) -> PairSearch:
        """Have the tables say what the journals say."""
        self.refresh(engine)
        return PairSearch()

    def refresh(self, engine: AppEngine) -> None:
        """Have the tables say which versions wait; the project of lists is held up by no other question."""
        from workbench.entry.services.stash import stash_service

        lists = engine.lists()
        lists.conflicts.keep(self.of.value, self.edits(stash_service(lists, BY)))

    def hold_service(
        self, engine: AppEngine, job: Job, operation: str = ""
    ) -> AbstractContextManager[StashService]:
        """Hold the service that keeps the stash."""
        return engine.stash(job.progress)

    def record_of(self, side: PairSide) -> ContextSegment:
        """Return the segment of a side."""
        assert isinstance(side.seen, ContextSegment)
        return side.seen

    def sides(self, lists: OpenedProject, numbers: Sequence[int]) -> Iterator[PairSide]:
        """Yield segments as sides; what is shown of a version is its row's."""
        rows = lists.segment_list.rows(numbers).values()
        return (PairSide(row.segment.id, row.segment.text, row.segment.source, row.segment) for row in rows)

    def edits(self, curated: CurationService[Any, ContextSegment]) -> list[ConflictRow]:
        """Return what was decided apart and not settled."""
        from workbench.stash.concurrency import conflict_rows
        from workbench.stash.service import StashService

        assert isinstance(curated, StashService)
        return conflict_rows(curated.conflicts())

    def conflict(
        self, ledger: StashLedger, left: ContextSegment, right: ContextSegment
    ) -> ConflictRow | None:
        """Return None: two segments are in no conflict."""
        return None

    def walkable(self, engine: AppEngine, job: Job, *, back: bool) -> str:
        """Return when a conflict was settled or opened again by the step that `walk` is about.

        What else is done to the stash, by agents most of all, is undone in its own section.
        """
        with self.hold_service(engine, job) as curated:
            return curated.store.reader.read(partial(_find_settlement, back=back))


def _find_settlement(ledger: StashLedger, *, back: bool) -> str:
    stack = ledger.done if back else ledger.undone
    settles = bool(stack) and bool(ledger.steps[stack[-1]].resolved or ledger.steps[stack[-1]].reopened)
    return walkable_at(ledger.steps, ledger.done, ledger.undone, back=back) if settles else ""
