"""The cache of one process: how long it keeps, how much, and what goes first."""

from __future__ import annotations

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from store.cache import ProcessCache
from tests.adapters import ManualClock


def cache(clock: ManualClock, most: int = 10, seconds: float = 300) -> ProcessCache[str]:
    """Return a cache of words, which hold their letters."""
    return ProcessCache(clock, seconds=seconds, most=most, parts=str.strip)


def test_a_value_lives_for_its_time_and_no_longer(clock: ManualClock) -> None:
    """It is there up to the last moment, not at the end of its time, and putting it again starts anew."""
    kept = cache(clock)
    kept.put("a", "1")
    clock.advance(299)
    assert kept.get("a") == "1"
    clock.advance(1)
    assert kept.get("a") is None
    assert kept.held == 0
    kept.put("a", "2")
    clock.advance(299)
    assert kept.get("a") == "2"


def test_use_does_not_prolong_a_value(clock: ManualClock) -> None:
    """A value that is asked for all the time ends when its time is over."""
    kept = cache(clock)
    kept.put("a", "1")
    found = []
    for _ in range(4):
        clock.advance(100)
        found.append(kept.get("a"))
    assert found == ["1", "1", None, None]


def test_a_clock_set_back_ends_values(clock: ManualClock) -> None:
    """A value from the future is not served: nobody knows how old it is."""
    kept = cache(clock)
    kept.put("a", "1")
    clock.advance(-1)
    assert kept.get("a") is None


def test_the_least_recently_used_goes_first(clock: ManualClock) -> None:
    """Room is made by dropping what was not used for longest, as many values as it takes."""
    kept = cache(clock, most=6)
    for key, value in (("a", "ab"), ("b", "cd"), ("c", "ef")):
        kept.put(key, value)
    assert kept.get("a") == "ab"
    kept.put("d", "xyz")
    assert [kept.get(key) for key in "abcd"] == ["ab", None, None, "xyz"]
    assert kept.held == 5


def test_what_several_values_hold_counts_once(clock: ManualClock) -> None:
    """Values with parts in common fit together, and a part goes with the last value that holds it."""
    kept = cache(clock, most=4)
    for key, value in (("a", "wxy"), ("b", "xyz"), ("c", "zyxw"), ("d", "")):
        kept.put(key, value)
    assert [kept.get(key) for key in "abcd"] == ["wxy", "xyz", "zyxw", ""]
    assert kept.held == 4
    kept.put("e", "v")
    assert [kept.get(key) for key in "abcde"] == [None, None, None, "", "v"]
    assert kept.held == 1


def test_values_without_parts_do_not_pile_up(clock: ManualClock) -> None:
    """There are no more values than parts allowed."""
    kept = cache(clock, most=3)
    for key in "abcd":
        kept.put(key, "")
    assert [kept.get(key) for key in "abcd"] == [None, "", "", ""]


@pytest.mark.parametrize("most", [0, 3])
def test_a_value_that_holds_too_much_is_not_kept(clock: ManualClock, most: int) -> None:
    """It leaves the others alone, but the old value under its key is gone."""
    kept = cache(clock, most=most)
    kept.put("a", "1")
    kept.put("b", "2")
    kept.put("a", "1234")
    assert (kept.get("a"), kept.get("b"), kept.held) == (None, *(("2", 1) if most else (None, 0)))
    assert kept.fault == ""


@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("put"), st.sampled_from("abcdef"), st.text("uvwxyz", max_size=7)),
            st.tuples(st.just("get"), st.sampled_from("abcdef"), st.just("")),
            st.tuples(st.just("wait"), st.just(""), st.text("s", max_size=9)),
            st.tuples(st.just("clear"), st.just(""), st.just("")),
        ),
        max_size=60,
    )
)
def test_it_never_holds_too_much_nor_serves_anything_else(steps: list[tuple[str, str, str]]) -> None:
    """Whatever is done, what is held is within the limit and a value is the last one put, in its time."""
    clock = ManualClock(0.0)
    kept = cache(clock, most=4, seconds=10)
    last: dict[str, tuple[str, float]] = {}
    for what, key, text in steps:
        if what == "put":
            kept.put(key, text)
            last[key] = (text, clock.now())
        elif what == "wait":
            clock.advance(len(text))
        elif what == "clear":
            kept.clear()
            last.clear()
        elif (found := kept.get(key)) is not None:
            assert (found, True) == (last[key][0], clock.now() - last[key][1] < 10)
        there = [found for name in "abcdef" if (found := kept.get(name)) is not None]
        assert len(there) <= 4
        assert kept.held == len(set("".join(there))) <= 4


def test_threads_leave_it_whole(clock: ManualClock) -> None:
    """Many threads putting and getting at once lose count of nothing and get what was put under a key."""
    kept = ProcessCache[str](clock, seconds=300, most=50, parts=lambda text: text.split())
    barrier = threading.Barrier(8)
    wrong: list[str] = []

    def work(seed: int) -> None:
        barrier.wait()
        for number in range(400):
            place = (number * seed) % 37
            kept.put(f"k{place}", f"k{place} a{place % 5} b{place % 7}")
            found = kept.get(f"k{number % 37}")
            if found is not None and found.split()[0] != f"k{number % 37}":
                wrong.append(found)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(1, 9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    there = [found for place in range(37) if (found := kept.get(f"k{place}")) is not None]
    assert (wrong, len(there) > 0) == ([], True)
    assert kept.held == len({part for found in there for part in found.split()}) <= 50
    kept.clear()
    assert kept.held == 0
