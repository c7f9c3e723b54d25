"""The statements of the tables as PostgreSQL takes them: they are written once, for DuckDB.

What both take is written so. Functions that PostgreSQL lacks are those of `table_functions.sql`, in the
schema of the tables, under DuckDB's names. What remains is syntax: the rules below, which look at our own
statements alone; values are parameters and never pass here.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import Final
from unicodedata import category

_NAME: Final = r'[\w."]+'
_RULES: Final = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        # Lists and maps of JSON texts
        (rf"(?<![\w.\"])({_NAME})::JSON::VARCHAR\[\]", r"texts(\1)"),
        (rf"(?<![\w.\"])({_NAME})::JSON::MAP\([^()]*\)", r"as_json(\1)"),
        (rf"(?<![\w.\"])({_NAME})::JSON\[\]", r"elements(\1)"),
        (rf"((?:\$|(?<![\w.\"])){_NAME})::JSON\b", r"as_json(\1)"),
        (r"\bstages\[(\$?\w+)\]", r"(stages->>\1)::float8"),
        (r"(?<![\w\])\"])\[\]", "'{}'"),
        (r"(?<![\w\])\"])\[", "ARRAY["),
        # Casts that may fail: what is staged is of the right form, and moments of texts are looked at
        (r"TRY_CAST\((left\([^()]*\)) AS TIMESTAMP\)", r"moment_of(\1)"),
        (rf"TRY_CAST\(({_NAME}) AS (\w+)\)", r"\1::\2"),
        (r"TRY\(strftime\(to_timestamp\((\w+)\), '[^']*'\)\)", r"iso_moment(\1)"),
        # Aggregates
        (r"FILTER \((?!WHERE)", "FILTER (WHERE "),
        (rf"arg_max\(({_NAME}), (\([^()]*\)|\w+)\)", r"first(\1 ORDER BY \2 DESC)"),
        (rf"arg_min\(({_NAME}), (\([^()]*\)|\w+)\)", r"first(\1 ORDER BY \2)"),
        (
            r"quantile_cont\((coalesce\([^,]{0,200}, 0\)|\([^()]*\)::float8|\w+), "
            r"(ARRAY\[[^\[\]]*\]|[\d.]+)\)",
            r"percentile_cont(\2) WITHIN GROUP (ORDER BY \1)",
        ),
        (r"median\((\w+)\)", r"percentile_cont(0.5) WITHIN GROUP (ORDER BY \1)"),
        (r"\bhash\(([^()]*)\)", r"hashtextextended(ROW(\1)::text, 0)"),
        # The rest
        (r"unnest\((\$\w+)\)", r"unnest(\1::text[])"),
        (
            r"ASOF LEFT JOIN (\w+) ON (\w+) <= (\w+)",
            r"LEFT JOIN LATERAL (SELECT * FROM \1 WHERE \2 <= \3 ORDER BY \3 LIMIT 1) AS next ON true",
        ),
        (r"CREATE OR REPLACE TEMP TABLE (\w+)", r"DROP TABLE IF EXISTS pg_temp.\1; CREATE TEMP TABLE \1"),
        (r"\btemp\.", "pg_temp."),
        (r"\browid\b", "ctid"),
        (r"\bVARCHAR\b", "text"),
        (r"\bDOUBLE\b", "float8"),
    )
)
_COLUMNS: Final = (
    (re.compile(r"MAP\([^()]*\)"), "json"),
    (re.compile(r"\bVARCHAR(\[\])?"), r'text\1 COLLATE "C"'),
    (re.compile(r"\bDOUBLE\b"), "float8"),
    (re.compile(r"\browid\b"), "ctid"),
    (re.compile(r"list_value\(\)"), "'{}'"),
    (re.compile(r'"cache"\["?level"?\]\[1\]'), '("cache"->level->>0)::float8'),
    (re.compile(r'"cache"\["?level"?\]\[2\]'), '("cache"->level->>1)::float8'),
    (re.compile(r"count_star\(\)"), "count(*)"),
)
_LISTED: Final = re.compile(r"list_(transform|filter)\(")
_GENERATED: Final = re.compile(r"GENERATED ALWAYS AS\s*\(")
_VALUE: Final = re.compile(r"\$(\w+)")
_CODE: Final = re.compile(r"\\x(?:\{([0-9a-fA-F]+)\}|([0-9a-fA-F]{2}))")


@lru_cache(maxsize=512)
def translate_statement(statement: str) -> str:
    """Return a statement of the tables with psycopg's placeholders; `$name` and `?` are those it has."""
    found = _without_lambdas(statement)
    for pattern, replacement in _RULES:
        found = pattern.sub(replacement, found)
    return _VALUE.sub(r"%(\1)s", found.replace("%", "%%")).replace("?", "%s")


