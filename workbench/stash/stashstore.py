"""Where segments come from and go to, the ledger of them with their use, and what links them [rag §7]."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import field, replace
from enum import StrEnum
from typing import Final

from workbench.curation import CURATION
from workbench.curation.folding import LedgerReader
from workbench.curation.ledger import Ledger
from workbench.curation.records import CurationStep, EntryDraft, StepMarks
from workbench.curation.store import CurationStore
from workbench.ports import Entry, Journal
from workbench.records.dataclass import dataclass
from workbench.records.segments import ContextSegment
from workbench.stash.segmenttype import (
    COLLECTED,
    COLLECTING,
    DECISIONS,
    EMBEDDED,
    MERGED,
    ORIGIN,
    PRUNED,
    PUT,
    REMOVED,
    SEGMENTS,
    SHOWN,
    SegmentRecordType,
    pruned_draft,
)

LOCK: Final = "stash"


@dataclass(slots=True)
class StashLedger(Ledger[ContextSegment]):
    """The fold of the journal of segments; they have no texts here.

    `shown` and `merged` count by id how often a query found a segment and how often it was taken back into a
    context, last at `merged_at`: relevance feedback. `collected` is when retention last ran, "" for never.
    `embedded` is the model by which the last index was written, `embedded_types` those of types with another
    one; `unembedded` are ids that came since, `retyped` has the models of those whose type was edited since.
    These are facts, which no undo takes back.
    """

    type: SegmentRecordType = SEGMENTS
    shown: dict[str, int] = field(default_factory=dict)
    merged: dict[str, int] = field(default_factory=dict)
    merged_at: dict[str, str] = field(default_factory=dict)
    collected: str = ""
    embedded: str = ""
    embedded_types: dict[str, str] = field(default_factory=dict)
    retyped: dict[str, str] = field(default_factory=dict)
    unembedded: set[str] = field(default_factory=set)

    def find(self, identifier: str) -> ContextSegment | None:
        """Return a segment with the model that embedded it, without its text; None for an unknown id."""
        found = self.records.get(identifier)
        if found is None or not self.embedded or identifier in self.unembedded:
            return found
        return replace(found, embedding_model=self.retyped.get(identifier) or self._model_of(found))

    def take(self, entry: Entry, home: bool = False) -> None:
        """Bring one more entry into the ledger; a segment whose text was never put is left out."""
        if entry.kind == PUT and not entry.body.get("text"):
            identifier = str(entry.body.get("segment_id", ""))
            if identifier not in self.versions:
                self.skipped.append(f"segment {identifier[:80]!r}: its text is missing")
                return
            self._note_type(identifier, str(entry.body.get("type", "")))
            known = self.versions[identifier]  # what follows from a text is as it was when that was put
            entry = replace(entry, body={**entry.body, "tokens": known.tokens, "digest": known.digest})
        elif entry.kind == PUT and self.embedded:
            self.unembedded.add(str(entry.body.get("segment_id", "")))
        Ledger.take(self, entry, home)

    def take_fact(self, entry: Entry, home: bool) -> None:
        """Count that segments were shown or merged; note that retention ran, that an index was written."""
        if entry.kind == PRUNED:
            self.step_of(entry)
            return
        if entry.kind == COLLECTED:
            self.collected = entry.at
            return
        if entry.kind == EMBEDDED:
            self.embedded = str(entry.body.get("model") or "")
            given = entry.body.get("types")
            types = given if isinstance(given, dict) else {}
            self.embedded_types = {str(kind): str(model) for kind, model in types.items()}
            self.unembedded.clear()
            self.retyped.clear()
            return
        counts = self.shown if entry.kind == SHOWN else self.merged
        for identifier in used_segments(entry):
            counts[identifier] = counts.get(identifier, 0) + 1
            if entry.kind == MERGED:
                self.merged_at[identifier] = entry.at

    def undo_facts(
        self, step: CurationStep[ContextSegment], restored: Collection[str], marks: StepMarks
    ) -> list[EntryDraft]:
        """Draft that a step which changed no segment is taken back: nothing else would say so."""
        return [] if step.changes or step.resolved or step.reopened else [pruned_draft(marks)]

    def redo_facts(self, step: CurationStep[ContextSegment], marks: StepMarks) -> list[EntryDraft]:
        """Draft that it is done again."""
        return self.undo_facts(step, (), marks)

    def _model_of(self, segment: ContextSegment) -> str:
        return self.embedded_types.get(segment.type, self.embedded)

    def _note_type(self, identifier: str, kind: str) -> None:
        """Keep by which model a segment is embedded when its type is edited."""
        before = self.versions[identifier]
        if self.embedded_types and kind != before.type:
            self.retyped.setdefault(identifier, self._model_of(before))


@dataclass(slots=True)
class TeamStashLedger(StashLedger):
    """The fold of what all machines of a team put and decided, in the order that is the same on each.

    It says which decisions were made apart. What holds is in the own journal, by the same order.
    """

    type: SegmentRecordType = DECISIONS

    def take(self, entry: Entry, home: bool = False) -> None:
        """Bring in an entry of its writer's own journal that is for the team."""
        marks = entry.body.get(CURATION)
        marks = marks if isinstance(marks, Mapping) else {}
        collected = entry.kind == REMOVED and str(marks.get("title", "")).startswith(COLLECTING)
        if collected or ORIGIN in entry.body:
            return
        StashLedger.take(self, entry, home)

    def combine(
        self, held: ContextSegment, other: ContextSegment, base: ContextSegment | None
    ) -> ContextSegment:
        """Return both versions of a segment as one: of a field that both changed the value that holds."""
        changed = fields_apart(held, other, base)
        return replace(held, **{name: getattr(other, name) for name, both in changed.items() if not both})


