"""What must hold of the order that reading the first files gives."""

from __future__ import annotations

import numpy as np
import pytest

from workbench.plan.intent import parse_intent
from workbench.plan.places import COLUMN, FEATURES
from workbench.plan.ranking import load_chunk_model, load_model
from workbench.plan.reading import READ, SIGNALS, describe_read, file_signals, read_first
from workbench.plan.representations import Content, content_of
from workbench.plan.trees import ReadModel, parse_trees
from workbench.records.plan import RankedFile
from workbench.records.project import Skipped, Symbol
from workbench.text.tokens import token_counter

TASK = "repeat a failed request once"
COLUMNS = {name: column for column, name in enumerate(SIGNALS)}
TREES = parse_trees(  # one step: 3 more for a file with the best place, 1 less for any other
    {
        "features": ["place_bm25.best"],
        "columns": [0, -1, -1],
        "limits": [0.9, 0.0, 0.0],
        "low": [1, 1, 2],
        "high": [2, 1, 2],
        "means": [0.0, -1.0, 3.0],
        "roots": [0],
    },
    "a test",
)
MODEL = ReadModel(TREES, (2.0, -1.0), (1.0, 0.5, 0.0))
TEXTS = {
    "far.py": "def a():\n    request = 1\n\n\n" + "x = 0\n" * 90 + "def b():\n    repeat = failed = 2\n",
    "near.py": "def repeat_failed_request():\n    return 1\n",
    "other.py": "def other():\n    return 1\n",
}


def read(path: str) -> Content | Skipped:
    """Return a file of the test, cut by its functions."""
    if path not in TEXTS:
        return Skipped(path, "it is not there")
    text = TEXTS[path]
    symbols = [
        Symbol(line.split("(")[0].removeprefix("def "), "function", number, number + 1, line)
        for number, line in enumerate(text.splitlines(), 1)
        if line.startswith("def ")
    ]
    return content_of(path, text.encode(), symbols, token_counter())


def ranked(*paths: str) -> list[RankedFile]:
    return [RankedFile(path, 5.0 - place, {"bm25_body": 1.0}) for place, path in enumerate(paths)]


def test_words_in_one_place_count_more_than_far_apart() -> None:
    """A file with the task in one definition has the best place, whatever the others have in all."""
    signals = describe_read(parse_intent(TASK), ["far.py", "near.py", "other.py"], [2.0, 1.0, 0.0], read)
    best = signals[:, COLUMNS["place_bm25.best"]].tolist()
    assert best[1] == 1.0 > best[0] > best[2] == 0.0
    assert signals[:, COLUMNS["place_name_share"]].argmax() == 1
    assert signals[:, COLUMNS["score_gap"]].tolist() == [0.0, -1.0, -2.0]


def test_files_are_ordered_by_the_sum() -> None:
    """What trees give is added to the score, is among the contributions, and decides the order."""
    files, model = read_first(
        MODEL, load_model("files-v4-lexical"), parse_intent(TASK), ranked("far.py", "near.py"), read
    )
    assert [(one.path, one.score) for one in files] == [("near.py", 7.0), ("far.py", 4.0)]
    assert files[0].contributions == {"place_bm25.best": 3.0}
    assert files[0].features["place_bm25.best"] == 1.0
    assert (model.relevance, model.confidence, model.reading) == ((2.0, -1.0), (1.0, 0.5, 0.0), TREES)


def test_files_behind_follow_as_far_apart_as_they_were() -> None:
    """A file that is not read stays behind the last one that was, at its distance."""
    paths = ["near.py", *(f"missing_{number:02}.py" for number in range(READ + 2))]
    files, _ = read_first(MODEL, load_model("files-v4-lexical"), parse_intent(TASK), ranked(*paths), read)
    assert [one.path for one in files] == paths
    scores = [one.score for one in files]
    assert scores == sorted(scores, reverse=True)
    assert scores[-1] == pytest.approx(scores[-2] - 1.0)
    assert scores[READ] == pytest.approx(scores[READ - 1] - 1.0)


def test_what_cannot_be_read_shares_nothing() -> None:
    """A file without content has no place, and does not hinder the others."""
    signals = describe_read(parse_intent(TASK), ["gone.py", "near.py"], [1.0, 0.0], read)
    assert not np.delete(signals[0], [COLUMNS["score_gap"], COLUMNS["place_bm25.rank"]]).any()
    assert signals[1, COLUMNS["place_bm25.best"]] == 1.0
    assert file_signals([], []).shape == (0, len(SIGNALS))


def test_signals_can_be_left_out() -> None:
    """A replay without words does not count what places have of them."""
    model = load_model("files-v4-lexical")
    intent, files = parse_intent(TASK), ranked("far.py", "near.py")
    without, _ = read_first(MODEL, model, intent, files, read, without=frozenset({"place_bm25"}))
    assert [(one.path, one.score) for one in without] == [("far.py", 4.0), ("near.py", 3.0)]


def test_the_best_of_several_places_is_summed() -> None:
    """`places_bm25` has the three best places, `place_bm25` the best one."""
    block = np.zeros((4, len(FEATURES)), np.float32)
    block[:, COLUMN["bm25"]] = [0.1, 0.4, 0.2, 0.3]
    (signals,) = file_signals([block], [0.0]).tolist()
    assert signals[COLUMNS["place_bm25"]] == pytest.approx(0.4)
    assert signals[COLUMNS["places_bm25"]] == pytest.approx(0.9)


def test_the_shipped_trees_look_at_what_is_read() -> None:
    """The packaged model adds to scores by places, and takes no feature that nothing computes."""
    files = load_chunk_model().files
    assert files is not None
    assert {*files.trees.names} & {*SIGNALS}
    assert all(name in SIGNALS or not name.startswith(("place", "score_gap")) for name in files.trees.names)
