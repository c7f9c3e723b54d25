"""One session as a tree: task → reads → edits → outcome, and the session it is a part of.

Pure: what the engine tells of a session becomes lines, each with what opening it leads to.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import TYPE_CHECKING, Final

from textual.content import Content

from screens.safe_text import shown
from screens.sessions.rows import OPEN, Clock, exact, head, local, outcome, source_of, span
from screens.sessions.rows import state as row_state
from workbench.records.episodes import ChangeKind, Episode, Event, EventType
from workbench.records.plan import QueryType
from workbench.sessions.episodes_fold import COMMITS
from workbench.text.counts import counted
from workbench.text.sanitize import visible, visible_line

if TYPE_CHECKING:
    from screens.sessions.work import Told
    from workbench.entry.project import SessionRow

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
_SIBLINGS: Final = 8  # prompts that are shown before and after the one that is told


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the tree: `kind` as above, `target` what it is about, `at` when, in seconds or None."""

    key: str
    kind: str
    text: Content
    note: Content = NO_NOTE
    target: str = ""
    at: int | None = None


def lines(told: Told, clock: Clock, folded: Collection[str], width: int) -> list[Line]:
    """Return the lines of a session; of headings in `folded` only they themselves."""
    episode = told.trace.episode
    return [
        *_task(episode, width),
        *_branch("reads", _reads(told), folded, counted(len(episode.reads), "file")),
        *_branch("edits", _edits(told), folded, counted(len(episode.changes), "file")),
        *_events(told, folded),
        *_outcome(told, clock, width),
        *_family(episode, told.family, clock, folded),
    ]


def _task(episode: Episode, width: int) -> Iterator[Line]:
    glyph, name = source_of(episode.source)
    yield Line(
        "task",
        TASK,
        Content.assemble(
            ("task ", "bold $text-accent"),
            shown(f"{glyph} {name} · {exact(episode.started_at)}", "$text-muted"),
        ),
        at=episode.started_at,
    )
    told = _wrapped(episode.task_text, max(width - 3, 20))
    for number, text in enumerate(told):
        yield Line(f"task/{number}", TASK, Content.assemble("  ", shown(text)), at=episode.started_at)
    kind = [] if episode.query_type == QueryType.UNKNOWN else [episode.query_type]
    if facts := [*kind, *episode.issue_refs]:
        yield Line("task/kind", FACT, Content.assemble("  ", shown(" · ".join(facts), "$text-muted")))


def _wrapped(task: str, width: int) -> list[str]:
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


def _branch(name: str, inside: list[Line], folded: Collection[str], told: str) -> Iterator[Line]:
    shut = name in folded and bool(inside)
    sign = "▸" if shut else "▾" if inside else " "
    yield Line(
        name,
        HEADING,
        Content.assemble((f"{sign} ", "$text-muted"), (name, "bold $text-accent"), f" {told}"),
        target=name,
    )
    if shut:
        return
    for number, line in enumerate(inside):
        stem = "└ " if number == len(inside) - 1 else "├ "
        text = Content.assemble(("  " + stem, "$text-muted"), line.text)
        yield Line(line.key, line.kind, text, line.note, line.target, line.at)


def _reads(told: Told) -> list[Line]:
    events = _by_file(told, EventType.READ)
    return [
        Line(f"read:{path}", FILE, _path(path, told), _times(events.get(path, ())), path)
        for path in told.trace.episode.reads
    ]


def _edits(told: Told) -> list[Line]:
    made = []
    events = _by_file(told, EventType.EDIT)
    for change in told.trace.episode.changes:
        sign = Content.styled(*_CHANGES[change.kind])
        name = Content.assemble(
            sign, " ", _path(change.path, told, removed=change.kind is ChangeKind.REMOVED)
        )
        if change.old_path:
            name = Content.assemble(name, shown(f" (was {change.old_path})", "$text-muted"))
        counts = f"+{change.added} -{change.removed}" if change.added or change.removed else ""
        times = _times(events.get(change.path, ()))
        note = Content(" ").join([part for part in (shown(counts, "$text-muted"), times) if part.plain])
        made.append(Line(f"edit:{change.path}", FILE, name, note, change.path))
    return made


def _path(path: str, told: Told, *, removed: bool = False) -> Content:
    if path in told.there or removed:
        return shown(path, "$text-muted" if removed else "")
    return Content.assemble(shown(path, "$text-muted strike"), (" gone", "italic $text-warning"))


def _by_file(told: Told, kind: EventType) -> dict[str, list[Event]]:
    found: dict[str, list[Event]] = {}
    for event in told.trace.events:
        if event.event_type is kind:
            found.setdefault(event.file_path, []).append(event)
    return found


def _times(found: Sequence[Event]) -> Content:
    """Return when, how often and by which tool events about a file were told."""
    if not found:
        return Content("")
    tool = found[0].payload.get("tool")
    parts = [tool] if isinstance(tool, str) else []
    parts += [f"{len(found)}×"] if len(found) > 1 else []
    parts += [_clock(found[0].timestamp)]
    return shown(" ".join(parts), "$text-muted", limit=60)


