"""`python -m sample_data.build DIR` makes the sample project: a git repository and the sessions that made it.

DIR/roastery is the repository, DIR/sessions the transcripts, as if the agents had worked in that directory.
It needs nothing but git, and gives the same commits everywhere. With `--shipped` the transcripts in this
folder are written anew from the text they follow from.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from sample_data.history import read_history, write_repository
from sample_data.sessions import read_sessions
from sample_data.transcripts import ROOT, transcripts_of

SHIPPED = Path(__file__).parent / "sessions"


def build(place: Path) -> tuple[Path, Path]:
    """Make the project below a directory, in place of an earlier one; return (repository, sessions).

    Raises: OSError, subprocess.CalledProcessError.
    """
    repository, sessions = place / "roastery", place / "sessions"
    for old in (repository, sessions):
        if old.exists():
            shutil.rmtree(old)
    commits = read_history()
    ids = write_repository(commits, repository)
    for session in read_sessions(commits, ids):
        ended = session.steps[-1].at.timestamp()
        for path in write(transcripts_of(session, str(repository.resolve())), sessions):
            os.utime(path, (ended, ended))
    return repository, sessions


def shipped() -> dict[str, str]:
    """Return the transcripts as they are shipped, {path: text}: of work in a directory that is nobody's."""
    commits = read_history()
    with TemporaryDirectory() as place:
        ids = write_repository(commits, Path(place))
    files: dict[str, str] = {}
    for session in read_sessions(commits, ids):
        files |= transcripts_of(session, ROOT)
    return files


def write(files: dict[str, str], folder: Path) -> list[Path]:
    """Write texts below a folder; return where."""
    written = []
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")
        written.append(path)
    return written


def main(arguments: list[str]) -> int:
    """Build into the directory given; return the exit code."""
    if arguments == ["--shipped"]:
        if SHIPPED.exists():
            shutil.rmtree(SHIPPED)
        write(shipped(), SHIPPED)
        return 0
    if len(arguments) != 1 or arguments[0].startswith("-"):
        print("usage: python -m sample_data.build DIR", file=sys.stderr)
        return 2
    for made in build(Path(arguments[0])):
        print(made)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
