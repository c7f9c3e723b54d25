"""A search of a journal finds what reading all of it finds."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import store.journal_search
from store.journal import FileJournal
from store.journal_files import stream_path
from store.journal_search import mentioning
from tests.adapters import ManualClock


@given(
    words=st.lists(st.text(alphabet='ab"\n\u00e9\udcff', max_size=30), max_size=20),
    needle=st.sampled_from(["a", "ab", '"x":"a', "zz"]),
    piece=st.integers(1, 300),
)
def test_it_finds_what_reading_finds(
    words: list[str], needle: str, piece: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Wherever the pieces that are read end, every line with the text is found once, in order."""
    root = tmp_path_factory.mktemp("j")
    journal = FileJournal(root, ManualClock())
    journal.append("s", "k", [{"x": word} for word in words], by="t", sync=False)
    path = stream_path(root, "s")
    lines = path.read_bytes().splitlines() if words else []
    expected = [
        entry for line, (_, entry) in zip(lines, journal.read("s"), strict=True) if needle.encode() in line
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store.journal_search, "_PIECE", piece)
        assert list(mentioning(root, "s", needle)) == expected


def test_what_cannot_be_read_is_left_out(journal: FileJournal, tmp_path: Path) -> None:
    """Junk lines and an unfinished last line that hold the text are passed over; no stream is no entry."""
    assert list(mentioning(tmp_path, "s", "needle")) == []
    journal.append("s", "k", [{"x": "needle"}], by="t")
    with stream_path(tmp_path, "s").open("ab") as file:
        file.write(b"needle\n")
    [entry] = journal.append("s", "k", [{"x": "a needle"}], by="t")
    with stream_path(tmp_path, "s").open("ab") as file:
        file.write(b'{"needle"')
    assert [found.id for found in mentioning(tmp_path, "s", "needle")][1:] == [entry.id]
