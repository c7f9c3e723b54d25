"""Ids that sort by time (ULID): 48 bits of milliseconds and 80 random ones, 26 characters of base 32."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable

LENGTH = 26

_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_VALUES = {character: value for value, character in enumerate(_ALPHABET)}
_CHARACTERS = frozenset(_ALPHABET)
_PAIRS = [high + low for high in _ALPHABET for low in _ALPHABET]  # two characters are 10 bits
_RANDOM_BITS = 80
_LAST = (1 << 128) - 1


class IdSource:
    """A source of ids, each greater than the one before, also when the clock stops or goes back.

    `milliseconds` gives the time since the epoch, `entropy` so many random bytes. Threads may share it; a
    forked child draws new random bits, so that it never repeats its parent's next id.
    """

    __slots__ = ("_entropy", "_last", "_lock", "_milliseconds", "_process")

    def __init__(
        self,
        milliseconds: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
        entropy: Callable[[int], bytes] = os.urandom,
    ) -> None:
        self._milliseconds = milliseconds
        self._entropy = entropy
        self._lock = threading.Lock()
        self._process = os.getpid()
        self._last = -1

    def new(self) -> str:
        """Return the next id."""
        return self.several(1)[0]

    def several(self, count: int, after: str = "") -> list[str]:
        """Return `count` ids in ascending order, all after an id if one is given."""
        with self._lock:
            if self._process != os.getpid():
                self._process, self._last = os.getpid(), -1
            random = int.from_bytes(self._entropy(10))
            drawn = max(self._milliseconds(), 0) << _RANDOM_BITS | random
            if drawn <= (known := _decode(after) if after else -1):
                # Not the very next id: that is what all machines would take that are behind the same clock.
                drawn = (known >> _RANDOM_BITS) + 1 << _RANDOM_BITS | random
            first = max(drawn, self._last + 1)
            self._last = first + count - 1
            if self._last > _LAST:
                raise OverflowError("the clock is beyond what an id can hold")
        return [_encode(number) for number in range(first, first + count)]


_SOURCE = IdSource()


def new_id() -> str:
    """Return a new id, greater than all ids this process made with this function before."""
    return _SOURCE.new()


def is_id(text: str) -> bool:
    """Tell whether the text has the form of an id."""
    return len(text) == LENGTH and text[0] in "01234567" and _CHARACTERS.issuperset(text)


def milliseconds(identifier: str) -> int:
    """Return the time of an id, in milliseconds since the epoch. Raises: ValueError if it is not an id."""
    if not is_id(identifier):
        raise ValueError(f"not an id: {identifier!r}")
    return _decode(identifier[:10])


def last_id_at(moment: int) -> str:
    """Return the greatest id of a moment, in milliseconds since the epoch."""
    return _encode(min(max(moment, 0) << _RANDOM_BITS | (1 << _RANDOM_BITS) - 1, _LAST))


def bind_step(step: str, machine: str) -> str:
    """Return the id of a step as a machine of a team gives it: no other machine has a step of that id."""
    return f"{step}.{machine}" if step and machine and not step_machine(step) else step


def step_machine(step: str) -> str:
    """Return the machine that a step's id names, "" where it was made outside of a team."""
    return step.partition(".")[2]


def _encode(number: int) -> str:
    return "".join([_PAIRS[number >> shift & 1023] for shift in range(120, -1, -10)])


def _decode(text: str) -> int:
    number = 0
    for character in text:
        number = number << 5 | _VALUES[character]
    return number
