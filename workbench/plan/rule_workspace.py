"""The rules of a project opened for planning, and what was learned of it: synced with files and journals.

Nothing of it needs an index.
"""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.errors import StoreError
from workbench.plan.adapters import Adapters, WorkspaceLimits
from workbench.project.scan import Lister, ScanLimits, scan
from workbench.project.snapshot import Snapshot
from workbench.records.dataclass import dataclass
from workbench.records.worktree import Listing
from workbench.rules.curation.rulestore import CONFLICTS, RuleStore
from workbench.rules.keptbook import Rulebook
from workbench.rules.reading.discovery import MAX_FILES
from workbench.rules.rulebook import follow_rulebook, load_rulebook, rule_candidates

if TYPE_CHECKING:
    from workbench.memory.learnings.keeping import Kept
    from workbench.memory.learnings.learningstore import LearningStore
    from workbench.records.rules import Rule
    from workbench.rules.conflicts.findings import Duplicate


def indexed_rule_files(snapshot: Snapshot, max_bytes: int) -> tuple[str, ...]:
    """Return the rule files among the files an index was made from, sorted.

    A capped index leaves names out: list those instead.
    """
    paths, sizes = snapshot.paths, snapshot.sizes
    return tuple(path for path in rule_candidates(paths) if sizes[bisect_left(paths, path)] <= max_bytes)


@dataclass(frozen=True, slots=True)
class _ListedRuleFiles:
    """The rule files among a project's names, when they were listed (monotonic seconds), and notes."""

    at: float
    names: tuple[str, ...]
    notes: tuple[str, ...]


def listed_rule_files(root: Path, lister: Lister, max_bytes: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return (rule files by listing the project's names, sorted; notes). Nothing is read or indexed."""

    def only_rules(only: Sequence[str] | None) -> Listing:
        return Listing(rule_candidates(lister(only).paths))

    found = scan(root, only_rules, ScanLimits(max_files=MAX_FILES, max_bytes=max_bytes))
    return rule_candidates(entry.path for entry in found.files), found.notes


class RuleWorkspace:
    """The rules and learnings of one project. Not thread-safe."""

    def __init__(self, adapters: Adapters, limits: WorkspaceLimits) -> None:
        self.adapters = adapters
        self.limits = limits
        self._rule_store: RuleStore | None = None
        self._rulebook: Rulebook | None = None
        self._listed: _ListedRuleFiles | None = None
        self._learnings: Kept | None = None
        self._learning_store: LearningStore | None = None

    @property
    def rulebook(self) -> Rulebook:
        """The rules as of the last sync."""
        if self._rulebook is None:
            raise StoreError("the rules have not been read", hint="run `workbench index`")
        return self._rulebook

    def sync_rules(
        self, *, rebuild: bool = False, listed_for: float = 0.0
    ) -> tuple[Rulebook, tuple[str, ...]]:
        """Sync the rules alone with rule files and journals; return them and notes.

        The project's names are listed and nothing is indexed, which takes a fraction of a `sync`. Names that
        were listed in the last `listed_for` seconds are not listed again where no rule file changed. Raises:
        StoreError.
        """
        adapters, at, former = self.adapters, time.monotonic(), self._listed
        if self._rulebook is not None and former is not None and at - former.at < listed_for and not rebuild:
            book = follow_rulebook(self.rule_store(), former.names, self._rulebook)
            if book is not None:
                self._rulebook = book
                return book, (*former.notes, *book.notes)
        names, notes = listed_rule_files(adapters.root, adapters.lister, self.limits.max_bytes)
        self._rulebook = load_rulebook(self.rule_store(), names, self._rulebook, rebuild=rebuild)
        self._listed = _ListedRuleFiles(at, names, notes)
        return self._rulebook, (*notes, *self._rulebook.notes)

    def rule_files(self) -> tuple[str, ...]:
        """Return the project's rule files by listing its names, sorted."""
        adapters = self.adapters
        return listed_rule_files(adapters.root, adapters.lister, self.limits.max_bytes)[0]

    def learnings(self) -> Kept | None:
        """Return what was learned of the project, None where no iteration was ever recorded.

        Raises: StoreError.
        """
        from workbench.memory.learnings.kinds import has_memory

        if not has_memory(self.adapters.journal) and not has_memory(self.adapters.home_journal):
            return None
        from workbench.memory.learnings.keeping import load_kept
        from workbench.memory.learnings.learningstore import store_of

        if self._learning_store is None:
            self._learning_store = store_of(self.rule_store())
        self._learnings = load_kept(self._learning_store, self._learnings)
        return self._learnings

    def rule_store(self) -> RuleStore:
        """Return where the project's rules come from and go to; what it folded once is not folded again."""
        if self._rule_store is None:
            self._rule_store = self.adapters.rule_store()
        return self._rule_store

    def known_duplicates(self, rules: Mapping[str, Rule]) -> tuple[Duplicate, ...]:
        """Return which of some rules in force, by id, are known duplicates of another of them."""
        directory = self.adapters.usable(CONFLICTS)
        if directory is None:
            return ()
        from workbench.rules.conflicts.findings import known_duplicates

        return known_duplicates(directory, rules, self.rulebook.settled)
