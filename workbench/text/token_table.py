"""Counts of tokens from a table on disk, for processes that count one pack and end.

Loading a tokenizer takes 0.06 s of CPU, more than counting a pack does. The table has what that needs: the
hash of each token and its rank, in order. `index` writes it once to the user's cache. A text is split as
o200k splits it, a piece that is a token counts one, and others are merged pair by pair, lowest rank first
(https://github.com/openai/tiktoken). Counts are those of the tokenizer: what the table cannot decide, and
more than a process like that counts, is left to it.
"""

from __future__ import annotations

import mmap
import os
import re
import unicodedata
import zlib
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from hashlib import blake2b
from itertools import pairwise
from pathlib import Path
from typing import Final

Count = Callable[[str], int]
_OPENED: dict[int, memoryview] = {}

TABLED: Final = "o200k_base"
TOKENS: Final = 199_998  # of o200k_base, without special ones
MOST: Final = 200_000  # characters a process counts before it loads the tokenizer: that takes as long
_LONGEST: Final = 128  # bytes of a piece that is merged here
_HEAD: Final = b"tokens-2"
_ROW: Final = 12  # bytes: a hash of eight, a rank of four
# Of a text in which characters outside ASCII are one of their class: letters of both cases and marks as well.
_PIECES: Final = re.compile(
    r"[^\r\nA-Za-z0-9\x01]?(?:[A-Z\x01\x02]+[a-z\x01\x02]*|[a-z][a-z\x01\x02]*)"
    r"(?:'(?:[sStTmMdD]|[rRvV][eE]|[lL][lL]))?"
    r"|[0-9]{1,3}| ?[^\sA-Za-z0-9\x01]+[\r\n/]*|(\s+)",
    re.ASCII,
)
_CLASSES: Final = {"Lu": "A", "Lt": "A", "Ll": "a", "Lm": "\x01", "Lo": "\x01"}
_MARK: Final = "\x02"
_SIGN: Final = "!"
_NAMES: Final = str.maketrans({"\x01": _SIGN, _MARK: _SIGN})
_UNSURE: Final = "\u017f"  # folds to an s, as the endings after an apostrophe do


def table_path(cache: Path) -> Path:
    """Return where the table is in the user's cache."""
    return cache / "tokens" / f"{TABLED}.table"


def write_table(path: Path, tokens: Iterable[bytes]) -> None:
    """Write the table of tokens, which are in the order of their ranks. Raises: OSError."""
    rows = sorted((_hash(token), rank) for rank, token in enumerate(tokens))
    import numpy as np  # only whoever indexes comes here

    columns = list(zip(*rows, strict=True))
    data = np.asarray(columns[0], "<u8").tobytes() + np.asarray(columns[1], "<u4").tobytes()
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(f".{os.getpid()}")
    try:
        partial.write_bytes(_HEAD + zlib.crc32(data).to_bytes(8, "little") + data)
        partial.replace(path)
    finally:
        with suppress(OSError):
            partial.unlink()


def open_table(path: Path) -> memoryview | None:
    """Return the rows of the table, None if there is none or it is damaged."""
    try:
        with path.open("rb") as file:
            data = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    except (OSError, ValueError):  # an empty file cannot be mapped
        return None
    rows = data[2 * len(_HEAD) :]
    if bytes(data[: len(_HEAD)]) != _HEAD or not rows or len(rows) % _ROW:
        return None
    digest = zlib.crc32(rows)
    if digest != int.from_bytes(data[len(_HEAD) : 2 * len(_HEAD)], "little"):
        return None
    return _OPENED.setdefault(digest, rows)  # one copy in a process, however many projects it has open


