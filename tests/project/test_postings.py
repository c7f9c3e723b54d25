"""Posting lists agree with plain dictionaries, whatever the terms are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.project.postings import (
    Postings,
    build_postings,
    inverse_document_frequency,
    merge_postings,
    pack_postings,
    unpack_postings,
)

TERMS = st.one_of(
    st.sampled_from(["a", "ab", "abc", "b", "=ab", "é", "中", "\udc80", "z" * 64, "𝒳"]),
    st.text(alphabet="abcé\udcff", min_size=1, max_size=4),
)
DOCUMENTS = st.lists(st.dictionaries(TERMS, st.integers(1, 9), max_size=6), max_size=7)


def unfolded(postings: Postings) -> list[dict[str, int]]:
    """Return the documents that posting lists were made of."""
    documents: list[dict[str, int]] = [{} for _ in range(postings.size)]
    for term in postings.terms():
        docs, counts = postings.posting(term)
        for document, count in zip(docs.tolist(), counts.tolist(), strict=True):
            documents[document][term] = count
    return documents


@given(DOCUMENTS)
def test_documents_are_found_again(documents: list[dict[str, int]]) -> None:
    """Every term's list names exactly its documents, ascending, with their counts."""
    postings = build_postings(documents)
    assert unfolded(postings) == documents
    assert postings.lengths.tolist() == [sum(document.values()) for document in documents]
    for term in postings.terms():
        docs = postings.posting(term)[0].tolist()
        assert docs == sorted(set(docs))
        assert docs


@given(DOCUMENTS)
def test_the_vocabulary_is_sorted_by_its_bytes(documents: list[dict[str, int]]) -> None:
    """Lookup by bisection finds each term at its own position."""
    postings = build_postings(documents)
    terms = postings.terms()
    assert terms == sorted(
        {term for document in documents for term in document},
        key=lambda term: term.encode("utf-8", "surrogateescape"),
    )
    assert [postings.term_id(term) for term in terms] == list(range(len(terms)))


@given(DOCUMENTS, TERMS)
def test_an_unknown_term_has_an_empty_list(documents: list[dict[str, int]], term: str) -> None:
    """A term of no document gives empty arrays of the right kind."""
    postings = build_postings([{k: v for k, v in document.items() if k != term} for document in documents])
    docs, counts = postings.posting(term)
    assert (len(docs), len(counts), postings.term_id(term)) == (0, 0, -1)
    assert docs.dtype == counts.dtype == np.int32


@given(st.lists(DOCUMENTS, max_size=4), st.randoms(use_true_random=False))
def test_merging_equals_building_at_once(pieces: list[list[dict[str, int]]], random: object) -> None:
    """Pieces merged under any renumbering, with documents dropped, equal one build of what is left."""
    total = sum(len(piece) for piece in pieces)
    order = list(range(total))
    random.shuffle(order)  # type: ignore[attr-defined]
    kept = [number for number in order if number % 3]
    place = {number: position for position, number in enumerate(kept)}
    flat: list[dict[str, int]] = [document for piece in pieces for document in piece]
    parts = []
    start = 0
    for piece in pieces:
        mapping = [place.get(number, -1) for number in range(start, start + len(piece))]
        parts.append((build_postings(piece), np.asarray(mapping, dtype=np.int32)))
        start += len(piece)
    merged = merge_postings(parts, len(kept))
    expected = build_postings([flat[number] for number in kept])
    assert merged.vocabulary == expected.vocabulary
    for name in ("offsets", "starts", "docs", "counts", "lengths"):
        np.testing.assert_array_equal(getattr(merged, name), getattr(expected, name), err_msg=name)


@given(DOCUMENTS)
def test_packed_lists_are_unpacked_equal(documents: list[dict[str, int]]) -> None:
    """What is packed is what is unpacked, empty lists included."""
    packed = pack_postings(build_postings(documents), "body")
    arrays = {
        name: np.frombuffer(array, np.uint8) if isinstance(array, bytes) else array
        for name, array in packed.items()
    }
    assert unfolded(unpack_postings(arrays, "body")) == documents


@pytest.mark.parametrize("name", ["offsets", "starts", "docs", "counts", "terms"])
def test_lists_that_do_not_add_up_are_refused(name: str) -> None:
    """An array that lost its end is noticed when the lists are put together."""
    packed = pack_postings(build_postings([{"a": 1, "b": 2}, {"a": 3}]), "body")
    arrays = {
        key: np.frombuffer(array, np.uint8) if isinstance(array, bytes) else array
        for key, array in packed.items()
    }
    arrays[f"body.{name}"] = arrays[f"body.{name}"][:-1]
    with pytest.raises(ValueError, match="add up"):
        unpack_postings(arrays, "body")


def test_the_rarer_term_weighs_more() -> None:
    """The idf falls with frequency and is never negative, even for a term of every document."""
    weights = [inverse_document_frequency(frequency, 10) for frequency in range(1, 11)]
    assert weights == sorted(weights, reverse=True)
    assert weights[-1] > 0
