"""Duplicates and contradictions among rules: found, explained, and settled by people only."""

from workbench.rules.conflicts.find import find_conflicts
from workbench.rules.conflicts.suggest import merge_text

__all__ = ["find_conflicts", "merge_text"]
