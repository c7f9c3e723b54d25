"""A row of a table whose rule got a new text: only the cells that differ are written anew."""

from __future__ import annotations

import re

from workbench.text.prose import CODE_SPAN, table_cells


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
    values = _values(text, [(heads[at], cells[at]) for at in shown])
    if values is None:
        return None
    for at, value in reversed(list(zip(shown, values, strict=True))):
        if value != cells[at]:
            start, end = spans[at]
            line = line[:start] + _escaped(value, line[start:end]) + line[end:]
    return line


def _escaped(value: str, before: str) -> str:
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
    """Return where the words of each cell stand in a row, empty cells as empty spans."""
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


def _values(text: str, cells: list[tuple[str, str]]) -> list[str] | None:
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
