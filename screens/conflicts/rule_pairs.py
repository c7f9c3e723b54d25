"""Conflicts among rules: found in this process where there are few rules, else by a child.

A search among thousands of rules computes for many seconds, which would make the screen stutter, so that it
runs as `workbench rules conflicts list --json`. What happens afterwards is looked up in the journals alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, Final

from screens.conflicts.pair import PairSide, PairType, RecordPair
from screens.conflicts.pair_source import PairQuestion, PairSource, reopened_since
from screens.conflicts.queue import PairScan
from screens.engine import BY, AppEngine, Rules
from screens.headless import run_command
from screens.jobs import Job
from workbench.records.conflicts import Conflict
from workbench.records.rules import PATH_SCOPE, Rule
from workbench.rules.curation.curator import Curator
from workbench.rules.descriptions import origin

if TYPE_CHECKING:
    from workbench.curation.service import CurationService
    from workbench.rules.curation.ledger import RuleLedger


SMALL: Final = 400
"""Rules up to which conflicts are searched in this process, in a fraction of a second."""

MOST: Final = 10_000
"""Conflicts that are shown at once, the surest."""

_SLICE: Final = 256  # pairs made between two looks whether the job was cancelled


class RulePairs(PairSource[Rule]):
    """The rules in force.

    With few of them every question syncs the rules with their files first. With very many that takes seconds,
    so that only a search does it, and the journals answer all else.
    """

    of = PairType.RULE

    def __init__(self) -> None:
        self._many = False

    def scan(self, engine: AppEngine, job: Job, asked: PairQuestion) -> PairScan:
        """Return the conflicts among the rules in force."""
        if self._many and not asked.whole:
            with engine.workspace(job.progress) as opened:
                return self._look_up(opened.workspace.rule_store().ledger(), asked)
        with engine.rules("conflicts", job.progress) as rules:
            self._many = len(rules.book.rules) > SMALL
            if not self._many:
                return self._search(job, rules, asked)
        answer = run_command(job, engine.root, ["rules", "conflicts", "list", "--json", "--limit", str(MOST)])
        with engine.rules("conflicts", job.progress) as rules:
            return self.compare(rules.store.ledger(), asked, *_read(job, answer.output))

    @contextmanager
    def held(self, engine: AppEngine, job: Job, operation: str = "") -> Iterator[Curator]:
        """Hold the service that curates rules."""
        if self._many or not operation:
            with engine.workspace(job.progress) as opened:
                yield Curator(opened.workspace.rule_store(), BY, opened.workspace.rule_files)
        else:
            with engine.rules(operation, job.progress) as rules:
                yield rules.curator

    def seen(self, side: PairSide) -> Rule:
        """Return the rule of a side."""
        assert isinstance(side.seen, Rule)
        return side.seen

    def outdated(self, curated: CurationService[Any, Rule], records: Sequence[Rule]) -> tuple[str, ...]:
        """Return the rule files that are out of date after a step."""
        from workbench.rules.files.drift import files_behind

        assert isinstance(curated, Curator)
        assert curated.rule_files is not None
        return files_behind(curated.store, curated.rule_files, records)

    def _search(self, job: Job, rules: Rules, asked: PairQuestion) -> PairScan:
        from workbench.rules.conflicts.queue import conflict_queue

        enabled, ledger = [rule for rule in rules.book.rules if rule.enabled], rules.store.ledger()
        queue = conflict_queue(rules.store, enabled, ledger, progress=job.progress)
        pairs = tuple(_pairs(queue.open, {rule.id: rule for rule in enabled}))
        return self.compare(ledger, asked, pairs, len(enabled), queue.notes)

    def _look_up(self, ledger: RuleLedger, asked: PairQuestion) -> PairScan:
        """Return the pairs known as they are now, and those that were opened again: nothing is searched."""
        now = {rule.id: rule for rule in ledger.placed().values() if rule.enabled}
        found: dict[str, RecordPair] = {}
        for pair in asked.known:
            rules = [ledger.current(side.id) for side in pair.sides]
            sides = [None if rule is None else now.get(rule.id) for rule in rules]
            if all(self.is_same(ledger, side, rule) for side, rule in zip(pair.sides, sides, strict=True)):
                found[pair.id] = pair
            else:
                found |= {one.id: one for one in _judged(*sides)}
        for item in reopened_since(ledger.steps, asked.since):
            found |= {one.id: one for one in _judged(now.get(item.left), now.get(item.right))}
        return self.compare(ledger, asked, tuple(found.values()), len(now))


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


def _judged(left: Rule | None, right: Rule | None) -> Iterator[RecordPair]:
    """Yield the pair of two rules if they are in conflict now."""
    from workbench.rules.conflicts.detection import judge_pair
    from workbench.rules.conflicts.readings import overlap, read_rule

    if left is None or right is None or left.id == right.id or not overlap(left, right):
        return
    conflict = judge_pair(read_rule(left), read_rule(right))
    if conflict is not None:
        yield from _pairs([conflict], {left.id: left, right.id: right})


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
    """Yield what a rule could be narrowed to: its file's globs, the directory of its file."""
    yield from rule.scope
    where = rule.provenance
    if where is None or where.home:
        return
    yield from (f"{PATH_SCOPE}{glob}" for glob in where.globs)
    directory = PurePosixPath(where.file).parent.as_posix()
    if directory != "." and not directory.startswith("."):
        yield f"{PATH_SCOPE}{directory}/**"
