"""Pairs and texts from a stream of lines."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from workbench.comparison.candidates import find_duplicates
from workbench.comparison.lines import answer, groups_of, judge_lines, pair_lines, text_lines


def test_each_line_is_a_pair_or_an_error() -> None:
    """Lines stay in order and are numbered; what is wrong is said."""
    lines = [b'{"a": "x", "b": "y", "id": 7}\n', b"nope\n", b"\n", b'["a"]\n', b'{"a": 1}\n', b"\xff\n"]
    found = [(line.number, line.left, line.right, line.error) for line in pair_lines(lines)]
    assert found == [
        (1, "x", "y", ""),
        (2, "", "", "not JSON: Expecting value at character 0"),
        (3, "", "", "the line is empty"),
        (4, "", "", "not a JSON object"),
        (5, "", "", "a and b must be a text"),
        (6, "", "", "not UTF-8 at byte 0"),
    ]


def test_hostile_json_is_an_error() -> None:
    """A thousand brackets and a number of a hundred thousand digits are told, not raised."""
    found = list(pair_lines([b"[" * 100_000, b'{"a": ' + b"1" * 100_000 + b"}"]))
    assert [bool(line.error) for line in found] == [True, True]


@given(st.lists(st.binary(max_size=40)))
def test_whatever_the_lines_hold_there_is_an_answer_for_each(lines: list[bytes]) -> None:
    """Answers and lines stay side by side."""
    assert [*range(1, len(lines) + 1)] == [line.number for line, _ in judge_lines(pair_lines(lines))]


class Letters:
    """An embedder that counts how many texts it was given."""

    model, dimensions = "letters", 2

    def __init__(self) -> None:
        self.seen: list[str] = []

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        self.seen.extend(texts)
        return np.asarray([[1.0, 0.0]] * len(texts), np.float32)


def test_with_an_embedder_batches_are_judged_in_order_and_no_text_embedded_twice() -> None:
    """A malformed line between good ones stays in its place."""
    embedder = Letters()
    lines = [b'{"a": "Use tabs.", "b": "Never use tabs."}', b"nope", b'{"a": "Use tabs.", "b": "\\ud800"}']
    found = list(judge_lines(pair_lines(lines), embedder, batch=2))
    assert [said and said.verdict.value for _, said in found] == ["conflict", None, "unique"]
    assert embedder.seen == ["Use tabs.", "Never use tabs.", "Use tabs.", "?"]


def test_texts_come_plain_or_as_json() -> None:
    """Blank lines are no texts; JSON is a text or has one."""
    assert [line.text for line in text_lines([b"one\n", b"\n", b" two "], json_lines=False)] == ["one", "two"]
    found = list(text_lines([b'"one"', b'{"text": "two"}', b"{}"], json_lines=True))
    assert [line.text for line in found] == ["one", "two", ""]
    assert found[2].error


def test_groups_are_what_repetitions_connect() -> None:
    """A chain is one group; a contradiction belongs to none."""
    texts = ["Use tabs.", "use tabs", "Never use tabs.", "Log to stderr.", "log to stderr", "Alone here."]
    assert groups_of(find_duplicates(texts)) == [[0, 1], [3, 4]]


def test_an_answer_is_plain_data() -> None:
    """Verdict, score and evidence are what JSON knows."""
    (_, said), *_ = judge_lines(pair_lines([b'{"a": "Use tabs.", "b": "use tabs"}']))
    assert said is not None
    wanted = {"test": "text", "score": 1.0, "detail": "equal but for case, marks and white space"}
    assert {"verdict": "duplicate", "score": 1.0, "evidence": [wanted]} == answer(said)
