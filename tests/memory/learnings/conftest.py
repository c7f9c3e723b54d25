"""Makers of stores, iterations and learnings for the tests of this folder."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from store import files, generations
from tests.adapters import ManualClock, MemoryJournal
from workbench.memory.learnings.learningstore import LearningStore, store_of
from workbench.records.iterations import (
    ErrorEntry,
    ExtractionResult,
    IterationOutcome,
    IterationRecord,
    RawIterationOutput,
    ToolUseEvent,
)
from workbench.rules.curation.rulestore import RuleStore


@pytest.fixture
def clock() -> ManualClock:
    """A clock that stands at a moment of 2023."""
    return ManualClock()


@pytest.fixture
def store(tmp_path: Path, clock: ManualClock) -> LearningStore:
    """A store of learnings beside one of rules, with journals in memory."""
    return store_of(rule_store(tmp_path, MemoryJournal(clock), MemoryJournal(clock), clock))


def rule_store(
    tmp_path: Path, journal: MemoryJournal, home_journal: MemoryJournal, clock: ManualClock
) -> RuleStore:
    state = tmp_path / "state"
    return RuleStore(
        root=tmp_path,
        project_id="p",
        home=None,
        journal=journal,
        home_journal=home_journal,
        latest=lambda kind: None,
        publish=lambda kind, write: generations.publish(state, kind, write, clock=clock).path,
        lock=lambda name: contextlib.nullcontext(),
        now=clock.now,
        count_tokens=lambda text: len(text.split()),
        replace_file=lambda path, data, expected: files.replace_file(path, data, expected=expected),
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
