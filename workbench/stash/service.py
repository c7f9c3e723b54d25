"""The service that keeps the stash: what it does for records of any type, without copying a large ledger.

It puts segments aside (`add`, `add_many`), decides about them (`edit`, `protect`, `expire_at`, `remove`),
notes how they were used (`note_shown`, `note_merged`, which are no steps) and reads them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, ClassVar

from workbench.curation.conflicts import ConflictDecision, check_open, check_unchanged
from workbench.curation.records import EntryDraft, RecordChange, StepDraft, new_marks
from workbench.curation.service import CurationService
from workbench.curation.steps import draft_same_changes, nothing_to_change, some_names
from workbench.curation.store import record
from workbench.errors import UnknownRecord, UsageError
from workbench.records.dataclass import dataclass
from workbench.records.segments import MAX_SEGMENT, ContextSegment, text_digest
from workbench.stash.lifecycle import RetentionPolicy, StashCollection, plan_collection
from workbench.stash.segmenttype import (
    COLLECTED,
    COLLECTING,
    EMBEDDED,
    MERGED,
    SEGMENTS,
    SHORT,
    SHOWN,
    STREAM,
    begun_ids,
    identify,
    pruned_draft,
    segment_id,
)
from workbench.stash.stashstore import LOCK, StashLedger, StashStore
from workbench.stash.times import require_time
from workbench.text.counts import plural
from workbench.text.redact import redact_values

if TYPE_CHECKING:
    from workbench.stash.concurrency import SegmentConflict


@dataclass(frozen=True, slots=True)
class StashAddition:
    """What was put aside: `segments` in the order given, and of those the ids that are new."""

    segments: tuple[ContextSegment, ...]
    added: frozenset[str]

    @property
    def summary(self) -> str:
        """How many are new and how many were there: `2 segments added, 3 known`."""
        known = len(self.segments) - len(self.added)
        return f"{plural(len(self.added), 'segment')} added" + (f", {known:,} known" if known else "")


@dataclass(frozen=True, slots=True)
class SegmentUses:
    """How often a query found a segment, and how often it was taken back into a context."""

    shown: int = 0
    merged: int = 0


@dataclass(frozen=True, slots=True)
class StashService(CurationService[StashLedger, ContextSegment]):
    """Keeps the segments of a project. `by` is the face that acts.

    Segments it returns have no text unless it says so: `with_texts` reads those of some.
    """

    store: StashStore

    LOCK: ClassVar[str] = LOCK

    def add(self, segment: ContextSegment, *, reason: str = "") -> ContextSegment:
        """Put a segment aside and return it as it is kept. Raises: as `add_many`."""
        return self.add_many([segment], reason=reason).segments[0]

    def add_many(
        self, segments: Iterable[ContextSegment], *, reason: str = "", title: str = "", step: str = ""
    ) -> StashAddition:
        """Put segments aside as one step, with one write; return them with their texts as they are kept.

        Secrets are masked, tokens counted, what was left out is filled in: an id, times. One that is there,
        with the same text, stays as it is. What is given the id of the same `step` is one step together.
        Raises: UsageError for an empty or too long text, an invalid time, or an id that has another text, and
        then nothing is kept; StoreError.
        """
        now = self.store.moment()
        given = [self._prepare(one, now) for one in segments]
        why, name = redact_values(reason), redact_values(title)
        known: dict[str, ContextSegment] = {}

        def make(ledger: StashLedger) -> StepDraft[ContextSegment]:
            new: dict[str, ContextSegment] = {}
            for one in given:
                before = new.get(one.id) or ledger.versions.get(one.id)
                if before is not None and before.digest != one.digest:
                    raise UsageError(
                        f"the id {one.id} is that of another text",
                        hint="A segment's text never changes: give another id, or none.",
                    )
                if one.id in ledger.records:
                    known[one.id] = replace(ledger.records[one.id], text=one.text)
                else:
                    new.setdefault(one.id, one)
            marks = new_marks(name or f"stash {some_names(SEGMENTS, [*new.values()])}", why)
            marks = replace(marks, step=step or marks.step)
            # One that was removed comes back; the journal has its text.
            puts = [replace(one, text="") if key in ledger.versions else one for key, one in new.items()]
            return StepDraft(marks.title, tuple(SEGMENTS.put_draft(one, marks) for one in puts), tuple(puts))

        added = frozenset(one.id for one in self.step(make).records)
        return StashAddition(tuple(known.get(one.id, one) for one in given), added)

    def note_pruned(self, title: str, *, reason: str = "") -> None:
        """Note a step that put nothing aside, since all was there: undo is not for the step before it.

        Raises: StoreError.
        """
        marks = new_marks(redact_values(title), redact_values(reason))
        self.step(lambda ledger: StepDraft(marks.title, (pruned_draft(marks),)))

    def protect(self, identifiers: Sequence[str], *, reason: str = "") -> tuple[ContextSegment, ...]:
        """Keep segments from expiring and from being collected. Raises: UsageError, StoreError."""
        return self._set(identifiers, {"protected": True}, verb="protect", reason=reason)

    def unprotect(self, identifiers: Sequence[str], *, reason: str = "") -> tuple[ContextSegment, ...]:
        """Let segments expire and be collected again. Raises: UsageError, StoreError."""
        return self._set(identifiers, {"protected": False}, verb="unprotect", reason=reason)

    def expire_at(
        self, identifiers: Sequence[str], moment: str | None, *, reason: str = ""
    ) -> tuple[ContextSegment, ...]:
        """Let segments expire at a moment (ISO 8601), None for never. Raises: UsageError, StoreError."""
        at = None if moment is None else require_time(moment)
        return self._set(identifiers, {"expires_at": at}, verb="expire" if at else "keep", reason=reason)

    def expire_in(
        self, identifiers: Sequence[str], days: float, *, reason: str = ""
    ) -> tuple[ContextSegment, ...]:
        """Let segments expire in so many days from now. Raises: UsageError, StoreError."""
        return self.expire_at(identifiers, self.in_days(days), reason=reason)

    def in_days(self, days: float) -> str:
        """Return the moment in so many days. Raises: UsageError for one that no calendar has."""
        try:
            at = datetime.fromtimestamp(self.store.now(), UTC) + timedelta(days=days)
        except (OverflowError, ValueError) as error:
            raise UsageError(f"{days} days lead nowhere", hint="Give days as a number, like 14.") from error
        return at.isoformat(timespec="seconds")

    def remove(self, identifiers: Sequence[str], *, reason: str = "") -> None:
        """Remove segments; `undo` brings them back. Raises: UsageError for an unknown or protected one."""
        why = redact_values(reason)

        def make(ledger: StashLedger) -> StepDraft[ContextSegment]:
            found = self._find_segments(ledger, identifiers)
            for one in found:
                if one.protected:
                    raise UsageError(
                        f"{one.id} is protected", hint=f"workbench stash protect {one.id[:SHORT]} --off"
                    )
            marks = new_marks(f"remove {some_names(SEGMENTS, found)}", why)
            return StepDraft(marks.title, tuple(SEGMENTS.removed_draft(one, marks) for one in found))

        self.step(make)

    def collect(self, policy: RetentionPolicy, *, dry_run: bool = False) -> StashCollection:
        """Remove what a policy gives up, as one step that `undo` takes back; return what, and why.

        With `dry_run` nothing is changed. Raises: StoreError.
        """
        now = self.store.now()
        if dry_run:
            return self.store.reader.read(lambda ledger: plan_collection(ledger, policy, now))
        done: list[StashCollection] = []

        def make(ledger: StashLedger) -> StepDraft[ContextSegment]:
            plan = plan_collection(ledger, policy, now)
            done.append(plan)
            marks = new_marks(f"{COLLECTING}{plural(len(plan.disposals), 'segment')}")
            removals = (
                SEGMENTS.removed_draft(one.segment, replace(marks, reason=one.why), one.successor)
                for one in plan.disposals
            )
            ran = EntryDraft(COLLECTED, {"removed": len(plan.disposals)}, home=False, stream=STREAM)
            return StepDraft(marks.title, (*removals, ran))

        self.step(make)
        return done[0]

    def collect_daily(self, policy: RetentionPolicy) -> StashCollection | None:
        """Do what `collect` does unless it was done today (in UTC), which is None. Raises: StoreError."""
        today = self.store.moment()[:10]
        last = self.store.reader.read(lambda ledger: ledger.collected)
        return None if last.startswith(today) else self.collect(policy)

    def note_shown(self, identifiers: Sequence[str], *, query: str = "", session_id: str = "") -> None:
        """Note that a query found segments, once whatever the number. Raises: StoreError."""
        self._note(SHOWN, identifiers, query, session_id)

    def note_merged(self, identifiers: Sequence[str], *, query: str = "", session_id: str = "") -> None:
        """Note that segments were taken back into a context: they were useful. Raises: StoreError."""
        self._note(MERGED, identifiers, query, session_id)

    def note_embedded(self, models: Mapping[str, str]) -> None:
        """Note that an index was written with vectors of all segments, by type, "" for all others.

        Raises: StoreError.
        """
        body: dict[str, object] = {"model": models[""]}
        if types := {kind: model for kind, model in models.items() if kind}:
            body["types"] = types
        self.store.journal.append(STREAM, EMBEDDED, [body], by=self.by, sync=False)

    def uses(self, identifier: str) -> SegmentUses:
        """Return how a segment was used. Raises: StoreError."""
        return self.store.reader.read(
            lambda ledger: SegmentUses(ledger.shown.get(identifier, 0), ledger.merged.get(identifier, 0))
        )

    def count(self) -> int:
        """Return how many segments there are. Raises: StoreError."""
        return self.store.reader.read(lambda ledger: len(ledger.records))

    def find(self, identifier: str) -> ContextSegment:
        """Return a segment with its text, by the beginning of its id. Raises: UsageError, StoreError."""
        return self.find_all([identifier])[0]

    def find_all(self, identifiers: Sequence[str]) -> tuple[ContextSegment, ...]:
        """Return segments with their texts, in the order given. Raises: UsageError, StoreError."""
        return self.with_texts(
            self.store.reader.read(lambda ledger: self._find_segments(ledger, identifiers))
        )

    def with_texts(self, segments: Sequence[ContextSegment]) -> tuple[ContextSegment, ...]:
        """Return segments with their texts. Raises: StoreError."""
        texts = self.store.texts([one.id for one in segments])
        return tuple(replace(one, text=texts.get(one.id, "")) for one in segments)

    def conflicts(self) -> tuple[SegmentConflict, ...]:
        """Return what machines of a team decided apart of segments, with their texts, newest first.

        Raises: StoreError.
        """
        if self.store.peers() is None:
            return ()
        from workbench.stash.concurrency import conflicts_of, with_text  # where a team is used

        names = self.store.names()
        found = self.store.team_reader.read(lambda ledger: conflicts_of(ledger, names))
        self.store.team_reader.save()
        texts = self.store.texts([one.segment_id for one in found])
        return tuple(with_text(one, texts.get(one.segment_id, "")) for one in found)

    def resolve(
        self, decision: ConflictDecision, *, seen: Iterable[ContextSegment] = ()
    ) -> tuple[ContextSegment, ...]:
        """Decide which of two versions of a segment holds, or with `merge` both.

        Raises: ConflictSettled, RecordChanged if others were faster; UsageError, StoreError.
        """

        def make(ledger: StashLedger) -> StepDraft[ContextSegment]:
            def draft(team: StashLedger) -> StepDraft[ContextSegment]:
                check_open(team, decision.conflict)
                check_unchanged(ledger, seen)
                return self._settlement(team, decision)

            return self.store.team_reader.read(draft)

        return self.step(make).records

    def history(self, identifier: str = "") -> tuple[RecordChange[ContextSegment], ...]:
        """Return every change of a segment, or of all, oldest first. Raises: UsageError for none."""

        def read(ledger: StashLedger) -> tuple[RecordChange[ContextSegment], ...]:
            if not identifier:
                return tuple(ledger.changes)
            wanted = identify(identifier, ledger.versions)
            return tuple(one for one in ledger.changes if one.record_id == wanted)

        return self.store.reader.read(read)

    def step(self, make: Callable[[StashLedger], StepDraft[ContextSegment]]) -> StepDraft[ContextSegment]:
        """Make a step of the ledger as it is now and record it, without copying the ledger."""
        with self.store.lock(self.LOCK):
            drafts = self.store.reader.read(make)
            record(self.store, drafts.entries, by=self.by)
        self.store.reader.save()
        return drafts

    def identify(self, ledger: StashLedger, beginning: str) -> str:
        """Return the whole id of a segment from its beginning. Raises: UsageError for none or several."""
        try:
            return identify(beginning, ledger.records)
        except UnknownRecord:
            gone = begun_ids(beginning, ledger.versions)
            if len(gone) != 1:
                raise
            raise UnknownRecord(
                f"{gone[0]} was removed",
                hint=f"`workbench stash history {gone[0][:SHORT]}` says when and why.",
            ) from None

    def prepared_changes(self, before: ContextSegment, changes: Mapping[str, Any]) -> dict[str, Any]:
        """Return changes as they are kept. Raises: UsageError for an invalid time, or for another text."""
        mine = CurationService.prepared_changes(self, before, changes)
        if "text" in mine:
            raise UsageError(
                "the text of a segment never changes", hint="Remove it and stash the other text instead."
            )
        for name in ("timestamp", "expires_at"):
            if mine.get(name):
                mine[name] = require_time(mine[name])
        return mine

    def _prepare(self, one: ContextSegment, now: str) -> ContextSegment:
        """Return a new segment as it is kept. Raises: UsageError."""
        if not one.text.strip():
            raise UsageError("an empty text is not a segment", hint="Give the text that is to be put aside.")
        if len(one.text) > MAX_SEGMENT:
            raise UsageError(
                f"{len(one.text):,} characters are too many for one segment; {MAX_SEGMENT:,} are the most",
                hint="`workbench stash add` and `stash import` cut a long text into parts; add its parts.",
            )
        one = redact_values(replace(one, text=_storable(one.text)))
        segment = replace(
            one,
            segment_id=one.segment_id or segment_id(one.session_id, one.source, one.text),
            timestamp=require_time(one.timestamp) if one.timestamp else now,
            stashed_at=now,
            tokens=self.store.count_tokens(one.text),
            references=tuple(dict.fromkeys(one.references)),
            expires_at=require_time(one.expires_at) if one.expires_at else None,
            project_id=self.store.project_id,
            digest=text_digest(one.text),
        )
        return SEGMENTS.require_valid(segment)

    def _find_segments(self, ledger: StashLedger, identifiers: Sequence[str]) -> list[ContextSegment]:
        if not identifiers:
            raise UsageError("no segment is named", hint="Name one or more by their ids.")
        found = (self.identify(ledger, one) for one in dict.fromkeys(identifiers))
        return [ledger.find(one) or ledger.require(one) for one in found]

    def _set(
        self, identifiers: Sequence[str], changes: Mapping[str, Any], *, verb: str, reason: str
    ) -> tuple[ContextSegment, ...]:
        """Give segments new values as one step; those that have them already are left alone."""
        why = redact_values(reason)

        def make(ledger: StashLedger) -> StepDraft[ContextSegment]:
            found = self._find_segments(ledger, identifiers)
            ids = [one.id for one in found if any(getattr(one, key) != new for key, new in changes.items())]
            if not ids:
                raise nothing_to_change(SEGMENTS, found[0].id)
            return draft_same_changes(ledger, ids, changes, verb=verb, reason=why)

        return self.step(make).records

    def _note(self, kind: str, identifiers: Sequence[str], query: str, session_id: str) -> None:
        if not identifiers:
            return
        digest = hashlib.sha256(query.encode("utf-8", "surrogatepass")).hexdigest()[:16] if query else ""
        body = {"ids": list(dict.fromkeys(identifiers)), "query": digest, "session_id": session_id}
        # A count that a failing machine loses is no decision of anybody's.
        self.store.journal.append(STREAM, kind, [body], by=self.by, sync=False)


def _storable(text: str) -> str:
    """Return a text without lone surrogates, which tables cannot hold."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
    return text
