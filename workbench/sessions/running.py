"""What an agent does right now, from what was recorded of its session: files, rules, what it was given.

A file that it reads or changes and that nothing handed over is one it was not given although it needed it.
One that was handed over and that it did not open so far may not be needed. Rules are judged where they have
a check.

A transcript that an agent is writing is followed: what was appended since the last look becomes moments of
its session. Only whole lines are taken, each once. Of a long file the end is read, with its head's settings.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Final

from workbench.ports import Entry
from workbench.records.answers.usage import RunningFile, RunningRule, RunningSession
from workbench.records.dataclass import dataclass
from workbench.records.episodes import Outcome
from workbench.records.rules import Rule
from workbench.records.usage import Handover
from workbench.rules.descriptions import instruction
from workbench.sessions.episodes_fold import ENDED, EVENT, FEEDBACK, HOOK, IMPORTED, MALFORMED, STARTED
from workbench.sessions.importers.fold import Fold, SessionStory, seconds
from workbench.sessions.importers.readers import Format, format_of
from workbench.sessions.importers.touches import touches
from workbench.sessions.importers.transcripts import (
    CallOutcome,
    Moment,
    ToolResult,
    ToolUse,
    TranscriptRecord,
    Unreadable,
    decode_record,
)

WORKING, WAITING, QUIET = "working waiting quiet".split()
HUSH: Final = 300
"""Seconds without a word after which a session that goes on is quiet."""

KEPT, BROKEN, UNKNOWN = "kept broken unknown".split()
FIRST_READ: Final = 8 << 20
"""Bytes of a file's end that the first look reads."""

_LONGEST: Final = 4 << 20  # bytes of a line; longer ones hold images
_SETTINGS: Final = frozenset({"session_meta", "turn_context"})  # what later records of Codex depend on
_TASK: Final = 4_000  # characters


@dataclass(slots=True)
class SessionActivity:
    """What was recorded of one session. Times in seconds, -1 never; `touched` has (read, edited) by path."""

    session: str
    agent: str = ""
    episode: str = ""
    task: str = ""
    prompts: int = 0
    started_at: int = -1
    last_at: int = -1
    ended: bool = True
    now: str = ""
    outcome: str = Outcome.UNKNOWN.value
    known_by: set[str] = field(default_factory=set)
    touched: dict[str, tuple[int, int]] = field(default_factory=dict)

    def touch(self, path: str, *, edited: bool, at: int) -> None:
        """Note that a file was read or edited."""
        read, changed = self.touched.get(path, (-1, -1))
        self.touched[path] = (read, max(changed, at)) if edited else (max(read, at), changed)


@dataclass(frozen=True, slots=True)
class SessionGifts:
    """What one session was handed over, loaded by itself, broke (rule → when) and lost (when)."""

    handovers: tuple[Handover, ...] = ()
    loaded: frozenset[str] = frozenset()
    broken: Mapping[str, int] = field(default_factory=dict)
    lost_at: int = -1


def read_activity(entries: Iterable[Entry], session: str) -> SessionActivity:
    """Return what a session did from the entries of the stream of sessions that mention it."""
    found = SessionActivity(session)
    for entry in entries:
        try:
            _add(found, entry)
        except MALFORMED:
            continue
    return found


def _add(found: SessionActivity, entry: Entry) -> None:
    body, session = entry.body, found.session
    own = str(body.get("session_id", ""))
    part = own == session or own.startswith((f"{session}/", f"{session}#"))
    if not part and body.get("parent_session") != session:
        return
    if entry.kind in (STARTED, IMPORTED):
        begun = int(body["started_at"])
        found.prompts += 1
        found.known_by.add("hooks" if entry.by == HOOK else entry.by)
        found.outcome = Outcome(body.get("outcome") or Outcome.UNKNOWN).value
        found.started_at = begun if found.started_at < 0 else min(found.started_at, begun)
        found.episode, found.task = own, str(body["task_text"])[:_TASK]
        found.last_at = max(found.last_at, begun, int(body.get("ended_at") or -1))
        found.ended = entry.kind == IMPORTED
        for path in body.get("reads") or ():
            found.touch(str(path), edited=False, at=begun)
        for change in body.get("changes") or ():
            found.touch(str(change[0]), edited=True, at=begun)
    elif entry.kind == EVENT:
        at, kind = int(body["timestamp"]), str(body["event_type"])
        found.last_at = max(found.last_at, at)
        if kind in ("read", "edit") and (path := str(body.get("file_path") or "")):
            found.touch(path, edited=kind == "edit", at=at)
            found.now = f"{kind} {path}"
    elif entry.kind == ENDED and own == found.episode:
        found.ended = True
        found.outcome = Outcome(body.get("outcome") or found.outcome).value
        found.last_at = max(found.last_at, int(body.get("ended_at") or -1))
    elif entry.kind == FEEDBACK and own == found.episode:
        found.outcome = Outcome(body.get("outcome") or found.outcome).value


def running_session(
    activity: SessionActivity, gifts: SessionGifts, rules: Sequence[Rule], now: float
) -> RunningSession:
    """Return a session as it is reported; `rules` are those in force."""
    over = activity.ended
    calm = now - activity.last_at > HUSH
    return RunningSession(
        session_id=activity.session,
        episode=activity.episode,
        agent=activity.agent or next((handover.agent for handover in gifts.handovers if handover.agent), ""),
        task=activity.task,
        state=WAITING if over else QUIET if calm else WORKING,
        prompts=activity.prompts,
        started_at=activity.started_at,
        last_at=activity.last_at,
        now=activity.now,
        known_by=", ".join(sorted(activity.known_by)),
        outcome=activity.outcome,
        files=_files(activity, gifts.handovers),
        rules=_rules(gifts, rules),
        calls=len(gifts.handovers),
        tokens=sum(handover.tokens for handover in gifts.handovers),
        lost_at=gifts.lost_at,
    )


