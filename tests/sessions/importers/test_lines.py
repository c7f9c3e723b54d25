"""Lines with gigantic texts are read without holding them."""

from __future__ import annotations

import io
import json
import tracemalloc
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.sessions.importers import lines, transcripts
from workbench.sessions.importers.lines import read_trimmed
from workbench.sessions.importers.transcripts import TranscriptRecord, Unreadable


def values(data: bytes, cut: list[int] | None = None) -> list[Any]:
    """Return the objects of JSON lines, None for lines without one."""
    records = read_trimmed(io.BytesIO(data), cut)
    return [record.value if isinstance(record, TranscriptRecord) else None for record in records]


def test_long_texts_are_cut_and_the_rest_is_read() -> None:
    """An image of several megabytes; what follows it in the line, and the next line."""
    line = {"image": "A" * 5_000_000, "text": 'say "x" \\', "more": [1, {"b": "é"}]}
    cut: list[int] = []
    first, second = values(json.dumps(line).encode() + b'\n{"a": 1}', cut)
    assert first == {**line, "image": "A" * lines.MAX_TEXT}
    assert second == {"a": 1}
    assert cut == [5_000_000 - lines.MAX_TEXT]


def test_memory_stays_bounded() -> None:
    """A text of 60 MB with escapes takes a fraction of it."""

    class Long(io.RawIOBase):
        """A line that is made while it is read."""

        def __init__(self) -> None:
            self.left = 60

        def readable(self) -> bool:
            return True

        def readinto(self, buffer: Any) -> int:
            if self.left < 0:
                return 0
            piece = b'{"a":"' if self.left == 60 else b'"}\n' if self.left == 0 else b"x\\n\\\\" * 200_000
            self.left -= 1
            buffer[: len(piece)] = piece
            return len(piece)

    tracemalloc.start()
    try:
        (record,) = read_trimmed(io.BufferedReader(Long(), 2_000_000))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert isinstance(record, TranscriptRecord)
    assert peak < 20_000_000


def test_a_line_that_cannot_be_held_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond the bound even without its texts; the next line is read."""
    monkeypatch.setattr(transcripts, "MAX_LINE", 1_000_000)
    many = json.dumps(["x"] * 1_000_000).encode()
    first, second = read_trimmed(io.BytesIO(many + b'\n{"a": 1}\n'))
    assert isinstance(first, Unreadable)
    assert isinstance(second, TranscriptRecord)


@given(
    st.lists(st.text(max_size=40), max_size=6).map(lambda texts: {"texts": texts, "é\\": texts}),
    st.integers(1, 20),
    st.integers(1, 9),
)
def test_cut_lines_stay_json(value: Any, room: int, piece: int) -> None:
    """Wherever pieces end, in an escape or a letter of several bytes, texts are cut and nothing else."""
    line = json.dumps(value, ensure_ascii=False).encode() + b"\n"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines, "WHOLE", piece)
        patch.setattr(lines, "_CHUNK", piece)
        patch.setattr(lines, "MAX_TEXT", room)
        (found,) = values(line)
    assert found is not None
    assert len(next(iter(found.values()))) == len(value["texts"])


@given(
    st.lists(st.text(st.sampled_from('ab \\"\n\té€'), max_size=60), max_size=6),
    st.integers(1, 20),
    st.integers(1, 9),
    st.integers(1, 30),
)
def test_ends_of_cut_texts_stay_json(texts: list[str], room: int, piece: int, tail: int) -> None:
    """With ends kept, a text that is cut ends as it did, and what is around it stays."""
    line = json.dumps([texts, 7]).encode()
    line = b'{"":%b}\n' % line
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines, "WHOLE", piece)
        patch.setattr(lines, "_CHUNK", piece)
        patch.setattr(lines, "MAX_TEXT", room)
        (found,) = read_trimmed(io.BytesIO(line), None, tail)
    assert isinstance(found, TranscriptRecord)
    cut_texts, last = found.value[""]
    assert last == 7
    for whole, kept in zip(texts, cut_texts, strict=True):
        end = kept.rpartition("[... left out ...]\n")
        assert whole.endswith(end[2]) if end[1] else kept == whole
