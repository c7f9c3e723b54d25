"""Of whom two sentences speak: what a denial reaches depends on it, and whether two can be true side by side.

"No man runs" contradicts that any man does; "the man is not running" only that this one does, and "a man
runs" speaks of another as long as nothing says that he is the same. Two scenes ("a man is running") are read
as descriptions of one picture, statements and rules are not.
"""

from __future__ import annotations

import math
from typing import Final

from workbench.comparison.scope import Scoped

DEFINITE: Final = frozenset("the this that these those his her its their my your our".split())
INDEFINITE: Final = frozenset("a an some one any another two three four five several many few".split())


def scene(text: Scoped) -> bool:
    """Whether a text describes what is going on: "is" or "are" and a verb in "-ing"."""
    return not _TELLING.isdisjoint(text.small) and any(word.text.endswith("ing") for word in text.words)


_POSSIBLE: Final = frozenset(("can", "could", "may", "might", "would", "should"))
_TELLING: Final = frozenset(("is", "are"))


def reference_features(
    denying: Scoped, other: Scoped, *, denied_only: float, free: float, other_only: float
) -> dict[str, float]:
    """Return what it changes whom a denial speaks of; masses are those of what only one text says.

    `denied_only` is in the scope of the denial, `free` beside it, `other_only` on the other side.
    """
    every = float(denying.none)
    one = 1.0 - every
    mine, theirs = denying.opening, other.opening
    return {
        "of any": every,
        "of any, denied only": every * math.log1p(denied_only),
        "of any, other side only": every * math.log1p(other_only),
        "of any, the other definite": every * (theirs in DEFINITE),
        "of one, denied only": one * math.log1p(denied_only),
        "of one, denying side only": one * math.log1p(free),
        "of one, both definite": one * (mine in DEFINITE and theirs in DEFINITE),
        "possible": float(_POSSIBLE.isdisjoint(denying.small) and not _POSSIBLE.isdisjoint(other.small)),
        "of one, definite once": one * ((mine in DEFINITE) != (theirs in DEFINITE)),
    }


REFERENCE: Final = (
    "of any",
    "of any, denied only",
    "of any, other side only",
    "of any, the other definite",
    "of one, denied only",
    "of one, denying side only",
    "of one, both definite",
    "possible",
    "of one, definite once",
)
TOLD: Final = (
    "denied",
    "denied head",
    "head alone",
    "denied only",
    "denying side only",
    "other side only",
    "shorter covered",
    "longer covered",
    "kept",
    "lengths",
    "denied near",
    "denied deep",
    "both deny",
    "settled",
)
"""Features that weigh otherwise in statements than in scenes."""
