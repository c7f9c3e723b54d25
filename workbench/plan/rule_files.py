"""Which files of a project may hold rules, the same whether an index is at hand or not.

If commands that index and commands that only read rules saw different files, rules would come and go with
each of them. Both take names that a scan would take, up to the size an index reads; a generated rule file is
one as well.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from pathlib import Path

from workbench.project.scan import Lister, ScanLimits, scan
from workbench.project.snapshot import Snapshot
from workbench.records.worktree import Listing
from workbench.rules.reading.discover import MAX_FILES
from workbench.rules.rulebook import rule_candidates


def indexed_rule_files(snapshot: Snapshot, max_bytes: int) -> tuple[str, ...]:
    """Return the rule files among the files an index was made from, sorted.

    A capped index leaves names out: list those instead.
    """
    paths, sizes = snapshot.paths, snapshot.sizes
    return tuple(path for path in rule_candidates(paths) if sizes[bisect_left(paths, path)] <= max_bytes)


def listed_rule_files(root: Path, lister: Lister, max_bytes: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return (rule files by listing the project's names, sorted; notes). Nothing is read or indexed."""

    def only_rules(only: Sequence[str] | None) -> Listing:
        return Listing(rule_candidates(lister(only).paths))

    found = scan(root, only_rules, ScanLimits(max_files=MAX_FILES, max_bytes=max_bytes))
    return rule_candidates(entry.path for entry in found.files), found.notes
