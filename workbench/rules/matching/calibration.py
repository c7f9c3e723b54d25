"""The numbers that turn cosines and shared words into relevance, read from a model file: data, not constants.

`rules-match-v1` is fitted by `python -m bench.rules_matching DATA --fit`. Matching asks it what a model's
cosines of unrelated texts are, and where, for how many rules, a score means even odds.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import fields
from functools import lru_cache

from workbench.errors import ModelError
from workbench.places import data_file
from workbench.records.dataclass import dataclass

DEFAULT_MODEL = "rules-match-v1"


@dataclass(frozen=True, slots=True)
class Curve:
    """A logistic: `even` is the score of even odds among 50 texts, `growth` what e times as many add to it.

    The more rules and examples there are, the better they match by chance. `slope` is per unit of score.
    """

    even: float
    growth: float
    slope: float


@dataclass(frozen=True, slots=True)
class WordNumbers:
    """How shared words count (`workbench.rules.matching.lexical`)."""

    saturation: float
    pivot: float
    others: float
    even: float
    steepness: float


@dataclass(frozen=True, slots=True)
class MatchModel:
    """A fitted calibration.

    `prototype` is the share of the mean of a rule's vectors against the best of them. `backgrounds` is the
    mean cosine of unrelated texts by embedding model, `background` what is assumed of others, worth
    `background_rules` rules of their own. `lexical_share` is the words' share of the hybrid the curve
    `hybrid` was fitted with. Numbers of texts count within `sizes`.
    """

    model_id: str
    prototype: float
    background: float
    background_rules: float
    backgrounds: Mapping[str, float]
    words: WordNumbers
    lexical_share: float
    dense: Curve
    hybrid: Curve
    sparse: Curve
    sizes: tuple[int, int]
    trained_on: tuple[str, ...] = ()

    def background_of(self, embedding: str) -> float | None:
        """Return an embedding model's background, by its id or its name before `@`; None if unknown."""
        return self.backgrounds.get(embedding, self.backgrounds.get(embedding.partition("@")[0]))

    def size(self, texts: int) -> float:
        """Return how many times e this many texts are 50 of them."""
        return math.log(min(max(texts, self.sizes[0]), self.sizes[1]) / 50)

    def curve(self, lexical: float, texts: int) -> tuple[float, float]:
        """Return (even, slope) for a hybrid with this lexical share, in [0, 1], over a number of texts."""
        if lexical <= self.lexical_share:
            low, high, way = self.dense, self.hybrid, lexical / self.lexical_share
        else:
            way = (lexical - self.lexical_share) / (1 - self.lexical_share)
            low, high = self.hybrid, self.sparse
        size = self.size(texts)
        evens = [curve.even + curve.growth * size for curve in (low, high)]
        return evens[0] + way * (evens[1] - evens[0]), low.slope + way * (high.slope - low.slope)


@lru_cache(maxsize=4)
def load_match_model(model_id: str = DEFAULT_MODEL) -> MatchModel:
    """Load a calibration shipped with the program. Raises ModelError if it is unknown or malformed."""
    resource = data_file("workbench.models", f"{model_id}.json")
    try:
        text = resource.read_text(encoding="utf-8")
    except OSError as error:
        raise ModelError(
            f"there is no matching model {model_id!r}", hint="see `workbench model list`"
        ) from error
    return parse_match_model(text, source=model_id)


def parse_match_model(text: str, *, source: str) -> MatchModel:
    """Read a model file. Raises ModelError naming what is wrong."""
    hint = "reinstall, or name another model"
    try:
        document = json.loads(text)
        curves = document["relevance"]
        model = MatchModel(
            model_id=str(document["model_id"]),
            prototype=float(document["prototype"]),
            background=float(document["background"]),
            background_rules=float(document["background_rules"]),
            backgrounds={str(name): float(value) for name, value in document["backgrounds"].items()},
            words=WordNumbers(
                **{item.name: float(document["words"][item.name]) for item in fields(WordNumbers)}
            ),
            lexical_share=float(document["lexical_share"]),
            dense=_curve(curves["dense"]),
            hybrid=_curve(curves["hybrid"]),
            sparse=_curve(curves["sparse"]),
            sizes=(int(document["sizes"][0]), int(document["sizes"][1])),
            trained_on=tuple(map(str, document.get("trained_on", ()))),
        )
    except (ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
        raise ModelError(f"the matching model {source!r} is malformed: {error!r}", hint=hint) from error
    wrong = _implausible(model)
    if wrong:
        raise ModelError(f"the matching model {source!r} has {wrong}", hint=hint)
    return model


def _curve(document: Mapping[str, float]) -> Curve:
    return Curve(float(document["even"]), float(document["growth"]), float(document["slope"]))


def _implausible(model: MatchModel) -> str:
    """Return what of a model's numbers cannot be, or ''."""
    words = [getattr(model.words, item.name) for item in fields(WordNumbers)]
    curves = [value for one in (model.dense, model.hybrid, model.sparse) for value in (one.even, one.growth)]
    slopes = [one.slope for one in (model.dense, model.hybrid, model.sparse)]
    backgrounds = [model.background, *model.backgrounds.values()]
    shares = [model.prototype, model.words.pivot]
    everything = [
        *words,
        *curves,
        *slopes,
        *backgrounds,
        *shares,
        model.lexical_share,
        model.background_rules,
    ]
    if not all(math.isfinite(value) for value in everything):
        return "a number that is not finite"
    if not all(0 <= value <= 1 for value in shares) or not 0 < model.lexical_share < 1:
        return "a share outside [0, 1]"
    if not all(-1 < value < 1 for value in backgrounds):
        return "a background outside (-1, 1)"
    if min(*slopes, model.words.even, model.words.steepness, model.background_rules) <= 0:
        return "a slope, even point or steepness that is not positive"
    if min(model.words.saturation, model.words.others) < 0 or not 1 <= model.sizes[0] <= model.sizes[1]:
        return "a negative saturation, or sizes out of order"
    return ""
