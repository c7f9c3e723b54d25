"""Where recording meets learning: what is called with each iteration once it is in the journal."""

from __future__ import annotations

from workbench.entry.memory_place import MemoryPlace
from workbench.entry.memory_recording import Learn


def learning(place: MemoryPlace) -> Learn | None:
    """Return what learns from an iteration of a project."""
    return None
