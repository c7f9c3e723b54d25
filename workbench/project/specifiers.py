"""Import specifiers as written in a source file, found by pattern.

Patterns find imports at any depth (inside functions, conditionals, lazy loaders) at a fraction of a tree
query's cost; the caller may hand in a test that says which hits lie in comments or strings. Specifiers keep
the language's own spelling, normalised where one statement names many things: `from a import (b, c)` gives
`a.b` and `a.c`. Where files use each other's types without an import, the names of types a file mentions
count as specifiers.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from sys import intern

MAX_IMPORTS = 400
MAX_SPECIFIER = 200
MAX_MENTIONS = 120

IsCode = Callable[[int], bool]
"""Whether the byte at an offset is code: neither in a comment nor in a string."""

_PYTHON = re.compile(
    rb"^[ \t]*(?:from[ \t]++(?P<base>\.*+(?:[ \t]*+(?!import\b)[\w.]++)?)[ \t]++import[ \t]*+"
    rb"(?P<names>\(|(?:[^\n;#\\]|\\\r?\n)+)|import[ \t]++(?P<plain>(?:[^\n;#\\]|\\\r?\n)+))",
    re.MULTILINE,
)
_COMMENT = re.compile(r"#[^\n]*")
_JAVASCRIPT = re.compile(
    rb"""(?:\bfrom\s*|\bimport\s*(?:\(\s*)?|\brequire(?:\.resolve)?\s*\(\s*|\bimport\s+\w+\s*=\s*require\s*\(\s*)"""
    rb"""(?:/\*[^*\n]*\*/\s*)?["']([^"'\n\\]{1,200})["']"""
)
_RUST_USE = re.compile(rb"^[ \t]*(?:pub(?:\([^()]*\))?[ \t]+)?use[ \t]+", re.MULTILINE)
_RUST_MOD = re.compile(rb"^[ \t]*(?:pub(?:\([^()]*\))?[ \t]+)?mod[ \t]+(\w+)[ \t]*;", re.MULTILINE)
_GO_BLOCK = re.compile(rb"^import[ \t]*(?:(\()|(?:[\w.]+[ \t]+)?(\"[^\"\n]+\"))", re.MULTILINE)
_LONGEST = {b")": 20_000, b";": 4_000}
"""Bytes of what ends with a sign, which is looked for behind what began it."""
_GO_PATH = re.compile(rb"^[^/\n]*?[\"`]([^\"`\n]+)[\"`]", re.MULTILINE)
_RUBY = re.compile(
    rb"^[ \t]*(?:(?P<relative>require_relative)|require|load|(?:\w+\.)?autoload[ \t(]+:?\w+[ \t]*,)"
    rb"[ \t(]*[\"'](?P<path>[^\"'\n#]+)[\"']",
    re.MULTILINE,
)

_MENTION = re.compile(r"(?<![\w.@])[A-Z][A-Za-z0-9]*[a-z][A-Za-z0-9]*(?:::[A-Z][A-Za-z0-9]*)*")
_NOT_MENTIONED = {
    "c-like": re.compile(rb"//[^\n]*|/\*|(?<!\\)\"(?:[^\"\\\n]|\\.)*\"", re.DOTALL),
    # The names a file defines are no mentions.
    "ruby": re.compile(
        rb"^[ \t]*(?:module|class)[ \t]+[\w:]+|#(?!\{)[^\n]*"
        rb"|(?<!\\)'(?:[^'\\\n]|\\.)*'|(?<!\\)\"(?:[^\"\\\n]|\\.)*\"",
        re.MULTILINE,
    ),
}
# Files of these languages use each other's types without importing them: those of the same package,
# those of any namespace in scope, or whatever an autoloader finds.
_SEE_TYPES = {
    "java": "c-like",
    "kotlin": "c-like",
    "scala": "c-like",
    "csharp": "c-like",
    "swift": "c-like",
    "ruby": "ruby",
}
_CORE_TYPES = frozenset(
    """
    Override String Object List Map Set Integer Long Boolean Double Float Exception Class Test Array Hash File
    Dir Time Date Symbol Regexp Struct Module Kernel Proc Range Comparable Enumerable StandardError
    ArgumentError IOError NotImplementedError RuntimeError NoMethodError Process Thread Mutex Logger Int Bool
    Any Unit Nothing Void Deprecated SuppressWarnings Nullable Iterator Iterable Collection Collections
    ArrayList HashMap Arrays Objects Optional Stream Collectors System Math Throwable Error Type Character
    Byte Short Number Runnable Callable Self Task Console Action Func Guid Char Encoding Etc Fiber Marshal
    Method Rational Complex Random Signal Warning
    """.split()
)
_PATTERNS = Path(__file__).with_name("specifiers.toml")


def import_specifiers(language: str, data: bytes, is_code: IsCode | None = None) -> tuple[str, ...]:
    """Return the distinct specifiers a file imports, in order of appearance, at most MAX_IMPORTS."""
    finder = _FINDERS.get(language)
    if finder is not None:
        found = finder(data, is_code)
    else:
        pattern = _pattern(language)
        if pattern is None:
            return ()
        found = _simple(pattern, data, is_code)
    distinct = dict.fromkeys(intern(spec) for spec in found if 0 < len(spec) <= MAX_SPECIFIER)
    if language in _SEE_TYPES:
        distinct.update(dict.fromkeys(_mentions(_SEE_TYPES[language], data)))
    return tuple(distinct)[:MAX_IMPORTS]


def _mentions(syntax: str, data: bytes) -> list[str]:
    """Names of types outside comments and strings, at most MAX_MENTIONS."""
    text = b" ".join(_mentioning(_NOT_MENTIONED[syntax], data)).decode("utf-8", "replace")
    distinct = dict.fromkeys(_MENTION.findall(text))
    return [intern(name) for name in distinct if name not in _CORE_TYPES][:MAX_MENTIONS]


def _mentioning(left_out: re.Pattern[bytes], data: bytes) -> Iterator[bytes]:
    """Yield the parts of a file between comments and strings; a comment that never ends is none."""
    at = begin = 0
    ends = True
    while (found := left_out.search(data, at)) is not None:
        at = found.end()
        if found[0] == b"/*":
            end = data.find(b"*/", at) if ends else -1
            ends = end >= 0
            if not ends:
                at = found.start() + 1
                continue
            at = end + 2
        yield data[begin : found.start()]
        begin = at
    yield data[begin:]


def _until(sign: bytes, data: bytes, begin: int) -> bytes | None:
    """Return what is before the next such sign, None if it is too far."""
    end = data.find(sign, begin, begin + _LONGEST[sign] + 1)
    return data[begin:end] if end >= 0 else None


@cache
def _table() -> dict[str, dict[str, str]]:
    return tomllib.loads(_PATTERNS.read_text(encoding="utf-8"))


@cache
def _pattern(language: str) -> re.Pattern[bytes] | None:
    table = _table()
    pattern = table["patterns"].get(table["same"].get(language, language))
    return re.compile(pattern.encode(), re.MULTILINE) if pattern else None


def _simple(pattern: re.Pattern[bytes], data: bytes, is_code: IsCode | None) -> list[str]:
    found = []
    for match in pattern.finditer(data):
        if is_code is None or is_code(_keyword(match)):
            group = next((value for value in match.groups() if value is not None), b"")
            found.append(group.decode("utf-8", "replace").strip().strip('"'))
    return found


def _keyword(match: re.Match[bytes]) -> int:
    """Offset of the first character of a match that is no white space."""
    text = match.group()
    return match.start() + len(text) - len(text.lstrip())


def _python(data: bytes, is_code: IsCode | None) -> list[str]:
    found: list[str] = []
    for match in _PYTHON.finditer(data):
        if is_code is not None and not is_code(_keyword(match)):
            continue
        plain = match.group("plain")
        if plain is not None:
            found += [name.split(" as ")[0].strip() for name in _names(plain)]
            continue
        base = match.group("base").decode("utf-8", "replace").replace(" ", "").replace("\t", "")
        joint = "" if not base or base.endswith(".") else "."
        names = match.group("names")
        if names == b"(":
            names = _until(b")", data, match.end()) or b""
        for name in _names(names):
            name = name.split(" as ")[0].strip()
            found.append(base if name == "*" else f"{base}{joint}{name}")
    return [spec for spec in found if spec and " " not in spec]


def _names(source: bytes) -> list[str]:
    text = _COMMENT.sub("", source.decode("utf-8", "replace")).replace("\\\n", " ").replace("\\\r\n", " ")
    return [" ".join(part.split()) for part in text.strip("() \t\r\n").split(",") if part.strip()]


def _javascript(data: bytes, is_code: IsCode | None) -> list[str]:
    return [
        match.group(1).decode("utf-8", "replace")
        for match in _JAVASCRIPT.finditer(data)
        if is_code is None or is_code(match.start())
    ]


def _rust(data: bytes, is_code: IsCode | None) -> list[str]:
    found = [
        f"self::{match.group(1).decode()}"
        for match in _RUST_MOD.finditer(data)
        if is_code is None or is_code(_keyword(match))
    ]
    for match in _RUST_USE.finditer(data):
        if is_code is None or is_code(_keyword(match)):
            paths = _expand((_until(b";", data, match.end()) or b"").decode("utf-8", "replace"))
            if data[match.start() : match.start() + 1] in (b" ", b"\t"):
                # Inside an inline module, mostly `mod tests`, `super` is the file itself.
                paths = [f"self{path[5:]}" if path.startswith("super") else path for path in paths]
            found += paths
    return found


def _expand(tree: str) -> list[str]:
    """Expand a use tree: `a::{b, c::{d, self}}` gives a::b, a::c::d and a::c."""
    text = "".join(re.sub(r"\bas\s+\w+|//[^\n]*|/\*(?:(?!/\*).)*?\*/", "", tree, flags=re.DOTALL).split())
    found: list[str] = []
    prefixes = [""]
    word = ""
    for char in text + ",":
        if char == "{":
            prefixes.append(prefixes[-1] + word)
            word = ""
        elif char in ",}":
            if word:
                path = (prefixes[-1] + word).removesuffix("::self").removesuffix("::*")
                found.append(path.removeprefix("::"))
            word = ""
            if char == "}" and len(prefixes) > 1:
                prefixes.pop()
        else:
            word += char
    return found


def _go(data: bytes, is_code: IsCode | None) -> list[str]:
    found = []
    for match in _GO_BLOCK.finditer(data):
        if is_code is None or is_code(match.start()):
            block = match.group(2) if match.group(1) is None else _until(b")", data, match.end()) or b""
            found += [path.group(1).decode("utf-8", "replace") for path in _GO_PATH.finditer(block)]
    return found


def _ruby(data: bytes, is_code: IsCode | None) -> list[str]:
    found = []
    for match in _RUBY.finditer(data):
        if is_code is None or is_code(_keyword(match)):
            path = match.group("path").decode("utf-8", "replace")
            relative = match.group("relative") is not None and not path.startswith(("./", "../"))
            found.append(f"./{path}" if relative else path)
    return found


_FINDERS: dict[str, Callable[[bytes, IsCode | None], list[str]]] = {
    "python": _python,
    "cython": _python,
    "javascript": _javascript,
    "typescript": _javascript,
    "tsx": _javascript,
    "vue": _javascript,
    "svelte": _javascript,
    "astro": _javascript,
    "rust": _rust,
    "go": _go,
    "ruby": _ruby,
}
