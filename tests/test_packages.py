"""What is published: the sdist holds the repository, and builds the wheel that the repository builds.

`make dist` installs that wheel, in `tests/distribution.py`.
"""

from __future__ import annotations

import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from tests.deep import only_deep

ROOT = Path(__file__).parents[1]
NOT_PUBLISHED = {".cursor", ".gitattributes", ".editorconfig"}  # of the repository alone


def build(target: str, directory: Path, into: Path) -> Path:
    """Build the sdist or the wheel of a directory by what is installed here, and return it."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(into)]
    subprocess.run(command, cwd=directory, check=True, capture_output=True)
    (built,) = into.iterdir()
    return built


@only_deep
@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="an unpacked sdist has no list of what is tracked")
def test_the_sdist_builds_the_same_wheel(tmp_path: Path) -> None:
    """All that is tracked is in it; unpacked it builds, byte for byte, the wheel of the repository."""
    with tarfile.open(build("sdist", ROOT, tmp_path / "sdist")) as archive:
        archive.extraction_filter = getattr(tarfile, "data_filter", None)  # from Python 3.11.4 on
        archive.extractall(tmp_path / "unpacked")
    (unpacked,) = (tmp_path / "unpacked").iterdir()
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
    wanted = [name for name in tracked.stdout.splitlines() if name.split("/")[0] not in NOT_PUBLISHED]

    assert [name for name in wanted if not (unpacked / name).exists()] == []
    again = build("wheel", unpacked, tmp_path / "again")
    assert build("wheel", ROOT, tmp_path / "wheel").read_bytes() == again.read_bytes()
