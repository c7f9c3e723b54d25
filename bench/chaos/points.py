"""Commands killed at every named point: before and after each write, sync, rename, removal and commit.

The calls that change files are watched in the process itself. A first run names the events of a command; then
it runs once for each and dies after it, which for what is on the disk is before the next one. What is
acknowledged has to outlast a power cut, too: written data is synced, and so are the directories that got a
new name (`unsynced`).
"""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

from bench.chaos.project import Content, Suite, answer, broken, content, difference, run
from store.journal import FileJournal

Event = tuple[str, str]
"""What was done, and the path below the directory that is watched."""

OPERATIONS: Final = (
    ("rules", ["rules", "add", "Point {}.", "--json"]),
    ("segments", ["stash", "add", "Point {}.", "--json"]),
    ("episodes", ["episode", "start", "Point {}.", "--json"]),
    ("", ["plan", "point {}"]),
    ("", ["stats"]),
    ("", ["rebuild"]),
    ("", ["import", "sessions"]),
    ("", ["purge", "--due", "--yes"]),
)
_CHANGING: Final = re.compile(r"[0-9A-Za-z]{20,}|[0-9a-f]{12,}|\d+")


class Watch:
    """Watches what this process changes below a directory, and ends it after the event `fatal`, from 1."""

    def __init__(self, below: Path, fatal: int = 0) -> None:
        self.below = os.path.realpath(below)
        self.events: list[Event] = []
        self._fatal = fatal

    def start(self, put: Callable[[object, str, object], None] = setattr) -> None:
        """Watch from now on; `put` sets an attribute."""
        for name, kind in (
            ("write", "write"),
            ("fdatasync", "sync"),
            ("fsync", "sync"),
            ("ftruncate", "cut"),
        ):
            put(os, name, self._watched(getattr(os, name), kind, self._opened))
        for name in ("replace", "rename"):
            put(os, name, self._watched(getattr(os, name), "rename", self._renamed))
        for name, kind in (("unlink", "remove"), ("mkdir", "make")):
            put(os, name, self._watched(getattr(os, name), kind, self._named))
        put(os, "open", self._watched(os.open, "make", self._made))
        self._watch_tables(put)

    def _watch_tables(self, put: Callable[[object, str, object], None]) -> None:
        from store.duck import KeptConnection

        connect = KeptConnection._connect

        def connected(kept: KeptConnection) -> Any:
            return _WatchedConnection(connect(kept), self)

        put(KeptConnection, "_connect", connected)

    def _watched(
        self, call: Callable[..., Any], kind: str, path_of: Callable[..., str]
    ) -> Callable[..., Any]:
        def watched(*given: Any, **options: Any) -> Any:
            path = path_of(*given, **options)
            if not path.startswith(f"{self.below}/") or path.endswith(".lock"):
                return call(*given, **options)
            return self.passing((kind, path[len(self.below) + 1 :]), lambda: call(*given, **options))

        return watched

    def passing(self, event: Event, call: Callable[[], Any]) -> Any:
        result = call()
        self.events.append(event)
        if len(self.events) == self._fatal:
            os.kill(os.getpid(), signal.SIGKILL)
        return result

    @staticmethod
    def _opened(descriptor: int, *_: object) -> str:
        return os.path.realpath(f"/proc/self/fd/{descriptor}")

    def _named(self, path: Any, *_: object, dir_fd: int | None = None) -> str:
        name = os.fsdecode(path)
        return os.path.abspath(name) if dir_fd is None else f"{self._opened(dir_fd)}/{name}"

    def _renamed(self, _: object, path: Any, *, dst_dir_fd: int | None = None, **__: object) -> str:
        return self._named(path, dir_fd=dst_dir_fd)

    def _made(self, path: Any, flags: int, *_: object, dir_fd: int | None = None) -> str:
        if not flags & os.O_CREAT:
            return ""
        found = self._named(path, dir_fd=dir_fd)
        return "" if os.path.lexists(found) else found


class _WatchedConnection:
    """A connection to tables whose commits and checkpoints are points."""

    def __init__(self, connection: Any, watch: Watch) -> None:
        self._connection = connection
        self._watch = watch

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    def execute(self, statement: str, *given: object) -> Any:
        word = statement.split(maxsplit=1)[0]
        if word in ("COMMIT", "CHECKPOINT"):
            return self._watch.passing(
                (word.lower(), "tables"), lambda: self._connection.execute(statement, *given)
            )
        return self._connection.execute(statement, *given)


