"""Data files are parsed once for a user, and what is kept of them is what parsing gives."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from workbench import parsed
from workbench.models.documents import read_document
from workbench.parsed import read_parsed
from workbench.places import user_cache


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "words.json"
    path.write_text('{"words": ["a", "b"]}', encoding="utf-8")
    monkeypatch.setattr(parsed, "data_file", lambda package, name: path)
    return path


def read(source: Path) -> tuple[Any, int]:
    """Return what is read of a data file, and how often it was parsed."""
    calls: list[bytes] = []

    def parse(content: bytes) -> Any:
        calls.append(content)
        return json.loads(content)

    return read_parsed("some.package", source.name, parse), len(calls)


def cached() -> Path:
    (path,) = (user_cache() / "parsed").glob("*/*")
    return path


def test_a_data_file_is_parsed_once_until_it_changes(source: Path) -> None:
    """The second reader parses nothing; one of another content does, and leaves no other file behind."""
    assert [read(source) for _ in range(2)] == [({"words": ["a", "b"]}, 1), ({"words": ["a", "b"]}, 0)]
    source.write_text('{"words": ["a", "c"]}', encoding="utf-8")
    assert [read(source) for _ in range(2)] == [({"words": ["a", "c"]}, 1), ({"words": ["a", "c"]}, 0)]
    assert cached().name == "some.package.words.json"


def test_a_damaged_file_of_the_cache_is_written_again(source: Path) -> None:
    """Cut off anywhere, or with any byte changed, it is parsed again and is whole after that."""
    read(source)
    whole = cached().read_bytes()
    for place in range(len(whole)):
        for damaged in (whole[:place], whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :]):
            cached().write_bytes(damaged)
            assert read(source) == ({"words": ["a", "b"]}, 1)
            assert cached().read_bytes() == whole


def test_without_a_cache_a_data_file_is_parsed_each_time(
    source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cache that is a file, and a user without a home, are no reason to fail."""
    monkeypatch.setenv("WORKBENCH_CACHE", str(source))
    assert [read(source)[1] for _ in range(2)] == [1, 1]
    monkeypatch.setattr(parsed, "user_cache", lambda: Path("~nobody-of-this-name").expanduser())
    assert [read(source)[1] for _ in range(2)] == [1, 1]


@pytest.mark.parametrize("model_id", ["files-v4", "files-v4-lexical", "chunks-v5"])
def test_a_packaged_model_from_the_cache_is_its_json(model_id: str) -> None:
    """Parsed or from the cache, every number is that of the JSON."""
    path = Path(parsed.__file__).parent / "models" / "data" / f"{model_id}.json"
    expected = json.loads(path.read_bytes())
    for document in (read_document(model_id), read_document(model_id)):
        assert isinstance(document["trees"]["limits"], np.ndarray)
        assert as_lists(document) == expected


def as_lists(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: as_lists(part) for name, part in value.items()}
    return value.tolist() if isinstance(value, np.ndarray) else value
