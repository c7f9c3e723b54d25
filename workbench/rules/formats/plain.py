"""Files without a head of their own: AGENTS.md, GEMINI.md, CLAUDE.md, `.cursorrules`, `.windsurfrules`."""

from __future__ import annotations

from workbench.records.rules import Activation
from workbench.rules.formats.frontmatter import FrontMatter
from workbench.rules.formats.reach import Reach, reach


def read(front: FrontMatter) -> Reach:
    """Read at every start; any front matter is kept and means nothing."""
    return reach(front, Activation.ALWAYS, (), ())
