"""What was recorded goes when it is old enough: as a job that a person runs, or once a day by itself.

By itself nothing goes that the look of a day before did not find due already, so that a clock that jumped
takes nothing: after a jump, as after a week without a look, the next look only notes what would go.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import field
from datetime import UTC, datetime
from functools import partial
from itertools import count, islice
from pathlib import Path
from typing import TYPE_CHECKING, Final

from workbench.entry.project import (
    Again,
    FileJournal,
    StreamRewrite,
    decode_line,
    encode_line,
    list_streams,
    remove_indexes,
    remove_projections,
    rewrite_streams,
    stream_lines,
    write_atomic,
)
from workbench.entry.services.handovers import BROKEN
from workbench.entry.services.handovers import STREAM as HANDOVERS
from workbench.entry.services.purge import PurgeReport, state_places
from workbench.errors import UsageError
from workbench.ports import Entry
from workbench.records.answers.project import DoctorFinding, State
from workbench.records.dataclass import dataclass
from workbench.sessions.episodes_fold import FORGOTTEN, STREAM
from workbench.sessions.retention import SessionAges, past_task, read_head
from workbench.text.counts import plural, shown_bytes

if TYPE_CHECKING:
    from workbench.entry.project import OpenedProject

DAY: Final = 86_400.0
_WEEK: Final = 7 * DAY
_MOST: Final = 64 << 20
"""Bytes of the stream of sessions up to which retention runs by itself: seconds, at a session's end."""
_FILE: Final = "retention.json"
_MEMORY: Final = "memory/"
_FORGETS: Final = FORGOTTEN.encode()
_PASSING: Final = frozenset({"iteration", "correction.said"})
_DERIVED: Final = ("history", "memory")
"""Kinds of indexes that hold what was recorded of sessions."""


@dataclass(frozen=True, slots=True)
class RetentionState:
    """When retention last looked (seconds), when it last took something, and what that was."""

    looked: float = 0.0
    took: float = 0.0
    freed: int = 0
    due: Mapping[str, int] = field(default_factory=dict)


def purge_due(project: OpenedProject, *, dry: bool, cutoff: float | None = None) -> PurgeReport:
    """Take out what is older than the setting keeps, or than a moment in seconds.

    Events of sessions, what they were given, iterations and copies of transcripts go. A session that is among
    the past tasks that plans weigh stays as one, without its text; what was curated stays as it is.
    Raises: UsageError if everything is kept; StoreError, StoreBusy.
    """
    days = project.config.store.keep_days
    if not days:
        raise UsageError(
            "everything is kept: store.keep_days is 0", hint="`workbench config set store.keep_days 90`."
        )
    now = project.clock.now()
    moment = datetime.fromtimestamp(now - days * DAY if cutoff is None else cutoff, UTC)
    before = moment.isoformat(timespec="microseconds")[:-6] + "Z"
    counts: Counter[str] = Counter()
    freed = 0
    planned = project.latest("project") is not None
    for root in state_places(project):
        own = root == project.state
        with closing(project.open_tables("duckdb")) as tables:
            done = rewrite_streams(
                project.journal if own else FileJournal(root, project.clock),
                sorted(list_streams(root), key=lambda one: one != STREAM),
                partial(_change, project, root, before, own and planned and not dry),
                tables if own else None,
                dry=dry,
            )
        counts.update({stream: one.done.lines for stream, one in done.items()})
        freed += sum(one.done.freed for one in done.values())
        if not counts.total() or dry:
            continue
        if not own:
            remove_projections(root)
            continue
        if STREAM in done:
            project.workspace.move_past(done[STREAM].moves)
        remove_indexes(root, _DERIVED)
        if planned:
            project.workspace.sync()  # or the next command would read the past again
    copies, packed = project.archive().forget(moment.timestamp(), dry=dry)
    kept = project.remove_server_tables() if counts.total() and not dry else ""
    what, notes = f"what was recorded before {before[:10]}", (kept,) if kept else ()
    report = PurgeReport(what, +counts, copies, 0, 0, freed=freed + packed, notes=notes)
    _note(project, report, took=0.0 if dry or report.empty else now)
    return report


def purge_daily(project: OpenedProject) -> PurgeReport | None:
    """Do what is due, at most once a day; None where nothing is to be done, or only a look was taken.

    Raises: StoreError, StoreBusy.
    """
    days, state, now = project.config.store.keep_days, retention_state(project), project.clock.now()
    if not days or DAY > now - state.looked >= 0 or not 0 < project.journal.size(STREAM) <= _MOST:
        return None
    if not state.looked or not DAY <= now - state.looked <= _WEEK:
        purge_due(project, dry=True)
        return None
    return purge_due(project, dry=False, cutoff=state.looked - days * DAY)


