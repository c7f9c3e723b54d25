"""Decisions the agent said on purpose, with their reasons.

A decision without a reason, or about nothing in particular, teaches nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from workbench.memory.learnings.lessons.lesson import Lesson
from workbench.memory.learnings.texts import MOST_CHARACTERS, too_vague
from workbench.records.iterations import DecisionEntry
from workbench.records.learnings import LearningKind

LEAST_REASON: Final = 5  # words

_I = re.compile(
    r"^(?:(?:so|ok|okay|therefore|then|now|for now|instead|given (?:this|that)|alright)[,:]?\s+)*"
    r"(?:(?:i|we)(?:'ve| have|'ll| will|'m| am| are|'re)?|let's|let me|going to|decision:?|decided:?)\s+"
    r"(?:(?:also|then|finally|therefore|instead|just|simply|going to)\s+)?",
    re.IGNORECASE,
)
_FORMS = (
    (
        re.compile(
            r"^(?:decided|chosen|chose|opted|gone|going|go|went) (?:to use|to go with|for|with|to) ", re.I
        ),
        "Use ",
    ),
    (re.compile(r"^(?:used|using|use) ", re.I), "Use "),
    (re.compile(r"^(?:kept|keeping|keep) ", re.I), "Keep "),
    (re.compile(r"^(?:picked|choose|settled on|sticking with|stick with|stick to) ", re.I), "Use "),
)
_CHOICE = re.compile(
    r"(?:use|keep|kept|avoid|prefer|store|put|make|made|add|replace|switch|move|return|treat|rely|leave|skip|"
    r"drop|implement|chose|write|wrote)(?:e?d)? ",
    re.IGNORECASE,
)
_POINTS = re.compile(r"(?:i|we|this|it|that|they|these|those|there|he|she|you|as)\b", re.IGNORECASE)
_PURPOSE = re.compile(r"(?:to|in order|which|so)\b", re.IGNORECASE)
_ONE_OFF = re.compile(
    r"\b(?:this (?:task|session|time|pr|commit|change|step|file|test|one)|for now|right now|next|first|"
    r"let me|to-?do|background|sub-?agents?|task tool|read tool|same (?:approach|pattern|way)|both|these|"
    r"those|above|below)\b",
    re.IGNORECASE,
)
_BETWEEN_US = re.compile(r"\b(?:the user|you|your)\b", re.IGNORECASE)


def decision_lessons(decisions: Sequence[DecisionEntry]) -> Iterator[Lesson]:
    """Yield the decisions that give a reason and name what they are about, without who took them."""
    for decision in decisions:
        reason = (decision.rationale or "").strip()
        if len(reason.split()) < LEAST_REASON or _POINTS.match(reason):
            continue
        text = _impersonal(decision.description)
        joined = "" if _PURPOSE.match(reason) else "because "
        whole = f"{text} {joined}{reason}."
        if not _CHOICE.match(text) or too_vague(text) or _ONE_OFF.search(whole) or _BETWEEN_US.search(whole):
            continue
        if len(whole) <= MOST_CHARACTERS:
            yield Lesson(
                LearningKind.DECISION,
                whole,
                "it was decided in an iteration, with a reason",
                evidence=decision.description[:200],
            )


def _impersonal(text: str) -> str:
    plain = _I.sub("", text.strip()).rstrip(" .,;:")
    for pattern, instead in _FORMS:
        plain = pattern.sub(instead, plain)
    return f"{plain[:1].upper()}{plain[1:]}"
