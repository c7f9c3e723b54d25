"""Where the memory of iterations meets the store: a project's journals, found without an index or a model.

One of the few modules that import `store`. Recording an iteration needs nothing that a plan needs.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from store import locks
from store.clock import SystemClock
from store.journal import FileJournal, Quarantined
from store.location import locate
from workbench.entry.places import foreign_state, project_id, repository_at
from workbench.memory.journal import PREFIX, FeatureJournal, feature_stream, read_journal
from workbench.memory.learnings.kinds import KINDS as LEARNING_KINDS

_PATIENCE = 30.0  # seconds


@dataclass(frozen=True, slots=True)
class MemoryPlace:
    """A project's memory: its root, where its state is, and its journals."""

    root: Path
    state: Path
    home: Path
    project_id: str
    journal: FileJournal
    clock: SystemClock
    branch: str = ""

    def streams(self) -> list[str]:
        """Return the streams of features, sorted."""
        return [name for name in self.journal.streams() if name.startswith(PREFIX)]

    def feature(self, name: str) -> FeatureJournal:
        """Return what is known of a feature, nothing for one that nobody worked on. Raises: JournalError."""
        return self.read(feature_stream(name))

    def read(self, stream: str) -> FeatureJournal:
        """Return what a stream holds. Raises: JournalError."""
        return read_journal(stream, (entry for _, entry in self.journal.read(stream)), LEARNING_KINDS)

    def broken_lines(self, stream: str) -> int:
        """Return how many lines of a stream are no journal lines at all. Raises: JournalError."""
        return sum(isinstance(found, Quarantined) for _, _, found in self.journal.scan(stream))

    @property
    def home_journal(self) -> FileJournal:
        """The journals of the user's home."""
        return FileJournal(self.home, self.clock)

    def lock(self, name: str) -> AbstractContextManager[None]:
        """Return a lock of the project; entering it raises StoreBusy."""
        return locks.exclusive(self.state / "locks" / f"{name}.lock", timeout=_PATIENCE)

    @contextmanager
    def numbering(self) -> Iterator[None]:
        """Hold the lock under which iterations get their numbers. Raises: StoreBusy."""
        with locks.exclusive(self.state / "locks" / "memory.lock", timeout=_PATIENCE):
            yield


def memory_place(start: Path, environment: Mapping[str, str] = os.environ) -> MemoryPlace:
    """Return the memory of the project around a directory. Raises: StoreError."""
    repository, _ = repository_at(start)
    root = start.absolute() if repository is None else repository.root
    location = locate(root, environment, distrust=foreign_state(repository))
    clock = SystemClock()
    branch = repository.branch if repository is not None else None
    return MemoryPlace(
        root=root,
        state=location.root,
        home=location.home,
        project_id=project_id(root),
        journal=FileJournal(location.root, clock),
        clock=clock,
        branch=branch or "",
    )