def with_staged(statement: str, staged: str) -> str:
    """Return a translated statement that has `staged` as a table of its own."""
    begins = f"WITH staged AS MATERIALIZED ({staged})"
    rest = statement.lstrip()
    return f"{begins}, {rest[5:]}" if rest.startswith("WITH ") else f"{begins} {rest}"


def schema(statements: str) -> str:
    """Return what makes or changes tables, with texts in the order of their bytes."""
    for pattern, replacement in _COLUMNS:
        statements = pattern.sub(replacement, statements)
    found, rest = "", statements
    while place := _GENERATED.search(rest):
        end = _closing(rest, place.end())
        found += f"{rest[:end]} STORED"
        rest = rest[end:]
    return found + rest


@lru_cache(maxsize=64)
def translated_pattern(text: str) -> str:
    """Return a pattern of RE2 as PostgreSQL writes it, which knows no classes of Unicode: they are ranges."""
    for name in ("L}\\p{N", "Z"):
        if (properties := f"\\p{{{name}}}") in text:
            text = text.replace(properties, _ranges(name[0], name[-1]))
    return _CODE.sub(lambda found: _escape(int(found[1] or found[2], 16)), text.replace("(?s:", "(?:"))


@cache
def _ranges(*properties: str) -> str:
    """Return the characters of general categories for the inside of a set."""
    chosen = [code for code in range(0x110000) if category(chr(code))[0] in properties]
    ends = [at for at in range(1, len(chosen)) if chosen[at] != chosen[at - 1] + 1]
    return "".join(
        f"{_escape(chosen[first])}-{_escape(chosen[after - 1])}"
        for first, after in zip((0, *ends), (*ends, len(chosen)), strict=True)
    )


def _escape(code: int) -> str:
    return f"\\U{max(code, 1):08x}"


def _without_lambdas(statement: str) -> str:
    """Return a statement with subqueries for what is done to the values of lists, the innermost first."""
    while places := [*_LISTED.finditer(statement)]:
        begin, inside, kind = places[-1].start(), places[-1].end(), places[-1][1]
        end = _closing(statement, inside)
        values, _, rest = statement[inside : end - 1].partition(", lambda ")
        names, _, result = rest.partition(": ")
        after = statement[end:]
        if kind == "filter":
            made = f"ARRAY(SELECT {names} FROM unnest({values}) AS {names} WHERE {result})"
        elif values.startswith("[") and after.startswith("[1]"):  # a name for one value
            made = f"(SELECT {result} FROM (SELECT {values[1:-1]} AS {names} OFFSET 0) AS named)"
            after = after[3:]
        elif "," in names:
            made = f"ARRAY(SELECT {result} FROM unnest({values}) WITH ORDINALITY AS each({names}))"
        else:
            made = f"ARRAY(SELECT {result} FROM unnest({values}) AS {names})"
        statement = statement[:begin] + made + after
    return statement


def _closing(text: str, position: int) -> int:
    """Return where the parenthesis that opens before `position` is closed, after it."""
    depth = 1
    while depth:
        depth += {"(": 1, ")": -1}.get(text[position], 0)
        position += 1
    return position
