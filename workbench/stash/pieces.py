"""The pieces of an active context, as they may stay in it or go."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Final

from workbench.records.dataclass import dataclass
from workbench.records.segments import ContextSegment, SegmentType
from workbench.stash.blocks import FOLDED_CODE

MESSAGE: Final = SegmentType.MESSAGE
_SAYS: Final = 40  # characters of a prompt that says what is to be done
TASK_TERMS: Final = 4_000  # characters of a task that are looked at


@dataclass(slots=True)
class ContextPiece:
    """A piece of an active context with what was found in it: decisions, errors, code."""

    segment: ContextSegment
    turn: int
    tokens: int
    parts: list[ContextSegment] = field(default_factory=list)

    @property
    def decides(self) -> bool:
        """Whether a decision was made in it."""
        return any(one.type is SegmentType.DECISION for one in (self.segment, *self.parts))

    @property
    def fails(self) -> bool:
        """Whether it is the output of a command that failed."""
        own = (self.segment, *self.parts)
        return any(one.type is SegmentType.ERROR_LOG and one.metadata.get("command") for one in own)


def context_pieces(segments: Sequence[ContextSegment]) -> list[ContextPiece]:
    """Return the pieces of an active context, the segments of a transcript in order with their tokens.

    It begins at the last summary of a compaction. What was found in a piece is a part of it.
    """
    own = [segment for segment in segments if not segment.metadata.get("agent")]
    for place in range(len(own) - 1, -1, -1):
        if own[place].metadata.get("kind") == "summary":
            own = own[place:]
            break
    owners = {name: one.segment_id for one in own if one.type is MESSAGE for name in one.references}
    pieces: dict[str, ContextPiece] = {}
    waiting: dict[str, list[ContextSegment]] = {}
    turn = -1
    for one in own:
        if one.type is SegmentType.CODE_BLOCK and one.segment_id in owners:
            waiting.setdefault(owners[one.segment_id], []).append(one)
            continue
        held = next((pieces[name] for name in one.references if name in pieces), None)
        if held is not None and _is_part(one, held.segment):
            held.parts.append(one)
            continue
        turn += one.type is MESSAGE or turn < 0
        omitted = int(one.metadata.get("omitted", "0")) // 4
        piece = ContextPiece(one, turn, one.tokens + omitted, waiting.pop(one.segment_id, []))
        piece.tokens += sum(code.tokens for code in piece.parts if code.text.count("\n") >= FOLDED_CODE)
        pieces[one.segment_id] = piece
    return list(pieces.values())


def _is_part(one: ContextSegment, of: ContextSegment) -> bool:
    """Whether a segment was found in the text of another one that it refers to."""
    if one.type is SegmentType.DECISION:
        return "question" not in one.metadata
    of_output = of.type is SegmentType.DEBUG_OUTPUT or "role" in one.metadata
    return one.type is SegmentType.ERROR_LOG and of_output


def task_of(pieces: Sequence[ContextPiece]) -> str:
    """Return what a context is about now: the user's last words that say something, with what is planned."""
    said = [piece.segment.text for piece in pieces if piece.segment.metadata.get("role") == "user"]
    plans = [one.segment.text for one in pieces if one.segment.metadata.get("kind") in ("plan", "tasks")]
    left = [piece.segment.text for piece in pieces if piece.segment.metadata.get("kind") == "summary"]
    words = next((words for words in reversed(said) if len(words) > _SAYS), "") or "".join(said[-1:])
    return "\n\n".join([one for one in (words, *plans[-1:]) if one] or left)[:TASK_TERMS]
