"""Markdown cut into blocks with exact lines, for any text, well-formed or not.

Every non-blank line belongs to exactly one block. This is no full Markdown parser: it knows what rule files
use (headings, bullets, paragraphs, code, tables, comments, tag lines, rules) and calls the rest paragraphs.
"""

from __future__ import annotations

import re
from enum import StrEnum

from workbench.records.dataclass import dataclass
from workbench.text.prose import CODE_SPAN, table_cells

FENCE = re.compile(r"^(`{3,}+|~{3,}+)(.*)$")
_HEADING = re.compile(r"^(#{1,6})(?=\s|$)")
_BREAK = re.compile(r"^(?:(?:-\s*){3,}|(?:\*\s*){3,}|(?:_\s*){3,}|={3,}|─{3,}|━{3,}|═{3,})$")
BULLET_MARK = re.compile(r"^([-*+•‣◦▪–]|\d{1,9}[.)]|[A-Za-z]\))(\s+)(?=\S)|^([-*+•])$")
_DELIMITER = re.compile(r"^\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?$")
_TAG = re.compile(r"^</?[A-Za-z][\w.:-]*(?:\s[^<>]*)?/?>$")
_UNDERLINE = re.compile(r"^(?:=+|-{2,})$")


class Kind(StrEnum):
    """What a block of a rule file is."""

    HEADING = "heading"
    BULLET = "bullet"
    PARAGRAPH = "paragraph"
    CODE = "code"
    TABLE_HEAD = "table_head"
    TABLE_ROW = "table_row"
    COMMENT = "comment"
    TAG = "tag"
    BREAK = "break"


@dataclass(frozen=True, slots=True)
class Block:
    """A run of lines. `start` and `end` index the file's lines, `end` exclusive; blank edges are outside.

    `indent` is in columns. `text` has the lines without indentation, bullet marker, heading marks or quote
    marks, joined by newlines. `depth` is the heading's level, else 0.
    """

    kind: Kind
    start: int
    end: int
    indent: int
    text: str
    depth: int = 0


def blocks(lines: list[str], start: int = 0) -> tuple[tuple[Block, ...], tuple[tuple[int, str], ...]]:
    """Cut `lines[start:]` into blocks. Returns them with warnings as (1-based line, message)."""
    found: list[Block] = []
    warnings: list[tuple[int, str]] = []
    stripped = [line.strip() for line in lines]
    last_comment_end = max((i for i, line in enumerate(stripped) if "-->" in line), default=-1)
    index = start
    while index < len(lines):
        text = stripped[index]
        if not text:
            index += 1
            continue
        indent = _indent(lines[index])
        fence = FENCE.match(text)
        heading = _HEADING.match(text)
        if fence and "`" not in fence.group(2):
            end, closed = _fence_end(stripped, index, fence.group(1))
            if not closed:
                warnings.append(
                    (index + 1, "code fence is never closed; read as code to the end of the file")
                )
            block = Block(Kind.CODE, index, end, indent, "\n".join(lines[index:end]))
        elif text.startswith("<!--") and index <= last_comment_end:
            end = next(i for i in range(index, len(lines)) if "-->" in stripped[i]) + 1
            block = Block(Kind.COMMENT, index, end, indent, "\n".join(stripped[index:end]))
        elif heading:
            block = Block(Kind.HEADING, index, index + 1, indent, _title(text), heading.end())
        elif _BREAK.match(text):
            block = Block(Kind.BREAK, index, index + 1, indent, text)
        elif _table_starts(stripped, index):
            block = Block(Kind.TABLE_HEAD, index, index + 2, indent, text)
        elif found and found[-1].end == index and _continues_table(found[-1], text):
            block = Block(Kind.TABLE_ROW, index, index + 1, indent, text)
        elif _TAG.match(text):
            block = Block(Kind.TAG, index, index + 1, indent, text)
        else:
            block = _prose(lines, stripped, index, indent)
        found.append(block)
        index = block.end
    return tuple(found), tuple(warnings)


def _title(text: str) -> str:
    """Return a heading's words, without its marks and the optional closing ones."""
    words = text.lstrip("#").strip()
    unclosed = words.rstrip("#")
    return unclosed.rstrip() if unclosed.endswith((" ", "\t")) or not unclosed else words


