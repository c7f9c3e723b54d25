"""An index on disk opens as it was written, or not at all."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
import pytest

from workbench.project.arrays import open_arrays, write_arrays
from workbench.project.facts import extract_facts
from workbench.project.index import ProjectIndex
from workbench.project.saved import FILE, MappedRecords, load_index, save_index
from workbench.project.updating import build_index, update_index

TREE = {
    "a/__init__.py": "",
    "a/auth.py": "def refresh(token):\n    return token\n",
    "tests/test_auth.py": "from a import auth\n",
    "latin\udce9.txt": "word\n",
}


def index_of(tree: dict[str, str]) -> ProjectIndex:
    """Index a tree given as text."""
    paths = sorted(tree)
    return build_index(paths, [extract_facts(path, tree[path].encode()) for path in paths], [1] * len(paths))


def assert_opens_equal(index: ProjectIndex, directory: Path) -> None:
    """Compare what was saved with what is opened, except for dead files, which are not saved."""
    opened = load_index(directory)
    assert sorted(opened.positions) == sorted(index.positions)
    for path, position in opened.positions.items():
        assert opened.record(position) == index.record(index.positions[path])
    assert opened.bm25("body", {"token": 1.0}).sum() == pytest.approx(
        index.bm25("body", {"token": 1.0}).sum()
    )
    assert len(opened.edges) == len(index.edges)
    assert len(opened.tests) == len(index.tests)
    assert opened.alive.all()


def test_a_saved_index_opens_equal(tmp_path: Path) -> None:
    """Names that are not UTF-8, empty files, symbols and edges survive."""
    index = index_of(TREE)
    save_index(index, tmp_path)
    assert_opens_equal(index, tmp_path)
    assert load_index(tmp_path).paths == index.paths


def test_a_mended_index_is_saved_without_its_dead(tmp_path: Path) -> None:
    """A tail and dead files are merged away on the way to the disk."""
    index = update_index(index_of(TREE), {"b.py": (extract_facts("b.py", b"token = 1\n"), 1)}, ["a/auth.py"])
    save_index(index, tmp_path)
    assert_opens_equal(index, tmp_path)


def test_an_opened_index_can_be_mended_and_saved_again(tmp_path: Path) -> None:
    """Memory-mapped columns take updates like those in memory."""
    save_index(index_of(TREE), tmp_path)
    index = update_index(load_index(tmp_path), {"b.py": (extract_facts("b.py", b"token = 1\n"), 1)})
    second = tmp_path / "second"
    second.mkdir()
    save_index(index, second)
    assert_opens_equal(index, second)


def test_an_empty_index_is_saved(tmp_path: Path) -> None:
    """A project without files has an index like any other."""
    save_index(index_of({}), tmp_path)
    assert load_index(tmp_path).count == 0


@pytest.mark.parametrize("length", [0, 5, 30, 200, -80])
def test_a_file_cut_short_is_noticed(tmp_path: Path, length: int) -> None:
    """However much of the index is missing, it is an error of the promised kinds."""
    save_index(index_of(TREE), tmp_path)
    data = (tmp_path / FILE).read_bytes()
    (tmp_path / FILE).write_bytes(data[:length])
    with pytest.raises((OSError, ValueError, KeyError, msgspec.MsgspecError)):
        load_index(tmp_path)


def test_another_format_is_refused(tmp_path: Path) -> None:
    """An index of another version of the program is not read as if it were of this one."""
    save_index(index_of(TREE), tmp_path)
    arrays = open_arrays(tmp_path / FILE)
    document = msgspec.msgpack.decode(arrays["files"].tobytes())
    other = dict(arrays) | {"files": msgspec.msgpack.encode({**document, "format": 0})}
    write_arrays(tmp_path / "other", other)
    (tmp_path / "other").rename(tmp_path / FILE)
    with pytest.raises(ValueError, match="format"):
        load_index(tmp_path)


def test_records_behave_as_a_sequence() -> None:
    """Length, index, slice, iteration and bounds are those of a list."""
    records = MappedRecords(np.frombuffer(b"aabccc", np.uint8), np.array([0, 2, 3, 3, 6]))
    assert list(records) == [b"aa", b"b", b"", b"ccc"]
    assert records[1:3] == [b"b", b""]
    assert len(records) == 4
    with pytest.raises(IndexError):
        records[4]
