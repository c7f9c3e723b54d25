"""Arrays in one file are found again as they were, and damage of the file is an error."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays_of

from workbench.project.arrays import open_arrays, write_arrays

KINDS = st.sampled_from(["<i4", "<i8", "<f4", "|u1", "|b1", ">i4"])
ARRAYS = st.dictionaries(
    st.text(max_size=6),
    st.one_of(
        st.binary(max_size=70),
        KINDS.flatmap(
            lambda kind: arrays_of.arrays(
                kind, arrays_of.array_shapes(min_dims=1, max_dims=2, min_side=0), fill=st.nothing()
            )
        ),
    ),
    max_size=5,
)


@given(ARRAYS)
def test_what_is_written_is_opened(
    tmp_path_factory: pytest.TempPathFactory, arrays: dict[str, object]
) -> None:
    """Values, shapes and types are the same, empty arrays and foreign byte orders included."""
    path = tmp_path_factory.mktemp("arrays") / "file"
    write_arrays(path, arrays)  # type: ignore[arg-type]
    opened = open_arrays(path)
    assert list(opened) == list(arrays)
    for name, array in arrays.items():
        expected = np.frombuffer(array, np.uint8) if isinstance(array, bytes) else np.asarray(array)
        assert opened[name].dtype == expected.dtype.newbyteorder("<")
        np.testing.assert_array_equal(opened[name], expected)
        assert not opened[name].flags.writeable


def test_any_cut_is_noticed(tmp_path: Path) -> None:
    """A file without its last array bytes, or without more, is refused."""
    path = tmp_path / "file"
    write_arrays(path, {"a": np.arange(40), "b": b"bytes" * 20})
    data = path.read_bytes()
    assert len(data) % 64 == 0
    for length in range(len(data) - 28):  # the very last bytes only fill up
        path.write_bytes(data[:length])
        with pytest.raises((ValueError, msgspec.MsgspecError)):
            open_arrays(path)


def test_a_changed_header_is_noticed(tmp_path: Path) -> None:
    """No byte of the header can change unseen, so that no array is read from the wrong place."""
    path = tmp_path / "file"
    write_arrays(path, {"a": np.arange(4)})
    data = path.read_bytes()
    for position in range(len(data) - 32 - 32):
        changed = bytearray(data)
        changed[position] ^= 0x55
        path.write_bytes(changed)
        try:
            opened = open_arrays(path)
        except (ValueError, msgspec.MsgspecError):
            continue
        np.testing.assert_array_equal(opened["a"], np.arange(4))
