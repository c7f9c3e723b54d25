"""How the git program is run: with a clean environment, without prompts, and without trusting the repository.

A repository is input from strangers. Its configuration can name programs (hooks, file-system monitors, diff
drivers, filters, signature checkers, transports); none of them is run from here.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final

from store.git_traps import refuse_traps, search_traps
from workbench.beneath import find_program, safe_path
from workbench.errors import GitError

if TYPE_CHECKING:
    import subprocess

_NO_INPUT: Final = -3  # subprocess.DEVNULL; most hooks run no git
_PIPE: Final = -1  # subprocess.PIPE

CHUNK = 1 << 18
_PATIENCE = 300  # seconds for one answer
_SILENCE = 2.0  # seconds without an end after which the work tree is searched for what git may wait on

_REFUSED = re.compile(rb"dubious ownership|unsafe repository|safe\.bareRepository|not a git repository")

_NUMBER = re.compile(rb"-?\d{1,40}")  # longer ones cost time to convert, and git prints none
_EARLIEST, _LATEST = -62_135_596_800, 253_402_300_799  # seconds: the years 1 to 9999

_KEPT_VARIABLES = frozenset(
    {
        "GIT_CONFIG_GLOBAL",
        "GIT_CONFIG_SYSTEM",
        "GIT_CONFIG_NOSYSTEM",
        "GIT_CONFIG_COUNT",
        "GIT_CEILING_DIRECTORIES",
        "GIT_DISCOVERY_ACROSS_FILESYSTEM",
        "GIT_EXEC_PATH",
    }
)
_KEPT_PREFIXES = ("GIT_CONFIG_KEY_", "GIT_CONFIG_VALUE_")

_ENVIRONMENT = {
    "LC_ALL": "C",
    "LANGUAGE": "",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_PAGER": "cat",
}

_CONFIG = (
    "core.quotepath=false",
    "core.fsmonitor=false",
    f"core.hooksPath={os.devnull}",
    "core.precomposeUnicode=true",
    "color.ui=false",
    "log.showSignature=false",
    "log.showRoot=true",
    "log.mailmap=false",
    "log.follow=false",
    "diff.autoRefreshIndex=false",  # or git diff writes to the repository's index, optional locks or not
    "diff.noprefix=false",
    "diff.mnemonicPrefix=false",
    "diff.relative=false",
    "diff.suppressBlankEmpty=false",
    f"diff.orderFile={os.devnull}",
    "diff.renameLimit=400",
    "diff.ignoreSubmodules=dirty",
    "diff.submodule=short",
    "submodule.recurse=false",
    "i18n.logOutputEncoding=UTF-8",
)


def program() -> str | None:
    """Return the git program's path, or None when PATH has none."""
    return find_program("git")


def git_version() -> str:
    """Return e.g. `git version 2.43.0`. Raises: GitError without a git that runs."""
    return run(Path.cwd(), ["--version"]).decode("utf-8", "replace").strip()


