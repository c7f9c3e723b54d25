"""Are the product's regular expressions linear? `python -m bench.expressions [--only PLACE] [--size N]`.

Each expression that `collect` finds is proved (`growth`) and measured: it is used as the product uses it, on
runs of each character that it tells apart from others, of two of them in turn, and of what leads into each
of its endless loops and around it, at N characters (10,000) and at four times as many. Where processor time
grows more than eightfold, twice, the line is printed; a linear one grows fourfold. Exit 1 if there is such a
line, or one that is not proved.
"""

from __future__ import annotations

import argparse
import re
import signal
import sys
import time
from collections.abc import Callable, Iterator
from itertools import combinations
from types import FrameType
from typing import Any, Final, NamedTuple

from bench.expressions.collect import Expression, every_expression
from bench.expressions.growth import find_growth, find_passages

LEAST: Final = 0.004
"""Seconds below which a time at N characters is not looked at: a quadratic one takes 0.05."""
MOST: Final = 20.0
"""Seconds after which a measurement is given up, which counts as so many."""
GROWTH: Final = 8


class Slow(NamedTuple):
    """A text that an expression is slow on: what leads in, is repeated, and ends it; seconds at N and 4 N."""

    before: str
    text: str
    after: str
    first: float
    second: float


def main(arguments: list[str] | None = None) -> int:
    """Prove and measure all expressions."""
    parser = argparse.ArgumentParser(prog="python -m bench.expressions", description=__doc__)
    parser.add_argument("--only", default="", help="part of the places to look at")
    parser.add_argument("--size", type=int, default=10_000, help="characters (default: 10,000)")
    options = parser.parse_args(arguments)
    found = [one for one in every_expression() if options.only in one.place]
    failed = 0
    print(f"| expression | used by | repeated | {options.size:,} | times 4 |\n| - | - | - | - | - |")
    for number, one in enumerate(found, 1):
        print(f"\r{number} of {len(found)}", end="", file=sys.stderr)
        for use in sorted(one.uses):
            slow = measure(one, use, options.size)
            growth = find_growth(one.pattern, use)
            failed += slow is not None or growth is not None
            if slow is not None:
                print(f"| {one.place} | {use} | {slow.text!r} | {slow.first:.3f} s | {slow.second:.3f} s |")
            elif growth is not None:
                print(f"| {one.place} | {use} | {growth.text!r} | not proved: {growth.kind} | |")
    print(f"\n{len(found)} expressions, {failed} that are not linear", file=sys.stderr)
    return 1 if failed else 0


def measure(expression: Expression, use: str, size: int) -> Slow | None:
    """Return the text that an expression is slowest on, None if it takes linear time for all."""
    slowest = None
    for before, text, after in _texts(expression.pattern):
        times = [_seconds(expression.pattern, use, _make(expression, before, text, after, size))]
        if times[0] < LEAST:
            continue
        longer = _make(expression, before, text, after, 4 * size)
        for _ in range(2):  # once more only where it looks slow
            times.append(_seconds(expression.pattern, use, longer))
            if times[-1] < GROWTH * times[0]:
                break
        else:
            slow = Slow(before, text, after, times[0], min(times[1:]))
            slowest = slow if slowest is None or slow.second > slowest.second else slowest
            if slow.second >= MOST:
                break
    return slowest


def _texts(pattern: re.Pattern[Any]) -> Iterator[tuple[str, str, str]]:
    letters, loops = find_passages(pattern)
    for text in (*letters, *map("".join, combinations(letters, 2))):
        yield "", text, "\0"
    for before, around in loops:
        for after in ("", "\n", "\0", "!"):
            yield before, around, after
            yield "", before + around, after


def _make(expression: Expression, before: str, text: str, after: str, size: int) -> Any:
    made = before + text * (size // len(text)) + after
    return made.encode("latin-1", "replace") if isinstance(expression.pattern.pattern, bytes) else made


def _seconds(pattern: re.Pattern[Any], use: str, text: Any) -> float:
    """Return the processor time of one use on a text, at most `MOST`."""
    run: Callable[[], object] = {
        "search": lambda: sum(1 for _ in pattern.finditer(text)),
        "match": lambda: pattern.match(text),
        "fullmatch": lambda: pattern.fullmatch(text),
    }[use]
    before = signal.signal(signal.SIGVTALRM, _give_up)
    signal.setitimer(signal.ITIMER_VIRTUAL, MOST)
    begin = time.process_time()
    try:
        run()
    except TimeoutError:
        return MOST
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
    return time.process_time() - begin


def _give_up(number: int, frame: FrameType | None) -> None:
    raise TimeoutError


if __name__ == "__main__":
    sys.exit(main())
