"""Commits as git reports them: one `git log` call, read as a stream, so that memory stays bounded.

The grammar of the stream (all tokens end with NUL): id, parents, time, message, then per path one raw entry
(`:modes ids status`, path, and the new path of a rename) and then per path one count (`added TAB removed TAB
path`, or with an empty path followed by old and new path). Paths and messages are taken by position, never
recognised by their look, so nothing in them can be mistaken for structure.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import partial

from store import git_process
from store.git_process import commit_time, hexadecimal, name
from store.git_repository import Repository, head_state, resolve, tip_of
from workbench.beneath import open_plain
from workbench.errors import GitError
from workbench.records.episodes import ChangeKind, Commit, CommittedPaths, FileChange

_FORMAT = "--format=tformat:%H%x00%P%x00%ct%x00%B"
_COUNT = re.compile(rb"(?:(\d{1,15})|-)\t(?:(\d{1,15})|-)\t")
_GITLINK = b"160000"
_SNAPSHOTS = ("refs/stash", "refs/notes/*", "refs/heads/entire/*", "refs/remotes/*/entire/*")
_RECENT = 20_000  # commits that are looked through for how sessions ended
_WRITTEN = re.compile(rb"\x01([0-9a-f]{40,64}) (-?\d{1,20})")
_KINDS = {b"A": ChangeKind.ADDED, b"C": ChangeKind.ADDED, b"D": ChangeKind.REMOVED}


def log_commits(
    repository: Repository,
    *,
    since_sha: str | None = None,
    until: str = "HEAD",
    limit: int | None = None,
    no_merges: bool = True,
    line_counts: bool = True,
    unreadable: set[str] | None = None,
) -> Iterator[Commit]:
    """Yield the commits reachable from `until` and not from `since_sha`, oldest first by commit time.

    `limit` keeps the newest. A merge has no files. Submodule pointers are not files. A commit at the edge
    of a shallow clone has no files: its parent is not there to compare with. Without `line_counts` no blob
    is read, which is about ten times faster; where a partial clone lacks a blob, the commits after it come
    without counts. Commits that git cannot read, or whose change it cannot, are left out and their ids added
    to `unreadable`. Nothing is yielded when `until` is HEAD and no commit exists yet.
    Raises GitError for revisions that don't exist, and where none of all commits can be read.
    """
    tip = tip_of(repository, until) or (until if hexadecimal(until) else None)  # one that git cannot read
    if tip is None:
        if until != "HEAD":
            raise GitError(f"no commit is named {until!r}", hint="Check the name with: git log --oneline")
        return
    wanted = [tip] if since_sha is None else [tip, f"^{since_sha}"]
    options = ["-z", "--raw", "--no-abbrev", "--no-ext-diff", "--no-textconv", "--no-color"]
    options += ["--no-relative", "--no-notes", "--no-diff-merges", _FORMAT]
    counted = ["-M", "--numstat", *options]
    plain = ["-M100%" if repository.partial else "-M", *options]
    chosen = ["--reverse", *(["--no-merges"] if no_merges else [])]
    chosen += [f"--max-count={limit}"] if limit is not None else []
    seen: set[str] = set()
    attempts = [counted, plain] if line_counts and repository.partial else [counted if line_counts else plain]
    for settings in attempts:
        try:
            for commit in _stream(repository, ["log", *settings, *chosen, *wanted, "--"]):
                if commit.sha not in seen:
                    seen.add(commit.sha)
                    yield commit
        except GitError as error:
            failure = error
        else:
            return
    if since_sha is not None and resolve(repository, since_sha) is None:
        raise GitError(
            f"commit {since_sha} is not in the repository",
            hint="History was rewritten or pruned: import it again from the start.",
        )
    from store.git_walk import read_apart, unread_commits  # where git has failed

    shas, lost = unread_commits(repository, tip, since_sha, limit, seen, merges=not no_merges)
    found, failed = read_apart(shas, partial(_read_commits, repository, settings))
    if not found and not seen and since_sha is None:
        raise failure
    if unreadable is not None:
        unreadable |= lost | failed
    yield from reversed(found)


def committed_paths(repository: Repository, since: int) -> list[CommittedPaths]:
    """Return the newest commits of all branches made since a moment, in the order they were written.

    Merges, stashes and the snapshots that a recorder of sessions makes by itself are left out.
    Raises: GitError.
    """
    chosen = [f"--exclude={refs}" for refs in _SNAPSHOTS]
    options = [
        "log",
        *chosen,
        "--all",
        "--no-merges",
        f"--max-count={_RECENT}",
        f"--since=@{max(since, 1)} +0000",
    ]
    options += [
        "-z",
        "--name-only",
        "--no-renames",
        "--no-relative",
        "--no-notes",
        "--format=tformat:%x01%H %at",
    ]
    commits: list[tuple[int, str, set[str]]] = []
    for token in git_process.run(repository.root, [*options, "--"]).split(b"\0"):
        head = _WRITTEN.fullmatch(token)
        if head is not None:
            commits.append((commit_time(head[2]), head[1].decode("ascii"), set()))
        elif commits and token.strip(b"\n"):
            commits[-1][2].add(name(token.removeprefix(b"\n")))
    commits.sort(key=lambda commit: commit[:2])
    return [CommittedPaths(sha, at, frozenset(paths)) for at, sha, paths in commits]


def commit_parents(
    repository: Repository, tip: str, limit: int
) -> tuple[dict[str, tuple[str, ...]], dict[str, int]]:
    """Return {commit: its parents} and {commit: its time} of a line's newest commits. Raises GitError."""
    options = ["rev-list", "--parents", "--timestamp", f"--max-count={limit}", tip, "--"]
    parents: dict[str, tuple[str, ...]] = {}
    times: dict[str, int] = {}
    try:
        lines = git_process.run(repository.root, options).decode("ascii").splitlines()
    except GitError:
        from store.git_walk import walk_history

        for commit in walk_history(repository, [tip]).commits[:limit]:
            parents[commit.sha], times[commit.sha] = commit.parents, commit.at
        return parents, times
    for line in lines:
        at, sha, *before = line.split()
        parents[sha], times[sha] = tuple(before), commit_time(at.encode())
    return parents, times


