"""What is denied: whether a clause asks for something or rules it out, and which words a denial reaches.

"Not allowed" is the opposite of "allowed", "do not forget to run" the same as "run", "avoid not testing" the
same as "test". Bounds ("no more than 80", "must not exceed 80") are no denials, nor are names such as
"Not Found", nor what is denied inside a relative clause or a condition, which the caller cuts off first.

"There is no man playing" denies man and playing, "a man is not playing" only playing, "a man with no hat is
playing" only hat. A scope ends where its clause ends; a participle ("is forbidden", "is not allowed") denies
what comes before it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise
from typing import Final

from workbench.comparison.tokens import FUNCTION, MAX_CHARS, MAX_WORDS, Token, merge_phrases, tokens_of
from workbench.comparison.vocabulary import choices_of, meaning, word_list
from workbench.records.dataclass import dataclass

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

DENIALS: Final = word_list("denials")

# These deny only as the verb that carries the clause: "skip tests", "never fail to check", not "fail fast".
OMISSIONS: Final = word_list("omissions")

_LEADING: Final = word_list("before the verb")


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


MAX_TERMS: Final = 160
"""What a text says beyond these is not compared word by word."""

_BREAK: Final = re.compile(r"[.!?;:](?:\s|$)|\s[—–-]\s|\n|[()]")
_COMMA: Final = re.compile(r",")
_ENDS: Final = word_list("clause ends")
_AFTER_COMMA: Final = word_list("after a comma")
_VERBS: Final = word_list("auxiliaries")
_BACKWARD: Final = word_list("denies what is before")
_PERMISSION: Final = word_list("granted")
_GRANTED: Final = [[word] for word in sorted(_PERMISSION)]
_LOCAL: Final = word_list("before a noun phrase")
_PLACES: Final = word_list("places")
_QUANTIFIERS: Final = word_list("quantifiers")
_PERMITTING: Final = word_list("permitting")
_IMPLICIT: Final = word_list("implicit denials")
_REPLACED: Final = {"instead": "of", "rather": "than", "free": "of", "opposed": "to"}
_NAMED: Final = {"nobody": "person", "nothing": "thing", "none": "one"}
_SKIPPED: Final = word_list("without meaning")


@dataclass(frozen=True, slots=True)
class Word:
    """A word that carries meaning: `term` is what it is aligned by.

    `kind` is word, place, number, modal or name. A name is code, a path, a flag or a tool: only an equal one
    is the same. `head` marks the first word that a denial reaches, `denied` every word in its
    scope, `depth` how many words before it the nearest head is.
    """

    text: str
    term: str
    kind: str
    denied: bool
    head: bool
    depth: int = 0


@dataclass(frozen=True, slots=True)
class ScopedText:
    """A text as words with their denials. `limits` are the words that restrict what it says ("only", "may").

    `whole` is False for a text that is longer than what is compared. `small` are its function words, sorted.
    """

    words: tuple[Word, ...]
    limits: frozenset[str]
    whole: bool
    small: tuple[str, ...]


_SENTENCE: Final = re.compile(r"(?<=[.!?;])\s+|\n+")


def sentences(text: str) -> list[str]:
    """Return the sentences of a text, and its lines: what is denied in one is not denied in the next."""
    return [piece for piece in _SENTENCE.split(text) if piece and not piece.isspace()]


@lru_cache(maxsize=131_072)
def read_scope(text: str) -> ScopedText:
    """Return the words of a text, each with whether it is denied."""
    spelled = _NO_ONE.sub("nobody", spell_out(text[:MAX_CHARS]))
    found: list[Word] = []
    cut = False
    for segment in _segments(spelled):
        tokens = tokens_of(segment)
        cut = cut or len(tokens) == MAX_WORDS
        found.extend(_segment(segment, merge_phrases(tokens)))
        if len(found) > MAX_TERMS:
            break
    limits = frozenset(_LIMIT.findall(spelled))
    whole = not cut and len(text) <= MAX_CHARS and len(found) <= MAX_TERMS
    small = tuple(
        sorted(word for word in _LETTERS.findall(spelled) if word in FUNCTION and word not in _ARTICLES)
    )
    return ScopedText(tuple(found[:MAX_TERMS]), limits, whole, small)


_NO_ONE: Final = re.compile(r"\bno[ -]one\b")
_LETTERS: Final = re.compile(r"[a-z]+")
_ARTICLES: Final = frozenset(("a", "an", "the", "its", "his", "her", "their"))


_LIMIT: Final = re.compile(
    r"\b(notonly|only|unless|except|may|might|sometimes|almost|nearly|optional|optionally|temporarily)\b"
)


def _segments(text: str) -> list[str]:
    """Return a text cut at the ends of sentences and clauses."""
    return [piece for piece in _BREAK.split(text) if piece and not piece.isspace()]


def _segment(text: str, tokens: list[Token]) -> list[Word]:
    plain = [token.text if token.kind in ("word", "english") else "" for token in tokens]
    commas = [bool(_COMMA.search(text[a.end : b.start])) for a, b in pairwise(tokens)]
    flips = [0] * len(tokens)
    heads: set[int] = set()
    deny = _live(plain)
    for at in deny:
        reach = _reach(plain, commas, at)
        for place in reach:
            flips[place] += 1
        first = next((p for p in reach if _carries(tokens[p])), None)
        if first is not None:
            heads.add(first)
    dropped = {*deny, *(at + 1 for at in deny if plain[at] == "not" and plain[at + 1 : at + 2] in _GRANTED)}
    found: list[Word] = []
    for at, token in enumerate(tokens):
        if at in dropped and token.text not in _NAMED:
            continue
        word = _word(token, flips[at] % 2 == 1, at in heads)
        if word is not None:
            depth = found[-1].depth + 1 if found and word.denied and not word.head else 0
            found.append(replace(word, depth=depth) if depth else word)
    return found


def _live(plain: list[str]) -> list[int]:
    """Return where a clause is denied; "never … without" asks for something and denies nothing."""
    found = sorted({*denials(plain), *(at for at, word in enumerate(plain) if _implies(plain, at))})
    if len(found) >= 2 and any(plain[at] == "without" for at in found[1:]) and plain[found[0]] != "without":
        found = [at for at in found[1:] if plain[at] != "without"]
    return found


def _implies(plain: list[str], at: int) -> bool:
    """Whether a word denies without being a denial: "without", "instead of", "refuse to", "hardly"."""
    word = plain[at]
    if word == "without" or word in _IMPLICIT:
        return True
    return word in _REPLACED and at + 1 < len(plain) and plain[at + 1] == _REPLACED[word]


def _reach(plain: list[str], commas: list[bool], at: int) -> list[int]:
    """Return the positions that a denial reaches."""
    word = plain[at]
    following = plain[at + 1] if at + 1 < len(plain) else ""
    if word in _BACKWARD and at and plain[at - 1] in FUNCTION:
        return list(range(_start(plain, at), at))
    if word == "not" and following in _PERMISSION:
        return [*range(_start(plain, at), at), *range(at + 2, _end(plain, commas, at + 1))]
    end = _end(plain, commas, at)
    local = word == "without" or word in _REPLACED or (word == "no" and at and plain[at - 1] in _LOCAL)
    if local:
        end = min(end, _phrase_end(plain, at))
    start = at if word in _NAMED else at + 1
    return list(range(start, end))


def _start(plain: list[str], at: int) -> int:
    return max((place + 1 for place in range(at) if plain[place] in _ENDS), default=0)


def _end(plain: list[str], commas: list[bool], at: int) -> int:
    """Return where the clause of a denial ends."""
    for place in range(at + 1, len(plain)):
        word = plain[place]
        if word in _ENDS:
            return place
        if place and commas[place - 1] and word in _AFTER_COMMA:
            return place
        if word == "and" and _VERBS & set(plain[place + 1 : place + 6]):
            return place
    return len(plain)


def _phrase_end(plain: list[str], at: int) -> int:
    """Return where the noun phrase after a denial ends: at the next verb or preposition."""
    for place in range(at + 2, len(plain)):
        if plain[place] in _VERBS or plain[place] in _PLACES or plain[place] in ("and", "or", "that", "who"):
            return place
    return len(plain)


def _carries(token: Token) -> bool:
    if token.kind == "code":
        return True
    return token.kind != "symbol" and token.text not in FUNCTION and token.text not in _SKIPPED


def _word(token: Token, denied: bool, head: bool) -> Word | None:
    """Return a token as a word, or None for one that carries no meaning of its own."""
    kind, text = token.kind, token.text
    tool = kind == "word" and text in choices_of()
    if kind in ("code", "path", "flag") or tool or (kind == "symbol" and len(text) > 1):
        return Word(text, text.strip("./") or text, "name", denied, head)
    if kind == "number" or text.isdigit():
        return Word(text, meaning(text.replace(",", "")), "number", denied, head)
    if text in _PLACES:
        return Word(text, meaning(text), "place", denied, head)
    if text in _PERMITTING:
        return Word(text, meaning(text), "modal", denied, head)
    if text in _NAMED:
        return Word(text, meaning(_NAMED[text]), "word", denied, head)
    if text in _QUANTIFIERS:
        return Word(text, text, "place", denied, head)
    if kind == "symbol" or text in FUNCTION or text in _SKIPPED:
        return None
    text, _, ending = text.partition("'")
    if ending and text in FUNCTION:
        return None
    kind = "name" if _NAMELIKE.search(text) else "word"
    return Word(text, text if kind == "name" else meaning(text), kind, denied, head)


_NAMELIKE: Final = re.compile(r"_|[^\W\d]\d|\w{2}\.\w{2}")
