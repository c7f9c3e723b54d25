"""Cuts: what no task changes of a file, kept as arrays and read back as they were."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from workbench.plan import cuts
from workbench.plan.cuts import FileCut, cut_file, decode_cut, encode_cut, term_id
from workbench.records.project import Symbol
from workbench.text.terms import count_terms
from workbench.text.tokens import token_counter

COUNTER = token_counter()
TEXT = "import os\n\n\nclass Session:\n    def refresh_token(self):\n        return os.urandom(4)\n"
SYMBOLS = (
    Symbol("Session", "class", 4, 6, "class Session:"),
    Symbol("refresh_token", "method", 5, 6, "def refresh_token(self):", "Session"),
)


def same(first: FileCut, second: FileCut) -> bool:
    names = [name for name in FileCut.__slots__ if name not in ("lines", "names")]
    equal = all(np.array_equal(getattr(first, name), getattr(second, name)) for name in names)
    return equal and (first.lines, first.names) == (second.lines, second.names)


@given(st.text(alphabet="ab_Z9 .\n(){}\t\u00e9\u4e2d", max_size=400))
def test_a_cut_is_read_back_as_it_was_made(text: str) -> None:
    """Every line is in one chunk, every term is counted in its chunk, and the bytes give the same arrays."""
    found = cut_file("text", text, (), COUNTER)
    lines = [line for start, end in found.table[:, :2].tolist() for line in range(start, end + 1)]
    assert lines == list(range(1, found.lines + 1))
    total = {term_id(term): times for term, times in count_terms(text).items()}
    counted = {
        int(term): int(found.times[found.starts[n] : found.starts[n + 1]].sum())
        for n, term in enumerate(found.terms)
    }
    assert counted == total
    again = decode_cut(encode_cut(found))
    assert again is not None
    assert same(found, again)


@given(st.data())
def test_damaged_bytes_are_no_cut_or_a_sound_one(data: st.DataObject) -> None:
    """Whatever byte flips or is missing, nothing fails and no place points outside the file."""
    good = encode_cut(cut_file("python", TEXT, SYMBOLS, COUNTER))
    at = data.draw(st.integers(0, len(good) - 1))
    bad = good[:at] + bytes([good[at] ^ data.draw(st.integers(1, 255))]) + good[at + 1 :]
    found = decode_cut(data.draw(st.sampled_from([bad, good[:at]])))
    if found is not None:
        assert [found.chunk(number) for number in range(found.count)]
        assert not len(found.chunks) or int(found.chunks.max()) < found.count


def test_names_are_known_whole_and_in_parts() -> None:
    """A name of several parts has their terms, its spelling, and the term of texts that mention it."""
    found = cut_file("python", TEXT, SYMBOLS, COUNTER)
    place = found.names.index("refresh_token")
    start, end = found.name_starts[place : place + 2].tolist()
    assert term_id("token") in found.name_terms[start:end].tolist()
    assert found.spelled[place] == term_id("refreshtoken")
    assert found.mention[place] == term_id("=refreshtoken")
    assert found.mention[found.names.index("Session")] == 0
    assert found.table[:, cuts.TOKENS].sum() > 0
