"""Takes secrets out of text before it is kept or sent: each becomes `[secret:<kind>]`, and is counted.

It finds what announces itself, by the shape of the token, the place it is in, or the name beside it.
A password by itself that looks like a word is not found. Lines keep their numbers; redacting twice
changes nothing more.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from workbench.records.dataclass import dataclass
from workbench.text.secret_hints import shapes_with_hints

if TYPE_CHECKING:
    from collections.abc import Sequence

    from workbench.text.secret_values import SecretShape


Value = TypeVar("Value")

_ROUNDS: Final = 16  # what hides behind a secret is found in the next round
_WORD: Final = re.compile(r"[a-z_.-]{0,24}")  # announces nothing, and most names are one

MARK: Final = re.compile(rb"\[secret:[a-z-]{1,40}\]")
_NAME: Final = re.compile(rb"[\w.-]{0,60}\Z")
_LONGEST_NAME: Final = 60
_SHORT: Final = 4096  # bytes of a text in which only what it may hold is looked for
_EXPRESSIONS: Final = 64  # that are kept, of different shapes
_MEMORY: Final = 128 << 20  # bytes for the automata's states; they take a few of them


@dataclass(frozen=True, slots=True)
class Redacted:
    """A text without its secrets, and how many of each kind were taken out."""

    text: str
    counts: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Secret:
    """A secret of a text: its kind, its characters `[start, end)`, and the line it begins in, from 1."""

    kind: str
    start: int
    end: int
    line: int


def mark_of(kind: str) -> str:
    """Return what replaces a secret of a kind in a text."""
    return f"[secret:{kind}]"


def redact(text: str) -> Redacted:
    """Return the text with each secret replaced by its mark; the name that announces it stays."""
    data, counts = redact_bytes(text.encode("utf-8", "surrogatepass"))
    return Redacted(data.decode("utf-8", "surrogatepass") if counts else text, counts)


def redact_bytes(data: bytes) -> tuple[bytes, Mapping[str, int]]:
    """Return a text in UTF-8, or nearly that, without its secrets, and how many of each kind there were.

    Lines of JSON stay JSON: no secret ends in the middle of an escape.
    """
    if not data:
        return data, {}
    counts: Counter[str] = Counter()
    for _ in range(_ROUNDS):
        spans = find_spans(data)
        if not spans:
            break
        counts.update(span.kind for span in spans)
        data = replace_spans(data, spans)
    return data, dict(sorted(counts.items()))


def redact_values(value: Value) -> Value:
    """Return values as JSON holds them, or records of such, with each text redacted, keys included.

    What holds no secret is the same object. A name and the secret it announces are only found together
    where one text has both.
    """
    # One look at all texts costs a fraction of a look at each; most have nothing to hide.
    together = "\n".join(_texts(value)).encode("utf-8", "surrogatepass")
    return cast("Value", _redact_value(value)) if together and find_spans(together) else value


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        if not _WORD.fullmatch(value):
            yield value
    elif isinstance(value, Mapping):
        for key, held in value.items():
            yield from _texts(key)
            yield from _texts(held)
    elif isinstance(value, list | tuple | set | frozenset):
        for held in value:
            yield from _texts(held)
    elif is_dataclass(value):
        for part in fields(value):
            yield from _texts(getattr(value, part.name))


def _redact_value(value: object) -> object:
    if type(value) is str:
        return redact(value).text
    if isinstance(value, Mapping):
        return {_redact_value(key): _redact_value(held) for key, held in value.items()}
    if type(value) in (list, tuple, set, frozenset):
        return type(value)(_redact_value(held) for held in value)  # type: ignore[call-arg,attr-defined]
    if is_dataclass(value) and not isinstance(value, type):
        found = {part.name: getattr(value, part.name) for part in fields(value) if part.init}
        changed = {name: after for name, held in found.items() if (after := _redact_value(held)) != held}
        return replace(value, **changed) if changed else value
    return value


def find_secrets(text: str) -> tuple[Secret, ...]:
    """Return the secrets that `redact` takes out in its first round, in order."""
    data = text.encode("utf-8", "surrogatepass")
    found = []
    at = characters = 0
    line = 1
    for span in find_spans(data):
        between = data[at : span.start].decode("utf-8", "surrogatepass")
        line += between.count("\n")
        start = characters + len(between)
        inside = data[span.start : span.end].decode("utf-8", "surrogatepass")
        found.append(Secret(span.kind, start, start + len(inside), line))
        line += inside.count("\n")
        at, characters = span.end, start + len(inside)
    return tuple(found)


def replace_spans(data: bytes, found: tuple[SecretSpan, ...]) -> bytes:
    """Return the bytes with marks for secrets; one of several lines keeps its line feeds."""
    parts = []
    at = 0
    for span in found:
        parts += [
            data[at : span.start],
            mark_of(span.kind).encode(),
            b"\n" * data.count(b"\n", span.start, span.end),
        ]
        at = span.end
    return b"".join([*parts, data[at:]])


@dataclass(frozen=True, slots=True, order=True)
class SecretSpan:
    """A secret at bytes `[start, end)` of a text in UTF-8."""

    start: int
    end: int
    kind: str


def find_spans(data: bytes) -> tuple[SecretSpan, ...]:
    """Return the secrets in a text in UTF-8, in order, none touching another; marks are skipped."""
    found = [*_find_tokens(data), *_find_places(data), *_find_names(data)]
    if not found:
        return ()
    marks = [match.span() for match in MARK.finditer(data)]
    return tuple(join_spans(found, marks))


def of_names(data: bytes) -> tuple[SecretSpan, ...]:
    """Return what is found by its place or the name beside it alone, whatever issued it."""
    return tuple(join_spans([*_find_places(data), *_find_names(data)], []))


def _find_tokens(data: bytes) -> Iterator[SecretSpan]:
    for match, shape in _matches("tokens", data):
        start, end = match.span()
        if shape.holds is None or shape.holds(_text(data[start:end])):
            yield SecretSpan(start, end, shape.kind)


def _find_places(data: bytes) -> Iterator[SecretSpan]:
    for table in ("places", "commands"):
        for match, shape in _matches(table, data):
            start, end = match.span(match.lastindex)
            if shape.holds is None or shape.holds(_text(data[start:end])):
                yield SecretSpan(start, end, shape.kind)


def _matches(table: str, data: bytes) -> Iterator[tuple[Any, SecretShape]]:
    """Yield the matches of a table's shapes in a text; in a short one only what may match is looked for."""
    numbers = shapes_with_hints(table, data) if len(data) <= _SHORT else None
    if numbers == ():
        return
    expression, shapes = _shapes(table, numbers)
    for match in expression.finditer(data):
        yield match, shapes[match.lastindex - 1]


