"""Conflicts among rules: found in this process where there are few rules, else by a child.

A search among thousands of rules computes for many seconds, which would make the screen stutter, so that it
runs as `workbench rules conflicts list --json`. What happens afterwards is looked up in the journals alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

from screens.conflicts.pair import PairChoice, PairSide, PairType, RecordPair, decision_of
from screens.conflicts.pair_source import (
    PairQuestion,
    SettledPairs,
    newest,
    redone_since,
    reopened_since,
    walkable_at,
)
from screens.conflicts.queue import PairScan
from screens.engine import BY, AppEngine, Rules
from screens.headless import run_command
from screens.jobs import Job
from workbench.records.conflicts import Conflict, conflict_id
from workbench.records.rules import PATH_SCOPE, Rule
from workbench.rules.curation.curator import Curator
from workbench.rules.curation.rulestore import RuleStore
from workbench.rules.describing import origin

if TYPE_CHECKING:
    from workbench.entry.project import Project


SMALL: Final = 400
"""Rules up to which conflicts are searched in this process, in a fraction of a second."""

MOST: Final = 10_000
"""Conflicts that are shown at once, the surest."""

_SLICE: Final = 256  # pairs made between two looks whether the job was cancelled


class RulePairs:
    """The rules in force.

    With few of them every question brings the rules in step with their files first. With very many that
    takes seconds, so that only a search does it, and the journals answer all else.
    """

    of = PairType.RULE

    def __init__(self) -> None:
        self._many = False

    def scan(self, engine: AppEngine, job: Job, asked: PairQuestion) -> PairScan:
        """Return the conflicts among the rules in force. Raises: WorkbenchError."""
        if self._many and not asked.whole:
            with engine.workspace(job.progress) as opened:
                return _looked_up(opened.workspace.rule_store(), asked)
        with engine.rules("conflicts", job.progress) as rules:
            self._many = len(rules.book.rules) > SMALL
            if not self._many:
                return _searched(job, rules, asked)
        told = run_command(job, engine.root, ["rules", "conflicts", "list", "--json", "--limit", str(MOST)])
        with engine.rules("conflicts", job.progress) as rules:
            return _compared(rules.store, asked, *_read(job, told.output))

    def settle(self, engine: AppEngine, job: Job, choices: Sequence[PairChoice]) -> SettledPairs:
        """Carry choices out as one step. Raises: WorkbenchError."""
        from workbench.rules.files.drift import files_behind

        with self._opened(engine, job, "curate") as opened:
            store = opened.workspace.rule_store()
            curator = Curator(store, BY, opened.workspace.rule_files)
            seen = {side.id: _rule(side) for choice in choices for side in choice.pair.sides}
            skipped: tuple[str, ...] = ()
            done = tuple(choices)
            if len(choices) == 1:
                curator.resolve(decision_of(choices[0]), seen=seen.values())
            else:
                kept, skipped = curator.resolve_all([decision_of(one) for one in choices], seen=seen)
                ids = {decision.conflict for decision in kept}
                done = tuple(choice for choice in choices if choice.pair.id in ids)
            sides = [_rule(side) for choice in done for side in choice.pair.sides]
            return SettledPairs(done, skipped, files_behind(store, opened.workspace.rule_files, sides))

    def walk(self, engine: AppEngine, job: Job, *, back: bool) -> str:
        """Undo or redo the last step of curating rules. Raises: WorkbenchError."""
        with self._opened(engine, job, "undo" if back else "redo") as opened:
            curator = Curator(opened.workspace.rule_store(), BY, opened.workspace.rule_files)
            return (curator.undo() if back else curator.redo()).summary

    def walkable(self, engine: AppEngine, job: Job, *, back: bool) -> str:
        """Return when the step was done that `walk` is about. Raises: WorkbenchError."""
        with engine.workspace(job.progress) as opened:
            ledger = opened.workspace.rule_store().ledger()
        return walkable_at(ledger.steps, ledger.done, ledger.undone, back=back)

    @contextmanager
    def _opened(self, engine: AppEngine, job: Job, operation: str) -> Iterator[Project]:
        if self._many:
            with engine.workspace(job.progress) as opened:
                yield opened
        else:
            with engine.rules(operation, job.progress) as rules:
                yield rules.opened


def _searched(job: Job, rules: Rules, asked: PairQuestion) -> PairScan:
    from workbench.rules.conflicts.queue import conflict_queue

    enabled = [rule for rule in rules.book.rules if rule.enabled]
    queue = conflict_queue(rules.store, enabled, rules.store.ledger(), progress=job.progress)
    pairs = tuple(_pairs(queue.open, {rule.id: rule for rule in enabled}))
    return _compared(rules.store, asked, pairs, len(enabled), queue.notes)


def _looked_up(store: RuleStore, asked: PairQuestion) -> PairScan:
    """Return the pairs known as they are now, and those that were opened again: nothing is searched."""
    ledger = store.ledger()
    now = {rule.id: rule for rule in ledger.placed().values() if rule.enabled}
    found: dict[str, RecordPair] = {}
    for pair in asked.known:
        sides = [_standing(ledger.current(side.id), now) for side in pair.sides]
        if all(_same(side, rule) for side, rule in zip(pair.sides, sides, strict=True)):
            found[pair.id] = pair
        else:
            found |= {one.id: one for one in _judged(*sides)}
    for item in reopened_since(ledger.steps, asked.since):
        found |= {one.id: one for one in _judged(now.get(item.left), now.get(item.right))}
    return _compared(store, asked, tuple(found.values()), len(now))


def side_of(rule: Rule) -> PairSide:
    """Return a rule as a side of a pair."""
    where = rule.provenance
    return PairSide(
        rule.id,
        rule.rule,
        origin(rule),
        rule,
        file="" if where is None else where.file,
        lines=(0, 0) if where is None else (where.line, where.end_line),
        facts=tuple(_facts(rule)),
        scope=rule.scope,
        scopes=tuple(dict.fromkeys(_scopes(rule))),
        updated=rule.updated_at,
    )


def pair_of(conflict: Conflict, left: Rule, right: Rule) -> RecordPair:
    """Return a conflict of rules as a pair."""
    return RecordPair(
        conflict.id,
        PairType.RULE,
        conflict.kind,
        conflict.score,
        side_of(left),
        side_of(right),
        conflict.why,
        conflict.evidence,
        conflict.suggestion,
    )


def _pairs(conflicts: Iterable[Conflict], rules: Mapping[str, Rule]) -> Iterator[RecordPair]:
    for conflict in conflicts:
        if conflict.left in rules and conflict.right in rules:
            yield pair_of(conflict, rules[conflict.left], rules[conflict.right])


def _read(job: Job, output: str) -> tuple[tuple[RecordPair, ...], int, tuple[str, ...]]:
    """Read what the child listed, a conflict at a time: one large document would hold the interpreter."""
    import msgspec

    from workbench.records.conversion import decode_json

    document = decode_json(output, dict[str, msgspec.Raw])
    rules: dict[str, Rule] = {}
    for place, raw in enumerate(decode_json(document["rules"], list[msgspec.Raw])):
        if place % _SLICE == 0:
            job.check()
        rule = decode_json(raw, Rule)
        rules[rule.id] = rule
    pairs: list[RecordPair] = []
    for place, raw in enumerate(decode_json(document["conflicts"], list[msgspec.Raw])):
        if place % _SLICE == 0:
            job.check()
        pairs += _pairs([decode_json(raw, Conflict)], rules)
    total = decode_json(document["total_count"], int)
    notes = decode_json(document["notes"], tuple[str, ...])
    if total > len(pairs):
        notes = (*notes, f"the surest {len(pairs):,} of {total:,} conflicts are shown")
    return tuple(pairs), decode_json(document["rule_count"], int), notes


def _compared(
    store: RuleStore,
    asked: PairQuestion,
    pairs: tuple[RecordPair, ...],
    count: int,
    notes: tuple[str, ...] = (),
) -> PairScan:
    """Return pairs with what became of those known before."""
    ledger = store.ledger()
    pairs = tuple(pair for pair in pairs if pair.id not in ledger.settled)
    fresh = {pair.id: pair for pair in pairs}
    settled, changed, heirs = dict[str, str](), set[str](), dict[str, str]()
    for old in asked.known:
        now = fresh.get(old.id)
        if now is not None:
            if any(not _same(side, _rule(other)) for side, other in zip(old.sides, now.sides, strict=True)):
                changed.add(old.id)
        elif (done := ledger.settled.get(old.id)) is not None:
            settled[old.id] = f"{done.by}: {done.action.replace('_', ' ')}"
        else:
            sides = [ledger.current(side.id) for side in old.sides]
            heir = conflict_id(*(side.id for side in sides if side)) if all(sides) else ""
            heirs |= {old.id: heir} if heir in fresh else {}
    again = tuple(item.id for item in reopened_since(ledger.steps, asked.since) if item.id in fresh)
    done_again = redone_since(ledger.steps, asked.since)
    step = newest(ledger.steps)
    return PairScan(pairs, count, settled, frozenset(changed), heirs, step, again, done_again, notes)


def _standing(rule: Rule | None, now: Mapping[str, Rule]) -> Rule | None:
    return None if rule is None else now.get(rule.id)


def _judged(left: Rule | None, right: Rule | None) -> Iterator[RecordPair]:
    """Yield the pair of two rules if they are in conflict now."""
    from workbench.rules.conflicts.find import judge_pair
    from workbench.rules.conflicts.reading import overlap, read_rule

    if left is None or right is None or left.id == right.id or not overlap(left, right):
        return
    conflict = judge_pair(read_rule(left), read_rule(right))
    if conflict is not None:
        yield from _pairs([conflict], {left.id: left, right.id: right})


def _same(side: PairSide, rule: Rule | None) -> bool:
    """Whether what people decide of a rule is as it was seen."""
    from workbench.rules.curation.ruletype import decided

    seen = _rule(side)
    return rule is not None and (seen == rule or (seen.id == rule.id and decided(seen) == decided(rule)))


def _rule(side: PairSide) -> Rule:
    assert isinstance(side.seen, Rule)
    return side.seen


def _facts(rule: Rule) -> Iterator[tuple[str, str]]:
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
    yield "used", f"{rule.usage_count:,} times{last}" if rule.usage_count else "never"
    yield "since", rule.created_at[:10] or "unknown"
    yield "changed", rule.updated_at[:10] or "never"


def _scopes(rule: Rule) -> Iterator[str]:
    """Yield what a rule could be narrowed to: its file's globs, the directory it stands in."""
    yield from rule.scope
    where = rule.provenance
    if where is None or where.home:
        return
    yield from (f"{PATH_SCOPE}{glob}" for glob in where.globs)
    directory = PurePosixPath(where.file).parent.as_posix()
    if directory != "." and not directory.startswith("."):
        yield f"{PATH_SCOPE}{directory}/**"
