"""The words of a clause: which are code, which name one thing together, which mean nothing alone."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from workbench.comparison.opposites import canonical, choices_of, english, phrases
from workbench.text.terms import stem

MAX_WORDS: Final = 80

_SPAN = re.compile(r"`+([^`\n]*)`+")
_TOKEN = re.compile(
    r"(?P<path>(?:\.{0,2}/)?[\w.@*<>{}-]+(?:/[\w.@*<>{}-]+)+/?|[\w.-]+/(?=[\s,;.)`]|$))"
    r"|(?P<flag>(?<![\w-])--?[a-z][\w-]*)"
    r"|(?P<number>(?<![\w.])[<>≤≥=v]{0,2}\d+(?:[.,]\d+)*(?:\.x)?"
    r"(?:\s?%|\+|(?:px|rem|em|ms|kb|mb|gb|s|m|h|k)?\b))"
    r"|(?P<word>[^\W\d_][\w'-]*(?:\.[\w-]+)*|\.[a-z][\w.]*|_\w+|\d\w*)"
    r"|(?P<symbol>[=!<>]==?|(?<=\s)[=<>](?=\s)|=>|->|\?\?|&&|\|\||@\w+|(?<![\w*])\*(?![\w*]))"
)

FUNCTION = frozenset(
    """
    a an the this that these those it its is are be been being was were am and or of to for in on at by as
    from your you we our they their them he she his her i my me us will would can could may might must should
    shall do does did has have had having there here then than so such also just only very too each every all
    any some own other both more most which who what when where how why if with into out up down about
    please always ensure ensures make sure remember try strive aim strictly need needs use uses used using
    utilize utilise leverage employ adopt prefer prefers preferred favor favour choose opt consider
    recommended require requires required mandatory encouraged allowed allow allows permitted permit permits
    acceptable ever rule rules important critical note via through across within per still yet like etc
    get got ought let instead rather
    """.split()
)
_USING = frozenset("use using with via prefer over choose adopt instead".split())
LIGHT: Final = frozenset(
    canonical(word)
    for word in """
    proper properly appropriate appropriately correct correctly clear clearly good best well careful carefully
    consistent consistently explicit necessary possible whenever wherever effective effectively efficient
    efficiently relevant specific comprehensive robust code project practice practices follow keep project's
    simple easily generally usually thoroughly suitable throughout entire whole right accordingly do
    """.split()
)


class Token(NamedTuple):
    """A word, code, number, path, flag or symbol, with its place."""

    kind: str
    text: str
    start: int
    end: int


def tokens_of(text: str) -> list[Token]:
    """Return the tokens of a clause; words in code spans are code, whatever they mean in English."""
    spans = [match.span() for match in _SPAN.finditer(text)]
    found: list[Token] = []
    for match in _TOKEN.finditer(text):
        kind, start = match.lastgroup or "", match.start()
        if kind == "word" and any(first <= start < last for first, last in spans):
            kind = "code"
        found.append(Token(kind, match[0], start, match.end()))
        if len(found) == MAX_WORDS:
            break
    return found


def statement_terms(text: str) -> tuple[str, ...]:
    """Return the canonical terms of a phrase in lower case, in order; function words give none."""
    found: dict[str, str] = {}
    for kind, token, _, _ in merged(tokens_of(text)):
        if kind == "word" and (token in FUNCTION or token in ("not", "no")):
            continue
        found.setdefault(term_of(kind, token), token)
    return tuple(found)


def _is_used(tokens: list[Token], at: int) -> bool:
    """Whether a token is what the words before it say to use."""
    return at > 0 and tokens[at - 1].text in _USING


def term_of(kind: str, token: str) -> str:
    """Return the canonical term of a token of a kind."""
    if kind == "code":
        return token if token in choices_of() else stem(token)
    if kind == "english":
        return canonical(token)
    if kind == "word":
        return token if token in choices_of() else canonical(token.removesuffix("'s"))
    return (token.strip("./") or token) if kind == "path" else token.strip()


def merged(tokens: list[Token]) -> list[Token]:
    """Return the tokens with phrases that name one thing as one token."""
    found: list[Token] = []
    at = 0
    while at < len(tokens):
        token = tokens[at]
        follower = tokens[at + 1].text if at + 1 < len(tokens) else ""
        if token.kind in ("word", "code") and (token.text, follower) in phrases():
            end = tokens[at + 1].end
            found.append(Token("word", phrases()[token.text, follower].lower(), token.start, end))
            at += 2
            continue
        if token.kind == "word" and token.text in english() and not _is_used(tokens, at):
            token = token._replace(kind="english")
        if token.kind in ("word", "code") and (token.text,) in phrases():
            token = token._replace(text=phrases()[token.text,].lower())
        found.append(token)
        at += 1
    return found
