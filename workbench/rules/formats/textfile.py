"""A text file as lines that can be put back byte for byte, next to the lines that an import of it sees.

For everything that changes rule files: encoding, byte order mark, the end of each line and bytes that are no
text survive where nothing is changed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from workbench.errors import ParseError
from workbench.records.dataclass import dataclass
from workbench.text.sanitize import safe_lines, visible

_UTF16 = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}
_UTF8_MARK = b"\xef\xbb\xbf"
_BYTES_OR_CHAR = re.compile("[\udc80-\udcff]+|.", re.DOTALL)


@dataclass(frozen=True, slots=True)
class TextFile:
    """A file's lines. `raw` are as stored, `ends` their ends, `shown` what an import reads, all as many.

    Bytes that can't be decoded are in `raw` as lone surrogates. `half` is the odd last byte of UTF-16.
    """

    raw: tuple[str, ...]
    ends: tuple[str, ...]
    shown: tuple[str, ...]
    encoding: str = "utf-8"
    mark: bytes = b""
    half: bytes = b""

    @property
    def end(self) -> str:
        """Return the line end most lines have; `\\n` for a file without any."""
        return "\r\n" if 2 * self.ends.count("\r\n") > len(self.ends) - self.ends.count("") else "\n"


def decode_text(data: bytes) -> tuple[str, list[tuple[int, str]]]:
    """Return a file's text, and (line, message) where bytes were replaced: UTF-8, or UTF-16 with a mark."""
    encoding = "utf-16" if data[:2] in _UTF16 else "utf-8-sig"
    try:
        return data.decode(encoding), []
    except UnicodeDecodeError as error:
        text = data.decode(encoding, "replace")
        line = data.count(b"\n", 0, error.start) + 1
        return text, [(line, "is not UTF-8 here; unreadable bytes became replacement characters")]


def parse_file(data: bytes) -> TextFile:
    """Cut a file into lines; `join_lines` of what comes back gives the same bytes."""
    encoding = _UTF16.get(data[:2], "utf-8")
    mark, half = b"", b""
    if encoding == "utf-8":
        if data.startswith(_UTF8_MARK):
            mark = _UTF8_MARK
        text = data[len(mark) :].decode("utf-8", "surrogateescape")
    else:
        mark, body = data[:2], data[2:]
        if len(body) % 2:
            half = body[-1:]
        text = body[: len(body) - len(half)].decode(encoding, "surrogatepass")
        text += half.decode("ascii", "surrogateescape") if half >= b"\x80" else "\udc80" * len(half)
    raw, ends = _split(text)
    shown = safe_lines(decode_text(data)[0])
    if len(shown) != len(raw):  # no file is known to do this; a wrong line must never be written
        raise ParseError(f"has {len(raw)} lines that read as {len(shown)}", hint="Save it as UTF-8.")
    return TextFile(tuple(raw), tuple(ends), tuple(shown), encoding, mark, half)


def _split(text: str) -> tuple[list[str], list[str]]:
    pieces = text.split("\n")
    last = pieces.pop()
    raw = [piece.removesuffix("\r") for piece in pieces]
    ends = ["\r\n" if piece.endswith("\r") else "\n" for piece in pieces]
    if last:
        raw.append(last.removesuffix("\r"))
        ends.append("\r" if last.endswith("\r") else "")
    return raw, ends


def join_lines(file: TextFile, raw: Sequence[str], ends: Sequence[str]) -> bytes:
    """Return the bytes of lines in the encoding of `file`."""
    text = "".join(line + end for line, end in zip(raw, ends, strict=True))
    if file.encoding == "utf-8":
        return file.mark + text.encode("utf-8", "surrogateescape")
    half = b""
    if file.half and text and text[-1:] == file.raw[-1][-1:]:
        text, half = text[:-1], file.half
    return file.mark + text.encode(file.encoding, "surrogatepass") + half


def keep_hidden(raw: str, shown: str, new: str) -> str:
    """Return the line `new` with what `shown` stands for in `raw` put back on both sides of the change.

    A control character before or after the words that changed stays what it was and does not become the
    picture that an import shows instead of it.
    """
    if raw == shown:
        return new
    pieces = [(piece, _as_shown(piece)) for piece in _BYTES_OR_CHAR.findall(raw)]
    if "".join(seen for _, seen in pieces) != shown:
        return new
    head, start = 0, 0
    while head < len(pieces) and new.startswith(pieces[head][1], start):
        start += len(pieces[head][1])
        head += 1
    tail, end = len(pieces), len(new)
    while (
        tail > head
        and end - len(pieces[tail - 1][1]) >= start
        and new.endswith(pieces[tail - 1][1], start, end)
    ):
        tail -= 1
        end -= len(pieces[tail][1])
    return (
        "".join(piece for piece, _ in pieces[:head])
        + new[start:end]
        + "".join(piece for piece, _ in pieces[tail:])
    )


def _as_shown(piece: str) -> str:
    if "\udc80" <= piece[0] <= "\udcff":
        return visible(piece.encode("utf-8", "surrogateescape").decode("utf-8", "replace"))
    return visible(piece)