def _prose(lines: list[str], stripped: list[str], index: int, indent: int) -> Block:
    """Return the bullet or paragraph that starts at `index`, with its continuation lines."""
    bullet = BULLET_MARK.match(stripped[index])
    end = index + 1
    while end < len(lines) and stripped[end] and not _interrupts(stripped, end):
        end += 1
    if bullet is None:
        underlined = end < len(lines) and end == index + 1 and _UNDERLINE.match(stripped[end])
        if underlined:
            depth = 1 if stripped[end].startswith("=") else 2
            return Block(Kind.HEADING, index, end + 1, indent, stripped[index], depth)
    kept = [line.removeprefix(">").strip() if line.startswith(">") else line for line in stripped[index:end]]
    if bullet is not None:
        kept[0] = kept[0][bullet.end() :]
        return Block(Kind.BULLET, index, end, indent, "\n".join(kept).strip())
    return Block(Kind.PARAGRAPH, index, end, indent, "\n".join(kept).strip())


def _interrupts(stripped: list[str], index: int) -> bool:
    text = stripped[index]
    return bool(
        BULLET_MARK.match(text)
        or FENCE.match(text)
        or _HEADING.match(text)
        or _BREAK.match(text)
        or _UNDERLINE.match(text)
        or text.startswith("<!--")
        or _TAG.match(text)
        or _table_starts(stripped, index)
    )


def _fence_end(stripped: list[str], start: int, marks: str) -> tuple[int, bool]:
    for index in range(start + 1, len(stripped)):
        text = stripped[index]
        if text.startswith(marks) and not text.strip(marks[0]):
            return index + 1, True
    end = len(stripped)
    while end > start + 1 and not stripped[end - 1]:
        end -= 1
    return end, False


def _table_starts(stripped: list[str], index: int) -> bool:
    if "|" not in stripped[index] or index + 1 >= len(stripped):
        return False
    below = stripped[index + 1]
    return "|" in below and "-" in below and bool(_DELIMITER.match(below))


def _continues_table(before: Block, text: str) -> bool:
    return before.kind in (Kind.TABLE_HEAD, Kind.TABLE_ROW) and "|" in text


def _indent(line: str) -> int:
    columns = 0
    for char in line:
        if char == " ":
            columns += 1
        elif char == "\t":
            columns += 4 - columns % 4
        else:
            break
    return columns


def new_row(line: str, header: str, text: str) -> str | None:
    """Return the row of a table for a rule's new text ("Head: cell; Head: cell"), None if it doesn't fit."""
    if "\n" in text:
        return None
    spans = cell_spans(line)
    cells = table_cells(line)
    heads = table_cells(header)
    if len(spans) != len(cells):
        return None
    shown = [at for at in range(min(len(heads), len(cells))) if cells[at]]
    values = _cell_values(text, [(heads[at], cells[at]) for at in shown])
    if values is None:
        return None
    for at, value in reversed(list(zip(shown, values, strict=True))):
        if value != cells[at]:
            start, end = spans[at]
            line = line[:start] + _escaped_cell(value, line[start:end]) + line[end:]
    return line


def _escaped_cell(value: str, before: str) -> str:
    """Return a cell's words with their bars escaped, in code spans unless the cell had bare ones there."""
    if "|" not in before.replace("\\|", ""):
        return value.replace("|", "\\|")
    pieces = []
    at = 0
    for span in CODE_SPAN.finditer(value):
        pieces += [value[at : span.start()].replace("|", "\\|"), span[0]]
        at = span.end()
    return "".join(pieces) + value[at:].replace("|", "\\|")


def cell_spans(line: str) -> tuple[tuple[int, int], ...]:
    """Return where the words of each cell are in a row, empty cells as empty spans."""
    masked = CODE_SPAN.sub(lambda match: "." * len(match[0]), line.replace("\\|", "..").replace("\x00", "."))
    start = len(masked) - len(masked.lstrip().lstrip("|"))
    end = start + len(masked[start:].rstrip().rstrip("|"))
    spans = []
    for match in re.finditer(r"[^|]*(?:\||$)", masked[start:end]):
        cell = masked[start + match.start() : start + match.end()].removesuffix("|")
        left = start + match.start() + len(cell) - len(cell.lstrip())
        spans.append((left, max(left, start + match.start() + len(cell.rstrip()))))
        if match.end() == end - start and not match[0].endswith("|"):
            break
    return tuple(spans)


def _cell_values(text: str, cells: list[tuple[str, str]]) -> list[str] | None:
    """Return the new words of the cells, found by the heads before them."""
    marks = [f"{head}: " if head else "" for head, _ in cells]
    if not cells or not text.startswith(marks[0]):
        return None
    values = []
    at = len(marks[0])
    for following in marks[1:]:
        end = text.find("; " + following, at) if following else -1
        if end < 0:
            return None
        values.append(text[at:end].strip())
        at = end + 2 + len(following)
    values.append(text[at:].strip())
    return values if all(values) else None
