"""A name says the more the more siblings it tells apart, and what is beside it is said to be another."""

from __future__ import annotations

import pytest

from workbench.plan.siblings import sibling_signals
from workbench.plan.view import view_project
from workbench.project.extraction import extract_facts
from workbench.project.updates import build_index
from workbench.sessions.history import empty_history

LANGUAGES = ("css", "go", "html", "rust")
PATHS = sorted(
    [f"queries/{language}/{name}.scm" for language in LANGUAGES for name in ("folds", "injections")]
)
VIEW = view_project(
    build_index(PATHS, [extract_facts(path, b"") for path in PATHS], [1] * len(PATHS)), empty_history()
)


def says(signal: str, words: dict[str, float]) -> dict[str, float]:
    """Return a signal by path, in bits, where it is not 0."""
    values = sibling_signals(VIEW, words)[signal].tolist()
    return {path: value * 8 for path, value in zip(PATHS, values, strict=True) if value}


def test_of_four_folders_one_says_two_bits() -> None:
    """The files below it have them, and all others are beside what the task names."""
    assert says("family_named", {"html": 1.0}) == {
        "queries/html/folds.scm": 2.0,
        "queries/html/injections.scm": 2.0,
    }
    other = says("family_other", {"html": 1.0})
    assert set(other.values()) == {2.0}
    assert len(other) == 6
    assert not any(path.startswith("queries/html/") for path in other)


def test_folder_and_file_add_up() -> None:
    """What a file is named among its siblings counts with its folder; its siblings are said to be others."""
    words = {"html": 1.0, "injections": 0.5}
    named = says("family_named", words)
    assert named["queries/html/injections.scm"] == pytest.approx(2.5)
    assert named["queries/rust/injections.scm"] == pytest.approx(0.5)
    assert set(says("family_sibling", words)) == {f"queries/{language}/folds.scm" for language in LANGUAGES}


def test_what_tells_nothing_apart_says_nothing() -> None:
    """A folder without siblings, all of a family, a letter, an unknown word."""
    for words in ({"queries": 1.0}, {"q": 1.0}, {"zebra": 1.0}, dict.fromkeys(LANGUAGES, 1.0)):
        assert not any(signal.any() for signal in sibling_signals(VIEW, words).values())
