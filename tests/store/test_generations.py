"""Index generations are whole or not there."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from store.generations import DamagedGeneration, Generation, check, latest, publish
from tests.adapters import ManualClock
from workbench.errors import StoreError

Start = Callable[..., subprocess.Popen[str]]


def filled(content: bytes) -> Callable[[Path], None]:
    """Return a writer of an index with two files."""

    def write(path: Path) -> None:
        (path / "vectors.npy").write_bytes(content)
        (path / "sub").mkdir()
        (path / "sub" / "names.json").write_bytes(b"[]")

    return write


def found(root: Path, kind: str) -> Generation:
    generation = latest(root, kind)
    assert isinstance(generation, Generation)
    return generation


def test_what_is_published_is_found(tmp_path: Path, clock: ManualClock) -> None:
    """The current generation has every file and says when it was made and how large they are."""
    assert latest(tmp_path, "vectors") is None

    published = publish(tmp_path, "vectors", filled(b"one"), clock=clock)

    assert found(tmp_path, "vectors") == published
    assert published.files == {"sub/names.json": 2, "vectors.npy": 3}
    assert published.created_at == clock.now()
    assert (published.path / "vectors.npy").read_bytes() == b"one"
    assert check(published) == []


def test_all_of_it_is_its_owners_alone(tmp_path: Path, clock: ManualClock) -> None:
    """Directories inside, too, whatever the umask."""
    before = os.umask(0)
    try:
        published = publish(tmp_path, "vectors", filled(b"one"), clock=clock)
    finally:
        os.umask(before)
    kept = [published.path, *published.path.rglob("*")]
    assert len(kept) == 5
    assert [path for path in kept if path.stat().st_mode & 0o077] == []


def test_the_one_before_stays(tmp_path: Path, clock: ManualClock) -> None:
    """Readers may have the previous generation mapped; older ones are removed, other kinds untouched."""
    publish(tmp_path, "other", filled(b"x"), clock=clock)
    for content in (b"1", b"2", b"3"):
        publish(tmp_path, "vectors", filled(content), clock=clock)

    names = sorted(path.name for path in (tmp_path / "index").iterdir() if path.is_dir())
    assert names == ["other-1", "vectors-2", "vectors-3"]
    assert (found(tmp_path, "vectors").path / "vectors.npy").read_bytes() == b"3"


def test_a_writer_that_fails_changes_nothing(tmp_path: Path, clock: ManualClock) -> None:
    """An error while building leaves the current generation and no litter."""
    first = publish(tmp_path, "vectors", filled(b"1"), clock=clock)

    def fail(path: Path) -> None:
        (path / "half").write_bytes(b"x")
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        publish(tmp_path, "vectors", fail, clock=clock)

    assert found(tmp_path, "vectors") == first
    assert sorted(path.name for path in (tmp_path / "index").iterdir()) == ["vectors-1", "vectors.current"]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("vectors-1/vectors.npy", None),
        ("vectors-1/vectors.npy", b"longer"),
        ("vectors-1/manifest.json", b"{}"),
        ("vectors-1/manifest.json", b'{"crc32":1,"manifest":{}}'),
        ("vectors-1/manifest.json", None),
        ("vectors.current", b"junk"),
        ("vectors.current", b'{"generation":7}'),
    ],
)
def test_damage_is_said(tmp_path: Path, clock: ManualClock, name: str, content: bytes | None) -> None:
    """A missing, cut or changed part makes `latest` say so, and the next publication repairs it."""
    publish(tmp_path, "vectors", filled(b"1"), clock=clock)
    path = tmp_path / "index" / name
    if content is None:
        path.unlink()
    else:
        path.write_bytes(content)

    assert isinstance(latest(tmp_path, "vectors"), DamagedGeneration)
    publish(tmp_path, "vectors", filled(b"2"), clock=clock)
    assert (found(tmp_path, "vectors").path / "vectors.npy").read_bytes() == b"2"


def test_a_changed_byte_is_found_by_the_full_check(tmp_path: Path, clock: ManualClock) -> None:
    """Bytes that changed without changing the size are found when everything is read."""
    generation = publish(tmp_path, "vectors", filled(b"1"), clock=clock)
    (generation.path / "vectors.npy").write_bytes(b"2")

    assert check(generation) == ["vectors.npy has changed since it was written"]


def test_names_that_lead_elsewhere_are_refused(tmp_path: Path, clock: ManualClock) -> None:
    """A kind is a plain name."""
    with pytest.raises(StoreError):
        publish(tmp_path, "../x", filled(b"1"), clock=clock)


BUILDER = """
import sys
from pathlib import Path
from store.clock import SystemClock
from store.generations import publish
def write(path):
    (path / "half").write_bytes(b"x" * 1000)
    print("building", flush=True)
    sys.stdin.readline()
publish(Path(sys.argv[1]), "vectors", write, clock=SystemClock())
"""


def test_leftovers_of_the_dead_are_removed_and_of_the_living_kept(
    tmp_path: Path, clock: ManualClock, start: Start
) -> None:
    """Publishing cleans up after killed writers, and leaves those alone that still build."""
    dead, living = start(BUILDER, tmp_path), start(BUILDER, tmp_path)
    for process in (dead, living):
        assert process.stdout is not None
        process.stdout.readline()
    dead.kill()
    dead.communicate()

    publish(tmp_path, "vectors", filled(b"1"), clock=clock)
    assert len(list((tmp_path / "index").glob(".vectors-*"))) == 1
    living.communicate("go\n")

    assert living.returncode == 0
    assert found(tmp_path, "vectors").files == {"half": 1000}
    assert list((tmp_path / "index").glob(".vectors-*")) == []
