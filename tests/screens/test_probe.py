"""The probe sees what holds the event loop up, and nothing else."""

from __future__ import annotations

import asyncio
import threading
import time

from tests.screens.probe import Gaps, probe


def work(seconds: float) -> None:
    """Use the processor for this long, on this thread."""
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        pass


async def test_a_slow_callback_is_a_gap() -> None:
    """Work on the loop's thread counts as long as it took, callbacks of one tick together."""
    loop = asyncio.get_running_loop()
    async with probe() as gaps:
        loop.call_soon(work, 0.02)
        loop.call_soon(work, 0.02)
        await asyncio.sleep(0)
    assert gaps.longest >= 0.04
    assert gaps.p99 == gaps.longest


async def test_work_before_and_after_is_not_counted() -> None:
    """Only ticks that start inside the block are measured."""
    work(0.05)
    async with probe() as gaps:
        await asyncio.sleep(0)
    work(0.05)
    await asyncio.sleep(0)
    assert len(gaps.seconds) >= 1
    assert gaps.longest < 0.05


async def test_other_threads_and_waiting_are_no_gap() -> None:
    """Processor time of another thread, while the loop waits for it, is not the loop's."""
    async with probe() as gaps:
        thread = threading.Thread(target=work, args=(0.1,))
        thread.start()
        await asyncio.to_thread(thread.join)
    assert gaps.longest < 0.1


def test_the_percentile_is_the_nearest_rank() -> None:
    """Of a hundred gaps the 99th is the second longest; of none it is 0."""
    assert Gaps([float(each) for each in range(1, 101)]).p99 == 99.0
    assert Gaps([3.0]).p99 == 3.0
    assert (Gaps().p99, Gaps().longest) == (0.0, 0.0)
