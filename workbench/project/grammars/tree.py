"""What the walks of all grammars share: a collector of definitions and readers of tree-sitter nodes.

A walk visits only the nodes that can hold definitions (modules, class bodies, export statements) and never
the statements of a function, so its cost is a small part of parsing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from workbench.records.project import Symbol

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_DEPTH = 24  # containers nested deeper than this hold no definitions anyone looks for
MAX_SIGNATURE = 200
MAX_NAME = 120
MAX_SYMBOLS = 2_000
_SPACE = re.compile(r"\s+")
_TAIL = " \t{:=,;(["


@dataclass(slots=True)
class Collector:
    """Definitions found so far in `data`, in the order of the walk."""

    data: bytes
    symbols: list[Symbol] = field(default_factory=list)

    @property
    def full(self) -> bool:
        """Whether the bound on symbols per file is reached."""
        return len(self.symbols) >= MAX_SYMBOLS

    def text(self, node: Node | None) -> str:
        """Return the source of a node, '' for None."""
        if node is None:
            return ""
        return self.data[node.start_byte : node.end_byte].decode("utf-8", "replace")

    def add(
        self,
        name: str,
        kind: str,
        node: Node,
        *,
        first: Node | None = None,
        head: Node | None = None,
        body: Node | None = None,
        last: Node | None = None,
        parent: str = "",
        exported: bool = True,
    ) -> None:
        """Add a definition.

        node: the definition; first: where its lines begin if earlier (a decorator); head: where the signature
        begins if not at `node`; body: before which it ends, last: with which it ends, if not with `node`.
        """
        if not name or self.full:
            return
        begin = (head or node).start_byte
        stop = node.end_byte
        if last is not None:
            stop = last.end_byte
        elif body is not None:
            stop = body.start_byte
        if kind == "constant":
            line_break = self.data.find(b"\n", begin, stop)
            stop = line_break if line_break > 0 else stop
        self.symbols.append(
            Symbol(
                name=name[:MAX_NAME],
                kind=kind,
                line=(first or node).start_point[0] + 1,
                end_line=end_line(node),
                signature=one_line(self.data[begin : min(stop, begin + 4 * MAX_SIGNATURE)]),
                parent=parent[:MAX_NAME],
                exported=exported,
            )
        )


def one_line(source: bytes) -> str:
    """Return source as one line of at most MAX_SIGNATURE characters, without the opening of a body."""
    text = _SPACE.sub(" ", source.decode("utf-8", "replace")).strip().rstrip(_TAIL)
    if len(text) > MAX_SIGNATURE:
        return text[: MAX_SIGNATURE - 1].rstrip() + "…"
    return text


def end_line(node: Node) -> int:
    """Return the 1-based last line of a node; one that ends before column 0 ends on the line above."""
    row, column = node.end_point
    return row + 1 if column or row == node.start_point[0] else row


def first_named(node: Node) -> Node | None:
    """Return the first named child, None if there is none."""
    return node.named_child(0) if node.named_child_count else None


def with_exports(symbols: list[Symbol], names: set[str]) -> list[Symbol]:
    """Return the symbols with those named (and the members of those named) marked as exported."""
    return [
        replace(symbol, exported=True)
        if not symbol.exported and (symbol.parent or symbol.name) in names
        else symbol
        for symbol in symbols
    ]