def _files(activity: SessionActivity, handovers: Iterable[Handover]) -> tuple[RunningFile, ...]:
    """Return the files, those touched last first, then those that were given and not opened, by path."""
    given: dict[str, str] = {}
    for one in handovers:
        for path, shown in one.files.items():
            given.setdefault(path, shown)
    found = [
        RunningFile(path, given.get(path, ""), *activity.touched.get(path, (-1, -1)))
        for path in given.keys() | activity.touched.keys()
    ]
    return tuple(sorted(found, key=lambda one: (-max(one.read_at, one.edited_at), one.path)))


def _rules(gifts: SessionGifts, rules: Iterable[Rule]) -> tuple[RunningRule, ...]:
    """Return the rules that the session has: broken ones first, then kept ones, then those unchecked."""
    given = {passage for handover in gifts.handovers for passage in handover.passages}
    found = []
    for rule in rules:
        file = "" if rule.provenance is None else rule.provenance.file
        by = "given" if rule.id in given else "loaded" if file and file in gifts.loaded else ""
        broken = gifts.broken.get(rule.id, -1)
        if by or broken >= 0:
            judged = KEPT if rule.check is not None and rule.enabled else UNKNOWN
            verdict = BROKEN if broken >= 0 else judged
            found.append(RunningRule(rule.id, instruction(rule), by, verdict, broken))
    order = (BROKEN, KEPT, UNKNOWN)
    return tuple(sorted(found, key=lambda one: (order.index(one.verdict), one.by, one.rule_id)))


def was_missed(file: RunningFile) -> bool:
    """Whether a session reads or changes a file that nothing handed over."""
    return not file.given and was_opened(file)


def was_opened(file: RunningFile) -> bool:
    """Whether a session read or changed a file."""
    return max(file.read_at, file.edited_at) >= 0


def seconds_of(entry: Entry) -> int:
    """Return when an entry was recorded."""
    return int(datetime.fromisoformat(entry.at).timestamp())


class TranscriptTail:
    """Follows one transcript. `touched` maps paths as written to (read, edited) in seconds, -1 never."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.touched: dict[str, tuple[int, int]] = {}
        self.last_call: ToolUse | None = None
        self._begin()

    def _begin(self) -> None:
        self._at, self._line, self._inode = 0, 0, -1
        self._format: Format | None = None
        self._fold = Fold("live")
        self._settings: dict[str, TranscriptRecord] = {}
        self._waiting: dict[str, ToolUse] = {}
        self.touched.clear()
        self.last_call = None

    @property
    def story(self) -> SessionStory:
        """What is known of the session; its tasks are the prompts that were read."""
        return self._fold.story

    def read(self) -> bool:
        """Take what was appended; return whether anything was. Raises: OSError if it cannot be read."""
        with self.path.open("rb") as file:
            status = os.fstat(file.fileno())
            if status.st_ino != self._inode or status.st_size < self._at:
                self._begin()
                self._inode = status.st_ino
            if status.st_size == self._at:
                return False
            records: list[TranscriptRecord | Unreadable] = []
            if self._at == 0 and status.st_size > FIRST_READ:
                records += islice(self._lines(file.readline(_LONGEST)), 1)
                file.seek(status.st_size - FIRST_READ)
                self._at = file.tell() + len(file.readline())
            file.seek(self._at)
            while (raw := file.readline(_LONGEST)).endswith(b"\n") or len(raw) == _LONGEST:
                self._at += len(raw)
                records += self._lines(raw)
        self._take(records)
        return bool(records)

    def _lines(self, raw: bytes) -> Iterator[TranscriptRecord | Unreadable]:
        self._line += 1
        if raw.endswith(b"\n") and raw.strip(b" \t\r\n\0"):
            yield decode_record(self._line, raw)

    def _take(self, records: list[TranscriptRecord | Unreadable]) -> None:
        if self._format is None:
            self._format, _ = format_of(iter(records))
        found = self._format
        if found is None or found.moments is None:
            return
        head = list(self._settings.values())
        for record in records:
            kind = record.value.get("type") if isinstance(record, TranscriptRecord) else None
            if isinstance(record, TranscriptRecord) and kind in _SETTINGS:
                self._settings[str(kind)] = record
        self._fold.take(self._watch(found.moments([*head, *records])))

    def _watch(self, moments: Iterator[Moment]) -> Iterator[Moment]:
        for moment in moments:
            if isinstance(moment, ToolUse):
                self.last_call = self._waiting[moment.id] = moment
            elif isinstance(moment, ToolResult):
                call = self._waiting.pop(moment.id, None)
                if call is not None and moment.outcome is CallOutcome.RAN:
                    self._touch(call, max(seconds(moment.at or call.at), 0))
            yield moment

    def _touch(self, call: ToolUse, at: int) -> None:
        for touch in touches(call):
            read, edited = self.touched.get(touch.path, (-1, -1))
            times = (max(read, at), edited) if touch.kind is None else (read, max(edited, at))
            self.touched[touch.path] = times
