"""The journals of rules read from the beginning: what is in force, what was, and who changed what and why.

A change of a rule's content is a new rule that names the old one in `replaces`; everything else changes in
place. Nothing is deleted: a rule that is no longer in force stays here for replays and histories. Undoing a
step appends its reverse, so that the journals alone say what holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from heapq import merge
from typing import Any, Final

from workbench.errors import ParseError
from workbench.ports import Entry, Journal
from workbench.records.rules import Rule
from workbench.rules.curation import CURATION
from workbench.rules.curation.bodies import from_body
from workbench.rules.curation.versions import past_ids

STREAM: Final = "rules"
PUT: Final = "rule.put"
REMOVED: Final = "rule.removed"
SYNCED: Final = "file.synced"
FORGOTTEN: Final = "file.forgotten"
RESOLVED: Final = "conflict.resolved"
REOPENED: Final = "conflict.reopened"
AUTOMATIC: Final = "import:rule-files"
EXPORT: Final = "export:rule-files"
UNSTACKED: Final = frozenset({AUTOMATIC, EXPORT})
"""What follows from files and is no curation step: it is not undone, but followed again."""

USAGE_STREAM: Final = "rule-usage"
USED: Final = "rule.used"


@dataclass(frozen=True, slots=True)
class Anchor:
    """Where a rule stands in a file, as of the last look: its lines, and the digest of the text there."""

    rule_id: str
    line: int
    end_line: int
    digest: str


@dataclass(frozen=True, slots=True)
class FileState:
    """A rule file as it was last brought in step. `digest` is of its bytes; `home` says whose journal knows.

    `named` files were imported by name; the others are found by themselves.
    """

    file: str
    format: str
    digest: str
    anchors: tuple[Anchor, ...] = ()
    home: bool = False
    named: bool = False


@dataclass(frozen=True, slots=True)
class Undo:
    """Takes an edit of a file back. `digest` is that of the edited bytes; `data` goes in at `offset`."""

    digest: str
    offset: int
    length: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Change:
    """One change of one rule: `before` and `after` are None where it was not, or no longer, in force.

    `successor` is the rule that was told to take the place of one that was removed.
    """

    at: str
    by: str
    rule_id: str
    before: Rule | None
    after: Rule | None
    reason: str
    step: str
    successor: str = ""


@dataclass(frozen=True, slots=True)
class Settled:
    """A conflict somebody settled, and how."""

    id: str
    left: str
    right: str
    action: str
    at: str
    by: str
    reason: str = ""
    home: bool = False


@dataclass(slots=True)
class Step:
    """What one curation step changed: rules, what is known of files, conflicts settled or opened again.

    `writes` are rule files that its words were written into at once.
    """

    id: str
    at: str
    by: str
    title: str
    undoes: str = ""
    redoes: str = ""
    writes: tuple[str, ...] = ()
    changes: list[Change] = field(default_factory=list)
    resolved: list[Settled] = field(default_factory=list)
    reopened: list[Settled] = field(default_factory=list)
    files: list[tuple[FileState | None, FileState | None]] = field(default_factory=list)  # before, after


@dataclass(slots=True)
class Ledger:
    """The fold of the rule journals.

    `live` are the rules in force by id and `versions` every rule that ever was, as it last was. `successors`
    maps a rule that gave way to the one in its place. `undos` take files back to what they were before the
    workbench wrote them, while they are as it left them. `done` and `undone` are stacks of curation steps.
    `skipped` are sentences about entries that are no rules.
    """

    live: dict[str, Rule] = field(default_factory=dict)
    versions: dict[str, Rule] = field(default_factory=dict)
    successors: dict[str, str] = field(default_factory=dict)
    files: dict[str, FileState] = field(default_factory=dict)
    undos: dict[str, Undo] = field(default_factory=dict)
    settled: dict[str, Settled] = field(default_factory=dict)
    changes: list[Change] = field(default_factory=list)
    steps: dict[str, Step] = field(default_factory=dict)
    done: list[str] = field(default_factory=list)
    undone: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)

    def standing(self, identifier: str) -> Rule | None:
        """Return the rule in force that an id leads to now: itself, its successor's, or None."""
        seen: set[str] = set()
        while identifier not in self.live:
            seen.add(identifier)
            identifier = self.successors.get(identifier, "")
            if not identifier or identifier in seen:  # `replaces` of damaged journals may go round
                return None
        return self.live[identifier]

    def placed(self) -> dict[str, Rule]:
        """Return the rules in force with the lines where their own files have them now."""
        rules = dict(self.live)
        for state in self.files.values():
            for anchor in state.anchors:
                rule = self.standing(anchor.rule_id)
                where = None if rule is None else rule.provenance
                if rule is None or where is None or where.file != state.file:
                    continue
                if (where.line, where.end_line) != (anchor.line, anchor.end_line):
                    moved = replace(where, line=anchor.line, end_line=anchor.end_line)
                    rules[rule.id] = replace(rule, provenance=moved)
        return rules


