"""Changes the globs of a rule file: one value of the front matter that speaks for all its rules."""

from __future__ import annotations

import re
from collections.abc import Sequence

from workbench.errors import ParseError
from workbench.records.rules import Activation, Rule, path_globs
from workbench.rules.files.edits import apply_patches
from workbench.rules.files.layout import Laid
from workbench.rules.files.placement import portable, reach_of
from workbench.rules.files.unit_edits import Patch
from workbench.rules.formats.families import family_of
from workbench.rules.formats.frontmatter import (
    FrontMatter,
    Reach,
    Value,
    field_lines,
    globs_of,
    quote_text,
    read_front_matter,
    scalar,
)
from workbench.rules.formats.textfile import parse_file
from workbench.rules.reading.construction import globs_for
from workbench.rules.reading.discovery import RuleSource
from workbench.text.sanitize import visible_line

_LINE = re.compile(r"""^(\s*(?:"[^"]+"|'[^']+'|[\w.-]+)\s*:)(\s*+)(.*?)((?<!\s)\s+#\s(?s:.*))?$""")
_ITEM = re.compile(r"^(\s*-\s++)(.*?)((?<!\s)\s+#\s(?s:.*))?$")


def edit_front_matter(data: bytes, key: str, value: Value | None, *, path: str = "") -> bytes:
    """Return a rule file whose front matter gives `key` this value: a text, globs, or None for no such key.

    The way the value is written stays: quotes, a list in lines or brackets, a list with commas, a comment
    behind it. All other keys, comments and the text stay byte for byte; a file without front matter gets one.
    Raises: ParseError if the front matter is never closed, or the value would be read back as another.
    """
    file = parse_file(data)
    lines = list(file.shown)
    front = read_front_matter(lines)
    if not front.body_start and front.warnings:
        line, message = front.warnings[0]
        raise ParseError(message, path=path, line=line, hint="Close the front matter with a '---' line.")
    value = _one_line(value)
    if key in front.fields:
        first, last = front.lines[key] - 1, front.ends[key]
        new = [] if value is None else _restyle(lines[first:last], value)
        patch = Patch(first, last, _lay_lines(lines, first, new), None)
    elif value is None:
        return data
    elif front.body_start:
        at = front.body_start - 1
        patch = Patch(at, at, tuple(Laid(line) for line in field_lines(key, value)), None)
    else:
        gap = ("",) if lines and lines[0].strip() else ()
        patch = Patch(
            0, 0, tuple(Laid(line) for line in ("---", *field_lines(key, value), "---", *gap)), None
        )
    after = apply_patches(file, [patch])
    _check(front, lines, after, key, value, path)
    return after


def _one_line(value: Value | None) -> Value | None:
    if value is None:
        return None
    if isinstance(value, str):
        return " ".join(visible_line(value).split())
    return tuple(visible_line(item) for item in value)


def _lay_lines(lines: Sequence[str], first: int, new: Sequence[str]) -> tuple[Laid, ...]:
    """Return new lines, those that the file has as the file's own."""
    known = {line: at for at, line in enumerate(lines) if at >= first}
    head = [Laid(new[0], first)] if new else []
    return (*head, *(Laid(line, known.get(line)) for line in new[1:]))


def _restyle(old: Sequence[str], value: Value) -> list[str]:
    """Return the lines of a key with another value, written the way the old one is."""
    match = _LINE.match(old[0])
    if match is None:
        raise ParseError("front matter line not understood")
    key, space, text, comment = match[1], match[2] or " ", match[3], match[4] or ""
    items = [found for line in old[1:] if (found := _ITEM.match(line))]
    if items and not isinstance(value, str):
        return [old[0], *_items(old[1:], items, value)]
    if text.startswith("["):
        listed = (value,) if isinstance(value, str) else value
        quote = next((char for char in "".join(old) if char in "\"'"), "")
        return [f"{key}{space}[{', '.join(_quote(item, quote) for item in listed)}]{comment}"]
    joined = value if isinstance(value, str) else (", " if ", " in text else ",").join(value)
    quote = text[:1] if text[:1] in ("'", '"') else ""
    bare = joined if not isinstance(value, str) else scalar(joined)
    return [f"{key}{space}{_quote(joined, quote) if quote else bare}".rstrip() + comment]


def _items(old: Sequence[str], items: Sequence[re.Match[str]], value: Sequence[str]) -> list[str]:
    """Return the lines of a list; an item that stays keeps its line and the comments above it."""
    lines: dict[str, list[str]] = {}
    above: list[str] = []
    for line in old:
        match = _ITEM.match(line)
        above.append(line)
        if match:
            lines.setdefault(match[2].strip("\"'"), above)
            above = []
    mark, first = items[0][1], items[0][2]
    quote = first[:1] if first[:1] in ("'", '"') else ""
    return [line for item in value for line in lines.get(item, [mark + _quote(item, quote)])]


def _quote(text: str, quote: str) -> str:
    return quote_text(text, quote) if quote else text


def _check(
    front: FrontMatter, lines: list[str], after: bytes, key: str, value: Value | None, path: str
) -> None:
    """Read the file again. Raises: ParseError if anything but the key's value differs."""
    again = list(parse_file(after).shown)
    read = read_front_matter(again)
    wanted = {name: kept for name, kept in front.fields.items() if name != key}
    others = {name: kept for name, kept in read.fields.items() if name != key}
    if value is None:
        said = key not in read.fields
    elif isinstance(value, str):
        said = read.text(key) == value
    else:
        said = globs_of(read, key) == tuple(value)
    body = lines[front.body_start :]
    if not said or wanted != others or again[len(again) - len(body) :] != body:
        raise ParseError(
            f"front matter can't give {key!r} this value",
            path=path,
            line=front.lines.get(key, 1),
            hint="Change it in the file itself.",
        )


def rescope_file(path: str, data: bytes, rules: Sequence[Rule]) -> tuple[bytes, int, tuple[str, ...]]:
    """Return a file whose front matter has the globs its rules have now: bytes, lines it grew by, notes.

    Only where all rules that live in the file agree, and its format has globs; otherwise the file stays and a
    note says for which rules it doesn't hold what the store says.
    """
    living = [rule for rule in rules if rule.provenance is not None and rule.provenance.file == path]
    found = family_of(path)
    if not living or found is None:
        return data, 0, ()
    family, directory = found
    lines = parse_file(data).shown
    reach = family.read(read_front_matter(list(lines)))
    there = _globs(reach, directory)
    differing = [rule for rule in living if reach_of(rule).globs != there]
    if not differing:
        return data, 0, ()
    wanted = {path_globs(rule.scope) for rule in living}
    key = next(iter(family.keys), "")
    if key and not directory and reach.activation is Activation.PATHS and len(wanted) == 1 and all(wanted):
        try:
            after = edit_front_matter(data, key, wanted.pop(), path=path)
        except ParseError as error:
            return data, 0, (f"{path}:{error.line}: {error.message}",)
        return after, len(parse_file(after).shown) - len(lines), ()
    return (
        data,
        0,
        tuple(
            f"{path}: rule {rule.id} is for {', '.join(reach_of(rule).globs) or 'all paths'},"
            " which this file doesn't say"
            for rule in differing
        ),
    )


def _globs(reach: Reach, directory: str) -> tuple[str, ...]:
    source = RuleSource("", "", "", directory)
    return tuple(portable(glob) for glob in globs_for(source, reach))
