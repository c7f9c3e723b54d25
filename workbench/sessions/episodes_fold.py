"""An episode from the journal, entry by entry: the one place that knows how entries add up.

The ledger of the past, the service that records episodes and what shows one all fold with `follow`. The last
word on an outcome counts; what happened to files adds up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from workbench.ports import Entry
from workbench.records.episodes import (
    ChangeKind,
    Completeness,
    Episode,
    Event,
    EventType,
    FileChange,
    Outcome,
)
from workbench.text.counts import plural

STREAM: Final = "sessions"
IMPORTED: Final = "episode.imported"
HOOK: Final = "hook"
"""Who records what hooks of agents report."""
STARTED: Final = "episode.started"
EVENT: Final = "episode.event"
DISK: Final = "episode.disk"  # what differed from the last commit on disk when an episode began
ENDED: Final = "episode.ended"
FEEDBACK: Final = "feedback.given"
FORGOTTEN: Final = "episode.forgotten"

TIMEOUT: Final = "timeout"
COMMITS: Final = "git"  # the source of episodes that are commits, not sessions
MALFORMED: Final = (KeyError, ValueError, TypeError, AttributeError)

_LATEST = 1 << 53  # seconds; beyond any clock
_MOST_LINES = 1_000_000_000
_PREFIX = "import:"
_FEEDBACK = "feedback"  # what an outcome rests on that somebody judged

COMMIT, UNTRACED, TRACED, FULL = range(4)
"""How complete the story of an ended episode is; see `story`."""

HOUR: Final = 3600
RECORDING_LOCK: Final = "episodes"  # the lock of whoever records sessions


def follow(episode: Episode | None, entry: Entry) -> Episode | None:
    """Return the episode after an entry that is about it, None where there is none.

    Raises: one of MALFORMED for a body of another form.
    """
    step = _STEPS.get(entry.kind)
    return episode if step is None else step(episode, entry)


def follow_all(entries: Iterable[Entry], session: str) -> Episode | None:
    """Return the episode of a session from the entries of a stream; malformed ones are left out."""
    episode: Episode | None = None
    for entry in entries:
        if names(entry, session):
            try:
                episode = follow(episode, entry)
            except MALFORMED:
                continue  # counted by whoever reads the whole journal, and reported by `doctor`
    return episode


def events_of(entries: Iterable[Entry], session: str) -> tuple[Event, ...]:
    """Return the events of a live session in the order they were recorded, feedback among them."""
    found: list[Event] = []
    for entry in entries:
        if not names(entry, session):
            continue
        if entry.kind == FORGOTTEN:
            found.clear()
        if entry.kind == IMPORTED:
            found = [event for event in found if event.event_type is EventType.FEEDBACK]
        try:
            if entry.kind == EVENT:
                found.append(read_event(entry.body))
            elif entry.kind == FEEDBACK:
                given = {name: entry.body[name] for name in ("outcome", "rationale") if entry.body.get(name)}
                found.append(Event(EventType.FEEDBACK, _time(entry.body["timestamp"]), payload=given))
        except MALFORMED:
            continue
    return tuple(found)


def active_parts(events: Iterable[Event]) -> tuple[str, str]:
    """Return the scenario and the step that the decisions of a session made active last, '' for none."""
    parts = {"scenario": "", "step": ""}
    for event in events:
        if event.event_type is EventType.DECISION:
            parts |= {name: str(event.payload[name]) for name in parts if name in event.payload}
    return parts["scenario"], parts["step"]


_SAID: Final = ("outcome", "decision", "why", "rationale", "query", "text", "task")
"""What of an event's payload is shown of it."""
_PARTS: Final = ("scenario", "step", "tool", "hook")
"""What is shown of it with its name."""


def event_text(event: Event) -> str:
    """Return what an event was about in one line: its file, its symbol, what was decided, asked or given."""
    payload = event.payload
    said = [str(payload[name]) for name in _SAID if payload.get(name)]
    said += [f"{name} {payload[name]}" for name in _PARTS if payload.get(name)]
    pack = payload.get("pack")
    if isinstance(pack, dict) and isinstance(pack.get("files"), dict):
        said.append(f"a pack with {plural(len(pack['files']), 'file')}")
    return " · ".join(part for part in (event.file_path, event.symbol, *said) if part)


def names(entry: Entry, session: str) -> bool:
    """Whether an entry is about a session."""
    return session in sessions_of(entry)


def sessions_of(entry: Entry) -> list[str]:
    """Return the sessions that an entry is about."""
    named = entry.body.get("session_ids") if entry.kind == FORGOTTEN else [entry.body.get("session_id")]
    return [one for one in named if isinstance(one, str)] if isinstance(named, list) else []


