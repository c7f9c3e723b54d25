"""What documents name as shown by a test is a test."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [
    ROOT / "docs" / f"{name}.md" for name in ("security", "privacy", "team", "team-server", "reliability")
]
_NAMED = re.compile(r"\btests/[\w/]*\w(?:\.py)?/?(?:::?\s*(test_\w+(?:, test_\w+)*))?")


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_tests_that_a_page_names_are_there(page: Path) -> None:
    """Files, directories, and functions of files by their names."""
    for found in _NAMED.finditer(page.read_text(encoding="utf-8")):
        path = ROOT / re.split(r"::?\s", found[0])[0]
        assert path.exists(), found[0]
        for name in filter(None, (found[1] or "").split(", ")):
            assert f"def {name}(" in path.read_text(encoding="utf-8"), found[0]
