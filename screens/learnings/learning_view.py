"""How a learning is shown: as a row of the list with its glyphs, and whole in the pane beside it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from textual.content import Content

from screens.chrome import teach, transcripts_of
from screens.commands import key_of
from screens.curation.record_pane import RecordPast, moment
from screens.learnings.learning_service import LearningCounts, LearningStory
from screens.rules.rule_view import label_value
from screens.safe_text import join_parts, safe, shown_lines
from screens.widgets.bars import bar
from screens.widgets.diff import mark_words
from screens.widgets.table import Column
from workbench.lists.learnings import LearningRow
from workbench.memory.learnings.review import Why, provenance
from workbench.records.learnings import STALE_DAYS, FeatureLearning, LearningSource, LearningState
from workbench.text.counts import plural

if TYPE_CHECKING:
    from workbench.memory.learnings.ledger import Note


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
        safe(one.feature, "$text-primary", limit=_TEXT),
        safe(" ".join(one.text.split()), dim, limit=_TEXT),
        Content.styled(SOURCES[one.source], "$text-muted"),
        f"{one.hit_count:,}",
        Content.styled(f"{against:,}", "bold $text-error") if against else Content.styled("·", "$text-muted"),
        Content.styled(f"{one.confidence:.2f}", dim),
        Content.styled(days(row.age), "$text-muted"),
        Content.styled(
            f"{'◷' if stale else ''}{days(row.heard)}", "$text-warning" if stale else "$text-muted"
        ),
        Content.styled(one.kind.value, "$text-muted"),
        safe(one.task_id or "", "$text-muted", limit=_TEXT),
        safe(one.id.removeprefix("learning-")[:8], "$text-muted"),
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


_ABOUT: Final = (
    "Nothing was learned yet.\n\n"
    "Learnings are what earlier iterations found out: an error and what helped, a command that works "
    "here, what you corrected. They come by themselves from the runs of agents:"
)

NONE_WAITS: Final = teach(
    "Nothing waits for you.",
    (),
    {
        "learnings.view": "shows all learnings",
        "learnings.audit": "looks for junk",
        "learnings.corrections": "shows what you corrected agents on",
        "learnings.iterations": "shows the iterations they come from",
        "learnings.new": "adds one",
    },
)


def nothing_learned(root: Path) -> str:
    """Return what is said where there is no learning, with the transcripts of this project."""
    commands = (
        f"workbench memory ingest {transcripts_of(root)}",
        "claude -p … --output-format stream-json |",
        "    workbench memory collect --feature NAME",
    )
    return teach(_ABOUT, commands, {"learnings.new": "adds one by hand", "app.help": "lists all keys"})


NONE_LIKE_THAT: Final = "No learning is like that.\n\nescape takes the filter off."

_BAR: Final = 10
_NAME: Final = 24  # characters of a session that are shown

PAST: Final = RecordPast(
    "learned",
    "taken back",
    tuple("text reason state reviewed feature task_id kind scope files source successor merged_from".split()),
)


@dataclass(frozen=True, slots=True)
class ReviewProgress:
    """How far the sitting is: decisions made in it, what still waits."""

    done: int = 0
    waiting: int = 0


def head_content(counts: LearningCounts, view: View, progress: ReviewProgress, *, comparing: bool) -> Content:
    """Return the view, what waits by reason, and how far the review is, on one line."""
    parts = [Content.styled("Review queue" if view == "queue" else "All learnings", "bold $text-accent")]
    if view == "all":
        gone = f", {counts.gone:,} gone" if counts.gone else ""
        parts.append(Content(f"{counts.live:,} live{gone}"))
    parts.append(Content(f"{progress.waiting:,} wait"))
    parts += [
        Content.styled(f"{WHYS[why][0]} {found:,}", WHYS[why][1])
        for why in Why
        if (found := counts.whys.get(why.value))
    ]
    if progress.done:
        total = progress.done + progress.waiting
        parts.append(
            Content.styled(f"{bar(progress.done, total, 10)}▏{progress.done:,} of {total:,} done", "")
        )
    if counts.corrections:
        parts.append(
            Content.styled(
                f"{key_of('learnings.corrections')} {counts.corrections:,} from corrections",
                "$text-muted",
            )
        )
    if counts.total:
        parts.append(Content.styled(f"{key_of('learnings.iterations')} iterations", "$text-muted"))
    if comparing:
        parts.append(Content.styled("comparing all with each other …", "$text-muted"))
    return Content("  ").join(parts)


def story_content(story: LearningStory, width: int = 80) -> Content:
    """Return a learning whole; values are wrapped at `width` cells beside their names."""
    one = story.learning
    parts = [_head(story), Content(""), shown_lines(one.text, "" if one.live else "$text-muted")]
    parts += list(_warnings(story))
    parts += list(_waits(story, width))
    parts.append(Content(""))
    parts += [label_value(name, value, width=width) for name, value in facts(story.row)]
    parts += list(_notes("found out in", story.past.hits, "$text-primary"))
    parts += list(_notes("contradicted in", story.past.against, "$text-error"))
    parts += list(PAST.lines(story.past.changes, width))
    return Content("\n").join(parts)


def _head(story: LearningStory) -> Content:
    one = story.learning
    state = state_of(one)
    glyph, style = STATES[state]
    parts = [
        Content.styled(f"{glyph} {state}", style),
        Content(SOURCES[one.source]),
        Content(f"{one.confidence:.2f}"),
        Content(plural(one.hit_count, "hit")),
    ]
    if story.past.against:
        parts.append(Content.styled(f"{len(story.past.against):,} against", "bold $text-error"))
    if is_stale(story.row):
        parts.append(Content.styled(f"◷ stale: {plural(story.row.heard, 'day')}", "$text-warning"))
    return Content("  ").join(parts)


def _warnings(story: LearningStory) -> Iterator[Content]:
    if story.warnings:
        names = ", ".join(story.warnings)
        yield Content("")
        yield safe(
            f"⚠ It reads like an instruction ({names}): it is quoted as an observation.", "bold $text-warning"
        )


def _waits(story: LearningStory, width: int) -> Iterator[Content]:
    item = story.past.item
    if item is None:
        return
    glyph, style = WHYS[item.why]
    yield Content("")
    yield from safe(f"{glyph} {item.why.value}: {item.sentence}", style or "bold").wrap(max(width, 20))
    if item.other is not None:
        mine, theirs = mark_words(story.learning.text, item.other.text)
        yield Content("")
        yield Content.styled("this", "bold $text-muted")
        yield mine
        yield join_parts(("the other", "bold $text-muted"), (f"  {provenance(item.other)}", "$text-muted"))
        yield theirs
    for found in item.evidence:
        if found.detail == story.learning.evidence:
            continue  # it is among the facts
        yield label_value(found.test, found.detail, width=width)


def facts(row: LearningRow) -> list[tuple[str, str]]:
    """Return what is known of a learning by name, what is empty left out."""
    one = row.learning
    reviewed = moment(one.reviewed_at) + (f" by {one.reviewed_by}" if one.reviewed_by else "")
    found = [
        ("from", provenance(one)),
        ("kind", one.kind.value),
        ("reason", one.reason),
        ("seen", one.evidence),
        ("went wrong", one.trigger),
        ("helped", one.remedy),
        ("task", one.task_id or ""),
        ("session", one.session_id),
        ("files", ", ".join(one.files)),
        ("scope", ", ".join(one.scope)),
        (
            "learned",
            f"{moment(one.timestamp)} ({days(row.age)})" if one.timestamp else "",
        ),
        ("last seen", days(row.heard)),
        ("reviewed", reviewed if one.reviewed else ""),
        ("merged from", ", ".join(one.merged_from)),
        ("superseded by", one.successor),
        ("against", ", ".join(one.conflicts_with)),
        ("id", one.id),
    ]
    return [(name, value) for name, value in found if value]


def _notes(title: str, notes: Sequence[Note], style: str) -> Iterator[Content]:
    """Tell sessions with their number of notes as bars, then each note."""
    if not notes:
        return
    counts = Counter(note.session_id or "no session" for note in notes)
    most, room = max(counts.values()), min(max(map(len, counts)), _NAME)
    yield Content("")
    yield Content.styled(title, "bold $text-muted")
    for name, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:10]:
        yield join_parts(
            (f"  {name[:_NAME]:<{room}} ", ""), (bar(count, most, _BAR), style), (f" {count:,}", "")
        )
    for note in notes[-10:]:
        yield join_parts((f"  {moment(note.at)}  ", "$text-muted"), (note.why, ""))
