"""Where work begins: what is edited by hand before what follows from it."""

from __future__ import annotations

import pytest

from workbench.plan.intent import parse_intent
from workbench.plan.kinds import lead_with_kind
from workbench.plan.ranking import RankingModel
from workbench.plan.roles import CLEARLY, order_by_role
from workbench.project.languages import describe_role
from workbench.records.plan import RankedFile

MODEL = RankingModel("m", {}, {}, (1.0, 0.0))
PATHS = ("CHANGELOG.md", "tests/test_io.py", "docs/io.md", "src/io.py", "src/net.py")


def ordered(task: str, *scores: float) -> list[str]:
    """Return the order of the paths, which are as likely as scores say; one after the other without any."""
    files = [
        RankedFile(path, score, {})
        for path, score in zip(PATHS, scores or (0.4, 0.3, 0.2, 0.1, 0.0), strict=True)
    ]
    return [one.path for one in order_by_role(files, MODEL, parse_intent(task))]


def test_what_follows_comes_later() -> None:
    """In the order of the ranking among each other."""
    assert ordered("fix the reader") == [*PATHS[3:], *PATHS[:3]]


@pytest.mark.parametrize(
    ("task", "first"),
    [
        ("fix the flaky test of the reader", "tests/test_io.py"),
        ("docs: how to read", "CHANGELOG.md"),
        ("prepare the release", "CHANGELOG.md"),
        ("fix the reader in changelog", "CHANGELOG.md"),
    ],
)
def test_what_a_task_asks_for_stays(task: str, first: str) -> None:
    """A kind of files by its words, a release for the changelog, a file by its name."""
    assert ordered(task)[0] == first


def test_documents_in_the_script_of_a_task_stay() -> None:
    """The ranking found that documents have the words of a task in Japanese or Chinese."""
    for features, first in (({"called_docs": 1.0}, "docs/ja.md"), ({}, "src/io.py")):
        files = [RankedFile("docs/ja.md", 0.1, features), RankedFile("src/io.py", 0.0, {})]
        assert order_by_role(files, MODEL, parse_intent("設定の説明を直す"))[0].path == first


def test_a_clearly_likelier_file_stays() -> None:
    """More than `CLEARLY` times; nothing moves behind the first ten, and every file is there once."""
    assert CLEARLY < 2.7
    assert ordered("fix the reader", 1.1, 1.0, 0.5, 0.1, 0.0)[0] == "CHANGELOG.md"
    files = [RankedFile(f"tests/test_{number}.py", 0.0, {}) for number in range(10)]
    files.append(RankedFile("src/io.py", 0.0, {}))
    assert order_by_role(files, MODEL, parse_intent("fix the reader")) == (*files,)


def test_a_changelog_has_a_role_of_its_own() -> None:
    """By its name, wherever it is; a module of that name is source."""
    roles = {path: describe_role(path) for path in ("CHANGES.rst", "docs/news.md", "src/history.py", "a.md")}
    assert roles == {
        "CHANGES.rst": "changelog",
        "docs/news.md": "changelog",
        "src/history.py": "source",
        "a.md": "docs",
    }


@pytest.mark.parametrize(
    ("task", "first"),
    [
        ("update the changelog", "CHANGELOG.md"),
        ("Add missing release notes for 3.2", "CHANGELOG.md"),
        ("add tests for the reader", "tests/test_io.py"),
        ("update README", "README.md"),
        ("bump the version and update the changelog", "src/io.py"),
        ("the reader fails where somebody edits its changelog", "src/io.py"),
        ("add a test runner", "src/io.py"),
        ("document how to write tests", "README.md"),
        ("docs: explain the reader", "README.md"),
        ("Improve the documentation of the reader", "README.md"),
        ("the reader is not documented", "README.md"),
        ("the limits of the reader are missing in the manual", "README.md"),
        ("docs: fix the docstring of the reader", "src/io.py"),
        ("the pdf document reader fails", "src/io.py"),
        ("typo in the Polish translation", "locale/pl.json"),
        ("update the Brazilian Portuguese strings of the translation", "locale/pt_BR.json"),
        ("polish the look of the reader", "src/io.py"),
    ],
)
def test_the_kind_of_files_that_a_task_is_about_leads(task: str, first: str) -> None:
    """By its first words, and where it is about one kind only; nothing else moves."""
    paths = (
        *("src/io.py", "src/changelog.py", "tests/test_io.py", "CHANGELOG.md", "README.md"),
        *("locale/pt.json", "locale/pt_BR.json", "locale/pl.json"),
    )
    files = tuple(RankedFile(path, -float(place), {}) for place, path in enumerate(paths))
    led = lead_with_kind(files, parse_intent(task))
    assert [one.path for one in led] == [first, *(path for path in paths if path != first)]
    assert [one.score for one in led] == sorted((one.score for one in led), reverse=True)