def read_ledger(journals: Iterable[tuple[Journal, bool]], until: str = "") -> Ledger:
    """Fold journals, given with whether they are the home's, up to and with the moment `until` (ISO 8601)."""
    ledger = Ledger()
    streams = [_marked(journal, home) for journal, home in journals]
    for _, entry, home in merge(*streams, key=lambda item: item[0]):
        if until and entry.at > until:
            continue
        take(ledger, entry, home)
    return ledger


@dataclass(frozen=True, slots=True)
class Use:
    """One time that a session of a tool was given a rule."""

    at: str
    by: str
    rule_id: str
    session_id: str
    tool: str


def read_uses(journals: Sequence[Journal], until: str = "") -> Iterator[Use]:
    """Yield every use of rules up to and with a moment, journal by journal in the order of their entries."""
    for journal in journals:
        for _, entry in journal.read(USAGE_STREAM):
            identifiers = entry.body.get("rule_ids")
            if entry.kind != USED or not isinstance(identifiers, list) or (until and entry.at > until):
                continue
            session, tool = str(entry.body.get("session_id", "")), str(entry.body.get("tool", ""))
            for identifier in identifiers:
                yield Use(entry.at, entry.by, str(identifier), session, tool)


def read_usage(
    journals: Sequence[Journal], since: Sequence[int] = (0, 0), until: str = ""
) -> dict[str, tuple[int, str]]:
    """Return (times used, last time) of each rule used between the journals' offsets `since` and a moment."""
    counts: dict[str, tuple[int, str]] = {}
    for journal, start in zip(journals, since, strict=True):
        for _, entry in journal.read(USAGE_STREAM, start):
            if entry.kind == USED and not (until and entry.at > until):
                _count(counts, entry)
    return counts


def _count(counts: dict[str, tuple[int, str]], entry: Entry) -> None:
    identifiers = entry.body.get("rule_ids")
    for identifier in identifiers if isinstance(identifiers, list) else ():
        times, last = counts.get(str(identifier), (0, ""))
        counts[str(identifier)] = (times + 1, max(last, entry.at))


def used(rule: Rule, counts: Mapping[str, tuple[int, str]]) -> Rule:
    """Return a rule with its use so far; what earlier versions of it were used for counts as its own."""
    found = [counts[identifier] for identifier in (rule.id, *past_ids(rule)) if identifier in counts]
    if not found:
        return rule
    times = rule.usage_count + sum(count for count, _ in found)
    return replace(rule, usage_count=times, last_used=max(rule.last_used or "", *(at for _, at in found)))


def _marked(journal: Journal, home: bool) -> Iterator[tuple[str, Entry, bool]]:
    for _, entry in journal.read(STREAM):
        yield entry.id, entry, home


def take(ledger: Ledger, entry: Entry, home: bool) -> None:
    """Bring one more entry into the ledger."""
    body = entry.body
    if entry.kind == PUT:
        try:
            rule = from_body(body)
        except ParseError as error:
            ledger.skipped.append(error.message)
            return
        _put(ledger, entry, rule)
    elif entry.kind == REMOVED:
        _remove(ledger, entry, str(body.get("id", "")), str(body.get("successor") or ""))
    elif entry.kind == SYNCED:
        state = _file_state(body, home)
        if state is not None:
            _step(ledger, entry).files.append((ledger.files.get(state.file), state))
            ledger.files[state.file] = state
            _keep_undo(ledger, state, body.get("undo"))
    elif entry.kind == FORGOTTEN:
        gone = ledger.files.pop(str(body.get("file", "")), None)
        _step(ledger, entry).files.append((gone, None))
    elif entry.kind in (RESOLVED, REOPENED):
        _settle(ledger, entry, home)


