"""A stash over journals in memory."""

from __future__ import annotations

import contextlib
from collections.abc import Collection
from functools import partial
from pathlib import Path

import pytest

from tests.adapters import ManualClock, MemoryJournal
from workbench.ports import Journal
from workbench.stash.segmenttype import PUT, STREAM
from workbench.stash.service import StashService
from workbench.stash.stashstore import StashStore


@pytest.fixture
def clock() -> ManualClock:
    """A clock that stands at a moment of 2023."""
    return ManualClock()


@pytest.fixture
def journal(clock: ManualClock) -> MemoryJournal:
    """The project's journal."""
    return MemoryJournal(clock)


@pytest.fixture
def stash(clock: ManualClock, journal: MemoryJournal) -> StashService:
    """The service of a stash."""
    return stash_over(journal, clock)


def stash_over(journal: MemoryJournal, clock: ManualClock, by: str = "test") -> StashService:
    """Return the service of the stash in a journal; a token is a word."""
    store = StashStore(
        project_id="p",
        journal=journal,
        home_journal=MemoryJournal(clock),
        latest=lambda kind: None,
        publish=lambda kind, write: Path("."),
        lock=lambda name: contextlib.nullcontext(),
        now=clock.now,
        count_tokens=lambda text: len(text.split()),
        texts=partial(read_texts, journal),
    )
    return StashService(store, by)


def read_texts(journal: Journal, identifiers: Collection[str]) -> dict[str, str]:
    """Return the texts of segments by id, as the journal has them."""
    puts = [entry.body for _, entry in journal.read(STREAM) if entry.kind == PUT and "text" in entry.body]
    return {body["segment_id"]: body["text"] for body in puts if body["segment_id"] in identifiers}
