"""Pairs and texts read line by line from a stream, for `workbench dedup`: one answer a line, whatever it
holds.

A malformed line gives an answer with an error, so that answers and lines stay side by side.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from workbench.comparison.candidates import TextPair
from workbench.comparison.verdicts import TextJudgement, TextVerdict, judge
from workbench.ports import Embedder


@dataclass(frozen=True, slots=True)
class PairLine:
    """A line: its pair, or what is wrong with it in `error`."""

    number: int
    left: str = ""
    right: str = ""
    error: str = ""


@dataclass(frozen=True, slots=True)
class TextLine:
    """A line: its text, or what is wrong with it in `error`."""

    number: int
    text: str = ""
    error: str = ""


def pair_lines(lines: Iterable[bytes]) -> Iterator[PairLine]:
    """Yield each line `{"a": text, "b": text}` as a pair, in order; other keys are left alone."""
    for number, line in enumerate(lines, 1):
        value, error = _object(line)
        if error:
            yield PairLine(number, error=error)
            continue
        sides = [value.get("a"), value.get("b")]
        missing = [name for name, side in zip("ab", sides, strict=True) if not isinstance(side, str)]
        if missing:
            yield PairLine(number, error=f"{' and '.join(missing)} must be a text")
        else:
            yield PairLine(number, str(sides[0]), str(sides[1]))


def text_lines(lines: Iterable[bytes], *, json_lines: bool) -> Iterator[TextLine]:
    """Yield each line as a text: plain, or JSON that is one or has one under `text`."""
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        if not json_lines:
            yield TextLine(number, line.decode("utf-8", "replace").strip())
            continue
        value, error = _decode(line)
        text = value.get("text") if isinstance(value, dict) else value
        if not error and not isinstance(text, str):
            error = "neither a text nor an object with one under `text`"
        yield TextLine(number, "" if error else str(text), error)


def _object(line: bytes) -> tuple[dict[str, Any], str]:
    if not line.strip():
        return {}, "the line is empty"
    value, error = _decode(line)
    if not error and not isinstance(value, dict):
        return {}, "not a JSON object"
    return (value, "") if isinstance(value, dict) else ({}, error)


def _decode(line: bytes) -> tuple[Any, str]:
    try:
        return json.loads(line.decode("utf-8").removeprefix("\ufeff")), ""
    except UnicodeDecodeError as error:
        return None, f"not UTF-8 at byte {error.start}"
    except json.JSONDecodeError as error:
        return None, f"not JSON: {error.msg} at character {error.pos}"
    except (ValueError, RecursionError) as error:  # a number of thousands of digits, a thousand brackets
        return None, f"not JSON that can be read: {error}"


def judge_lines(
    lines: Iterable[PairLine], embedder: Embedder | None = None, batch: int = 64
) -> Iterator[tuple[PairLine, TextJudgement | None]]:
    """Yield each line with its judgement, None for a malformed one; with an embedder in batches."""
    if embedder is None:
        for line in lines:
            yield line, None if line.error else judge(line.left, line.right)
        return
    source = iter(lines)
    while some := list(islice(source, batch)):
        good = [line for line in some if not line.error]
        known = dict(zip((line.number for line in good), _cosines(good, embedder), strict=True))
        for line in some:
            yield line, None if line.error else judge(line.left, line.right, known[line.number])


def _cosines(lines: Sequence[PairLine], embedder: Embedder) -> list[float]:
    if not lines:
        return []
    texts = list(dict.fromkeys(embeddable(text) for line in lines for text in (line.left, line.right)))
    place = {text: at for at, text in enumerate(texts)}
    vectors = embedder.embed(texts)
    return [
        float(vectors[place[embeddable(line.left)]] @ vectors[place[embeddable(line.right)]])
        for line in lines
    ]


def embeddable(text: str) -> str:
    """Return the beginning of a text as an embedding model takes it: valid Unicode, not empty."""
    return text[:EMBEDDED].encode("utf-8", "replace").decode("utf-8") or "."


EMBEDDED = 2000
"""Characters of a text that are embedded; models read no more."""


def answer(judgement: TextJudgement) -> dict[str, object]:
    """Return a judgement as it is printed."""
    return {
        "verdict": judgement.verdict.value,
        "score": judgement.score,
        "evidence": [
            {"test": item.test, "score": item.score, "detail": item.detail} for item in judgement.evidence
        ],
    }


def groups_of(pairs: Sequence[TextPair]) -> list[list[int]]:
    """Return the groups of positions that repetitions connect, each ascending, in order of the first.

    A contradiction inside a group splits nothing: it is reported beside the groups.
    """
    parent: dict[int, int] = {}

    def root(at: int) -> int:
        while parent.setdefault(at, at) != at:
            parent[at] = parent[parent[at]]
            at = parent[at]
        return at

    for pair in pairs:
        if pair.judgement.verdict is TextVerdict.DUPLICATE:
            first, second = sorted((root(pair.left), root(pair.right)))
            parent[second] = first
    found: dict[int, list[int]] = {}
    for at in sorted(parent):
        found.setdefault(root(at), []).append(at)
    return [found[first] for first in sorted(found)]
