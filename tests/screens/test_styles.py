"""The styles of screens and widgets: every part of the file belongs to a class, and each is taken by it."""

from __future__ import annotations

import re
from pathlib import Path

from screens.themes import read_styles

ROOT = Path(__file__).parents[2] / "screens"


def test_every_part_is_the_style_of_its_class() -> None:
    """A class asks for the part under its own name, and no part is left over."""
    taken = []
    for path in sorted(ROOT.rglob("*.py")):
        for name, body in re.findall(
            r"^class (\w+)\b(.*?)(?=^\S|\Z)", path.read_text("utf-8"), re.DOTALL | re.MULTILINE
        ):
            asked = re.findall(r'style_of\("(\w+)"\)', body)
            assert asked in ([], [name]), path
            taken += asked
    assert sorted(taken) == sorted(read_styles())
