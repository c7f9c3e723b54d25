"""The list of learnings: glyphs and words of their states, and rows as cells."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

from textual.content import Content

from screens.safe_text import shown
from screens.widgets.table import Column
from workbench.lists.learnings import LearningRow
from workbench.memory.learnings.review import Why
from workbench.records.learnings import STALE_DAYS, FeatureLearning, LearningSource, LearningState

View: TypeAlias = Literal["queue", "all"]
"""What waits for a person, or all there are."""

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


def days(count: int) -> str:
    """Return a number of days in few characters: `today`, `12d`, `3y`."""
    if count < 1:
        return "today"
    return f"{count}d" if count < 1000 else f"{count // 365}y"


COLUMNS: Final = (
    Column(
        "state",
        "",
        "? not reviewed, ✓ reviewed, ✗ rejected, ✂ pruned, ★ made a rule, – ⋃ » retired, merged, replaced.",
        1,
        priority=95,
    ),
    Column("why", "Waits for", "What you are asked to decide.", 14, priority=70),
    Column("feature", "Feature", "The part of the project it is about.", 12, priority=60),
    Column("text", "Learning", "The learning's text.", priority=100, share=3, least=28),
    Column(
        "source",
        "Source",
        "Who wrote it down: an agent, a person, the program, or a stronger model that reviewed it.",
        6,
        priority=50,
    ),
    Column("hits", "Hits", "Iterations that confirmed it.", 4, align="right", priority=55),
    Column("against", "Against", "Iterations that spoke against it.", 7, align="right", priority=45),
    Column("confidence", "Confidence", "How sure it is, from 0 to 1.", 10, align="right", priority=58),
    Column("age", "Age", "How long ago it was noted.", 5, align="right", priority=48),
    Column(
        "heard",
        "Last seen",
        "How long ago it was last confirmed; ◷ for long not.",
        9,
        align="right",
        priority=40,
    ),
    Column("kind", "Kind", "A note, an error, a command, a decision or a correction.", 10, priority=20),
    Column("task", "Task", "The task it was noted in.", 8, priority=15),
    Column("id", "Id", "The beginning of its id.", 8, priority=10),
)


_TEXT: Final = 400  # characters of a learning that a row makes Content of


def learning_cells(row: LearningRow) -> tuple[Content | str, ...]:
    """Return the cells of `COLUMNS`; what is gone is dim besides its glyph."""
    one, against = row.learning, row.against
    dim = "" if one.live else "$text-muted"
    stale = is_stale(row)
    return (
        Content.styled(*STATES[state_of(one)]),
        waits(row.why),
        shown(one.feature, "$text-primary", limit=_TEXT),
        shown(" ".join(one.text.split()), dim, limit=_TEXT),
        Content.styled(SOURCES[one.source], "$text-muted"),
        f"{one.hit_count:,}",
        Content.styled(f"{against:,}", "bold $text-error") if against else Content.styled("·", "$text-muted"),
        Content.styled(f"{one.confidence:.2f}", dim),
        Content.styled(days(row.age), "$text-muted"),
        Content.styled(
            f"{'◷' if stale else ''}{days(row.heard)}", "$text-warning" if stale else "$text-muted"
        ),
        Content.styled(one.kind.value, "$text-muted"),
        shown(one.task_id or "", "$text-muted", limit=_TEXT),
        shown(one.id.removeprefix("learning-")[:8], "$text-muted"),
    )


def is_stale(row: LearningRow) -> bool:
    """Whether a live learning was not seen for long."""
    return row.learning.live and row.heard >= STALE_DAYS


def waits(why: str) -> Content:
    """Return why a learning waits: a glyph and a word; what nobody reviewed has its glyph as its state."""
    if not why:
        return Content("")
    if why == Why.UNREVIEWED:
        return Content.styled(f"  {why}", "$text-muted")
    glyph, style = WHYS[Why(why)]
    return Content.styled(f"{glyph} {why}", style)
