"""Whatever a commit, a tree or a tag holds that git can list, the history before and after it is read."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from store.git_diff import changes_since
from store.git_log import commit_parents, count_commits, log_commits
from store.git_objects import read_tree
from store.git_patches import log_patches
from store.git_repository import find_repository
from tests.conftest import Work, make_repository
from tests.deep import times
from tests.foreign.objects import ENCODINGS, MESSAGES, MODES, NAMES, PEOPLE, Objects
from workbench.entry.cli import exits, main

FIRST, LAST = -62_135_596_800, 253_402_300_799  # the years 1 to 9999
COMMANDS = (
    ("index",),
    ("plan", "fix the parser", "--budget", "500"),
    ("refresh",),
    ("delta",),
    ("import", "git", "--all"),
    ("--replay", "--systems", "bm25"),
    ("explore",),
    ("doctor",),
)
PERSON = (
    st.none()
    | st.sampled_from(PEOPLE)
    | st.integers(-(10**25), 10**25).map(lambda at: b"a <a@b> %d +0000" % at)
)
COMMIT = st.fixed_dictionaries(
    {
        "author": PERSON,
        "committer": PERSON,
        "message": st.sampled_from(MESSAGES) | st.binary(max_size=30),
        "encoding": st.sampled_from(ENCODINGS),
        "parents": st.integers(1, 3),
        "entry": st.none() | st.tuples(st.sampled_from(MODES), st.sampled_from(NAMES)),
    }
)


@pytest.fixture(scope="module")
def sound(_strangers: None, tmp_path_factory: pytest.TempPathFactory) -> Work:
    """A repository with three sound commits."""
    work = make_repository(tmp_path_factory.mktemp("sound") / "work")
    for number in range(3):
        work.write(f"pars{number}.py", f"def parse{number}():\n    return {number}\n")
        work.commit(f"Add the parser {number}")
    return work


def end(work: Work, objects: Objects) -> None:
    """Put a sound commit on top, of the files that are checked out, and tags of tags of it and of a tree."""
    objects.commit(message=b"Revert the parser")
    inner = objects.tag("inner", objects.head, "commit")
    objects.tag("outer", inner, "tag")
    objects.tag("tree", objects.tree, "tree")
    work.git("reset", "-q")


@settings(max_examples=times(4, 12), deadline=None)
@given(commits=st.lists(COMMIT, min_size=1, max_size=4))
def test_every_commit_of_a_generated_history_is_read(sound: Work, commits: list[dict[str, Any]]) -> None:
    """None is lost, each has a time of the calendar, and all ways of reading the history agree on it."""
    with tempfile.TemporaryDirectory() as place:
        work = sound.copy(Path(place) / "work")
        base = work.git("rev-parse", "HEAD").decode().strip()
        objects = Objects(work)
        for parts in commits:
            entry = parts["entry"]
            tree = None if entry is None else objects.tree_of(*entry)
            objects.commit(**{name: parts[name] for name in parts if name != "entry"}, tree=tree)
        end(work, objects)
        repository = find_repository(work.root)
        assert repository is not None
        tip = objects.head.decode()

        log = list(log_commits(repository, no_merges=False))
        times = {commit.sha: commit.at for commit in log}
        patches = list(log_patches(repository))
        parents, seconds = commit_parents(repository, tip, 100)

        assert len(log) == 3 + len(commits) + 1
        assert all(FIRST <= at <= LAST for at in times.values())
        assert {patch.sha: patch.at for patch in patches}.items() <= times.items()
        assert len(patches) == count_commits(repository)
        assert parents.keys() == times.keys()
        assert all(FIRST <= at <= LAST for at in seconds.values())
        assert len(changes_since(repository, base).commits) == len(
            list(log_commits(repository, since_sha=base))
        )
        assert [path for path, _, _ in read_tree(repository, tip)] == ["pars0.py", "pars1.py", "pars2.py"]


def test_every_command_works_on_a_history_of_all_of_it(
    sound: Work, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One commit of each kind: none of them ends a command or keeps the others from being learned from."""
    work = sound.copy(tmp_path / "work")
    objects = Objects(work)
    for person in (None, *PEOPLE):
        objects.commit(author=person, tree=objects.tree_of(b"100644", b"plain.py"))
        objects.commit(committer=person)
    objects.commit(author=None, committer=None, tree=objects.tree_of(b"100644", b"plain.py"))
    for message in MESSAGES:
        objects.commit(message=message, tree=objects.tree_of(b"100644", b"plain.py"))
        objects.commit(message=message)
    for encoding in ENCODINGS:
        objects.commit(encoding=encoding, message=b"fix the \xe9 parser")
    objects.commit(parents=2)
    for name in NAMES:
        objects.commit(tree=objects.tree_of(b"100644", name))
    for mode in MODES:
        objects.commit(tree=objects.tree_of(mode, b"plain.py"))
    end(work, objects)
    monkeypatch.chdir(work.root)

    for words in COMMANDS:
        capsys.readouterr()
        assert (main.run(["-q", *words]), words) == (exits.OK, words), capsys.readouterr().err
    repository = find_repository(work.root)
    assert repository is not None
    capsys.readouterr()
    main.run(["sql", "SELECT count(*) AS n FROM episodes", "--json"])
    assert int("".join(filter(str.isdigit, capsys.readouterr().out))) > count_commits(repository) / 2
