"""The pipe: every byte, at once, whatever happens to the reader, and signals that only end the listening."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.processes import LONG
from workbench.entry.os.pipes import Passed, pass_through, stoppable


@pytest.fixture
def pipe() -> Iterator[Any]:
    """Make pipes that are closed at the end of the test."""
    made: list[int] = []

    def make() -> tuple[int, int]:
        ends = os.pipe()
        made.extend(ends)
        return ends

    yield make
    for end in made:
        try:
            os.close(end)
        except OSError:
            continue  # the test closed it


@given(st.lists(st.binary(min_size=1, max_size=2_000), max_size=10))
def test_every_byte_passes_in_order(chunks: list[bytes]) -> None:
    """What comes out is what went in, and whoever looks on sees the same."""
    source, feed = os.pipe()
    out, sink = os.pipe()
    looked: list[bytes] = []
    for chunk in chunks:
        os.write(feed, chunk)
    os.close(feed)
    with stoppable() as stops:
        passed = pass_through(source, sink, looked.append, stops)
    os.close(sink)
    got = b""
    while piece := os.read(out, 65_536):
        got += piece
    os.close(out)
    os.close(source)
    whole = b"".join(chunks)
    assert (whole, whole, Passed(len(whole))) == (got, b"".join(looked), passed)


def test_what_was_read_is_written_before_anybody_looks(pipe: Any) -> None:
    """The reader of the pipe has each chunk at once, however long looking at it takes."""
    source, feed = pipe()
    out, sink = pipe()
    seen: list[bytes] = []

    def look(chunk: bytes) -> None:
        seen.append(os.read(out, 65_536))
        if len(seen) == 1:
            os.write(feed, b"two\n")
        else:
            os.close(feed)

    os.write(feed, b"one\n")
    with stoppable() as stops:
        pass_through(source, sink, look, stops)
    assert seen == [b"one\n", b"two\n"]


def test_a_reader_that_goes_away_ends_nothing(pipe: Any) -> None:
    """The stream is heard to its end."""
    source, feed = pipe()
    out, sink = pipe()
    looked: list[bytes] = []
    os.close(out)
    os.write(feed, b"one\ntwo\n")
    os.close(feed)
    with stoppable() as stops:
        passed = pass_through(source, sink, looked.append, stops)
    assert (b"".join(looked), passed.unheard) == (b"one\ntwo\n", True)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_listening_and_not_the_program(pipe: Any, number: signal.Signals) -> None:
    """What was there when it came is passed on; the source may have something more to say."""
    source, feed = pipe()
    out, sink = pipe()
    before = signal.getsignal(number)
    looked: list[bytes] = []

    def look(chunk: bytes) -> None:
        looked.append(chunk)
        if len(looked) == 1:
            os.kill(os.getpid(), number)
            os.write(feed, b"last words\n")

    os.write(feed, b"one\n")
    with stoppable() as stops:
        passed = pass_through(source, sink, look, stops)
    assert ([b"one\n", b"last words\n"], number) == (looked, passed.signal)
    assert os.read(out, 100) == b"one\nlast words\n"
    assert before is signal.getsignal(number)


def test_a_defect_of_whoever_looks_on_does_not_break_the_stream(pipe: Any) -> None:
    """All of it passes before the failure is heard of."""
    source, feed = pipe()
    out, sink = pipe()

    def look(chunk: bytes) -> None:
        os.write(feed, b"two\n")
        os.close(feed)
        raise KeyError("a defect")

    os.write(feed, b"one\n")
    with stoppable() as stops, pytest.raises(KeyError):
        pass_through(source, sink, look, stops)
    assert os.read(out, 100) == b"one\ntwo\n"


def test_silence_is_time_for_work(pipe: Any) -> None:
    """When nothing comes for a moment `idle` is called, once, and the stream goes on."""
    source, feed = pipe()
    _, sink = pipe()
    rests: list[str] = []
    waiting = threading.Event()

    def idle() -> None:
        rests.append("idle")
        waiting.set()

    def more() -> None:
        waiting.wait(LONG)
        os.write(feed, b"more\n")
        os.close(feed)

    looked: list[bytes] = []
    thread = threading.Thread(target=more)
    os.write(feed, b"one\n")
    thread.start()
    with stoppable() as stops:
        pass_through(source, sink, looked.append, stops, idle)
    thread.join()
    assert (rests, looked) == (["idle"], [b"one\n", b"more\n"])
