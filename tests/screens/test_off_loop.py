"""Doors are noted where a screen opens them on the event loop, and nowhere else."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import screens
from tests.screens import off_loop
from tests.screens.off_loop import shut


class Store:
    """Something with a door."""

    def read(self) -> str:
        return "read"


def of_a_screen(call: Callable[[], Any]) -> Callable[[], Any]:
    place = Path(screens.__file__).parent / "made_up.py"
    code = compile("def glance():\n    return call()\n", place, "exec")
    names: dict[str, Any] = {"call": call}
    exec(code, names)
    glance: Callable[[], Any] = names["glance"]
    return glance


async def test_only_screens_on_the_loop_are_noted() -> None:
    """A callback of a screen is; a job, and what a test calls itself, are not."""
    seen: list[str] = []
    store = Store()
    with shut(Store, "read", seen):
        glance = of_a_screen(lambda: Store.read(store))
        assert glance() == "read"
        assert await asyncio.to_thread(glance) == "read"
        assert seen == []
        asyncio.get_running_loop().call_soon(of_a_screen(store.read))
        await asyncio.sleep(0)
    [line] = seen
    assert line.endswith("made_up.py:2 calls read on the event loop")
    assert store.read() == "read"


def test_without_a_loop_there_is_nothing_to_hold_up() -> None:
    """Outside any loop no caller is looked for."""
    assert off_loop.caller_on_the_loop() == ""