def count_commits(repository: Repository, *, since_sha: str | None = None, until: str = "HEAD") -> int:
    """Return how many commits without merges `log_commits` would yield, for progress bars.

    Those that git cannot read are counted, too, and all where `since_sha` is not there any more.
    """
    tip = tip_of(repository, until)
    if tip is None:
        return 0
    wanted = [tip] if since_sha is None else [tip, f"^{since_sha}"]
    try:
        return int(git_process.run(repository.root, ["rev-list", "--count", "--no-merges", *wanted, "--"]))
    except GitError:
        if since_sha is not None and resolve(repository, since_sha) is None:
            return count_commits(repository, until=until)
        from store.git_walk import unread_commits

        return len(unread_commits(repository, tip, since_sha, None, ())[0])


def count_after(repository: Repository, since_sha: str) -> int | None:
    """Return how many commits HEAD has that a commit before it has not; None if it is not before HEAD.

    Raises GitError.
    """
    if not hexadecimal(since_sha):
        return None
    wanted = ["rev-list", "--left-right", "--count", f"{since_sha}...HEAD", "--"]
    try:
        before, after = git_process.run(repository.root, wanted).split()
    except GitError:
        if resolve(repository, since_sha) is None:
            return None
        from store.git_walk import walk_history

        head = head_state(repository).sha
        line = walk_history(repository, [] if head is None else [head])
        if since_sha not in {commit.sha for commit in line.commits}:
            return None
        return len(
            walk_history(repository, [commit.sha for commit in line.commits[:1]], without=[since_sha]).commits
        )
    return None if int(before) else int(after)