def story(episode: Episode) -> int:
    """Return how complete an episode's story is: COMMIT, UNTRACED, TRACED or FULL.

    TRACED: it has a task, a file that was read or edited, and an outcome other than unknown. FULL: it has
    reads and edits both, the chain task → reads → edits → outcome of [img 2.1]. A commit is not a session.
    """
    if episode.source == COMMITS:
        return COMMIT
    touched = episode.reads or episode.changes
    if not (episode.task_text.strip() and touched and episode.outcome is not Outcome.UNKNOWN):
        return UNTRACED
    return FULL if episode.reads and episode.changes else TRACED


def completeness(stories: Iterable[int], still_open: int) -> Completeness:
    """Count the stories of ended episodes; commits don't count."""
    counts = [0, 0, 0, 0]
    for one in stories:
        counts[one] += 1
    traced = counts[TRACED] + counts[FULL]
    return Completeness(counts[UNTRACED] + traced, traced, counts[FULL], still_open)


def imported_episode(body: Mapping[str, Any], by: str = "") -> Episode:
    """Read the body of an imported episode. Raises one of MALFORMED."""
    started = _clamp(body["started_at"])
    ended = body.get("ended_at")
    return replace(
        _new_episode(body, by, started),
        ended_at=started if ended is None else _clamp(ended),
        outcome=Outcome(body.get("outcome") or Outcome.UNKNOWN),
        changes=tuple(_changes(body["changes"])),
        reads=tuple(map(_path, body.get("reads") or ())),
        commit_sha=printable(str(body.get("commit_sha") or "")),
        token_used=body.get("token_used"),
        latency_ms=body.get("latency_ms"),
        outcome_evidence=printable(str(body.get("outcome_evidence") or "")),
    )


def read_event(body: Mapping[str, Any]) -> Event:
    """Read the body of an event. Raises one of MALFORMED."""
    payload = body.get("payload") or {}
    if not isinstance(payload, dict):
        raise TypeError("the payload is not an object")
    return Event(
        event_type=EventType(body["event_type"]),
        timestamp=_time(body["timestamp"]),
        file_path=_path(body.get("file_path") or ""),
        symbol=printable(_text(body.get("symbol") or "")),
        payload=payload,
        late=bool(body.get("late")),
        key=_text(body.get("key") or ""),
    )


def printable(text: str) -> str:
    """Return a text that UTF-8 can hold; lone surrogates become question marks."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _import(before: Episode | None, entry: Entry) -> Episode:
    """Replace what was known, except somebody's verdict: a transcript that grew is imported again."""
    new = imported_episode(entry.body, entry.by)
    if before is None:
        return new
    new = replace(new, rationale=before.rationale)
    if before.judged is None:
        return new
    return replace(new, outcome=before.judged, judged=before.judged, outcome_evidence=_FEEDBACK)


def _start(episode: Episode | None, entry: Entry) -> Episode:
    begun = _new_episode(entry.body, entry.by, _time(entry.body["started_at"]))
    return begun if episode is None else episode


def _add_event(episode: Episode | None, entry: Entry) -> Episode | None:
    event = read_event(entry.body)
    if episode is None:
        return None
    last = max(episode.last_at, event.timestamp)
    if event.file_path and event.event_type is EventType.READ and event.file_path not in episode.reads:
        return replace(episode, last_at=last, reads=(*episode.reads, event.file_path))
    if event.file_path and (
        event.event_type is EventType.EDIT
        or (
            event.event_type is EventType.DELTA
            and all(change.path != event.file_path for change in episode.changes)
        )
    ):  # a delta is what changed on disk: of a file whose edits were seen it says nothing new
        return replace(episode, last_at=last, changes=_add_edit(episode.changes, event))
    return replace(episode, last_at=last)


def _end(episode: Episode | None, entry: Entry) -> Episode | None:
    body = entry.body
    outcome = None if body.get("outcome") is None else Outcome(body["outcome"])
    ended = None if body.get("ended_at") is None else _time(body["ended_at"])
    if episode is None:
        return None
    at = ended or episode.ended_at or episode.last_at
    return replace(
        episode,
        ended_at=at,
        last_at=max(episode.last_at, at),
        outcome=outcome or episode.outcome,
        commit_sha=_text(body.get("commit_sha") or episode.commit_sha),
        closed_by=_text(body.get("closed_by") or ""),
        outcome_evidence=_text(body.get("outcome_evidence") or episode.outcome_evidence),
        **{
            name: body[name]
            for name in ("token_budget", "token_used", "latency_ms")
            if body.get(name) is not None
        },
    )


