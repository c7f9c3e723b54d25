"""A project as the checks of rule files look at it, and their findings as an answer."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Final

from workbench.beneath import LeadsOut, open_beneath, resolve_beneath
from workbench.entry.services.rule_precedence import agent_tree
from workbench.records.answers.rules import FixedFile, LintEntry, LintReport
from workbench.rules.globs import compile_globs
from workbench.rules.lint.checks import count_severities
from workbench.rules.lint.findings import LintFinding, LintProject
from workbench.rules.rulestate import find_sources

if TYPE_CHECKING:
    from pathlib import Path

    from workbench.entry.project import OpenedProject
    from workbench.records.conflicts import Conflict
    from workbench.rules.keptbook import Rulebook

_MOST_BYTES: Final = 1 << 20  # of a manifest


def open_conflicts(project: OpenedProject, book: Rulebook) -> tuple[Conflict, ...]:
    """Return the open pairs among the rules, searched for where rules changed. Raises: StoreError."""
    from workbench.rules.conflicts.queue import conflict_queue

    store = project.workspace.rule_store()
    return conflict_queue(store, tuple(book.rules), store.ledger()).open


def known_conflicts(project: OpenedProject, book: Rulebook) -> tuple[Conflict, ...]:
    """Return the open pairs that an earlier search found and that hold still. Raises: StoreError."""
    from workbench.rules.conflicts.findings import read_findings, stamp_of

    store = project.workspace.rule_store()
    kept = read_findings(store, "")
    if kept is None:
        return ()
    current = {rule.id for rule in book.rules if kept.stamps.get(rule.id) == stamp_of(rule)}
    settled = store.ledger().settled
    return tuple(
        conflict
        for conflict in kept.conflicts
        if conflict.left in current and conflict.right in current and conflict.id not in settled
    )


def lint_project(project: OpenedProject, book: Rulebook, conflicts: Sequence[Conflict]) -> LintProject:
    """Return what the checks look at; nothing of the project is run or written. Raises: StoreError."""
    workspace = project.workspace
    store = workspace.rule_store()
    listed = workspace.rule_files()
    tree, above = agent_tree(project, listed)
    rules = tuple(book.rules)
    paths = sorted(workspace.adapters.lister(None).paths)
    text = _reader(store.root)
    return LintProject(
        tree=tree,
        files=sorted(source.path for source in find_sources(store, listed)),
        paths=paths,
        rules=rules,
        conflicts=conflicts,
        text=text,
        exists=lambda path: _exists(store.root, path),
        count_tokens=project.counter.count,
        above=above,
        ignored=_ignore_filter(paths, text),
    )


def lint_report(findings: Sequence[LintFinding], files: int, fixed: Sequence[FixedFile] = ()) -> LintReport:
    """Return findings as they are published."""
    return LintReport(
        files=files,
        counts=count_severities(findings),
        findings=tuple(LintEntry.of(one, kind=str(one.kind), severity=str(one.severity)) for one in findings),
        fixed=tuple(fixed),
    )


def _reader(root: Path) -> Callable[[str], str | None]:
    @cache
    def text(path: str) -> str | None:
        try:
            with open(open_beneath(str(root), path), "rb") as stream:
                data = stream.read(_MOST_BYTES + 1)
        except (OSError, ValueError):
            return None
        return None if len(data) > _MOST_BYTES else data.decode("utf-8", "replace")

    return text


def _exists(root: Path, path: str) -> bool:
    """Whether anything is at a path, without leaving the project; what leads out counts as there."""
    try:
        with resolve_beneath(str(root), path) as place:
            os.stat(place.name, dir_fd=place.handle, follow_symlinks=False)
    except LeadsOut:
        return True
    except (OSError, ValueError):
        return False
    return True


def _ignore_filter(paths: Sequence[str], text: Callable[[str], str | None]) -> Callable[[str], bool]:
    """Return what says whether a `.gitignore` of the project keeps a path, or a directory over it, out."""
    places = {posixpath.dirname(path): path for path in paths if posixpath.basename(path) == ".gitignore"}

    @cache
    def lines(directory: str) -> tuple[str, ...]:
        said = (text(places[directory]) or "").splitlines()
        return tuple(line.strip() for line in said if line.strip() and not line.startswith("#"))

    def ignored(path: str) -> bool:
        for directory in _over(path):
            if directory in places:
                below = path[len(directory) :].lstrip("/")
                spec = compile_globs(lines(directory))
                if spec.match_file(below) or spec.match_file(f"{below}/"):
                    return True
        return False

    return ignored


def _over(path: str) -> Iterator[str]:
    while path:
        path = posixpath.dirname(path)
        yield path
