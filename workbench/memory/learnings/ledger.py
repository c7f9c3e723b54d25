"""The ledger of learnings: besides the learnings and their changes, what speaks for and against them.

Hits and contradictions are facts of their own, so that undoing a step never loses one; what users said of how
things are done is kept beside them.
"""

from __future__ import annotations

from dataclasses import field, replace
from typing import Final

from workbench.curation.lazy import LazyList
from workbench.curation.ledger import Ledger
from workbench.curation.records import EntryDraft
from workbench.memory.learnings.kinds import CONTRADICTED, HIT, SAID
from workbench.memory.learnings.learningtype import LEARNINGS, LearningType
from workbench.ports import Entry
from workbench.records.dataclass import dataclass
from workbench.records.learnings import Correction, FeatureLearning, confidence_of, read_correction

AUTOMATIC: Final = "auto:"
"""How the name of a face begins that takes learnings in by itself: nobody's step, so nobody's to undo."""


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
class LearningLedger(Ledger[FeatureLearning]):
    """The fold of the memory journals: all learnings, live or not.

    `hits` and `contradictions` are by learning, one a session; `facts` are the ids of their learnings in the
    order in which they came. `said` is what users said of how things are done, once a prompt.
    """

    type: LearningType = LEARNINGS
    hits: dict[str, tuple[Note, ...]] = field(default_factory=dict)
    contradictions: dict[str, tuple[Note, ...]] = field(default_factory=dict)
    facts: LazyList[str] = field(default_factory=LazyList)
    said: LazyList[Correction] = field(default_factory=LazyList)
    noted: set[tuple[str, str, str]] = field(default_factory=set)

    @property
    def progress(self) -> tuple[int, ...]:
        """How many changes of learnings and facts about them there are."""
        return len(self.changes), len(self.facts)

    @property
    def begun(self) -> tuple[int, ...]:
        """How many of these were saved by an earlier fold."""
        return self.changes.begun, self.facts.begun

    def ids_since(self, progress: tuple[int, ...]) -> set[str]:
        """Return the ids of learnings that changes and facts after the first so many are about."""
        return {*Ledger.ids_since(self, progress), *self.facts[progress[1] :]}

    def newest(self, progress: tuple[int, ...]) -> tuple[str, ...]:
        """Return what tells the last of the first so many changes and facts."""
        facts = progress[1]
        fact = self.facts[facts - 1] if 0 < facts <= len(self.facts) else ""
        return (*Ledger.newest(self, progress), fact)

    def find(self, identifier: str) -> FeatureLearning | None:
        """Return a learning with what was counted of it, live or not, or None."""
        found = self.records.get(identifier)
        return None if found is None else self._with_counts(found)

    def live(self) -> list[FeatureLearning]:
        """Return the learnings that hold, with what was counted of them, by id."""
        return [self._with_counts(one) for _, one in sorted(self.records.items()) if one.live]

    def all(self) -> list[FeatureLearning]:
        """Return every learning, live or not, with what was counted of it, by id."""
        return [self._with_counts(one) for _, one in sorted(self.records.items())]

    def take_fact(self, entry: Entry, home: bool) -> None:
        """Bring in a hit, a contradiction or what a user said."""
        if entry.kind == SAID:
            self._say(entry)
        else:
            self._note(entry)

    def _note(self, entry: Entry) -> None:
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
        known = self.records.get(note.learning_id)
        if (
            entry.kind == HIT
            and known is not None
            and known.session_id
            and note.session_id == known.session_id
        ):
            return  # where it was found out first
        # One session says a thing once, however often its transcript is read.
        key = (entry.kind, note.learning_id, note.session_id or entry.id)
        if key not in self.noted:
            self.noted.add(key)
            self.facts.append(note.learning_id)
            notes = self.hits if entry.kind == HIT else self.contradictions
            notes[note.learning_id] = (*notes.get(note.learning_id, ()), note)

    def _say(self, entry: Entry) -> None:
        one = read_correction(entry.body)
        if one is None:
            self.skipped.append("a correction that was said cannot be read")
            return
        # A prompt says a thing once, however often its transcript is read.
        key = (SAID, f"{one.session_id}#{one.prompt}" if one.session_id else entry.id, one.key.casefold())
        if key not in self.noted:
            self.noted.add(key)
            self.said.append(one)

    def _with_counts(self, learning: FeatureLearning) -> FeatureLearning:
        hits = self.hits.get(learning.id, ())
        against = self.contradictions.get(learning.id, ())
        if not hits and not against and not learning.reviewed:
            return learning
        return replace(
            learning,
            hit_count=learning.hit_count + len(hits),
            last_hit=max((hit.at for hit in hits), default=learning.last_hit),
            confidence=confidence_of(
                learning, len(hits), sum(one.at > learning.reviewed_at for one in against)
            ),
        )


def draft_hit(learning: FeatureLearning, *, session_id: str, iteration: int | None, why: str) -> EntryDraft:
    """Draft that a session found a learning out by itself."""
    return _fact(HIT, learning, session_id, iteration, why)


def draft_contradiction(
    learning: FeatureLearning, *, session_id: str, iteration: int | None, why: str
) -> EntryDraft:
    """Draft that an outcome spoke against a learning."""
    return _fact(CONTRADICTED, learning, session_id, iteration, why)


def _fact(
    kind: str, learning: FeatureLearning, session_id: str, iteration: int | None, why: str
) -> EntryDraft:
    body = {"id": learning.id, "session_id": session_id, "iteration": iteration, "why": why}
    return EntryDraft(kind, body, LEARNINGS.is_home(learning), LEARNINGS.stream(learning))
