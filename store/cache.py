"""Values in this process (port `Cache`), for a while and so much together. `redis_cache` shares them."""

from __future__ import annotations

import threading
from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

from workbench.ports import Clock

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class _Kept(Generic[Value]):
    value: Value
    parts: tuple[Hashable, ...]
    since: float


class ProcessCache(Generic[Value]):
    """Values by key for `seconds` after they were put.

    `parts` returns what a value holds, and at most `most` parts are held by all values together: one that
    several of them hold is in memory once and counts once. Nor are there more than `most` values. When room
    is needed those that were not used for longest go first; one that holds too much by itself is not kept.
    Any number of threads may use it. Time that runs backwards ends a value as time that runs on does.
    """

    def __init__(
        self, clock: Clock, *, seconds: float, most: int, parts: Callable[[Value], Iterable[Hashable]]
    ) -> None:
        self._clock = clock
        self._seconds = seconds
        self._most = most
        self._parts = parts
        self._held: Counter[Hashable] = Counter()
        self._kept: OrderedDict[str, _Kept[Value]] = OrderedDict()
        self._lock = threading.Lock()

    @property
    def held(self) -> int:
        """How many parts are held."""
        with self._lock:
            return len(self._held)

    @property
    def fault(self) -> str:
        """Memory is always there."""
        return ""

    def get(self, key: str) -> Value | None:
        """Return the value if it is there and young enough."""
        with self._lock:
            kept = self._kept.get(key)
            if kept is None:
                return None
            if not 0 <= self._clock.now() - kept.since < self._seconds:
                self._drop(key)
                return None
            self._kept.move_to_end(key)
            return kept.value

    def put(self, key: str, value: Value, weight: int = 1) -> None:
        """Keep a value, in place of the one under that key. Its size is the sum of its parts."""
        del weight
        parts = tuple(dict.fromkeys(self._parts(value)))
        with self._lock:
            self._drop(key)
            if max(len(parts), 1) > self._most:
                return
            self._held.update(parts)
            while len(self._held) > self._most or len(self._kept) >= self._most:
                self._drop(next(iter(self._kept)))
            self._kept[key] = _Kept(value, parts, self._clock.now())

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._kept.clear()
            self._held.clear()

    def _drop(self, key: str) -> None:
        kept = self._kept.pop(key, None)
        for part in () if kept is None else kept.parts:
            self._held[part] -= 1
            if not self._held[part]:
                del self._held[part]
