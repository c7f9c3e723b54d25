"""Whether a text carries an instruction to the assistant that reads it, what speaks for it, and where.

Two judges: phrases that only attacks have (`patterns`), and a linear model over what separates a spliced
sentence from its surroundings (`features`), with weights that `python -m bench.injection --fit` writes. Rules
are imperative by nature: a text that instructs throughout is no carrier with a splice.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from math import exp

from workbench.text.injection.features import ALONE, NAMES, OWN, speaks_to_assistant, table
from workbench.text.injection.patterns import HIDDEN, STRONG, TAGS, ZERO_WIDTH, has_phrase
from workbench.text.injection.segments import Segment, segments

_SURE = 0.95  # the score of a phrase; a sentence that resembles a splice has what the model says


@dataclass(frozen=True, slots=True)
class Finding:
    """Characters `[start, end)` that read like an instruction: the pattern, and a score in [0, 1]."""

    start: int
    end: int
    pattern: str
    score: float


@dataclass(frozen=True, slots=True)
class InjectionScan:
    """What a text carries. `score` is the highest of the findings and near misses, in [0, 1]."""

    flagged: bool
    score: float
    findings: tuple[Finding, ...]

    @property
    def patterns(self) -> tuple[str, ...]:
        """The patterns found, each once, in alphabetical order."""
        return tuple(sorted({finding.pattern for finding in self.findings}))


@dataclass(frozen=True, slots=True)
class Model:
    """A weight for each of NAMES, and the probability from which a sentence counts as spliced."""

    weights: tuple[float, ...]
    threshold: float


def scan(text: str) -> InjectionScan:
    """Return what of a text reads like an instruction to an assistant, in time linear in its length."""
    model = load_model()
    found = [*phrases(text), *hidden(text)]
    best = 0.0
    for segment, score in scored(text, model):
        best = max(best, score)
        if score >= model.threshold:
            found.append(Finding(segment.start, segment.end, "splice", round(score, 3)))
    ordered = tuple(sorted(found, key=lambda one: (one.start, one.end, one.pattern)))
    top = max([best, *(one.score for one in ordered)])
    return InjectionScan(bool(ordered), round(top, 3), ordered)


def scored(text: str, model: Model) -> list[tuple[Segment, float]]:
    """Return the sentences of a text, each with the probability that it was spliced in."""
    cut = segments(text)
    return [
        (segment, probability(row, model.weights))
        for segment, row in zip(cut, table(cut), strict=True)
        if not segment.is_code
    ]


def probability(row: tuple[float, ...], weights: tuple[float, ...]) -> float:
    """Return the logistic of features times weights; 0 for a request by itself: no splice."""
    if row[ALONE] and not any(row[index] for index in OWN):
        return 0.0
    return 1 / (1 + exp(-max(-60.0, min(60.0, sum(a * b for a, b in zip(row, weights, strict=True))))))


@cache
def load_model() -> Model:
    """Return the committed model. Raises: KeyError if it is not of these features."""
    held = json.loads(files("workbench.text.injection").joinpath("weights.json").read_text(encoding="utf-8"))
    return Model(tuple(held["weights"][name] for name in NAMES), held["threshold"])


def phrases(text: str) -> list[Finding]:
    """Return what only attacks say, by kind."""
    if not has_phrase(text):
        return []
    return [
        Finding(match.start(), match.end(), kind, _SURE)
        for kind, expression in STRONG.items()
        for match in expression.finditer(text)
    ]


def hidden(text: str) -> list[Finding]:
    """Return what is written in invisible letters, and what speaks to an assistant where no reader looks."""
    found = [Finding(match.start(), match.end(), "hidden", _SURE) for match in TAGS.finditer(text)]
    for match in HIDDEN.finditer(text):
        inside = match[match.lastindex or 0]
        if speaks_to_assistant(inside) or has_phrase(inside):
            found.append(Finding(match.start(), match.end(), "hidden", _SURE))
    if ZERO_WIDTH.search(text) and has_phrase(ZERO_WIDTH.sub("", text)) and not has_phrase(text):
        found.append(Finding(0, len(text), "hidden", _SURE))
    return found