def _events(told: Told, folded: Collection[str]) -> Iterator[Line]:
    """Yield what was told besides reads and edits: hits, decisions, deltas, feedback."""
    others = [
        (number, event)
        for number, event in enumerate(told.trace.events)
        if event.event_type not in (EventType.READ, EventType.EDIT)
    ]
    if others:
        inside = [_event(number, event) for number, event in others]
        yield from _branch("events", inside, folded, counted(len(inside), "event"))


def _event(number: int, event: Event) -> Line:
    said = event.payload
    what = [str(said[name]) for name in ("outcome", "why", "rationale", "query", "text") if said.get(name)]
    told = " · ".join(part for part in (event.file_path, event.symbol, *what) if part)
    late = Content.styled(" late", "$text-warning") if event.late else Content("")
    text = Content.assemble(shown(f"{event.event_type.value} ", "$text-secondary"), shown(told), late)
    note = shown(_clock(event.timestamp), "$text-muted")
    return Line(f"event:{number}", EVENT, text, note, event.file_path, event.timestamp)


def _outcome(told: Told, clock: Clock, width: int) -> Iterator[Line]:
    episode = told.trace.episode
    open_ = told.state == OPEN
    ended = episode.ended_at
    if open_:
        word = Content.styled("▶ open", "bold $text-accent")
        note = shown(f" · last word {span(clock.now - episode.last_at)} ago", "$text-accent")
    else:
        word = outcome(episode.outcome.value)
        note = shown("" if ended is None else f" · {exact(ended)}", "$text-muted")
    yield Line(
        "outcome",
        END,
        Content.assemble("  ", ("outcome ", "bold $text-accent"), word, note),
        at=episode.last_at,
    )
    for name, text in _facts(told):
        parts = wrap(visible_line(text), max(width - _LABEL, 12), break_on_hyphens=False)[:_TASK_LINES]
        for number, part in enumerate(parts):
            yield Line(
                f"outcome/{name}/{number}",
                END if name == "because" else FACT,
                Content.assemble(
                    ("  │ ", "$text-muted"), (f"{'' if number else name:<8}", "$text-muted"), shown(part)
                ),
            )


def _facts(told: Told) -> Iterator[tuple[str, str]]:
    episode = told.trace.episode
    if told.state == "timed out":
        yield "ended", "by itself: nothing was heard of it for sessions.timeout_hours"
    if episode.judged is not None:
        yield "judged", f"{episode.judged.value}, by feedback"
    if episode.outcome_evidence and episode.outcome_evidence != "feedback":
        yield "because", episode.outcome_evidence
    elif episode.judged is None and told.state != OPEN and episode.source != COMMITS:
        yield "because", "nothing speaks for an outcome: s, x or p says how it went"
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
    episode: Episode, siblings: Sequence[SessionRow], clock: Clock, folded: Collection[str]
) -> Iterator[Line]:
    """Yield the session that this is a prompt of, with its other prompts; what is a part of this one too."""
    number = "" if episode.prompt_index is None else f"prompt {episode.prompt_index + 1}"
    of = f" of {visible_line(episode.parent_session)}" if episode.parent_session else ""
    about = f"{number}{of}".strip() or visible_line(episode.session_id)
    others = any(row.session_id != episode.session_id for row in siblings)
    inside = list(_near(episode, siblings, clock)) if others else []
    yield from _branch("session", inside, folded, about)
    if episode.parent_session:
        yield Line("id", FACT, Content.assemble("  ", shown(episode.session_id, "$text-muted")))


def _near(episode: Episode, siblings: Sequence[SessionRow], clock: Clock) -> Iterator[Line]:
    """Yield the prompts around an episode's own, and how many there are before and after them."""
    ids = [row.session_id for row in siblings]
    own = ids.index(episode.session_id) if episode.session_id in ids else 0
    start, end = max(own - _SIBLINGS, 0), own + _SIBLINGS + 1
    if start:
        yield Line("session/before", FACT, shown(f"… {start:,} before", "$text-muted"))
    for row in siblings[start:end]:
        yield _sibling(row, episode, clock)
    if len(siblings) > end:
        yield Line("session/after", FACT, shown(f"… {len(siblings) - end:,} after", "$text-muted"))


def _sibling(row: SessionRow, episode: Episode, clock: Clock) -> Line:
    here = row.session_id == episode.session_id
    number = "" if row.prompt_index is None else f"{row.prompt_index + 1:>2} "
    word = (
        Content.styled("▶ ", "bold $text-accent")
        if row_state(row, clock) == OPEN
        else outcome(row.outcome)[:2]
    )
    text = Content.assemble(
        word, (number, "$text-muted"), shown(head(row.task_text), "bold" if here else "", limit=200)
    )
    note = (
        Content.styled("this", "italic $text-muted") if here else shown(_clock(row.started_at), "$text-muted")
    )
    return Line(f"session:{row.session_id}", SESSION, text, note, row.session_id, row.started_at)


def _clock(at: int) -> str:
    moment = local(at)
    return "?" if moment is None else moment.strftime("%H:%M")


class StoryRows:
    """The lines of a story as rows of a table."""

    def __init__(self, made: Sequence[Line]) -> None:
        self.lines = made

    def __len__(self) -> int:
        return len(self.lines)

    def key(self, index: int) -> str:
        """Return what a line is known by."""
        return self.lines[index].key

    def cells(self, index: int) -> Sequence[Content | str]:
        """Return a line and its note."""
        return (self.lines[index].text, self.lines[index].note)
