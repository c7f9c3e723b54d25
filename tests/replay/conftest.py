"""A small rules benchmark on disk and in memory."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from workbench.records.rules import Rule
from workbench.replay.answers import MessageAnswer
from workbench.replay.datasets import Message, RulesDataset, Split

RULES = [
    {"id": "tabs", "name": "Tabs", "rule": "Indent with tabs.", "priority": 10, "examples": ["how wide"]},
    {"id": "push", "name": "Push", "rule": "Never force-push to main.", "level": "step"},
]
MESSAGES = [
    {"id": "m1", "text": "force push", "expected": ["push"], "kind": "terse", "split": "fit"},
    {"id": "m2", "text": "which indent", "expected": ["tabs"], "kind": "typo", "split": "test"},
    {"id": "m3", "text": "what is for lunch", "kind": "far", "split": "test"},
    {"id": "m4", "text": "good morning", "expected": [], "kind": "far", "split": "fit"},
]

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write a benchmark; each part is bytes, lines or objects."""

    def content(part: bytes | Sequence[Any]) -> bytes:
        if isinstance(part, bytes):
            return part
        lines = [line if isinstance(line, str) else json.dumps(line, ensure_ascii=False) for line in part]
        return ("\n".join(lines) + "\n").encode()

    def write(rules: bytes | Sequence[Any] = RULES, messages: bytes | Sequence[Any] = MESSAGES) -> Path:
        folder = tmp_path / "small"
        folder.mkdir(exist_ok=True)
        (folder / "rules.jsonl").write_bytes(content(rules))
        (folder / "messages.jsonl").write_bytes(content(messages))
        return folder

    return write


@pytest.fixture
def dataset() -> RulesDataset:
    """Two rules and four messages, half of them about no rule."""
    return RulesDataset(
        "small",
        (Rule("tabs", "Tabs", "Indent with tabs."), Rule("push", "Push", "Never force-push to main.")),
        (
            Message("m1", "force push", ("push",), "terse", Split.FIT),
            Message("m2", "good morning", (), "far", Split.FIT),
            Message("m3", "which indent", ("tabs",), "typo", Split.TEST),
            Message("m4", "what is for lunch", (), "far", Split.TEST),
        ),
    )


@pytest.fixture
def answer() -> Callable[..., MessageAnswer]:
    """Make an answer from the expected ids and {id: score}."""

    def make(
        expected: str, scores: dict[str, float], kind: str = "", split: Split = Split.TEST
    ) -> MessageAnswer:
        ranked = tuple(sorted(scores.items(), key=lambda item: (-item[1], item[0])))
        return MessageAnswer(Message("m", "text", tuple(expected.split()), kind, split), ranked)

    return make
