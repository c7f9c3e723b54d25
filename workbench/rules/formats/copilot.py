"""`.github/instructions/**/*.instructions.md`: `applyTo` is a comma list of globs; unknown keys are kept."""

from __future__ import annotations

from workbench.records.rules import Activation
from workbench.rules.formats.frontmatter import FrontMatter
from workbench.rules.formats.reach import Reach, globs_of, reach


def read(front: FrontMatter) -> Reach:
    """Read the head of a Copilot instruction file; without `applyTo` it is used when its description fits."""
    globs = globs_of(front, "applyTo")
    return reach(front, Activation.PATHS if globs else Activation.REQUESTED, globs, ("applyTo",))
