"""A clause of an instruction taken apart for comparison: what it is about, whether it asks for it or rules
it out, under which condition, and the values that it fixes.

Two clauses speak of the same thing when their subjects agree once values are left out; what they then differ
in (a denial, one of several tools, a number, a path) decides whether they repeat or contradict each other.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, NamedTuple

from workbench.text.opposites import PHRASES, canonical, choices_of
from workbench.text.polarity import DENIALS, denials, spell_out
from workbench.text.terms import stem

MAX_CLAUSES: Final = 12
MAX_WORDS: Final = 80
MAX_CHARS: Final = 4000

_SPAN = re.compile(r"`+([^`\n]*)`+")
_TOKEN = re.compile(
    r"(?P<path>(?:\.{0,2}/)?[\w.@*<>{}-]+(?:/[\w.@*<>{}-]+)+/?|[\w.-]+/(?=[\s,;.)`]|$))"
    r"|(?P<flag>(?<![\w-])--?[a-z][\w-]*)"
    r"|(?P<number>(?<![\w.])[<>≤≥=v]{0,2}\d+(?:[.,]\d+)*(?:\.x)?(?:\s?%|\+|(?:px|rem|em|ms|kb|mb|gb|s|m|h|k)?\b))"
    r"|(?P<word>[^\W\d_][\w'-]*(?:\.[\w-]+)*|\.[a-z][\w.]*|_\w+|\d\w*)"
    r"|(?P<symbol>[=!<>]==?|=>|->|\?\?|&&|\|\||@\w+)"
)
_CLAUSE = re.compile(
    r"(?<=[.!?;])\s+|;\s*|\n+|\s[—–]\s|\s--?\s"
    r"|,?\s+(?:and|but)\s+(?=(?:do not|don't|never|avoid|not|always|must|should)\b)"
    r"|,\s+(?=(?:do not|don't|never|avoid|use|prefer|always)\b)|\s+but\s+"
    r"|(?<=\))\s+(?=[A-Z])",
    re.IGNORECASE,
)
_OPEN = re.compile(
    r"(?:when(?:ever)?|if|while|once|until|unless|where|in case|for|in|on|before|after)\b[^,;:.]*$", re.IGNORECASE
)  # a condition or place without what holds there
_FENCED = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
LEADING = re.compile(r"^(?:\[[ xX~]\]\s+|[-*•+]\s+|\d+[.)]\s+)+")
_EXAMPLE = re.compile(
    r"(?:\be\.\s?g\.|\bi\.\s?e\.|\bfor example\b|\bfor instance\b|\bsuch as\b|\bexamples?\s*:|\blike:|"
    r"(?:[❌✅]|\b(?:good|bad|correct|incorrect|wrong|right)\s*:)).*",
    re.IGNORECASE,
)
_ASIDE = re.compile(r"\([^()]*\)|\[[^\[\]]*\]")
_LABEL = re.compile(r"^\s*([^\W\d_][\w /&-]{0,40}?)\s*:\s+(?=\S)")
_REASON = re.compile(
    r"\b(?:so that|so as to|because|since|in order to|as (?:it|they|this|that)|which|thereby|thus|"
    r"to (?:avoid|prevent|ensure|reduce|improve|keep|make|maintain|minimi[sz]e|maximi[sz]e|enhance|increase|"
    r"help|enable|facilitate|promote|achieve|optimi[sz]e|simplify|guarantee)|"
    r"ensuring|preventing|avoiding|allowing|making|improving|reducing|"
    r"for (?:better|improved|easier|clarity|readability|consistency|maintainability|performance|clearer))\b.*"
)
_RELATIVE = frozenset({"that", "who", "whose", "where", "what", "how", "whether"})
_CONDITION = re.compile(
    r"(?:(?<=^)|(?<=[\s,(]))(?:only )?(?:when(?:ever)?|if|while|once|until|provided|in case|as long as|where)\s+"
    r"([^,;:.]+)"
)
_EXCEPTION = re.compile(
    r"(?:(?<=^)|(?<=[\s,(]))(?:unless|except(?:ing)?(?: for| in| when| if| where)?|other than|apart from|"
    r"with the exception of|aside from)\s+([^,;:.]+)"
)
_HEDGE = re.compile(
    r"\b(?:(?:when|where|if|whenever|wherever|as)(?:ever)? (?:possible|appropriate|applicable|needed|necessary|"
    r"practical|feasible|required|relevant|available|suitable)|as much as possible|at all times)\b"
)
_REJECTED = re.compile(
    r"\s*,?\s*\b(?:instead of|rather than|as opposed to|in place of|and not|not|in preference to)\s+(.+)$"
)
_OVER = re.compile(r"\b(?:prefer|favou?r|choose|opt for)\b(.+?)\b(?:over|to|instead of|rather than)\s+(.+)$")
_USE_OVER = re.compile(r"^(\W*(?:always )?use [\w`.-]+) over ([\w`.-]+\W*)$")
_IN_FAVOUR = re.compile(r"^(.*?)\bin favou?r of\s+(.+)$")

_FUNCTION = frozenset(
    """
    a an the this that these those it its is are be been being was were am and or of to for in on at by as from
    your you we our they their them he she his her i my me us will would can could may might must should shall
    do does did has have had having there here then than so such also just only very too each every all any
    some own other both more most which who what when where how why if with into out up down about
    please always ensure ensures make sure remember try strive aim strictly need needs use uses used using
    utilize utilise leverage employ adopt prefer prefers preferred favor favour choose opt consider recommended
    require requires required mandatory encouraged allowed allow allows permitted permit permits acceptable
    ever rule rules important critical note via through across within per new still yet like etc get got
    ought let instead rather
    """.split()
)
_PIVOTS = frozenset({"before", "after", "with", "without"})
LIGHT: Final = frozenset(
    canonical(word)
    for word in """
    proper properly appropriate appropriately correct correctly clear clearly good best well careful carefully
    consistent consistently explicit necessary possible whenever wherever effective effectively efficient
    efficiently relevant specific comprehensive robust code project practice practices follow keep project's
    simple easily generally usually thoroughly suitable throughout entire whole right accordingly
    """.split()
)
_UNITS = {
    "characters": "char", "character": "char", "chars": "char", "char": "char", "columns": "char",
    "column": "char", "cols": "char", "lines": "line", "line": "line", "loc": "line", "spaces": "space",
    "space": "space", "percent": "%", "seconds": "s", "second": "s", "sec": "s", "secs": "s",
    "milliseconds": "ms", "minutes": "m", "minute": "m", "mins": "m", "hours": "h", "hour": "h", "days": "day",
    "day": "day", "words": "word", "parameters": "param", "params": "param", "arguments": "param",
    "args": "param", "levels": "level", "retries": "retry", "times": "time", "attempts": "retry", "mb": "mb",
    "kb": "kb", "gb": "gb", "px": "px", "files": "file", "reviewers": "reviewer", "approvals": "approval", "approval": "approval",
    "retry": "retry", "attempt": "retry", "reviewer": "reviewer", "parameter": "param", "level": "level",
}  # fmt: skip
_UPPER = re.compile(
    r"(?:at most|up to|under|below|less than|fewer than|maximum(?: of)?|max|limit(?:ed)?(?: to)?|within|"
    r"shorter than|≤|<=|<|no later than)\W*(?:\w+\W+){0,2}$"
)
_LOWER = re.compile(
    r"(?:at least|minimum(?: of)?|min|more than|above|over|greater than|exceeds?|≥|>=|>|from)\W*(?:\w+\W+){0,2}$"
)
_LIMIT = re.compile(r"\b(?:max(?:imum)?|limit|exceed|at most|no more than)\b")
_LEAST = re.compile(r"\b(?:min(?:imum)?|at least)\b")
_BOUND_TERMS = frozenset(
    canonical(word)
    for word in """
    least most under below above over maximum minimum max min less fewer greater longer newer higher later lower
    older limit limited exceed up within shorter target
    """.split()
)
_OR_MORE = re.compile(r"^\s*(?:or (?:higher|newer|later|above|more|greater)|and (?:above|up|newer|later)|minimum)\b")
_OR_LESS = re.compile(r"^\s*(?:or (?:lower|older|less|fewer|below|under)|maximum|max)\b")


class Token(NamedTuple):
    """A word, code, number, path, flag or symbol, with where it stands."""

    kind: str
    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number with what it counts: `bound` is -1 for at least, 1 for at most, 0 for just this."""

    unit: str
    value: tuple[int, ...]
    bound: int
    text: str


