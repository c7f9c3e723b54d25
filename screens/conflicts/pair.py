"""A pair in the queue: two sides that repeat or contradict each other, and what may be decided about them.

Rules, learnings and segments are all pairs here; where they come from and how they are settled is their
source's affair. Nothing in this module asks the engine.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from workbench.curation.concurrency import REMOVED, is_version
from workbench.curation.conflicts import ConflictDecision
from workbench.lists.conflicts import ConflictRow
from workbench.records.conflicts import Action, ConflictKind, Evidence, Suggestion
from workbench.records.learnings import FeatureLearning
from workbench.records.rules import Rule
from workbench.records.segments import ContextSegment

_OF_VERSIONS: Final = (Action.KEEP_LEFT, Action.KEEP_RIGHT, Action.MERGE)

_TEXT: Final = 60  # characters of a version that name it
SHORT: Final = 17
"""Characters of a conflict's id that tell it from others: `conflict-` and eight digits."""


class PairType(StrEnum):
    """What the sides of a pair are."""

    RULE = "rule"
    LEARNING = "learning"
    SEGMENT = "segment"


@dataclass(frozen=True, slots=True)
class PairSide:
    """One of the two.

    `where` says where it comes from; `file` and `lines` (1-based, inclusive; 0 where unknown) are what can be
    opened there. `facts` are what else may speak for or against it, by name. `scopes` are what it could be
    narrowed to, likeliest first. `seen` is the record as it was shown, None where it is gone.
    """

    id: str
    text: str
    where: str
    seen: Rule | FeatureLearning | ContextSegment | None
    file: str = ""
    lines: tuple[int, int] = (0, 0)
    facts: tuple[tuple[str, str], ...] = ()
    scope: tuple[str, ...] = ()
    scopes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RecordPair:
    """Two sides in conflict. `score` in [0, 1] says how sure that is, `why` in one sentence what clashes."""

    id: str
    of: PairType
    kind: ConflictKind
    score: float
    left: PairSide
    right: PairSide
    why: str
    evidence: tuple[Evidence, ...]
    suggestion: Suggestion

    @property
    def sides(self) -> tuple[PairSide, PairSide]:
        """Both sides."""
        return self.left, self.right

    @property
    def actions(self) -> Sequence[Action]:
        """What can be decided: of two versions of one record one holds, or a third.

        A segment's text never changes, so that there is no third of one that was removed.
        """
        removed = self.of is PairType.SEGMENT and any(side.text == REMOVED for side in self.sides)
        return _OF_VERSIONS[:2] if removed else _OF_VERSIONS if self.of_versions else tuple(Action)

    @property
    def of_versions(self) -> bool:
        """Whether the right side is a version of the left one's record."""
        return is_version(self.right.id)


@dataclass(frozen=True, slots=True)
class PairChoice:
    """What was decided about a pair; fields as in `ConflictDecision`."""

    pair: RecordPair
    action: Action
    text: str = ""
    keep: str = ""
    scope: tuple[str, ...] = ()
    suggested: bool = False


def pair_of(row: ConflictRow, sides: Mapping[str, PairSide]) -> RecordPair:
    """Return a row as a pair; a side that is not among `sides`, by id, is shown as a search found it."""
    left, right = (
        sides.get(one.id) or PairSide(one.id, one.text, one.where, None, file=one.file)
        for one in (row.left, row.right)
    )
    if is_version(row.right.id):  # both are of one record, which may be a third by now
        left = replace(left, where=row.left.where, text=row.left.text)
        right = replace(right, where=row.right.where, text=row.right.text)
    of = PairType(row.of)
    return RecordPair(row.id, of, row.kind, row.score, left, right, row.why, row.evidence, row.suggestion)


def suggested_choice(pair: RecordPair) -> PairChoice | None:
    """Return the choice that is suggested, None if it needs a scope that a person has to name."""
    suggestion = pair.suggestion
    if suggestion.action is Action.NARROW_SCOPE:
        return None
    text = suggestion.text if suggestion.action is Action.MERGE else ""
    return PairChoice(pair, suggestion.action, text=text, keep=suggestion.keep, suggested=True)


def decision_of(choice: PairChoice) -> ConflictDecision:
    """Return a choice as the engine takes it."""
    pair = choice.pair
    return ConflictDecision(
        pair.id,
        pair.left.id,
        pair.right.id,
        choice.action,
        reason=pair.why,
        text=choice.text,
        scope=choice.scope,
        keep=choice.keep,
    )


_RESOLVE: Final[Mapping[PairType, tuple[str, ...]]] = {
    PairType.RULE: ("rules", "conflicts", "resolve"),
    PairType.LEARNING: ("memory", "resolve"),
    PairType.SEGMENT: ("stash", "resolve"),
}


def command_of(choice: PairChoice) -> list[str]:
    """Return the command line that settles a pair in the same way."""
    pair = choice.pair
    words = [*_RESOLVE[pair.of], pair.id[:SHORT]]
    if choice.suggested:
        return [*words, "--suggested"]
    words += ["--action", choice.action.value.replace("_", "-")]
    if choice.action is Action.MERGE and choice.text:
        words += ["--text", choice.text]
    if choice.keep and choice.action in (Action.NARROW_SCOPE, Action.SUPERSEDE):
        words += ["--keep", "left" if choice.keep == pair.left.id else "right"]
    return [*words, *(word for scope in choice.scope for word in ("--scope", scope))]


def command_of_all(of: PairType, pairs: Sequence[RecordPair], kind: str = "") -> list[str]:
    """Return the command line that settles pairs of a source as suggested, as one step.

    `kind` is given where they are all there are of it.
    """
    if kind and of is PairType.RULE:
        return [*_RESOLVE[of], "--kind", kind, "--suggested"]
    return [*_RESOLVE[of], *(pair.id[:SHORT] for pair in pairs), "--suggested"]


def in_words(choice: PairChoice) -> str:
    """Return what was decided: `keep left: CLAUDE.md:4`."""
    pair, action = choice.pair, choice.action
    name = action.value.replace("_", " ")
    if pair.of_versions:
        kept = {Action.KEEP_LEFT: pair.left.text, Action.KEEP_RIGHT: pair.right.text}
        said = kept.get(action, choice.text or "what both changed")
        return f"{name}: {' '.join(said.split())[:_TEXT]}"
    if action is Action.KEEP_LEFT:
        return f"{name}: {pair.left.where}"
    if action is Action.KEEP_RIGHT:
        return f"{name}: {pair.right.where}"
    if action is Action.SUPERSEDE:
        old, new = pair.sides if choice.keep != pair.left.id else (pair.right, pair.left)
        return f"{new.where} supersedes {old.where}"
    if action is Action.NARROW_SCOPE:
        narrowed = pair.left if choice.keep != pair.left.id else pair.right
        return f"{narrowed.where} narrowed to {', '.join(choice.scope)}"
    return f"{name}: {pair.left.where}, {pair.right.where}"
