"""Finding a repository, its head and its files, mostly by reading git's own files."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path

from store import git_process
from store.git_process import hexadecimal, name
from store.git_traps import note_traps
from workbench.beneath import open_plain
from workbench.errors import GitError
from workbench.records.dataclass import dataclass
from workbench.records.project import Skipped
from workbench.records.worktree import HeadState, Listing

_SMALL = 1 << 16
_ARGUMENTS = 500
_OPERATIONS = (
    ("rebase-merge", "a rebase"),
    ("rebase-apply", "a rebase"),
    ("MERGE_HEAD", "a merge"),
    ("CHERRY_PICK_HEAD", "a cherry-pick"),
    ("REVERT_HEAD", "a revert"),
    ("BISECT_LOG", "a bisection"),
)
"""What git keeps in its directory in the middle of an operation, and which that is."""


@dataclass(frozen=True, slots=True)
class Repository:
    """A repository as found on disk.

    `root` is the work tree's top (the git directory itself when bare), `git_dir` belongs to this work
    tree, `common_dir` holds objects and refs (they differ in linked work trees). `submodules` are
    paths from `.gitmodules`, sorted.
    """

    root: Path
    git_dir: Path
    common_dir: Path
    bare: bool
    shallow: bool
    partial: bool
    head: str | None
    branch: str | None
    submodules: tuple[str, ...] = ()


def find_repository(path: Path | str) -> Repository | None:
    """Return the repository that holds `path`, or None. Runs no program unless refs are in a reftable.

    Raises GitError when a repository is there and its head cannot be read.
    """
    start = Path(os.path.abspath(path))
    for directory in (start, *start.parents):
        git_dir = _git_dir_of(directory)
        if git_dir is not None:
            bare = git_dir == directory
            common = _common_dir(git_dir)
            note_traps(directory, git_dir, common)
            head = _head(directory, git_dir, common)
            return Repository(
                root=directory,
                git_dir=git_dir,
                common_dir=common,
                bare=bare,
                shallow=_has_content(common / "shallow"),
                partial=_is_partial(common),
                head=head.sha,
                branch=head.branch,
                submodules=() if bare else _submodules(directory),
            )
    return None


def head_state(repository: Repository) -> HeadState:
    """Return what is checked out now, by reading HEAD and refs (about 50 µs). Raises GitError."""
    return _head(repository.root, repository.git_dir, repository.common_dir)


def operation_of(repository: Repository) -> str:
    """Return what git is in the middle of, such as "a merge", '' for nothing, by the files it keeps then."""
    return next((name for file, name in _OPERATIONS if (repository.git_dir / file).exists()), "")


def resolve(repository: Repository, revision: str) -> str | None:
    """Return the commit id a revision names, or None when it names none."""
    if not revision or "\0" in revision:
        return None
    arguments = ["rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}"]
    answer = git_process.ask(repository.root, arguments).decode("ascii", "replace").strip()
    return answer if hexadecimal(answer) else None


def tip_of(repository: Repository, revision: str) -> str | None:
    """Return the commit id a revision names, None when it names none; of HEAD without asking git (2 ms).

    HEAD may name a commit that git cannot read. Raises GitError.
    """
    return head_state(repository).sha if revision == "HEAD" else resolve(repository, revision)


def list_files(repository: Repository, under: str = "", only: Sequence[str] | None = None) -> Listing:
    """Return the tracked and the untracked, not ignored names, relative to the directory `under`.

    `under` is a directory of the work tree (posix, relative to its root; empty for all); `only` narrows
    the answer to these literal paths (a directory means all files below it). Submodules and nested
    repositories are in `skipped`. A tracked file that was deleted on disk is still listed.
    Raises GitError, also for a bare repository.
    """
    if repository.bare:
        raise GitError(f"{repository.root} is bare: it has no files to list", hint="Use a clone of it.")
    if only is None:
        return _listing([_ls_files(repository, under, ())])
    wanted = [path for path in only if path]
    batches = [wanted[at : at + _ARGUMENTS] for at in range(0, len(wanted), _ARGUMENTS)]
    return _listing([_ls_files(repository, under, batch) for batch in batches])


def lister(repository: Repository, under: str = "") -> Callable[[Sequence[str] | None], Listing]:
    """Return `list_files` as the project scan wants it: asked with None for all names, or with some paths."""
    return lambda only: list_files(repository, under, only)


def listing_inputs(repository: Repository, under: str = "") -> tuple[str, ...]:
    """Return the files outside a listing whose change can change it: absolute paths, may be missing.

    They are the index, the repository's own ignore file, the user's, and those above `under`.
    """
    asked = ["config", "-z", "--type=path", "--get", "core.excludesFile"]
    try:
        configured = name(git_process.ask(repository.root, asked).rstrip(b"\0"))
    except GitError:
        configured = ""  # whoever cannot ask git for this does not list with git either
    settings = os.environ.get("XDG_CONFIG_HOME") or os.path.join(os.path.expanduser("~"), ".config")
    excludes = configured or os.path.join(settings, "git", "ignore")
    inside = (repository.git_dir / "index", repository.common_dir / "info" / "exclude")
    parts = [part for part in under.split("/") if part]
    above = [repository.root.joinpath(*parts[:depth], ".gitignore") for depth in range(len(parts))]
    return (*(os.fspath(path) for path in (*inside, *above)), os.path.join(repository.root, excludes))


def list_untracked(repository: Repository) -> tuple[str, ...]:
    """Return the names on disk that git neither tracks nor ignores, sorted. Raises GitError."""
    output = git_process.run(repository.root, ["ls-files", "-z", "--others", "--exclude-standard"])
    return tuple(sorted(name(token) for token in output.split(b"\0") if token and token[-1:] != b"/"))


def tracked_below(repository: Repository, directory: str) -> tuple[str, ...]:
    """Return the tracked names in a directory at the top of the work tree, sorted; case does not matter.

    Mostly answered by one look at git's index, without running git. Raises GitError.
    """
    wanted = directory.lower()
    try:
        with open_plain(repository.git_dir / "index") as file:
            data = file.read()
    except OSError:
        return ()
    # Version 4 shortens names by what they share with the one before; a split index names few of them.
    whole = data[:4] == b"DIRC" and data[4:8] in (b"\0\0\0\2", b"\0\0\0\3")
    if b"link\0\0" in data:  # the mark of a split index, or a name of that end
        whole = whole and not any(path.startswith("sharedindex.") for path in os.listdir(repository.git_dir))
    if whole and wanted.encode() not in data.lower():
        return ()
    listed = git_process.run(repository.root, ["ls-files", "-z", "--cached"]).split(b"\0")
    names = (name(token) for token in listed if token)
    return tuple(sorted(found for found in names if found.split("/", 1)[0].lower() == wanted))


def work_trees(root: Path) -> list[str]:
    """Return the directories of a repository's work trees. Raises GitError."""
    lines = _lines_of(root, "worktree", "list", "--porcelain")
    return [line.removeprefix("worktree ") for line in lines if line.startswith("worktree ")]


