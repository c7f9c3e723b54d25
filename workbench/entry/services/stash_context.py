"""Contexts, as every face changes them: segments taken back, proposals what to put aside."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from msgspec import structs

from workbench.entry.project import OpenedProject
from workbench.errors import ModelError, UsageError
from workbench.records.answers.stash import (
    JudgedPiece,
    LeftOutSegment,
    MergedSegment,
    MergeResponse,
    PruneResponse,
    StashSummary,
)
from workbench.records.segments import ContextSegment
from workbench.sessions.importers.lines import open_transcript
from workbench.stash.merge import MergedContext, merge_segments, time_order
from workbench.stash.pieces import ContextPiece, context_pieces, task_of
from workbench.stash.pruning import LATEST, PrunedPiece, PruneProposal, propose_pruning
from workbench.stash.reading import TranscriptSegments, read_segments
from workbench.stash.service import StashAddition, StashService
from workbench.stash.stashstore import StashLedger, StashStore, follow_references, stash_links
from workbench.stash.times import utc_time

Condense = Callable[[Sequence[ContextSegment]], StashSummary]

_EMBEDDED = 1_600  # characters of a piece, or of the task, that are embedded


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
    service.note_merged([segment.id for segment in merged.segments], session_id=session_id)
    found = _response(merged, beside, remove)
    if summary is None or not summary.sentences:
        return structs.replace(found, summary=summary)
    rest = [segment for segment in merged.segments if segment.id in summary.left_out]
    text = summary.text + merge_segments(rest, store.now(), store.count_tokens, beside=beside).text
    return structs.replace(found, text=text, tokens_added=store.count_tokens(text), summary=summary)


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
    return [ledger.records[identifier] for identifier in ids if identifier in ledger.records]


def _response(merged: MergedContext, beside: Mapping[str, str], removed: bool) -> MergeResponse:
    return MergeResponse(
        merged_count=len(merged.segments),
        tokens_added=merged.tokens,
        text=merged.text,
        segments=tuple(MergedSegment.of(one, beside=beside.get(one.id, "")) for one in merged.segments),
        left_out=tuple(LeftOutSegment(name, reason) for name, reason in merged.left_out),
        conflicts=merged.conflicts,
        removed=removed,
    )


@dataclass(frozen=True, slots=True)
class TranscriptPruning:
    """A proposal, the segments of what it is about by id, and a note where no model was at hand."""

    proposal: PruneProposal
    segments: dict[str, ContextSegment]
    note: str = ""


def prune_transcript(
    project: OpenedProject, path: Path, *, budget: int, task: str = "", latest: int = LATEST
) -> TranscriptPruning:
    """Return what of the active context in a transcript to put aside for a budget of tokens.

    Without a task it is about what the user asked for last. Raises: UsageError for what is no transcript.
    """
    segments = _read(path, project.counter.count)
    pieces = context_pieces(segments)
    if not pieces:
        raise UsageError(
            f"{path} holds no conversation", hint="Give a transcript of Claude Code or Codex, or stream-json."
        )
    about = task.strip() or task_of(pieces)
    similarities, note = _similarities(project, pieces, about)
    proposal = propose_pruning(pieces, budget=budget, task=about, similarities=similarities, latest=latest)
    return TranscriptPruning(proposal, {segment.segment_id: segment for segment in segments}, note)


def stash_proposal(
    service: StashService, pruning: TranscriptPruning, *, expires_at: str | None = None, title: str = ""
) -> StashAddition:
    """Put aside what a proposal names, as one step, also where all of it was there; equal texts once.

    Raises: UsageError, StoreError.
    """
    chosen: dict[tuple[str, str, str], ContextSegment] = {}
    for piece in pruning.proposal.aside:
        for name in piece.segments:
            one = pruning.segments[name]
            chosen.setdefault((one.type, one.source.partition("#")[0], one.text), one)
    given = [replace(one, expires_at=expires_at) for one in chosen.values()]
    title, reason = title or "prune a context", pruning.proposal.task[:200]
    addition = service.add_many(given, title=title, reason=reason)
    if given and not addition.added:
        service.note_pruned(title, reason=reason)
    return addition


def prune_response(pruning: TranscriptPruning, addition: StashAddition | None = None) -> PruneResponse:
    """Return a proposal as an answer, with what of it was stashed and what was there."""
    proposal = pruning.proposal
    names = () if addition is None else tuple(segment.segment_id for segment in addition.segments)
    added = frozenset() if addition is None else addition.added
    return PruneResponse.of(
        proposal,
        aside=tuple(map(_judged_piece, proposal.aside)),
        kept=tuple(map(_judged_piece, proposal.kept)),
        note=pruning.note,
        stashed=tuple(name for name in names if name in added),
        known=tuple(name for name in names if name not in added),
    )


def _judged_piece(piece: PrunedPiece) -> JudgedPiece:
    segment, parts = piece.segment, {name: round(value, 4) for name, value in piece.parts.items()}
    return JudgedPiece.of(
        piece, segment_id=segment.segment_id, type=segment.type, source=segment.source, parts=parts
    )


def _read(path: Path, count: Callable[[str], int]) -> list[ContextSegment]:
    reading = TranscriptSegments()
    try:
        at = utc_time(path.stat().st_mtime)
        with open_transcript(path) as handle:
            segments = read_segments(handle, reading, name=path.name, fallback_at=at)
            return [replace(one, tokens=count(one.text)) for one in segments]
    except OSError as error:
        reason = error.strerror or str(error)
        raise UsageError(f"{path} cannot be read: {reason}", hint="Name a transcript.") from error


def _similarities(
    project: OpenedProject, pieces: Sequence[ContextPiece], task: str
) -> tuple[list[float] | None, str]:
    """Return the cosine of each piece and the task, None without a model, and what is missing then."""
    vectors, missing = project.text_vectors
    if vectors is None or not task:
        return None, "" if vectors is not None else f"distances from the task go by words alone: {missing}"
    try:
        found = vectors.embed([task[:_EMBEDDED], *(piece.segment.text[:_EMBEDDED] for piece in pieces)])
    except ModelError as error:
        return None, f"distances from the task go by words alone: {error.message}"
    return [float(one) for one in found[1:] @ found[0]], ""
