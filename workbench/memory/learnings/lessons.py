"""What an iteration teaches besides commands and corrections: causes, errors that went away, decisions.

A cause is kept if the agent names what it is about and what it then did came out well; an error if iteration
after iteration met it until a change made it go away; a decision if it gives its reason. What is guessed,
asked, planned or summed up does not count.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from workbench.memory.extraction.decisions import sentences
from workbench.memory.learnings.texts import MOST_CHARACTERS, should_exclude_from_auto_accumulation, too_vague
from workbench.records.iterations import (
    DecisionEntry,
    ErrorType,
    FileAction,
    IterationOutcome,
    IterationRecord,
    RawIterationOutput,
)
from workbench.records.learnings import LearningKind


@dataclass(frozen=True, slots=True)
class Lesson:
    """What an iteration seems to teach.

    `reason` says why it is worth knowing (F31), `evidence` what was seen. `observed` tells what tools
    answered from what somebody said: only outcomes count for and against learnings. `trigger` and `remedy`
    are as in `FeatureLearning`. `strength` is that of a correction.
    """

    kind: LearningKind
    text: str
    reason: str
    evidence: str = ""
    files: tuple[str, ...] = ()
    trigger: str = ""
    remedy: str = ""
    observed: bool = False
    strength: str = ""


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
    seen: set[str] = set()
    for text in raw.texts:
        for sentence in sentences(text):
            cause = extract_cause(sentence)
            if cause and cause.casefold() not in seen and len(seen) < _MOST:
                seen.add(cause.casefold())
                yield Lesson(
                    LearningKind.ERROR,
                    cause,
                    "the agent named it as the cause of something that failed, and then it came out well",
                    evidence=sentence[:200],
                )


def extract_cause(sentence: str) -> str:
    """Return what a sentence names as a cause, as a sentence of its own, or ''."""
    found = _FOUND.match(sentence) or _TURNS_OUT.match(sentence)
    if found is None or _DOUBT.search(sentence):
        return ""
    rest = sentence[found.end() :].strip().rstrip(" .:;!")
    if len(rest) > MOST_CHARACTERS or not _MECHANISM.search(_CODE.sub("", rest)) or too_vague(rest):
        return ""
    return f"{rest[0].upper()}{rest[1:]}."


LOOK_BACK: Final = 8  # iterations
_MOST_MESSAGE: Final = 160
_VOLATILE = re.compile(
    r"0x[0-9a-f]+|\b[0-9a-f]{7,40}\b|\d+(?:\.\d+)*|'/[^']*'|\"/[^\"]*\"|/\S+", re.IGNORECASE
)
_KINDS = frozenset({ErrorType.RUNTIME, ErrorType.COMPILE, ErrorType.TEST, ErrorType.LINT})


def error_signature(message: str) -> str:
    """Return an error in the form in which it is recognised again: without numbers, addresses and paths."""
    return " ".join(_VOLATILE.sub("#", message.casefold()).split())[:200]


def recurring_lessons(record: IterationRecord, before: Sequence[IterationRecord]) -> Iterator[Lesson]:
    """Yield errors that two earlier iterations met and this one got rid of; `before` is oldest first."""
    if record.outcome is not IterationOutcome.SUCCESS:
        return
    changed = {
        file.path
        for file in record.files_touched
        if file.action in (FileAction.CREATED, FileAction.MODIFIED)
        and not should_exclude_from_auto_accumulation(file.path)
    }
    now = {error_signature(error.message) for error in record.errors}
    met: dict[str, list[IterationRecord]] = {}
    messages: dict[str, tuple[str, str]] = {}
    for earlier in before[-LOOK_BACK:]:
        for error in earlier.errors:
            key = error_signature(error.message)
            if error.error_type in _KINDS and error.file_path in changed and earlier not in met.get(key, ()):
                met.setdefault(key, []).append(earlier)
                messages[key] = (error.message[:_MOST_MESSAGE], error.file_path or "")
    for key, iterations in met.items():
        message, path = messages[key]
        if len(iterations) < 2 or key in now or too_vague(f"in {message}"):
            continue
        numbers = ", ".join(str(one.iteration_number) for one in iterations)
        yield Lesson(
            LearningKind.ERROR,
            f"`{path}`: `{message}` came back in iterations {numbers}; a change of that file ended it.",
            f"an error of {len(iterations)} iterations that a change made go away",
            evidence=message,
            files=(path,),
            trigger=key,
            observed=True,
        )


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
