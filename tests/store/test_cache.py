"""The cache of one process: how long it keeps, how much, and what goes first."""

from __future__ import annotations

import threading

from hypothesis import given
from hypothesis import strategies as st

from store.cache import ProcessCache
from store.memory import ManualClock

Cache = ProcessCache[str]


def test_a_value_lives_for_its_time_and_no_longer(clock: ManualClock) -> None:
    """It is there up to the last moment, not at the end of its time, and putting it again starts anew."""
    cache = Cache(clock, seconds=300, weight=10)
    cache.put("a", "1")
    clock.advance(299)
    assert cache.get("a") == "1"
    clock.advance(1)
    assert cache.get("a") is None
    assert cache.weight == 0
    cache.put("a", "2")
    clock.advance(299)
    assert cache.get("a") == "2"


def test_use_does_not_prolong_a_value(clock: ManualClock) -> None:
    """A value that is asked for all the time ends when its time is over."""
    cache = Cache(clock, seconds=300, weight=10)
    cache.put("a", "1")
    found = []
    for _ in range(4):
        clock.advance(100)
        found.append(cache.get("a"))
    assert found == ["1", "1", None, None]


def test_a_clock_set_back_ends_values(clock: ManualClock) -> None:
    """A value from the future is not served: nobody knows how old it is."""
    cache = Cache(clock, seconds=300, weight=10)
    cache.put("a", "1")
    clock.advance(-1)
    assert cache.get("a") is None


def test_the_least_recently_used_goes_first(clock: ManualClock) -> None:
    """Room is made by dropping what was not used for longest, as many as it takes."""
    cache = Cache(clock, seconds=300, weight=6)
    for key in "abc":
        cache.put(key, key, 2)
    assert cache.get("a") == "a"
    cache.put("d", "d", 3)
    assert [cache.get(key) for key in "abcd"] == ["a", None, None, "d"]
    assert cache.weight == 5


def test_a_value_too_heavy_is_not_kept_and_replaces_none(clock: ManualClock) -> None:
    """It leaves the others alone, but the old value under its key is gone."""
    cache = Cache(clock, seconds=300, weight=3)
    cache.put("a", "1")
    cache.put("b", "1")
    cache.put("a", "2", 4)
    assert (cache.get("a"), cache.get("b"), cache.weight) == (None, "1", 1)
    cache.put("b", "3", 3)
    assert (cache.get("b"), cache.weight, cache.fault) == ("3", 3, "")


@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("put"), st.sampled_from("abcdef"), st.integers(0, 7)),
            st.tuples(st.just("get"), st.sampled_from("abcdef"), st.just(0)),
            st.tuples(st.just("wait"), st.just(""), st.integers(1, 9)),
            st.tuples(st.just("clear"), st.just(""), st.just(0)),
        ),
        max_size=60,
    )
)
def test_it_never_weighs_too_much_nor_serves_anything_else(steps: list[tuple[str, str, int]]) -> None:
    """Whatever is done, the weight is at most the limit and a value is the last one put, in its time."""
    clock = ManualClock(0.0)
    cache = Cache(clock, seconds=10, weight=6)
    last: dict[str, tuple[str, float]] = {}
    for number, (what, key, amount) in enumerate(steps):
        if what == "put":
            cache.put(key, str(number), amount)
            last[key] = (str(number), clock.now())
        elif what == "wait":
            clock.advance(amount)
        elif what == "clear":
            cache.clear()
            last.clear()
        elif (found := cache.get(key)) is not None:
            assert (found, True) == (last[key][0], clock.now() - last[key][1] < 10)
        assert 0 <= cache.weight <= 6


def test_threads_leave_it_whole(clock: ManualClock) -> None:
    """Many threads putting and getting at once lose no weight and get only what was put under a key."""
    cache = Cache(clock, seconds=300, weight=50)
    barrier = threading.Barrier(8)
    wrong: list[str] = []

    def work(seed: int) -> None:
        barrier.wait()
        for number in range(400):
            key = f"k{(number * seed) % 37}"
            cache.put(key, key, number % 5)
            found = cache.get(f"k{number % 37}")
            if found not in (None, f"k{number % 37}"):
                wrong.append(str(found))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(1, 9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert 0 < cache.weight <= 50
    weight = cache.weight
    cache.clear()
    assert (weight > 0, cache.weight) == (True, 0)
