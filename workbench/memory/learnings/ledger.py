"""The journals of memory read from the beginning: which learnings there are, and who changed what and why.

Nothing is overwritten (F1): a change appends the learning as it is from then on, and the fold keeps what was
before. Hits and contradictions are facts of their own, so that undoing a step never loses one. Journals of
several features, of the project and of its user, are folded in the order of their entries' ids: whatever
process wrote what, all read the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from heapq import merge
from typing import Any, Final

from workbench.curation import CURATION
from workbench.errors import ParseError
from workbench.memory.journal import PREFIX
from workbench.memory.learnings.bodies import from_body
from workbench.memory.learnings.confidence import confidence_of
from workbench.memory.learnings.kinds import CONTRADICTED, HIT, KINDS, PUT, REMOVED, REOPENED, SAID, SETTLED
from workbench.memory.learnings.said import Said, said_of
from workbench.ports import Entry, Journal
from workbench.records.learnings import FeatureLearning

AUTOMATIC: Final = "auto:"
"""How the name of a face begins that takes learnings in by itself: nobody's step, so nobody's to undo."""


@dataclass(frozen=True, slots=True)
class Change:
    """One change of one learning; `before` is None for a new one, `after` where its making was undone."""

    at: str
    by: str
    learning_id: str
    before: FeatureLearning | None
    after: FeatureLearning | None
    reason: str
    step: str


@dataclass(frozen=True, slots=True)
class Settled:
    """A conflict of two learnings that somebody settled, and how."""

    id: str
    left: str
    right: str
    action: str
    at: str
    by: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Note:
    """A fact about a learning: it was found out again, or an outcome spoke against it."""

    at: str
    by: str
    learning_id: str
    session_id: str
    iteration: int | None
    why: str


@dataclass(slots=True)
class Step:
    """What one step changed: learnings, conflicts settled or opened again."""

    id: str
    at: str
    by: str
    title: str
    undoes: str = ""
    redoes: str = ""
    changes: list[Change] = field(default_factory=list)
    resolved: list[Settled] = field(default_factory=list)
    reopened: list[Settled] = field(default_factory=list)


@dataclass(slots=True)
class Ledger:
    """The fold of the memory journals.

    `put` is every learning as it was put last, live or not. `hits` and `contradictions` are by learning, one
    a session. `said` is what users said of how things are done, once a prompt. `done` and `undone` are stacks
    of steps. `skipped` are sentences about entries that are none.
    """

    put: dict[str, FeatureLearning] = field(default_factory=dict)
    hits: dict[str, list[Note]] = field(default_factory=dict)
    contradictions: dict[str, list[Note]] = field(default_factory=dict)
    settled: dict[str, Settled] = field(default_factory=dict)
    changes: list[Change] = field(default_factory=list)
    steps: dict[str, Step] = field(default_factory=dict)
    done: list[str] = field(default_factory=list)
    undone: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    noted: set[tuple[str, str, str]] = field(default_factory=set)
    said: list[Said] = field(default_factory=list)

    def find(self, identifier: str) -> FeatureLearning | None:
        """Return a learning with what was counted of it, live or not, or None."""
        found = self.put.get(identifier)
        return None if found is None else self._counted(found)

    def live(self) -> list[FeatureLearning]:
        """Return the learnings that hold, with what was counted of them, by id."""
        return [self._counted(one) for _, one in sorted(self.put.items()) if one.live]

    def all(self) -> list[FeatureLearning]:
        """Return every learning there ever was, as it stands, by id."""
        return [self._counted(one) for _, one in sorted(self.put.items())]

    def _counted(self, learning: FeatureLearning) -> FeatureLearning:
        hits = self.hits.get(learning.id, ())
        against = self.contradictions.get(learning.id, ())
        if not hits and not against and not learning.reviewed:
            return learning
        return replace(
            learning,
            hit_count=learning.hit_count + len(hits),
            last_hit=max((one.at for one in hits), default=learning.last_hit),
            confidence=confidence_of(
                learning, len(hits), sum(one.at > learning.reviewed_at for one in against)
            ),
        )


class LedgerReader:
    """Reads the memory streams of journals again and again, each line once: iterations come in by hundreds.

    The ledger it gives is folded anew only when there is something new about learnings; entries that a caller
    brings into it and then writes are folded from the journals the next time.
    """

    def __init__(self, journals: Sequence[Journal]) -> None:
        self._journals = tuple(journals)
        self._offsets: dict[tuple[int, str], tuple[int, str]] = {}
        self._entries: list[tuple[str, Entry]] = []
        self._ledger: Ledger | None = None

    def ledger(self) -> Ledger:
        """Return the fold of the journals as they are now. Raises: StoreError."""
        known = len(self._entries)
        for number, journal in enumerate(self._journals):
            for stream in journal.streams():
                if stream.startswith(PREFIX):
                    self._read(number, stream)
        if self._ledger is None or len(self._entries) > known:
            self._entries.sort(key=lambda item: item[0])
            self._ledger = Ledger()
            for _, entry in self._entries:
                take(self._ledger, entry)
        return self._ledger

    def _read(self, number: int, stream: str) -> None:
        offset, latest = self._offsets.get((number, stream), (0, ""))
        for after, entry in self._journals[number].read(stream, offset):
            offset, latest = after, max(latest, entry.id)
            if entry.kind in KINDS:
                self._entries.append((latest, entry))
        self._offsets[number, stream] = (offset, latest)


def read_ledger(journals: Iterable[Journal], until: str = "") -> Ledger:
    """Fold the memory streams of journals up to and with a moment (ISO 8601). Raises: StoreError."""
    ledger = Ledger()
    for _, entry in merge(*_entries(journals), key=lambda item: item[0]):
        if not until or entry.at <= until:
            take(ledger, entry)
    return ledger


def _entries(journals: Iterable[Journal]) -> Iterator[Iterator[tuple[str, Entry]]]:
    for journal in journals:
        for stream in journal.streams():
            if stream.startswith(PREFIX):
                yield _keyed(journal, stream)


def _keyed(journal: Journal, stream: str) -> Iterator[tuple[str, Entry]]:
    latest = ""
    for _, entry in journal.read(stream):
        # The clock of a writer may have gone back: within a stream the order of lines is the order of events.
        latest = max(latest, entry.id)
        if entry.kind in KINDS:
            yield latest, entry


def take(ledger: Ledger, entry: Entry) -> None:
    """Bring one more entry into the ledger."""
    if entry.kind == PUT:
        try:
            learning = from_body(entry.body)
        except ParseError as error:
            ledger.skipped.append(error.message)
            return
        before = ledger.put.get(learning.id)
        ledger.put[learning.id] = learning
        _record(ledger, entry, learning.id, before, learning)
    elif entry.kind == REMOVED:
        identifier = str(entry.body.get("id", ""))
        gone = ledger.put.pop(identifier, None)
        if gone is not None:
            _record(ledger, entry, identifier, gone, None)
    elif entry.kind in (HIT, CONTRADICTED):
        _note(ledger, entry)
    elif entry.kind in (SETTLED, REOPENED):
        _settle(ledger, entry)
    elif entry.kind == SAID:
        _say(ledger, entry)


def _note(ledger: Ledger, entry: Entry) -> None:
    body = entry.body
    iteration = body.get("iteration")
    note = Note(
        entry.at,
        entry.by,
        str(body.get("id", "")),
        str(body.get("session_id") or ""),
        iteration if type(iteration) is int else None,
        str(body.get("why") or ""),
    )
    known = ledger.put.get(note.learning_id)
    if entry.kind == HIT and known is not None and known.session_id and note.session_id == known.session_id:
        return  # where it was found out first
    # One session says a thing once, however often its transcript is read.
    key = (entry.kind, note.learning_id, note.session_id or entry.id)
    if key not in ledger.noted:
        ledger.noted.add(key)
        notes = ledger.hits if entry.kind == HIT else ledger.contradictions
        notes.setdefault(note.learning_id, []).append(note)


def _say(ledger: Ledger, entry: Entry) -> None:
    one = said_of(entry.body)
    if one is None:
        ledger.skipped.append("a correction that was said cannot be read")
        return
    # A prompt says a thing once, however often its transcript is read.
    key = (SAID, f"{one.session_id}#{one.prompt}" if one.session_id else entry.id, one.key.casefold())
    if key not in ledger.noted:
        ledger.noted.add(key)
        ledger.said.append(one)


def _settle(ledger: Ledger, entry: Entry) -> None:
    body, step = entry.body, _step(ledger, entry)
    identifier = str(body.get("id", ""))
    if entry.kind == REOPENED:
        gone = ledger.settled.pop(identifier, None)
        if gone is not None:
            step.reopened.append(gone)
        return
    left, right, action = (str(body.get(name, "")) for name in ("left", "right", "action"))
    found = Settled(identifier, left, right, action, entry.at, entry.by, _reason(entry))
    ledger.settled[identifier] = found
    step.resolved.append(found)


def _record(
    ledger: Ledger,
    entry: Entry,
    identifier: str,
    before: FeatureLearning | None,
    after: FeatureLearning | None,
) -> None:
    step = _step(ledger, entry)
    change = Change(entry.at, entry.by, identifier, before, after, _reason(entry), step.id)
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
    step = Step(identifier, entry.at, entry.by, str(told.get("title", "")), undoes, redoes)
    ledger.steps[identifier] = step
    if undoes and undoes in ledger.done:
        ledger.done.remove(undoes)
        ledger.undone.append(undoes)
    elif redoes and redoes in ledger.undone:
        ledger.undone.remove(redoes)
        ledger.done.append(redoes)
    elif not undoes and not redoes and not entry.by.startswith(AUTOMATIC):
        ledger.done.append(identifier)
        ledger.undone.clear()
    return step


def _curation(entry: Entry) -> Mapping[str, Any]:
    told = entry.body.get(CURATION)
    return told if isinstance(told, Mapping) else {}


def _reason(entry: Entry) -> str:
    return str(_curation(entry).get("reason") or "")
