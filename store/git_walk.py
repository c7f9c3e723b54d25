"""Histories that git refuses: read commit by commit, without those that git cannot read.

One commit without a tree, with a parent that is gone, or damaged on disk ends `git log` and `git rev-list`
for all the commits before it. Here each commit is asked for by its id, and git is given those that it can
read. A commit costs about 0.1 ms and one that cannot be read some starts of git: for where git has failed.
"""

from __future__ import annotations

import heapq
import subprocess
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Final, TypeVar

from store import git_process
from store.git_process import commit_time, hexadecimal
from store.git_repository import Repository, head_state
from workbench.errors import GitError
from workbench.records.dataclass import dataclass

Read = TypeVar("Read")

MOST_UNREADABLE: Final = 100  # commits after which the rest of a history counts as unreadable, too
_WINDOW = 256
_MOST_TAGS = 10  # of tags of tags


@dataclass(frozen=True, slots=True)
class WalkedCommit:
    """A commit's id, the parents it names, and its time in seconds."""

    sha: str
    parents: tuple[str, ...]
    at: int


@dataclass(frozen=True, slots=True)
class WalkedHistory:
    """The commits that some ids reach, newest first by commit time, and the ids that name no sound commit."""

    commits: tuple[WalkedCommit, ...]
    unreadable: frozenset[str]


def walk_history(
    repository: Repository, tips: Iterable[str], *, without: Iterable[str] = (), first_parent: bool = False
) -> WalkedHistory:
    """Return what `tips` reach and `without` do not, as far as objects can be read.

    A commit is walked through whatever git says of it, as long as its text names parents. With
    `first_parent` other parents are not followed. Raises: GitError without git.
    """
    with _CommitReader(repository) as reader:
        behind = _reach(reader, without, first_parent=False)
        found = _reach(reader, tips, first_parent=first_parent)
    before = {commit.sha for commit in behind.commits}
    left = tuple(commit for commit in found.commits if commit.sha not in before)
    return WalkedHistory(left, found.unreadable - behind.unreadable)


def read_apart(
    shas: Sequence[str], read: Callable[[Sequence[str]], list[Read]]
) -> tuple[list[Read], frozenset[str]]:
    """Return what `read` gives for commits, in their order, and the ids for which git fails.

    `read` raises GitError where one of its commits cannot be read: then it is asked for each half.
    """
    found: list[Read] = []
    failed: set[str] = set()
    windows = [shas[at : at + _WINDOW] for at in range(0, len(shas), _WINDOW)][::-1]
    while windows:
        window = windows.pop()
        if len(failed) >= MOST_UNREADABLE:
            failed.update(window)
            continue
        try:
            found += read(window)
        except GitError:
            half = len(window) // 2
            if half:
                windows += [window[half:], window[:half]]
            else:
                failed.update(window)
    return found, frozenset(failed)


def unread_commits(
    repository: Repository,
    tip: str,
    base: str | None,
    limit: int | None,
    seen: Collection[str],
    *,
    merges: bool = False,
) -> tuple[list[str], frozenset[str]]:
    """Return the ids of commits as `log_commits` chooses them, newest first, without those `seen`.

    Beside them those that they lead to and that are no commits: missing, damaged, or something else.
    """
    walked = walk_history(repository, [tip], without=[] if base is None else [base])
    chosen = [commit for commit in walked.commits if merges or len(commit.parents) < 2][:limit]
    named = {tip, *(parent for commit in chosen for parent in commit.parents)}
    return [commit.sha for commit in chosen if commit.sha not in seen], walked.unreadable & named


def unwalked_commits(repository: Repository, present: Sequence[str]) -> frozenset[str]:
    """Return which of some commits neither HEAD nor any reference reaches. Raises: GitError."""
    named = git_process.run(repository.root, ["for-each-ref", "--format=%(objectname)"])
    tips = named.decode("ascii", "replace").split()
    tips += [head] if (head := head_state(repository).sha) is not None else []
    return frozenset(present).difference(commit.sha for commit in walk_history(repository, tips).commits)


def _reach(reader: _CommitReader, tips: Iterable[str], *, first_parent: bool) -> WalkedHistory:
    """Return what is reached, in git's order: by time, newest first, and among equals in the order found."""
    commits: list[WalkedCommit] = []
    unreadable: set[str] = set()
    seen: set[str] = set()
    ahead: list[tuple[int, int, WalkedCommit]] = []

    def find(shas: Iterable[str]) -> None:
        for sha in shas:
            if sha in seen:
                continue
            seen.add(sha)
            commit = reader.read(sha)
            if commit is None:
                unreadable.add(sha)
            elif commit.sha == sha or commit.sha not in seen:
                seen.add(commit.sha)
                heapq.heappush(ahead, (-commit.at, len(seen), commit))

    find(tips)
    while ahead:
        commit = heapq.heappop(ahead)[2]
        commits.append(commit)
        find(commit.parents[:1] if first_parent else commit.parents)
    return WalkedHistory(tuple(commits), frozenset(unreadable))


class _CommitReader:
    """Reads commits by `git cat-file --batch`, which is started again where a damaged object ends it."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._child: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> _CommitReader:
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()

    def read(self, sha: str) -> WalkedCommit | None:
        """Return the commit of an id, or of the tag that it is; None where it cannot be read.

        Raises: GitError without git.
        """
        for _ in range(_MOST_TAGS):
            kind, raw = self._answer(sha) if hexadecimal(sha) else (b"", b"")
            if kind == b"commit":
                return _parse(sha, raw)
            if kind != b"tag" or not raw.startswith(b"object "):
                return None
            sha = raw.partition(b"\n")[0][7:].decode("ascii", "replace")
        return None

    def _answer(self, sha: str) -> tuple[bytes, bytes]:
        """Return an object's kind and content, of a missing or damaged one nothing."""
        child = self._child
        if child is None:
            child = self._child = subprocess.Popen(
                git_process.command(self._repository.root, ["cat-file", "--batch"]),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=git_process.environment(),
                cwd="/",
            )
        assert child.stdin is not None
        assert child.stdout is not None
        try:
            child.stdin.write(f"{sha}\n".encode("ascii"))
            child.stdin.flush()
            header = child.stdout.readline().split()
            if len(header) == 2:
                return b"", b""  # missing
            size = int(header[2]) + 1
            data = child.stdout.read(size)
            if len(data) == size:
                return header[1], data[:-1]
        except (BrokenPipeError, IndexError, ValueError):
            pass  # git ended at a damaged object
        self._stop()
        return b"", b""

    def _stop(self) -> None:
        if self._child is not None:
            git_process.stop(self._child)
            self._child = None


def _parse(sha: str, raw: bytes) -> WalkedCommit:
    """Return a commit of its text, whatever its lines hold; what has not the form of an id is no parent."""
    header = raw.partition(b"\n\n")[0].split(b"\n")
    named = [line[7:].decode("ascii", "replace") for line in header if line.startswith(b"parent ")]
    committer = next((line for line in header if line.startswith(b"committer ")), b"")
    time, _, _ = committer.rpartition(b">")[2].strip().partition(b" ")
    return WalkedCommit(sha, tuple(filter(hexadecimal, named)), commit_time(time))
