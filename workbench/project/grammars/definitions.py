"""Definitions of a source file, found by queries: one file of patterns a language, beside this module.

The patterns are written in the manner of tree-sitter's `tags.scm`. They are run on the children of one node
at a time (the file, the body of a class, the branch of an `if`) and never on the statements of a function, so
their cost is a small part of parsing. Of several patterns that capture a name the first in the file counts.

`@definition.KIND` is a definition and `@name` its name. Its signature ends before `@body`, or with `@last`;
its lines begin at `@lines` (a decorated definition) or at the first `@attribute` right above, and are those
of `@group` if it is alone in that. `@modifiers` are its keywords and annotations, `@parent` is the type it
belongs to if that is elsewhere. In `@members` and `@scope` are further definitions of which it is the parent;
functions among members are methods. What is `@inside` counts as a part of what surrounds it.

Settings: `exported` (always, or with an attribute of that name) and `members` (`public`, `inherited`) decide
who sees a definition or its members, `once` that a name counts once in a scope, `among` whether the pattern
asks for `members` or `others`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from operator import attrgetter
from threading import local
from typing import TYPE_CHECKING

from workbench.records.project import Symbol

if TYPE_CHECKING:
    from tree_sitter import Language, Node, Query, QueryCursor

MAX_DEPTH = 24  # containers nested deeper than this hold no definitions anyone looks for
MAX_SIGNATURE = 200
MAX_NAME = 120
MAX_SYMBOLS = 2_000
_SPACE = re.compile(r"\s+")
_TAIL = " \t{:=,;(["
_COMMENTS = re.compile(rb"(?:\s|//[^\n]*+|(?>/\*.*?\*/))*+", re.DOTALL)
_AMONG = {None: None, "members": True, "others": False}
_DEFINITION = re.compile(rb"@definition\.(\w+)")
_TYPE_NAME = re.compile(r"(?<!\w)(\w+)\s*(?:<.*)?$", re.DOTALL)
_ANNOTATIONS = frozenset({"annotation", "marker_annotation", "line_comment", "block_comment"})

Captures = dict[str, "list[Node]"]


class OutdatedQuery(Exception):
    """A grammar of another version has other names than the query for its language."""


@dataclass(slots=True)
class Definitions:
    """Definitions found so far in `data`, in the order they were added."""

    data: bytes
    symbols: list[Symbol] = field(default_factory=list)

    @property
    def full(self) -> bool:
        """Whether the bound on symbols per file is reached."""
        return len(self.symbols) >= MAX_SYMBOLS

    def text(self, node: Node | None) -> str:
        """Return the source of a node, '' for None."""
        if node is None:
            return ""
        return self.data[node.start_byte : node.end_byte].decode("utf-8", "replace")

    def add(  # noqa: PLR0913 - what a definition is made of
        self,
        name: str,
        kind: str,
        node: Node,
        *,
        first: Node | None = None,
        head: Node | None = None,
        body: Node | None = None,
        last: Node | None = None,
        parent: str = "",
        exported: bool = True,
    ) -> None:
        """Add a definition.

        node: the definition; first: where its lines begin if earlier (a decorator); head: where the signature
        begins if not at `node`; body: before which it ends, last: with which it ends, if not with `node`.
        """
        if not name or self.full:
            return
        begin = (head or node).start_byte
        stop = node.end_byte
        if last is not None:
            stop = last.end_byte
        elif body is not None:
            stop = body.start_byte
        if kind == "constant":
            line_break = self.data.find(b"\n", begin, stop)
            stop = line_break if line_break > 0 else stop
        self.symbols.append(
            Symbol(
                name=name[:MAX_NAME],
                kind=kind,
                line=(first or node).start_point[0] + 1,
                end_line=end_line(node),
                signature=one_line(self.data[begin : min(stop, begin + 4 * MAX_SIGNATURE)]),
                parent=parent[:MAX_NAME],
                exported=exported,
            )
        )


def one_line(source: bytes) -> str:
    """Return source as one line of at most MAX_SIGNATURE characters, without the opening of a body."""
    text = _SPACE.sub(" ", source.decode("utf-8", "replace")).strip().rstrip(_TAIL)
    if len(text) > MAX_SIGNATURE:
        return text[: MAX_SIGNATURE - 1].rstrip() + "…"
    return text


def end_line(node: Node) -> int:
    """Return the 1-based last line of a node; one that ends before column 0 ends on the line above."""
    row, column = node.end_point
    return row + 1 if column or row == node.start_point[0] else row


def first_named(node: Node) -> Node | None:
    """Return the first named child, None if there is none."""
    return node.named_child(0) if node.named_child_count else None


@dataclass(frozen=True, slots=True)
class _Pattern:
    """What is known of a pattern before it matches. `capture` is '' where it defines nothing."""

    capture: str
    kind: str
    settings: dict[str, str | None]
    members: bool | None  # whether it asks for members, None if for either


@dataclass(slots=True)
class _Scope:
    """Where definitions are looked for. `visibility` is what its members have, '' where they say it."""

    parent: str = ""
    members: bool = False
    visibility: str = ""
    names: set[str] = field(default_factory=set)


def collect(language: str, grammar: Language, root: Node, found: Definitions) -> None:
    """Collect the definitions that the query of a language finds in a file. Raises: OutdatedQuery."""
    _Reader(language, grammar, found).visit(root, _Scope(), 0)


class _Reader:
    """The reading of one file."""

    def __init__(self, language: str, grammar: Language, found: Definitions) -> None:
        self._cursor, self._patterns = _cursor(language, grammar)
        self._language = language
        self._found = found

    def visit(self, block: Node, scope: _Scope, depth: int, lines: Node | None = None) -> None:
        """Collect what the children of a node define, and what is inside of those."""
        if depth > MAX_DEPTH or self._found.full:
            return
        attributes: list[Node] = []
        for pattern, captures in self._matches(block, scope):
            if pattern.capture:
                node = captures[pattern.capture][0]
                first = lines or self._first(attributes, node)
                self._define(pattern, captures, scope, depth, first)
                attributes = []
            elif "attribute" in captures:
                node = captures["attribute"][0]
                attributes = [*attributes, node] if self._first(attributes, node) else [node]
            elif "inside" in captures and captures["inside"][0] != block:
                self.visit(captures["inside"][0], scope, depth + 1)
            elif "lines" in captures and captures["lines"][0] != block:
                self.visit(captures["lines"][0], scope, depth, captures["lines"][0])

    def _matches(self, block: Node, scope: _Scope) -> list[tuple[_Pattern, Captures]]:
        """Return what the patterns match among the children, one match a name."""
        names: dict[int, int] = {}
        matches: list[tuple[int, Captures]] = []
        for number, captures in self._cursor.matches(block):
            asked = self._patterns[number].members
            if asked is not None and asked is not scope.members:
                continue
            name = captures.get("name")
            if name is not None:
                place = names.setdefault(name[0].start_byte, len(matches))
                if place < len(matches):
                    if number < matches[place][0]:
                        matches[place] = (number, captures)
                    continue
            matches.append((number, captures))
        return [(self._patterns[number], captures) for number, captures in matches]

    def _first(self, attributes: list[Node], node: Node) -> Node | None:
        """Return the first of attributes if nothing but comments is between the last one and a node."""
        if not attributes:
            return None
        between = self._found.data[attributes[-1].end_byte : node.start_byte]
        return attributes[0] if _COMMENTS.fullmatch(between) else None

    def _define(
        self, pattern: _Pattern, captures: Captures, scope: _Scope, depth: int, first: Node | None
    ) -> None:
        found, settings = self._found, pattern.settings
        node = captures[pattern.capture][0]
        name = found.text(captures["name"][0])
        if pattern.kind == "impl":
            name = _type_name(name)
        if "once" in settings:
            if name in scope.names:
                return
            scope.names.add(name)
        if "group" in captures and captures["group"][0].named_child_count == 1:
            node = captures["group"][0]
        exported = self._exports(pattern, captures, scope, name, first)
        body, last, parent = captures.get("body"), captures.get("last"), captures.get("parent")
        found.add(
            name,
            "method" if pattern.kind == "function" and scope.members else pattern.kind,
            node,
            first=first,
            head=_head(captures["modifiers"][0]) if "modifiers" in captures else None,
            body=body[0] if body else None,
            last=last[-1] if last else None,
            parent=found.text(parent[0]) if parent else scope.parent,
            exported=exported,
        )
        if "members" in captures:
            shown = settings.get("members") or ""
            visibility = ("public" if exported else "private") if shown == "inherited" else shown
            self.visit(captures["members"][0], _Scope(name, True, visibility), depth + 1)
        elif "scope" in captures:
            self.visit(captures["scope"][0], _Scope(name), depth + 1)

    def _exports(
        self, pattern: _Pattern, captures: Captures, scope: _Scope, name: str, first: Node | None
    ) -> bool:
        if "exported" in pattern.settings:
            word = pattern.settings["exported"]
            attributes = self._found.data[first.start_byte : captures["name"][0].start_byte] if first else b""
            return word is None or word.encode() in attributes
        if scope.visibility:
            return scope.visibility == "public"
        return _EXPORTED[self._language](name, captures)


def _type_name(text: str) -> str:
    """Return the last part of a qualified type without its arguments: `fmt::Wrapper<'a, T>` is `Wrapper`."""
    match = _TYPE_NAME.search(text.split("<", 1)[0].strip())
    return match.group(1) if match else text.strip()


def _head(modifiers: Node) -> Node | None:
    """Return where a signature begins: at the first keyword, behind the annotations."""
    kinds = [child.type in _ANNOTATIONS for child in modifiers.children]
    if False not in kinds:
        return modifiers.next_sibling
    words = [child for child in modifiers.children if child.type not in _ANNOTATIONS]
    return words[-1] if True in kinds[kinds.index(False) :] else words[0]


def _is_public(name: str) -> bool:
    """Whether a name is public by Python's convention: no leading underscore, or two on both sides."""
    return not name.startswith("_") or (name.startswith("__") and name.endswith("__"))


