"""The default styles of screens and widgets, from `styles.tcss`: a part a class, under its name."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from typing import Final

_HEAD: Final = re.compile(r"^/\* (\w+) \*/$", re.MULTILINE)


@cache
def read_styles() -> dict[str, str]:
    """Return {class: its styles}."""
    _, *parts = _HEAD.split((files(__package__) / "styles.tcss").read_text(encoding="utf-8"))
    return dict(zip(parts[::2], parts[1::2], strict=True))


def style_of(name: str) -> str:
    """Return the styles of a class. Raises: KeyError if it has none."""
    return read_styles()[name]
