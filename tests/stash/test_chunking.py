"""Chunks cover a text, fit, and keep whole what fits."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.records.segments import SegmentType
from workbench.stash.chunking import (
    SegmentChunk,
    cut_segment,
    definition_places,
    embedded_text,
    sentence_chunks,
    with_neighbours,
)

SIZE = 12
_TEXTS = st.text(alphabet=st.sampled_from("ab .!?\n`é😀\t"), max_size=400)


def words(text: str) -> int:
    """Count words; a run of letters counts one for every eight of them."""
    return sum(1 + len(word) // 8 for word in text.split())


@given(_TEXTS, st.sampled_from(list(SegmentType)))
def test_chunks_cover_the_text_and_none_is_too_large(text: str, kind: SegmentType) -> None:
    """Every character is in a chunk, in order; chunks only overlap with the one before."""
    chunks = cut_segment(text, kind, words, size=SIZE, overlap=4)
    assert all(words(text[chunk.start : chunk.end]) <= SIZE for chunk in chunks)
    covered = 0
    for one in chunks:
        assert one.start <= covered < one.end
        covered = one.end
    assert covered == len(text)


@given(_TEXTS)
def test_without_overlap_the_chunks_are_the_text(text: str) -> None:
    """One after the other they say what the text says."""
    chunks = cut_segment(text, SegmentType.MESSAGE, words, size=SIZE, overlap=0)
    assert "".join(text[chunk.start : chunk.end] for chunk in chunks) == text


def test_code_blocks_paragraphs_and_sentences_stay_whole() -> None:
    """What fits is not cut: a fenced block with an empty line in it, and sentences around it."""
    block = "```python\ndef add(a, b):\n    one = a\n\n    return one + b\n```\n"
    text = f"Numbers are added here like this. It has been so.\n\n{block}\nAnd it never changes, they say."
    pieces = [
        text[one.start : one.end] for one in cut_segment(text, SegmentType.MESSAGE, words, size=13, overlap=0)
    ]
    assert any(block in piece for piece in pieces)
    assert all(piece.count("```") in (0, 2) for piece in pieces)
    assert len(pieces) == 3


def test_definitions_are_where_code_is_cut() -> None:
    """Functions whose places are known stay whole where they fit."""
    first, second = "def a():\n    x = 1\n    return x\n\n", "def b():\n    y = 2\n    return y\n"
    chunks = cut_segment(
        first + second, SegmentType.CODE_BLOCK, words, size=9, overlap=0, definitions=[len(first)]
    )
    assert chunks == (SegmentChunk(0, len(first)), SegmentChunk(len(first), len(first + second)))
    code = SegmentType.FILE_CONTENT
    assert definition_places(first + second, code, "src/sums.py") == (len(first),)
    assert definition_places(first + second, code, "claude_code:s#1") == ()
    assert definition_places(first + second, SegmentType.MESSAGE, "src/sums.py") == ()


def test_a_long_run_without_blanks_is_cut_where_it_fits() -> None:
    """Base64 and minified code have no better place."""
    text = "A" * 1_000
    chunks = cut_segment(text, SegmentType.DEBUG_OUTPUT, words, size=10)
    assert [chunk.end - chunk.start for chunk in chunks][:-1] == [79] * (len(chunks) - 1)


def test_the_end_of_a_chunk_begins_the_next() -> None:
    """Whole sentences of the chunk before, as many as the overlap holds."""
    text = "One two three four five six. Seven eight. Nine ten eleven twelve. Thirteen fourteen fifteen."
    chunks = cut_segment(text, SegmentType.MESSAGE, words, size=9, overlap=3)
    assert [text[chunk.start : chunk.end].strip() for chunk in chunks] == [
        "One two three four five six. Seven eight.",
        "Seven eight. Nine ten eleven twelve.",
        "Thirteen fourteen fifteen.",
    ]
    assert with_neighbours(text, chunks, 0) == text[: chunks[1].end]


@pytest.mark.parametrize(
    ("text", "kind", "expected"),
    [
        ("Ann: I moved to Oslo. My dog came with me.", SegmentType.MESSAGE, 2),
        ("Ann: Yes! Sure. I moved to Oslo last year.", SegmentType.MESSAGE, 2),
        ("Ann: I moved to Oslo.", SegmentType.MESSAGE, 0),
        ("import os. import sys. import re. more.", SegmentType.CODE_BLOCK, 0),
        ("It is as follows here. ```\nx\n```", SegmentType.MESSAGE, 0),
        ("We talked about it. " * 9, SegmentType.MESSAGE, 0),
    ],
)
def test_short_prose_is_embedded_by_sentence_as_well(text: str, kind: SegmentType, expected: int) -> None:
    """Not code, not one sentence, not many; what is too short belongs to its neighbour."""
    chunks = sentence_chunks(text, kind)
    assert len(chunks) == expected
    assert not chunks or "".join(text[one.start : one.end] for one in chunks) == text


def test_a_sentence_is_embedded_with_who_says_it() -> None:
    """The label at the beginning of a text is that of its later sentences."""
    text = "Ann Lee: I moved to Oslo. My dog came with me."
    first, second = sentence_chunks(text, SegmentType.MESSAGE)
    assert embedded_text(text, first) == "Ann Lee: I moved to Oslo."
    assert embedded_text(text, second) == "Ann Lee: My dog came with me."
