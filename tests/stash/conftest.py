"""A stash over journals in memory."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from store.vectors import build_index, load_index
from tests.adapters import ManualClock, MemoryJournal
from tests.stores import store_parts
from workbench.ports import Journal
from workbench.stash.segmentindex import IndexPlaces
from workbench.stash.segmentmodels import EmbeddingModel
from workbench.stash.segmenttype import PUT, STREAM
from workbench.stash.service import StashService
from workbench.stash.stashstore import StashStore


@pytest.fixture
def clock() -> ManualClock:
    """A clock that stands at a moment of 2023."""
    return ManualClock()


@pytest.fixture
def journal(clock: ManualClock) -> MemoryJournal:
    return MemoryJournal(clock)


@pytest.fixture
def stash(clock: ManualClock, journal: MemoryJournal) -> StashService:
    return stash_over(journal, clock)


def stash_over(journal: Journal, clock: ManualClock, by: str = "test") -> StashService:
    """Return the service of the stash in a journal; a token is a word."""
    parts = store_parts(journal, MemoryJournal(clock), clock, count_tokens=lambda text: len(text.split()))
    store = StashStore(
        **parts,
        texts=partial(read_texts, journal),
        referring=partial(read_referring, journal),
        of_session=lambda session: [
            body["segment_id"] for body in read_puts(journal) if body["session_id"] == session
        ],
    )
    return StashService(store, by)


def read_texts(journal: Journal, identifiers: Collection[str]) -> dict[str, str]:
    """Return the texts of segments by id, as the journal has them."""
    puts = [body for body in read_puts(journal) if "text" in body]
    return {body["segment_id"]: body["text"] for body in puts if body["segment_id"] in identifiers}


def read_referring(journal: Journal, identifiers: Collection[str]) -> dict[str, list[str]]:
    """Return, for each id, those of the segments that refer to it, as the journal has them."""
    puts = read_puts(journal)
    return {
        one: [body["segment_id"] for body in puts if one in body.get("references", ())] for one in identifiers
    }


def read_puts(journal: Journal) -> list[dict[str, Any]]:
    """Return what the journal says of segments that were put."""
    return [dict(entry.body) for _, entry in journal.read(STREAM) if entry.kind == PUT]


class Meanings:
    """Embeds a text by the meanings of its words: words of a group are one dimension (port `Embedder`)."""

    def __init__(self, *groups: str, model: str = "meanings") -> None:
        self.model = model
        self.texts: list[str] = []
        self._groups = {word: at for at, words in enumerate(groups) for word in words.split()}
        self._dimensions = len(groups) + 1

    def embed(
        self, texts: Sequence[str], *, progress: Callable[[int, int], None] | None = None
    ) -> NDArray[np.float32]:
        """Return a unit vector for each text; words of no group are one dimension, too."""
        self.texts += texts
        found = np.zeros((len(texts), self._dimensions), np.float32)
        for row, text in enumerate(texts):
            for word in re.findall(r"\w+", text.casefold()):
                found[row, self._groups.get(word, self._dimensions - 1)] += 1
        found /= np.maximum(np.linalg.norm(found, axis=1, keepdims=True), 1e-9)
        if progress is not None:
            progress(len(texts), len(texts))
        return found

    @property
    def asked(self) -> EmbeddingModel:
        return EmbeddingModel(self.model, self.model, self.embed)


@pytest.fixture
def places(journal: MemoryJournal, tmp_path: Path) -> IndexPlaces:
    """Where the index of the stash in the journal comes from and goes to; a token is a word."""
    made: list[Path] = []

    def publish(kind: str, write: Callable[[Path], None]) -> Path:
        made.append(tmp_path / f"{kind}-{len(made)}")
        made[-1].mkdir()
        write(made[-1])
        return made[-1]

    return IndexPlaces(
        journal=journal,
        texts=partial(read_texts, journal),
        latest=lambda kind: made[-1] if made else None,
        publish=publish,
        build=build_index,
        load=load_index,
        count_tokens=lambda text: len(text.split()),
        chunk_tokens=40,
    )
