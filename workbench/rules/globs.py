"""Path globs of rule files, read the way Cursor, Copilot, Cline and .gitignore agree on.

`*.ts` matches at any depth, `src/*.ts` only in `src`, a directory name everything below it, `**` any number
of directories; braces are alternatives, `!` takes paths out again, and a comma separates globs. Globs of
plain names and stars are matched here; pathspec, whose import is a tenth of a plan, reads all others.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathspec import PathSpec
    from pathspec.pattern import Pattern

MAX_ALTERNATIVES = 512
_EVERYTHING = frozenset(
    {"*", "**", "**/*", "*.*", "**/*.*", "/**", "/**/*", "./**", "./**/*", "**/**", "**/**/*"}
)

_PLAIN = re.compile(r"[A-Za-z0-9_@+.-]*(?:\*[A-Za-z0-9_@+.-]*){0,4}")  # a segment that is read here
_ODD_SET = re.compile(r"\[[^\[\]]*(?:\[|--|&&|~~|\|\|)")  # sets with a future meaning


def split_globs(text: str) -> tuple[str, ...]:
    """Split a comma-separated list of globs; commas inside braces and brackets don't separate."""
    pieces: list[str] = []
    depth, start = 0, 0
    for position, char in enumerate(text):
        if char in "{[(":
            depth += 1
        elif char in "}])":
            depth = max(0, depth - 1)
        elif char == "," and depth == 0:
            pieces.append(text[start:position])
            start = position + 1
    pieces.append(text[start:])
    cleaned = (piece.strip().strip("\"'`").strip() for piece in pieces)
    return tuple(dict.fromkeys(piece for piece in cleaned if piece))


def narrow(globs: Iterable[str]) -> tuple[str, ...]:
    """Return the globs, or none if one of them takes in every path: then they limit nothing."""
    kept = tuple(dict.fromkeys(globs))
    excludes = any(glob.startswith("!") for glob in kept)
    if not excludes and any(glob in _EVERYTHING for glob in kept):
        return ()
    return kept


def anchor(glob: str, directory: str) -> str:
    """Return a glob of a file in `directory` ('' is the root) as it reads from the project's root."""
    directory = directory.strip("/")
    if not directory:
        return glob
    negation = "!" if glob.startswith("!") else ""
    body = glob[len(negation) :].removeprefix("./")
    if body.startswith("/") or "/" in body.rstrip("/"):
        return f"{negation}/{escape(directory)}/{body.lstrip('/')}"
    return f"{negation}/{escape(directory)}/**/{body}"


def escape(path: str) -> str:
    """Return a glob that matches just this path."""
    return "".join("\\" + char if char in "*?[]!#\\" else char for char in path)


def expand_braces(glob: str) -> tuple[str, ...]:
    """Return the alternatives a glob's braces stand for: `*.{ts,tsx}` gives two.

    Unbalanced braces, braces without a comma and expansions of more than MAX_ALTERNATIVES stay as written.
    """
    done: list[str] = []
    todo = [glob]
    while todo:
        current = todo.pop()
        group = _first_group(current)
        if group is None:
            done.append(current)
        else:
            start, end, choices = group
            todo.extend(current[:start] + choice + current[end:] for choice in reversed(choices))
        if len(done) + len(todo) > MAX_ALTERNATIVES:
            return (glob,)
    return tuple(dict.fromkeys(done))


def _first_group(glob: str) -> tuple[int, int, list[str]] | None:
    opened: list[int] = []
    commas: list[list[int]] = []
    position = 0
    while position < len(glob):
        char = glob[position]
        if char == "\\":
            position += 2
            continue
        if char == "{":
            opened.append(position)
            commas.append([])
        elif char == "," and opened:
            commas[-1].append(position)
        elif char == "}" and opened:
            start, cuts = opened.pop(), commas.pop()
            if cuts:
                bounds = [start, *cuts, position]
                choices = [glob[a + 1 : b] for a, b in pairwise(bounds)]
                return start, position + 1, choices
        position += 1
    return None


@lru_cache(maxsize=4096)
def compile_globs(globs: tuple[str, ...]) -> PathSpec[Pattern]:
    """Return a matcher for project-relative posix paths; malformed globs match nothing."""
    from pathspec import PathSpec

    lines: list[str] = []
    for pattern in _alternatives(globs):
        if _ODD_SET.search(pattern):
            continue
        try:
            PathSpec.from_lines("gitignore", [pattern])
        except ValueError:
            continue
        lines.append(pattern)
    return PathSpec.from_lines("gitignore", lines)


def _alternatives(globs: tuple[str, ...]) -> list[str]:
    """Return what the globs' braces stand for, in order."""
    patterns: list[str] = []
    for glob in globs:
        negation = "!" if glob.startswith("!") else ""
        choices = expand_braces(glob[len(negation) :].removeprefix("./"))
        patterns.extend(negation + choice for choice in choices if choice and not choice.startswith("#"))
    return patterns


@lru_cache(maxsize=4096)
def _plain_globs(globs: tuple[str, ...]) -> tuple[tuple[bool, re.Pattern[str]], ...] | None:
    """Return (takes in, expression) of each alternative, None where one is not plain."""
    found = []
    for pattern in _alternatives(globs):
        expression = _translate(pattern.removeprefix("!"))
        if expression is None:
            return None
        found.append((not pattern.startswith("!"), re.compile(expression)))
    return tuple(found)


def _translate(glob: str) -> str | None:
    """Return a plain glob as an expression that matches from the start of a path, None for any other."""
    names = glob.split("/")
    if len(names) > 1 and not names[0]:
        del names[0]
    elif len(names) == 1 or names[1:] == [""]:
        names.insert(0, "**")
    if not names[-1]:
        names[-1] = "**"
    names = [
        name for name, before in zip(names, ["", *names], strict=False) if (name, before) != ("**", "**")
    ]
    if {"**", "*"}.issuperset(names):
        return None
    last, written, joins = len(names) - 1, "", False
    for place, name in enumerate(names):
        if name == "**":
            written += "/" if place == last else "(?:/.+)?" if place else "(?:.+/)?"
        elif not name or not _PLAIN.fullmatch(name):
            return None
        else:
            written += ("/" if joins else "") + ("[^/]+" if name == "*" else _translate_name(name))
            written += "" if place < last else "/?$" if name == "*" else "(?:/|$)"
        joins = bool(place) or name != "**"
    return written


def _translate_name(name: str) -> str:
    """Return a segment with stars as an expression; each part matches where it is first."""
    first, *between = map(re.escape, re.split(r"\*+", name))
    last = f"[^/]*{between.pop()}" if between else ""
    return first + "".join(f"(?>[^/]*?{part})" for part in between) + last


@lru_cache(maxsize=65536)
def _matches(globs: tuple[str, ...], path: str) -> bool:
    all_out = bool(globs) and all(glob.startswith("!") for glob in globs)
    plain = None if "\n" in path or path.startswith(("/", "./")) else _plain_globs(globs)
    if plain is None:
        return compile_globs(("**", *globs) if all_out else globs).match_file(path)
    held = all_out and bool(path)
    for takes_in, expression in plain:
        if takes_in != held and expression.match(path):
            held = takes_in
    return held


def first_match(globs: tuple[str, ...], paths: Iterable[str]) -> str | None:
    """Return the first path one of the globs matches, or None."""
    return next((path for path in paths if _matches(globs, path)), None)
