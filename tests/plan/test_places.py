"""Places: the chunk that a task is about is the likeliest, whatever says so."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from workbench.errors import ModelError
from workbench.plan.cuts import cut_file
from workbench.plan.intent import parse_intent
from workbench.plan.places import COLUMN, FEATURES, LINEAR, PlacedFile, place_chances, place_features
from workbench.plan.ranking import load_chunk_model, parse_chunk_model
from workbench.project.symbols import extract_symbols
from workbench.records.project import Role
from workbench.text.tokens import token_counter

MODEL = load_chunk_model()
BLOCK = "def {name}(value):\n    first = value\n    {line}\n    second = first\n    return second\n\n\n"


def placed(lines: Mapping[str, str], path: str = "src/app.py", chance: float = 0.6) -> PlacedFile:
    """Return a module of functions by name, each with a line of its own."""
    text = "".join(BLOCK.format(name=name, line=line) for name, line in lines.items())
    symbols = extract_symbols("python", text.encode())[0]
    cut = cut_file("python", text, symbols, token_counter())
    return PlacedFile(path, Role.SOURCE, cut, text.encode(), chance, {})


FILLER = {f"step_{number}": f"third = {number}" for number in range(8)}


def likeliest(task: str, *files: PlacedFile) -> tuple[int, str]:
    """Return the number of the file and the name of the definition most likely to be needed."""
    found = place_chances(MODEL, parse_intent(task), files, 100)
    number = max(range(len(found)), key=lambda one: float(found[one].max(initial=0.0)))
    return number, files[number].cut.chunk(int(found[number].argmax())).name


@pytest.mark.parametrize(
    ("task", "name"),
    [
        ("the gift card balance is wrong after a refund", "refund_gift_card"),
        ("removing HTML tags repeats until nothing changes", "removeHtmlTags"),
        ('crash with "cannot open socket"', "connect"),
        ('File "src/app.py", line 60, in poll\nValueError: x', "poll"),
    ],
)
def test_the_place_that_a_task_is_about_is_first(task: str, name: str) -> None:
    """By the parts of its name in any order and form, by a quoted text, by a line of a stack trace."""
    own = {
        "refund_gift_card": "card = first",
        "removeHtmlTags": "tags = first",
        "connect": "raise OSError('cannot open socket')",
        "poll": "queue = first",
    }
    assert likeliest(task, placed({**FILLER, **own})) == (0, name)


def test_a_likelier_file_weighs_more() -> None:
    """Of two places that share as much with the task, that of the likelier file is likelier."""
    same = {**FILLER, "refresh_token": "token = first"}
    files = placed(same, "a.py", 0.8), placed(same, "b.py", 0.1)
    assert likeliest("the token is not refreshed", *files) == (0, "refresh_token")


def test_features_are_of_the_chunks_in_order() -> None:
    """There is a row a chunk, nothing is infinite, and touches are in the rows of their chunks."""
    touched = {2: {"touched": 1.0, "touched_alike": 0.5, "touched_often": 0.5, "touched_lately": 1.0}}
    base = placed(FILLER)
    files = (
        PlacedFile(base.path, base.role, base.cut, base.data, base.chance, touched),
        placed({}, "b.py", 0.2),
    )
    rows, starts = place_features(parse_intent("step three"), files, 10)
    assert (len(rows), starts) == (base.cut.count, [0, base.cut.count, base.cut.count])
    assert np.isfinite(rows).all()
    assert np.flatnonzero(rows[:, COLUMN["touched_alike"]]).tolist() == [2]
    assert place_chances(MODEL, parse_intent("step three"), (), 10) == []


def test_a_task_without_words_gives_chances() -> None:
    """Nothing in a task is an error: every chunk has a chance in [0, 1]."""
    for task in ("!!!", "", "\u4e2d\u6587"):
        (found,) = place_chances(MODEL, parse_intent(task), [placed(FILLER)], 10)
        assert ((found >= 0) & (found <= 1)).all()


def test_a_model_of_chunks_is_checked() -> None:
    """Unknown features, missing keys and unknown models are errors that name what is wrong."""
    assert {*LINEAR} <= {*FEATURES}
    with pytest.raises(ModelError, match="unknown features: nope"):
        parse_chunk_model('{"model_id": "x", "weights": {"nope": 1.0}}', source="x")
    with pytest.raises(ModelError, match="malformed"):
        parse_chunk_model('{"model_id": "x"}', source="x")
    with pytest.raises(ModelError, match="there is no chunk model"):
        load_chunk_model("nope")
