"""What an iteration teaches besides commands and corrections: causes, errors that went away, decisions.

A cause is kept if the agent names what it is about and what it then did came out well; an error if iteration
after iteration met it until a change made it go away; a decision if it gives its reason. What is guessed,
asked, planned or summed up does not count.

Junk stays out by default: what is learned is framed where it instructs, without secrets and bounded. Of texts
that nobody wrote on purpose only those are kept that name something in particular, hold for more than the
moment, and are not about files that no task is about (F33).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from workbench.memory.extraction.decisions import sentences
from workbench.memory.learnings.echoes import strip_frames
from workbench.records.iterations import (
    DecisionEntry,
    ErrorType,
    FileAction,
    IterationOutcome,
    IterationRecord,
    RawIterationOutput,
)
from workbench.records.learnings import MAX_TEXT, LearningKind, bounded
from workbench.text.redact import redact
from workbench.text.sanitize import visible

LEAST_WORDS: Final = 5
MOST_CHARACTERS: Final = 320

INFRASTRUCTURE: Final = re.compile(
    r"(?:^|/)(?:\.git|\.ralph|\.workbench|\.claude|\.codex|\.cursor|\.github/workflows|\.idea|\.vscode|node_modules|"
    r"\.venv|venv|__pycache__|dist|build|target|coverage|\.mypy_cache|\.pytest_cache|\.ruff_cache|\.tox|"
    r"\.next|\.cache|tmp)(?:/|$)"
    r"|(?:^|/)(?:[\w.-]*lock(?:\.json|\.yaml|b)?|go\.sum|\.DS_Store|\.gitignore|\.env[\w.]*|CLAUDE\.md|AGENTS\.md|"
    r"GEMINI\.md|\.cursorrules|PROMPT\.md|TO-?DO\.md|progress\.(?:md|txt)|fix_plan\.md|CHANGELOG\.md)$"
    r"|^/(?:tmp|var|private|dev|proc)/|\.(?:log|pyc|map|min\.js|jsonl)$",
    re.IGNORECASE,
)


def sanitize_learning_text(text: str) -> str:
    """Return a text as it may be stored: on one line, of MAX_TEXT characters, secrets masked, nothing hidden.

    What would instruct its reader is framed and not dropped (F20); what the workbench itself injected goes.
    """
    from workbench.text import injection

    return injection.sanitize_learning_text(strip_frames(text))


def plain_line(text: str) -> str:
    """Return what was seen, as a command or a message, in the same way but without a frame."""
    return bounded(" ".join(visible(redact(strip_frames(text)).text).split()), MAX_TEXT)


def instructs(text: str) -> bool:
    """Whether a text would instruct whoever reads it."""
    from workbench.text.injection import scan

    return scan(text).flagged


def should_exclude_from_auto_accumulation(path: str) -> bool:
    """Whether a file is part of the tooling rather than of any task: lock files, caches, state, settings."""
    return bool(INFRASTRUCTURE.search(path.replace("\\", "/")))


_NAMED = re.compile(
    r"`[^`\n]+`"  # code
    r"|\b\w+[._/:-]\w+[\w./:-]*"  # paths, dotted and dashed names, host:port
    r"|\b[a-z]+[A-Z]\w*|\b[A-Z][a-z]+[A-Z]\w*|\b[A-Z]{2,}[\w-]*|\b\w+_\w+"  # identifiers
    r"|(?<!\w)--?[a-z][\w-]*|\b\w+\(\)"  # options, calls
    r"|\b\d+(?:\.\d+)*\b|\"[^\"\n]{3,}\""  # numbers, quoted messages
)
_WORDS = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_DEICTIC = re.compile(
    r"(?:this|that|these|those|it|here|there|they|he|she|both|all of (?:this|these|them)|the (?:above|below|"
    r"former|latter|following|same|other|fix|issue|problem|error|change|code|file|test|tests|user|plan|next|"
    r"last|first))\b",
    re.IGNORECASE,
)
_NARRATION = re.compile(
    r"(?:let me|let's|i(?:'ll|'ve|'m| will| have| am| need| should| can| think| see| was| want| understand|"
    r" notice)|now\b|next\b|first\b|then\b|great|perfect|excellent|ok(?:ay)?\b|sure|done|good\b|alright|wait|"
    r"hmm|actually,? (?:i|let)|we(?:'ll|'ve| will| have| are| were)|you(?:'re| are|'ve)|sorry|thanks|"
    r"looks? like|seems?|summary|step \d|successfully|all tests|everything)",
    re.IGNORECASE,
)


def too_vague(text: str) -> str:
    """Return why a text says too little to be learned, or ''."""
    plain = text.strip().lstrip("-*•> ").strip()
    if len(_WORDS.findall(plain)) < LEAST_WORDS:
        return "it is too short to say something"
    if not _NAMED.search(plain):
        return "it names nothing in particular"
    if plain.endswith("?"):
        return "it asks"
    if _NARRATION.match(plain):
        return "it narrates what somebody did or will do"
    if _DEICTIC.match(plain):
        return "it points at something that is not in it"
    return ""


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