def _find_names(data: bytes) -> Iterator[SecretSpan]:
    if len(data) <= _SHORT and not shapes_with_hints("pairs", data):
        return
    from workbench.text.secret_values import kind_of

    expression, at = _pairs(), 0
    while match := expression.search(data, at):
        group = match.lastindex
        start, end = match.span(group)
        begin = match.start()
        before = _NAME.search(data, max(0, begin - _LONGEST_NAME), begin)
        name = _text((before[0] if before else b"") + match[1])
        separator, value = _text(match[2]), _text(data[start:end])
        after = _text(data[end : end + 1])
        if kind := kind_of(name, separator, value, quoted=group != 6, after=after):
            yield SecretSpan(start, end, kind)
        # What is no value may be the name of the next line: `jwt:` and then `secret: …`.
        at = start if kind is None and b"\n" in match[2] else end


def join_spans(found: Sequence[SecretSpan], marks: Sequence[tuple[int, int]]) -> Iterator[SecretSpan]:
    """Yield spans in order, joined where they overlap; the first family to find one names its kind."""
    order = {span: number for number, span in reversed(list(enumerate(found)))}
    waiting = iter(marks)
    mark = next(waiting, None)
    held: SecretSpan | None = None
    for span in sorted(found):
        while mark is not None and mark[1] <= span.start:
            mark = next(waiting, None)
        if mark is not None and mark[0] < span.end:
            continue
        if held is None or span.start >= held.end:
            if held is not None:
                yield held
            held = span
            continue
        kind = held.kind if order[held] <= order[span] else span.kind
        joined = SecretSpan(held.start, max(held.end, span.end), kind)
        order[joined] = min(order[held], order[span])
        held = joined
    if held is not None:
        yield held


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


@lru_cache(maxsize=_EXPRESSIONS)
def _shapes(table: str, numbers: tuple[int, ...] | None) -> tuple[Any, tuple[SecretShape, ...]]:
    """Return the shapes of a table with these numbers, all of them by default, and their expression."""
    from workbench.text.secret_values import secret_shapes

    shapes = secret_shapes(table)
    if numbers is not None:
        shapes = tuple(shapes[number] for number in numbers)
    if table == "tokens":  # which are all that matches; others have the only group
        return _compile("|".join(f"({shape.expression})" for shape in shapes)), shapes
    return _compile("(?i)" + "|".join(shape.expression for shape in shapes)), shapes


@cache
def _pairs() -> Any:  # noqa: ANN401 - re2 has no types
    from workbench.text.secret_values import EXPRESSION

    return _compile(f"(?i){EXPRESSION}")


def _compile(expression: str) -> Any:  # noqa: ANN401 - re2 has no types
    import re2

    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.max_mem = _MEMORY
    options.log_errors = False
    return re2.compile(expression.encode(), options=options)
