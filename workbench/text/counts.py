"""Counts as people read them: `1 file`, `2,000 files`."""

from __future__ import annotations


def counted(count: int, noun: str, plural: str = "") -> str:
    """Return a count with its noun, in the plural unless it is one; `plural` is for those that take no s."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"
