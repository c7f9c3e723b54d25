"""How long the event loop is held up: gaps between its turns, for the benchmarks of screens.

A gap is the time from one tick of the loop to the next, all callbacks in between together: so long does a key
wait. It is counted by processor time of the loop's thread, and callback by callback by that of the whole
process, in which waiting for a thread that holds the interpreter counts, too. What other processes take of
the machine is in neither.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final
from unittest.mock import patch

from textual.pilot import Pilot

from screens.app import WorkbenchApp

SIZE: Final = (120, 40)
LIMIT_GAP: Final = 0.050
LIMIT_P99: Final = 0.020
HEADER: Final = "| step | s | gap, ms CPU | p99 | gap, ms of all threads | p99 |\n|---|--:|--:|--:|--:|--:|"


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


@dataclass(frozen=True, slots=True)
class Phase:
    """What one thing took: seconds by the clock, and gaps of the loop by its thread and the process."""

    name: str
    seconds: float
    processor: Gaps
    whole: Gaps

    def row(self) -> str:
        times = (self.processor.longest, self.processor.p99, self.whole.longest, self.whole.p99)
        return (
            f"| {self.name} | {self.seconds:.2f} | " + " | ".join(f"{one * 1e3:.0f}" for one in times) + " |"
        )


@asynccontextmanager
async def measured() -> AsyncIterator[tuple[Gaps, Gaps]]:
    """Measure the ticks of the running loop by its thread, and each of their callbacks by the process.

    The collector of garbage runs as it does for users.
    """
    loop: Any = asyncio.get_running_loop()
    ticks, callbacks = Gaps(), Gaps()
    turn, run = loop._run_once, asyncio.Handle._run

    def timed_turn() -> None:
        start = time.thread_time()
        turn()
        ticks.seconds.append(time.thread_time() - start)

    def timed_run(handle: asyncio.Handle) -> None:
        start = time.process_time()
        run(handle)
        callbacks.seconds.append(time.process_time() - start)

    with patch.object(loop, "_run_once", timed_turn), patch.object(asyncio.Handle, "_run", timed_run):
        await asyncio.sleep(0)
        yield ticks, callbacks
        await asyncio.sleep(0)


async def settle(pilot: Pilot[Any]) -> None:
    """Wait until no job runs and none is about to."""
    app = pilot.app
    assert isinstance(app, WorkbenchApp)
    await pilot.pause()
    while app.jobs.busy:
        await app.jobs.idle()
        await pilot.pause()


async def phase(name: str, pilot: Pilot[Any], act: Callable[[], Awaitable[object] | object]) -> Phase:
    """Do something and wait until all it led to is over; measured from the start of it."""
    start = time.perf_counter()
    async with measured() as (processor, whole):
        acting = act()
        if isinstance(acting, Awaitable):
            await acting
        await settle(pilot)
    return Phase(name, time.perf_counter() - start, processor, whole)


def smooth(phases: list[Phase]) -> bool:
    """Print the gaps of all phases together; whether they are within the limits."""
    ticks = Gaps([seconds for found in phases for seconds in found.processor.seconds])
    print(f"All gaps: {ticks.longest * 1e3:.0f} ms at most, p99 {ticks.p99 * 1e3:.0f} ms CPU.")
    return ticks.longest <= LIMIT_GAP and ticks.p99 <= LIMIT_P99
