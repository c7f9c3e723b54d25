"""One session as a tree: task → reads → edits → outcome, and the session it is a part of.

What the engine records of a session becomes lines, each with what opening it leads to.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import TYPE_CHECKING, Final

from textual.content import Content

from screens.safe_text import safe
from screens.sessions.listing import OPEN, SessionClock, exact, head, local, outcome, source_of, span
from screens.sessions.listing import state as row_state
from screens.themes import style_of
from screens.widgets.table import Column, ListRows, NoRows, VirtualTable
from workbench.records.episodes import ChangeKind, Episode, Event, EventType
from workbench.records.plan import QueryType
from workbench.sessions.episodes_fold import COMMITS, event_text
from workbench.text.counts import plural
from workbench.text.sanitize import visible, visible_line

if TYPE_CHECKING:
    from screens.sessions.work import TracedSession
    from workbench.records.episodes import SessionRow

TASK, FILE, EVENT, END, SESSION, HEADING, FACT = "task file event end session heading fact".split()
"""What a line is: opening it leads to the prompt, the file, the moment, the end, a session, or folds."""

NO_NOTE: Final = Content("")
_TASK_LINES: Final = 12
_LABEL: Final = 13  # cells before what a fact says
_TASK_TEXT: Final = 4_000
_CHANGES: Final = {
    ChangeKind.ADDED: ("+", "bold $text-success"),
    ChangeKind.MODIFIED: ("~", "bold $text-warning"),
    ChangeKind.REMOVED: ("-", "bold $text-error"),
}
_SIBLINGS: Final = 8  # prompts that are shown before and after the one that is shown


@dataclass(frozen=True, slots=True)
class StoryLine:
    """A line of the tree: `kind` as above, `target` what it is about, `at` when, in seconds or None."""

    key: str
    kind: str
    text: Content
    note: Content = NO_NOTE
    target: str = ""
    at: int | None = None


def story_lines(
    story: TracedSession, clock: SessionClock, folded: Collection[str], width: int
) -> list[StoryLine]:
    """Return the lines of a session; of headings in `folded` only they themselves."""
    episode = story.trace.episode
    return [
        *task_lines(episode, width),
        *branch_lines("reads", _reads(story), folded, plural(len(episode.reads), "file")),
        *branch_lines("edits", _edits(story), folded, plural(len(episode.changes), "file")),
        *_events(story, folded),
        *_outcome(story, clock, width),
        *_family(episode, story.family, clock, folded),
    ]


def task_lines(episode: Episode, width: int) -> Iterator[StoryLine]:
    """Yield the task of an episode, in lines of a width."""
    glyph, name = source_of(episode.source)
    yield StoryLine(
        "task",
        TASK,
        Content.assemble(
            ("task ", "bold $text-accent"),
            safe(f"{glyph} {name} · {exact(episode.started_at)}", "$text-muted"),
        ),
        at=episode.started_at,
    )
    for number, text in enumerate(_wrap_task(episode.task_text, max(width - 3, 20))):
        yield StoryLine(f"task/{number}", TASK, Content.assemble("  ", safe(text)), at=episode.started_at)
    kind = [] if episode.query_type == QueryType.UNKNOWN else [episode.query_type]
    if facts := [*kind, *episode.issue_refs]:
        yield StoryLine("task/kind", FACT, Content.assemble("  ", safe(" · ".join(facts), "$text-muted")))


def _wrap_task(task: str, width: int) -> list[str]:
    """Return the first lines of a task, broken at spaces to fit."""
    found: list[str] = []
    for line in visible(task[:_TASK_TEXT]).splitlines():
        found += wrap(line, width, break_on_hyphens=False) or ([""] if found and found[-1] else [])
        if len(found) > _TASK_LINES:
            break
    while found and not found[-1]:
        found.pop()
    if len(found) > _TASK_LINES or len(task) > _TASK_TEXT:
        found = [*found[:_TASK_LINES], "…"]
    return found or ["(no task)"]


def branch_lines(
    name: str, inside: list[StoryLine], folded: Collection[str], note: str
) -> Iterator[StoryLine]:
    """Yield a heading and the lines below it, those only unless it is folded."""
    shut = name in folded and bool(inside)
    sign = "▸" if shut else "▾" if inside else " "
    yield StoryLine(
        name,
        HEADING,
        Content.assemble((f"{sign} ", "$text-muted"), (name, "bold $text-accent"), f" {note}"),
        target=name,
    )
    if shut:
        return
    for number, line in enumerate(inside):
        stem = "└ " if number == len(inside) - 1 else "├ "
        text = Content.assemble(("  " + stem, "$text-muted"), line.text)
        yield StoryLine(line.key, line.kind, text, line.note, line.target, line.at)


def _reads(story: TracedSession) -> list[StoryLine]:
    events = _by_file(story, EventType.READ)
    return [
        StoryLine(f"read:{path}", FILE, _path(path, story), _times(events.get(path, ())), path)
        for path in story.trace.episode.reads
    ]


def _edits(story: TracedSession) -> list[StoryLine]:
    made = []
    events = _by_file(story, EventType.EDIT)
    for change in story.trace.episode.changes:
        sign = Content.styled(*_CHANGES[change.kind])
        name = Content.assemble(
            sign, " ", _path(change.path, story, removed=change.kind is ChangeKind.REMOVED)
        )
        if change.old_path:
            name = Content.assemble(name, safe(f" (was {change.old_path})", "$text-muted"))
        counts = f"+{change.added} -{change.removed}" if change.added or change.removed else ""
        times = _times(events.get(change.path, ()))
        note = Content(" ").join([part for part in (safe(counts, "$text-muted"), times) if part.plain])
        made.append(StoryLine(f"edit:{change.path}", FILE, name, note, change.path))
    return made


def _path(path: str, story: TracedSession, *, removed: bool = False) -> Content:
    if path in story.there or removed:
        return safe(path, "$text-muted" if removed else "")
    return Content.assemble(safe(path, "$text-muted strike"), (" gone", "italic $text-warning"))


def _by_file(story: TracedSession, kind: EventType) -> dict[str, list[Event]]:
    found: dict[str, list[Event]] = {}
    for event in story.trace.events:
        if event.event_type is kind:
            found.setdefault(event.file_path, []).append(event)
    return found


def _times(found: Sequence[Event]) -> Content:
    """Return when, how often and by which tool events about a file were recorded."""
    if not found:
        return Content("")
    tool = found[0].payload.get("tool")
    parts = [tool] if isinstance(tool, str) else []
    parts += [f"{len(found)}×"] if len(found) > 1 else []
    parts += [_clock(found[0].timestamp)]
    return safe(" ".join(parts), "$text-muted", limit=60)


def _events(story: TracedSession, folded: Collection[str]) -> Iterator[StoryLine]:
    """Yield what was recorded besides reads and edits: hits, decisions, deltas, feedback."""
    others = [
        (number, event)
        for number, event in enumerate(story.trace.events)
        if event.event_type not in (EventType.READ, EventType.EDIT)
    ]
    if others:
        inside = [_event(number, event) for number, event in others]
        yield from branch_lines("events", inside, folded, plural(len(inside), "event"))


def _event(number: int, event: Event) -> StoryLine:
    late = Content.styled(" late", "$text-warning") if event.late else Content("")
    text = Content.assemble(
        safe(f"{event.event_type.value} ", "$text-secondary"), safe(event_text(event)), late
    )
    note = safe(_clock(event.timestamp), "$text-muted")
    return StoryLine(f"event:{number}", EVENT, text, note, event.file_path, event.timestamp)


def _outcome(story: TracedSession, clock: SessionClock, width: int) -> Iterator[StoryLine]:
    episode = story.trace.episode
    open_ = story.state == OPEN
    ended = episode.ended_at
    if open_:
        word = Content.styled("▶ open", "bold $text-accent")
        note = safe(f" · last event {span(clock.now - episode.last_at)} ago", "$text-accent")
    else:
        word = outcome(episode.outcome.value)
        note = safe("" if ended is None else f" · {exact(ended)}", "$text-muted")
    yield StoryLine(
        "outcome",
        END,
        Content.assemble("  ", ("outcome ", "bold $text-accent"), word, note),
        at=episode.last_at,
    )
    for name, text in _facts(story):
        parts = wrap(visible_line(text), max(width - _LABEL, 12), break_on_hyphens=False)[:_TASK_LINES]
        for number, part in enumerate(parts):
            yield StoryLine(
                f"outcome/{name}/{number}",
                END if name == "because" else FACT,
                Content.assemble(
                    ("  │ ", "$text-muted"), (f"{'' if number else name:<8}", "$text-muted"), safe(part)
                ),
            )


def _facts(story: TracedSession) -> Iterator[tuple[str, str]]:
    episode = story.trace.episode
    if story.state == "timed out":
        yield "ended", "by itself: nothing was recorded for sessions.timeout_hours"
    if episode.judged is not None:
        yield "judged", f"{episode.judged.value}, by feedback"
    if episode.outcome_evidence and episode.outcome_evidence != "feedback":
        yield "because", episode.outcome_evidence
    elif episode.judged is None and story.state != OPEN and episode.source != COMMITS:
        yield "because", "no evidence of an outcome: r records how it went"
    if episode.rationale:
        yield "why", episode.rationale
    if episode.commit_sha:
        yield "commit", episode.commit_sha[:12]
    if episode.ended_at is not None and episode.ended_at > episode.started_at:
        yield "took", span(episode.ended_at - episode.started_at)
    if episode.token_used is not None or episode.token_budget is not None:
        used, budget = (
            "-" if count is None else f"{count:,}" for count in (episode.token_used, episode.token_budget)
        )
        yield "tokens", f"{used} used" if episode.token_budget is None else f"{used} used of {budget}"


def _family(
    episode: Episode, siblings: Sequence[SessionRow], clock: SessionClock, folded: Collection[str]
) -> Iterator[StoryLine]:
    """Yield the session that this is a prompt of, with its other prompts; what is a part of this one too."""
    number = "" if episode.prompt_index is None else f"prompt {episode.prompt_index + 1}"
    of = f" of {visible_line(episode.parent_session)}" if episode.parent_session else ""
    about = f"{number}{of}".strip() or visible_line(episode.session_id)
    others = any(row.session_id != episode.session_id for row in siblings)
    inside = list(_near(episode, siblings, clock)) if others else []
    yield from branch_lines("session", inside, folded, about)
    if episode.parent_session:
        yield StoryLine("id", FACT, Content.assemble("  ", safe(episode.session_id, "$text-muted")))


def _near(episode: Episode, siblings: Sequence[SessionRow], clock: SessionClock) -> Iterator[StoryLine]:
    """Yield the prompts around an episode's own, and how many there are before and after them."""
    ids = [row.session_id for row in siblings]
    own = ids.index(episode.session_id) if episode.session_id in ids else 0
    start, end = max(own - _SIBLINGS, 0), own + _SIBLINGS + 1
    if start:
        yield StoryLine("session/before", FACT, safe(f"… {start:,} before", "$text-muted"))
    for row in siblings[start:end]:
        yield _sibling(row, episode, clock)
    if len(siblings) > end:
        yield StoryLine("session/after", FACT, safe(f"… {len(siblings) - end:,} after", "$text-muted"))