@dataclass(frozen=True, slots=True)
class Statement:
    """A clause taken apart. `terms` are canonical stems in order, without values, denials and directives.

    `negated` says that it rules out what it speaks of. `choices` are members of known alternatives that it
    names, `paths` and `codes` its paths and other identifiers. `rejected` are the terms of "instead of …".
    `words` maps a term to the word that was read.
    """

    text: str
    terms: tuple[str, ...]
    negated: bool
    label: frozenset[str]
    condition: frozenset[str]
    exception: frozenset[str]
    rejected: tuple[str, ...]
    reason: frozenset[str]
    choices: frozenset[str]
    quantities: tuple[Quantity, ...]
    paths: tuple[str, ...]
    hedged: bool
    words: tuple[tuple[str, str], ...]

    @property
    def subject(self) -> frozenset[str]:
        """What the clause is about: its terms as a set."""
        return frozenset(self.terms)


@lru_cache(maxsize=131_072)
def statements(text: str) -> tuple[Statement, ...]:
    """Return the statements of plain text: its clauses without examples, code blocks and asides."""
    found = []
    for clause in _clauses(text):
        statement = _read(clause)
        if statement is not None:
            found.append(statement)
        if len(found) == MAX_CLAUSES:
            break
    return tuple(found)


def _clauses(text: str) -> list[str]:
    text = _FENCED.sub("\n", text[:MAX_CHARS])
    lines = (_EXAMPLE.sub(" ", _ASIDE.sub(" ", line)) for line in text.split("\n"))
    found: list[str] = []
    for piece in _CLAUSE.split("\n".join(lines)):
        cleaned = LEADING.sub("", (piece or "").strip()).strip()
        if not cleaned:
            continue
        if found and _OPEN.match(found[-1]):
            found[-1] = f"{found[-1]}, {cleaned}"
        else:
            found.append(cleaned)
    return found


