"""Typed decoding: values as declared, and a type that many threads use first at the same time."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Literal

import msgspec
import pytest

from workbench.records.conversion import convert, decode_json, decode_msgpack, explain_refusal

# `ReplayRun` holds `TaskRow`: while the one is examined, the other's annotations are evaluated, and there the
# race is begun. Threads keep the interpreter until they wait, so each of them uses the type at that moment.
RACE = """
import sys, threading
from workbench.records import replay

sys.setswitchinterval(1000)
running = threading.Semaphore(0)
examined = []

def first():
    try:
        replay.run_from_json({"format": replay.FORMAT, "id": "r"})
    except ValueError as error:
        return str(error)

def other():
    running.release()
    first()

threads = [threading.Thread(target=other) for _ in range(11)]

def meanwhile(kind):
    if not examined:
        examined.append(kind)
        for thread in threads:
            thread.start()
        for _ in threads:
            running.acquire()
    return kind

replay.meanwhile = meanwhile
replay.TaskRow.__annotations__["id"] = "meanwhile(str)"
print(first())
for thread in threads:
    thread.join()
print(*examined)
"""


def test_a_type_is_first_used_by_twelve_threads() -> None:
    """The others wait until a type is examined; to use it half examined would be a segmentation fault."""
    done = subprocess.run([sys.executable, "-c", RACE], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["Object missing required field `at`", "<class 'str'>"]


@dataclass(frozen=True, slots=True)
class Pair:
    """A record as the packages declare them."""

    left: int
    right: tuple[str, ...] = ()


def test_values_become_what_is_declared() -> None:
    """All three kinds of input give equal records, also inside containers."""
    plain = [{"left": 1, "right": ["a"]}, {"left": 2}]
    pairs = (Pair(1, ("a",)), Pair(2))
    assert convert(plain, tuple[Pair, ...]) == pairs
    assert decode_json(msgspec.json.encode(plain), tuple[Pair, ...]) == pairs
    assert decode_msgpack(msgspec.msgpack.encode(plain), tuple[Pair, ...]) == pairs


def test_other_values_are_refused() -> None:
    """Conversion is strict, before and after a type's first use."""
    for _ in range(2):
        with pytest.raises(msgspec.ValidationError):
            convert({"left": "1"}, Pair)
        with pytest.raises(msgspec.ValidationError):
            decode_json(b'{"left": "1"}', Pair)
        with pytest.raises(msgspec.DecodeError):
            decode_msgpack(b"", Pair)


class Detail(Enum):
    """How much is asked for."""

    SHORT = "short"
    LONG = "long"


class Request(msgspec.Struct):
    """Words of an enum, of a literal, in a list and beside null."""

    detail: Detail | None = None
    details: tuple[Detail, ...] = ()
    side: Literal["", "left"] = ""


@pytest.mark.parametrize(
    ("values", "end"),
    [
        ({"detail": "wide"}, "`$.detail`, which is one of long, short"),
        ({"details": ["wide"]}, "`$.details[0]`, which is one of long, short"),
        ({"side": "up"}, "`$.side`, which is one of , left"),
        ({"side": 5}, "Expected `str`, got `int` - at `$.side`"),
    ],
)
def test_a_word_that_is_not_allowed_is_refused_with_those_that_are(
    values: Mapping[str, object], end: str
) -> None:
    """Whoever sent it need not look the schema up."""
    with pytest.raises(msgspec.ValidationError) as refused:
        convert(values, Request)
    assert explain_refusal(refused.value, Request).endswith(end)
