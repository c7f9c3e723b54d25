"""The list of learnings: glyphs and words, columns, what a filter asks of a learning, the orders."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, TypeAlias

from textual.content import Content

from screens.filter_matching import Value, filter_rows
from screens.learnings.learning_service import KnownLearnings
from screens.safe_text import shown
from screens.widgets.table import Column
from workbench.lists.filters import Field, FieldKind
from workbench.lists.tables import ListQuery
from workbench.memory.learnings.learningtype import stale_days
from workbench.memory.learnings.review import ReviewItem, Why
from workbench.records.learnings import (
    STALE_DAYS,
    FeatureLearning,
    LearningKind,
    LearningSource,
    LearningState,
)

STATES: Final[Mapping[str, tuple[str, str]]] = {
    "unreviewed": ("?", "bold $text-warning"),
    "reviewed": ("✓", "$text-success"),
    LearningState.REJECTED: ("✗", "$text-error"),
    LearningState.RETIRED: ("–", "$text-muted"),
    LearningState.PRUNED: ("✂", "$text-muted"),
    LearningState.MERGED: ("⋃", "$text-muted"),
    LearningState.SUPERSEDED: ("»", "$text-muted"),
    LearningState.PROMOTED: ("★", "$text-accent"),
}
"""The glyph and style of each state, in the order they are sorted."""

_WHYS: Final[Mapping[str, tuple[str, str]]] = {
    "conflict": ("≠", "bold $text-error"),
    "contradicted": ("↯", "bold $text-error"),
    "duplicate": ("≈", "$text-warning"),
    "suggested-rule": ("☆", "bold $text-accent"),
    "promote": ("★", "$text-accent"),
    "unreviewed": ("?", "$text-warning"),
    "stale": ("◷", "$text-muted"),
}

WHYS: Final = {why: _WHYS.get(why.value, ("•", "$text-warning")) for why in Why}
"""The glyph and style of each reason to wait, the most urgent first."""

SOURCES: Final[Mapping[LearningSource, str]] = {
    LearningSource.AUTO: "auto",
    LearningSource.AGENT: "agent",
    LearningSource.HUMAN: "human",
    LearningSource.OPUS_REVIEWED: "model",
}
"""Who wrote it down; `model` is the stronger model that reviewed it."""


def state_of(learning: FeatureLearning) -> str:
    """Return the state of a learning in a word: reviewed or not while it is live, else what became of it."""
    if learning.live:
        return "reviewed" if learning.reviewed else "unreviewed"
    return learning.state.value


def age(learning: FeatureLearning, now: float) -> int:
    """Return how many whole days ago it was learned."""
    return stale_days(replace(learning, last_hit="", reviewed_at=""), now)


def days(count: int) -> str:
    """Return a number of days in few characters: `today`, `12d`, `3y`."""
    if count < 1:
        return "today"
    return f"{count}d" if count < 1000 else f"{count // 365}y"


def is_stale(learning: FeatureLearning, now: float) -> bool:
    """Whether it was not seen for long."""
    return stale_days(learning, now) >= STALE_DAYS


View: TypeAlias = Literal["queue", "all"]

Progress: TypeAlias = Callable[[str, int, int], None]

COLUMNS: Final = (
    Column("state", "", 1, priority=95),
    Column("why", "Waits for", 14, priority=70),
    Column("feature", "Feature", 12, priority=60),
    Column("text", "Learning", priority=100, share=3, least=28),
    Column("source", "Source", 6, priority=50),
    Column("hits", "Hits", 4, align="right", priority=55),
    Column("against", "Agst", 4, align="right", priority=45),
    Column("confidence", "Conf", 4, align="right", priority=58),
    Column("age", "Age", 5, align="right", priority=48),
    Column("heard", "Heard", 6, align="right", priority=40),
    Column("kind", "Kind", 10, priority=20),
    Column("task", "Task", 8, priority=15),
    Column("id", "Id", 8, priority=10),
)


_TEXT: Final = 400  # characters of a learning that a row makes Content of

_STATES: Final = tuple(STATES)

_ORDER: Final = tuple(Why)


@dataclass(frozen=True, slots=True)
class LearningQuery(ListQuery):
    """What the list is to show: the queue or all learnings, filtered and sorted."""

    view: View = "queue"


class LearningRecord(Mapping[str, Value]):
    """A learning's fields by the names of a filter, each worked out when it is asked for."""

    __slots__ = ("_known", "learning")

    def __init__(self, learning: FeatureLearning, known: KnownLearnings) -> None:
        self.learning = learning
        self._known = known

    def __getitem__(self, name: str) -> Value:
        return _GETTERS[name](self.learning, self._known)

    def __iter__(self) -> Iterator[str]:
        return iter(_GETTERS)

    def __len__(self) -> int:
        return len(_GETTERS)


