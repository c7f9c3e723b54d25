"""How long an operation took and what it used, recorded where `workbench stats` finds it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from workbench.errors import StoreError
from workbench.plan.workspace import Synced


@dataclass(slots=True)
class Measured:
    """What an operation tells about itself while it runs.

    `stages` maps names to milliseconds, `cache` a level (index, contents, embeddings) to (hits, misses).
    `note` says what could not be recorded of it, and afterwards whether that is the measurement itself.
    """

    stages: dict[str, float] = field(default_factory=dict)
    cache: dict[str, tuple[int, int]] = field(default_factory=dict)
    tokens: int | None = None
    tokens_saved: int | None = None
    candidates: int | None = None
    degraded: tuple[str, ...] = ()
    note: str = ""

    def synced(self, found: Synced) -> None:
        """Take over what a sync did; a generation that had to be mended or built counts as missed."""
        self.stages.update(found.stages)
        self.cache["index"] = (1, 0) if found.cache == "hit" else (0, 1)

    def level(self, name: str, hits: int, misses: int) -> None:
        """Note a cache level that was asked at all."""
        if hits or misses:
            self.cache[name] = (hits, misses)


Record = Callable[[str, float, Measured, bool], None]
"""Writes (operation, milliseconds, what it told, whether it succeeded). Raises StoreError."""


@contextmanager
def measured(record: Record | None, operation: str) -> Iterator[Measured]:
    """Measure an operation and record it, a failed one too; without `record` nothing is written.

    A disk that is full or read-only never breaks the operation: the reason is left in `note`.
    """
    told = Measured()
    started = time.perf_counter()
    try:
        yield told
    except Exception:
        _write(record, operation, started, told, ok=False)
        raise
    _write(record, operation, started, told, ok=True)


def _write(record: Record | None, operation: str, started: float, told: Measured, *, ok: bool) -> None:
    if record is None:
        return
    try:
        record(operation, round((time.perf_counter() - started) * 1000, 3), told, ok)
    except (StoreError, OSError) as error:
        unmeasured = f"the measurement of this {operation} was not recorded: {error}"
        told.note = f"{told.note}; {unmeasured}" if told.note else unmeasured
