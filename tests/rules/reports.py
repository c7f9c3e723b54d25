"""Rules matched by scores that a test gives."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from workbench.records.rules import Rule
from workbench.rules.matching.filters import RuleQuery, match_columns_of
from workbench.rules.matching.match import MatchParams, MatchReport, Scored, match_columns

Scores = NDArray[np.float32] | NDArray[np.float64] | Sequence[float]


def match_report(
    rules: Sequence[Rule], query: RuleQuery, relevance: Scores, params: MatchParams | None = None
) -> MatchReport:
    """Match rules by their relevance, parallel to them, in [0, 1]."""
    scores = np.asarray(relevance, dtype=np.float64)
    return match_columns(
        match_columns_of(rules), query, scores, params or MatchParams(), lambda row: Scored()
    )
