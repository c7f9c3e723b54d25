"""Conflicts: pairs of rules that say the same thing twice, or things that cannot both be followed.

A conflict carries what it takes to settle it at a glance: the tests that fired, the words in which the two
sides differ, and one suggestion. Nothing acts on a suggestion by itself.
"""

from __future__ import annotations

import hashlib
from enum import StrEnum

from workbench.records.dataclass import dataclass


class ConflictKind(StrEnum):
    """How two rules collide."""

    EXACT = "exact"  # the same text but for case, marks and white space
    NEAR = "near"  # the same instruction in other words
    SUBSUMED = "subsumed"  # one says all the other says, and more
    CONTRADICTORY = "contradictory"  # both cannot be followed
    CONCURRENT = "concurrent"  # two versions of one, written on two machines of a team apart


class Action(StrEnum):
    """What would settle a conflict."""

    KEEP_LEFT = "keep_left"
    KEEP_RIGHT = "keep_right"
    KEEP_BOTH = "keep_both"
    MERGE = "merge"  # one rule with the suggestion's text replaces both
    NARROW_SCOPE = "narrow_scope"  # the wider rule leaves the narrower one's case to it
    SUPERSEDE = "supersede"  # the newer rule replaces the older one


@dataclass(frozen=True, slots=True)
class Evidence:
    """The outcome of one test on a pair: `score` in [0, 1], `detail` in words."""

    test: str
    score: float
    detail: str


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A suggested resolution, never applied by itself. `keep` is the id that stays where only one does.

    `text` is the merged wording where the action is merge.
    """

    action: Action
    why: str
    keep: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True)
class Conflict:
    """A pair of rules in conflict; `left` and `right` are ids in sorted order.

    `score` in [0, 1] says how sure the finding is. `left_words` and `right_words` are the words only that
    side has. `why` is one sentence for people.
    """

    id: str
    kind: ConflictKind
    left: str
    right: str
    score: float
    evidence: tuple[Evidence, ...]
    left_words: tuple[str, ...]
    right_words: tuple[str, ...]
    why: str
    suggestion: Suggestion


def conflict_id(first: str, second: str) -> str:
    """Return the id of the conflict between two rules, whichever is named first."""
    key = "\0".join(sorted((first, second)))
    return "conflict-" + hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:20]
