"""`.claude/rules/**/*.md`: `paths` is a list of globs; without it the file is read at every start."""

from __future__ import annotations

from workbench.records.rules import Activation
from workbench.rules.formats.frontmatter import FrontMatter
from workbench.rules.formats.reach import Reach, globs_of, reach


def read(front: FrontMatter) -> Reach:
    """Read the head of a Claude Code rule file."""
    return reach(front, Activation.PATHS, globs_of(front, "paths", "globs"), ("paths", "globs"))
