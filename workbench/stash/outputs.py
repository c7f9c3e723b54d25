"""What tools print, as it is kept: without control sequences, progress and wrappers, within bounds, or not.

Nothing is dropped in silence: what is cut says so at its place, and what is not worth keeping has a reason
under which it is counted.
"""

from __future__ import annotations

import re
from typing import Final

from workbench.records.dataclass import dataclass
from workbench.text.expressions import read_expressions

FORMS: Final = read_expressions(__package__, "outputs.toml")

HEAD: Final = 6_000
"""Characters of a long output's beginning that are kept."""
TAIL: Final = 18_000
"""Characters of its end: that is where errors and results are."""
PART: Final = 24_000
"""Characters of a part of a long file or page, cut between lines."""
MOST_PARTS: Final = 40
LONGEST_LINE: Final = 4_000
_RUN: Final = 3  # lines in which a screen is redrawn
_LOOKED_AT: Final = 4_096
_HALVES: Final = re.compile("[\ud800-\udfff]")
_BINARY: Final = 0.1  # of the characters

EMPTY: Final = "empty outputs"
CONFIRMATION: Final = "confirmations of a call"
BINARY: Final = "binary contents"
REPEATED: Final = "repeated contents"
UNFINISHED: Final = "outputs of unfinished commands"


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """What is kept of an output: its text, or the reason why none; `omitted` characters were left out."""

    text: str = ""
    reason: str = ""
    omitted: int = 0
    exit_code: str = ""


def read_output(raw: str) -> ToolOutput:
    """Return an output without what is around it, or the reason to leave it out. It is not bounded yet."""
    code = FORMS["exit_code"].search(raw[:600])
    exit_code = code[1] if code is not None else ""
    waiting = FORMS["retrieved"].match(raw)
    if waiting is not None:
        if waiting[1] == "timeout":
            return ToolOutput(reason=UNFINISHED)
        raw = waiting[2] or ""
    if is_binary(raw):
        return ToolOutput(reason=BINARY, exit_code=exit_code)
    text = FORMS["reminder"].sub("\n", raw)
    text = FORMS["error_tag"].sub("", FORMS["wrapper"].sub("", text, count=1))
    text = FORMS["trailer"].sub("", text)
    text = clean_lines(text)
    if FORMS["empty"].match(text):
        return ToolOutput(reason=EMPTY, exit_code=exit_code)
    if FORMS["unchanged"].match(text):
        return ToolOutput(reason=REPEATED, exit_code=exit_code)
    return ToolOutput(text, exit_code=exit_code)


def is_binary(text: str) -> bool:
    """Whether a text is binary: NULs in it, or more than a tenth of other control characters at its head."""
    head = text[:_LOOKED_AT]
    if "\0" in head:
        return True
    control = sum((char < " " and char not in "\t\n\r\x1b\b\f") or char == "\ufffd" for char in head)
    return control > len(head) * _BINARY


def clean_lines(text: str) -> str:
    """Return a text as a screen would show it in the end, long lines and encoded data cut with a note."""
    if "\x1b" in text:
        text = FORMS["escapes"].sub("", text)
    if "\r" in text:
        text = "\n".join(map(_last_state, text.replace("\r\n", "\n").split("\n")))
    text = FORMS["encoded"].sub(lambda found: f"[{len(found[0]):,} characters of encoded data]", text)
    lines = [_bounded_line(line.rstrip()) for line in text.strip("\n").split("\n")]
    return "\n".join(_without_progress(lines)).rstrip()


def _last_state(line: str) -> str:
    """Return what is left of a line that carriage returns overwrote."""
    return next((state for state in reversed(line.split("\r")) if state.strip()), "")


def _bounded_line(line: str) -> str:
    left = len(line) - LONGEST_LINE
    return line if left <= 0 else f"{line[:LONGEST_LINE]} [{left:,} more characters in this line]"


def _without_progress(lines: list[str]) -> list[str]:
    """Return the lines with runs of states of a progress reduced to the last."""
    kept: list[str] = []
    run: list[str] = []
    shape = ""
    for line in lines:
        shown = FORMS["digits"].sub("0", line).strip() if FORMS["progress"].search(line) else ""
        if run and shown != shape:
            kept += run if len(run) < _RUN else run[-1:]
            run = []
        shape = shown
        if shown:
            run.append(line)
        else:
            kept.append(line)
    return kept + (run if len(run) < _RUN else run[-1:])


def sound_text(text: str) -> str:
    """Return a text as a journal keeps it: halves of characters, as cuts leave them, are replaced."""
    return text if text.isascii() else _HALVES.sub("\ufffd", text)


def shorten(text: str, head: int = HEAD, tail: int = TAIL) -> tuple[str, int]:
    """Return a text of at most about `head` + `tail` characters, whole lines, and how many were left out."""
    if len(text) <= head + tail + 200:
        return text, 0
    first = text[:head].rpartition("\n")[0] or text[:head]
    last = text[-tail:].partition("\n")[2] or text[-tail:]
    left = len(text) - len(first) - len(last)
    return f"{first}\n[{left:,} characters left out]\n{last}", left


def split_parts(text: str, size: int = PART) -> list[tuple[str, int]]:
    """Return (part, its first line from 1) of a long text, cut between lines, at most `MOST_PARTS`.

    What comes after the last part is left out, and the part says so.
    """
    parts: list[tuple[str, int]] = []
    at, line = 0, 1
    while at < len(text):
        if len(parts) == MOST_PARTS:
            last, first = parts[-1]
            parts[-1] = f"{last}\n[{len(text) - at:,} characters left out]", first
            break
        end = at + size
        if end < len(text):
            cut = text.rfind("\n", at + size // 2, end)
            end = cut + 1 if cut >= 0 else end
        parts.append((text[at:end].rstrip("\n"), line))
        line += text.count("\n", at, end)
        at = end
    return parts


def without_numbers(text: str) -> tuple[str, int]:
    """Return a file as it is, without the line numbers that agents are shown, and its first line, else 1."""
    first = FORMS["numbered"].match(text)
    if first is None:
        return text, 1
    lines = text.split("\n")
    numbered = sum(FORMS["number"].match(line) is not None for line in lines)
    if numbered < len([line for line in lines if line]) * 0.9:
        return text, 1
    return FORMS["number"].sub("", text), int(first[1])