def _judge(episode: Episode | None, entry: Entry) -> Episode | None:
    body = entry.body
    outcome = None if body.get("outcome") is None else Outcome(body["outcome"])
    _time(body["timestamp"])
    if episode is None:
        return None
    return replace(
        episode,
        outcome=outcome or episode.outcome,
        judged=outcome or episode.judged,
        rationale=_text(body.get("rationale") or episode.rationale),
        outcome_evidence=_FEEDBACK if outcome is not None else episode.outcome_evidence,
    )


_STEPS: Final[dict[str, Callable[[Episode | None, Entry], Episode | None]]] = {
    IMPORTED: _import,
    STARTED: _start,
    EVENT: _add_event,
    ENDED: _end,
    FEEDBACK: _judge,
    FORGOTTEN: lambda _, entry: None,
}


def _new_episode(body: Mapping[str, Any], by: str, started: int) -> Episode:
    return Episode(
        session_id=printable(str(body["session_id"])),
        project_id=str(body.get("project_id", "")),
        task_text=printable(str(body["task_text"])),
        task_fingerprint=str(body.get("task_fingerprint", "")),
        query_type=str(body["query_type"]),
        started_at=started,
        ended_at=None,
        outcome=Outcome.UNKNOWN,
        changes=(),
        issue_refs=tuple(printable(str(reference)) for reference in body.get("issue_refs") or ()),
        token_budget=body.get("token_budget"),
        source=str(body.get("source") or by.removeprefix(_PREFIX)),
        parent_session=str(body.get("parent_session") or ""),
        prompt_index=body.get("prompt_index"),
        last_at=started,
    )


def _add_edit(changes: tuple[FileChange, ...], event: Event) -> tuple[FileChange, ...]:
    """Return the changes with one more edit; what a session added stays added until it is removed."""
    given = event.payload.get("kind")
    kind = ChangeKind(given) if given in set(ChangeKind) else ChangeKind.MODIFIED
    added, removed = (_count(event.payload.get(name)) for name in ("added", "removed"))
    old_path = event.payload.get("old_path")
    new = FileChange(event.file_path, kind, added, removed, _path(old_path) if old_path else "")
    for place, known in enumerate(changes):
        if known.path == new.path:
            stays = known.kind is ChangeKind.ADDED and kind is ChangeKind.MODIFIED
            merged = FileChange(
                new.path,
                known.kind if stays else kind,
                known.added + added,
                known.removed + removed,
                new.old_path or known.old_path,
            )
            return (*changes[:place], merged, *changes[place + 1 :])
    return (*changes, new)


def _changes(rows: Iterable[Any]) -> Iterator[FileChange]:
    for path, kind, added, removed, old in rows:
        yield FileChange(_path(path), ChangeKind(kind), _lines(added), _lines(removed), _path(old))


def _path(path: Any) -> str:  # noqa: ANN401 - JSON of any shape
    """Return a path; one that no file can have is malformed."""
    path.encode("utf-8", "surrogateescape")
    return str(path)


def _lines(count: Any) -> int:  # noqa: ANN401 - JSON of any shape
    return min(max(int(count), 0), _MOST_LINES)


def _count(value: object) -> int:
    return _lines(value) if isinstance(value, int) else 0


def _clamp(value: Any) -> int:  # noqa: ANN401 - JSON of any shape
    return min(max(int(value), 0), _LATEST)


def _time(value: object) -> int:
    if not isinstance(value, int):
        raise TypeError("a time is a whole number of seconds")
    return _clamp(value)


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("expected a text")
    return printable(value)


def overdue(episodes: Iterable[Episode], now: float, timeout: float) -> list[Episode]:
    """Return the open episodes whose last event is more than `timeout` seconds before `now`, by their ids."""
    found = [episode for episode in episodes if episode.ended_at is None and now - episode.last_at > timeout]
    return sorted(found, key=lambda episode: episode.session_id)


def timed_out(session: str, at: int) -> dict[str, Any]:
    """Return the journal body of an end that nobody recorded. The outcome is left as it is."""
    return {"session_id": session, "ended_at": at, "closed_by": TIMEOUT}


def state_of(ended: bool, closed_by: str, last_at: int, now: float, timeout: float) -> str:
    """Return `ended`, `timed out` or `open`: as the journal has it, or will have it after the next sync."""
    if ended:
        return "timed out" if closed_by == TIMEOUT else "ended"
    return "timed out" if now - last_at > timeout else "open"
