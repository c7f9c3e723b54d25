"""Segments as a type of curated records: their journal entries, and what of them people decide.

The text of a segment is in the first entry that puts it and in no other: protecting a thousand segments, or
undoing the removal of all, writes a line each and no text again. A ledger therefore holds segments without
their texts, which are read where they are asked for.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any, Final

from workbench.curation import CURATION
from workbench.curation.records import EntryDraft, RecordType, StepMarks
from workbench.errors import UnknownRecord, UsageError
from workbench.records.segments import MAX_SEGMENT, ContextSegment, text_digest
from workbench.suggest import did_you_mean

STREAM: Final = "stash"
PUT: Final = "segment.put"
REMOVED: Final = "segment.removed"
SHOWN: Final = "segment.shown"
MERGED: Final = "segment.merged"
COLLECTED: Final = "segment.collected"
EMBEDDED: Final = "segment.embedded"
PRUNED: Final = "segment.pruned"
"""A pruning all of whose segments were there: a step that changes no segment, and that undo takes back."""
ORIGIN: Final = "team"
"""The key of what came from another machine of a team, with where from (`store.team.adoption`)."""
COLLECTING: Final = "collect "
"""How the titles of retention's steps begin: each machine keeps segments as its own settings say."""

_NEAR: Final = 1_000
"""Ids among which one is looked for that may have been meant."""

SHORT: Final = 12
"""Characters of an id that are shown: `seg-` and eight digits."""


def segment_id(session_id: str, source: str, text: str) -> str:
    """Return the id of a segment that was given none: the same text of the same place has the same."""
    key = "\0".join((session_id, source, text)).encode("utf-8", "surrogatepass")
    return f"seg-{hashlib.sha256(key).hexdigest()[:20]}"


def pruned_draft(marks: StepMarks) -> EntryDraft:
    """Return the entry of a step that changed no segment."""
    return EntryDraft(PRUNED, {CURATION: marks.body()}, home=False, stream=STREAM)


class SegmentRecordType(RecordType[ContextSegment]):
    """Segments: all of a project's are in one stream, and none is of all projects."""

    record = ContextSegment
    noun = "segment"
    group = "stash"
    shown = SHORT
    put = PUT
    removed = REMOVED
    settled = "segment.settled"
    reopened = "segment.reopened"
    facts = frozenset({SHOWN, MERGED, COLLECTED, EMBEDDED, PRUNED})
    editable = frozenset(
        {"type", "topic", "source", "session_id", "timestamp", "references", "expires_at", "protected"}
        | {"metadata"}
    )

    one_stream = STREAM

    def is_home(self, record: ContextSegment) -> bool:
        """Every segment is a project's."""
        return False

    def is_confirmed(self, record: ContextSegment) -> bool:
        """Whether somebody protected a segment."""
        return record.protected

    def to_body(self, record: ContextSegment) -> dict[str, Any]:
        """Return a segment as a journal body, without its text where the journal has it already."""
        body = RecordType.to_body(self, record)
        if not record.text:
            del body["text"]
        return body

    def record_ids(self, body: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the id of the segment of a journal body."""
        return (str(body.get("segment_id", "")),)

    def from_body(self, body: Mapping[str, Any]) -> ContextSegment:
        """Return the segment of a journal body, without its text. Raises: ParseError."""
        text = body.get("text", "")
        one = RecordType.from_body(self, {"id": body.get("segment_id"), "text": "", **body})
        return replace(one, text="", digest=text_digest(text)) if text else one

    def rename(self, record: ContextSegment, identifier: str, words: str = "") -> ContextSegment:
        """Return a version of a segment under another id, and with other words if any are given."""
        return replace(record, segment_id=identifier, text=words or record.text)

    def is_marked(self, draft: EntryDraft) -> bool:
        """Whether an entry says in a team what its writer had seen: one that puts a text has seen nothing."""
        return RecordType.is_marked(self, draft) and "text" not in draft.body

    def decisions_of(self, record: ContextSegment) -> object:
        """Return what people decide of a segment, by field; a time of creation that nobody gave is none."""
        values = {name: getattr(record, name) for name in sorted(self.editable)}
        if record.timestamp == record.stashed_at:
            del values["timestamp"]
        return values

    def problems(self, record: ContextSegment) -> tuple[str, ...]:
        """Return what is wrong with a segment's values."""
        found = []
        if not record.segment_id.strip() or len(record.segment_id) > 200:
            found.append("its id is empty or has more than 200 characters")
        elif not record.segment_id.isprintable():
            found.append("its id has characters that do not print")
        if len(record.text) > MAX_SEGMENT:
            found.append(f"its text has more than {MAX_SEGMENT:,} characters")
        if record.tokens < 0:
            found.append("it has less than no tokens")
        return tuple(found)


class SegmentDecisionType(SegmentRecordType):
    """Segments as what was put and decided of them, without how they were used."""

    facts = frozenset()


SEGMENTS: Final = SegmentRecordType()
DECISIONS: Final = SegmentDecisionType()


def identify(beginning: str, known: Collection[str]) -> str:
    """Return the one of the ids that begins so. Raises: UnknownRecord for none; UsageError for several."""
    if beginning in known:
        return beginning
    found = begun_ids(beginning, known)
    if len(found) == 1:
        return found[0]
    if found:
        raise UsageError(
            f"{len(found):,} segments begin with {beginning[:40]!r}",
            hint=f"Give more of it: {', '.join(found[:3])}, …",
        )
    near = (one for one in known if one.startswith(beginning[:6]) or one.endswith(beginning[-6:]))
    hint = did_you_mean(beginning, [one for one, _ in zip(near, range(_NEAR), strict=False)])
    raise UnknownRecord(
        f"there is no segment {beginning[:40]!r}", hint=hint or "`workbench stash list` shows all."
    )


def begun_ids(beginning: str, known: Collection[str]) -> list[str]:
    """Return the ids that begin so, with or without `seg-`, sorted."""
    forms = (beginning, f"seg-{beginning}") if beginning else ()
    return sorted(one for one in known if forms and one.startswith(forms))
