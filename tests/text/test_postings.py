"""Posting lists agree with plain dictionaries, whatever the terms are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.text.postings import (
    Postings,
    build_postings,
    inverse_document_frequency,
    merge_postings,
    pack_postings,
    term_hash,
    unpack_postings,
)

TERMS = st.one_of(
    st.sampled_from(["a", "ab", "abc", "b", "=ab", "é", "中", "\udc80", "z" * 64, "𝒳"]),
    st.text(alphabet="abcé\udcff", min_size=1, max_size=4),
)
DOCUMENTS = st.lists(st.dictionaries(TERMS, st.integers(1, 9), max_size=6), max_size=7)


def unfolded(postings: Postings, documents: list[dict[str, int]]) -> list[dict[str, int]]:
    """Return the documents that posting lists were made of, by the terms of those given."""
    found: list[dict[str, int]] = [{} for _ in range(postings.size)]
    for term in {term for document in documents for term in document}:
        docs, counts = postings.posting(term)
        for document, count in zip(docs.tolist(), counts.tolist(), strict=True):
            found[document][term] = count
    return found


@given(DOCUMENTS)
def test_documents_are_found_again(documents: list[dict[str, int]]) -> None:
    """Every term's list names exactly its documents, ascending, with their counts."""
    postings = build_postings(documents)
    assert unfolded(postings, documents) == documents
    assert postings.lengths.tolist() == [sum(document.values()) for document in documents]
    for column in range(len(postings.terms)):
        docs = postings.docs[postings.span(column)].tolist()
        assert docs == sorted(set(docs))
        assert docs


@given(DOCUMENTS)
def test_terms_are_found_at_their_places(documents: list[dict[str, int]]) -> None:
    """The vocabulary is ascending and has each term once; all are looked up at once, unknown ones too."""
    postings = build_postings(documents)
    terms = sorted({term for document in documents for term in document})
    assert postings.terms.tolist() == sorted({term_hash(term) for term in terms})
    columns = postings.columns([*terms, "no such term"]).tolist()
    assert [int(postings.terms[column]) for column in columns[:-1]] == [term_hash(term) for term in terms]
    assert columns[-1] == -1


@given(DOCUMENTS, TERMS)
def test_an_unknown_term_has_an_empty_list(documents: list[dict[str, int]], term: str) -> None:
    """A term of no document gives empty arrays of the right kind."""
    postings = build_postings([{k: v for k, v in document.items() if k != term} for document in documents])
    docs, counts = postings.posting(term)
    assert (len(docs), len(counts), postings.columns([term]).tolist()) == (0, 0, [-1])
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
    assert merged == expected
    for name in ("terms", "starts", "docs", "counts", "lengths"):
        assert getattr(merged, name).dtype == getattr(expected, name).dtype
        np.testing.assert_array_equal(getattr(merged, name), getattr(expected, name), err_msg=name)


@given(DOCUMENTS)
def test_packed_lists_are_unpacked_equal(documents: list[dict[str, int]]) -> None:
    """What is packed is what is unpacked, empty lists included."""
    arrays = pack_postings(build_postings(documents), "body")
    assert unfolded(unpack_postings(arrays, "body"), documents) == documents


@pytest.mark.parametrize("name", ["starts", "docs", "counts", "terms"])
def test_lists_that_do_not_add_up_are_refused(name: str) -> None:
    """An array that lost its end is noticed when the lists are put together."""
    arrays = pack_postings(build_postings([{"a": 1, "b": 2}, {"a": 3}]), "body")
    arrays[f"body.{name}"] = arrays[f"body.{name}"][:-1]
    with pytest.raises(ValueError, match="add up"):
        unpack_postings(arrays, "body")


def test_the_rarer_term_weighs_more() -> None:
    """The idf falls with frequency and is never negative, even for a term of every document."""
    weights = [inverse_document_frequency(frequency, 10) for frequency in range(1, 11)]
    assert weights == sorted(weights, reverse=True)
    assert weights[-1] > 0