def _keep_undo(ledger: Ledger, state: FileState, told: object) -> None:
    """Keep what takes a file back to what was written over; another digest has none."""
    if isinstance(told, Mapping):
        offset, length, passage = told.get("offset"), told.get("length"), told.get("passage")
        if isinstance(offset, int) and isinstance(length, int) and isinstance(passage, str):
            ledger.undos[state.file] = Undo(
                state.digest, offset, length, passage.encode("utf-8", "surrogatepass")
            )
    elif state.file in ledger.undos and ledger.undos[state.file].digest != state.digest:
        del ledger.undos[state.file]


def _put(ledger: Ledger, entry: Entry, rule: Rule) -> None:
    before = ledger.live.get(rule.id)
    step = _step(ledger, entry)
    for old in rule.replaces:
        gone = ledger.live.pop(old, None)
        ledger.successors[old] = rule.id
        if gone is not None:
            _record(ledger, step, Change(entry.at, entry.by, old, gone, None, _reason(entry), step.id))
    ledger.successors.pop(rule.id, None)
    ledger.live[rule.id] = rule
    ledger.versions[rule.id] = rule
    _record(ledger, step, Change(entry.at, entry.by, rule.id, before, rule, _reason(entry), step.id))


def _remove(ledger: Ledger, entry: Entry, identifier: str, successor: str) -> None:
    gone = ledger.live.pop(identifier, None)
    if gone is None:
        return
    if successor:
        ledger.successors[identifier] = successor
    step = _step(ledger, entry)
    change = Change(entry.at, entry.by, identifier, gone, None, _reason(entry), step.id, successor)
    _record(ledger, step, change)


def _settle(ledger: Ledger, entry: Entry, home: bool) -> None:
    body, step = entry.body, _step(ledger, entry)
    identifier = str(body.get("id", ""))
    if entry.kind == REOPENED:
        gone = ledger.settled.pop(identifier, None)
        if gone is not None:
            step.reopened.append(gone)
        return
    settled = Settled(
        identifier,
        str(body.get("left", "")),
        str(body.get("right", "")),
        str(body.get("action", "")),
        entry.at,
        entry.by,
        _reason(entry),
        home,
    )
    ledger.settled[identifier] = settled
    step.resolved.append(settled)


def _record(ledger: Ledger, step: Step, change: Change) -> None:
    ledger.changes.append(change)
    step.changes.append(change)


def _step(ledger: Ledger, entry: Entry) -> Step:
    """Return the step an entry belongs to, new or under way; a new one takes its place on the stacks."""
    told = _curation(entry)
    identifier = str(told.get("step") or entry.id)
    known = ledger.steps.get(identifier)
    if known is not None:
        return known
    undoes, redoes = str(told.get("undoes", "")), str(told.get("redoes", ""))
    writes = told.get("writes")
    files = tuple(map(str, writes)) if isinstance(writes, list) else ()
    step = Step(identifier, entry.at, entry.by, str(told.get("title", "")), undoes, redoes, files)
    ledger.steps[identifier] = step
    if undoes and undoes in ledger.done:
        ledger.done.remove(undoes)
        ledger.undone.append(undoes)
    elif redoes and redoes in ledger.undone:
        ledger.undone.remove(redoes)
        ledger.done.append(redoes)
    elif not undoes and not redoes and entry.by not in UNSTACKED:
        ledger.done.append(identifier)
        ledger.undone.clear()
    return step


def _curation(entry: Entry) -> Mapping[str, Any]:
    told = entry.body.get(CURATION)
    return told if isinstance(told, Mapping) else {}


def _reason(entry: Entry) -> str:
    return str(_curation(entry).get("reason") or entry.body.get("reason") or "")


def _file_state(body: Mapping[str, Any], home: bool) -> FileState | None:
    import msgspec

    from workbench.records.conversion import convert

    try:
        state = convert(dict(body), FileState)
    except msgspec.ValidationError:
        return None  # what a file said is read from the file again
    return replace(state, home=home)
