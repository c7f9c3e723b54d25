"""The definitions and imports of one source file, in whatever language it is written.

Languages with a grammar are parsed by tree-sitter; others, files too large to parse, and sources the grammar
makes nothing of go through patterns. Prose gives its sections and configuration its keys. Content is never
trusted: broken syntax, any bytes and any nesting give fewer symbols, never an error.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import replace
from functools import lru_cache
from importlib import import_module
from itertools import accumulate
from threading import Lock, local
from typing import TYPE_CHECKING
from warnings import catch_warnings, simplefilter

from workbench.project.grammars import c, javascript, ruby
from workbench.project.grammars.definitions import MAX_SYMBOLS, Definitions, OutdatedQuery, collect
from workbench.project.patterns import (
    CONFIG_WITH_KEYS,
    PROSE_WITH_SECTIONS,
    find_keys,
    find_sections,
    pattern_symbols,
)
from workbench.project.specifiers import IsCode, import_specifiers
from workbench.records.project import Symbol

if TYPE_CHECKING:
    from tree_sitter import Language, Node, Parser

MAX_PARSE_BYTES = 1_500_000  # larger sources are generated; patterns look at their head
MAX_PATTERN_BYTES = 400_000
LARGE_BYTES = 100_000
# Error recovery is quadratic: content of another language could take minutes. Sound code needs less than a
# tenth of these, so that only such content meets the limit.
PARSE_MICROS = 500_000
PARSE_MICROS_LARGE = 3_000_000
_LONG_LINES = 3_000  # bytes a line on average, beyond which a file is minified

Extracted = tuple[tuple[Symbol, ...], tuple[str, ...]]

# language: (module of the wheel, its function)
_GRAMMARS = {
    "python": ("tree_sitter_python", "language"),
    "javascript": ("tree_sitter_javascript", "language"),
    "typescript": ("tree_sitter_typescript", "language_typescript"),
    "tsx": ("tree_sitter_typescript", "language_tsx"),
    "rust": ("tree_sitter_rust", "language"),
    "go": ("tree_sitter_go", "language"),
    "java": ("tree_sitter_java", "language"),
    "c": ("tree_sitter_c", "language"),
    "cpp": ("tree_sitter_cpp", "language"),
    "ruby": ("tree_sitter_ruby", "language"),
}
_TRUSTED = frozenset({"python", "javascript", "typescript", "tsx", "rust", "go", "java"})
"""Languages whose grammar reads what their compilers do: a preprocessor hides the others' structure."""
# The languages whose definitions no query finds; the others have one.
_WALKS = {
    "javascript": javascript.collect,
    "typescript": javascript.collect,
    "tsx": javascript.collect,
    "c": c.collect,
    "cpp": c.collect,
    "ruby": ruby.collect,
}
_SCRIPT = re.compile(rb"<script\b([^<>]{0,300})>", re.IGNORECASE)
_FRONT_SCRIPT = re.compile(rb"\A---[ \t]*\r?\n(.*?)^---", re.DOTALL | re.MULTILINE)
_CPP_HEADER = re.compile(
    rb"^[ \t]*(?:class[ \t]+\w[^;\n]*$|namespace\b|template[ \t]*<|using[ \t]+\w+"
    rb"|public:|private:|protected:)",
    re.MULTILINE,
)
_NOT_CODE = ("comment", "string", "heredoc", "template", "regex")


def extract_symbols(language: str, data: bytes) -> Extracted:
    """Return (definitions in line order, import specifiers as written) of one file. Never raises on content.

    Definitions have 1-based inclusive line ranges that begin at the first decorator, attribute or annotation;
    comments above them are not included. Functions inside functions are left out. At most 2,000 symbols.
    """
    if not data or not language:
        return (), ()
    data = _as_utf8(data)
    if language in ("vue", "svelte", "astro"):
        return _component(data)
    if language == "c" and _CPP_HEADER.search(data) and b"__cplusplus" not in data:
        language = "cpp"
    if language in _GRAMMARS:
        return _by_grammar(language, data)
    if language in PROSE_WITH_SECTIONS:
        head = data[:MAX_PATTERN_BYTES]
        return find_sections(language, head.decode("utf-8", "replace")), import_specifiers(language, head)
    if language in CONFIG_WITH_KEYS:
        return find_keys(language, data[:MAX_PATTERN_BYTES].decode("utf-8", "replace")), ()
    return _by_pattern(language, data)


def first_error(language: str, data: bytes) -> int:
    """Return the first line that a grammar cannot read, 1-based; 0 where all parses or none is trusted."""
    if language not in _TRUSTED or len(data) > LARGE_BYTES:
        return 0
    node = _parse(language, _as_utf8(data))
    if node is None or not node.has_error:
        return 0
    while not (node.is_error or node.is_missing):
        inner = next((child for child in node.children if child.has_error or child.is_missing), None)
        if inner is None:
            break
        node = inner
    return int(node.start_point[0]) + 1


def _as_utf8(data: bytes) -> bytes:
    """Return the content as UTF-8 without its byte order mark."""
    if data.startswith(b"\xef\xbb\xbf"):
        return data[3:]
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "replace").encode("utf-8", "replace")
    return data


def _by_pattern(language: str, data: bytes) -> Extracted:
    head = data[:MAX_PATTERN_BYTES]
    if len(head) > _LONG_LINES * (head.count(b"\n") + 1):
        return (), import_specifiers(language, head)
    return pattern_symbols(language, head), import_specifiers(language, head)


