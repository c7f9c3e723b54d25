"""The language of filters, after k9s' `/` and `/!` and the facets of code searches.

    token refresh        both words, fuzzily: `rtok` finds `refresh_token`; better matches come first
    "access token"       exactly these characters, in any case
    !draft  -draft       without this text
    tag:python,go        a field with one of these values; `*` matches anything
    -level:step          a field without it
    priority:>=50  created:2026-10..2026-11

`parse` never raises: what cannot be understood is a `Problem` with its place, and the rest still filters.
Each word of a filter costs a database about 20 ms, so a filter has limits: see MOST_TERMS.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from typing import Final

from workbench.records.dataclass import dataclass
from workbench.suggest import did_you_mean

MOST_TERMS: Final = 50
"""Terms of a filter."""

MOST_CHARACTERS: Final = 2_000
"""Characters of all words of a filter together, and of each value of a field."""

MOST_VALUES: Final = 200
"""Values of a field that a filter names, and that are counted, those of the most rows."""


class FieldKind(Enum):
    """What a field's values are, which decides how a filter compares them."""

    TEXT = "text"
    """Prose: a filter's value is found anywhere in it."""
    WORD = "word"
    """One word or several: a value is the whole word, or what comes after its colon (`language:python`)."""
    NUMBER = "number"
    YES_NO = "yes or no"
    TIME = "time"
    """ISO 8601, compared as far as the filter's value says: `2026-11` is all of November."""


@dataclass(frozen=True, slots=True)
class Field:
    """A field of rows. `choices`, in ascending order, are all the values a WORD may have.

    Text without a field is looked for in those that are `searched`.
    """

    name: str
    kind: FieldKind = FieldKind.WORD
    choices: tuple[str, ...] = ()
    searched: bool = True


class Op(Enum):
    """How a facet compares a row's value with its own."""

    IS = ""
    AT_LEAST = ">="
    AT_MOST = "<="
    ABOVE = ">"
    BELOW = "<"


@dataclass(frozen=True, slots=True)
class Words:
    """Text that is looked for: fuzzily, or exactly if it is `exact`; `negated` text must not be there."""

    text: str
    exact: bool = False
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Facet:
    """Values of a field that are looked for: any of them. A range `a..b` is two facets."""

    field: str
    values: tuple[str, ...]
    op: Op = Op.IS
    negated: bool = False


Term = Words | Facet


@dataclass(frozen=True, slots=True)
class Problem:
    """What cannot be understood, from character `start` up to `end`, and why."""

    start: int
    end: int
    message: str


@dataclass(frozen=True, slots=True)
class Filter:
    """Terms that all must hold; without any, every row is let through."""

    terms: tuple[Term, ...] = ()
    problems: tuple[Problem, ...] = ()

    @property
    def ranks(self) -> bool:
        """Whether rows that match better come first, which they do where text is looked for."""
        return any(isinstance(term, Words) and not term.negated for term in self.terms)

    def __bool__(self) -> bool:
        return bool(self.terms)


_TOKEN: Final = re.compile(r"(?P<sign>[!-]?)(?:(?P<name>[A-Za-z][\w-]{0,99}):(?!//|:))?", re.ASCII)
_VALUE: Final = re.compile(r'"(?:[^"\\]|\\.)*"?|[^\s",]+', re.DOTALL)
_BARE: Final = re.compile(r'[^\s"]+')
_OP: Final = re.compile(r">=|<=|>|<")
_PLAIN: Final = re.compile(r'[^\s",!\-<>./:][^\s",.]*')
_TRUE: Final = ("yes", "true", "on", "1")
_FALSE: Final = ("no", "false", "off", "0")
_TIME: Final = re.compile(r"\d{4}(-\d\d?(-\d\d?(T[\d:.+Z-]*)?)?)?")


def parse(text: str, fields: Iterable[Field] = ()) -> Filter:
    """Read a filter over rows with these fields. A slash at the start, as it was typed, is left out."""
    known = {field.name: field for field in fields}
    terms: list[Term] = []
    problems: list[Problem] = []
    position, characters = (1 if text.startswith("/") else 0), 0
    while position < len(text):
        if text[position].isspace():
            position += 1
            continue
        start = position
        if len(terms) + len(problems) >= MOST_TERMS:
            most = f"a filter has at most {MOST_TERMS} terms; leave the others out"
            problems.append(Problem(start, len(text), most))
            break
        match = _TOKEN.match(text, position)
        assert match is not None, "every part of it is optional"
        sign, name = bool(match["sign"]), match["name"]
        position = match.end()
        if name is None:
            term, position = _words(text, position, negated=sign)
            characters += len(term.text) if term is not None else 0
            if characters > MOST_CHARACTERS:
                most = f"the words of a filter have at most {MOST_CHARACTERS:,} characters; leave some out"
                problems.append(Problem(start, position, most))
                break
            terms += [term] if term is not None else []
        elif name.lower() not in known:
            position = _skip(text, position)
            problems.append(Problem(start, position, _unknown(name, known)))
        else:
            values, op, end = _values(text, position)
            position = _skip(text, end)
            made, wrong = _facets(known[name.lower()], values, op, sign)
            if position > end:
                made, wrong = [], f"{name}: {text[end:position]!r} cannot follow a value"
            terms += made
            problems += [Problem(start, position, wrong)] if wrong else []
    return Filter(tuple(terms), tuple(problems))


