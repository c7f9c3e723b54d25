"""Chunk choice: the right lines come first, for reasons that can be named."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.errors import ModelError
from workbench.plan.intent import parse_intent
from workbench.plan.ranking import load_chunk_model, parse_chunk_model
from workbench.plan.snippets import FEATURES, FileText, chunk_features, expected_shares, read_file
from workbench.project.symbols import extract_symbols
from workbench.records.project import Role

MODEL, WORTH = load_chunk_model()


def source(blocks: int = 12) -> bytes:
    """Return a module of many functions, one of which refreshes tokens."""
    parts = ["import os\n\n"]
    for number in range(blocks):
        name = "refresh_token" if number == 7 else f"helper_{number}"
        parts.append(
            f"def {name}(value):\n    first = value + {number}\n    more = first * 2\n    return more\n\n\n"
        )
    return "".join(parts).encode()


def read(
    data: bytes, path: str = "src/auth.py", role: Role = Role.SOURCE, language: str = "python"
) -> FileText:
    """Read a file with its symbols."""
    return read_file(path, language, role, data, extract_symbols(language, data)[0])


def best(task: str, file: FileText) -> int:
    """Return the position of the chunk the model expects most of the change in."""
    (rows,) = chunk_features(parse_intent(task), [file])
    shares = expected_shares(MODEL, rows)
    return max(range(len(shares)), key=lambda index: shares[index])


def test_the_named_definition_comes_first() -> None:
    """A task that names a function gets that function."""
    file = read(source())
    assert file.chunks[best("refresh_token returns a stale value", file)].name == "refresh_token"
    assert file.chunks[best("refreshing the token fails", file)].name == "refresh_token"


def test_a_stack_frame_points_to_its_lines() -> None:
    """A frame of this file outweighs words; a frame of another file does not count."""
    file = read(source())
    line = file.chunks[5].start + 1
    task = f'Traceback:\n  File "/srv/app/src/auth.py", line {line}, in helper\nValueError: refresh token'
    assert best(task, file) == 5
    assert best(task.replace("src/auth.py", "lib/other.py"), file) != 5


def test_quoted_text_and_versions_are_found() -> None:
    """A literal in quotes and a version number count where they stand."""
    data = source() + b'MESSAGE = "cannot open socket"\n\n\n' + source() + b'\n__version__ = "1.4.2"\n'
    file = read(data)
    (rows,) = chunk_features(parse_intent('crash with "cannot open socket"'), [file])
    (hit,) = [index for index, row in enumerate(rows) if row.get("literal")]
    assert any(
        "cannot open" in line for line in file.lines[file.chunks[hit].start - 1 : file.chunks[hit].end]
    )
    (rows,) = chunk_features(parse_intent("Bump version from 1.4.2 to 1.5.0"), [file])
    (hit,) = [index for index, row in enumerate(rows) if row.get("version_text")]
    assert file.lines[file.chunks[hit].end - 1].startswith("__version__")


def test_a_changelog_is_changed_at_its_top() -> None:
    """Entries are added at the top of a changelog, whatever the words below say."""
    text = "# Changelog\n\n" + "".join(
        f"## 1.{n}\n\n- Fixed the token\n- Fixed more\n\n" for n in range(20, 0, -1)
    )
    file = read(text.encode(), "CHANGELOG.md", Role.DOCS, "markdown")
    assert best("Fix the token", file) <= 1


@given(st.lists(st.binary(max_size=300), max_size=4), st.text(max_size=60))
def test_any_bytes_and_any_task_give_shares(contents: list[bytes], task: str) -> None:
    """Hostile content never fails: shares sum to 1 for a file with lines, every feature is known."""
    files = [read(data, f"f{number}.py") for number, data in enumerate(contents)]
    for file, rows in zip(files, chunk_features(parse_intent(task), files), strict=True):
        shares = expected_shares(MODEL, rows)
        assert len(shares) == len(file.chunks)
        assert not shares or abs(sum(shares) - 1.0) < 1e-9
        assert all(row.keys() <= FEATURES.keys() for row in rows)


def test_the_shipped_model_is_complete() -> None:
    """Every feature has a weight, and the repositories it was trained on are named."""
    assert MODEL.weights.keys() == FEATURES.keys()
    assert MODEL.trained_on
    assert 0 < WORTH.path <= WORTH.outline < 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "malformed"),
        ("[]", "malformed"),
        (
            '{"model_id": "x", "weights": {"odd": 1}, "worth": {"path": 0, "outline": 0, "depth": 1}}',
            "unknown features: odd",
        ),
        (
            '{"model_id": "x", "weights": {"size": NaN}, "worth": {"path": 0, "outline": 0, "depth": 1}}',
            "malformed",
        ),
        ('{"model_id": "x", "weights": {}, "worth": {"path": 0.5, "outline": 0.1, "depth": 1}}', "outside"),
    ],
)
def test_a_damaged_model_is_refused(text: str, message: str) -> None:
    """A model file that is not one is an error that says what is wrong and what to do."""
    with pytest.raises(ModelError, match=message) as caught:
        parse_chunk_model(text, source="mine")
    assert "mine" in caught.value.message
    assert caught.value.hint


def test_an_unknown_model_is_named() -> None:
    """Asking for a model that is not there says so."""
    with pytest.raises(ModelError, match="no chunk model 'nope'"):
        load_chunk_model("nope")