def _by_grammar(language: str, data: bytes) -> Extracted:
    if len(data) > MAX_PARSE_BYTES or len(data) > _LONG_LINES * (data.count(b"\n") + 1):
        return _by_pattern(language, data)
    root = _parse(language, data)
    if root is None:
        return _by_pattern(language, data)
    found = Definitions(data)
    try:
        if language in _WALKS:
            _WALKS[language](root, found)
        else:
            collect(language, _language(language), root, found)
    except OutdatedQuery:
        return _by_pattern(language, data)
    symbols = tuple(sorted(found.symbols, key=lambda symbol: (symbol.line, -symbol.end_line)))[:MAX_SYMBOLS]
    if root.has_error:
        by_pattern = pattern_symbols(language, data[:MAX_PATTERN_BYTES])
        symbols = _complete(symbols, by_pattern, _margins(language, data))
    return symbols, import_specifiers(language, data, _code_test(root))


def _complete(
    symbols: tuple[Symbol, ...], by_pattern: tuple[Symbol, ...], margins: frozenset[int]
) -> tuple[Symbol, ...]:
    """Add what patterns find where the grammar found nothing, or take their word if it found next to nothing.

    margins: 1-based lines that begin at the left margin, where a function that begins there ends
    any other; braces that a preprocessor would balance make the grammar swallow the functions that follow.
    """
    if len(by_pattern) > 2 * len(symbols):
        return by_pattern
    heads = {symbol.line: symbol for symbol in by_pattern if symbol.line in margins}
    symbols = tuple(_shorten(symbol, heads) for symbol in symbols)
    starts = [symbol.line for symbol in symbols]
    furthest = list(accumulate((symbol.end_line for symbol in symbols), max))
    added = []
    for symbol in by_pattern:
        before = bisect_right(starts, symbol.end_line)
        if symbol.kind != "constant" and (before == 0 or furthest[before - 1] < symbol.line):
            added.append(symbol)
    merged = sorted((*symbols, *added), key=lambda symbol: (symbol.line, -symbol.end_line))
    return tuple(merged[:MAX_SYMBOLS])


def _shorten(symbol: Symbol, heads: dict[int, Symbol]) -> Symbol:
    """A function at the margin that seems to contain another one ends where its pattern says."""
    own = heads.get(symbol.line)
    if symbol.kind != "function" or own is None or own.end_line >= symbol.end_line:
        return symbol
    inside = any(
        own.end_line < line <= symbol.end_line for line, other in heads.items() if other.kind == "function"
    )
    return replace(symbol, end_line=own.end_line) if inside else symbol


def _margins(language: str, data: bytes) -> frozenset[int]:
    if language not in ("c", "cpp"):
        return frozenset()
    lines = data[:MAX_PATTERN_BYTES].split(b"\n")
    return frozenset(
        number for number, line in enumerate(lines, start=1) if line[:1] not in (b"", b" ", b"\t")
    )


def _code_test(root: Node) -> IsCode:
    def is_code(offset: int) -> bool:
        node = root.descendant_for_byte_range(offset, offset + 1)
        return node is None or not any(word in node.type for word in _NOT_CODE)

    return is_code


@lru_cache(maxsize=16)
def _language(name: str) -> Language:
    from tree_sitter import Language

    module, function = _GRAMMARS[name]
    return Language(getattr(import_module(module), function)())


def _parse(language: str, data: bytes) -> Node | None:
    """Return the root of the syntax tree, None if the parser gave up."""
    parser = _parser(language, len(data) > LARGE_BYTES)
    try:
        return parser.parse(data).root_node
    except ValueError:
        parser.reset()
        return None


_LOCAL = local()
_WARNINGS = Lock()


def _parser(language: str, large: bool) -> Parser:
    """Return this thread's parser for a language."""
    parsers: dict[tuple[str, bool], Parser] = _LOCAL.__dict__.setdefault("parsers", {})
    key = (language, large)
    if key not in parsers:
        from tree_sitter import Parser

        parser = Parser(_language(language))
        with _WARNINGS, catch_warnings():
            # The successor of this setting, a progress callback, crashes the interpreter in tree-sitter 0.25.
            simplefilter("ignore", DeprecationWarning)
            setattr(parser, "timeout_micros", PARSE_MICROS_LARGE if large else PARSE_MICROS)  # noqa: B010
        parsers[key] = parser
    return parsers[key]


def _component(data: bytes) -> Extracted:
    """The script blocks of a single-file component, everything else blanked so that lines stay in place."""
    blank = bytearray(re.sub(rb"[^\r\n]", b" ", data))
    language = "javascript"
    spans: list[tuple[int, int]] = []
    opening = _SCRIPT.search(data)
    while opening:
        end = data.find(b"</script", opening.end())
        if end < 0:
            break
        spans.append((opening.end(), end))
        if b"ts" in opening.group(1):
            language = "typescript"
        opening = _SCRIPT.search(data, end)
    front = _FRONT_SCRIPT.match(data)
    if front:
        spans.append((front.start(1), front.end(1)))
        language = "typescript"
    if not spans:
        return (), ()
    for start, end in spans:
        blank[start:end] = data[start:end]
    return _by_grammar(language, bytes(blank))
