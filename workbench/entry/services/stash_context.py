"""Segments taken back into a context, as every face does it: found, merged, recorded, removed if asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from msgspec.structs import replace

from workbench.records.answers.stash import LeftOutSegment, MergedSegment, MergeResponse, StashSummary
from workbench.records.segments import ContextSegment
from workbench.stash.merge import MergedContext, merge_segments, time_order
from workbench.stash.service import StashService
from workbench.stash.stashstore import StashLedger, StashStore, follow_references, stash_links

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
    beside = _beside(service.store, named, hops, neighbours)
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


def _beside(store: StashStore, named: Sequence[ContextSegment], hops: int, neighbours: int) -> dict[str, str]:
    """Return {id: why it comes along} of the segments beside those that were named."""
    found: dict[str, str] = {}
    links = stash_links(store)
    for one in named:
        for linked in follow_references(one.id, links, hops):
            found.setdefault(linked.segment_id, f"linked with {one.id}")
        if neighbours:
            ids = store.of_session(one.session_id)
            there = store.reader.read(partial(_there, ids=ids))
            order = [other.id for other in sorted(there, key=time_order)]
            place = order.index(one.id)
            for other in order[max(0, place - neighbours) : place + neighbours + 1]:
                found.setdefault(other, f"said beside {one.id}")
    return {name: why for name, why in found.items() if name not in {one.id for one in named}}


def _there(ledger: StashLedger, ids: Sequence[str]) -> list[ContextSegment]:
    return [ledger.records[one] for one in ids if one in ledger.records]


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
