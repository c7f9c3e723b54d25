"""Definitions by pattern, for languages without a grammar and for sources a grammar cannot make sense of.

A definition ends where its indentation says so: at the closing bracket or `end` on its own level, or before
the next line that is indented no deeper. The patterns are in `patterns.toml`. Sections of prose and keys of
configuration files are symbols with line ranges as well.
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


_MAX_LINE = 400
_ATX = re.compile(r" {0,3}(#{1,6})[ \t]+(.+)")
_ASCIIDOC = re.compile(r"(={1,6})[ \t]+(\S.*)$")
_RST_RULE = re.compile(r"([=\-`:.'\"~^_*+#])\1{2,}[ \t]*$")
_MARKDOWN_RULE = re.compile(r"(=|-)\1{2,}[ \t]*$")
_FENCE = re.compile(r"[ \t]*(```+|~~~+)")
_TOML_TABLE = re.compile(r"\[\[?([^\[\]#]+)\]\]?")
_TOML_KEY = re.compile(r"([\w.\"'-]+)[ \t]*=")
_YAML_KEY = re.compile(r"([^\s#\-\"'\[{][^:#\n]*|\"[^\"\n]+\"|'[^'\n]+'):(?:[ \t]|$)")
_INI_SECTION = re.compile(r"\[([^\]]+)\]")
_JSON_KEY = re.compile(r"([ \t]+)\"((?:[^\"\\]|\\.)+)\"[ \t]*:")


def find_sections(language: str, text: str) -> tuple[Symbol, ...]:
    """Return the sections of a Markdown, reStructuredText or AsciiDoc text, nested by level."""
    lines = [line[:_MAX_LINE] for line in text.splitlines()]
    headings = _HEADINGS[language](lines)[:MAX_SYMBOLS]
    symbols: list[Symbol] = []
    for position, (line, level, title) in enumerate(headings):
        end = len(lines)
        for following, other, _ in headings[position + 1 : position + 1 + MAX_SYMBOLS]:
            if other <= level:
                end = following
                break
        while end > line + 1 and not lines[end - 1].strip():
            end -= 1
        parent = next((t for _, other, t in reversed(headings[:position]) if other < level), "")
        symbols.append(
            Symbol(
                name=title[:MAX_NAME],
                kind="section",
                line=line + 1,
                end_line=max(end, line + 1),
                signature=one_line(lines[line].encode()) or title[:MAX_NAME],
                parent=parent[:MAX_NAME],
            )
        )
    return tuple(symbols)


def _markdown(lines: list[str]) -> list[tuple[int, int, str]]:
    """(0-based line, level, title) of each heading; those in code fences and front matter do not count."""
    found: list[tuple[int, int, str]] = []
    fence = ""
    start = 0
    if lines and lines[0].strip() == "---":
        start = next((n + 1 for n in range(1, min(len(lines), 200)) if lines[n].strip() == "---"), 0)
    for number in range(start, len(lines)):
        line = lines[number]
        mark = _FENCE.match(line)
        if fence:
            if mark and mark.group(1).startswith(fence):
                fence = ""
            continue
        if mark:
            fence = mark.group(1)[:3]
            continue
        heading = _ATX.match(line)
        if heading:
            title = heading.group(2).rstrip(" \t").rstrip("#").rstrip(" \t")
            found.append((number, len(heading.group(1)), title or heading.group(2)[:1]))
        elif number > start and _MARKDOWN_RULE.match(line):
            above = lines[number - 1].strip()
            if above and not above.startswith(("#", "|", ">", "-", "*", "+")) and "|" not in above:
                found.append((number - 1, 1 if line[0] == "=" else 2, above))
    return found


def _rst(lines: list[str]) -> list[tuple[int, int, str]]:
    """Levels are given by the order in which rule characters first appear, with and without an overline."""
    found: list[tuple[int, int, str]] = []
    levels: dict[str, int] = {}
    for number in range(1, len(lines)):
        rule = _RST_RULE.match(lines[number])
        title = lines[number - 1].rstrip()
        if not rule or not title.strip() or _RST_RULE.match(title) or title.startswith(".. "):
            continue
        over = number >= 2 and lines[number - 2].rstrip() == lines[number].rstrip()
        if not over and (title[0] in " \t" or len(lines[number].rstrip()) < len(title) - 2):
            continue
        style = rule.group(1) + ("^" if over else "")
        level = levels.setdefault(style, len(levels) + 1)
        found.append((number - 2 if over else number - 1, level, title.strip()))
    return found


def _asciidoc(lines: list[str]) -> list[tuple[int, int, str]]:
    found: list[tuple[int, int, str]] = []
    block = False
    for number, line in enumerate(lines):
        if line.startswith("----"):
            block = not block
            continue
        heading = None if block else _ASCIIDOC.match(line)
        if heading:
            found.append((number, len(heading.group(1)), heading.group(2).strip()))
    return found


_HEADINGS = {"markdown": _markdown, "rst": _rst, "asciidoc": _asciidoc}
PROSE_WITH_SECTIONS = frozenset(_HEADINGS)


def find_keys(language: str, text: str) -> tuple[Symbol, ...]:
    """Return the top-level keys (TOML tables, INI sections) of a configuration file."""
    lines = [line[:_MAX_LINE] for line in text.splitlines()]
    found = _KEYS[language](lines)[:MAX_SYMBOLS]
    symbols: list[Symbol] = []
    for position, (line, name) in enumerate(found):
        end = found[position + 1][0] if position + 1 < len(found) else len(lines)
        while end > line + 1 and lines[end - 1].strip()[:1] in ("", "#", "}", "]"):
            end -= 1
        symbols.append(
            Symbol(
                name=name[:MAX_NAME],
                kind="key",
                line=line + 1,
                end_line=max(end, line + 1),
                signature=one_line(lines[line].encode()) or name[:MAX_NAME],
            )
        )
    return tuple(symbols)


def _toml(lines: list[str]) -> list[tuple[int, str]]:
    found: list[tuple[int, str]] = []
    tables = False
    quote = ""
    for number, line in enumerate(lines):
        if quote:
            quote = "" if quote in line else quote
            continue
        table = _TOML_TABLE.match(line)
        key = _TOML_KEY.match(line) if not tables else None
        if table and "=" not in line.split("#", 1)[0].split("]", 1)[-1]:
            tables = True
            found.append((number, table.group(1).strip(" \t")))
        elif key:
            found.append((number, key.group(1).strip("\"'")))
        for mark in ('"""', "'''"):
            if line.count(mark) % 2:
                quote = mark
    return found


def _yaml(lines: list[str]) -> list[tuple[int, str]]:
    found = []
    for number, line in enumerate(lines):
        key = _YAML_KEY.match(line)
        if key:
            found.append((number, key.group(1).strip().strip("\"'")))
    return found


def _ini(lines: list[str]) -> list[tuple[int, str]]:
    found = []
    for number, line in enumerate(lines):
        section = _INI_SECTION.match(line)
        if section:
            found.append((number, section.group(1).strip()))
    return found


def _json(lines: list[str]) -> list[tuple[int, str]]:
    """Keys at the indentation of the first key; JSON on one line has none."""
    found = []
    indent: str | None = None
    for number, line in enumerate(lines):
        key = _JSON_KEY.match(line)
        if key:
            indent = key.group(1) if indent is None else indent
            if key.group(1) == indent:
                found.append((number, key.group(2)))
    return found


_KEYS = {"toml": _toml, "yaml": _yaml, "ini": _ini, "json": _json}
CONFIG_WITH_KEYS = frozenset(_KEYS)
