"""Pruning proposals for transcripts, as every face makes them, and putting aside what they propose."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from workbench.entry.project import OpenedProject
from workbench.errors import ModelError, UsageError
from workbench.records.answers.stash import JudgedPiece, PruneResponse
from workbench.records.segments import ContextSegment
from workbench.sessions.importers.lines import open_transcript
from workbench.stash.activecontext import ContextPiece, context_pieces, task_of
from workbench.stash.pruning import (
    LATEST,
    PrunedPiece,
    PruneProposal,
    propose_pruning,
)
from workbench.stash.reading import TranscriptSegments, read_segments
from workbench.stash.service import StashAddition, StashService
from workbench.stash.times import utc_time

_EMBEDDED = 1_600  # characters of a piece, or of the task, that are embedded


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
    return TranscriptPruning(proposal, {one.segment_id: one for one in segments}, note)


def stash_proposal(
    service: StashService, pruning: TranscriptPruning, *, expires_at: str | None = None, title: str = ""
) -> StashAddition:
    """Put aside what a proposal names, as one step; equal texts once. Raises: UsageError, StoreError."""
    chosen: dict[tuple[str, str, str], ContextSegment] = {}
    for piece in pruning.proposal.aside:
        for name in piece.segments:
            one = pruning.segments[name]
            chosen.setdefault((one.type, one.source.partition("#")[0], one.text), one)
    given = [replace(one, expires_at=expires_at) for one in chosen.values()]
    return service.add_many(given, title=title or "prune a context", reason=pruning.proposal.task[:200])


def prune_response(pruning: TranscriptPruning, stashed: Sequence[ContextSegment] = ()) -> PruneResponse:
    """Return a proposal as an answer, with what of it was stashed."""
    proposal = pruning.proposal
    return PruneResponse(
        task=proposal.task,
        budget=proposal.budget,
        fits=proposal.fits,
        tokens_before=proposal.tokens_before,
        tokens_after=proposal.tokens_after,
        aside=tuple(map(_judged, proposal.aside)),
        kept=tuple(map(_judged, proposal.kept)),
        note=pruning.note,
        stashed=tuple(one.segment_id for one in stashed),
    )


def _judged(piece: PrunedPiece) -> JudgedPiece:
    return JudgedPiece(
        segment_id=piece.segment.segment_id,
        type=piece.segment.type,
        source=piece.segment.source,
        turn=piece.turn,
        tokens=piece.tokens,
        why=piece.why,
        worth=piece.worth,
        parts={name: round(value, 4) for name, value in piece.parts.items()},
        segments=piece.segments,
    )


def _read(path: Path, count: Callable[[str], int]) -> list[ContextSegment]:
    reading = TranscriptSegments()
    try:
        at = utc_time(path.stat().st_mtime)
        with open_transcript(path) as handle:
            found = read_segments(handle, reading, name=path.name, fallback_at=at)
            return [replace(one, tokens=count(one.text)) for one in found]
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
        found = vectors.embed([task[:_EMBEDDED], *(one.segment.text[:_EMBEDDED] for one in pieces)])
    except ModelError as error:
        return None, f"distances from the task go by words alone: {error.message}"
    return [float(one) for one in found[1:] @ found[0]], ""