def _why(one: FeatureLearning, known: KnownLearnings) -> Value:
    item = known.waiting.get(one.id)
    return None if item is None else item.why.value


Getter: TypeAlias = Callable[[FeatureLearning, KnownLearnings], Value]

_TABLE: Final[tuple[tuple[Field, Getter], ...]] = (
    (Field("text", FieldKind.TEXT), lambda one, known: one.text),
    (Field("reason", FieldKind.TEXT), lambda one, known: one.reason),
    (Field("evidence", FieldKind.TEXT), lambda one, known: [one.evidence, one.trigger, one.remedy]),
    (Field("feature"), lambda one, known: one.feature),
    (Field("file"), lambda one, known: one.files),
    (Field("task"), lambda one, known: one.task_id),
    (Field("id"), lambda one, known: [one.id, one.id.removeprefix("learning-")]),
    (Field("session", searched=False), lambda one, known: one.session_id),
    (Field("scope", searched=False), lambda one, known: one.scope),
    (
        Field("state", choices=tuple(str(name) for name in STATES), searched=False),
        lambda one, known: state_of(one),
    ),
    (Field("why", choices=tuple(str(why) for why in reversed(Why)), searched=False), _why),
    (
        Field("source", choices=tuple(str(one) for one in LearningSource), searched=False),
        lambda one, known: one.source.value,
    ),
    (
        Field("kind", choices=tuple(str(one) for one in LearningKind), searched=False),
        lambda one, known: one.kind.value,
    ),
    (Field("hits", FieldKind.NUMBER, searched=False), lambda one, known: one.hit_count),
    (
        Field("against", FieldKind.NUMBER, searched=False),
        lambda one, known: len(known.against.get(one.id, ())),
    ),
    (Field("confidence", FieldKind.NUMBER, searched=False), lambda one, known: one.confidence),
    (Field("age", FieldKind.NUMBER, searched=False), lambda one, known: age(one, known.now)),
    (Field("heard", FieldKind.NUMBER, searched=False), lambda one, known: stale_days(one, known.now)),
    (Field("iteration", FieldKind.NUMBER, searched=False), lambda one, known: one.iteration),
    (Field("live", FieldKind.YES_NO, searched=False), lambda one, known: one.live),
    (Field("reviewed", FieldKind.YES_NO, searched=False), lambda one, known: one.reviewed),
    (Field("stale", FieldKind.YES_NO, searched=False), lambda one, known: is_stale(one, known.now)),
    (Field("mine", FieldKind.YES_NO, searched=False), lambda one, known: one.project_id is None),
    (Field("created", FieldKind.TIME, searched=False), lambda one, known: one.timestamp),
    (Field("updated", FieldKind.TIME, searched=False), lambda one, known: max(one.updated_at, one.timestamp)),
    (Field("by", searched=False), lambda one, known: one.reviewed_by),
)

FIELDS: Final = tuple(field for field, _ in _TABLE)
"""What a filter can ask; `age` and `heard` are days since it was learned and since it was last seen."""

_GETTERS: Final = {field.name: getter for field, getter in _TABLE}

