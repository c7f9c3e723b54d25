"""The first cache level: values in this process, for a while, up to a total weight (port `Cache`)."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import Generic, TypeVar

from workbench.ports import Clock

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class _Kept(Generic[Value]):
    value: Value
    weight: int
    since: float


class ProcessCache(Generic[Value]):
    """Values by key for `seconds` after they were put, weighing `weight` together at most.

    When room is needed the values that were not used for longest go first. Every value weighs 1 at least, so
    that those without content don't pile up; one too heavy for the whole cache is not kept. Any number of
    threads may use it. Time that runs backwards ends a value as time that runs on does.
    """

    def __init__(self, clock: Clock, *, seconds: float, weight: int) -> None:
        self._clock = clock
        self._seconds = seconds
        self._most = weight
        self._weight = 0
        self._kept: OrderedDict[str, _Kept[Value]] = OrderedDict()
        self._lock = threading.Lock()

    @property
    def weight(self) -> int:
        """What the values weigh together."""
        with self._lock:
            return self._weight

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
        """Keep a value, in place of the one under that key."""
        weight = max(weight, 1)
        with self._lock:
            self._drop(key)
            if weight > self._most:
                return
            while self._weight + weight > self._most:
                self._drop(next(iter(self._kept)))
            self._kept[key] = _Kept(value, weight, self._clock.now())
            self._weight += weight

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._kept.clear()
            self._weight = 0

    def _drop(self, key: str) -> None:
        kept = self._kept.pop(key, None)
        if kept is not None:
            self._weight -= kept.weight
