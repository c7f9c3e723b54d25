"""Which rules an agent has from its start, because it loads their file by itself: nobody repeats them to it.

A rule is of a file under each of its names: links to it and copies of it hold the same rules.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Final

from workbench.records.rules import Activation, Rule
from workbench.rules.descriptions import FileNames

_FILES: Final[Mapping[str, tuple[str, ...]]] = {
    "claude": ("CLAUDE.md", "CLAUDE.local.md", ".claude/CLAUDE.md", "~/.claude/CLAUDE.md"),
    "codex": ("AGENTS.md", "~/.codex/AGENTS.md"),
    "cursor": ("AGENTS.md", ".cursorrules"),
    "gemini": ("GEMINI.md", "~/.gemini/GEMINI.md"),
    "copilot": ("AGENTS.md", ".github/copilot-instructions.md"),
}
_FOLDERS: Final[Mapping[str, tuple[str, ...]]] = {
    "claude": (".claude/rules/", "~/.claude/rules/"),
    "cursor": (".cursor/rules/",),
}
"""Folders of which an agent loads at every start what is for no paths."""


def own_files(agent: str, reported: Collection[str] = ()) -> frozenset[str]:
    """Return the files that an agent loads at its start: those it reported, else those its documents name."""
    return frozenset(reported or _FILES.get(agent, ()))


def loaded_files(
    rules: Iterable[Rule], agent: str, names: FileNames, reported: Collection[str] = ()
) -> dict[str, str]:
    """Return the ids of the rules that an agent loads by itself, with the name by which it does."""
    own = own_files(agent, reported)
    resolved = {names.resolve(name): name for name in sorted(own)}
    folders = () if reported else _FOLDERS.get(agent, ())
    found = {}
    for rule in rules:
        where = rule.provenance
        always = where is not None and where.activation is Activation.ALWAYS and not where.globs
        for name in sorted(names.of(rule)):
            by = name if name in own else resolved.get(name, "")
            if by or (always and name.startswith(folders)):
                found[rule.id] = by or name
                break
    return found
