"""How relevant each rule is to a message, in [0, 1]: by meaning and words, or by words alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from workbench.records.rules import Rule, match_text
from workbench.rules.lexical import RuleWords, lexical_relevance
from workbench.text.fusion import MINILM, Calibration, above_background

Float32 = NDArray[np.float32]

MAX_TEXT = 600


def rule_texts(rules: Sequence[Rule]) -> list[str]:
    """Return the text of each rule that is embedded."""
    return [match_text(rule)[:MAX_TEXT] or "." for rule in rules]


def by_meaning(cosines: Float32, calibration: Calibration = MINILM) -> Float32:
    """Return vector scores float32 [n] in [0, 1] where 0.5 means as likely relevant as not."""
    even = (calibration.even - calibration.background) / (1 - calibration.background)
    return np.interp(above_background(cosines, calibration), [0.0, even, 1.0], [0.0, 0.5, 1.0]).astype(
        np.float32
    )


def by_words(words: RuleWords, text: str) -> Float32:
    """Return lexical scores float32 [n] in [0, 1]."""
    return lexical_relevance(words, text)
