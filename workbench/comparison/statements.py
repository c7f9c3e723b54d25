"""A clause of an instruction taken apart for comparison: what it is about, whether it asks for it or rules
it out, under which condition, and the values that it fixes.

Two clauses speak of the same thing when their subjects agree once values are left out; what they then differ
in (a denial, one of several tools, a number, a path) decides whether they repeat or contradict each other.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import field
from functools import lru_cache
from typing import Final

from workbench.comparison.negation import DENIALS, denials, spell_out
from workbench.comparison.tokens import (
    ANAPHORIC,
    FUNCTION,
    LABEL,
    Token,
    clauses,
    merge_phrases,
    statement_terms,
    term_of,
    tokens_of,
)
from workbench.comparison.vocabulary import canonical, choices_of, measures, units, word_list
from workbench.records.dataclass import dataclass
from workbench.text.instructions import judge
from workbench.text.terms import stem

_UPPER = re.compile(
    r"(?:at most|up to|under|below|less than|fewer than|maximum(?: of)?|max|limit(?:ed)?(?: to)?|within|"
    r"shorter than|≤|<=|<|no later than)\W{0,20}(?:\w{1,60}\W{1,20}){0,2}$"
)
_LOWER = re.compile(
    r"(?:at least|minimum(?: of)?|min|more than|above|over|greater than|exceeds?|≥|>=|>|from)"
    r"\W{0,20}(?:\w{1,60}\W{1,20}){0,2}$"
)
_LIMIT = re.compile(r"\b(?:max(?:imum)?|limit|exceed|at most|no more than)\b")
_LEAST = re.compile(r"\b(?:min(?:imum)?|at least)\b")
BOUND_TERMS: Final = frozenset(map(canonical, word_list("bounds")))
_OR_MORE = re.compile(
    r"^\s*(?:or (?:higher|newer|later|above|more|greater)|and (?:above|up|newer|later)|minimum)\b"
)
_OR_LESS = re.compile(r"^\s*(?:or (?:lower|older|less|fewer|below|under)|maximum|max)\b")


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number with what it counts: `bound` is -1 for at least, 1 for at most, 0 for just this."""

    unit: str
    value: tuple[int, ...]
    bound: int
    text: str


def quantity_at(text: str, tokens: Sequence[Token], at: int) -> tuple[Quantity, set[int]]:
    """Return the quantity at a token, with the positions of the words that belong to it."""
    _, token, start, end = tokens[at]
    used: set[int] = set()
    digits = tuple(int(part) for part in re.findall(r"\d+", token.replace(",", ""))[:4])
    unit = re.sub(r"[\d.,<>≤≥=v+x\s]", "", token)
    following = tokens[at + 1].text if at + 1 < len(tokens) else ""
    spaced = text[end : tokens[at + 1].start] if at + 1 < len(tokens) else ""
    if not unit and following in units() and spaced.strip(" -") == "":
        unit = units()[following]
        used.add(at + 1)
    elif not unit and following == "spaces":
        unit = "space"
        used.add(at + 1)
    elif not unit and (before := _counted_word(tokens, at)):
        unit = "of " + (before if before in choices_of() else stem(before))
    head, tail = text[:start], text[end:]
    return Quantity(unit, digits, _bound_direction(token, head, tail), text[start:end].strip()), used


def _counted_word(tokens: Sequence[Token], at: int) -> str:
    """Return the word that a number is of: the one before it, signs left out ("Node >= 20"); '' for none."""
    last = next((token for token in reversed(tokens[:at]) if token.kind != "symbol"), None)
    return last.text if last is not None and last.kind == "word" and last.text not in FUNCTION else ""


def _bound_direction(token: str, head: str, tail: str) -> int:
    """Return in which direction a number bounds, by its own signs, then by the words next to it."""
    if token.endswith("+") or token.startswith((">", "≥")) or _OR_MORE.match(tail):
        return -1
    if token.startswith(("<", "≤")) or _OR_LESS.match(tail) or _UPPER.search(head):
        return 1
    if _LOWER.search(head):
        return -1
    if _LIMIT.search(head):
        return 1
    return -1 if _LEAST.search(head) else 0


MAX_CLAUSES: Final = 12

