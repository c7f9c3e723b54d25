"""Segments taken back into a context, as every face does it: found, merged, recorded, removed if asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from msgspec.structs import replace

from workbench.records.answers.stash import LeftOutSegment, MergedSegment, MergeResponse, StashSummary
from workbench.records.segments import ContextSegment
from workbench.stash.merge import MergedContext, merge_segments, time_order
from workbench.stash.references import follow_references, reference_links
from workbench.stash.service import StashService
from workbench.stash.stashstore import StashLedger

Condense = Callable[[Sequence[ContextSegment]], StashSummary]


def merge_for(
    service: StashService,
    identifiers: Sequence[str],
    *,
    hops: int = 0,
    neighbours: int = 0,
    remove: bool = False,
    session_id: str = "",
    summarize: Condense | None = None,
) -> MergeResponse:
    """Merge segments, named by the beginnings of their ids, into one framed text [rag §9].

    With `hops` those that they refer to and that refer to them come along, so many references away, with
    `neighbours` so many of their session just before and after each. It is recorded that they were useful,
    to the session `session_id` if that is known. With `remove` those that were named leave the stash. With
    `summarize` the text is a summary and the segments there was no room for in it; without one, all of them.

    Raises: UsageError for an unknown id, and with `remove` for a protected segment; StoreError.
    """
    named = service.find_all(identifiers)
    beside = service.store.reader.read(lambda ledger: _beside(ledger, named, hops, neighbours))
    others = service.find_all([*beside]) if beside else ()
    store = service.store
    merged = merge_segments((*named, *others), store.now(), store.count_tokens, beside=beside)
    summary = None if summarize is None else summarize(merged.segments)
    if remove:
        service.remove([one.id for one in named], reason="merged back into a context")
    service.note_merged([one.id for one in merged.segments], session_id=session_id)
    found = _response(merged, beside, remove)
    if summary is None or not summary.sentences:
        return replace(found, summary=summary)
    rest = [one for one in merged.segments if one.id in summary.left_out]
    text = summary.text + merge_segments(rest, store.now(), store.count_tokens, beside=beside).text
    return replace(found, text=text, tokens_added=store.count_tokens(text), summary=summary)


def _beside(
    ledger: StashLedger, named: Sequence[ContextSegment], hops: int, neighbours: int
) -> dict[str, str]:
    """Return {id: why it comes along} of the segments beside those that were named."""
    found: dict[str, str] = {}
    links = reference_links(ledger.records.values() if hops else ())
    for one in named:
        for linked in follow_references(one.id, links, hops):
            found.setdefault(linked.segment_id, f"linked with {one.id}")
        if neighbours:
            session = [other for other in ledger.records.values() if other.session_id == one.session_id]
            session.sort(key=time_order)
            place = next(at for at, other in enumerate(session) if other.id == one.id)
            for other in session[max(0, place - neighbours) : place + neighbours + 1]:
                found.setdefault(other.id, f"said beside {one.id}")
    return {name: why for name, why in found.items() if name not in {one.id for one in named}}


def _response(merged: MergedContext, beside: Mapping[str, str], removed: bool) -> MergeResponse:
    return MergeResponse(
        merged_count=len(merged.segments),
        tokens_added=merged.tokens,
        text=merged.text,
        segments=tuple(
            MergedSegment(
                segment_id=one.id,
                type=one.type,
                session_id=one.session_id,
                timestamp=one.timestamp,
                source=one.source,
                tokens=one.tokens,
                beside=beside.get(one.id, ""),
            )
            for one in merged.segments
        ),
        left_out=tuple(LeftOutSegment(name, reason) for name, reason in merged.left_out),
        conflicts=merged.conflicts,
        removed=removed,
    )
