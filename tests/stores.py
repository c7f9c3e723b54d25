"""Stores of curated records over any journals: they keep nothing else, but where a test says so."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from store import files, generations
from workbench.ports import Clock, Journal
from workbench.rules.curation.rulestore import RuleStore


def store_parts(journal: Journal, home_journal: Journal, clock: Clock, **others: Any) -> dict[str, Any]:
    """Return what a store of any records takes; a token is a character."""
    return {
        "project_id": "p",
        "journal": journal,
        "home_journal": home_journal,
        "latest": lambda kind: None,
        "publish": lambda kind, write: Path("."),
        "lock": lambda name: contextlib.nullcontext(),
        "now": clock.now,
        "count_tokens": len,
        **others,
    }


def rule_store(journal: Journal, home_journal: Journal, clock: Clock, **others: Any) -> RuleStore:
    """Return a store of rules; `root` is where their files are."""
    parts = {"root": Path("."), "home": None, "replace_file": replace_file, **others}
    return RuleStore(**store_parts(journal, home_journal, clock, **parts))


def replace_file(path: Path, data: bytes | None, expected: bytes | None) -> None:
    files.replace_file(path, data, expected=expected)


def generations_in(state: Path, clock: Clock, *, bare: Path | None = None) -> dict[str, Any]:
    """Return parts that keep generations in `state`; with `bare` they find none and write there."""

    def latest(kind: str) -> Path | None:
        generation = generations.latest(state, kind)
        return generation.path if isinstance(generation, generations.Generation) and not bare else None

    def publish(kind: str, write: Callable[[Path], None]) -> Path:
        return generations.publish(bare or state, kind, write, clock=clock).path

    return {"latest": latest, "publish": publish}
