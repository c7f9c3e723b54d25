"""Counts of a table are those of the tokenizer, which is loaded only where the table does not do."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.text import token_table, tokens
from workbench.text.token_table import TableCount, open_table, table_path
from workbench.text.tokens import (
    BOUND_TOKENIZER,
    DEFAULT_TOKENIZER,
    table_counter,
    token_counter,
    write_token_table,
)

SOURCES = sorted(Path(tokens.__file__).parents[1].rglob("*.py"))[::12]
TEXTS = st.text(
    alphabet="aAbBzStTrRevlmdDxK '\t\n\r\x0b\x1c\x85\xa0.,/!_0129()=é中文ʰ—⋮…”▼ſ\u0301\x01\x02😀ǅ",
    max_size=24,
)


def _unused() -> token_table.Count:
    raise AssertionError("the tokenizer is not needed for this")


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("cache")
    write_token_table(place)
    return place


@given(text=TEXTS)
def test_any_text_has_the_count_of_the_tokenizer(cache: Path, text: str) -> None:
    """Letters, blanks, endings after an apostrophe and signs are split and merged as the tokenizer does."""
    assert table_counter(DEFAULT_TOKENIZER, cache).count(text) == token_counter().count(text)


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_source_is_counted_by_the_table_alone(cache: Path, path: Path) -> None:
    """The first lines of a file, as a pack shows them, take no tokenizer."""
    text = "".join(
        f" ⋮\n{line}\n"
        for line in path.read_text("utf-8").splitlines()[:60]
        if line.strip().isascii() and line.strip()
    )
    rows = open_table(table_path(cache))
    assert rows is not None
    assert token_counter().count(text) == TableCount(rows, _unused)(text)


def test_a_process_that_counts_much_loads_the_tokenizer(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From so many characters on the tokenizer counts, which is faster."""
    monkeypatch.setattr(token_table, "MOST", 10)
    rows = open_table(table_path(cache))
    assert rows is not None
    count = TableCount(rows, lambda: len)
    assert [count("one two"), count("one two three"), count("a b c d")] == [2, 13, 7]


@pytest.mark.parametrize("damage", [b"", b"tokens-1", b"tokens-1" + bytes(8) + b"x" * 24])
def test_a_damaged_table_is_not_used_and_is_written_again(cache: Path, tmp_path: Path, damage: bytes) -> None:
    """A table whose checksum or size is wrong counts as absent."""
    path = table_path(tmp_path)
    path.parent.mkdir()
    path.write_bytes(damage)
    assert open_table(path) is None
    assert table_counter(DEFAULT_TOKENIZER, tmp_path).count("hello world") == 2
    write_token_table(tmp_path)
    assert path.read_bytes() == table_path(cache).read_bytes()
    written = path.stat().st_mtime_ns
    write_token_table(tmp_path)
    assert path.stat().st_mtime_ns == written


def test_other_tokenizers_have_no_table(cache: Path) -> None:
    """The estimate and cl100k count as they do without a table, and surrogates as ever."""
    for name in (BOUND_TOKENIZER, "cl100k_base"):
        assert table_counter(name, cache).count("a few words") == token_counter(name).count("a few words")
    assert table_counter(DEFAULT_TOKENIZER, cache).count("a\ud800b") == token_counter().count("a\ufffdb")
