"""Token counts: exact where tables are installed, from above where they are not."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.text import tokens
from workbench.text.tokens import BOUND_TOKENIZER, DEFAULT_TOKENIZER, token_counter, utf8_bound

SOURCES = sorted(Path(tokens.__file__).parents[1].rglob("*.py"))
LINES = st.lists(st.text(alphabet="ab \t(){}.,'/=_0é中\r", max_size=12), max_size=12)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("", 0), ("hello world", 2), ("def f():\n    return 1\n", 8), ("<|endoftext|>", 7), ("é中😀", 3)],
)
def test_o200k_counts_known_texts(text: str, expected: int) -> None:
    """The default tokenizer gives the counts of o200k, and special tokens are ordinary text."""
    counter = token_counter()
    assert counter.name == DEFAULT_TOKENIZER
    assert expected == counter.count(text)


def test_cl100k_is_another_tokenizer() -> None:
    """The tokenizer asked for is the one that counts and the one that is named."""
    counter = token_counter("cl100k_base")
    assert counter.name == "cl100k_base"
    assert counter.count("नमस्ते") > token_counter().count("नमस्ते")


def test_an_unknown_tokenizer_is_refused_with_the_known_ones() -> None:
    """A wrong name is an error that lists the right ones."""
    with pytest.raises(ValueError, match="o200k_base"):
        token_counter("p50k")


def test_lone_surrogates_are_counted() -> None:
    """Text that cannot be encoded is counted with replacement characters, by every tokenizer."""
    for name in tokens.TOKENIZERS:
        counter = token_counter(name)
        assert counter.count("a\ud800b") == counter.count("a\ufffdb")


@given(LINES)
def test_the_sum_over_lines_is_near_the_whole(lines: list[str]) -> None:
    """Adding up lines may fall short of the whole, by at most one token for each join."""
    counter = token_counter()
    whole = counter.count("".join(f"{line}\n" for line in lines))
    assert whole <= sum(counter.count(f"{line}\n") for line in lines) + len(lines)


@pytest.mark.parametrize("name", ["o200k_base", "cl100k_base"])
def test_the_estimate_is_above_the_count_of_real_files(name: str) -> None:
    """The tableless estimate never falls below the real count of a source file, nor far above it."""
    counter = token_counter(name)
    for path in SOURCES:
        text = path.read_text(encoding="utf-8")
        if text:
            assert 1.0 <= utf8_bound(text) / counter.count(text) <= 3.0, path


@given(st.text(alphabet=st.characters(min_codepoint=0x80, exclude_categories=["Cs"]), max_size=60))
def test_the_estimate_bounds_text_outside_ascii(text: str) -> None:
    """Outside ASCII the estimate counts bytes, which no byte-level tokenizer exceeds."""
    assert utf8_bound(text) >= token_counter().count(text)


@given(st.binary(min_size=40, max_size=400))
def test_the_estimate_bounds_hashes(data: bytes) -> None:
    """Hexadecimal runs, the worst text code is made of, are estimated from above."""
    assert utf8_bound(data.hex()) >= token_counter().count(data.hex())


def test_without_tables_the_estimate_answers_under_its_own_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no table is installed, the counter says it is the estimate, never that it is o200k."""
    for module in ("rs_bpe", "rs_bpe.bpe", "bpe_openai"):
        monkeypatch.setitem(sys.modules, module, None)
    tokens._load.cache_clear()
    try:
        counter = token_counter()
        assert counter.name == BOUND_TOKENIZER
        assert counter.count("hello world") == utf8_bound("hello world")
    finally:
        tokens._load.cache_clear()
