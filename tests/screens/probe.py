"""How long the event loop is held up by what runs in it: `async with probe() as gaps: …; gaps.longest`.

A gap is the time from one tick of the loop to the next, all callbacks in between together: so long does a
key wait. It is counted in processor time of the loop's thread, so that a busy machine, which stops all
threads now and then, makes no gap of its own and tests can assert the figures. What a callback spends
waiting (for a lock, a file, another thread that holds the interpreter) takes no processor time and is not in
it: tests of code that waits assert on what it calls instead. The garbage collector counts, but not with the
objects that were there before: those are the test runner's.

A test marked `probed` runs anew, three times at most, if nothing but a limit given to `hold` failed: what the
code itself does to the loop it does each time, while other processes (emptied caches, a core that is slowed
down or shared with another machine) cost a thread processor time only now and then.
"""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final
from unittest.mock import patch

COLLECTING: Final = (700, 10, 10)
"""When the interpreter collects if nobody says otherwise, as the suite does."""

LONGEST: Final = 0.05  # seconds that a key may wait
ATTEMPTS: Final = 3


class TooLong(AssertionError):
    """The loop was held up for longer than allowed."""


@dataclass(slots=True)
class Gaps:
    """Processor seconds between one tick of the loop and the next, in order."""

    seconds: list[float] = field(default_factory=list)

    @property
    def longest(self) -> float:
        """Return the longest gap in seconds, 0 if the loop did not turn."""
        return max(self.seconds, default=0.0)

    @property
    def p99(self) -> float:
        """Return the 99th percentile of the gaps in seconds (nearest rank), 0 if the loop did not turn."""
        ranked = sorted(self.seconds)
        return ranked[-(-99 * len(ranked) // 100) - 1] if ranked else 0.0

    def hold(self, longest: float = LONGEST, p99: float | None = None) -> None:
        """Raise TooLong if a gap is longer than `longest` seconds, or the 99th percentile than `p99`."""
        if self.longest > longest:
            raise TooLong(f"a gap of {self.longest:.3f} s, allowed are {longest} s")
        if p99 is not None and self.p99 > p99:
            raise TooLong(f"99 of 100 gaps take {self.p99:.3f} s, allowed are {p99} s")


@asynccontextmanager
async def probe() -> AsyncIterator[Gaps]:
    """Measure the ticks of the running loop while the block runs, from the one after this on."""
    loop: Any = asyncio.get_running_loop()
    gaps = Gaps()
    turn = loop._run_once
    measuring = True

    def timed() -> None:
        start = time.thread_time()
        turn()
        if measuring:
            gaps.seconds.append(time.thread_time() - start)

    thresholds = gc.get_threshold()
    gc.collect()
    gc.freeze()
    gc.set_threshold(*COLLECTING)
    try:
        with patch.object(loop, "_run_once", timed):
            await asyncio.sleep(0)
            yield gaps
            # The tick that is going on counts once it ends, the one after it does not.
            await asyncio.sleep(0)
            measuring = False
    finally:
        gc.set_threshold(*thresholds)
        gc.unfreeze()
