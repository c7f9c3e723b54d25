"""What a user's prompt says of how things are done: corrections and standing instructions, as imperatives.

A sentence counts by its form: "always", "from now on", "we never" and the like hold by themselves; "use X
instead of Y" after an agent did something is worth a look; "don't add comments" is a wish for the task until
it is said again. Requests, questions, pasted output, reviews and specifications are no corrections.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from workbench.memory.extraction.decisions import sentences
from workbench.memory.learnings.lessons import Lesson, too_vague
from workbench.records.iterations import RawIterationOutput
from workbench.records.learnings import LearningKind, Strength
from workbench.text.expressions import read_expressions, read_words

_FORMS: Final = read_expressions(__package__, "corrections.toml")
_WORDS: Final = read_words(__package__, "corrections.toml")

MOST_PROMPT: Final = 2_000
"""Characters of a prompt; a longer one is a specification or was pasted."""

MOST_RULE: Final = 200
"""Characters of a rule; a longer sentence is a story."""

MOST_LINES: Final = 40
"""Lines of a prompt; one of more is a document."""


@dataclass(frozen=True, slots=True)
class ExtractedCorrection:
    """A rule in the user's words, as an imperative of one sentence, and the sentence it was read from."""

    text: str
    quote: str
    strength: Strength


def correction_lessons(raw: RawIterationOutput) -> Iterator[Lesson]:
    """Yield what the user said about how things are done, each sentence once."""
    for correction in corrections_of(raw.prompt, later=raw.place > 0):
        yield Lesson(
            LearningKind.CORRECTION,
            correction.text,
            "the user said so in a prompt",
            evidence=correction.quote,
            strength=correction.strength.value,
        )


def corrections_of(prompt: str, *, later: bool) -> list[ExtractedCorrection]:
    """Return the corrections of a prompt, each once. `later` prompts follow what an agent did."""
    if len(prompt) > MOST_PROMPT or _FORMS["role"].match(prompt):
        return []
    lines = prompt.splitlines()
    pasted = sum(_FORMS["pasted"].match(line) is not None for line in lines)
    if pasted > max(1, len(lines) // 4) or len(lines) > MOST_LINES:
        return []
    found: dict[str, ExtractedCorrection] = {}
    own = "\n".join(line for line in lines if not _FORMS["pasted"].match(line))
    for sentence in sentences(own, shortest=6):
        for clause in _FORMS["clause"].split(sentence):
            one = correction_of(clause.strip(), later=later)
            if one is not None:
                found.setdefault(one.text.casefold(), one)
    return list(found.values())


def correction_of(sentence: str, *, later: bool) -> ExtractedCorrection | None:
    """Return the rule of a user's sentence, or None. `later` prompts follow what an agent did."""
    if len(sentence) > MOST_RULE + 60:
        return None
    corrected = _FORMS["corrected"].match(sentence) is not None
    rest = _FORMS["lead"].sub("", sentence).strip()
    plea = _FORMS["plea"].match(rest)
    if plea is not None:
        rest = rest[plea.end() :].rstrip(" ?!.")
    if corrected and not _FORMS["begins"].match(rest):
        stopped = re.match(r"stop \w+ing\b", sentence, re.IGNORECASE)
        rest = sentence if stopped else rest
    repeated = _FORMS["said"].match(rest) is not None
    rest = _FORMS["said"].sub("", rest)
    usage = _FORMS["usage"].match(rest) is not None and not too_vague(rest)
    rest, standing = _standing(rest)
    if _FORMS["question"].search(rest) or _FORMS["question"].search(rest.rstrip(" .!")):
        return None
    rest = _negation(_FORMS["modal"].sub("", rest) if standing or repeated else rest)
    while (shorter := _FORMS["tail"].sub("", rest)) != rest:
        rest = shorter
    rest = rest.strip().rstrip(" .!;:,")
    strength = _strength(
        rest, standing=standing, repeated=repeated or usage, corrected=corrected, later=later
    )
    if strength is None or says_nothing(rest) or len(rest) > MOST_RULE:
        return None
    if strength is not Strength.STANDING and _FORMS["particular"].search(rest):
        return None
    return ExtractedCorrection(f"{rest[0].upper()}{rest[1:]}.", sentence[:200], strength)


def says_nothing(text: str) -> bool:
    """Whether a rule points at what is not in it, is for once, or has too few words to be one."""
    rest = text.strip().rstrip(" .!;:")
    words = _FORMS["word"].findall(rest)
    if len(words) < 2 or (len(words) == 2 and not re.match(r"(?:use|prefer|avoid) ", rest, re.IGNORECASE)):
        return True
    return any(
        one.search(rest) is not None
        for one in (_FORMS["one_off"], _FORMS["pointing"], _FORMS["points_back"], _FORMS["hangs"])
    )


def _standing(text: str) -> tuple[str, bool]:
    """Return a sentence without what says that it always holds, and whether something did."""
    written = _FORMS["write_down"].sub("", text)
    rest = _FORMS["from_now"].sub(" ", written).strip() if not written.endswith("?") else written
    rest = _FORMS["lead"].sub("", rest)
    marked = (
        (written != text)
        or rest != _FORMS["lead"].sub("", written)
        or _FORMS["to_keep"].match(text) is not None
    )
    rest = _FORMS["to_keep"].sub("", rest)
    rest = _FORMS["remember"].sub("", rest)
    without = _FORMS["people"].sub("", rest)
    if without == rest and (usage := _FORMS["usage"].match(rest)) is not None:
        without = f"{usage[1]} {rest[usage.end() :]}"
        marked = marked or re.search(r"\b(?:not|instead of|rather than|over)\b", without) is not None
    if without == rest:
        without = _FORMS["usage_not"].sub("do not ", rest)
    return without, marked or _FORMS["always"].match(without) is not None


def _strength(rest: str, *, standing: bool, repeated: bool, corrected: bool, later: bool) -> Strength | None:
    if standing:
        return Strength.STANDING if _FORMS["begins"].match(rest) else None
    contrast = _FORMS["contrast"].search(rest) is not None
    if contrast and later and not too_vague(rest):
        return Strength.CORRECTING
    if repeated and _FORMS["begins"].match(rest):
        return Strength.CORRECTING
    if (
        contrast
        or _FORMS["no_such"].match(rest)
        or _FORMS["negated"].match(rest)
        or (_FORMS["tool_use"].match(rest) and (corrected or later))
    ):
        return Strength.PASSING
    return Strength.PASSING if corrected and _FORMS["begins"].match(rest) else None


def _negation(text: str) -> str:
    """Return "stop adding" as "do not add": one form for what is not to be done."""
    found = _FORMS["stop_doing"].match(text)
    if found is not None:
        return f"Do not {_verb(found[1].lower())}{text[found.end() :]}"
    return re.sub(r"^(?:don't|dont|do not) (?:ever )?", "Do not ", text, flags=re.IGNORECASE)


def _verb(gerund: str) -> str:
    stem = gerund[:-3]
    if stem in _WORDS["with_e"]:
        return f"{stem}e"
    if len(stem) > 2 and stem[-1] == stem[-2] and stem not in _WORDS["kept"]:
        return stem[:-1]
    return stem
