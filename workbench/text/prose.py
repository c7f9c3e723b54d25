"""The prose of rule files without its Markdown: for reading, and for judging its wording."""

from __future__ import annotations

import re
from functools import lru_cache

CODE = "\u00b6"  # in the place of a code span while wording is judged
MAX_CHARS = 4000  # longer units are documents, not instructions; judged by their beginning
CODE_SPAN = re.compile(r"``[^`\n]+``|`[^`\n]*`")
_LINK = re.compile(r"!?\[([^\[\]\n]*)\]\([^()\n]*\)|!?\[([^\[\]\n]*)\]\[[^\[\]\n]*\]")
_URL = re.compile(r"<?https?://\S+")
_EMPHASIS = re.compile(r"(\*{1,3}|_{2,3})(?=\S)|(?<=\S)(\*{1,3}|_{2,3})")
LEADING = re.compile(r"^(?:\[[ xX~]\]\s+|[^\w\s\"'(@#$/\\.\[<\u00b6-]+\s*|\d+(?:\.\d+)*[.)]?\s+)+")
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|\n+")


def plain(text: str) -> str:
    """Return prose without Markdown marks: links as their text, code spans as written, no emphasis."""
    text = _LINK.sub(lambda match: match.group(1) or match.group(2) or "", text)
    spans: list[str] = []

    def keep(match: re.Match[str]) -> str:
        spans.append(match.group(0))
        return f"\x00{len(spans) - 1}\x00"

    text = _EMPHASIS.sub("", CODE_SPAN.sub(keep, text.replace("\x00", "")))
    return re.sub(r"\x00(\d+)\x00", lambda match: spans[int(match.group(1))].strip("`"), text).strip()


@lru_cache(maxsize=4096)
def bare(text: str) -> str:
    """Return prose for judging wording: code spans become one word, links their text, emphasis goes."""
    text = _LINK.sub(lambda match: match.group(1) or match.group(2) or "", text[:MAX_CHARS])
    text = CODE_SPAN.sub(CODE, text)
    text = _EMPHASIS.sub("", _URL.sub("URL", text))
    return text.replace("’", "'").strip()


def sentences(text: str) -> tuple[str, ...]:
    """Split bare prose into sentences, list markers and check boxes removed."""
    pieces = (LEADING.sub("", piece.strip()).strip() for piece in _SENTENCE.split(text))
    return tuple(piece for piece in pieces if piece)


def table_cells(row: str) -> tuple[str, ...]:
    """Return the cells of a table's row, escaped bars and bars in code spans kept inside their cell."""
    spans: list[str] = []

    def keep(match: re.Match[str]) -> str:
        spans.append(match.group(0).replace("\x01", "|"))
        return f"\x00{len(spans) - 1}\x00"

    row = row.replace("\x00", "").replace("\x01", "").replace("\\|", "\x01")
    masked = CODE_SPAN.sub(keep, row).strip().strip("|")
    cells = (cell.strip().replace("\x01", "|") for cell in masked.split("|"))
    return tuple(re.sub(r"\x00(\d+)\x00", lambda match: spans[int(match.group(1))], cell) for cell in cells)


def short_name(text: str) -> str:
    """Return the beginning of a text as a name of at most 60 characters, whole words."""
    name = ""
    for word in text.split():
        if name and len(name) + 1 + len(word) > 60:
            return name.rstrip(".,;:") + " …"
        name = f"{name} {word}".strip()[:80]
    return name.rstrip(".,;:")
