"""`.kiro/steering/*.md`: `inclusion` is always, fileMatch (with `fileMatchPattern`), auto or manual."""

from __future__ import annotations

from workbench.records.rules import Activation
from workbench.rules.formats.frontmatter import FrontMatter
from workbench.rules.formats.reach import Reach, globs_of, reach

_INCLUSIONS = {
    "always": Activation.ALWAYS,
    "filematch": Activation.PATHS,
    "auto": Activation.REQUESTED,
    "manual": Activation.MANUAL,
}


def read(front: FrontMatter) -> Reach:
    """Read the head of a Kiro steering file; without an inclusion it is always on."""
    activation = _INCLUSIONS.get(front.text("inclusion").strip().lower(), Activation.ALWAYS)
    globs = globs_of(front, "fileMatchPattern") if activation is not Activation.ALWAYS else ()
    return reach(front, activation, globs, ("inclusion", "fileMatchPattern"))
