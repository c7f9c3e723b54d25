"""What to put aside from an active context so that it fits a budget, and why each piece stays or goes.

What cannot go is kept: the task, the latest turns, open errors, decisions, plans, and what
those refer to. Of the rest the least needed goes first: what a later reading supersedes, then what is old,
large and far from the task. Nothing of the agent's own context is changed by it.

A context is what a transcript holds since its last compaction. Sub-agents are left out: their reports are in
the context, their work is not. What was found in a piece, a decision or an error, is a part of it.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from workbench.records.dataclass import dataclass
from workbench.records.segments import ContextSegment, SegmentType
from workbench.stash.pieces import MESSAGE, TASK_TERMS, ContextPiece
from workbench.text.terms import count_terms

LATEST: Final = 6
"""Turns at the end of a context that stay, with what was read and printed in them."""
_CLOSE: Final = 0.5  # relevance to the task that is worth a reason
_FAR: Final = 0.15
_PIECES: Final = 2  # of each of the latest turns that stay besides its words
_OPEN: Final = 3  # times the latest turns in which an error is still open
_SHARE: Final = 4  # of the budget one piece of the latest turns may take, as a divisor
_TURNS: Final = 12.0  # turns after which a piece is worth a third as much
_LARGE: Final = 2_000  # tokens that are worth a reason
_USUAL: Final = 200  # tokens of a piece whose size counts little
_PATH: Final = re.compile(r"(?<![\w./-])[\w./-]+\.\w{1,8}\b")

_WORTH: Final = {
    SegmentType.MESSAGE: 0.6,
    SegmentType.TASK_STATE: 0.6,
    SegmentType.CODE_BLOCK: 0.5,
    SegmentType.RESEARCH: 0.45,
    SegmentType.FILE_CONTENT: 0.4,
    SegmentType.ERROR_LOG: 0.3,
    SegmentType.DEBUG_OUTPUT: 0.2,
}


@dataclass(frozen=True, slots=True)
class PrunedPiece:
    """A piece of the context. `segments` are the ids that it is made of: itself, and what was said in it.

    `why` is one sentence. `worth` in [0, 1] is what it was ranked by, made of `parts` in [0, 1] by name;
    `turn` counts from 0, the latest last.
    """

    segment: ContextSegment
    kept: bool
    why: str
    tokens: int
    turn: int
    worth: float
    parts: Mapping[str, float]
    segments: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PruneProposal:
    """What stays of a context and what is to be put aside, in the order of the transcript.

    `task` is what distances were taken from. Where `tokens_after` is over the budget, what cannot go is
    larger than it.
    """

    task: str
    budget: int
    pieces: tuple[PrunedPiece, ...]

    @property
    def kept(self) -> tuple[PrunedPiece, ...]:
        """What stays."""
        return tuple(piece for piece in self.pieces if piece.kept)

    @property
    def aside(self) -> tuple[PrunedPiece, ...]:
        """What is to be put aside."""
        return tuple(piece for piece in self.pieces if not piece.kept)

    @property
    def tokens_before(self) -> int:
        """Tokens of the context as it is."""
        return sum(piece.tokens for piece in self.pieces)

    @property
    def tokens_after(self) -> int:
        """Tokens of what stays."""
        return sum(one.tokens for one in self.kept)

    @property
    def fits(self) -> bool:
        """Whether what stays is within the budget."""
        return self.tokens_after <= self.budget


def propose_pruning(
    pieces: Sequence[ContextPiece],
    *,
    budget: int,
    task: str,
    similarities: Sequence[float] | None = None,
    latest: int = LATEST,
) -> PruneProposal:
    """Return what to put aside so that the rest has at most `budget` tokens.

    `similarities` are cosines of each piece and the task, None without a model: words alone decide then.
    """
    words = _word_relevance([piece.segment.text for piece in pieces], task)
    dense = [0.0] * len(pieces) if similarities is None else [max(0.0, min(1.0, one)) for one in similarities]
    share = 0.0 if similarities is None else 0.6
    near = [(1 - share) * word + share * vector for word, vector in zip(words, dense, strict=True)]
    superseded = _find_superseded(pieces)
    needed = _find_needed(pieces, latest, superseded, budget // _SHARE)
    last = max((piece.turn for piece in pieces), default=0)
    ranked: list[tuple[float, int]] = []
    parts: list[dict[str, float]] = []
    for place, one in enumerate(pieces):
        own = {
            "task": near[place],
            "recency": math.exp(-(last - one.turn) / _TURNS),
            "type": _WORTH.get(one.segment.type, 0.5),
            "size": 1 / math.sqrt(1 + one.tokens / _USUAL),
            "current": 0.0 if place in superseded else 1.0,
        }
        need = 0.5 * own["task"] + 0.3 * own["recency"] + 0.2 * own["type"]
        worth = own["current"] * own["size"] * need  # a small piece costs little to keep
        parts.append(own)
        ranked.append((worth, place))
    aside = _least_needed(pieces, ranked, needed, budget)
    judged = []
    for place, one in enumerate(pieces):
        kept = place not in aside
        why = needed.get(place, "") or _reason(one, parts[place], superseded.get(place, ""), last, kept=kept)
        ids = (one.segment.segment_id, *(part.segment_id for part in one.parts))
        worth = round(ranked[place][0], 4)
        judged.append(PrunedPiece(one.segment, kept, why, one.tokens, one.turn, worth, parts[place], ids))
    return PruneProposal(task, budget, tuple(judged))


def _least_needed(
    pieces: Sequence[ContextPiece],
    ranked: Sequence[tuple[float, int]],
    needed: Mapping[int, str],
    budget: int,
) -> set[int]:
    """Return the places of what goes; what would fit after all is taken back, the best first."""
    total = sum(piece.tokens for piece in pieces)
    aside: list[int] = []
    for _, place in sorted(ranked):
        if total <= budget:
            break
        if place not in needed:
            aside.append(place)
            total -= pieces[place].tokens
    for place in reversed(aside.copy()):
        if ranked[place][0] and total + pieces[place].tokens <= budget:
            aside.remove(place)
            total += pieces[place].tokens
    return set(aside)


def _find_superseded(pieces: Sequence[ContextPiece]) -> dict[int, str]:
    """Return {place: why} of what a later piece replaces: a file read again, the same command run again."""
    found: dict[int, str] = {}
    later: dict[tuple[str, str], list[ContextSegment]] = {}
    for place in range(len(pieces) - 1, -1, -1):
        one = pieces[place].segment
        key = _subject(one)
        if not key[0]:
            continue
        newer = next((other for other in later.get(key, ()) if _covers(other, one)), None)
        if newer is not None:
            found[place] = f"superseded by what came later at {place_of(newer)}"
        else:
            later.setdefault(key, []).append(one)
    return found


def _subject(one: ContextSegment) -> tuple[str, str]:
    """Return what a piece shows the state of: a file, a command, a plan; empty for what is said once."""
    if one.type is SegmentType.FILE_CONTENT:
        return "file", one.source
    if one.type in (SegmentType.DEBUG_OUTPUT, SegmentType.ERROR_LOG) and one.metadata.get("command"):
        return "command", _command(one)
    if one.metadata.get("kind") in ("tasks", "plan"):
        return one.metadata["kind"], one.metadata.get("path", "")
    return "", ""


def _covers(newer: ContextSegment, older: ContextSegment) -> bool:
    """Whether a later piece of the same file has all the lines of an earlier one; without lines it has."""
    first, _, last = newer.metadata.get("lines", "").partition("-")
    start, _, end = older.metadata.get("lines", "").partition("-")
    if newer.metadata.get("part") and not first:
        return newer.metadata["part"] == older.metadata.get("part")
    return not first or (bool(start) and int(first) <= int(start) and int(end) <= int(last))


def _command(one: ContextSegment) -> str:
    """Return what is run, without what only shows less of it."""
    return re.sub(
        r"(?:(?<!\s)\s+|)(?:2>&1|\|\s*(?:tail|head)\b[^|]*)", "", one.metadata.get("command", "")
    ).strip()


def place_of(one: ContextSegment) -> str:
    """Return where in its transcript a segment is: `#12`."""
    return "#" + one.metadata.get("place", one.source).rpartition("#")[2]


def _find_needed(
    pieces: Sequence[ContextPiece], latest: int, superseded: Mapping[int, str], most: int
) -> dict[int, str]:
    """Return {place: why} of what cannot go; an output of more than `most` tokens can, however new it is."""
    found: dict[int, str] = {}
    last = max((piece.turn for piece in pieces), default=0)
    prompts = [at for at, piece in enumerate(pieces) if piece.segment.metadata.get("role") == "user"]
    for place, one in enumerate(pieces):
        recent = one.turn > last - latest
        if place in prompts[:1]:
            found[place] = "it states the task"
        elif one.segment.metadata.get("kind") == "summary":
            found[place] = "it is what a compaction left of everything before"
        elif place in prompts[-1:] or (recent and one.segment.type is MESSAGE):
            found[place] = "it is of the latest turns"
        elif one.decides:
            found[place] = "a decision was made in it"
        elif place in superseded:
            continue
        elif one.fails and one.turn > last - _OPEN * latest and one.tokens <= most:
            found[place] = "the error is open: its command has not run again since"
        elif one.segment.type is SegmentType.TASK_STATE:
            found[place] = "it is the plan as it is now"
        elif recent and place >= len(pieces) - _PIECES * latest and one.tokens <= most:
            found[place] = "it is of the latest turns"
    for place, why in _find_referred(pieces, latest, most).items():
        if place not in superseded:
            found.setdefault(place, why)
    return found


def _find_referred(pieces: Sequence[ContextPiece], latest: int, most: int) -> dict[int, str]:
    """Return {place: why} of what the latest turns refer to: by id, or files by their names."""
    last = max((piece.turn for piece in pieces), default=0)
    recent = [piece for piece in pieces[-_PIECES * latest :] if piece.turn > last - latest]
    said = (one.segment.text for one in recent if one.segment.type is MESSAGE)
    words = (path for text in said for path in _PATH.findall(text[:TASK_TERMS]))
    sources = (one.segment.source for one in recent if "#" not in one.segment.source)
    named = {path.rpartition("/")[2] for path in (*sources, *words)}
    wanted = {name for one in recent for name in one.segment.references}
    found = {}
    for place, one in enumerate(pieces):
        if one.segment.segment_id in wanted:
            found[place] = "a later turn refers to it"
        elif (
            one.segment.type is SegmentType.FILE_CONTENT
            and one.tokens <= most
            and one.segment.source.rpartition("/")[2] in named
        ):
            found[place] = "the latest turns are about this file"
    return found


def _reason(one: ContextPiece, parts: Mapping[str, float], superseded: str, last: int, *, kept: bool) -> str:
    """Return why a piece that could go stays or goes."""
    if superseded:
        return superseded if not kept else f"{superseded}, but there is room"
    if kept:
        return "close to the task" if parts["task"] >= _CLOSE else "there is room for it"
    old = f"{last - one.turn} turns old" if last - one.turn > 1 else ""
    large = f"{one.tokens:,} tokens" if one.tokens >= _LARGE else ""
    far = "far from the task" if parts["task"] < _FAR else ""
    return ", ".join(filter(None, (old, large, far))) or "worth less than the rest"


def _word_relevance(texts: Sequence[str], task: str) -> list[float]:
    """Return the share of the task's terms that each text has, rare ones counting more: in [0, 1]."""
    counts = [count_terms(text[:50_000]) for text in texts]
    document = Counter(term for count in counts for term in count)
    wanted = {term: math.log(1 + len(texts) / (1 + document[term])) for term in count_terms(task)}
    whole = sum(sorted(wanted.values(), reverse=True)[:12])
    if not whole:
        return [0.0] * len(texts)
    return [min(1.0, sum(weight for term, weight in wanted.items() if term in one) / whole) for one in counts]
