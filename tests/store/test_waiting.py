"""Calls that may hang are waited for no longer than asked."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import pytest

from store.redis_cache import Caller, TookTooLong


@pytest.fixture
def caller() -> Iterator[Caller]:
    made = Caller("test", (KeyError,))
    yield made
    made.close()


def test_results_and_expected_errors_reach_the_caller(caller: Caller) -> None:
    """What the function returns or raises is what the call returns or raises, one call after the other."""

    def missing() -> int:
        raise KeyError("k")

    assert caller.call(lambda: 1, 60) == 1
    with pytest.raises(KeyError, match="k"):
        caller.call(missing, 60)
    assert caller.call(lambda: "again", 60) == "again"


def test_a_hanging_call_is_given_up_and_holds_nobody_else(caller: Caller) -> None:
    """While it hangs further calls fail without being made; once it ends calls are made again."""
    release, made = threading.Event(), threading.Event()

    with pytest.raises(TookTooLong):
        caller.call(release.wait, 0.001)
    with pytest.raises(TookTooLong):
        caller.call(made.set, 3600)
    assert not made.is_set()

    release.set()
    assert when_free(caller, lambda: 7) == 7


def test_a_call_given_up_before_its_turn_is_never_made(caller: Caller) -> None:
    """Two calls wait behind a hanging one; the one nobody waits for any more is left out."""
    release, started, made = threading.Event(), threading.Event(), threading.Event()

    def hang() -> bool:
        started.set()
        return release.wait()

    first = threading.Thread(target=caller.call, args=(hang, 3600))
    first.start()
    started.wait()
    with pytest.raises(TookTooLong):
        caller.call(made.set, 0.001)
    release.set()
    first.join()
    assert when_free(caller, made.is_set) is False


def test_close_ends_the_thread_and_may_come_twice() -> None:
    """No thread is left, also if none was ever started; a call after it starts a new one."""
    before = threading.active_count()
    caller = Caller("test", ())
    caller.close()
    caller.call(lambda: 1, 60)
    caller.close()
    caller.close()
    assert threading.active_count() == before


def when_free(caller: Caller, function: Callable[[], object]) -> object:
    """Make a call as soon as the one that was given up has ended."""
    while True:
        try:
            return caller.call(function, 60)
        except TookTooLong:
            continue
