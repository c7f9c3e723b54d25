"""Families: what is like a likelier file, by its name and the terms both have."""

from __future__ import annotations

import pytest

from workbench.plan.cuts import FileCut, cut_file
from workbench.plan.kinds import find_head
from workbench.text.tokens import token_counter

COUNTER = token_counter()
PATTERN = " ".join(f"term{number}_of_pattern" for number in range(20))


def cut_of(text: str) -> FileCut:
    return cut_file("markdown", text, (), COUNTER)


@pytest.mark.parametrize(
    ("path", "other", "text", "head"),
    [
        ("b/setup.py", "a/setup.py", PATTERN, True),
        ("b/setup.py", "a/setup.py", PATTERN + " one more word", True),
        ("b/setup.py", "a/setup.py", "something else entirely " * 9, False),
        ("a/second.md", "a/first.md", PATTERN, True),
        ("a/second.py", "a/first.md", PATTERN, False),
        ("b/second.md", "a/first.md", PATTERN, False),
        ("doc/README-ja.md", "doc/README-ko.md", "nothing in common", True),
        ("docs/fr/page.md", "docs/en/page.md", "nothing in common", True),
        ("docs/fr/page.md", "docs/en/other.md", "nothing in common", False),
    ],
)
def test_what_is_like_a_likelier_file(path: str, other: str, text: str, head: bool) -> None:
    """Copies of one name, siblings of one folder with nearly the same terms, and translations are."""
    assert find_head(path, cut_of(text), [(other, cut_of(PATTERN))]) == (other if head else "")


def test_small_files_have_no_family() -> None:
    """Two empty modules share all of their terms, and nothing else."""
    assert find_head("b/__init__.py", cut_of("x"), [("a/__init__.py", cut_of("x"))]) == ""