_REASON = re.compile(
    r"\b(?:so that|so as to|because|since|in order to|as (?:it|they|this|that)|which|thereby|thus|"
    r"to (?:avoid|prevent|ensure|reduce|improve|keep|make|maintain|minimi[sz]e|maximi[sz]e|enhance|increase|"
    r"help|enable|facilitate|promote|achieve|optimi[sz]e|simplify|guarantee)|"
    r"ensuring|preventing|avoiding|allowing|making|improving|reducing|"
    r"for (?:better|improved|easier|clearer|greater)|"
    r"for (?:clarity|readability|consistency|maintainability|performance|safety|security)"
    r"(?=\s*(?:$|[,.]|and\b)))\b.*"
)
_RELATIVE = frozenset({"that", "who", "whose", "where", "what", "how", "whether"})
_CONDITION = re.compile(
    r"(?:(?<=^)|(?<=[\s,(]))(?:only )?"
    r"(?:when(?:ever)?|if|while|once|until|provided|in case|as long as|where)\s+([^,;:.]+)"
)
_EXCEPTION = re.compile(
    r"(?:(?<=^)|(?<=[\s,(]))(?:unless|except(?:ing)?(?: for| in| when| if| where)?|other than|apart from|"
    r"with the exception of|aside from)\s+([^,;:.]+)"
)
_HEDGE = re.compile(
    r"\b(?:(?:when|where|if|whenever|wherever|as)(?:ever)? "
    r"(?:possible|appropriate|applicable|needed|necessary|practical|feasible|required|relevant|available|"
    r"suitable)|as much as possible|at all times)\b"
)
_FIRST = re.compile(r"(\b(?:without|before)\b[^,;:.]{0,200})\sfirst(?=\W*$)|\bfirst(?=\s+before\b)")
"""Where "first" adds nothing: "without asking first", "ask first before merging"."""

_REJECTED = re.compile(
    r"\b(?:instead of|rather than|as opposed to|in place of|and not|not|in preference to)\s+(.+)"
)
_OVER = re.compile(
    r"\b(?:prefer|favou?r|choose|opt for)\b(.{1,250}?)\b(?:over|to|instead of|rather than)\s+(.+)"
)
_USE_OVER = re.compile(r"^(\W*+(?:always )?use [\w`.-]+) over ([\w`.-]++)(\W*(?:for\b.*)?)$")
_ENUMERATED = re.compile(r"\b([A-Z][a-z]+)/(?=[A-Z]?[a-z]+\b(?!/))")  # "Variables/Functions" is no path
_IN_FAVOUR = re.compile(r"^(.*?)\bin favou?r of\s+(.+)")

ORDERING: Final = frozenset(map(canonical, ("before", "after")))
"""Terms on whose sides the same words say another thing."""

_MISTAKE = re.compile(r"not \w+ing\b", re.IGNORECASE)
_PERSONS = frozenset({"you", "we", "they", "it"})
_JOINING = frozenset({"", "and", "or", "so", "then", "that", "please", "but"})
_AUXILIARY = frozenset(
    "do must should is are may can will shall does be or was were has have did would could".split()
)
_OPENING = frozenset("require requires let get".split())  # verbs where they open a clause
_BEFORE_VERB = frozenset("please always also just do not never avoid".split())


@dataclass(frozen=True, slots=True)
class Statement:
    """A clause taken apart. `terms` are canonical stems in order, without values, denials and directives.

    `negated` says that it rules out what it speaks of. `choices` are members of known alternatives that it
    names. `rejected` are the terms of "instead of …". `words` are pairs of a
    term and the word that was read. An `anaphoric` clause speaks of something named elsewhere.
    """

    text: str
    terms: tuple[str, ...]
    negated: bool
    label: frozenset[str]
    condition: frozenset[str]
    exception: frozenset[str]
    rejected: tuple[str, ...]
    choices: frozenset[str]
    quantities: tuple[Quantity, ...]
    paths: tuple[str, ...]
    words: tuple[tuple[str, str], ...]
    anaphoric: bool = False

    @property
    def subject(self) -> frozenset[str]:
        """What the clause is about: its terms as a set."""
        return frozenset(self.terms)

    @property
    def ordered(self) -> tuple[str, ...]:
        """Its terms in order where the order makes a difference, else none."""
        return () if ORDERING.isdisjoint(self.terms) else self.terms


def measured_terms(statement: Statement) -> frozenset[str]:
    """Return the terms that a statement's measure ("line length") implies; none without a known measure."""
    subject = statement.subject | statement.label
    for unit, named, implied in measures():
        if named <= subject and any(item.unit == unit for item in statement.quantities):
            return implied
    return frozenset()


@lru_cache(maxsize=131_072)
def statements(text: str) -> tuple[Statement, ...]:
    """Return the statements of plain text: its clauses without examples, code blocks and asides."""
    found = []
    for clause in clauses(text):
        statement = _read(clause)
        if statement is not None:
            found.append(statement)
        if len(found) == MAX_CLAUSES:
            break
    return tuple(found)


