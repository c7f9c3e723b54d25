"""Which sessions get a variant of the matching, and how those are compared with the others."""

from __future__ import annotations

import pytest

from workbench.config import RulesConfig
from workbench.entry.parameters import session_variant, variant_rules
from workbench.entry.services.usage import variant_gaps
from workbench.errors import ConfigError
from workbench.records.answers.usage import RuleUse

TESTED = RulesConfig(variant=("threshold=0.4", "max = 5"), variant_share=0.25)


def test_a_share_of_sessions_gets_the_variant_always_the_same() -> None:
    """The id decides; without a variant or a session nothing is under test."""
    named = [session_variant(TESTED, f"session-{n}") for n in range(400)]
    assert named == [session_variant(TESTED, f"session-{n}") for n in range(400)]
    assert 0.2 < named.count("threshold=0.4, max = 5") / 400 < 0.3
    assert set(named) == {"threshold=0.4, max = 5", "default"}
    assert session_variant(TESTED, "") == session_variant(RulesConfig(), "session-1") == ""
    changed = variant_rules(TESTED)
    assert (changed.threshold, changed.max, changed.over_fetch) == (0.4, 5, 30)


@pytest.mark.parametrize(
    ("given", "said"),
    [("threshhold=0.4", "is not a parameter"), ("threshold=2", "threshold"), ("", "nothing is")],
)
def test_a_variant_that_makes_no_sense_is_refused(given: str, said: str) -> None:
    """Names and ranges are those of the settings."""
    with pytest.raises(ConfigError, match=said):
        variant_rules(RulesConfig(variant=(given,)))


def test_variants_are_compared_by_session_and_rule_by_rule() -> None:
    """Sessions are two samples, rules that both had are paired; what one never had is left out."""
    few, many = {"rules given": 2.0, "share of rules obeyed": 0.5}, {"rules given": 6.0, "other": 1.0}
    measures = {"default": [few] * 12, "max=5": [many] * 9 + [few] * 3}
    rows = [
        RuleUse(f"rule-{n}", variant, 9, 9, 0, True, obeyed, 9 - obeyed, 0, 0)
        for n in range(5)
        for variant, obeyed in (("default", 6), ("max=5", 9))
    ]
    given, obeyed, paired = variant_gaps(
        measures, [*rows, RuleUse("rule-9", "max=5", 1, 1, 0, True, 1, 0, 0, 0)]
    )
    assert (given.measure, given.default_mean, given.variant_mean) == ("rules given", 2.0, 5.0)
    assert given.difference == 3.0
    assert 1.5 < given.low < 3.0 < given.high <= 4.0
    assert given.p < 0.01
    assert (obeyed.default_count, obeyed.variant_count, obeyed.difference) == (12, 3, 0.0)
    assert (paired.paired, paired.default_count) == (True, 5)
    assert paired.difference == pytest.approx(1 / 3, abs=1e-4)
