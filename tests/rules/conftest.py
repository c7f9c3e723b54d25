"""Makers of rules and rule files for the tests of this folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.adapters import ManualClock, MemoryJournal
from tests.stores import generations_in, rule_store
from workbench.records.rules import Rule
from workbench.rules.curation.rulestore import RuleStore
from workbench.rules.reading.discovery import RuleSource
from workbench.rules.reading.imports import RuleImport, import_rules

Import = Callable[..., RuleImport]


@pytest.fixture
def imported() -> Import:
    """Return an importer of texts by file name: `imported({"CLAUDE.md": "- Use tabs."})`."""

    def run(
        files: dict[str, str | bytes], formats: dict[str, str] | None = None, **options: Any
    ) -> RuleImport:
        from workbench.rules.formats.families import family_of

        sources = []
        for path in files:
            found = family_of(path)
            name, directory = (found[0].name, found[1]) if found else ("plain", "")
            sources.append(RuleSource(path, (formats or {}).get(path, name), path, directory))
        data = {path: text.encode() if isinstance(text, str) else text for path, text in files.items()}
        return import_rules(sources, lambda source: data[source.path], project_id="p", **options)

    return run


@pytest.fixture
def rule() -> Callable[..., Rule]:
    """Return a maker of rules: `rule("r1", "Use tabs.", priority=70)`."""

    def make(identifier: str, text: str = "Use tabs.", **fields: object) -> Rule:
        base: dict[str, object] = {"name": text[:40], "rule": text, "action_text": text, "token_cost": 10}
        return Rule(id=identifier, **{**base, **fields})  # type: ignore[arg-type]

    return make


@pytest.fixture
def project(tmp_path: Path) -> Callable[[dict[str, str]], Path]:
    """Return a maker of project directories from {path: text}."""

    def make(files: dict[str, str]) -> Path:
        root = tmp_path / "project"
        for path, text in files.items():
            target = root / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")
        root.mkdir(exist_ok=True)
        return root

    return make


@pytest.fixture
def store(tmp_path: Path) -> RuleStore:
    """A project directory and a home with journals in memory and generations on disk."""
    clock = ManualClock()
    for name in ("project", "home"):
        (tmp_path / name).mkdir()
    return rule_store(
        MemoryJournal(clock),
        MemoryJournal(clock),
        clock,
        root=tmp_path / "project",
        home=tmp_path / "home",
        count_tokens=lambda text: len(text) // 4,
        **generations_in(tmp_path / "state", clock),
    )
