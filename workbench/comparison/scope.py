"""The words of a sentence, each with whether it is denied: the scope of negation, word by word.

"There is no man playing" denies man and playing, "a man is not playing" only playing, "a man with no hat is
playing" only hat. "Do not forget to run" denies nothing, nor do "not only" and "never commit without tests".
Scope ends where a clause ends; a participle ("is forbidden", "is not allowed") denies what comes before it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from typing import Final

from workbench.comparison.everyday import meaning
from workbench.comparison.opposites import choices_of
from workbench.comparison.polarity import denials, spell_out
from workbench.comparison.words import FUNCTION, MAX_WORDS, Token, merged, tokens_of

MAX_CHARS: Final = 4000
MAX_TERMS: Final = 160
"""What a text says beyond these is not compared word by word."""

_BREAK: Final = re.compile(r"[.!?;:](?:\s|$)|\s[—–-]\s|\n|[()]")
_COMMA: Final = re.compile(r",")
_ENDS: Final = frozenset("but because although though whereas since unless however while".split())
_AFTER_COMMA: Final = frozenset("use prefer always so then which who and instead he she they it we i".split())
_VERBS: Final = frozenset("is are was were has have had will can do does did should must".split())
_BACKWARD: Final = frozenset(
    "avoided forbidden prohibited banned disallowed discouraged unacceptable impermissible".split()
)
_PERMISSION: Final = frozenset(
    "allowed permitted acceptable ok okay fine tolerated required needed necessary mandatory".split()
)
_GRANTED: Final = [[word] for word in sorted(_PERMISSION)]
_LOCAL: Final = frozenset("with have has had having in of at on".split())
_PLACES: Final = frozenset(
    """
    in into out on onto off up down over under above below behind front before after inside outside
    """.split()
)
_QUANTIFIERS: Final = frozenset("all every each both many few most several".split())
_PERMITTING: Final = frozenset("allow allows allowed permit permits permitted deny denies denied".split())
_IMPLICIT: Final = frozenset(
    "refuse refuses refused refusing lack lacks lacked lacking hardly scarcely barely seldom rarely".split()
)
_REPLACED: Final = {"instead": "of", "rather": "than", "free": "of", "opposed": "to"}
_NAMED: Final = {"nobody": "person", "nothing": "thing", "none": "one"}
_SKIPPED: Final = frozenset(
    """
    not no never without there be go one thing something anything time who which s t but notonly
    although though while because
    """.split()
)


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
class Scoped:
    """A text as words with their denials. `limits` are the words that restrict what it says ("only", "may").

    `whole` is False for a text that is longer than what is compared. `small` are its function words, sorted.
    `none` says that something is denied of all there is ("no man", "nobody", "there is not"); `opening` is
    the text's first word if it is a determiner ("the", "a"), else "".
    """

    words: tuple[Word, ...]
    limits: frozenset[str]
    whole: bool
    small: tuple[str, ...]
    none: bool
    opening: str


_SENTENCE: Final = re.compile(r"(?<=[.!?;])\s+|\n+")


def sentences(text: str) -> list[str]:
    """Return the sentences of a text, and its lines: what is denied in one is not denied in the next."""
    return [piece for piece in _SENTENCE.split(text) if piece and not piece.isspace()]


@lru_cache(maxsize=131_072)
def scoped(text: str) -> Scoped:
    """Return the words of a text, each with whether it is denied."""
    spelled = _NO_ONE.sub("nobody", spell_out(text[:MAX_CHARS]))
    found: list[Word] = []
    cut = False
    for segment in _segments(spelled):
        tokens = tokens_of(segment)
        cut = cut or len(tokens) == MAX_WORDS
        found.extend(_segment(segment, merged(tokens)))
        if len(found) > MAX_TERMS:
            break
    limits = frozenset(_LIMIT.findall(spelled))
    whole = not cut and len(text) <= MAX_CHARS and len(found) <= MAX_TERMS
    small = tuple(
        sorted(word for word in _LETTERS.findall(spelled) if word in FUNCTION and word not in _ARTICLES)
    )
    opening = _OPENING.match(spelled)
    return Scoped(
        tuple(found[:MAX_TERMS]),
        limits,
        whole,
        small,
        _NONE.match(spelled) is not None,
        opening[1] if opening else "",
    )


_NO_ONE: Final = re.compile(r"\bno[ -]one\b")
_LETTERS: Final = re.compile(r"[a-z]+")
_NONE: Final = re.compile(r"\W*(?:there (?:(?:is|are|was|were) )?(?:no|not)|no|nobody|none|nothing)\b")
_OPENING: Final = re.compile(
    r"\W*(the|this|that|these|those|his|her|its|their|my|your|our|an?|some|one|any|another|two|three|four|five|"
    r"several|many|few)\b"
)
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


_NAMELIKE: Final = re.compile(r"_|[^\W\d]\w*\d|\w{2}\.\w{2}")
