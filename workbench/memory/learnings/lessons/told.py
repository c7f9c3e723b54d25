"""What was said on purpose: decisions with their reasons, and what the user corrected.

A decision without a reason, or about nothing in particular, teaches nothing. A correction is a sentence of
the user's that says how things are done; what is wanted for this one task is the task and no correction.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from workbench.memory.extraction.decisions import sentences
from workbench.memory.learnings.lessons.lesson import Lesson
from workbench.memory.learnings.texts import MOST_CHARACTERS, too_vague
from workbench.records.iterations import DecisionEntry, RawIterationOutput
from workbench.records.learnings import LearningKind

LEAST_REASON: Final = 5  # words
MOST_PROMPT: Final = 2_000  # characters; a longer one is a specification

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
_CORRECTS = re.compile(
    r"^(?:(?:no|nope|wrong|stop|actually|wait|hmm|hey|please|and|so|but|also|ok|okay)\b[,.!:;—–-]*\s*)+",
    re.IGNORECASE,
)
_CONVENTION = re.compile(
    r"^(?:(?:in|for) (?:this|our) (?:repo|repository|project|codebase),? )?"
    r"(?:always|never|from now on,?|we (?:always|never|use|don't use|do not use|prefer|don't need)|"
    r"our (?:convention|style|standard)\b.* is|remember (?:to|that)|make sure to always|"
    r"(?:don't|do not) ever)\b",
    re.IGNORECASE,
)
_CONTRAST = re.compile(
    r"^(?:use|don't use|do not use|call|put|keep|import|write|name|prefer|run)\b.*"
    r"\b(?:instead of|rather than|not|over)\b|^(?:don't|do not|never|stop|avoid) \w+"
    r"|\bshould(?:n't| not)? (?:be|appear|go|use|live|stay|come|have|show|display)\b.*"
    r"(?:\bnot\b|\binstead\b|\brather than\b)",
    re.IGNORECASE,
)
_REQUEST = re.compile(
    r"\?\s*$|^(?:can|could|would|will|should|what|why|how|when|where|is|are|do you|did|if|i|maybe|perhaps|"
    r"let's)\b"
    r"|\b(?:i think|i guess|maybe|do you think|not sure)\b",
    re.IGNORECASE,
)


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


def correction_lessons(raw: RawIterationOutput) -> Iterator[Lesson]:
    """Yield what the user said about how things are done, each sentence once."""
    if len(raw.prompt) > MOST_PROMPT:
        return
    told: set[str] = set()
    for sentence in sentences(raw.prompt):
        text = correction_of(sentence, later=raw.place > 0)
        if text and text.casefold() not in told:
            told.add(text.casefold())
            yield Lesson(
                LearningKind.CORRECTION,
                text,
                "the user said so in a prompt",
                evidence=sentence[:200],
            )


def correction_of(sentence: str, *, later: bool) -> str:
    """Return the rule of a user's sentence, or ''. `later` prompts follow what an agent did."""
    if _REQUEST.search(sentence) or len(sentence) > MOST_CHARACTERS:
        return ""
    rest = _CORRECTS.sub("", sentence)
    if not _CONVENTION.search(rest) and not (later and _CONTRAST.search(rest)):
        return ""
    rest = rest.strip().rstrip(" .!;:")
    if too_vague(rest) or _ONE_OFF.search(rest):
        return ""
    return f"{rest[0].upper()}{rest[1:]}."


def _impersonal(text: str) -> str:
    plain = _I.sub("", text.strip()).rstrip(" .,;:")
    for pattern, instead in _FORMS:
        plain = pattern.sub(instead, plain)
    return f"{plain[:1].upper()}{plain[1:]}"
