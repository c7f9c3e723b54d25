"""A text cut into clauses that each say one thing, and a clause into tokens.

Examples, code and asides are left out of clauses. Tokens know which are code, which name one thing together
and which mean nothing alone.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from workbench.comparison.vocabulary import canonical, choices_of, english, phrases, word_list
from workbench.text.terms import stem

MAX_WORDS: Final = 80

_SPAN = re.compile(r"(?<!`)(?:`++[^`\n]*+`+|``+)")
_TOKEN = re.compile(
    r"(?P<path>(?:\.{0,2}/|(?<![\w.@*<>{}-]))[\w.@*<>{}-]+(?:/[\w.@*<>{}-]+)+/?|(?<![\w.-])[\w.-]+/(?=[\s,;.)`]|$))"
    r"|(?P<flag>(?<![\w-])--?[a-z][\w-]*)"
    r"|(?P<number>(?<![\w.])[<>≤≥=v]{0,2}\d+(?:[.,]\d+)*(?:\.x)?"
    r"(?:\s?%|\+|(?:px|rem|em|ms|kb|mb|gb|s|m|h|k)?\b))"
    r"|(?P<word>[^\W\d_][\w'-]*(?:\.[\w-]+)*|\.[a-z][\w.]*|_\w+|\d\w*)"
    r"|(?P<symbol>[=!<>]==?|(?<=\s)[=<>](?=\s)|=>|->|\?\?|&&|\|\||@\w+|(?<![\w*])\*(?![\w*]))"
)

FUNCTION: Final = word_list("function")
_USING = frozenset("use using with via prefer over choose adopt instead".split())
LIGHT: Final = frozenset(map(canonical, word_list("light")))


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
    for kind, token, _, _ in merge_phrases(tokens_of(text)):
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


def merge_phrases(tokens: list[Token]) -> list[Token]:
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


MAX_CHARS: Final = 4000

_CLAUSE = re.compile(
    r"(?<=[.!?;]) |; ?| [—–] | --? "
    r"|,? {1,9}(?:and|but) {1,9}(?=(?:do not|don't|never|avoid|not|always|must|should)\b)"
    r"|, {1,9}(?=(?:do not|don't|never|avoid|use|prefer|always)\b)| but "
    r"|(?<=\)) {1,9}(?=[A-Z])",
    re.IGNORECASE,
)
_OPEN = re.compile(
    r"(?:when(?:ever)?|if|while|once|until|unless|where|in case|for|in|on|before|after)\b[^,;:.]*$",
    re.IGNORECASE,
)  # a condition or place without what holds there
_FENCED = re.compile(r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)", re.DOTALL)
_LEADING = re.compile(r"^(?:\[[ xX~]\]\s+|[-*•+]\s+|\d+[.)]\s+)+")
_EXAMPLE = re.compile(
    r"(?:\be\.\s?g\.|\bi\.\s?e\.|\bfor example\b|\bfor instance\b|\bsuch as\b|\bexamples?\s*:|\blike:|"
    r"(?:[❌✅]|\b(?:good|bad|correct|incorrect|wrong|right)\s*:)).*",
    re.IGNORECASE,
)
_ASIDE = re.compile(r"\([^()]*\)|\[[^\[\]]*\]")
LABEL = re.compile(r"^\s*([^\W\d_][\w ,/&-]{0,40}?)(?:\s*:|\s+(?:--?|[—–]))\s+(?=\S)")
_CODE_LINE = re.compile(r"[{};]$|^[\w.$]+\([^`]*\) ?;?$|^[$@}{)]|^[\w.]+ ?=[^=]")
_CONTINUES = re.compile(
    r"(?:less|fewer|more|at least|at most|max(?:imum)?|min(?:imum)?|up to|no more|no less|under|over|about|"
    r"\d)\b",
    re.IGNORECASE,
)  # a number without what it counts
ANAPHORIC = re.compile(
    r"^(?:(?:this|these|that|those|it|they) |\w+ (?:it|them)\b|"
    r"(?:\w+ ){0,3}(?:it|them|this|that|these|those)\W*$|"
    r".*\b(?:these|those|the following|the (?:above|below))\b)",
    re.IGNORECASE,
)  # speaks of what an earlier sentence names


def clauses(text: str) -> list[str]:
    """Return the clauses of plain text, in order; a condition stays with what holds under it."""
    text = _FENCED.sub("\n", text[:MAX_CHARS])
    lines = (
        _EXAMPLE.sub(" ", _ASIDE.sub(" ", line))
        for line in map(_squeeze_spaces, text.split("\n"))
        if not _CODE_LINE.search(line)
    )
    found: list[str] = []
    for line in lines:
        for piece in _pieces(_LEADING.sub("", line.strip())):
            cleaned = piece.strip()
            if not cleaned:
                continue
            if found and (_OPEN.match(found[-1]) or _CONTINUES.match(cleaned)):
                found[-1] = f"{found[-1].rstrip(' .;')}, {cleaned}"
            else:
                found.append(cleaned)
    return found


def code_blocks(text: str) -> list[str]:
    """Return a text's fenced blocks of code, white space apart."""
    blocks = (" ".join(block.split()) for block in _FENCED.findall(text))
    return [block.encode("utf-8", "replace").decode() for block in blocks]


def _pieces(line: str) -> list[str]:
    """Return the clauses of a line; a label stays with the first of them."""
    head = LABEL.match(line)
    start = head.end() if head else 0
    first, *others = _CLAUSE.split(line[start:])
    return [line[:start] + first, *others]


def _squeeze_spaces(line: str) -> str:
    return " ".join(line.split())
