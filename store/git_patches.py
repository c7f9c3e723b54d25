"""The line ranges that commits changed: `git log -p` without context, read as a stream."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial

from store import git_process
from store.git_diff import HUNK, PATCH_FLAGS, unquote
from store.git_process import commit_time, name
from store.git_repository import Repository, tip_of
from workbench.errors import GitError
from workbench.records.worktree import CommitPatch, FilePatch, Hunk

_MARK = b"\0commit "
_FORMAT = "--format=tformat:%x00commit %H %ct"


def log_patches(
    repository: Repository,
    *,
    since_sha: str | None = None,
    until: str = "HEAD",
    limit: int | None = None,
    unreadable: set[str] | None = None,
) -> Iterator[CommitPatch]:
    """Yield what the commits reachable from `until` and not from `since_sha` did to lines, newest first.

    Merges are left out, renames found. About a millisecond a commit, much of it spent by git on reading
    blobs; in a partial clone the log ends where a blob is missing. Commits of which git cannot read the
    change are left out, and their ids added to `unreadable`. Raises GitError where it can read none.
    """
    tip = tip_of(repository, until)
    if tip is None:
        return
    options = ["-p", "-U0", "--no-notes", "--ignore-submodules=all", *PATCH_FLAGS, _FORMAT]
    options += ["-M100%"] if repository.partial else ["-M"]
    chosen = ["--no-merges", *([f"--max-count={limit}"] if limit is not None else [])]
    wanted = [tip] if since_sha is None else [tip, f"^{since_sha}"]
    seen: set[str] = set()
    try:
        for patch in _stream(repository, ["log", *options, *chosen, *wanted, "--"]):
            seen.add(patch.sha)
            yield patch
        return
    except GitError as error:
        if repository.partial:
            return
        failure = error
    from store.git_walk import read_apart, unread_commits  # where git has failed

    shas, lost = unread_commits(repository, tip, since_sha, limit, seen)
    found, failed = read_apart(shas, partial(_read_patches, repository, options))
    if not found and not seen and since_sha is None:
        raise failure
    if unreadable is not None:
        unreadable |= lost | failed
    yield from found


def _read_patches(repository: Repository, options: list[str], shas: Sequence[str]) -> list[CommitPatch]:
    """Return what some commits did to lines, in the order of their ids. Raises GitError."""
    return list(_stream(repository, ["log", "--no-walk=unsorted", "--stdin", *options], shas))


def _stream(repository: Repository, arguments: list[str], shas: Sequence[str] = ()) -> Iterator[CommitPatch]:
    """Yield patches as git does; none of which it may have written but a part when it fails."""
    with git_process.answering(repository.root, arguments, shas) as output:
        held: CommitPatch | None = None
        for patch in parse_patches(output):
            if held is not None:
                yield held
            held = patch
    if held is not None:
        yield held


def parse_patches(lines: Iterable[bytes]) -> Iterator[CommitPatch]:
    """Yield the commits of a log of patches without context lines.

    Content lines are counted off by each hunk's header, so content that looks like a header is harmless.
    Raises GitError if a line range is no range of a patch.
    """
    sha, at = "", 0
    files: list[FilePatch] = []
    old = new = b""
    created = False
    hunks: list[Hunk] = []
    left = 0
    for line in lines:
        if left:
            left -= not line.startswith(b"\\")
        elif line.startswith(b"@@ "):
            match = HUNK.match(line)
            if match is None:
                raise GitError("git wrote a patch that cannot be read", hint="Look at: git log -p -U0")
            hunk = Hunk(*(1 if part is None else int(part) for part in match.groups()))
            hunks.append(hunk)
            left = hunk.old_lines + hunk.new_lines
        elif line.startswith(b"--- "):
            old = unquote(line[4:])
        elif line.startswith(b"+++ "):
            new = unquote(line[4:])
        elif line.startswith((b"diff --git ", _MARK)):
            if hunks:
                files.append(_file(old, new, created, hunks))
            created, hunks = False, []
            if line.startswith(_MARK):
                if sha:
                    yield CommitPatch(sha, at, tuple(files))
                commit_id, _, time = line[len(_MARK) :].strip().partition(b" ")
                sha, at, files = commit_id.decode("ascii", "replace"), commit_time(time), []
        elif line.startswith(b"new file mode "):
            created = True
    if hunks:
        files.append(_file(old, new, created, hunks))
    if sha:
        yield CommitPatch(sha, at, tuple(files))


def _file(old: bytes, new: bytes, created: bool, hunks: list[Hunk]) -> FilePatch:
    path = name((new if new != b"/dev/null" else old)[2:])
    before = name(old[2:]) if old != b"/dev/null" else path
    return FilePatch(path, tuple(hunks), "" if before == path else before, created or new == b"/dev/null")