def write(terms: Sequence[Term]) -> str:
    """Return the text that `parse` reads as these terms, if their fields allow the values."""
    text = " ".join(_format_term(term) for term in terms)
    return f"/{text}" if text.startswith("/") else text


def _words(text: str, position: int, *, negated: bool) -> tuple[Words | None, int]:
    if text[position : position + 1] == '"':
        match = _VALUE.match(text, position)
        assert match is not None, "it starts with a quotation mark"
        return (Words(value, True, negated) if (value := _unquote(match[0])) else None), match.end()
    bare = _BARE.match(text, position)
    if bare is None:
        # A sign on its own is text that is being typed.
        return None, position
    return Words(bare[0], False, negated), bare.end()


def _values(text: str, position: int) -> tuple[list[str], Op, int]:
    """Return the values after a colon, what they are compared by, and where they end."""
    op = Op.IS
    if (match := _OP.match(text, position)) is not None:
        op, position = Op(match[0]), match.end()
    values = []
    while (value := _VALUE.match(text, position)) is not None:
        values.append(_unquote(value[0]))
        position = value.end()
        if text[position : position + 1] != ",":
            break
        position += 1
    return [value for value in values if value], op, position


def _facets(field: Field, values: list[str], op: Op, negated: bool) -> tuple[list[Facet], str]:
    """Return the facets of one token, or why it is invalid."""
    if not values:
        return [], f"{field.name}: a value is missing"
    if (
        op is Op.IS
        and len(values) == 1
        and field.kind in (FieldKind.NUMBER, FieldKind.TIME)
        and ".." in values[0]
    ):
        low, _, high = values[0].partition("..")
        if negated:
            return [], f"{field.name}: a range cannot be negated"
        pairs = [(low, Op.AT_LEAST), (high, Op.AT_MOST)]
        made = [Facet(field.name, (_canonical(field, value),), op) for value, op in pairs if value]
        return (made, "") if not (wrong := _wrong(field, [v for v in (low, high) if v])) else ([], wrong)
    if wrong := _wrong(field, values):
        return [], wrong
    ordered = field.kind in (FieldKind.NUMBER, FieldKind.TIME) or field.choices
    if op is not Op.IS and (not ordered or len(values) > 1):
        return [], f"{field.name}: {op.value} needs one value, of a field that has an order"
    return [Facet(field.name, tuple(_canonical(field, value) for value in values), op, negated)], ""


def _wrong(field: Field, values: Sequence[str]) -> str:
    """Return what is wrong with values of a field, "" if nothing is."""
    if len(values) > MOST_VALUES:
        return f"{field.name}: a filter names at most {MOST_VALUES} values of a field"
    for value in values:
        if len(value) > MOST_CHARACTERS:
            return f"{field.name}: a value has at most {MOST_CHARACTERS:,} characters"
        if field.kind is FieldKind.NUMBER and not re.fullmatch(r"-?\d{1,15}(\.\d{1,15})?", value, re.ASCII):
            return f"{field.name}: {value!r} is not a number"
        if field.kind is FieldKind.YES_NO and value.lower() not in _TRUE + _FALSE:
            return f"{field.name}: {value!r} is neither yes nor no"
        if field.kind is FieldKind.TIME and not _TIME.fullmatch(value):
            return f"{field.name}: {value!r} is not a date like 2026-11-30"
        if field.choices and value.lower() not in field.choices:
            return f"{field.name}: {value!r} is not one of {', '.join(field.choices)}"
    return ""


def _canonical(field: Field, value: str) -> str:
    if field.kind is FieldKind.YES_NO:
        return "yes" if value.lower() in _TRUE else "no"
    return value.lower() if field.choices else value


def _unknown(name: str, known: Mapping[str, Field]) -> str:
    there = f"There are {', '.join(known)}" if known else "Quote it to look for it as text"
    return f"no field {name!r}. {did_you_mean(name, known, there)}"


def _skip(text: str, position: int) -> int:
    """Return where a token that starts before `position` ends, quoted parts taken whole."""
    while position < len(text) and not text[position].isspace():
        match = _VALUE.match(text, position)
        position = position + 1 if match is None else match.end()
    return position


def _unquote(value: str) -> str:
    if not value.startswith('"'):
        return value
    closed = len(value) > 1 and value.endswith('"') and not re.search(r"(?<!\\)(?:\\\\)*\\\"$", value)
    return re.sub(r"\\(.)", r"\1", value[1:-1] if closed else value[1:], flags=re.DOTALL)


def _quote(value: str) -> str:
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _format_term(term: Term) -> str:
    sign = "-" if term.negated else ""
    if isinstance(term, Words):
        return f"{sign}{_quote(term.text) if term.exact else term.text}"
    values = ",".join(value if _PLAIN.fullmatch(value) else _quote(value) for value in term.values)
    return f"{sign}{term.field}:{term.op.value}{values}"
