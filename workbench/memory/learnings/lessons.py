"""What an iteration teaches besides commands and corrections: causes, errors that went away, decisions.

A cause is kept if the agent names what it is about and what it then did came out well; an error if iteration
after iteration met it until a change made it go away; a decision if it gives its reason. What is guessed,
asked, planned or summed up does not count.

Junk stays out by default: what is learned holds no order to an assistant and no secret, and is bounded. Of
texts that nobody wrote on purpose only those are kept that name something in particular, hold for more than
the moment, and are not about files that no task is about (F33).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from workbench.memory.extraction.decisions import sentences
from workbench.records.dataclass import dataclass
from workbench.records.iterations import (
    DecisionEntry,
    ErrorType,
    FileAction,
    IterationOutcome,
    IterationRecord,
    RawIterationOutput,
)
from workbench.records.learnings import MAX_TEXT, FeatureLearning, LearningKind, shorten
from workbench.text.expressions import read_expressions
from workbench.text.redact import redact
from workbench.text.sanitize import QUOTED_ORDER, strip_frames, visible

if TYPE_CHECKING:
    from workbench.text.injection import SanitizedText

_FORMS: Final = read_expressions(__package__, "lessons.toml")


CUT_OUT: Final = "cut out: "
"""What the evidence of a learning begins with that an order to an assistant was in."""

LEAST_WORDS: Final = 5
MOST_CHARACTERS: Final = 320


def sanitize_learning_text(text: str) -> str:
    """Return a text as it may be stored: on one line, of MAX_TEXT characters, secrets masked, nothing hidden.

    What the workbench itself injected goes, and so do orders to an assistant (F20): see `sanitize_learning`.
    """
    return sanitize_learning(text).text


def sanitize_learning(text: str) -> SanitizedText:
    """Return a text as it may be stored, and the orders to an assistant that were cut out of it."""
    from workbench.text import injection

    return injection.sanitize_learning(strip_frames(text))


def cut_note(removed: Iterable[str]) -> str:
    """Return as evidence what was cut out of a learning, framed; '' for nothing."""
    quotes = " … ".join(f"“{one}”" for one in removed)
    return plain_line(f"{CUT_OUT}{QUOTED_ORDER}{quotes}") if quotes else ""


def was_cut(one: FeatureLearning) -> bool:
    """Whether an order to an assistant was cut out of a learning."""
    return one.evidence.startswith(CUT_OUT)


def plain_line(text: str) -> str:
    """Return what was seen, as a command or a message, in the same way but without a frame."""
    return shorten(" ".join(visible(redact(strip_frames(text)).text).split()), MAX_TEXT)


def should_exclude_from_auto_accumulation(path: str) -> bool:
    """Whether a file is part of the tooling rather than of any task: lock files, caches, state, settings."""
    return bool(_FORMS["infrastructure"].search(path.replace("\\", "/")))


_NAMED = re.compile(
    r"`[^`\n]+`"  # code
    r"|\b\w+[._/:-]\w+[\w./:-]*"  # paths, dotted and dashed names, host:port
    r"|\b[a-z]+[A-Z]\w*|\b[A-Z][a-z]+[A-Z]\w*|\b[A-Z]{2,}[\w-]*|\b\w+_\w+"  # identifiers
    r"|(?<!\w)--?[a-z][\w-]*|\b\w+\(\)"  # options, calls
    r"|\b\d+(?:\.\d+)*\b|\"[^\"\n]{3,}\""  # numbers, quoted messages
)


def too_vague(text: str) -> str:
    """Return why a text says too little to be learned, or ''."""
    plain = text.strip().lstrip("-*•> ").strip()
    if len(_FORMS["words"].findall(plain)) < LEAST_WORDS:
        return "it is too short to say something"
    if not _NAMED.search(plain):
        return "it names nothing in particular"
    if plain.endswith("?"):
        return "it asks"
    if _FORMS["narration"].match(plain):
        return "it narrates what somebody did or will do"
    if _FORMS["deictic"].match(plain):
        return "it points at something that is not in it"
    return ""


@dataclass(frozen=True, slots=True)
class Lesson:
    """What an iteration seems to teach.

    `reason` says why it is worth knowing (F31), `evidence` what was seen. `observed` marks what tools
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
    found = _FORMS["found"].match(sentence) or _FORMS["turns_out"].match(sentence)
    if found is None or _FORMS["doubt"].search(sentence):
        return ""
    rest = sentence[found.end() :].strip().rstrip(" .:;!")
    if (
        len(rest) > MOST_CHARACTERS
        or not _FORMS["mechanism"].search(_FORMS["code"].sub("", rest))
        or too_vague(rest)
    ):
        return ""
    return f"{rest[0].upper()}{rest[1:]}."


LOOK_BACK: Final = 8  # iterations
_MOST_MESSAGE: Final = 160
_KINDS = frozenset({ErrorType.RUNTIME, ErrorType.COMPILE, ErrorType.TEST, ErrorType.LINT})


def error_signature(message: str) -> str:
    """Return an error in the form in which it is recognised again: without numbers, addresses and paths."""
    return " ".join(_FORMS["volatile"].sub("#", message.casefold()).split())[:200]


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
        numbers = ", ".join(str(iteration.iteration_number) for iteration in iterations)
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

_VERB_PHRASES = (
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


def decision_lessons(decisions: Sequence[DecisionEntry]) -> Iterator[Lesson]:
    """Yield the decisions that give a reason and name what they are about, without who took them."""
    for decision in decisions:
        reason = (decision.rationale or "").strip()
        if len(reason.split()) < LEAST_REASON or _FORMS["points"].match(reason):
            continue
        text = _impersonal(decision.description)
        joined = "" if _FORMS["purpose"].match(reason) else "because "
        whole = f"{text} {joined}{reason}."
        if (
            not _FORMS["choice"].match(text)
            or too_vague(text)
            or _FORMS["one_off"].search(whole)
            or _FORMS["between_us"].search(whole)
        ):
            continue
        if len(whole) <= MOST_CHARACTERS:
            yield Lesson(
                LearningKind.DECISION,
                whole,
                "it was decided in an iteration, with a reason",
                evidence=decision.description[:200],
            )


def _impersonal(text: str) -> str:
    plain = _FORMS["i"].sub("", text.strip()).rstrip(" .,;:")
    for pattern, instead in _VERB_PHRASES:
        plain = pattern.sub(instead, plain)
    return f"{plain[:1].upper()}{plain[1:]}"
