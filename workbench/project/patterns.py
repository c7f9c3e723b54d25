"""Definitions by pattern, for languages without a grammar and for sources a grammar cannot make sense of.

A definition ends where its indentation says so: at the closing bracket or `end` on its own level, or before
the next line that is indented no deeper. The patterns are in `patterns.toml`.
"""

from __future__ import annotations

import re
import tomllib
from bisect import bisect_right
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from pathlib import Path
from typing import Any

from workbench.project.grammars.definitions import MAX_NAME, MAX_SYMBOLS, one_line
from workbench.records.project import Symbol

Rules = tuple[tuple[str, re.Pattern[str]], ...]

_TABLE = Path(__file__).with_name("patterns.toml")
_PRIVATE = re.compile(r"\b(?:private|fileprivate|defp|local)\b")
_LONG_LINE = re.compile(r"^([^\n]{400})[^\n]+", re.MULTILINE)
_PREPROCESSED = frozenset({"c", "cpp", "objective-c", "csharp"})
_CLOSERS = ("}", ")", "]", "end", "End", "esac", "fi", "done", "@end", "endif", "endfunction", "endfu")


@dataclass(frozen=True, slots=True)
class _Hit:
    line: int  # 0-based
    indent: int
    kind: str
    name: str


@cache
def read_table() -> dict[str, dict[str, Any]]:
    """Return what `patterns.toml` holds: `fragments`, `same` and `rules`."""
    return tomllib.loads(_TABLE.read_text(encoding="utf-8"))


@cache
def rules_of(language: str) -> Rules:
    """Return the (kind, pattern) pairs of a language in order of precedence; () for one without patterns."""
    table = read_table()
    found = []
    for kind, pattern in table["rules"].get(table["same"].get(language, language), ()):
        while any(f"{{{name}}}" in pattern for name in table["fragments"]):
            for name, fragment in table["fragments"].items():
                pattern = pattern.replace(f"{{{name}}}", fragment)
        found.append((kind, re.compile(pattern, re.MULTILINE)))
    return tuple(found)


def pattern_symbols(language: str, data: bytes) -> tuple[Symbol, ...]:
    """Return definitions found by pattern, in line order; () for a language without patterns."""
    rules = rules_of(language)
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


def _hits(rules: Rules, text: str, lines: list[str]) -> list[_Hit]:
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
