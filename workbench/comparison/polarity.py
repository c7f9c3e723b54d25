"""Whether a clause asks for something or rules it out, by counting what denies it.

"Not allowed" is the opposite of "allowed", "do not forget to run" the same as "run", "avoid not testing" the
same as "test". Bounds ("no more than 80", "must not exceed 80") are no denials, nor are names such as
"Not Found", nor what is denied inside a relative clause or a condition, which the caller cuts off first.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

_CONTRACTED = re.compile(
    r"\b(ca|wo|sha|do|does|did|is|are|was|were|should|must|could|would|has|have|had|need)n't\b"
)
_SPELLED = {"ca": "can", "wo": "will", "sha": "shall"}
_VALUE = re.compile(r"(?<=[a-z,] )None\b(?! of\b)")  # the value, inside a sentence
_CANNOT = re.compile(r"\bcannot\b")
_AUX = r"(?:(?:do|must|should|shall|may|can|does|will|to|is|are) not|never|not|don't)"
_AT_MOST = re.compile(
    rf"\b{_AUX} (?:be allowed to )?(?:exceed|go over|surpass|grow beyond|go above|"
    r"be (?:longer|larger|greater|more|higher|bigger|wider|over|above) than|be (?:over|above)|have more than|"
    r"use more than|take more than|contain more than|nest (?:deeper|more) than)\b"
    r"|\bno (?:more|longer|larger|greater|higher|bigger|wider|deeper) than\b"
    r"|\bnot (?:more|longer|larger|greater|higher|wider) than\b|\bavoid (?:exceeding|going over)\b"
)
_AT_LEAST = re.compile(
    rf"\b{_AUX} (?:fall below|drop below|go below|be (?:less|fewer|shorter|lower|smaller|under|below) than|"
    r"be (?:under|below))\b"
    r"|\bno (?:less|fewer|shorter|lower|smaller) than\b|\bnot (?:less|fewer) than\b"
)
_NO_DENIAL: Final = (
    (re.compile(r"\bnot[ -]found\b"), "notfound"),
    (re.compile(r"\bnot[ -]null\b"), "notnull"),
    (re.compile(r"\bif (?:not|none|no)\b(?=[ ,;:])"), "if absent"),
    (re.compile(r"\b(?:whether )?or not\b"), " "),
    (re.compile(r"\b(?:(?:do|must|should) )?not (?:only|just|merely|solely)\b"), "notonly"),
    (re.compile(r"\b(?:each other|one another)\b"), "eachother"),
    (re.compile(r"\bno matter\b"), "whatever"),
    (re.compile(r"\b(?:no exceptions?|without exceptions?|without fail)\b"), "always"),
    (re.compile(r"\bno longer\b"), "not"),
    (re.compile(r"\bno[ -]op\b"), "noop"),
    (re.compile(r"\b(?:no|not a|without) (?:doubt|problem)\b"), " "),
    (re.compile(r"\bnever mind\b"), " "),
    (re.compile(r"\bif in doubt\b"), " "),
    (re.compile(r"\bnot yet\b"), "notyet"),
    (re.compile(r"\bunder no circumstances?\b"), "never"),
    (re.compile(r"\bin no case\b"), "never"),
    (re.compile(r"\b(?:do|must|should) not (?:ever|under any circumstances?)\b"), "never"),
    (re.compile(r"\bnever ever\b"), "never"),
    (re.compile(r"\bnot (?:recommended|advised|encouraged)\b"), "discouraged"),
)

_MAY_DENY = re.compile(
    r"n't\b|\bcannot\b|\bn(?:ot?|ever|one)\b|\bwithout\b|\bavoid\b|\bother\b|\banother\b|\bdoubt\b"
)
"""What any of the rewordings needs; most clauses have none of it."""

DENIALS: Final = frozenset(
    """
    not never no none nothing nobody neither nor avoid avoids avoiding avoided refrain refraining forbid
    forbids forbidden prohibit prohibits prohibited ban bans banned disallow disallowed discourage discouraged
    unacceptable impermissible dont doesnt isnt shouldnt mustnt
    """.split()
)

# These deny only as the verb that carries the clause: "skip tests", "never fail to check", not "fail fast".
OMISSIONS: Final = frozenset(
    """
    forget forgets forgetting neglect neglecting fail fails failing skip skips skipping skipped omit omitting
    hesitate
    """.split()
)

_LEADING = frozenset(
    "please always also just then and but or so must should shall to be you we ever do".split()
)


def spell_out(clause: str) -> str:
    """Return a clause in lower case with contractions written out, and bounds and names that only look like
    denials reworded: "mustn't exceed" as "at most"."""
    text = _VALUE.sub("`none`", clause).lower().replace("’", "'")
    if not _MAY_DENY.search(text):
        return text
    text = _CONTRACTED.sub(lambda match: f"{_SPELLED.get(match[1], match[1])} not", text)
    text = _CANNOT.sub("can not", text)
    text = _AT_MOST.sub("at most", text)
    text = _AT_LEAST.sub("at least", text)
    for pattern, instead in _NO_DENIAL:
        text = pattern.sub(instead, text)
    return text


def denials(words: Sequence[str]) -> tuple[int, ...]:
    """Return the positions of the words of a spelled-out clause that deny what it says.

    "Without" denies a denial: "never commit without tests" asks for tests.
    """
    found: list[int] = []
    for at, word in enumerate(words):
        if word in DENIALS:
            if word == "no" and at + 1 < len(words) and words[at + 1][:1].isdigit():
                continue
            found.append(at)
        elif word in OMISSIONS:
            carries = all(other in _LEADING or other in DENIALS for other in words[:at])
            onward = at + 1 < len(words) and words[at + 1] in ("to", "about")
            if onward or (carries and (found or not word.startswith("fail"))):
                found.append(at)
        elif word == "without" and found:
            found.append(at)
    return tuple(found)


def denied(clause: str) -> bool:
    """Whether a clause rules out what it speaks of: an odd number of denials."""
    return len(denials(re.findall(r"[a-z][\w-]*|\d+", spell_out(clause)))) % 2 == 1