def lost_commits(repository: Repository, ids: Collection[str]) -> frozenset[str]:
    """Return which of some commits neither HEAD nor any reference holds any more, pruned ones included.

    None in a shallow clone, where a commit may be held without its way to a reference being there. The cost
    follows the age of the oldest id; where one is lost, the size of the history. Raises GitError.
    """
    if shallow_edge(repository):
        return frozenset()
    wanted = sorted({sha for sha in ids if hexadecimal(sha)})
    try:
        return _unreachable_commits(repository, wanted)
    except GitError:  # some were pruned: git answers for those that are left
        given = "".join(f"{sha}\n" for sha in wanted).encode("ascii")
        answers = git_process.run(repository.root, ["cat-file", "--batch-check=%(objecttype)"], given=given)
        kinds = answers.split(b"\n")
        present = [sha for sha, kind in zip(wanted, kinds, strict=False) if kind == b"commit"]
        return frozenset(wanted).difference(present) | _unreachable_commits(repository, present)


def _unreachable_commits(repository: Repository, present: Sequence[str]) -> frozenset[str]:
    """Return which of some commits that are there neither HEAD nor any reference reaches."""
    if not present:
        return frozenset()
    holders = ["--all", *(["HEAD"] if head_state(repository).sha is not None else [])]
    given = "".join(f"{sha}\n" for sha in present).encode("ascii")
    try:
        answer = git_process.run(repository.root, ["rev-list", "--stdin", "--not", *holders], given=given)
        unreached = frozenset(present) & set(answer.decode("ascii").split())
        if unreached:  # or held behind a commit at which git stops without a word
            git_process.run(repository.root, ["rev-list", "--quiet", *holders])
    except GitError:
        from store.git_walk import unwalked_commits

        return unwalked_commits(repository, present)
    return unreached


def shallow_edge(repository: Repository) -> str:
    """Return a text that changes when a shallow clone gets deeper; empty for a whole repository."""
    content = _shallow(repository)
    return hashlib.sha256(content).hexdigest()[:16] if content else ""


def parse_log(tokens: Iterable[bytes]) -> Iterator[Commit]:
    """Yield the commits of a NUL-separated log stream (see the module's grammar). Raises GitError."""
    source = iter(tokens)
    token = next(source, None)
    while token is not None:
        sha = token.decode("ascii", "replace")
        if not hexadecimal(sha):
            raise GitError(f"git log gave {token[:60]!r} where a commit id was due", hint="Update git.")
        parents, at, message = (_next(source) for _ in range(3))
        token, files = _differences(next(source, None), source)
        subject, body = split_message(decode_message(message))
        yield Commit(
            sha, tuple(parents.decode("ascii", "replace").split()), commit_time(at), subject, body, files
        )


def parse_differences(tokens: Iterable[bytes]) -> tuple[FileChange, ...]:
    """Return the changes of a NUL-separated raw (and numstat) stream. Raises GitError."""
    source = iter(tokens)
    rest, files = _differences(next(source, None), source)
    if rest is not None:
        raise GitError(f"git diff gave {rest[:60]!r} where a path was due", hint="Update git.")
    return files


def parse_work_differences(tokens: Iterable[bytes]) -> tuple[FileChange, ...]:
    """Return the changes of a raw and numstat stream against files on disk. Raises GitError.

    A file that git did not look into since its time changed is in the raw part; without a count it has not
    changed.
    """
    source = iter(tokens)
    rest, files = _differences(next(source, None), source, counted=True)
    if rest is not None:
        raise GitError(f"git diff gave {rest[:60]!r} where a path was due", hint="Update git.")
    return files


def decode_message(raw: bytes) -> str:
    """Return a message as text: UTF-8, else Windows-1252 as git's own tools wrote for years, else Latin-1."""
    for encoding in ("utf-8", "cp1252"):
        try:
            return raw.decode(encoding)
        except UnicodeDecodeError:
            continue
    return raw.decode("latin-1")


