"""Private directories and atomic replacement."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from store.files import private_dir, replace_file, write_atomic
from workbench.errors import StoreError


def test_directories_are_private(tmp_path: Path) -> None:
    """Every directory made is open to its owner alone."""
    made = private_dir(tmp_path / "a" / "b")

    assert [path.stat().st_mode & 0o777 for path in (made, made.parent)] == [0o700, 0o700]


def test_a_file_is_replaced_whole(tmp_path: Path) -> None:
    """The new content stands, private, and no temporary file stays."""
    path = tmp_path / "x" / "file"
    write_atomic(path, b"old")
    write_atomic(path, b"new")

    assert path.read_bytes() == b"new"
    assert path.stat().st_mode & 0o777 == 0o600
    assert os.listdir(path.parent) == ["file"]


@pytest.mark.parametrize(
    ("code", "hint"), [(errno.ENOSPC, "free some space"), (errno.EROFS, "WORKBENCH_HOME")]
)
def test_a_failed_replacement_keeps_the_old_content(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, hint: str
) -> None:
    """A full or read-only disk leaves the old file, no litter, and a hint that fits."""
    path = tmp_path / "file"
    write_atomic(path, b"old")

    def fail(*_: object, **__: object) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr("store.files.os.replace", fail)
    with pytest.raises(StoreError) as failure:
        write_atomic(path, b"new")

    assert hint in failure.value.hint
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["file"]
    with pytest.raises(StoreError) as failure:
        replace_file(path, b"new", expected=b"old")
    assert "WORKBENCH_HOME" not in failure.value.hint  # the file is the user's
