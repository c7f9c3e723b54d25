"""Whatever a commit, a tree or a tag holds, the history around it is read, and what cannot be is counted."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from store.git_diff import changes_since
from store.git_log import commit_parents, count_after, count_commits, log_commits, lost_commits
from store.git_objects import read_tree
from store.git_patches import log_patches
from store.git_repository import find_repository
from tests.conftest import Work, make_repository
from tests.deep import sample, searches, times
from tests.foreign.objects import (
    ENCODINGS,
    ENDS,
    MESSAGES,
    MODES,
    NAMES,
    NOWHERE,
    PARENTLESS,
    PEOPLE,
    REFUSED,
    Objects,
)
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


@settings(max_examples=times(6, 40), deadline=None)
@given(refused=st.lists(st.sampled_from(REFUSED), min_size=1, max_size=4), on_top=st.booleans())
def test_what_git_refuses_is_skipped_and_counted(sound: Work, refused: list[str], on_top: bool) -> None:
    """Left out are refused commits, missing parents, and commits whose change needs a refused one."""
    with tempfile.TemporaryDirectory() as place:
        work = sound.copy(Path(place) / "work")
        base = work.git("rev-parse", "HEAD").decode().strip()
        objects = Objects(work)
        read = set(work.git("rev-list", "HEAD").decode().split())
        left_out: set[str] = set()
        for number, why in enumerate(refused):
            objects.refuse(why)
            if why in ENDS:
                read, left_out = set(), set()
            if why in PARENTLESS:
                left_out.add((objects.blob if why == "parent is a blob" else NOWHERE).decode())
            (read if why == "second parent missing" else left_out).add(objects.head.decode())
            if on_top and number == len(refused) - 1:
                break
            objects.commit(message=b"on it")
            (read if why in PARENTLESS else left_out).add(objects.head.decode())
            objects.commit(message=b"later", tree=objects.tree_of(b"100644", b"plain.py"))
            read.add(objects.head.decode())
        if not read:
            return  # nothing is left: a clear error
        repository = find_repository(work.root)
        assert repository is not None
        unreadable: set[str] = set()
        without_lines: set[str] = set()

        log = list(log_commits(repository, no_merges=False, unreadable=unreadable))
        patches = {patch.sha for patch in log_patches(repository, unreadable=without_lines)}
        parents, seconds = commit_parents(repository, objects.head.decode(), 100)

        assert {commit.sha for commit in log} == read
        assert unreadable == left_out
        assert [commit.at for commit in log] == sorted(commit.at for commit in log)
        assert patches == {commit.sha for commit in log if len(commit.parents) < 2}
        assert without_lines | patches <= read | left_out
        assert read <= parents.keys() == seconds.keys()
        reached = base in read
        assert (count_after(repository, base) is None) is not reached
        assert lost_commits(repository, [base]) == (frozenset() if reached else {base})
        if reached:
            assert {commit.sha for commit in changes_since(repository, base).commits} <= read


def test_a_history_of_refused_commits_alone_ends(
    sound: Work, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After so many that cannot be read the rest counts as unreadable: git is not kept busy for long."""
    monkeypatch.setattr("store.git_walk.MOST_UNREADABLE", 4)
    work = sound.copy(tmp_path / "work")
    objects = Objects(work)
    for _ in range(8):
        objects.refuse("tree of no form")
    objects.commit(message=b"on it")
    objects.commit(message=b"later", tree=objects.tree_of(b"100644", b"plain.py"))
    repository = find_repository(work.root)
    assert repository is not None
    unreadable: set[str] = set()

    log = list(log_commits(repository, no_merges=False, unreadable=unreadable))

    assert len(log) + len(unreadable) == 3 + 8 + 2
    assert [commit.subject for commit in log][-1] == "later"


@searches
def test_every_command_skips_and_counts_what_git_refuses(
    sound: Work, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Commands work on the commits that are left and say how many are not; `doctor` says it later."""
    work = sound.copy(tmp_path / "work")
    objects = Objects(work)
    left = [why for why in REFUSED if why not in ENDS]
    for why in left:
        objects.refuse(why)
        objects.commit(message=b"on it")
        objects.commit(message=b"fix the parser", tree=objects.tree_of(b"100644", b"plain.py"))
        objects.commit(message=b"fix the parser")
    work.git("reset", "-q")
    monkeypatch.chdir(work.root)
    count = f"{2 * (len(left) - 1)} commits"  # those with the commits on them, and no merge

    for words in (COMMANDS[0], *sample(COMMANDS[1:], len(COMMANDS) // 2), ("rebuild",)):
        capsys.readouterr()
        assert (main.run([*words]), words) == (exits.OK, words), capsys.readouterr().err
        written = capsys.readouterr()
        if words[0] not in ("delta", "rebuild"):  # a delta is of the last ten
            assert count in written.out + written.err, words
    capsys.readouterr()
    main.run(["sql", "SELECT count(*) AS n FROM episodes", "--json"])
    assert int("".join(filter(str.isdigit, capsys.readouterr().out))) == 3 + 2 * len(left)


@searches
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

    for words in (COMMANDS[0], *sample(COMMANDS[1:], len(COMMANDS) // 2, first=1)):
        capsys.readouterr()
        assert (main.run(["-q", *words]), words) == (exits.OK, words), capsys.readouterr().err
    repository = find_repository(work.root)
    assert repository is not None
    capsys.readouterr()
    main.run(["sql", "SELECT count(*) AS n FROM episodes", "--json"])
    assert int("".join(filter(str.isdigit, capsys.readouterr().out))) > count_commits(repository) / 2