def _has_public_modifier(captures: Captures) -> bool:
    words = captures["modifiers"][0].children if "modifiers" in captures else ()
    return any(word.type in ("public", "protected") for word in words)


# Whether a definition is exported, by language, where neither its pattern nor what surrounds it decides.
_EXPORTED: dict[str, Callable[[str, Captures], bool]] = {
    "python": lambda name, _: _is_public(name),
    "go": lambda name, _: name[:1].isupper(),
    "java": lambda _, captures: _has_public_modifier(captures),
    "rust": lambda _, captures: "public" in captures,
}
_LOCAL = local()


def _cursor(language: str, grammar: Language) -> tuple[QueryCursor, list[_Pattern]]:
    """Return this thread's cursor for the query of a language, and what its patterns say."""
    cursors: dict[str, QueryCursor] = _LOCAL.__dict__.setdefault("cursors", {})
    query, patterns = _query(language, grammar)
    if language not in cursors:
        from tree_sitter import QueryCursor

        cursors[language] = QueryCursor(query)
        cursors[language].set_max_start_depth(1)
    return cursors[language], patterns


@lru_cache(maxsize=16)
def _query(language: str, grammar: Language) -> tuple[Query, list[_Pattern]]:
    from importlib.resources import files

    from tree_sitter import Query, QueryError

    source = (files("workbench") / "project/grammars" / f"{language}.scm").read_bytes()
    try:
        query = Query(grammar, source.decode())
    except QueryError as error:
        raise OutdatedQuery(language) from error
    count: int = attrgetter("pattern_count")(query)  # a property; its stub has it for a method
    return query, [_pattern(query, number, source) for number in range(count)]


def _pattern(query: Query, number: int, source: bytes) -> _Pattern:
    text = source[query.start_byte_for_pattern(number) : query.end_byte_for_pattern(number)]
    defines = _DEFINITION.search(text)
    kind = defines.group(1).decode() if defines else ""
    settings = query.pattern_settings(number)
    return _Pattern(f"definition.{kind}" if kind else "", kind, settings, _AMONG[settings.get("among")])