SORT_KEYS: Final[Mapping[str, Callable[[FeatureLearning, KnownLearnings], Any]]] = {
    "state": lambda one, known: _STATES.index(state_of(one)),
    "why": lambda one, known: _place(known.waiting.get(one.id)),
    "feature": lambda one, known: one.feature.casefold(),
    "text": lambda one, known: one.text.casefold()[:200],
    "source": lambda one, known: one.source.rank,
    "hits": lambda one, known: one.hit_count,
    "against": lambda one, known: len(known.against.get(one.id, ())),
    "confidence": lambda one, known: one.confidence,
    "age": lambda one, known: age(one, known.now),
    "heard": lambda one, known: stale_days(one, known.now),
}
"""What learnings are sorted by, by the id of the column, in the order the columns are cycled through."""

DESCENDING_FIRST: Final = frozenset({"hits", "against", "heard"})
"""Columns whose largest values come first when they are chosen."""


def _place(item: ReviewItem | None) -> int:
    return len(_ORDER) if item is None else _ORDER.index(item.why)


def arranged(
    known: KnownLearnings, wanted: LearningQuery, progress: Progress = lambda stage, done, total: None
) -> list[str]:
    """Return the ids of what is shown: the queue in its order, or all, live ones first, newest first.

    A filter that ranks puts better matches first unless a column was chosen. `progress` may raise to stop.
    """
    if wanted.view == "queue":
        start = [known.learnings[identifier] for identifier in known.waiting if identifier in known.learnings]
    else:
        start = list(known.learnings.values())
        start.sort(key=lambda one: one.timestamp, reverse=True)
        start.sort(key=lambda one: not one.live)
    if wanted.sort is not None:
        column, descending = wanted.sort
        key = SORT_KEYS[column]
        start.sort(key=lambda one: key(one, known), reverse=descending)
    if not wanted.filter:
        return [one.id for one in start]
    order: Sequence[int] = ()
    rows = filter_rows(
        wanted.filter, lambda index: LearningRecord(start[index], known), len(start), fields=FIELDS
    )
    for step in rows:
        progress("Filtering", step.done, step.total)
        order = step.order or ()
    if wanted.sort is not None or not wanted.filter.ranks:
        order = sorted(order)
    return [start[at].id for at in order]


class LearningRows:
    """Learnings as rows, in the order of their ids."""

    def __init__(self, ids: Sequence[str], known: KnownLearnings) -> None:
        self.ids = ids
        self._known = known

    def __len__(self) -> int:
        return len(self.ids)

    def key(self, index: int) -> str:
        """Tell learnings apart by their ids."""
        return self.ids[index]

    def cells(self, index: int) -> Sequence[Content | str]:
        """Return the cells of `COLUMNS`."""
        return learning_cells(self._known.learnings[self.ids[index]], self._known)


def learning_cells(one: FeatureLearning, known: KnownLearnings) -> tuple[Content | str, ...]:
    """Return the cells of a learning; what is gone is dim besides its glyph."""
    dim = "" if one.live else "$text-muted"
    item = known.waiting.get(one.id)
    against, heard = len(known.against.get(one.id, ())), stale_days(one, known.now)
    stale = is_stale(one, known.now) and one.live
    return (
        Content.styled(*STATES[state_of(one)]),
        Content("") if item is None else waits(item),
        shown(one.feature, "$text-primary", limit=_TEXT),
        shown(" ".join(one.text.split()), dim, limit=_TEXT),
        Content.styled(SOURCES[one.source], "$text-muted"),
        f"{one.hit_count:,}",
        Content.styled(f"{against:,}", "bold $text-error") if against else Content.styled("·", "$text-muted"),
        Content.styled(f"{one.confidence:.2f}", dim),
        Content.styled(days(age(one, known.now)), "$text-muted"),
        Content.styled(f"{'◷' if stale else ''}{days(heard)}", "$text-warning" if stale else "$text-muted"),
        Content.styled(one.kind.value, "$text-muted"),
        shown(one.task_id or "", "$text-muted", limit=_TEXT),
        shown(one.id.removeprefix("learning-")[:8], "$text-muted"),
    )


def waits(item: ReviewItem) -> Content:
    """Return why a learning waits: a glyph and a word; what nobody reviewed has its glyph as its state."""
    if item.why is Why.UNREVIEWED:
        return Content.styled(f"  {item.why.value}", "$text-muted")
    glyph, style = WHYS[item.why]
    return Content.styled(f"{glyph} {item.why.value}", style)
