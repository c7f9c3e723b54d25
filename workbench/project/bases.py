"""What a type extends or implements, read from its signature."""

from __future__ import annotations

import re

from workbench.records.project import Symbol

_PAREN_BASES = re.compile(r"\bclass\s+\w+\s*(?:\[[^\]]*\])?\s*\((.*)\)\s*$")
_WORD_BASES = re.compile(
    r"\b(?:extends|implements|with)\s+(.+?)(?=\b(?:extends|implements|with|where|permits)\b|$)"
)
_FOR_BASES = re.compile(r"^(?:unsafe\s+)?impl(?:<.*?>)?\s+!?([\w:]+)(?:<.*>)?\s+for\s")
_COLON_BASES = re.compile(
    r"\b(?:class|struct|interface|object|enum|trait|protocol|record|actor)\s+[\w.:]+[^:]*?(?<!:):(?!:)(.+)$"
)
_LESS_BASES = re.compile(r"^class\s+[\w:]+\s*<\s*([\w:]+)")
_ARGUMENTS = re.compile(r"<[^<>]*>|\[[^\[\]]*\]|\([^()]*\)")
_BASE_NAME = re.compile(r"[A-Za-z_][\w.:]*")
_NOT_BASES = frozenset(
    {"public", "private", "protected", "virtual", "metaclass", "Sized", "typename", "where"}
)


def bases(symbol: Symbol) -> tuple[str, ...]:
    """Return the types a type extends or implements, read from its signature; () where it names none."""
    signature = symbol.signature
    if symbol.kind not in ("class", "type", "impl"):
        return ()
    for pattern in (_PAREN_BASES, _FOR_BASES, _LESS_BASES):
        match = pattern.search(signature)
        if match:
            return _base_names(match.group(1))
    plain = _without_arguments(signature)
    found = [name for match in _WORD_BASES.finditer(plain) for name in _base_names(match.group(1))]
    if not found:
        match = _COLON_BASES.search(plain)
        found = list(_base_names(match.group(1))) if match else []
    return tuple(dict.fromkeys(found))


def _base_names(text: str) -> tuple[str, ...]:
    """The names of a list of types without their arguments: `Base[T], metaclass=M, ns::Other<K>`."""
    names = []
    for part in re.split(r"[,+&]", _without_arguments(text)):
        if "=" in part:
            continue
        words = [word for word in _BASE_NAME.findall(part) if word not in _NOT_BASES]
        names += words[-1:]
    return tuple(dict.fromkeys(names))


def _without_arguments(text: str) -> str:
    for _ in range(4):
        text = _ARGUMENTS.sub("", text)
    return text