def split_message(message: str) -> tuple[str, str]:
    """Return (subject, body): the first paragraph on one line, and the rest, both stripped."""
    lines = message.replace("\r\n", "\n").strip("\n").split("\n")
    at = next((number for number, line in enumerate(lines) if not line.strip()), len(lines))
    return " ".join(line.strip() for line in lines[:at]).strip(), "\n".join(lines[at:]).strip()


def _read_commits(repository: Repository, options: list[str], shas: Sequence[str]) -> list[Commit]:
    """Return some commits in the order of their ids. Raises GitError where one of them cannot be read."""
    return list(_stream(repository, ["log", "--no-walk=unsorted", "--stdin", *options], shas))


def _stream(repository: Repository, arguments: list[str], shas: Sequence[str] = ()) -> Iterator[Commit]:
    """Yield commits as git does; none of which it may have written but a part when it fails."""
    edges = _shallow_edges(repository)
    with git_process.answering(repository.root, arguments, shas) as output:
        held: Commit | None = None
        for commit in parse_log(git_process.nul_tokens(output)):
            if held is not None:
                yield held
            held = commit
            if commit.sha in edges:
                held = Commit(commit.sha, (), commit.at, commit.subject, commit.body, ())
    if held is not None:
        yield held


def _differences(
    token: bytes | None, source: Iterator[bytes], *, counted: bool = False
) -> tuple[bytes | None, tuple[FileChange, ...]]:
    """Return the first token that is not part of the differences, and the changes before it.

    With `counted`, modified files without a count are left out.
    """
    raw: list[tuple[str, str, ChangeKind]] = []
    counts: dict[str, tuple[int, int]] = {}
    while token is not None:
        entry = token.removeprefix(b"\n")
        if entry.startswith(b":"):
            _raw_entry(entry, source, raw)
        elif b"\t" in entry:
            _count_entry(entry, source, counts)
        else:
            break
        token = next(source, None)
    files = (
        FileChange(path, kind, *counts.get(path, (0, 0)), old_path=old)
        for old, path, kind in raw
        if not counted or path in counts or kind is not ChangeKind.MODIFIED
    )
    return token, tuple(files)


def _raw_entry(entry: bytes, source: Iterator[bytes], into: list[tuple[str, str, ChangeKind]]) -> None:
    fields = entry.split(b" ")
    if len(fields) < 5 or not fields[4]:
        raise GitError(f"git log gave the raw entry {entry[:60]!r}", hint="Update git.")
    status = fields[4][:1]
    first = _next(source)
    old, new = (first, _next(source)) if status in (b"R", b"C") else (b"", first)
    if _GITLINK in (fields[0][1:], fields[1]):
        return
    into.append((name(old) if status == b"R" else "", name(new), _KINDS.get(status, ChangeKind.MODIFIED)))


def _count_entry(entry: bytes, source: Iterator[bytes], into: dict[str, tuple[int, int]]) -> None:
    match = _COUNT.match(entry)
    if match is None:
        raise GitError(f"git log gave the count {entry[:60]!r}", hint="Update git.")
    path = entry[match.end() :]
    if not path:
        _next(source)
        path = _next(source)
    into[name(path)] = (int(match[1] or 0), int(match[2] or 0))


def _next(source: Iterator[bytes]) -> bytes:
    token = next(source, None)
    if token is None:
        raise GitError("git log ended in the middle of a commit", hint="Check the repository with: git fsck")
    return token


def _shallow_edges(repository: Repository) -> frozenset[str]:
    return frozenset(_shallow(repository).decode("ascii", "replace").split())


def _shallow(repository: Repository) -> bytes:
    try:
        with open_plain(repository.common_dir / "shallow") as file:
            return file.read()
    except OSError:
        return b""
