"""`.windsurf/rules/*.md`: `trigger` is always_on, glob, manual or model_decision; `globs` a comma list."""

from __future__ import annotations

from workbench.records.rules import Activation
from workbench.rules.formats.frontmatter import FrontMatter
from workbench.rules.formats.reach import Reach, globs_of, reach

_TRIGGERS = {
    "always_on": Activation.ALWAYS,
    "glob": Activation.PATHS,
    "model_decision": Activation.REQUESTED,
    "manual": Activation.MANUAL,
}


def read(front: FrontMatter) -> Reach:
    """Read the head of a Windsurf rule; without a known trigger it is attached by its globs, or always on."""
    activation = _TRIGGERS.get(front.text("trigger").strip().lower(), Activation.PATHS)
    globs = globs_of(front, "globs") if activation is not Activation.ALWAYS else ()
    return reach(front, activation, globs, ("trigger", "globs"))