class TableCount:
    """Counts by the table, and by the tokenizer that `load` returns where the table does not do."""

    def __init__(self, rows: memoryview, load: Callable[[], Count]) -> None:
        middle = len(rows) // _ROW * 8
        self._hashes, self._ranks = rows[:middle].cast("Q"), rows[middle:].cast("I")
        self._load = load
        self._exact: Count | None = None
        self._left = MOST
        self._counts: dict[str, int] = {}
        self._sizes: dict[str, int] = {}

    def __call__(self, text: str) -> int:
        """Return the number of tokens of a text. Raises: UnicodeEncodeError for a lone surrogate."""
        if self._exact is None:
            total = self._count(text)
            if total is not None:
                return total
            self._exact = self._load()
        return self._exact(text)

    def _count(self, text: str) -> int | None:
        """Return the tokens of a text, None if the table does not do; lines counted before are known."""
        shown = _shadow(text)
        if shown is None:
            return None
        total, start = 0, 0
        for end in _ends(shown):
            lines = text[start:end]
            count = self._counts.get(lines)
            if count is None:
                self._left -= len(lines)
                count = self._count_lines(lines, shown[start:end]) if self._left >= 0 else None
                if count is None:
                    return None
                self._counts[lines] = count
            total, start = total + count, end
        return total

    def _count_lines(self, text: str, shown: str) -> int | None:
        total, sizes = 0, self._sizes
        start = 0
        while match := _PIECES.match(shown, start):
            end = match.end()
            if match.lastindex:  # blanks: up to the last line break, else all but the one before a word
                broken = max(shown.rfind("\n", start, end), shown.rfind("\r", start, end))
                end = broken + 1 if broken >= 0 else end - (end < len(shown) and end - start > 1)
            elif (
                both := max(shown.rfind("\x01", start, end), shown.rfind(_MARK, start, end))
            ) >= 0 and shown[both + 1 : end].partition("'")[0].isupper():
                end = both + 1  # capitals without a small letter behind them are a piece of their own
            piece, start = text[start:end], end
            size = sizes.get(piece)
            if size is None:
                size = self._size(piece)
                if size is None:
                    return None
                sizes[piece] = size
            total += size
        return total

    def _size(self, piece: str) -> int | None:
        """Return the tokens of a piece, None if it is too long to be merged here."""
        data = piece.encode()
        if self._rank(data) is not None:
            return 1
        if len(data) > _LONGEST:
            return None
        parts = [data[place : place + 1] for place in range(len(data))]
        ranks = [self._rank(left + right) for left, right in pairwise(parts)]
        while (least := min((rank for rank in ranks if rank is not None), default=None)) is not None:
            at = ranks.index(least)
            parts[at : at + 2] = [parts[at] + parts[at + 1]]
            del ranks[at]
            for place in (at - 1, at):
                if 0 <= place < len(ranks):
                    ranks[place] = self._rank(parts[place] + parts[place + 1])
        return len(parts)

    def _rank(self, data: bytes) -> int | None:
        number = _hash(data)
        at = bisect_left(self._hashes, number)
        return self._ranks[at] if at < len(self._hashes) and self._hashes[at] == number else None


def _shadow(text: str) -> str | None:
    """Return a text of the same length in which classes of characters are ASCII; None if one is not known."""
    if text.isascii():
        return text.translate(_NAMES) if "\x01" in text or _MARK in text else text
    shown: dict[int, str] = dict(_NAMES)
    for char in set(text):
        if char.isascii():
            continue
        kind = unicodedata.category(char)
        if kind == "Cn" or char == _UNSURE:  # not assigned in this Python's version of Unicode
            return None
        default = {"N": "0", "M": _MARK}.get(kind[0], "\t" if char.isspace() else _SIGN)
        shown[ord(char)] = _CLASSES.get(kind, default)
    return text.translate(shown)


def _ends(shown: str) -> Iterator[int]:
    """Yield where a text can be taken apart: behind lines before one that no piece of theirs reaches into."""
    at = 0
    for number, line in enumerate(shown.split("\n")):
        first = line.lstrip(" \t\f\v")[:1]
        if number and first and first != "\r" and line[0] != "/":
            yield at
        at += len(line) + 1
    yield len(shown)


def _hash(data: bytes) -> int:
    return int.from_bytes(blake2b(data, digest_size=8).digest(), "little")
