"""The log parser on made-up streams, and the log on real repositories."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from store.git_log import (
    committed_paths,
    count_commits,
    decode_message,
    log_commits,
    lost_commits,
    parse_differences,
    parse_log,
    shallow_edge,
    split_message,
)
from store.git_process import name
from store.git_repository import find_repository
from workbench.errors import GitError
from workbench.records.episodes import ChangeKind, FileChange

IDS = st.text("0123456789abcdef", min_size=40, max_size=40)
NAMES = st.binary(min_size=1, max_size=12).filter(lambda raw: b"\0" not in raw).map(
    lambda raw: raw if raw.strip(b"/") else b"x"
) | st.sampled_from([b":100644 100644", b"1\t2\tx", b"\n", b"a" * 40, b"- -", b"\xff\xfe", b'"q"', b"a\tb"])
MESSAGES = st.binary(max_size=40).map(lambda raw: raw.replace(b"\0", b"")) | st.sampled_from(
    [b"", b"\n:100644 100644 a b M", b"1\t2\tx\n", b"a" * 40, b"\n\n\n", b"s\n\nb"]
)
COUNTS = st.tuples(st.integers(0, 10**6), st.integers(0, 10**6)) | st.none()
CHANGES = st.lists(
    st.tuples(st.sampled_from("AMDTR"), NAMES, NAMES, COUNTS), max_size=5, unique_by=lambda change: change[2]
)
COMMITS = st.lists(st.tuples(IDS, st.lists(IDS, max_size=3), MESSAGES, CHANGES), max_size=5)
NO_ID = b"0" * 40


def tokens_of(commits: list[Any]) -> list[bytes]:
    """Write commits the way `git log -z --raw --numstat` does."""
    tokens: list[bytes] = []
    for sha, parents, message, changes in commits:
        tokens += [sha.encode(), " ".join(parents).encode(), b"1700000000", message]
        for number, (status, old, new, _) in enumerate(changes):
            score = b"R087" if status == "R" else status.encode()
            lead = b"\n" if number == 0 else b""
            tokens.append(lead + b" ".join([b":100644", b"100644", NO_ID, NO_ID, score]))
            tokens += [old, new] if status == "R" else [new]
        for status, old, new, counts in changes:
            added, removed = (b"-", b"-") if counts is None else (b"%d" % counts[0], b"%d" % counts[1])
            if status == "R":
                tokens += [added + b"\t" + removed + b"\t", old, new]
            else:
                tokens.append(added + b"\t" + removed + b"\t" + new)
    return tokens


@given(COMMITS)
def test_parses_whatever_names_and_messages_hold(commits: list[Any]) -> None:
    """No name and no message can be mistaken for structure."""
    parsed = list(parse_log(tokens_of(commits)))

    assert [sha for sha, *_ in commits] == [commit.sha for commit in parsed]
    for (_, parents, message, changes), commit in zip(commits, parsed, strict=True):
        assert tuple(parents) == commit.parents
        assert split_message(decode_message(message)) == (commit.subject, commit.body)
        assert [name(new) for _, _, new, _ in changes] == [change.path for change in commit.files]
        for (status, old, _, counts), change in zip(changes, commit.files, strict=True):
            assert (counts or (0, 0)) == (change.added, change.removed)
            assert (name(old) if status == "R" else "") == change.old_path


@given(COMMITS.filter(bool), st.data())
def test_torn_streams_raise_git_errors_only(commits: list[Any], data: st.DataObject) -> None:
    """A stream cut anywhere gives the whole commits before the cut, or a clear error."""
    tokens = tokens_of(commits)
    cut = data.draw(st.integers(0, len(tokens) - 1))

    with suppress(GitError):
        assert len(list(parse_log(tokens[:cut]))) <= len(commits)


@given(st.lists(st.binary(max_size=60)))
def test_garbage_raises_git_errors_only(tokens: list[bytes]) -> None:
    """Bytes that are no log give a clear error, never another exception."""
    with suppress(GitError):
        list(parse_log(tokens))
    with suppress(GitError):
        parse_differences(tokens)


def test_submodules_are_no_files() -> None:
    """A submodule's pointer is left out of a commit's files."""
    entry = b" ".join([b":160000", b"160000", NO_ID, NO_ID, b"M"])
    assert parse_differences([entry, b"lib"]) == ()


def test_messages_in_odd_encodings_are_readable() -> None:
    """UTF-8, Windows-1252 and bytes that are neither all become text."""
    assert decode_message("Grüße".encode()) == "Grüße"
    assert decode_message("Grüße".encode("cp1252")) == "Grüße"
    assert decode_message(b"\x81") == "\x81"


def test_subject_is_the_first_paragraph() -> None:
    """A subject over two lines becomes one line; the body keeps its lines."""
    assert split_message("a\nb\n\nc\n\nd\n") == ("a b", "c\n\nd")
    assert split_message("\n") == ("", "")


def test_log_is_oldest_first_with_counts_and_renames(work: Any) -> None:
    """Kinds, line counts, renames, binary files and odd names come out as git has them."""
    work.write("a.txt", "1\n2\n3\n4\n")
    first = work.commit("first\n\nwith a body")
    work.git("mv", "a.txt", "b\n\tü.txt")
    work.write("bin", b"\0\1")
    second = work.commit("second")
    work.write("bin", b"\0\2")
    (work.root / "b\n\tü.txt").unlink()
    third = work.commit("")

    repository = find_repository(work.root)
    assert repository is not None
    commits = list(log_commits(repository))

    assert [first, second, third] == [commit.sha for commit in commits]
    assert [(), (first,), (second,)] == [commit.parents for commit in commits]
    assert (commits[0].subject, commits[0].body, commits[0].at) == ("first", "with a body", 1_700_000_001)
    assert (FileChange("a.txt", ChangeKind.ADDED, 4, 0),) == commits[0].files
    renamed = FileChange("b\n\tü.txt", ChangeKind.MODIFIED, 0, 0, "a.txt")
    assert (renamed, FileChange("bin", ChangeKind.ADDED)) == commits[1].files
    gone = FileChange("b\n\tü.txt", ChangeKind.REMOVED, 0, 4)
    assert (gone, FileChange("bin", ChangeKind.MODIFIED)) == commits[2].files
    assert (commits[2].subject, commits[2].body) == ("", "")


def test_log_can_be_bounded_and_continued(work: Any) -> None:
    """`limit` keeps the newest, `since_sha` what came after, and without counts the rest is equal."""
    shas = []
    for number in range(5):
        work.write("f", f"{number}\n" * (number + 1))
        shas.append(work.commit(f"c{number}"))
    repository = find_repository(work.root)
    assert repository is not None

    assert shas[3:] == [commit.sha for commit in log_commits(repository, limit=2)]
    assert shas[2:] == [commit.sha for commit in log_commits(repository, since_sha=shas[1])]
    assert shas[1:3] == [c.sha for c in log_commits(repository, since_sha=shas[0], until=shas[2])]
    assert list(log_commits(repository, since_sha=shas[-1])) == []
    assert count_commits(repository, since_sha=shas[1]) == 3
    bare = list(log_commits(repository, line_counts=False))
    assert [commit.files[0].added for commit in bare] == [0] * 5
    assert shas == [commit.sha for commit in bare]


def test_paths_of_commits_are_those_of_all_branches(work: Any) -> None:
    """Each has the time it was written; stashes and snapshots of a recorder are no commits of work."""
    work.write("odd\n\tü.txt")
    first = work.commit("first")
    work.git("checkout", "-q", "-b", "side")
    work.write("side")
    side = work.commit("side")
    work.git("checkout", "-q", "-b", "entire/0123")
    work.write("snapshot")
    work.commit("snapshot")
    work.git("checkout", "-q", "main")
    work.write("stashed")
    work.git("add", "stashed")
    work.git("stash", "-q")
    repository = find_repository(work.root)
    assert repository is not None

    commits = committed_paths(repository, 0)
    assert [(commit.sha, commit.paths) for commit in commits] == [
        (first, frozenset({"odd\n\tü.txt"})),
        (side, frozenset({"side"})),
    ]
    assert committed_paths(repository, commits[-1].at + 3_600) == []


def test_merges_are_left_out_or_bring_nothing(work: Any) -> None:
    """A merge brings nothing of its own."""
    work.write("base")
    work.commit("base")
    work.git("checkout", "-q", "-b", "side")
    work.write("side")
    side = work.commit("side")
    work.git("checkout", "-q", "main")
    work.write("main")
    work.commit("main")
    work.time += 1
    work.git("merge", "-q", "--no-ff", "-m", "merge", "side")
    repository = find_repository(work.root)
    assert repository is not None

    assert [commit.subject for commit in log_commits(repository)] == ["base", "side", "main"]
    everything = list(log_commits(repository, no_merges=False))
    assert everything[-1].files == ()
    assert side in everything[-1].parents


def test_rewritten_history_is_noticed(work: Any) -> None:
    """A log since a commit that the repository lacks is refused with a hint."""
    work.write("f")
    work.commit("first")
    repository = find_repository(work.root)
    assert repository is not None

    with pytest.raises(GitError, match="not in the repository") as caught:
        list(log_commits(repository, since_sha="f" * 40))
    assert "rewritten" in caught.value.hint


def test_an_unborn_head_has_no_commits(work: Any) -> None:
    """A repository without commits yields nothing; a wrong name is an error all the same."""
    repository = find_repository(work.root)
    assert repository is not None

    assert list(log_commits(repository)) == []
    with pytest.raises(GitError, match="no commit is named 'nope'"):
        list(log_commits(repository, until="nope"))


def test_options_cannot_be_smuggled_in_as_revisions(work: Any) -> None:
    """A revision that looks like an option is a name nobody has."""
    work.write("f")
    work.commit()
    repository = find_repository(work.root)
    assert repository is not None

    with pytest.raises(GitError, match="no commit is named"):
        list(log_commits(repository, until="--output=/tmp/x"))


def test_the_edge_of_a_shallow_clone_has_no_files(work: Any, make_work: Any) -> None:
    """The oldest commit of a shallow clone does not claim to have added every file."""
    for number in range(3):
        work.write(f"f{number}")
        work.commit(f"c{number}")
    clone = make_work("clone")
    clone.git("fetch", "-q", "--depth=2", work.root.as_uri(), "main")
    clone.git("reset", "-q", "--hard", "FETCH_HEAD")
    repository = find_repository(clone.root)
    assert repository is not None
    assert repository.shallow

    commits = list(log_commits(repository))

    assert [commit.subject for commit in commits] == ["c1", "c2"]
    assert [len(commit.files) for commit in commits] == [0, 1]


def test_a_partial_clone_without_blobs_has_history(work: Any, make_work: Any) -> None:
    """Where blobs are missing, commits and paths still come, only line counts don't."""
    work.write("a", "1\n")
    work.commit("one")
    work.write("a", "2\n")
    work.write("b", "1\n")
    work.commit("two")
    work.git("config", "uploadpack.allowFilter", "true")
    clone = make_work("clone")
    clone.git("remote", "add", "origin", work.root.as_uri())
    clone.git("fetch", "-q", "--filter=blob:none", "origin", "main")
    clone.git("update-ref", "refs/heads/main", "FETCH_HEAD")
    repository = find_repository(clone.root)
    assert repository is not None
    assert repository.partial

    commits = list(log_commits(repository))

    assert [[change.path for change in commit.files] for commit in commits] == [["a"], ["a", "b"]]


