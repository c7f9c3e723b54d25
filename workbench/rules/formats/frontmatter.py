"""Front matter of rule files, read line by line because what people write there often is no valid YAML.

`globs: *.ts,**/x` is an alias to YAML and a list of globs to Cursor. Values stay text; a family of files
decides what they mean. Nothing here fails: what can't be read gives a warning with its line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import field

from workbench.records.dataclass import dataclass
from workbench.records.rules import Activation
from workbench.rules.globs import narrow, split_globs

Value = str | tuple[str, ...]

_KEY = re.compile(r"""^(?:"([^"]+)"|'([^']+)'|([A-Za-z_][\w.-]*))\s*:(?:\s++(.*)|)$""")
_ITEM = re.compile(r"^\s*-(?:\s++(.*)|)$")
_COMMENT = re.compile(r"(?<=\s)#\s")
_QUOTED = re.compile(r"""("(?:[^"\\]|\\.)*"|'(?:[^']|'')*')\s*(?:#.*)?$""")
_BACKSLASH = re.compile(r"\\([\\\"])")
_AFTER_LIST = re.compile(r"\]\s+#.*")
_MAX_LINES = 500


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """The fields of a file's head, each as text or a list of texts, in their order.

    `body_start` is the index of the first line after it (0 when there is none). `lines` gives the 1-based
    line of each key, `ends` the last line of its value. `warnings` are (line, message).
    """

    fields: dict[str, Value] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)
    body_start: int = 0
    warnings: tuple[tuple[int, str], ...] = ()
    ends: dict[str, int] = field(default_factory=dict)

    def text(self, *keys: str) -> str:
        """Return the first of the keys that is present, as one text; empty if none is."""
        for key in keys:
            value = self.fields.get(key)
            if value is not None:
                return value if isinstance(value, str) else ", ".join(value)
        return ""

    def flag(self, key: str) -> bool | None:
        """Return a yes/no field, or None where it is absent or says neither."""
        word = self.text(key).strip().lower()
        return {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}.get(word)


def read_front_matter(lines: list[str]) -> FrontMatter:
    """Read the block between two `---` lines at the top of a file, blank lines before it allowed.

    A block that never closes, or whose lines read as nothing at all, is taken as body, with a warning.
    """
    start = next((i for i, line in enumerate(lines) if line.strip()), None)
    if start is None or lines[start].rstrip() != "---":
        return FrontMatter()
    end = _closing(lines, start + 1)
    if end is None:
        rest = [line for line in lines[start + 1 : start + 12] if line.strip()]
        if not rest or not _KEY.match(rest[0]):
            return FrontMatter()  # a horizontal rule, not front matter
        return FrontMatter(warnings=((start + 1, "front matter has no closing '---' line; read as text"),))
    block = lines[start + 1 : end]
    if any(line.strip() for line in block) and not any(_KEY.match(line) for line in block):
        return FrontMatter()
    fields, where, warnings, ends = _read_fields(block, start + 2)
    return FrontMatter(fields, where, end + 1, tuple(warnings), ends)


def _closing(lines: list[str], start: int) -> int | None:
    for index in range(start, min(len(lines), start + _MAX_LINES)):
        if lines[index].rstrip() in ("---", "..."):
            return index
    return None


def _read_fields(
    block: list[str], first_line: int
) -> tuple[dict[str, Value], dict[str, int], list[tuple[int, str]], dict[str, int]]:
    fields: dict[str, Value] = {}
    where: dict[str, int] = {}
    ends: dict[str, int] = {}
    warnings: list[tuple[int, str]] = []
    index = 0
    while index < len(block):
        line = block[index]
        if not line.strip() or line.lstrip().startswith("#"):
            index += 1
            continue
        match = _KEY.match(line.rstrip())
        if match is None:
            warnings.append((first_line + index, f"front matter line not understood: {line.strip()[:60]!r}"))
            index += 1
            continue
        key = match.group(1) or match.group(2) or match.group(3)
        tail, start = (match.group(4) or "").strip(), index
        value, index = _read_value(tail, block, index + 1)
        if tail.startswith("[") and isinstance(value, tuple) and _open_brackets(" ".join(block[start:index])):
            warnings.append((first_line + start, f"list in front matter is never closed: {tail[:60]!r}"))
        if key in fields:
            warnings.append(
                (first_line + start, f"front matter key {key!r} given twice; the last one counts")
            )
        fields[key] = value
        where[key] = first_line + start
        last = index
        while last > start + 1 and (not block[last - 1].strip() or block[last - 1].lstrip().startswith("#")):
            last -= 1
        ends[key] = first_line + last - 1
    return fields, where, warnings, ends


