"""A rule that two changed at once: which of its fields differ. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from screens.rules.form_fields import LABELS
from screens.widgets import field_merges as merges
from screens.widgets.field_merges import FieldMerge, merged_changes, undecided
from workbench.records.rules import Rule

__all__ = ["TEXTS", "FieldMerge", "field_merges", "merged_changes", "undecided"]

TEXTS: Final = frozenset({"rule", "condition_text", "scope", "conditions", "examples", "check", "name"})
"""Fields that can be merged as texts."""


def field_merges(seen: Rule, now: Rule, changes: Mapping[str, Any]) -> tuple[FieldMerge, ...]:
    """Return the fields that differ; a name follows from the text unless it was edited."""
    names = [name for name in LABELS if name != "name" or name in changes]
    return merges.field_merges(names, seen, now, changes)
