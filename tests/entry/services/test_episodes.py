"""Sessions are recorded by many processes at once, and what a killed one acknowledged is there."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections import Counter
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Any

from store.clock import SystemClock
from store.journal import FileJournal
from tests.deep import searches, times
from tests.processes import LONG, running
from workbench.config import Config
from workbench.entry.services.episodes import episode_service

PREPARE = """
import sys
from pathlib import Path
from workbench.config import Config
from workbench.entry.services.episodes import episode_service
desk = episode_service(Path(sys.argv[1]), Config(), "hook")
"""
TELL = (
    PREPARE
    + """
sys.stdin.readline()
desk.start("fix it", session_id="s")
desk.event("s", "edit", files=["shared.py"], key="shared")
for number in range(5):
    desk.event("s", "read", files=[f"{sys.argv[2]}-{number}.py"])
desk.feedback("s", "failed", "it crashes")
"""
)
DIE = (
    PREPARE
    + """
desk.start("fix it", session_id="s")
desk.event("s", "edit", files=["a.py"])
print("told", flush=True)
sys.stdin.readline()
"""
)


def start(code: str, *arguments: object) -> AbstractContextManager[subprocess.Popen[str]]:
    """Start a process that runs code while the block lasts."""
    return running([sys.executable, "-c", code, *map(str, arguments)], stdin=subprocess.PIPE)


def kinds(root: Path) -> Counter[str]:
    """Count the journal's entries by kind."""
    journal = FileJournal(root / ".workbench", SystemClock())
    return Counter(entry.kind for _, entry in journal.read("sessions"))


@searches
def test_processes_tell_one_session(work: Any) -> None:
    """What all of them tell is written once, what each tells of its own is all there."""
    count = times(3, 8)
    with ExitStack() as stack:
        processes = [stack.enter_context(start(TELL, work.root, number)) for number in range(count)]
        for process in processes:
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()
        for process in processes:
            _, errors = process.communicate(timeout=LONG)
            assert (process.returncode, errors) == (0, "")
    trace = episode_service(work.root, Config(), "cli").trace("s")
    assert len(trace.episode.reads) == 5 * count
    assert [change.path for change in trace.episode.changes] == ["shared.py"]
    assert kinds(work.root) == {"episode.started": 1, "episode.event": 5 * count + 1, "feedback.given": 1}


def test_a_killed_process_loses_nothing_it_told(work: Any) -> None:
    """After kill -9 the session goes on where it was."""
    with start(DIE, work.root) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "told\n"
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=LONG)
    desk = episode_service(work.root, Config(), "cli")
    assert desk.start("fix it", session_id="s") == "s"
    ended = desk.end("s", "success")
    assert [change.path for change in ended.changes] == ["a.py"]
    assert kinds(work.root) == {"episode.started": 1, "episode.event": 1, "episode.ended": 1}