def unsynced(events: Iterable[Event]) -> list[str]:
    """Return the files whose data, and the names whose directories, are not synced after they changed."""
    data: set[str] = set()
    names: set[str] = set()
    for kind, path in events:
        if kind == "write":
            data.add(path)
        elif kind in ("make", "rename"):
            names.add(path)
        elif kind == "remove":
            names.discard(path)
            data.discard(path)
        elif kind == "sync":
            data.discard(path)
            names = {name for name in names if (os.path.dirname(name) or ".") != path}
    return sorted(data | names)


def name_of(event: Event) -> str:
    """Return the name of an event: without what differs from run to run."""
    return f"{event[0]} {_CHANGING.sub('*', event[1])}"


def points(root: Path, seconds: float, dice: random.Random) -> Suite:
    """Kill commands at their points: of each name the first, then any; nothing is lost or broken."""
    suite = Suite("kill -9 at named points")
    state, whole, log = root / ".workbench", root.parent / "unkilled", root.parent / "events.json"
    (root / "module_0.py").write_text(
        "def retry_0():\n    return 'changed'\n"
    )  # so that something is indexed
    _record_past(root)
    shutil.copytree(state, whole)
    before = content(root)
    assert isinstance(before, Content), before
    wanted: list[tuple[int, int, int]] = []
    seen: Counter[str] = Counter()
    until = time.monotonic() + seconds
    for place in range(len(OPERATIONS)):
        _restore(whole, state)
        for number, event in enumerate(_events(root, place, log), 1):
            seen[name_of(event)] += 1
            wanted.append((seen[name_of(event)], place, number))
    dice.shuffle(wanted)
    wanted.sort(key=lambda one: one[0])
    for occurrence, place, number in wanted:
        if time.monotonic() > until:
            suite.notes["names left out"] += occurrence == 1
            continue
        _restore(whole, state)
        suite.tries += 1
        suite.notes["names"] += occurrence == 1
        _try(root, place, number, before, suite)
    return suite


def _record_past(root: Path) -> None:
    """Record sessions of which retention leaves tasks of one word, and have tables made of them."""
    past = SimpleNamespace(now=lambda: time.time() - 200 * 86_400)
    journal = FileJournal(root / ".workbench", past)
    for number in range(3):
        session = {"session_id": f"old-{number}"}
        task = {"project_id": "p", "task_text": f"retrying{number}", "task_fingerprint": "f"}
        body = {**session, **task, "query_type": "bugfix", "started_at": int(past.now())}
        read = {**session, "event_type": "read", "file_path": "module_1.py", "timestamp": int(past.now())}
        end = {**session, "ended_at": int(past.now()), "outcome": "success"}
        given = {**session, "agent": "claude", "event": "Stop", "seen": journal.size("sessions")}
        journal.append("sessions", "episode.started", [body], by="hook")
        journal.append("sessions", "episode.event", [read], by="hook")
        journal.append("sessions", "episode.ended", [end], by="hook")
        journal.append("handovers", "handover.given", [given], by="hook")
    run(root, ["stats"])


def _events(root: Path, place: int, log: Path) -> list[Event]:
    """Run an operation to its end and return its events."""

    def prepare() -> None:
        watch = Watch(root / ".workbench")
        watch.start()
        ending = os._exit

        def end(code: int) -> None:
            log.write_text(json.dumps(watch.events))
            ending(code)

        os._exit = end  # type: ignore[assignment] # the process ends there

    run(root, [word.format(0) for word in OPERATIONS[place][1]], prepare=prepare)
    return [(kind, path) for kind, path in json.loads(log.read_text())]


def _try(root: Path, place: int, number: int, before: Content, suite: Suite) -> None:
    kind, words = OPERATIONS[place]
    command, text = [word.format(number) for word in words], f"Point {number}."
    done = run(root, command, prepare=lambda: Watch(root / ".workbench", number).start())
    suite.notes["killed" if done.code == -signal.SIGKILL else "ended"] += 1
    where = f"{' '.join(command)}, point {number}"
    after = content(root)
    if isinstance(after, str):
        suite.faults.append(f"{where}: {after}")
        return
    there = getattr(after, kind).count(text) if kind else 0
    if there > 1 or (answer(done) is not None and kind and not there):
        suite.faults.append(f"{where}: {text!r} is there {there} times")
    rest = Content(
        *(tuple(one for one in part if one != text) for part in (after.rules, after.segments, after.episodes))
    )
    if rest != before:
        suite.faults.append(f"{where}: {difference(before, rest)}")
    if suite.tries % 5:
        return
    again = run(root, [word.format(f"again {number}") for word in words])
    if again.defect or again.code:
        suite.faults.append(f"{where}, again: {again.defect or again.err.strip()[-200:]}")
    suite.faults += [f"{where}: {fault}" for fault in broken(root)]


def _restore(whole: Path, state: Path) -> None:
    shutil.rmtree(state, ignore_errors=True)
    shutil.copytree(whole, state)
