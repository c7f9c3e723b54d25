"""Sentences of users stand for commits, name none of their files, and belong to one side of the split."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from bench import reworded, split
from bench.reworded import (
    Reworded,
    check_sentences,
    choose_commits,
    message_tasks,
    named_files,
    read_reworded,
    reworded_tasks,
)
from bench.timeline import Timeline
from tests.conftest import Work

LINES = read_reworded()
REPORTS = read_reworded("reports")
A_PATH = re.compile(r"\b(?:src|lib|tests?)/\w|\w/\w+\.(?:py|rs|go|js|ts|java|rb|php)\b")


@pytest.mark.parametrize("lines", [LINES, REPORTS], ids=["reworded", "reports"])
def test_every_commit_has_one_text(lines: list[Reworded]) -> None:
    """The file is sorted by repository and commit, and no commit is in it twice."""
    keys = [(line.repository, line.commit) for line in lines]
    assert keys == sorted(set(keys))
    assert len({line.commit for line in lines}) == len(lines)
    assert len({line.task for line in lines}) == len(lines)


def test_the_split_is_that_of_the_benches() -> None:
    """No repository that figures are reported on is one that models are fitted on, by any list."""
    train = {line.repository for line in [*LINES, *REPORTS] if line.split == "train"}
    test = {line.repository for line in [*LINES, *REPORTS] if line.split == "test"}
    assert not train & {*test, *split.TEST, *split.PROMPTS_TEST}
    assert not test & {*split.TRAIN, *split.TRAIN_LIFE, *split.PROMPTS_TRAIN}


def test_sentences_are_short_and_show_no_paths() -> None:
    """Each has 5 to 45 words and nothing that looks like a path of source code."""
    odd = [
        line.task
        for line in LINES
        if not 5 <= len(line.task.split()) <= 45 or A_PATH.search(line.task) is not None
    ]
    assert odd == []


def test_reports_are_issues() -> None:
    """Each has a title of one line, an empty line, and a text of some length."""
    for line in REPORTS:
        title, _, body = line.task.partition("\n\n")
        assert title == title.strip()
        assert "\n" not in title
        assert 15 <= len(body.split()) <= 400, line.task


def test_each_repository_has_several_kinds() -> None:
    """No repository is all of one kind."""
    kinds = Counter(repository for repository, _ in {(line.repository, line.kind) for line in LINES})
    assert min(kinds.values()) > 1


@pytest.mark.parametrize(
    ("task", "named"),
    [
        ("The query planner is slow", []),  # a common word
        ("Rows of the planner_cache are stale", ["src/planner_cache.py"]),
        ("The PlannerCache.java example is wrong", ["PlannerCache.java"]),
        ("Bars are drawn twice", []),  # too short, and not the whole word
    ],
)
def test_names_of_files_are_found(task: str, named: list[str]) -> None:
    """A name without its extension counts as a whole word, whatever its case."""
    assert named_files(task, ("PlannerCache.java", "query.py", "src/bar.py", "src/planner_cache.py")) == named


@pytest.fixture
def shop(work: Work, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Timeline, str]:
    """A repository with a commit that has a sentence, and that commit."""
    work.write("checkout.py", "x = 1\n")
    work.commit("start")
    work.write("checkout.py", "x = 2\n")
    sha = work.commit("Double the factor of checkout.py")
    work.write("checkout.py", "x = 3\n")
    work.commit("Bump version to 3")
    data = tmp_path / "reworded.jsonl"
    line = '{"repository": "work", "commit": "%s", "task": "%s", "kind": "bugfix", "split": "train"}\n'
    data.write_text(line % (sha, "My total comes out as half of what I pay at checkout."), encoding="utf-8")
    monkeypatch.setattr(reworded, "DATA", tmp_path)
    return Timeline(work.root), sha


def test_tasks_come_in_either_wording(shop: tuple[Timeline, str]) -> None:
    """Both wordings are of the same commit and have the same files; other commits are left out."""
    timeline, sha = shop
    (sentence,), (message,) = reworded_tasks(timeline), message_tasks(timeline)
    assert (sentence.commit, sentence.source) == (sha, "reworded")
    assert sentence.text.startswith("My total")
    assert message.text == "Double the factor of checkout.py"
    assert sentence.modified == message.modified == ("checkout.py",)
    assert reworded_tasks(timeline, 0) == []


def test_what_is_mechanical_is_not_chosen(shop: tuple[Timeline, str]) -> None:
    """Neither a version bump nor the first commit is worth a sentence."""
    timeline, sha = shop
    assert [commit.sha for commit in choose_commits(timeline, 8)] == [sha]


def test_a_named_file_is_reported(shop: tuple[Timeline, str]) -> None:
    """The check says which sentence names which changed file."""
    timeline, _sha = shop
    (fault,) = check_sentences(timeline)
    assert "names checkout.py" in fault


def test_what_has_no_clone_is_reported(
    shop: tuple[Timeline, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command ends with 1 where a sentence could not be checked, and says of which repository."""
    assert reworded.main(["--repos", str(tmp_path / "none")]) == 1
    assert "work: no clone in" in capsys.readouterr().out
