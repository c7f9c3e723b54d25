"""Makers of stores, iterations and learnings for the tests of this folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.adapters import ManualClock, MemoryJournal
from tests.stores import generations_in, rule_store
from workbench.memory.learnings.learningstore import LearningStore, store_of
from workbench.ports import Journal
from workbench.records.iterations import (
    ErrorEntry,
    ExtractionResult,
    IterationOutcome,
    IterationRecord,
    RawIterationOutput,
    ToolUseEvent,
)


@pytest.fixture
def clock() -> ManualClock:
    """A clock that stands at a moment of 2023."""
    return ManualClock()


@pytest.fixture
def store(tmp_path: Path, clock: ManualClock) -> LearningStore:
    """A store of learnings beside one of rules, with journals in memory."""
    return learning_store(MemoryJournal(clock), MemoryJournal(clock), clock, tmp_path)


def learning_store(journal: Journal, home: Journal, clock: ManualClock, root: Path) -> LearningStore:
    """Return a store that writes generations below `root`; a token is a word."""
    parts = {**generations_in(root / "state", clock), "latest": lambda kind: None}
    return store_of(
        rule_store(journal, home, clock, root=root, count_tokens=lambda text: len(text.split()), **parts)
    )


def call(command: str, result: str = "ok", *, failed: bool = False) -> ToolUseEvent:
    return ToolUseEvent("Bash", {"command": command}, result=result, failed=failed)


Iteration = tuple[IterationRecord, ExtractionResult, RawIterationOutput]


@pytest.fixture
def iteration() -> Callable[..., Iteration]:
    """Return a maker of iterations: what was called, said and asked, and how it ended."""

    def make(
        number: int = 1,
        *,
        uses: tuple[ToolUseEvent, ...] = (),
        texts: tuple[str, ...] = (),
        prompt: str = "",
        place: int = 0,
        session: str = "",
        outcome: IterationOutcome = IterationOutcome.SUCCESS,
        errors: tuple[ErrorEntry, ...] = (),
        at: str = "2023-11-14T22:00:00Z",
        **fields: Any,
    ) -> Iteration:
        from workbench.memory.extraction.decisions import find_decisions

        decisions = tuple(find_decisions(texts))
        record = IterationRecord(
            iteration_number=number,
            task_id=fields.pop("task_id", ""),
            task_title="",
            feature=fields.pop("feature", "auth"),
            discipline="",
            timestamp=at,
            outcome=outcome,
            summary="",
            errors=errors,
            decisions=decisions,
            **fields,
        )
        raw = RawIterationOutput(
            session=session or f"s{number}", place=place, prompt=prompt, texts=texts, tool_uses=uses
        )
        extraction = ExtractionResult(outcome=outcome, summary="", errors=errors, decisions=decisions)
        return record, extraction, raw

    return make