def remote_addresses(root: Path) -> list[str]:
    """Return the addresses of a repository's remotes. Raises GitError, also where there is none."""
    lines = _lines_of(root, "config", "--get-regexp", r"^remote\..*\.url$")
    return [line.partition(" ")[2] for line in lines]


def share_history(repository: Repository, root: Path) -> None:
    """Make a repository that has another one's history without copying it, and no files. Raises GitError."""
    git_process.run(root, ["init", "-q"])
    asked = ["rev-parse", "--path-format=absolute", "--git-path", "objects"]
    objects = git_process.run(repository.root, asked)
    alternates = root / ".git" / "objects" / "info" / "alternates"
    alternates.parent.mkdir(parents=True, exist_ok=True)
    alternates.write_bytes(objects)
    head = head_state(repository).sha
    if head is not None:
        git_process.run(root, ["update-ref", "HEAD", head])


def _lines_of(root: Path, *arguments: str) -> list[str]:
    return git_process.run(root, arguments).decode("utf-8", "surrogateescape").splitlines()


def _ls_files(repository: Repository, under: str, only: Sequence[str]) -> bytes:
    arguments: list[str | bytes] = [
        "ls-files",
        "-z",
        "-t",
        "-s",
        "--cached",
        "--others",
        "--exclude-standard",
    ]
    arguments += ["--", *(git_process.raw_name(path) for path in only)]
    return git_process.run(repository.root / under, arguments)


