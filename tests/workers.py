"""Tests in several processes that are forked once all tests are collected: `-p tests.workers --workers 3`.

Workers of xdist each import and collect everything, which takes ten seconds of each. Here one process
collects; workers inherit what it imported, take files of tests from a common pipe, the largest first, and
send their reports to it. A worker that dies fails the test that it ran, and another one runs the
rest of its file.
"""

from __future__ import annotations

import faulthandler
import mmap
import os
import pickle
import selectors
import signal
import struct
import tempfile
import time
import traceback
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from io import FileIO
from itertools import groupby
from typing import Any, BinaryIO, Final, NoReturn

import pytest
from _pytest.capture import FDCapture
from _pytest.faulthandler import (
    fault_handler_stderr_fd_key,
    get_exit_on_timeout_config_value,
    get_timeout_config_value,
)

_NUMBER: Final = struct.Struct("<I")
_PATIENCE: Final = 1.03  # of `faulthandler_timeout` until a test that hangs is ended


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that says how many."""
    parser.addoption("--workers", type=int, default=0, metavar="N", help="run tests in N forked processes")


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """Run all tests in workers, if any are asked for."""
    option = session.config.option
    if option.workers < 1 or option.collectonly or not session.items:
        return None
    if session.testsfailed and not option.continue_on_collection_errors:
        return None  # pytest's own loop says so
    Pool(session).run()
    if session.shouldfail:
        raise session.Failed(session.shouldfail)
    if session.shouldstop:
        raise session.Interrupted(session.shouldstop)
    return True


@dataclass
class Worker:
    """A forked process: its reports, and the tests that it took and did not end, by name in order."""

    process: int
    reports: FileIO
    left: dict[str, pytest.Item] = field(default_factory=dict)
    running: str = ""


class Pool:
    """The workers of a run, as the process that collected sees them."""

    def __init__(self, session: pytest.Session) -> None:
        self.session = session
        self.config = session.config
        self.base = self.config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]
        by_file = [list(items) for _, items in groupby(session.items, key=lambda item: item.path)]
        self.files = sorted(by_file, key=lambda items: -items[0].path.stat().st_size)
        self.stopped = mmap.mmap(-1, 1)
        self.started = 0
        self.read_turn, write_turn = os.pipe()
        with os.fdopen(write_turn, "wb") as turns:  # numbers of files: all of them fit into a pipe
            turns.write(b"".join(map(_NUMBER.pack, range(len(self.files)))))

    def run(self) -> None:
        workers: dict[int, Worker] = {}
        try:
            with selectors.DefaultSelector() as ready:
                for _ in range(min(self.config.option.workers, len(self.files))):
                    self._watch(ready, workers, self._fork([]))
                while workers:
                    for key, _ in ready.select():
                        worker: Worker = key.data
                        if self._take(worker):
                            continue
                        ready.unregister(worker.reports)
                        del workers[worker.process]
                        worker.reports.close()
                        _, status = os.waitpid(worker.process, 0)
                        if rest := self._bury(worker, status):
                            self._watch(ready, workers, self._fork(rest))
        finally:
            self.stopped[0] = 1
            for process, worker in workers.items():
                os.kill(process, signal.SIGINT)
                os.waitpid(process, 0)
                worker.reports.close()
            os.close(self.read_turn)

    def _watch(self, ready: selectors.BaseSelector, workers: dict[int, Worker], worker: Worker) -> None:
        workers[worker.process] = worker
        ready.register(worker.reports, selectors.EVENT_READ, worker)

    def _fork(self, first: list[pytest.Item]) -> Worker:
        number = self.started
        self.started += 1
        read, write = os.pipe()
        process = os.fork()
        if not process:
            os.close(read)
            _work(self, number, first, os.fdopen(write, "wb"))
        os.close(write)
        return Worker(process, FileIO(read), {item.nodeid: item for item in first})

    def _take(self, worker: Worker) -> bool:
        """Take what a worker sends next; False once it ended."""
        head = _read(worker.reports, _NUMBER.size)
        if not head:
            return False
        name, given = pickle.loads(_read(worker.reports, _NUMBER.unpack(head)[0]))
        hook = self.config.hook
        if name == "file":
            worker.left |= {item.nodeid: item for item in self.files[given]}
        elif name == "start":
            worker.running = given["nodeid"]
            hook.pytest_runtest_logstart(**given)
        elif name == "report":
            report = hook.pytest_report_from_serializable(config=self.config, data=given)
            hook.pytest_runtest_logreport(report=report)
            if self.session.shouldfail or self.session.shouldstop:
                self.stopped[0] = 1
        elif name == "finish":
            worker.left.pop(given["nodeid"], None)
            worker.running = ""
            hook.pytest_runtest_logfinish(**given)
        elif name == "warning":
            message = warnings.WarningMessage(**given.pop("warning_message"))
            hook.pytest_warning_recorded.call_historic(kwargs={"warning_message": message, **given})
        return True

    def _bury(self, worker: Worker, status: int) -> list[pytest.Item]:
        """Fail the test in which a worker died; return which of those that it took are left."""
        code = os.waitstatus_to_exitcode(status)
        if not code:
            return []
        item = worker.left.pop(worker.running, None)
        if item is None:
            raise RuntimeError(f"a worker ended with {code} between tests")
        how = f"by signal {-code}" if code < 0 else f"with exit code {code}"
        message = f"the process of this test ended {how}"
        report = pytest.TestReport(item.nodeid, item.location, {}, "failed", message, "call")
        self.config.hook.pytest_runtest_logreport(report=report)
        self.config.hook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        return [] if self.stopped[0] else list(worker.left.values())


def _read(pipe: FileIO, size: int) -> bytes:
    """Read so many bytes, none where the other end is gone."""
    data = b""
    while len(data) < size:
        if not (more := pipe.read(size - len(data))):
            return b""
        data += more
    return data


class Reporter:
    """Sends what happens in a worker to the process that collected."""

    def __init__(self, config: pytest.Config, pipe: BinaryIO) -> None:
        self._config = config
        self._pipe = pipe
        self.knows_past = False
        """Whether it is registered, whereupon it got all warnings that were there before."""

    def send(self, name: str, given: object) -> None:
        data = pickle.dumps((name, given))
        self._pipe.write(_NUMBER.pack(len(data)) + data)
        self._pipe.flush()

    def pytest_runtest_logstart(self, nodeid: str, location: tuple[str, int | None, str]) -> None:
        self.send("start", {"nodeid": nodeid, "location": location})

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        data = self._config.hook.pytest_report_to_serializable(config=self._config, report=report)
        self.send("report", data)

    def pytest_runtest_logfinish(self, nodeid: str, location: tuple[str, int | None, str]) -> None:
        self.send("finish", {"nodeid": nodeid, "location": location})

    def pytest_warning_recorded(
        self, warning_message: warnings.WarningMessage, when: str, nodeid: str, location: Any
    ) -> None:
        """Send a warning; what it is about may be anything, so its text alone."""
        given: Mapping[str, Any] = {
            "message": str(warning_message.message),
            "category": warning_message.category,
            "filename": warning_message.filename,
            "lineno": warning_message.lineno,
        }
        if self.knows_past:
            self.send(
                "warning", {"warning_message": given, "when": when, "nodeid": nodeid, "location": location}
            )


class Watch:
    """Ends a worker in which a test hangs, as pytest does, without a new thread for each test (.3 ms)."""

    def __init__(self, config: pytest.Config) -> None:
        config.pluginmanager.unregister(name="faulthandler")
        self._seconds = get_timeout_config_value(config)
        self._exit = get_exit_on_timeout_config_value(config)
        self._stderr = config.stash[fault_handler_stderr_fd_key]
        self._over = -float("inf")

    def look(self) -> None:
        """Arm the timer for the next test, unless that was done a moment ago."""
        if self._seconds > 0 and time.monotonic() > self._over:
            faulthandler.dump_traceback_later(self._seconds * _PATIENCE, file=self._stderr, exit=self._exit)
            self._over = time.monotonic() + self._seconds * (_PATIENCE - 1)


def _work(pool: Pool, number: int, first: list[pytest.Item], pipe: BinaryIO) -> NoReturn:
    """Be a worker: run tests until no file is left, and end without what the collecting process does then."""
    code = 1
    try:
        config, session = pool.config, pool.session
        os.environ["PYTEST_XDIST_WORKER"] = f"gw{number}"
        base = pool.base / f"popen-gw{number}"
        base.mkdir(mode=0o700)
        config._tmp_path_factory._basetemp = base  # type: ignore[attr-defined]
        _capture_apart(config)
        config.pluginmanager.unregister(name="terminalreporter")
        reporter = Reporter(config, pipe)
        config.pluginmanager.register(reporter, "reporter of a worker")
        reporter.knows_past = True
        _run_tests(pool, session, reporter, first)
        pipe.close()
        code = 0
    except BaseException:
        pool.config.pluginmanager.getplugin("capturemanager").stop_global_capturing()
        traceback.print_exc()
    finally:
        os._exit(code)


def _capture_apart(config: pytest.Config) -> None:
    """Have what tests print go to files of this process; the objects that stand for them stay."""
    capturing = config.pluginmanager.getplugin("capturemanager")._global_capturing
    for stream in (capturing.out, capturing.err):
        if isinstance(stream, FDCapture):
            with tempfile.TemporaryFile(buffering=0) as own:
                os.dup2(own.fileno(), stream.tmpfile.fileno())


def _run_tests(pool: Pool, session: pytest.Session, reporter: Reporter, first: list[pytest.Item]) -> None:
    """Run tests in turn, looking one ahead: the last test of a file ends what the next file does not use."""
    items = list(first)
    at, more = 0, True
    watch = Watch(session.config)
    try:
        while not pool.stopped[0]:
            while more and at + 1 >= len(items):
                turn = os.read(pool.read_turn, _NUMBER.size)
                if more := len(turn) == _NUMBER.size:
                    reporter.send("file", file := _NUMBER.unpack(turn)[0])
                    items += pool.files[file]
            if at == len(items):
                break
            following = items[at + 1] if at + 1 < len(items) else None
            watch.look()
            items[at].config.hook.pytest_runtest_protocol(item=items[at], nextitem=following)
            if session.shouldfail or session.shouldstop:
                pool.stopped[0] = 1
            at += 1
    finally:
        session._setupstate.teardown_exact(None)
