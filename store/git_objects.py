"""Trees and file contents at a revision, read through git's plumbing."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from itertools import islice
from types import TracebackType
from typing import Self

from store import git_process
from store.git_process import hexadecimal, name
from store.git_repository import Repository, resolve
from workbench.errors import GitError

_REGULAR = (b"100644", b"100755", b"100664")
_WINDOW = 256  # requests on their way at once; 256 ids are 17 KB, less than a pipe holds


def read_tree(repository: Repository, revision: str) -> list[tuple[str, str, int]]:
    """Return (path, blob id, size in bytes) of the regular files of a revision, sorted by path.

    Symbolic links and submodules are left out. The size is -1 where the blob is missing.
    Raises GitError if the revision does not exist.
    """
    commit = resolve(repository, revision)
    if commit is None:
        raise GitError(f"no commit is named {revision!r}", hint="Check the name with: git log --oneline")
    if repository.partial:
        return _tree_of_partial_clone(repository, commit)
    output = git_process.run(repository.root, ["ls-tree", "-r", "-z", "-l", "--full-tree", commit])
    files = []
    for token in output.split(b"\0"):
        fields, _, path = token.partition(b"\t")
        parts = fields.split()
        if len(parts) == 4 and parts[0] in _REGULAR:
            files.append((name(path), parts[2].decode("ascii"), _size(parts[3])))
    return sorted(files)


def _tree_of_partial_clone(repository: Repository, commit: str) -> list[tuple[str, str, int]]:
    """Like read_tree, asking for each size separately, since `ls-tree -l` dies on a missing blob."""
    output = git_process.run(repository.root, ["ls-tree", "-r", "-z", "--full-tree", commit])
    files = []
    for token in output.split(b"\0"):
        fields, _, path = token.partition(b"\t")
        parts = fields.split()
        if len(parts) == 3 and parts[0] in _REGULAR:
            files.append((name(path), parts[2].decode("ascii")))
    asked = b"".join(sha.encode("ascii") + b"\n" for _, sha in files)
    check = ["cat-file", "--batch-check=%(objectsize)", "--buffer"]
    lines = git_process.run(repository.root, check, given=asked).splitlines()
    sizes = [_size(line) for line in lines]
    return sorted((path, sha, size) for (path, sha), size in zip(files, sizes, strict=True))


def _size(raw: bytes) -> int:
    """Return a size as git prints it; for a missing blob it prints a word."""
    return int(raw) if raw.isdigit() else -1


class BlobReader:
    """Reads blobs through one `git cat-file --batch` process; a context manager.

    `cap` is the largest size in bytes that is kept; larger blobs are drained and answered with None.
    """

    def __init__(self, repository: Repository, cap: int = 1 << 20) -> None:
        """Remember what to read; nothing runs before the with block."""
        self._repository = repository
        self._cap = cap
        self._stack = ExitStack()
        self._child: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        """Start the process. Raises GitError without git."""
        running = git_process.running(self._repository.root, ["cat-file", "--batch"], stdin=subprocess.PIPE)
        self._child = self._stack.enter_context(running)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._child = None
        self._stack.__exit__(kind, error, trace)

    def read(self, sha: str) -> bytes | None:
        """Return a blob's bytes; None if it is missing, no blob, or larger than the cap. Raises GitError."""
        return next(iter(self.read_many([sha])))[1]

    def read_many(self, shas: Iterable[str]) -> Iterator[tuple[str, bytes | None]]:
        """Yield (id, bytes or None as in `read`) in the order asked, with many requests under way at once."""
        source = iter(shas)
        while window := list(islice(source, _WINDOW)):
            yield from self._window(window)

    def _window(self, shas: list[str]) -> Iterator[tuple[str, bytes | None]]:
        if self._child is None or self._child.stdin is None:
            raise GitError("the blob reader is not open", hint="Use it in a with block.")
        if wrong := next((sha for sha in shas if not hexadecimal(sha)), None):
            raise GitError(f"{wrong!r} is not an object id", hint="Pass ids from read_tree.")
        try:
            self._child.stdin.write("".join(f"{sha}\n" for sha in shas).encode("ascii"))
            self._child.stdin.flush()
        except BrokenPipeError:
            raise self._end_error() from None
        blobs = [self._answer() for _ in shas]
        yield from zip(shas, blobs, strict=True)

    def _answer(self) -> bytes | None:
        assert self._child is not None
        assert self._child.stdout is not None
        stream = self._child.stdout
        header = stream.readline().split()
        if not header:
            raise self._end_error()
        if len(header) != 3:
            return None
        left = int(header[2]) + 1
        if left - 1 <= self._cap:
            data = stream.read(left)
            if len(data) < left:
                raise self._end_error()
            return data[:-1] if header[1] == b"blob" else None
        while left and (chunk := stream.read(min(left, git_process.CHUNK))):
            left -= len(chunk)
        return None

    def _end_error(self) -> GitError:
        return GitError(
            f"git stopped while reading objects of {self._repository.root}",
            hint="Check the repository with: git fsck",
        )