@pytest.mark.parametrize(("claimed", "taken"), [("9" * 20, 253_402_300_799), ("0", 0)])
def test_a_commit_of_any_date_is_in_the_calendar(work: Any, claimed: str, taken: int) -> None:
    """A date that no calendar has is the last one it has; whoever shows it needs no check."""
    work.write("a")
    base = work.commit()
    tree = work.git("rev-parse", "HEAD^{tree}").decode().strip()
    person = f"A Tester <tester@example.org> {claimed} +0000"
    text = f"tree {tree}\nparent {base}\nauthor {person}\ncommitter {person}\n\nfar\n"
    far = work.git("hash-object", "-t", "commit", "-w", "--stdin", "--literally", given=text.encode())
    work.git("reset", "-q", "--soft", far.decode().strip())

    repository = find_repository(work.root)
    assert repository is not None
    (commit,) = log_commits(repository, since_sha=base)

    assert commit.at == taken
    assert time.gmtime(commit.at).tm_year <= 9999


def test_leaving_early_leaves_no_process_behind(work: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A consumer that stops after one commit ends git at once."""
    from store import git_process

    stopped: list[Any] = []
    stop = git_process.stop

    def watched(child: Any) -> None:
        stop(child)
        stopped.append(child.returncode)

    monkeypatch.setattr(git_process, "stop", watched)
    for number in range(3):
        work.write("f", str(number))
        work.commit()
    repository = find_repository(work.root)
    assert repository is not None

    log = log_commits(repository)
    next(log)
    log.close()  # type: ignore[attr-defined]

    assert len(stopped) == 1
    assert stopped[0] is not None


def test_commits_that_no_reference_holds_are_lost(work: Any) -> None:
    """An amended or pruned commit is lost; one that a branch, a tag, a stash or HEAD holds is not."""
    work.write("a")
    first = work.commit("first")
    tagged = work.commit("tagged")
    work.git("tag", "keep")
    work.git("reset", "-q", "--hard", first)
    amended = work.commit("to be amended")
    detached = work.commit("better", "--amend")
    work.git("checkout", "-q", "--detach")
    work.git("branch", "-q", "-D", "main")
    repository = find_repository(work.root)
    assert repository is not None
    unknown = "1" * 40
    assert lost_commits(repository, [first, tagged, amended, detached, unknown]) == {amended, unknown}
    assert lost_commits(repository, []) == frozenset()
    assert lost_commits(repository, ["no id", unknown]) == {unknown}


def test_nothing_is_lost_in_a_shallow_clone(work: Any, make_work: Any) -> None:
    """A shallow clone does not know what lies behind its edge; its edge changes when it is deepened."""
    for number in range(3):
        work.write("a", f"{number}\n")
        work.commit(f"{number}")
    clone = make_work("clone")
    clone.git("remote", "add", "origin", f"file://{work.root}")
    clone.git("fetch", "-q", "--depth=1", "origin", "main")
    clone.git("checkout", "-q", "-b", "main", "FETCH_HEAD")
    repository = find_repository(clone.root)
    assert repository is not None
    edge = shallow_edge(repository)
    assert edge
    assert lost_commits(repository, ["1" * 40]) == frozenset()
    clone.git("fetch", "-q", "--deepen=1", "origin", "main")
    assert shallow_edge(repository) not in ("", edge)
    whole = find_repository(work.root)
    assert whole is not None
    assert shallow_edge(whole) == ""