def retention_state(project: OpenedProject) -> RetentionState:
    """Return what is noted of retention, of an unreadable note nothing."""
    with suppress(OSError, ValueError, TypeError):
        return RetentionState(**json.loads((project.state / _FILE).read_text(encoding="utf-8")))
    return RetentionState()


def retention_findings(project: OpenedProject) -> Iterator[DoctorFinding]:
    """Yield whether anything is kept longer than it is to be, for `doctor`."""
    days, state = project.config.store.keep_days, retention_state(project)
    lines = sum(state.due.values())
    if not days:
        yield DoctorFinding("retention", State.OK, "everything is kept (store.keep_days is 0)")
    elif lines:
        text = f"{plural(lines, 'record')} are older than {plural(days, 'day')}"
        yield DoctorFinding("retention", State.NOTE, text, "`workbench purge --due` takes them out.")
    else:
        day = datetime.fromtimestamp(state.took, UTC).date()
        took = f", last taken out on {day}: {shown_bytes(state.freed)}" if state.took else ""
        yield DoctorFinding("retention", State.OK, f"{plural(days, 'day')}{took}")


def _note(project: OpenedProject, report: PurgeReport, *, took: float) -> None:
    before = retention_state(project)
    state = {
        "looked": project.clock.now(),
        "took": took or before.took,
        "freed": report.freed if took else before.freed,
        "due": {} if took else {**report.journals, "transcripts": report.transcripts},
    }
    write_atomic(project.state / _FILE, json.dumps(state).encode())


_Change = Callable[[bytes], "bytes | None"]


def _change(
    project: OpenedProject,
    root: Path,
    before: str,
    along: bool,
    stream: str,
    done: Mapping[str, StreamRewrite],
) -> _Change | None:
    """Return what becomes of the lines of a stream, None where all stay; `done` is what changed before.

    What plans know of sessions is brought up to date where it can go `along`.
    """
    if stream == STREAM:
        change = _sessions_change(project, root, before)
        if along and change is not None:
            project.workspace.sync()
        return change
    if stream == HANDOVERS:
        return _handover_change(before, moved=STREAM in done and done[STREAM].done.lines > 0)
    if not stream.startswith(_MEMORY):
        return None

    def passing(line: bytes) -> bytes | None:
        head = read_head(line)
        return None if head is not None and head.kind in _PASSING and head.at < before else line

    return passing


def _sessions_change(project: OpenedProject, root: Path, before: str) -> _Change | None:
    """Return what becomes of the lines of sessions, None if all stay."""
    ages = SessionAges()
    for line in stream_lines(root, STREAM):
        ages.add(read_head(line))
    due = ages.due(before)
    if not due:
        return None
    end = ages.end_of(due)
    weighed = due & ages.newest_tasks(project.config.index.history_commits)
    found: defaultdict[str, list[Entry]] = defaultdict(list)
    for line in islice(stream_lines(root, STREAM), end) if weighed else ():
        if (head := read_head(line)) is not None and (session := head.body.session_id) in weighed:
            entry = decode_line(line)
            if isinstance(entry, Entry):
                found[session].append(entry)
    kept = {session: tasks for session, entries in found.items() if (tasks := past_task(entries))}
    stays = {task.id: Again(encode_line(task)) for tasks in kept.values() for task in tasks}
    gone = due - kept.keys()
    numbers = count(1)

    def change(line: bytes) -> bytes | None:
        if end < next(numbers) <= ages.lines and _FORGETS not in line:
            return line
        head = read_head(line)
        if head is None:
            return line
        named = head.body.session_ids
        if head.kind == FORGOTTEN and isinstance(named, list):
            if named and gone.issuperset(map(str, named)):
                return None
            return line if due.isdisjoint(map(str, named)) else Again(line)
        return stays.get(head.id) if head.body.session_id in due else line

    return change


def _handover_change(before: str, *, moved: bool) -> _Change:
    """Return what becomes of hand-overs: where sessions moved in their stream, times order both."""

    def change(line: bytes) -> bytes | None:
        head = read_head(line)
        if head is None:
            return line
        if head.at < before:
            return None
        if not moved or b'"seen":' not in line:
            return Again(line) if head.kind == BROKEN else line
        body = json.loads(line)
        body["body"]["seen"] = -1
        entry = Entry(body["id"], body["at"], body["kind"], body["by"], body["body"])
        return encode_line(entry)

    return change