def _listing(outputs: Sequence[bytes]) -> Listing:
    paths: set[str] = set()
    skipped: dict[str, str] = {}
    for token in (token for output in outputs for token in output.split(b"\0") if token):
        if token.startswith(b"? "):
            path = name(token[2:])
            if path.endswith("/"):
                skipped[path.rstrip("/")] = "nested repository"
            else:
                paths.add(path)
            continue
        fields, _, raw = token.partition(b"\t")
        if b" 160000 " in fields:
            skipped[name(raw)] = "submodule"
        else:
            paths.add(name(raw))
    left_out = tuple(Skipped(path, reason) for path, reason in sorted(skipped.items()))
    return Listing(tuple(sorted(paths - skipped.keys())), left_out)


def _git_dir_of(directory: Path) -> Path | None:
    dot_git = directory / ".git"
    if dot_git.is_dir():
        return dot_git if _looks_like_git_dir(dot_git) else None
    if dot_git.is_file():
        text = _read(dot_git)
        if text.startswith("gitdir:"):
            target = Path(os.path.normpath(directory / text.removeprefix("gitdir:").strip()))
            return target if _looks_like_git_dir(target) else None
        return None
    return directory if _looks_like_git_dir(directory) else None


def _looks_like_git_dir(directory: Path) -> bool:
    common = _common_dir(directory)
    return (directory / "HEAD").is_file() and (common / "objects").is_dir() and (common / "refs").exists()


def _common_dir(git_dir: Path) -> Path:
    text = _read(git_dir / "commondir").strip()
    return Path(os.path.normpath(git_dir / text)) if text else git_dir


def _head(root: Path, git_dir: Path, common: Path) -> HeadState:
    if (common / "reftable").is_dir():
        return _head_by_program(root)
    text = _read(git_dir / "HEAD").strip()
    if hexadecimal(text):
        return HeadState(text, None)
    reference = text.removeprefix("ref:").strip()
    if not text.startswith("ref:") or not reference.startswith("refs/") or ".." in reference.split("/"):
        return _head_by_program(root)
    branch = reference.removeprefix("refs/heads/")
    for place in (git_dir, common):
        value = _read(place / reference).strip()
        if hexadecimal(value):
            return HeadState(value, branch)
        if value:
            return _head_by_program(root)
    return HeadState(_packed_reference(common, reference), branch)


def _packed_reference(common: Path, reference: str) -> str | None:
    try:
        with open_plain(common / "packed-refs") as file:
            data = file.read()
    except OSError:
        return None
    found = re.search(rb"^([0-9a-f]{40,64}) " + re.escape(os.fsencode(reference)) + rb"$", data, re.MULTILINE)
    return found[1].decode("ascii") if found else None


def _head_by_program(root: Path) -> HeadState:
    named = git_process.ask(root, ["symbolic-ref", "-q", "HEAD"]).strip()
    arguments = ["rev-parse", "--verify", "-q", "--end-of-options", "HEAD^{commit}"]
    sha = git_process.ask(root, arguments).decode("ascii", "replace").strip()
    if not named and not hexadecimal(sha):
        raise GitError(f"git cannot read HEAD in {root}", hint="Check the repository with: git fsck")
    branch = name(named).removeprefix("refs/heads/") if named else None
    return HeadState(sha if hexadecimal(sha) else None, branch)


def _is_partial(common: Path) -> bool:
    """Tell whether objects may be missing on purpose (a clone made with a filter)."""
    try:
        with os.scandir(common / "objects" / "pack") as entries:
            return any(entry.name.endswith(".promisor") for entry in entries)
    except OSError:
        return False


def _submodules(root: Path) -> tuple[str, ...]:
    text = _read(root / ".gitmodules")
    found = re.findall(
        r"^[ \t]*path[ \t]*=[ \t]*+(?:\"([^\"\r\n]+)\"|([^\"\r\n]*[^\"\r\n \t]))[ \t]*$", text, re.MULTILINE
    )
    return tuple(sorted({(quoted or bare).strip("/") for quoted, bare in found}))


def _has_content(path: Path) -> bool:
    try:
        return path.stat().st_size > 0
    except OSError:
        return False


def _read(path: Path) -> str:
    """Return a small file's text; empty when it is missing, not a file, or unreadable."""
    try:
        with open_plain(path) as file:
            return file.read(_SMALL).decode("utf-8", "surrogateescape")
    except (OSError, ValueError):
        return ""