def _read_value(tail: str, block: list[str], index: int) -> tuple[Value, int]:
    """Return the value that starts with `tail` on the key's line, and the index after it."""
    if tail.startswith("[") and _open_brackets(tail):
        while index < len(block) and _open_brackets(tail) and not _KEY.match(block[index].rstrip()):
            tail += " " + block[index].strip()
            index += 1
    if tail.startswith("["):
        listed = _AFTER_LIST.sub("]", tail).rstrip()
        if listed.endswith("]") or _open_brackets(listed):
            return _inline_list(listed), index
    if tail in ("", "|", ">", "|-", ">-", "|+", ">+") or tail.startswith("#"):
        end = index
        while end < len(block) and (not block[end].strip() or block[end][0] in " \t-"):
            end += 1
        return _read_indented(block[index:end]), end
    return _scalar(tail), index


def _read_indented(lines: list[str]) -> Value:
    """Return a list when the lines are `- item`s, else their text."""
    meant = [line for line in lines if line.strip() and not line.lstrip().startswith("#")]
    items = [_ITEM.match(line) for line in meant]
    if meant and all(items):
        return tuple(_scalar((item.group(1) or "").strip()) for item in items if item)
    return "\n".join(line.strip() for line in lines).strip()


def _open_brackets(text: str) -> bool:
    return text.count("[") > text.count("]")


def _inline_list(text: str) -> tuple[str, ...]:
    return split_globs(text.strip()[1:].removesuffix("]"))


def _scalar(text: str) -> str:
    if text[:1] in ("'", '"'):
        quoted = _QUOTED.match(text)
        if quoted:
            if text[0] == "'":
                return quoted[1][1:-1].replace("''", "'")
            return _BACKSLASH.sub(r"\1", quoted[1][1:-1])
    comment = _COMMENT.search(text)
    return text[: comment.start()].strip() if comment else text.strip()


@dataclass(frozen=True, slots=True)
class Reach:
    """When rules apply. `globs` are as written, none for any path; `kept` are fields of unknown meaning."""

    activation: Activation
    globs: tuple[str, ...] = ()
    description: str = ""
    kept: dict[str, Value] = field(default_factory=dict)


def globs_of(front: FrontMatter, *keys: str) -> tuple[str, ...]:
    """Return the globs of the first key that is present: a list, or a text with commas."""
    value = next((front.fields[key] for key in keys if key in front.fields), ())
    items: Iterable[str] = (value,) if isinstance(value, str) else value
    return tuple(dict.fromkeys(glob for item in items for glob in split_globs(item)))


def reach(front: FrontMatter, activation: Activation, globs: tuple[str, ...], known: Iterable[str]) -> Reach:
    """Return the reach, globs that match everything dropped: rules for any path are always on."""
    limited = narrow(globs)
    if activation is Activation.PATHS and not limited:
        activation = Activation.ALWAYS
    defined = {*known, "description"}
    kept = {key: value for key, value in front.fields.items() if key not in defined}
    return Reach(activation, limited, " ".join(front.text("description").split()), kept)


_PLAIN = re.compile(r"[^\s\-?:,\[\]{}#&*!|>'\"%@`]")
_AMBIGUOUS = re.compile(r":(?:\s|$)|\s#|^(?:true|false|yes|no|on|off|null|[\d.+-]+)$", re.IGNORECASE)


def scalar(text: str) -> str:
    """Return a text as a value after `key: `, quoted only where it would be read as something else."""
    text = " ".join(text.split())
    plain = _PLAIN.match(text) and not _AMBIGUOUS.search(text)
    return text if plain or not text else quote_text(text)


def field_lines(key: str, value: Value) -> list[str]:
    """Return the lines of a field: a text behind its key, or the items of a list below it."""
    if isinstance(value, str):
        return [f"{key}: {scalar(value)}".rstrip()]
    return [f"{key}:", *(f"  - {quote_text(item)}" for item in value)]


def quote_text(text: str, mark: str = '"') -> str:
    """Return a text in quotes, double ones or those of the mark."""
    if mark == "'":
        return "'" + text.replace("'", "''") + "'"
    return '"' + re.sub(r'([\\"])', r"\\\1", text) + '"'
