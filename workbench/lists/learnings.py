"""What can be asked of the list of learnings, live or not, and its rows."""

from __future__ import annotations

from typing import Final

from workbench.lists.filters import Field, FieldKind
from workbench.lists.tables import ListType
from workbench.records.dataclass import dataclass
from workbench.records.learnings import FeatureLearning, LearningKind, LearningSource

STATES: Final = (
    *("unreviewed", "reviewed", "rejected", "retired", "pruned", "merged", "superseded", "promoted"),
)
"""What a learning's state is called: reviewed or not while it is live, else what became of it."""

WHYS: Final = (
    *("conflict", "contradicted", "duplicate", "suggested-rule", "promote", "unreviewed", "stale"),
)
"""Why a learning waits for a person, the most urgent first."""

FIELDS: Final = (
    Field("text", FieldKind.TEXT),
    Field("reason", FieldKind.TEXT),
    Field("evidence", FieldKind.TEXT),
    Field("feature"),
    Field("file"),
    Field("task"),
    Field("id"),
    Field("session", searched=False),
    Field("scope", searched=False),
    Field("state", choices=STATES, searched=False),
    Field("why", choices=WHYS[::-1], searched=False),
    Field("source", choices=tuple(LearningSource), searched=False),
    Field("kind", choices=tuple(LearningKind), searched=False),
    Field("hits", FieldKind.NUMBER, searched=False),
    Field("against", FieldKind.NUMBER, searched=False),
    Field("confidence", FieldKind.NUMBER, searched=False),
    Field("age", FieldKind.NUMBER, searched=False),
    Field("heard", FieldKind.NUMBER, searched=False),
    Field("iteration", FieldKind.NUMBER, searched=False),
    Field("live", FieldKind.YES_NO, searched=False),
    Field("reviewed", FieldKind.YES_NO, searched=False),
    Field("stale", FieldKind.YES_NO, searched=False),
    Field("waits", FieldKind.YES_NO, searched=False),
    Field("mine", FieldKind.YES_NO, searched=False),
    Field("created", FieldKind.TIME, searched=False),
    Field("updated", FieldKind.TIME, searched=False),
    Field("by", searched=False),
)
"""`age` and `heard` are days since it was learned and since it was last seen."""

LEARNINGS: Final = ListType(
    "learning",
    FIELDS,
    sorts=(
        *("newest", "state", "why", "feature", "text", "source", "hits", "against", "confidence", "age"),
        "heard",
    ),
    usual=("newest", False),
    largest_first=frozenset({"hits", "against", "heard"}),
    facets=("state", "why", "source", "kind", "feature", "task", "file", "scope", "reviewed", "mine", "by"),
)
"""`newest` has live ones first; `why` is the order of the review queue, those that do not wait last."""


@dataclass(frozen=True, slots=True)
class LearningRow:
    """A learning with what was counted of it: outcomes `against` it, and `why` it waits, "" if it does not.

    `age` and `heard` are whole days since it was learned and since it was last seen.
    """

    learning: FeatureLearning
    why: str
    against: int
    age: int
    heard: int
