"""The formats of rule files: how each is called, where it lives and how its head is read."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from workbench.rules.formats import claude, cline, copilot, cursor, kiro, plain, windsurf
from workbench.rules.formats.frontmatter import FrontMatter
from workbench.rules.formats.reach import Reach


@dataclass(frozen=True, slots=True)
class Family:
    """A format. `pattern` matches a project-relative path; `dir` in it is what the rules are for."""

    name: str
    pattern: re.Pattern[str]
    read: Callable[[FrontMatter], Reach]


def _family(name: str, path: str, read: Callable[[FrontMatter], Reach]) -> Family:
    return Family(name, re.compile(rf"(?:(?P<dir>.+?)/)??{path}"), read)


FAMILIES = (
    _family("claude", r"(?:\.claude/)?CLAUDE(?:\.local)?\.md", plain.read),
    _family("agents", r"AGENTS?(?:\.override)?\.md", plain.read),
    _family("gemini", r"GEMINI\.md", plain.read),
    _family("cursorrules", r"\.cursorrules", plain.read),
    _family("windsurfrules", r"\.windsurfrules", plain.read),
    _family("copilot", r"\.github/copilot-instructions\.md", plain.read),
    _family("claude-rules", r"\.claude/rules/.+\.md", claude.read),
    _family("cursor", r"\.cursor/rules/.+\.mdc", cursor.read),
    _family("copilot-instructions", r"\.github/instructions/.+\.instructions\.md", copilot.read),
    _family("windsurf", r"\.windsurf/rules/.+\.md", windsurf.read),
    _family("cline", r"\.clinerules(?:/.+\.(?:md|txt))?", cline.read),
    _family("kiro", r"\.kiro/steering/.+\.md", kiro.read),
)
# Every pattern needs one of these; most paths of a project hold none.
_HINT = re.compile(r"CLAUDE|AGENT|GEMINI|\.(?:claude|clinerules|cursor|github|kiro|windsurf)")
BY_NAME = {family.name: family for family in FAMILIES}
IMPORTING = frozenset({"claude", "gemini"})  # formats in which `@path` pulls in another file


def family_of(path: str) -> tuple[Family, str] | None:
    """Return the format of a project-relative path and the directory its rules are for, or None."""
    if not _HINT.search(path):
        return None
    for family in FAMILIES:
        match = family.pattern.fullmatch(path)
        if match:
            return family, match.group("dir") or ""
    return None


def reader_of(name: str, path: str) -> Callable[[FrontMatter], Reach]:
    """Return how the head of a file is read: by its format's name, else by its ending, else as plain text."""
    if name in BY_NAME:
        return BY_NAME[name].read
    if path.endswith(".mdc"):
        return cursor.read
    if path.endswith(".instructions.md"):
        return copilot.read
    return plain.read