def claims(found: tuple[Statement, ...]) -> tuple[Statement, ...]:
    """Return the statements that instruct: all of a single-sentence text, else those that read so alone.

    "Not using types" names a mistake and demands nothing.
    """
    found = tuple(one for one in found if not _MISTAKE.match(one.text))
    return found if len(found) == 1 else tuple(one for one in found if judge(one.text).instruction)


def _read(clause: str) -> Statement | None:
    label = frozenset[str]()
    clause = _ENUMERATED.sub(r"\1, ", clause)
    head = LABEL.match(clause)
    if head:
        label = frozenset(statement_terms(head[1].lower()))
    text = spell_out(clause[head.end() :] if head else clause)
    text = _FIRST.sub(lambda match: match[1] or "", _HEDGE.sub(" ", text))
    text, exception = _cut(_EXCEPTION, text)
    text, condition = _cut(_CONDITION, text)
    match = _REASON.search(text)
    if match and match.start() > 0:
        text = text[: match.start()]
    text, rejected = _reject(text)
    body = _body(text)
    if not (body.terms or body.choices or body.quantities or body.paths or label or condition or exception):
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
        frozenset(body.choices),
        tuple(body.quantities),
        tuple(body.paths),
        tuple(body.terms.items()),
        bool(ANAPHORIC.match(clause)),
    )


def _cut(pattern: re.Pattern[str], text: str) -> tuple[str, frozenset[str]]:
    """Return a text without the phrases a pattern finds, and the phrases' terms."""
    found: set[str] = set()

    def take(match: re.Match[str]) -> str:
        terms = statement_terms(match[1])
        words = match[1].split()
        found.update(terms)
        found.update(f"not {term}" for term in terms if denials(words))
        return " , "

    return pattern.sub(take, text), frozenset(found)


def _reject(text: str) -> tuple[str, tuple[str, ...]]:
    """Return a clause without what it turns down ("instead of …", "prefer … over …"), and its terms."""
    match = _IN_FAVOUR.match(text)
    if match:
        return match[2], statement_terms(match[1])
    match = _USE_OVER.match(text)
    if match:
        return match[1] + match[3], statement_terms(match[2])
    match = _OVER.search(text)
    if match:
        return text[: match.start()] + "prefer" + match[1], statement_terms(match[2])
    match = _REJECTED.search(text)
    if match and not text.startswith(("do ", "must ", "should ")):
        kept = text[: match.start()].rstrip().removesuffix(",").rstrip()
        lead = kept.split()
        if lead and lead[-1] not in _AUXILIARY | DENIALS and statement_terms(kept):
            return kept, statement_terms(match[1])
    return text, ()


@dataclass(slots=True)
class _Body:
    """What the body of a clause holds, as it is collected."""

    negated: bool = False
    terms: dict[str, str] = field(default_factory=dict)
    choices: set[str] = field(default_factory=set)
    quantities: list[Quantity] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)


def _body(text: str) -> _Body:
    tokens = merge_phrases(tokens_of(text))
    words = [token.text if token.kind == "word" else "" for token in tokens]
    relative = next((at for at, word in enumerate(words) if _relative(words, at)), len(words))
    deny = denials(words[:relative])
    found = _Body(negated=len(deny) % 2 == 1)
    skip = set(deny)
    for at, token in enumerate(tokens):
        if at in skip:
            if token.text == "without":
                found.terms.setdefault("with", "with")
        elif token.kind == "number":
            quantity, used = quantity_at(text, tokens, at)
            found.quantities.append(quantity)
            skip.update(used)
        elif token.kind == "path":
            found.paths.append(token.text.strip("./") or token.text)
        elif token.kind in ("word", "code") and token.text in choices_of():
            found.choices.add(token.text)
        elif token.kind == "word":
            opens = token.text in _OPENING and all(word in _BEFORE_VERB for word in words[:at])
            term = token.text if opens else _word_term(token.text, at >= relative)
            if term:
                found.terms.setdefault(term, token.text)
        else:
            found.terms.setdefault(term_of(token.kind, token.text), token.text)
    if "indent" in found.terms and any(item.unit == "space" for item in found.quantities):
        found.choices.add("spaces")
    if found.quantities:
        for term in BOUND_TERMS & found.terms.keys():
            del found.terms[term]
    return found


def _relative(words: list[str], at: int) -> bool:
    """Whether a relative clause begins: with its pronoun, or without ("errors you don't expect")."""
    if at < 2:
        return False
    return words[at] in _RELATIVE or (words[at] in _PERSONS and words[at - 1] not in _JOINING)


def _word_term(word: str, inside: bool) -> str:
    """Return the term of a word, '' for none; what denies `inside` a relative clause is a term."""
    if word in ("not", "no", "never"):
        return "not" if inside else ""
    if word == "with" or word in FUNCTION:
        return ""
    return canonical(word.removesuffix("'s"))
