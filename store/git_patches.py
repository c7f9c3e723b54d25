"""The line ranges that commits changed: `git log -p` without context, read as a stream."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from store import git_process
from store.git_diff import HUNK, PATCH_FLAGS, unquote
from store.git_log import commit_time
from store.git_process import name
from store.git_repository import Repository, resolve
from workbench.errors import GitError
from workbench.records.worktree import CommitPatch, FilePatch, Hunk

_MARK = b"\0commit "


def log_patches(
    repository: Repository, *, since_sha: str | None = None, until: str = "HEAD", limit: int | None = None
) -> Iterator[CommitPatch]:
    """Yield what the commits reachable from `until` and not from `since_sha` did to lines, newest first.

    Merges are left out, renames found. About a millisecond a commit, much of it spent by git on reading
    blobs; in a partial clone the log ends where a blob is missing. Raises GitError.
    """
    if resolve(repository, until) is None:
        return
    wanted = [until] if since_sha is None else [until, f"^{since_sha}"]
    options = ["-p", "-U0", "--no-merges", "--no-notes", "--ignore-submodules=all", *PATCH_FLAGS]
    options += ["-M100%"] if repository.partial else ["-M"]
    options += [f"--max-count={limit}"] if limit is not None else []
    try:
        with git_process.running(
            repository.root, ["log", "--format=tformat:%x00commit %H %ct", *options, *wanted, "--"]
        ) as child:
            assert child.stdout is not None
            yield from parse_patches(child.stdout)
    except GitError:
        if not repository.partial:
            raise


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
