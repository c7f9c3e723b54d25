"""Makes text from files safe to show: nothing invisible, nothing that a terminal or a reader obeys.

Letters, punctuation, tabs and line feeds stay byte for byte. Control characters become their Unicode
pictures, characters that reorder or hide text (bidirectional overrides, zero-width marks, language tags)
become `<U+202E>`, lone surrogates the replacement character. Only `\\n` separates lines, so numbers hold.
"""

from __future__ import annotations

import re

_PICTURES = {code: chr(0x2400 + code) for code in range(0x20) if chr(code) not in "\t\n"} | {0x7F: "\u2421"}
_HIDDEN = (
    *range(0x80, 0xA0),  # C1 controls, 0x9b starts a terminal sequence
    0x00AD,
    0x061C,
    0x180E,
    0x200B,
    *range(0x200E, 0x2010),
    *range(0x2028, 0x202F),
    *range(0x2060, 0x2070),
    0xFEFF,
    *range(0xFFF9, 0xFFFC),
    *range(0xFFFE, 0x10000),
    *range(0xE0000, 0xE0080),
)
_VISIBLE = (
    _PICTURES | {code: f"<U+{code:04X}>" for code in _HIDDEN} | dict.fromkeys(range(0xD800, 0xE000), "\ufffd")
)
_UNSAFE = re.compile("[" + "".join(re.escape(chr(code)) for code in _VISIBLE) + "]")


def visible(text: str) -> str:
    """Return the text with every control or hidden character shown; safe text comes back as it is."""
    if _UNSAFE.search(text) is None:
        return text
    return text.translate(_VISIBLE)


def visible_line(text: str) -> str:
    """Return the text on one line: line feeds and tabs are shown as well. For paths, names and reasons."""
    return visible(text).replace("\n", "\u240a").replace("\t", "\u2409")


def text_lines(data: bytes) -> list[str]:
    """Return the lines of a file as people number them, without line ends, safe to show.

    UTF-8 (with or without a byte order mark) and UTF-16 with one are understood; bytes that are neither
    become replacement characters. `\\r\\n` ends a line as `\\n` does; an empty file has no lines.
    """
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        text = data.decode("utf-16", "replace")
    else:
        text = data.decode("utf-8-sig", "replace")
    if not text:
        return []
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    if "\r" in text:
        lines = [line.removesuffix("\r") for line in lines]
    if _UNSAFE.search(text) is None:
        return lines
    return [visible(line) for line in lines]
