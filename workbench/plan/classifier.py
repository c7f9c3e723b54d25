"""Decide what kind of work a task is [img 7.1]: a linear model over its words and the shape of its sentence.

A type that the head declares (`fix: …`, `[Feature] …`) is believed. Otherwise the words of the head, those of
the body at a quarter, and shapes that mark a report of a fault ("is not", "raises", `X instead of Y`, an
exception, a stack frame) are weighed; `python -m bench.intent` fits and measures the weights. Incidents have
cues of their own, because nobody types commits so: what is down, in production, to be rolled back.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from itertools import pairwise
from math import exp

from workbench.records.plan import QueryType
from workbench.text.tasks import split_head
from workbench.text.terms import stem

BODY = 0.25  # bodies discuss, heads announce
MAX_HEAD = 1_000  # characters
MAX_BODY = 4_000
_WORD = re.compile(r"[a-z]+(?:'[a-z]+)?|(?<!\d)\d{3}(?!\d)")
_CODE = re.compile(r"`[^`\n]*`|\"[^\"\n]{1,80}\"|(?<!\w)'[^'\n]{1,80}'(?!\w)")
_DECLARED = re.compile(
    r"^\s*(?:\[([a-z][a-z /-]{1,20})\]\s*:?|([a-z][a-z -]{1,20})(?:\([^()]{1,60}\))?!?:(?=\s))", re.I
)
_SHAPES = {
    "error": re.compile(r"\b[A-Z]\w*(?:Error|Exception|Fault|Panic)\b|\bSIG[A-Z]{3,}\b|\bE[A-Z]{4,}\b"),
    "frame": re.compile(
        r'File "[^"\n]+", line \d+|\bat \S{1,200} ?\(\S{1,200}:\d+\)|\bpanicked at\b|\w\.\w{1,4}:\d+'
    ),
    "negated": re.compile(
        r"\b(?:is|are|was|were|does|do|did|has|have|can|could|will|would)(?:n['’]?t| not)\b"
        r"|\bcannot\b|\bno longer\b",
        re.I,
    ),
    "ought": re.compile(r"\b(?:should|must|ought)\b(?! be (?:able|possible))", re.I),
    "contrast": re.compile(r"!=|\binstead of\b|\brather than\b|\bbut (?:got|was|is|it)\b|\bexpected\b", re.I),
    "when": re.compile(r"\b(?:when|if|after|while|on)\b", re.I),
    "wish": re.compile(
        r"\b(?:would be (?:nice|great|good|useful)|please|ability to|able to|feature request)\b", re.I
    ),
    "states": re.compile(
        r"^\W{0,5}(?:\S{1,60}\s+){1,3}(?!(?:as|is|this|its|was|has)\b)[a-z]{3,}(?<![sui])s\s", re.I
    ),
}  # fmt: skip
BIAS = "bias"
DECLARED = 0.95  # what an author says of a task is nearly always so
ALARM = 2.0  # the sum of cues from which a task is an incident


@dataclass(frozen=True, slots=True)
class KindModel:
    """Weights by feature, one for each of `kinds`; `declared` has what a head may declare, `incident` cues.

    Where the best kind's probability is below `least` the kind is unknown.
    """

    kinds: tuple[QueryType, ...]
    weights: Mapping[str, tuple[float, ...]]
    declared: Mapping[str, QueryType]
    incident: Mapping[str, float]
    least: float


@lru_cache(maxsize=1)
def load_kinds() -> KindModel:
    """Return the model that comes with the program."""
    text = (files("workbench.models") / "data" / "intent-v2.json").read_text(encoding="utf-8")
    data = json.loads(text)
    return KindModel(
        tuple(QueryType(kind) for kind in data["kinds"]),
        {name: tuple(values) for name, values in data["weights"].items()},
        {word: QueryType(kind) for word, kind in data["declared"].items()},
        data["incident"],
        data["least"],
    )


def classify(text: str) -> tuple[QueryType, float]:
    """Classify a cleaned task; see `classify_task`."""
    return classify_task(*split_head(text))


def classify_task(head: str, body: str) -> tuple[QueryType, float]:
    """Return the kind of a task and the probability that it is right; 0 for unknown."""
    model = load_kinds()
    declared = declared_kind(head, model)
    if declared is not None:
        return declared, DECLARED
    found = kind_features(head, body)
    alarm = sum(model.incident.get(name, 0.0) * value for name, value in found.items())
    if alarm >= ALARM:
        return QueryType.INCIDENT, round(1 - exp(-alarm / ALARM), 4)
    if not any(name in model.weights for name in found if name != BIAS):
        return QueryType.UNKNOWN, 0.0
    chances = probabilities(model, found)
    best = max(range(len(chances)), key=lambda place: (chances[place], -place))
    if chances[best] < model.least:
        return QueryType.UNKNOWN, 0.0
    return model.kinds[best], round(chances[best], 4)


def declared_kind(head: str, model: KindModel) -> QueryType | None:
    """Return the kind that a head declares: `fix(auth): …`, `feat!: …`, `[Bug] …`, `Feature request: …`."""
    match = _DECLARED.match(head)
    return None if match is None else model.declared.get((match[1] or match[2]).strip().lower())


def kind_features(head: str, body: str = "") -> dict[str, float]:
    """Return the features of a task: 1 for what is in its head, `BODY` for what only its body has."""
    found = {BIAS: 1.0, **dict.fromkeys(_features(head[:MAX_HEAD]), 1.0)}
    if body:
        for name in _features(body[:MAX_BODY]):
            if not name.startswith("first "):
                found.setdefault(name, BODY)
    return found


def _features(text: str) -> Iterator[str]:
    """Yield shapes, words as they are and by stem, pairs of words, and the first word as such."""
    for name, pattern in _SHAPES.items():
        if pattern.search(text):
            yield f"shape {name}"
    words = _WORD.findall(_CODE.sub(" code ", text).lower().replace("\u2019", "'"))
    if words:
        yield f"first {stem(words[0])}"
    for word in words:
        yield word
        yield f"~{stem(word)}"
    for first, second in pairwise(words):
        yield f"{first} {second}"


def probabilities(model: KindModel, found: Mapping[str, float]) -> list[float]:
    """Return the probability of each of the model's kinds."""
    sums = [0.0] * len(model.kinds)
    for name, value in found.items():
        weights = model.weights.get(name)
        if weights is not None:
            for place, weight in enumerate(weights):
                sums[place] += value * weight
    top = max(sums)
    powers = [exp(value - top) for value in sums]
    whole = sum(powers)
    return [power / whole for power in powers]
