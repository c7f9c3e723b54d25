"""Definitions by pattern, for languages without a grammar and for sources a grammar cannot make sense of.

A definition ends where its indentation says so: at the closing bracket or `end` on its own level, or before
the next line that is indented no deeper.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from itertools import accumulate

from workbench.project.grammars.definitions import MAX_NAME, MAX_SYMBOLS, one_line
from workbench.records.project import Symbol

_MODS = (
    r"(?:(?:public|private|protected|internal|static|final|abstract|sealed|open|override|virtual|async|partial|"
    r"readonly|export|default|inline|suspend|data|inner|extern|unsafe|const|new|implicit|lazy|mutating|fileprivate|"
    r"@\w+(?:\([^)\n]*\))?)[ \t]+)*"
)
_PRIVATE = re.compile(r"\b(?:private|fileprivate|defp|local)\b")


def _rules(*pairs: tuple[str, str]) -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple((kind, re.compile(pattern, re.MULTILINE)) for kind, pattern in pairs)


_BRACES_CLASS = (
    "class",
    rf"^[ \t]*{_MODS}(?:class|struct|enum(?:[ \t]+class)?|record|union|actor)[ \t]+(\w+)",
)
_BRACES_TYPE = ("type", rf"^[ \t]*{_MODS}(?:interface|trait|protocol|typealias|typedef|extension)[ \t]+(\w+)")
_JAVA_METHOD = (
    "function",
    rf"^[ \t]+{_MODS}(?!(?:return|new|throw|else|await|case|goto|using|yield|in|is)\b)"
    r"[\w.<>\[\]?,]+(?:[ \t]*<[^<>\n]*>)?[ \t]+(\w+)[ \t]*(?:<[^>\n]*>)?"
    r"\((?:[^;{}\n]*\)[^;{}\n]*(?:(?:\{|=>)[^\n]*)?|[^;{}()\n]*)$",
)
_CREATE = r"(?i)^[ \t]*create[ \t]+(?:or[ \t]+replace[ \t]+)?"
_PYTHON = _rules(
    ("class", r"^[ \t]*(?:cdef[ \t]+)?class[ \t]+(\w+)"),
    (
        "function",
        r"^[ \t]*(?:async[ \t]+)?(?:def|cp?def[ \t]+[\w.\[\]* ]*?)[ \t]*\b(\w+)[ \t]*\(",
    ),
    ("constant", r"^([A-Z][A-Z0-9_]+)[ \t]*(?::[^=\n]+)?=(?!=)"),
)
_JAVASCRIPT = _rules(
    ("class", r"^[ \t]*(?:export[ \t]+)?(?:default[ \t]+)?(?:abstract[ \t]+)?(?:class|enum)[ \t]+(\w+)"),
    ("type", r"^[ \t]*(?:export[ \t]+)?(?:declare[ \t]+)?(?:interface|type|namespace)[ \t]+(\w+)"),
    ("function", r"^[ \t]*(?:export[ \t]+)?(?:default[ \t]+)?(?:async[ \t]+)?function[ \t]*\*?[ \t]*(\w+)"),
    (
        "function",
        r"^(?:export[ \t]+)?(?:const|let|var)[ \t]+(\w+)[^=\n]{0,80}=[ \t]*(?:async[ \t]*)?"
        r"(?:function\b|\([^)\n]{0,200}\)[^=\n]{0,80}=>|\w+[ \t]*=>)",
    ),
    ("constant", r"^(?:export[ \t]+)?(?:const|let|var)[ \t]+(\w+)"),
)
_RUBY = _rules(
    ("module", r"^[ \t]*module[ \t]+([\w:]+)"),
    ("class", r"^[ \t]*class[ \t]+([\w:]+)"),
    ("function", r"^[ \t]*def[ \t]+(?:self\.)?([\w?!=\[\]+*/<>-]+)"),
)
RULES: dict[str, tuple[tuple[str, re.Pattern[str]], ...]] = {
    "python": _PYTHON,
    "cython": _PYTHON,
    "javascript": _JAVASCRIPT,
    "typescript": _JAVASCRIPT,
    "tsx": _JAVASCRIPT,
    "ruby": _RUBY,
    "rust": _rules(
        (
            "function",
            r"^[ \t]*(?:pub(?:\([^)]*\))?[ \t]+)?(?:(?:const|async|unsafe|extern)[ \t]+)*fn[ \t]+(\w+)",
        ),
        ("class", r"^[ \t]*(?:pub(?:\([^)]*\))?[ \t]+)?(?:struct|enum|union)[ \t]+(\w+)"),
        ("type", r"^[ \t]*(?:pub(?:\([^)]*\))?[ \t]+)?(?:trait|type)[ \t]+(\w+)"),
        ("module", r"^[ \t]*(?:pub(?:\([^)]*\))?[ \t]+)?mod[ \t]+(\w+)[ \t]*\{"),
        ("function", r"^[ \t]*macro_rules![ \t]*(\w+)"),
    ),
    "go": _rules(
        ("function", r"^func[ \t]+(?:\([^)\n]*\)[ \t]*)?(\w+)"),
        ("type", r"^type[ \t]+(\w+)"),
        ("constant", r"^(?:const|var)[ \t]+(\w+)"),
    ),
    "java": _rules(_BRACES_CLASS, _BRACES_TYPE, _JAVA_METHOD),
    "csharp": _rules(
        ("module", r"^[ \t]*namespace[ \t]+([\w.]+)"),
        _BRACES_CLASS,
        _BRACES_TYPE,
        _JAVA_METHOD,
        ("function", rf"^[ \t]+{_MODS}[\w.<>\[\]?,]+[ \t]+(\w+)[ \t]*(?:\{{[ \t]*get|=>)"),
    ),
    "c": _rules(
        (
            "function",
            r"^(?!(?:if|else|for|while|switch|return|typedef)\b)[A-Za-z_][\w \t*]*?\b(\w+)[ \t]*\([^;\n]*$",
        ),
        ("class", r"^(?:typedef[ \t]+)?(?:struct|union|enum)[ \t]+(\w+)[ \t]*\{"),
        ("constant", r"^#[ \t]*define[ \t]+(\w+)"),
    ),
    "cpp": _rules(
        _BRACES_CLASS,
        ("module", r"^[ \t]*namespace[ \t]+(\w+)"),
        (
            "function",
            r"^(?!(?:if|else|for|while|switch|return|typedef)\b)"
            r"[A-Za-z_][\w \t*&:<>]*?\b(\w+)[ \t]*\([^;\n]*$",
        ),
    ),
    "kotlin": _rules(
        _BRACES_CLASS,
        _BRACES_TYPE,
        ("class", rf"^[ \t]*{_MODS}(?:companion[ \t]+)?object[ \t]+(\w+)"),
        (
            "function",
            rf"^[ \t]*{_MODS}(?:operator[ \t]+|infix[ \t]+|tailrec[ \t]+)*fun[ \t]+"
            r"(?:<[^>\n]+>[ \t]*)?(?:[\w<>?]+\.)?(\w+)",
        ),
        ("constant", rf"^{_MODS}(?:val|var)[ \t]+(\w+)"),
    ),
    "scala": _rules(
        ("class", rf"^[ \t]*{_MODS}(?:case[ \t]+)?(?:class|object|enum)[ \t]+(\w+)"),
        ("type", rf"^[ \t]*{_MODS}(?:sealed[ \t]+)?(?:trait|type)[ \t]+(\w+)"),
        ("function", rf"^[ \t]*{_MODS}(?:implicit[ \t]+)?def[ \t]+(\w+)"),
    ),
    "groovy": _rules(
        _BRACES_CLASS, _BRACES_TYPE, ("function", rf"^[ \t]*{_MODS}def[ \t]+(\w+)[ \t]*\("), _JAVA_METHOD
    ),
    "php": _rules(
        ("class", rf"^[ \t]*{_MODS}(?:class|enum)[ \t]+(\w+)"),
        ("type", r"^[ \t]*(?:interface|trait)[ \t]+(\w+)"),
        ("function", rf"^[ \t]*{_MODS}function[ \t]+&?(\w+)"),
    ),
    "swift": _rules(
        _BRACES_CLASS,
        _BRACES_TYPE,
        ("function", rf"^[ \t]*{_MODS}(?:class[ \t]+)?func[ \t]+(\w+)"),
        ("function", rf"^[ \t]*{_MODS}(?:convenience[ \t]+|required[ \t]+)*(init)\b"),
    ),
    "dart": _rules(
        ("class", r"^(?:abstract[ \t]+|final[ \t]+|sealed[ \t]+|base[ \t]+)*(?:class|enum|mixin)[ \t]+(\w+)"),
        ("type", r"^(?:extension|typedef)[ \t]+(\w+)"),
        (
            "function",
            r"^[ \t]{0,2}(?!(?:return|if|for|while|switch|else|await|throw|new)\b)"
            r"(?:static[ \t]+)?[\w<>?,\[\] ]+[ \t](\w+)\([^;\n]*(?:\{|=>|async)",
        ),
    ),
    "objective-c": _rules(
        ("class", r"^@(?:interface|implementation|protocol)[ \t]+(\w+)"),
        ("function", r"^[-+][ \t]*\([^)\n]*\)[ \t]*(\w+)"),
    ),
    "lua": _rules(
        ("function", r"^[ \t]*(?:local[ \t]+)?function[ \t]+([\w.:]+)"),
        ("function", r"^[ \t]*(?:local[ \t]+)?([\w.]+)[ \t]*=[ \t]*function\b"),
    ),
    "elixir": _rules(
        ("module", r"^[ \t]*defmodule[ \t]+([\w.]+)"),
        ("type", r"^[ \t]*(?:defprotocol|defimpl)[ \t]+([\w.]+)"),
        ("function", r"^[ \t]*(?:def|defp|defmacro|defmacrop|defguard|defdelegate)[ \t]+(\w+[?!]?)"),
    ),
    "erlang": _rules(("module", r"^-module\((\w+)\)"), ("function", r"^([a-z]\w*)\([^\n]*\)[^\n]*->")),
    "haskell": _rules(
        ("type", r"^(?:data|newtype|type|class|instance)[ \t]+(?:[^=\n]*=>[ \t]*)?(\w+)"),
        ("function", r"^([a-z]\w*'*)[ \t]*::"),
    ),
    "ocaml": _rules(("function", r"^let[ \t]+(?:rec[ \t]+)?(\w+)"), ("type", r"^(?:type|module)[ \t]+(\w+)")),
    "fsharp": _rules(
        ("function", r"^[ \t]*let[ \t]+(?:rec[ \t]+|inline[ \t]+)*(\w+)"),
        ("type", r"^(?:type|module)[ \t]+(\w+)"),
    ),
    "clojure": _rules(
        ("function", r"^\((?:defn-?|defmacro|defmulti|defmethod|deftest)[ \t]+(\S+)"),
        ("constant", r"^\((?:def|defonce)[ \t]+(\S+)"),
        ("type", r"^\((?:defrecord|defprotocol|deftype)[ \t]+(\S+)"),
    ),
    "lisp": _rules(
        ("function", r"^\((?:defun|defmacro|define|cl-defun|defsubst)[ \t]+\(?([^\s()]+)"),
        ("constant", r"^\((?:defvar|defconst|defcustom)[ \t]+(\S+)"),
    ),
    "perl": _rules(("module", r"^package[ \t]+([\w:]+)"), ("function", r"^[ \t]*sub[ \t]+(\w+)")),
    "r": _rules(("function", r"^([\w.]+)[ \t]*(?:<-|=)[ \t]*function\b")),
    "julia": _rules(
        ("function", r"^[ \t]*(?:function|macro)[ \t]+([\w.!]+)"),
        ("class", r"^[ \t]*(?:mutable[ \t]+)?(?:struct|module|abstract type)[ \t]+(\w+)"),
    ),
    "zig": _rules(
        ("function", r"^[ \t]*(?:pub[ \t]+)?(?:export[ \t]+|inline[ \t]+)*fn[ \t]+(\w+)"),
        (
            "class",
            r"^[ \t]*(?:pub[ \t]+)?const[ \t]+(\w+)[ \t]*=[ \t]*(?:packed |extern )?(?:struct|enum|union)",
        ),
    ),
    "nim": _rules(("function", r"^[ \t]*(?:proc|func|method|template|macro|iterator)[ \t]+`?(\w+)")),
    "solidity": _rules(
        ("class", r"^[ \t]*(?:abstract[ \t]+)?(?:contract|library|struct|enum)[ \t]+(\w+)"),
        ("type", r"^[ \t]*interface[ \t]+(\w+)"),
        ("function", r"^[ \t]*(?:function|modifier|event|error)[ \t]+(\w+)"),
    ),
    "shell": _rules(("function", r"^[ \t]*(?:function[ \t]+([\w:.-]+)|([\w:.-]+)[ \t]*\(\))")),
    "powershell": _rules(
        ("function", r"^[ \t]*(?:function|filter)[ \t]+([\w:-]+)"), ("class", r"^class[ \t]+(\w+)")
    ),
    "vb": _rules(
        ("class", r"(?i)^[ \t]*(?:\w+[ \t]+)*?(?:class|module|structure)[ \t]+(\w+)"),
        ("function", r"(?i)^[ \t]*(?:\w+[ \t]+)*?(?:sub|function)[ \t]+(\w+)"),
    ),
    "sql": _rules(
        (
            "type",
            rf"{_CREATE}(?:temp(?:orary)?[ \t]+|unique[ \t]+|virtual[ \t]+|materialized[ \t]+)*"
            r"(?:table|view|type|index|schema)[ \t]+(?:if[ \t]+not[ \t]+exists[ \t]+)?[\"`\[]?([\w.]+)",
        ),
        (
            "function",
            rf"{_CREATE}(?:function|procedure|trigger)[ \t]+[\"`\[]?([\w.]+)",
        ),
    ),
    "graphql": _rules(
        ("type", r"^(?:extend[ \t]+)?(?:type|input|enum|interface|union|scalar)[ \t]+(\w+)"),
        ("function", r"^(?:query|mutation|subscription|fragment)[ \t]+(\w+)"),
    ),
    "protobuf": _rules(
        ("type", r"^[ \t]*(?:message|enum|service)[ \t]+(\w+)"), ("function", r"^[ \t]*rpc[ \t]+(\w+)")
    ),
    "thrift": _rules(("type", r"^(?:struct|enum|service|exception|union)[ \t]+(\w+)")),
    "terraform": _rules(
        ("key", r"^(?:resource|data)[ \t]+\"[\w-]+\"[ \t]+\"([\w-]+)\""),
        ("key", r"^(?:module|variable|output|provider)[ \t]+\"([\w-]+)\""),
    ),
    "make": _rules(
        ("function", r"^([A-Za-z0-9_][\w./%-]*)(?:[ \t]+[\w./%-]+)*[ \t]*::?(?![:=])"),
        ("function", r"^define[ \t]+(\w+)"),
    ),
    "cmake": _rules(
        (
            "function",
            r"(?i)^[ \t]*(?:function|macro|add_executable|add_library|add_custom_target)\([ \t]*([\w.-]+)",
        )
    ),
    "dockerfile": _rules(("function", r"(?i)^FROM[ \t]+\S+[ \t]+AS[ \t]+([\w.-]+)")),
    "starlark": _rules(("function", r"^def[ \t]+(\w+)"), ("key", r"^[ \t]+name[ \t]*=[ \t]*\"([^\"]+)\"")),
    "vim": _rules(("function", r"^[ \t]*fu(?:nction|nc)?!?[ \t]+([\w:#.<>]+)")),
    "yacc": _rules(("function", r"^(\w+)[ \t]*:")),
    "jq": _rules(("function", r"^[ \t]*def[ \t]+(\w+)")),
    "nix": _rules(("key", r"^[ \t]{0,4}([\w.-]+)[ \t]*=")),
    "assembly": _rules(("function", r"^([A-Za-z_]\w*):")),
    "css": (),
}
_LONG_LINE = re.compile(r"^([^\n]{400})[^\n]+", re.MULTILINE)
_PREPROCESSED = frozenset({"c", "cpp", "objective-c", "csharp"})
_CLOSERS = ("}", ")", "]", "end", "End", "esac", "fi", "done", "@end", "endif", "endfunction", "endfu")


@dataclass(frozen=True, slots=True)
class _Hit:
    line: int  # 0-based
    indent: int
    kind: str
    name: str


def pattern_symbols(language: str, data: bytes) -> tuple[Symbol, ...]:
    """Return definitions found by pattern, in line order; () for a language without patterns."""
    rules = RULES.get(language)
    if not rules:
        return ()
    text = data.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n")
    text = _LONG_LINE.sub(r"\1", text)
    lines = text.split("\n")
    hits = _hits(rules, text, lines)
    ends = _ends(lines, hits, "#" if language in _PREPROCESSED else "")
    symbols: list[Symbol] = []
    open_: list[tuple[_Hit, int]] = []
    for hit, end in zip(hits, ends, strict=True):
        while open_ and (open_[-1][1] < hit.line or open_[-1][0].indent >= hit.indent):
            open_.pop()
        parent = open_[-1][0] if open_ else None
        if parent is not None and parent.kind == "function":
            continue
        inside = parent is not None and parent.kind in ("class", "type")
        source = lines[hit.line]
        symbols.append(
            Symbol(
                name=hit.name[:MAX_NAME],
                kind="method" if hit.kind == "function" and inside else hit.kind,
                line=hit.line + 1,
                end_line=end + 1,
                signature=one_line(source[:1000].encode()),
                parent=parent.name[:MAX_NAME] if parent is not None else "",
                exported=not hit.name.startswith("_") and not _PRIVATE.search(source[:200]),
            )
        )
        open_.append((hit, end))
    return tuple(symbols)


def _indent(line: str) -> int:
    """Width of the leading white space; a tab reaches to the next multiple of four."""
    bare = len(line) - len(line.lstrip())
    return len(line[:bare].expandtabs(4)) if "\t" in line[:bare] else bare


def _hits(rules: tuple[tuple[str, re.Pattern[str]], ...], text: str, lines: list[str]) -> list[_Hit]:
    """All matches in line order, one a line; earlier rules win."""
    starts = list(accumulate((len(line) + 1 for line in lines), initial=0))
    by_line: dict[int, _Hit] = {}
    for kind, pattern in rules:
        for count, match in enumerate(pattern.finditer(text)):
            if count >= MAX_SYMBOLS:
                break
            name = next((group for group in match.groups() if group), "")
            if not name:
                continue
            at = match.start(match.lastindex or 0)
            line = bisect_right(starts, at) - 1
            if line not in by_line:
                by_line[line] = _Hit(line, _indent(lines[line]), kind, name)
    return [by_line[line] for line in sorted(by_line)][:MAX_SYMBOLS]


def _ends(lines: list[str], hits: list[_Hit], directive: str) -> list[int]:
    """The 0-based last line of each hit, in one pass over the lines; those of directives close nothing."""
    ends = [-1] * len(hits)
    open_: list[int] = []
    next_hit = 0
    last_text = -1
    for number, line in enumerate(lines):
        stripped = line.strip()
        if not stripped:
            continue
        indent = _indent(line)
        is_hit = next_hit < len(hits) and hits[next_hit].line == number
        if directive and not is_hit and stripped.startswith(directive):
            continue
        while open_ and hits[open_[-1]].indent >= indent:
            top = open_[-1]
            same = hits[top].indent == indent
            if same and not is_hit and stripped[0] in "{(" and number - hits[top].line <= 3:
                break  # the opening bracket on a line of its own
            closing = same and not is_hit and stripped.startswith(_CLOSERS)
            if closing and stripped.startswith((")", "]")) and stripped.rstrip().endswith(("{", ":")):
                break  # the end of a parameter list over several lines
            ends[top] = number if closing else last_text
            open_.pop()
            if closing:
                break
        if is_hit:
            open_.append(next_hit)
            next_hit += 1
        last_text = number
    for top in open_:
        ends[top] = last_text
    return [max(end, hit.line) for end, hit in zip(ends, hits, strict=True)]