def _read(clause: str) -> Statement | None:
    label = frozenset[str]()
    head = _LABEL.match(clause)
    if head:
        label = frozenset(_terms(head[1].lower()))
    text = spell_out(clause[head.end() :] if head else clause)
    hedged = bool(_HEDGE.search(text))
    text = _HEDGE.sub(" ", text)
    text, exception = _cut(_EXCEPTION, text)
    text, condition = _cut(_CONDITION, text)
    reason = frozenset[str]()
    match = _REASON.search(text)
    if match and match.start() > 0:
        reason = frozenset(_terms(match[0]))
        text = text[: match.start()]
    text, rejected = _reject(text)
    body = _body(text)
    if not (body.terms or body.choices or body.quantities or body.paths or label):
        return None
    if head and not body.terms:
        body, label = _body(f"{head[1].lower()} {text}"), frozenset()
    return Statement(
        clause,
        tuple(body.terms),
        body.negated,
        label,
        condition,
        exception,
        rejected,
        reason,
        frozenset(body.choices),
        tuple(body.quantities),
        tuple(body.paths),
        hedged,
        tuple(body.terms.items()),
    )


def _cut(pattern: re.Pattern[str], text: str) -> tuple[str, frozenset[str]]:
    """Return a text without the phrases a pattern finds, and the phrases' terms."""
    found: set[str] = set()

    def take(match: re.Match[str]) -> str:
        terms = _terms(match[1])
        words = match[1].split()
        found.update(terms)
        found.update(f"not {term}" for term in terms if denials(words))
        return " , "

    return pattern.sub(take, text), frozenset(found)


def _reject(text: str) -> tuple[str, tuple[str, ...]]:
    """Return a clause without what it turns down ("instead of …", "prefer … over …"), and its terms."""
    match = _IN_FAVOUR.match(text)
    if match:
        return match[2], _terms(match[1])
    match = _USE_OVER.match(text)
    if match:
        return match[1], _terms(match[2])
    match = _OVER.search(text)
    if match:
        return text[: match.start()] + "prefer" + match[1], _terms(match[2])
    match = _REJECTED.search(text)
    if match and match.start() > 0 and _terms(text[: match.start()]) and not text.startswith(("do ", "must ", "should ")):
        lead = text[: match.start()].split()
        if lead and lead[-1] not in ("do", "must", "should", "is", "are", "may", "can", "will", "shall", "does", "be", "or", "was", "were", "has", "have", "did", "would", "could") and lead[-1] not in DENIALS:
            return text[: match.start()], _terms(match[1])
    return text, ()


def _tokens(text: str) -> list[Token]:
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


def _terms(text: str) -> tuple[str, ...]:
    """Return the canonical terms of a phrase, in order."""
    found: dict[str, str] = {}
    for kind, token, _, _ in _merged(_tokens(text)):
        if kind == "word" and (token in _FUNCTION or token in ("not", "no")):
            continue
        found.setdefault(_term(kind, token), token)
    return tuple(found)


