"""Differences between two revisions, or between a revision and the files on disk."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress

from store import git_process
from store.git_log import log_commits, parse_differences, parse_work_differences
from store.git_process import name
from store.git_repository import Repository, head_state, list_untracked, resolve
from workbench.beneath import LeadsOut, open_beneath
from workbench.errors import GitError
from workbench.records.episodes import ChangeKind, FileChange
from workbench.records.worktree import Hunk, WorkChanges

PATCH_FLAGS = (
    "--no-ext-diff",
    "--no-textconv",
    "--no-color",
    "--no-relative",
    "--src-prefix=a/",
    "--dst-prefix=b/",
)
_MOST_READ = 1 << 26  # bytes of untracked files; lines beyond are not counted
HUNK = re.compile(rb"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_ESCAPE = re.compile(rb"\\([0-7]{3}|.)", re.DOTALL)
_ESCAPED = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"a": b"\a", b"b": b"\b", b"f": b"\f", b"v": b"\v"}


def diff_files(repository: Repository, revision: str, other: str | None = None) -> tuple[FileChange, ...]:
    """Return what changed from `revision` to `other` (None: the tracked files on disk), sorted by path.

    Renames are found. Submodules are left out. Raises GitError.
    """
    arguments = ["diff", "-z", "--raw", "--numstat", "--no-abbrev", *_rename_flag(repository), *PATCH_FLAGS]
    output = git_process.run(
        repository.root,
        [
            *settings_without_filters(repository, other),
            *arguments,
            *_revisions(repository, revision, other),
            "--",
        ],
    )
    parse = parse_work_differences if other is None else parse_differences
    return tuple(sorted(parse(iter(output.split(b"\0")[:-1])), key=lambda change: change.path))


def touched_files(repository: Repository) -> tuple[str, ...]:
    """Return the tracked names that differ from HEAD on disk or in git's index, sorted; the fastest question.

    Submodules are left out. Raises GitError.
    """
    arguments = ["status", "--porcelain=v1", "-z", "--untracked-files=no", "--no-renames"]
    arguments += ["--ignore-submodules=all"]
    output = git_process.run(repository.root, [*settings_without_filters(repository), *arguments, "--"])
    return tuple(sorted(name(token[3:]) for token in output.split(b"\0") if token))


def diff_hunks(
    repository: Repository, revision: str, other: str | None = None
) -> dict[str, tuple[Hunk, ...]]:
    """Return the changed line ranges per path from `revision` to `other` (None: the tracked files on disk).

    A renamed file is under its new name, a removed one under its old name; binary files and changes
    of mode only are absent. Keys are sorted. Raises GitError.
    """
    arguments = ["diff", "-U0", *_rename_flag(repository), *PATCH_FLAGS, "--ignore-submodules=all"]
    whole = [
        *settings_without_filters(repository, other),
        *arguments,
        *_revisions(repository, revision, other),
        "--",
    ]
    with git_process.running(repository.root, whole) as child:
        assert child.stdout is not None
        hunks = parse_hunks(child.stdout)
    return {path: hunks[path] for path in sorted(hunks)}


def parse_hunks(lines: Iterator[bytes]) -> dict[str, tuple[Hunk, ...]]:
    """Return the hunks per path of a patch without context lines.

    Content lines are counted off by each hunk's header, so content that looks like a header is harmless.
    """
    found: dict[str, list[Hunk]] = {}
    old = new = b""
    left = 0
    for line in lines:
        if left:
            left -= not line.startswith(b"\\")
        elif line.startswith(b"--- "):
            old = unquote(line[4:])
        elif line.startswith(b"+++ "):
            new = unquote(line[4:])
        elif match := HUNK.match(line):
            numbers = [1 if part is None else int(part) for part in match.groups()]
            path = name((new if new != b"/dev/null" else old)[2:])
            found.setdefault(path, []).append(Hunk(*numbers))
            left = numbers[1] + numbers[3]
    return {path: tuple(hunks) for path, hunks in found.items()}


def changes_since(repository: Repository, revision: str) -> WorkChanges:
    """Return everything between a revision and the files on disk. Raises GitError."""
    base = resolve(repository, revision)
    if base is None:
        raise GitError(f"no commit is named {revision!r}", hint="Check the name with: git log --oneline")
    head = head_state(repository).sha
    unreadable: set[str] = set()
    commits = tuple(log_commits(repository, since_sha=base, unreadable=unreadable)) if head else ()
    try:
        committed = diff_files(repository, base, head) if head and head != base else ()
        uncommitted = () if repository.bare else diff_files(repository, head or base)
    except GitError:
        if head is None or head == base or repository.bare:
            raise
        committed, uncommitted = (), diff_files(repository, base)
        unreadable.add(head)
    return WorkChanges(
        base=base,
        head=head,
        commits=commits,
        committed=committed,
        uncommitted=uncommitted,
        untracked=() if repository.bare else tuple(_untracked_files(repository)),
        unreadable=len(unreadable),
    )


def _untracked_files(repository: Repository) -> Iterator[FileChange]:
    """Yield the untracked files with their lines, which git does not count; binary ones have 0."""
    left = _MOST_READ
    for path in list_untracked(repository):
        data = b""
        with suppress(OSError, LeadsOut), open(open_beneath(str(repository.root), path), "rb") as file:
            data = file.read(left)
        left -= len(data)
        lines = 0 if b"\0" in data[:8000] else data.count(b"\n") + (data[-1:] not in (b"", b"\n"))
        yield FileChange(path, ChangeKind.ADDED, lines)


def recent_bases(repository: Repository, commits: int) -> list[str]:
    """Return the commits up to `commits` back from HEAD along first parents, the first of them first.

    One of them may be a commit that git cannot compare with. Empty without commits. Raises GitError.
    """
    head = head_state(repository).sha
    if head is None:
        return []
    wanted = ["rev-list", "--first-parent", f"--max-count={commits + 1}", head, "--"]
    try:
        line = git_process.run(repository.root, wanted).decode("ascii").split()
    except GitError:
        from store.git_walk import walk_history

        walked = walk_history(repository, [head], first_parent=True)
        if not walked.commits:
            raise
        line = [commit.sha for commit in walked.commits[: commits + 1]]
    return line[::-1]


def _revisions(repository: Repository, revision: str, other: str | None) -> list[str]:
    commits = []
    for named in (revision, other):
        if named is None:
            continue
        commit = resolve(repository, named)
        if commit is None:
            raise GitError(f"no commit is named {named!r}", hint="Check the name with: git log --oneline")
        commits.append(commit)
    return commits


def _rename_flag(repository: Repository) -> tuple[str, ...]:
    return ("-M100%",) if repository.partial else ("-M",)


def settings_without_filters(repository: Repository, other: str | None = None) -> list[str]:
    """Return settings that switch off content filters, which git runs on files on disk that it compares."""
    if other is not None:
        return []
    pattern = r"^filter\..*\.(clean|smudge|process|required)$"
    listed = git_process.ask(repository.root, ["config", "-z", "--name-only", "--get-regexp", pattern])
    keys = sorted({name(key) for key in listed.split(b"\0") if key})
    if odd := next((key for key in keys if "=" in key), None):
        raise GitError(  # it could not be switched off on the command line
            f"{repository.root} configures a content filter with the odd name {odd!r}",
            hint="Remove it with: git config --remove-section",
        )
    settings = []
    for key in keys:
        settings += ["-c", key + ("=false" if key.endswith(".required") else "=")]
    return settings


def unquote(raw: bytes) -> bytes:
    """Undo git's C-style quoting of a path in a patch header."""
    text = raw.rstrip(b"\n")
    if not text.startswith(b'"'):
        return text.removesuffix(b"\t")
    return _ESCAPE.sub(_unescape, text.removesuffix(b"\t")[1:-1])


def _unescape(match: re.Match[bytes]) -> bytes:
    escape = match[1]
    return bytes([int(escape, 8) & 255]) if len(escape) == 3 else _ESCAPED.get(escape, escape)
