"""`.clinerules` (a file) and `.clinerules/**` (files): `paths` is a list of globs; without it always on."""

from __future__ import annotations

from workbench.records.rules import Activation
from workbench.rules.formats.frontmatter import FrontMatter
from workbench.rules.formats.reach import Reach, globs_of, reach


def read(front: FrontMatter) -> Reach:
    """Read the head of a Cline rule."""
    return reach(front, Activation.PATHS, globs_of(front, "paths"), ("paths",))