def _term(kind: str, token: str) -> str:
    if kind == "code":
        return token if token in choices_of() else stem(token)
    if kind == "word":
        return token if token in choices_of() else canonical(token.removesuffix("'s"))
    return (token.strip("./") or token) if kind == "path" else token.strip()


def _merged(tokens: list[Token]) -> list[Token]:
    """Return the tokens with phrases that name one thing as one token."""
    found: list[Token] = []
    at = 0
    while at < len(tokens):
        token = tokens[at]
        follower = tokens[at + 1].text if at + 1 < len(tokens) else ""
        if token.kind in ("word", "code") and (token.text, follower) in PHRASES:
            end = tokens[at + 1].end
            found.append(Token("word", PHRASES[token.text, follower].lower(), token.start, end))
            at += 2
            continue
        if token.kind in ("word", "code") and (token.text,) in PHRASES:
            token = token._replace(text=PHRASES[token.text,].lower())
        found.append(token)
        at += 1
    return found


@dataclass(slots=True)
class _Body:
    """What the body of a clause holds, as it is collected."""

    negated: bool = False
    terms: dict[str, str] = field(default_factory=dict)
    choices: set[str] = field(default_factory=set)
    quantities: list[Quantity] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)


def _body(text: str) -> _Body:
    tokens = _merged(_tokens(text))
    words = [token.text if token.kind == "word" else "" for token in tokens]
    relative = next((at for at, word in enumerate(words) if at > 1 and word in _RELATIVE), len(words))
    deny = denials(words[:relative])
    found = _Body(negated=len(deny) % 2 == 1)
    skip = set(deny)
    for at, token in enumerate(tokens):
        if at in skip:
            if token.text == "without":
                found.terms.setdefault("with", "with")
        elif token.kind == "number":
            quantity, used = _quantity(text, tokens, at)
            found.quantities.append(quantity)
            skip.update(used)
        elif token.kind == "path":
            found.paths.append(token.text.strip("./") or token.text)
        elif token.kind in ("word", "code") and token.text in choices_of():
            found.choices.add(token.text)
        elif token.kind == "word":
            term = _word_term(token.text, at >= relative)
            if term:
                found.terms.setdefault(term, token.text)
        else:
            found.terms.setdefault(_term(token.kind, token.text), token.text)
    if "indent" in found.terms and any(item.unit == "space" for item in found.quantities):
        found.choices.add("spaces")
    if found.quantities:
        for term in _BOUND_TERMS & found.terms.keys():
            del found.terms[term]
    return found


def _word_term(word: str, inside: bool) -> str:
    """Return the term of a word of a clause's body, '' for none; `inside` a relative clause denials are terms."""
    if word in ("not", "no", "never"):
        return "not" if inside else ""
    if word == "with" or word in _FUNCTION:
        return ""
    return word if word in _PIVOTS else canonical(word.removesuffix("'s"))


def _quantity(text: str, tokens: list[Token], at: int) -> tuple[Quantity, set[int]]:
    """Return the quantity at a token, with the positions of the words that belong to it."""
    _, token, start, end = tokens[at]
    used: set[int] = set()
    digits = tuple(int(part) for part in re.findall(r"\d+", token.replace(",", ""))[:4])
    unit = re.sub(r"[\d.,<>≤≥=v+x\s]", "", token)
    following = tokens[at + 1].text if at + 1 < len(tokens) else ""
    spaced = text[end : tokens[at + 1].start] if at + 1 < len(tokens) else ""
    if not unit and following in _UNITS and spaced.strip(" -") == "":
        unit = _UNITS[following]
        used.add(at + 1)
    elif not unit and following == "spaces":
        unit = "space"
        used.add(at + 1)
    elif not unit and at and tokens[at - 1].kind == "word" and tokens[at - 1].text not in _FUNCTION:
        before = tokens[at - 1].text
        unit = "of " + (before if before in choices_of() else stem(before))
    head, tail = text[:start], text[end:]
    bound = 0
    if token.endswith("+") or token.startswith((">", "≥")) or _OR_MORE.match(tail):
        bound = -1
    elif token.startswith(("<", "≤")) or _OR_LESS.match(tail):
        bound = 1
    elif _UPPER.search(head):
        bound = 1
    elif _LOWER.search(head):
        bound = -1
    elif _LIMIT.search(head):
        bound = 1
    elif _LEAST.search(head):
        bound = -1
    return Quantity(unit, digits, bound, text[start:end].strip()), used