def environment() -> dict[str, str]:
    """Return the environment for git: the caller's, without what redirects git or names other programs."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("GIT_") or name in _KEPT_VARIABLES or name.startswith(_KEPT_PREFIXES)
    }
    return kept | _ENVIRONMENT | {"PATH": safe_path()}


def command(directory: Path, arguments: Sequence[str | bytes]) -> list[str | bytes]:
    """Return the full command line that runs git in `directory`.

    Raises GitError without git, and where git would wait for ever.
    """
    refuse_traps(directory)
    found = program()
    if found is None:
        raise GitError("the git program was not found", hint="Install git, or put it on PATH.")
    settings = [part for setting in _CONFIG for part in ("-c", setting)]
    return [found, "--no-pager", *settings, "-C", os.fspath(directory), *arguments]


def run(directory: Path, arguments: Sequence[str | bytes], *, given: bytes = b"") -> bytes:
    """Run git to its end with `given` as its standard input and return its output. Raises GitError."""
    done = _run_git(directory, arguments, given)
    if done.returncode:
        raise failure(directory, done.stderr)
    return done.stdout


def ask(directory: Path, arguments: Sequence[str | bytes]) -> bytes:
    """Return git's output, empty when the answer is no.

    Raises GitError when git refuses the repository as a whole.
    """
    done = _run_git(directory, arguments, b"")
    if done.returncode and _REFUSED.search(done.stderr):
        raise failure(directory, done.stderr)
    return b"" if done.returncode else done.stdout


def _run_git(
    directory: Path, arguments: Sequence[str | bytes], given: bytes
) -> subprocess.CompletedProcess[bytes]:
    import subprocess

    child = subprocess.Popen(
        command(directory, arguments),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
        cwd=os.sep,
    )
    try:
        try:
            output, errors = child.communicate(given, min(_SILENCE, _PATIENCE))
        except subprocess.TimeoutExpired:
            if search_traps(directory, lambda: child.poll() is not None):
                refuse_traps(directory)
            output, errors = child.communicate(timeout=_PATIENCE)
    except subprocess.TimeoutExpired as error:
        stop(child)
        raise GitError(
            f"git did not answer within {_PATIENCE} s in {directory}",
            hint="Look for what it waits on with: GIT_TRACE=1 git status",
        ) from error
    except BaseException:
        stop(child)
        raise
    return subprocess.CompletedProcess(child.args, child.returncode, output, errors)


@contextmanager
def running(
    directory: Path, arguments: Sequence[str | bytes], *, stdin: int = _NO_INPUT
) -> Iterator[subprocess.Popen[bytes]]:
    """Run git while the block reads from it; the child never outlives the block.

    Raises GitError when git fails after all its output was read, or is held up by a trap. Leaving early kills
    it quietly.
    """
    import subprocess
    import tempfile
    from threading import Timer

    with tempfile.TemporaryFile() as errors:
        child = subprocess.Popen(
            command(directory, arguments),
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=errors,
            env=environment(),
            cwd=os.sep,
        )
        watch = Timer(_SILENCE, _free, (directory, child))
        watch.daemon = True
        watch.start()
        try:
            yield child
            if child.stdin is not None:
                child.stdin.close()
            if child.stdout is not None and not child.stdout.read(1) and child.wait():
                refuse_traps(directory)
                errors.seek(0)
                raise failure(directory, errors.read(8192))
        finally:
            watch.cancel()
            stop(child)
            watch.join()


@contextmanager
def answering(
    directory: Path, arguments: Sequence[str | bytes], lines: Sequence[str] = ()
) -> Iterator[IO[bytes]]:
    """Run git and give its output, as `running` does; `lines`, at most some hundred ids, are its input."""
    with running(directory, arguments, stdin=_PIPE if lines else _NO_INPUT) as child:
        assert child.stdout is not None
        if child.stdin is not None:
            with suppress(BrokenPipeError):  # it says why in its errors
                child.stdin.write("".join(f"{line}\n" for line in lines).encode("ascii"))
                child.stdin.close()
        yield child.stdout


def _free(directory: Path, child: subprocess.Popen[bytes]) -> None:
    """End a git that waits on a trap, so that whoever reads from it goes on."""
    if search_traps(directory, lambda: child.poll() is not None):
        child.kill()


def stop(child: subprocess.Popen[bytes]) -> None:
    """End a child at once, reap it, and close its pipes."""
    if child.poll() is None:
        child.kill()
    child.wait()
    for pipe in (child.stdin, child.stdout, child.stderr):
        if pipe is not None:
            _close(pipe)


def _close(pipe: IO[bytes]) -> None:
    try:
        pipe.close()
    except BrokenPipeError:
        return  # bytes still buffered for a child that is gone


def nul_tokens(stream: IO[bytes]) -> Iterator[bytes]:
    """Yield the NUL-terminated tokens of a stream in bounded memory; an unterminated rest is yielded too."""
    rest = b""
    while chunk := stream.read(CHUNK):
        tokens = (rest + chunk).split(b"\0")
        rest = tokens.pop()
        yield from tokens
    if rest:
        yield rest


def failure(directory: Path, stderr: bytes) -> GitError:
    """Turn git's complaint into an error with the next step."""
    text = stderr.decode("utf-8", "replace").strip()
    lines = [line for line in text.splitlines() if line.strip()]
    first = next((line for line in lines if line.startswith(("fatal:", "error:"))), lines[0] if lines else "")
    reason = first.removeprefix("fatal:").removeprefix("error:").strip() or "git failed without a message"
    return GitError(f"git cannot read {directory}: {reason}", hint=_hint(directory, text))


def _hint(directory: Path, text: str) -> str:
    if "dubious ownership" in text or "unsafe repository" in text:
        return f"If you trust it: git config --global --add safe.directory {directory}"
    if "safe.bareRepository" in text:
        return "git is configured to refuse bare repositories; work in a clone with a work tree."
    if "bad revision" in text or "unknown revision" in text or "Needed a single revision" in text:
        return "Check the name with: git log --oneline"
    if "missing blob" in text or "unable to read" in text or "promisor" in text:
        return "The clone lacks objects; complete it with: git fetch --refetch"
    if "not a git repository" in text:
        return "Check the repository with: git status"
    return "Check the repository with: git fsck"


def commit_time(raw: bytes) -> int:
    """Return a commit's time as the nearest one that a calendar has; 0 for a commit without a date.

    Whoever makes a commit writes any number there, or nothing, which git prints as an empty text.
    """
    return max(_EARLIEST, min(int(raw), _LATEST)) if _NUMBER.fullmatch(raw) else 0


@cache
def hexadecimal(text: str) -> bool:
    """Tell whether a text is a full object id (SHA-1 or SHA-256)."""
    return len(text) in (40, 64) and all(letter in "0123456789abcdef" for letter in text)


def name(raw: bytes) -> str:
    """Return a path as text; bytes that are not UTF-8 become lone surrogates and survive a round trip."""
    return raw.decode("utf-8", "surrogateescape")


def raw_name(path: str) -> bytes:
    """Return the bytes of a path made by `name`."""
    return path.encode("utf-8", "surrogateescape")
