"""Rules survive the journal, and malformed bodies are refused with the field's name."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from workbench.errors import ParseError
from workbench.records.rules import Rule, rule_id
from workbench.rules.curation.ruletype import from_body, to_body
from workbench.rules.reading.imports import RuleImport


def test_round_trip_through_json(imported: Callable[..., RuleImport]) -> None:
    """A rule read back from its journal line equals the rule written."""
    text = "---\npaths: [src/**]\nowner: me\n---\n# T\n- MUST use tabs.\n"
    for rule in imported({".claude/rules/a.md": text}).rules:
        assert from_body(json.loads(json.dumps(to_body(rule)))) == rule


def test_unknown_keys_are_ignored() -> None:
    """A body of a later version can be read."""
    assert from_body({"id": "a", "name": "n", "rule": "Use x.", "later": 1}) == Rule("a", "n", "Use x.")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rule": None}, "rule"),
        ({"rule": " "}, "rule is empty"),
        ({"priority": 101}, "priority 101"),
        ({"priority": "high"}, "priority"),
        ({"category": "taste"}, "category"),
        ({"scope": "git"}, "scope"),
        ({"version": 0}, "version"),
        ({"cooldown": -1}, "cooldown"),
        ({"replaces": ["a"]}, "replaces itself"),
        ({"provenance": {"file": "x"}}, "line"),
    ],
)
def test_bad_values_name_their_field(change: dict[str, Any], message: str) -> None:
    """Wrong types, unknown words and values out of range are refused."""
    with pytest.raises(ParseError, match=message):
        from_body({"id": "a", "name": "n", "rule": "Use x.", **change})


def test_missing_fields() -> None:
    """An empty body says what is missing."""
    with pytest.raises(ParseError, match="id"):
        from_body({})


def test_ids_depend_on_owner_file_text_and_occurrence() -> None:
    """Each part of an id counts, layout of the text doesn't."""
    base = rule_id("p", "f", "Use  tabs.")
    assert base == rule_id("p", "f", "use tabs.\n")
    others = {
        rule_id("q", "f", "Use tabs."),
        rule_id("p", "g", "Use tabs."),
        rule_id("p", "f", "Use tabs.", 1),
    }
    assert len(others | {base}) == 4
