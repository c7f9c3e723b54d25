"""The tokens of a short text are those of the tokenizer library, or nothing is said about them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from store import minilm
from store.onnx_embedder import open_tokenizer
from store.wordpiece import MOST_CHARACTERS, Table, clean, token_ids, vocabulary_table

TEXTS = [
    "",
    "Token is not refreshed when the SESSION expires: `cmd_add(x)` #12",
    "naïve café — “quoted”, don’t",
    "tab\tline\nreturn\r null\x00 bell\x07 no\u00a0break",
    "日本語のテキスト 한국어 Ελληνικά ΟΔΟΣ Русский",
    "é e\u0301 \u0301 İ ß ﬁ",
    "w" * 100,
    "w" * 101,
    "unbelievabilityzz snake_case_name camelCaseName",
]


@pytest.fixture(scope="module")
def tokenizer(model_cache: Path) -> tuple[Table, Any]:
    """The table of MiniLM's vocabulary, and the library's tokenizer."""
    directory = minilm.model_directory(model_cache)
    return vocabulary_table((directory / "tokenizer.json").read_bytes()), open_tokenizer(directory)


@pytest.mark.parametrize("text", TEXTS)
def test_tokens_are_the_librarys(tokenizer: tuple[Table, Any], text: str) -> None:
    """Accents, capitals, signs, controls, ideographs and long words are treated as the library does."""
    table, library = tokenizer

    assert token_ids(table, text) == library.encode(text).ids


@given(st.text(max_size=40))
def test_any_text_has_the_librarys_tokens_or_none(tokenizer: tuple[Table, Any], text: str) -> None:
    """No text is given other tokens than the library's."""
    table, library = tokenizer
    ids = token_ids(table, clean(text))

    assert ids is None or ids == library.encode(clean(text)).ids


@pytest.mark.parametrize(
    "text", ["a [MASK] here", "\U0001f9ff", "soft\xadhyphen", "x" * (MOST_CHARACTERS + 1)]
)
def test_what_is_unsure_is_left_to_the_library(tokenizer: tuple[Table, Any], text: str) -> None:
    """Names of special tokens, characters of newer Unicode and long texts take the library."""
    assert token_ids(tokenizer[0], text) is None
