"""A file in a few lines: its definitions, nested, with line numbers: what a pack shows of a long file."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence

from workbench.records.project import Symbol

MAX_LINES = 60
MAX_WIDTH = 120

_WEIGHTS = {"class": 5, "type": 5, "impl": 4, "module": 4, "section": 4, "function": 4, "method": 3, "key": 2,
            "constant": 1, "test": 1}  # fmt: skip


def outline(
    symbols: Sequence[Symbol], language: str = "", *, max_lines: int = MAX_LINES, max_width: int = MAX_WIDTH
) -> str:
    """Return the outline of a file, '' if it defines nothing.

    One line a definition, `line  signature`, indented by nesting. When there are more than `max_lines`,
    private names, constants, tests and members go first, and a last line says how many are left out.
    """
    if not symbols or max_lines <= 0:
        return ""
    ordered = sorted(symbols, key=lambda symbol: (symbol.line, -symbol.end_line))
    depths, parents = nesting(ordered)
    kept = _kept(ordered, depths, parents, max_lines)
    width = len(str(max((ordered[position].line for position in kept), default=1)))
    lines = []
    for position in kept:
        symbol = ordered[position]
        text = f"{symbol.line:>{width}}  {'  ' * depths[position]}{_label(symbol, language)}"
        lines.append(text if len(text) <= max_width else text[: max_width - 1].rstrip() + "…")
    left_out = len(ordered) - len(kept)
    if left_out:
        lines.append(f"{' ' * width}  … {left_out} more")
    return "\n".join(lines)


def _label(symbol: Symbol, language: str) -> str:
    if symbol.kind == "section":
        return symbol.name if language != "markdown" else symbol.signature
    return symbol.signature or symbol.name


def nesting(ordered: Sequence[Symbol]) -> tuple[list[int], list[int]]:
    """Return (depths, positions of the enclosing one or -1) of symbols ordered by (line, -end_line)."""
    depths, parents, open_ = [], [], list[int]()
    for position, symbol in enumerate(ordered):
        while open_ and not _encloses(ordered[open_[-1]], symbol):
            open_.pop()
        depths.append(len(open_))
        parents.append(open_[-1] if open_ else -1)
        open_.append(position)
    return depths, parents


def _encloses(outer: Symbol, inner: Symbol) -> bool:
    if (outer.line, outer.end_line) == (inner.line, inner.end_line):
        return False
    return outer.line <= inner.line and inner.end_line <= outer.end_line


def _kept(
    ordered: Sequence[Symbol], depths: Sequence[int], parents: Sequence[int], max_lines: int
) -> list[int]:
    """Positions of the definitions shown, in order: the weightiest, each with what encloses it."""
    if len(ordered) <= max_lines:
        return list(range(len(ordered)))
    room = max_lines - 1
    by_weight = sorted(
        range(len(ordered)),
        key=lambda position: (
            depths[position],
            -_WEIGHTS.get(ordered[position].kind, 1) - (3 if ordered[position].exported else 0),
            position,
        ),
    )
    kept: set[int] = set()
    for position in by_weight:
        chain = [position]
        while parents[chain[-1]] >= 0:
            chain.append(parents[chain[-1]])
        new = [link for link in chain if link not in kept]
        if len(kept) + len(new) <= room:
            kept.update(new)
    return sorted(kept)


def enclosing_symbols(symbols: Sequence[Symbol], lines: Iterable[int]) -> tuple[Symbol, ...]:
    """Return the definitions around any of the 1-based lines, outer ones included, in line order."""
    wanted = sorted(set(lines))
    ordered = sorted(symbols, key=lambda symbol: (symbol.line, -symbol.end_line))
    return tuple(
        s for s in ordered if (at := bisect_left(wanted, s.line)) < len(wanted) and wanted[at] <= s.end_line
    )
