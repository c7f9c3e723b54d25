"""Ids sort by time and never repeat."""

from __future__ import annotations

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.records.ids import IdSource, is_id, milliseconds, new_id


@given(times=st.lists(st.integers(0, (1 << 48) - 2), min_size=1, max_size=20))
def test_ids_ascend_whatever_the_clock_does(times: list[int]) -> None:
    """Ids sort in the order they were made, also when the clock goes back."""
    clock = iter(times)
    source = IdSource(lambda: next(clock))
    ids = [source.new() for _ in times]

    assert sorted(set(ids)) == ids
    assert times[0] == milliseconds(ids[0])


def test_an_id_is_the_text_of_its_bits() -> None:
    """Known bits give the known text: ten characters of time, sixteen of chance."""
    assert IdSource(lambda: 1469918176385, lambda n: b"\xff" * n).new() == "01ARYZ6S41" + "Z" * 16
    assert IdSource(lambda: 0, bytes).several(2) == ["0" * 25 + "0", "0" * 25 + "1"]


def test_threads_share_no_id() -> None:
    """Ids made in several threads at once are all different."""
    made: list[str] = []
    threads = [threading.Thread(target=lambda: made.extend(new_id() for _ in range(200))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(set(made)) == 800
    assert all(is_id(identifier) for identifier in made)


@pytest.mark.parametrize("text", ["", "0" * 25, "8" + "0" * 25, "0" * 25 + "U", "0" * 25 + "a"])
def test_other_texts_are_no_ids(text: str) -> None:
    """What no source makes is refused."""
    assert not is_id(text)
    with pytest.raises(ValueError, match="not an id"):
        milliseconds(text)


def test_time_has_an_end() -> None:
    """A clock beyond the year 10889 is an error, not a shorter id."""
    with pytest.raises(OverflowError):
        IdSource(lambda: 1 << 48).new()


def test_machines_behind_the_same_clock_share_no_id() -> None:
    """All write after what they received of one that is ahead, each an id of its own."""
    ahead = IdSource(lambda: 9_000).new()
    behind = [IdSource(lambda: 1_000) for _ in range(3)]
    found = [identifier for source in behind for identifier in (*source.several(2, ahead), source.new())]
    assert len(set(found)) == 9
    assert min(found) > ahead
