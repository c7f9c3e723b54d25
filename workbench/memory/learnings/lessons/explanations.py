"""Why something went wrong, in the agent's own words, where what it then did came out well.

A cause is kept if it names what it is about; what the sentence says of the agent itself is taken off. What
it guesses, asks, plans or sums up is none, nor what it found in an iteration that failed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from workbench.memory.extraction.decisions import sentences
from workbench.memory.learnings.lessons.lesson import Lesson
from workbench.memory.learnings.texts import MOST_CHARACTERS, too_vague
from workbench.records.iterations import IterationOutcome, RawIterationOutput
from workbench.records.learnings import LearningKind

_FOUND = re.compile(
    r"^(?:(?:ah|aha|so|okay|ok|good|great|right|yes|got it|found it|interesting|perfect|excellent)"
    r"[,!.:—–-]*\s+)*"
    r"(?:i (?:now )?(?:see|understand|found|can see)(?: that| what)?[,:—–-]*\s+)?"
    r"(?:the|our|a) (?:root cause|real (?:issue|problem|cause)|actual (?:issue|problem|cause)|underlying "
    r"(?:issue|problem)|issue|problem|bug|culprit|reason|failure|error|cause)"
    r"(?: here| was| is|,? (?:it )?turns out,?)*\s*"
    r"(?:is|was|:|—|–|comes from|came from|occurs because|happens because|happened because|lies in)"
    r"(?: (?:now |quite )?(?:clear|obvious|simple)(?: from [\w ]{1,30})?)?"
    r"(?: that| because| due to| likely)?\s*[:,—–]?\s*",
    re.IGNORECASE,
)
_TURNS_OUT = re.compile(r"^(?:it |this )?turns out,? (?:that )?", re.IGNORECASE)
_MECHANISM = re.compile(
    r"\b(?:because|since|which (?:means|causes|caused|breaks|broke|makes)|so (?:that )?(?:it|the)|"
    r"instead of|causing|both|weren't|hasn't|haven't|couldn't|"
    r"doesn't|does not|don't|do not|isn't|is not|aren't|are not|wasn't|was not|never|only|must|"
    r"needs? to|requires?|expects?|returns?|fails?|raises?|throws?|overrides?|ignores?|missing|shadows?|"
    r"conflicts?|before|after|unless|when|always|without|no longer|deprecated|not)\b",
    re.IGNORECASE,
)
_DOUBT = re.compile(
    r"\b(?:might|may|maybe|perhaps|probably|possibly|likely|could be|i think|seems?|appears?|guess|suspect|"
    r"not sure|unclear|let me|i'll|i will|should i|we should|i should|i need|want me|would you|your)\b"
    r"|\?\s*$",
    re.IGNORECASE,
)
_CODE = re.compile(r"`[^`]*`")
_MOST: Final = 3
"""More causes than these in one iteration are a report, not findings."""


def explanation_lessons(raw: RawIterationOutput, outcome: IterationOutcome) -> Iterator[Lesson]:
    """Yield causes the agent found, each once, at most three, of an iteration that came out well."""
    if outcome is not IterationOutcome.SUCCESS or not raw.tool_uses:
        return
    told: set[str] = set()
    for text in raw.texts:
        for sentence in sentences(text):
            cause = cause_of(sentence)
            if cause and cause.casefold() not in told and len(told) < _MOST:
                told.add(cause.casefold())
                yield Lesson(
                    LearningKind.ERROR,
                    cause,
                    "the agent named it as the cause of something that failed, and then it came out well",
                    evidence=sentence[:200],
                )


def cause_of(sentence: str) -> str:
    """Return what a sentence names as a cause, as a sentence of its own, or ''."""
    found = _FOUND.match(sentence) or _TURNS_OUT.match(sentence)
    if found is None or _DOUBT.search(sentence):
        return ""
    rest = sentence[found.end() :].strip().rstrip(" .:;!")
    if len(rest) > MOST_CHARACTERS or not _MECHANISM.search(_CODE.sub("", rest)) or too_vague(rest):
        return ""
    return f"{rest[0].upper()}{rest[1:]}."