def fields_apart(held: ContextSegment, other: ContextSegment, base: ContextSegment | None) -> dict[str, bool]:
    """Return the fields that `other` changed, with whether the version that holds changed them, too.

    Where it is not known what both go on from, all that differ count as changed by both.
    """
    found = {}
    for name in sorted(SEGMENTS.editable):
        one, two = getattr(held, name), getattr(other, name)
        before = one if base is None else getattr(base, name)
        if one != two and (base is None or two != before):
            found[name] = base is None or one != before
    return found


def used_segments(entry: Entry) -> tuple[str, ...]:
    """Return the ids of the segments that an entry says were shown or merged."""
    assert entry.kind in (SHOWN, MERGED)
    found = entry.body.get("ids")
    return tuple(dict.fromkeys(map(str, found))) if isinstance(found, list) else ()


@dataclass(frozen=True, slots=True, kw_only=True)
class StashStore(CurationStore[StashLedger]):
    """Where segments come from and go to.

    `texts` reads their texts by id, where an unknown id is missing; `referring` for each id those of the
    segments that refer to it, `of_session` the ids of a session's segments.
    """

    texts: Callable[[Collection[str]], Mapping[str, str]]
    referring: Callable[[Collection[str]], Mapping[str, Sequence[str]]]
    of_session: Callable[[str], Sequence[str]]

    _of_team: list[LedgerReader[StashLedger]] = field(
        init=False, default_factory=list, repr=False, compare=False
    )

    def empty_ledger(self) -> StashLedger:
        """Return a ledger without segments."""
        return StashLedger()

    @property
    def team(self) -> Mapping[str, Journal]:
        """No journals: what others put is in the own one, and lists, index and tables are of that."""
        return {}

    @property
    def team_reader(self) -> LedgerReader[StashLedger]:
        """What folds what all machines of a team decided, for who wants to know what was decided apart."""
        if not self._of_team:
            self._of_team.append(
                LedgerReader(
                    TeamStashLedger,
                    self.journals[:1],
                    lambda kind: self.latest(f"team_{kind}"),
                    lambda kind, write: self.publish(f"team_{kind}", write),
                    lambda: self.peers() or {},
                )
            )
        return self._of_team[0]


Links = Callable[[Sequence[str]], Mapping[str, Sequence[str]]]
"""Ids to, for each, those it is linked with."""


class ReferenceDirection(StrEnum):
    """Which way references are followed."""

    TO = "to"  # from a segment to those it refers to
    FROM = "from"  # to those that refer to it
    BOTH = "both"


@dataclass(frozen=True, slots=True)
class ReachedSegment:
    """A segment so many references away from where a walk began; `via` is the one before it on the way."""

    segment_id: str
    hops: int
    via: str


def follow_references(start: str, links: Links, max_hops: int) -> tuple[ReachedSegment, ...]:
    """Return what is at most `max_hops` references away, breadth first, each once; cycles end.

    `links` is asked once a hop, with all that was reached by the one before.
    """
    reached: dict[str, ReachedSegment] = {start: ReachedSegment(start, 0, "")}
    edge = [start]
    for hops in range(1, max_hops + 1):
        found = links(edge)
        further = [(other, one) for one in edge for other in found.get(one, ()) if other not in reached]
        for other, one in further:
            reached.setdefault(other, ReachedSegment(other, hops, one))
        edge = list(dict.fromkeys(other for other, _ in further))
        if not edge:
            break
    return tuple(list(reached.values())[1:])


def stash_links(store: StashStore, direction: ReferenceDirection = ReferenceDirection.BOTH) -> Links:
    """Return the links between segments that are there; a reference to another one leads nowhere.

    Following them raises StoreError.
    """

    def links(identifiers: Sequence[str]) -> Mapping[str, Sequence[str]]:
        referring = {} if direction is ReferenceDirection.TO else store.referring(identifiers)

        def read(ledger: StashLedger) -> dict[str, list[str]]:
            there = ledger.records
            onward = direction is not ReferenceDirection.FROM
            found = {}
            for one in identifiers:
                own = there[one].references if onward and one in there else ()
                found[one] = [other for other in (*own, *referring.get(one, ())) if other in there]
            return found

        return store.reader.read(read)

    return links
