"""The rule that a learning would make: what matching compares with a task, and what promotion adds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workbench.records.learnings import FeatureLearning
from workbench.records.rules import PATH_SCOPE, Rule

SOURCE = "learning"


def as_rule(learning: FeatureLearning, fields: Mapping[str, Any]) -> Rule:
    """Return the rule a learning would make; where it comes from stands in its metadata."""
    told = {
        "id": learning.id,
        "feature": learning.feature,
        "source": learning.source.value,
        "reason": learning.reason,
        "iteration": learning.iteration,
        "session_id": learning.session_id,
        "timestamp": learning.timestamp,
        "hit_count": learning.hit_count,
    }
    values: dict[str, Any] = {
        "rule": learning.text,
        "scope": tuple(f"{PATH_SCOPE}{glob}" for glob in learning.scope),
        "source": SOURCE,
        "metadata": {"learning": told},
        "project_id": learning.project_id,
    }
    return Rule(id="", name="", **{**values, **fields})