def _sibling(row: SessionRow, episode: Episode, clock: SessionClock) -> StoryLine:
    here = row.session_id == episode.session_id
    number = "" if row.prompt_index is None else f"{row.prompt_index + 1:>2} "
    word = (
        Content.styled("▶ ", "bold $text-accent")
        if row_state(row, clock) == OPEN
        else outcome(row.outcome)[:2]
    )
    text = Content.assemble(
        word, (number, "$text-muted"), safe(head(row.task_text), "bold" if here else "", limit=200)
    )
    note = (
        Content.styled("this", "italic $text-muted") if here else safe(_clock(row.started_at), "$text-muted")
    )
    return StoryLine(f"session:{row.session_id}", SESSION, text, note, row.session_id, row.started_at)


def _clock(at: int) -> str:
    moment = local(at)
    return "?" if moment is None else moment.strftime("%H:%M")


_COLUMNS = (
    Column("line", "Session", "What happened, in order; enter opens and folds.", least=20, priority=9),
    Column("note", "Time, size", "When, or how much.", 14, "right", priority=1),
)


class StoryPanel(VirtualTable):
    """A table of the lines of a story. Rows are opened and folded, not marked."""

    DEFAULT_CSS = style_of("StoryPanel")

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(_COLUMNS, id=id, empty="")

    @property
    def text_width(self) -> int:
        """Cells that the text of a line has."""
        placed = self.placed_columns()
        return placed[0].width if placed else 20

    @property
    def line(self) -> StoryLine | None:
        """The line under the cursor."""
        rows = self.rows
        return rows.thing(self.cursor) if isinstance(rows, ListRows) and len(rows) else None

    def show(self, lines: Sequence[StoryLine], *, keep: bool) -> None:
        """Show a story; with `keep` the cursor stays on its line."""
        rows = ListRows(lines, key=lambda line: line.key, cells=lambda line: (line.text, line.note))
        self.set_rows(rows, keep=self.cursor_key if keep else None)

    def show_none(self, why: str = "") -> None:
        """Show that there is nothing to show."""
        self.set_empty(why)
        self.set_rows(NoRows())

    def action_mark(self) -> None:
        """Open or fold instead of marking."""
        self.action_open()

    def action_range(self) -> None:
        """Mark nothing."""

    def action_invert(self) -> None:
        """Mark nothing."""
