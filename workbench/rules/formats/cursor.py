"""`.cursor/rules/**/*.mdc`: `description`, `globs` (an unquoted comma list), `alwaysApply`."""

from __future__ import annotations

from workbench.records.rules import Activation
from workbench.rules.formats.frontmatter import FrontMatter
from workbench.rules.formats.reach import Reach, globs_of, reach


def read(front: FrontMatter) -> Reach:
    """Read the head of a Cursor rule: always on, attached by globs, asked for, or only by name."""
    globs = globs_of(front, "globs")
    if front.flag("alwaysApply"):
        return reach(front, Activation.ALWAYS, (), ("globs", "alwaysApply"))
    if globs:
        activation = Activation.PATHS
    elif front.text("description") or not front.fields:
        activation = Activation.REQUESTED
    else:
        activation = Activation.MANUAL
    return reach(front, activation, globs, ("globs", "alwaysApply"))
