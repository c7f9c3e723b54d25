"""Pairs for tests of the desk, made without an engine."""

from __future__ import annotations

from dataclasses import replace

from screens.conflicts.pair import PairSide, PairType, RecordPair
from workbench.records.conflicts import Action, ConflictKind, Evidence, Suggestion
from workbench.records.rules import Rule

HOSTILE = "[/] list[int] = x[0] \x1b[31mred\x00 \u202eabc 🧪"


def side(name: str, text: str = "", **fields: object) -> PairSide:
    rule = Rule(id=name, name="", rule=text or f"Say {name}.")
    facts = (("priority", str(len(name))), ("scope", "everywhere"))
    made = PairSide(name, rule.rule, f"{name}.md:3", rule, file=f"{name}.md", lines=(3, 3), facts=facts)
    return replace(made, **fields)  # type: ignore[arg-type]


def pair(one: str, other: str, kind: ConflictKind = ConflictKind.NEAR, **fields: object) -> RecordPair:
    """Return a pair of two sides, named by both."""
    made = RecordPair(
        f"conflict-{one}-{other}",
        PairType.RULE,
        kind,
        0.9,
        side(one),
        side(other),
        "Both say it.",
        (Evidence("words", 0.5, "share of terms"),),
        Suggestion(Action.KEEP_LEFT, "Keep the left one.", keep=one),
    )
    return replace(made, **fields)  # type: ignore[arg-type]
