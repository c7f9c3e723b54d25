"""Definitions in Python: functions, classes, methods and module-level names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.project.grammars.tree import MAX_DEPTH, Collector, first_named

if TYPE_CHECKING:
    from tree_sitter import Node

_TRANSPARENT = frozenset(
    """
    block if_statement else_clause elif_clause try_statement except_clause except_group_clause finally_clause
    with_statement for_statement while_statement ERROR match_statement case_clause
    """.split()
)


def collect(root: Node, found: Collector) -> None:
    """Collect the definitions of a module."""
    _walk(root, found, "", False, 0, set())


def _walk(block: Node, found: Collector, parent: str, in_class: bool, depth: int, seen: set[str]) -> None:
    if depth > MAX_DEPTH or found.full:
        return
    for child in block.named_children:
        first, node = child, child
        kind = node.type
        if kind == "decorated_definition":
            inner = node.child_by_field_name("definition")
            if inner is None:
                continue
            node, kind = inner, inner.type
        if kind == "function_definition":
            name = found.text(node.child_by_field_name("name"))
            found.add(
                name,
                "method" if in_class else "function",
                node,
                first=first,
                last=node.child_by_field_name("return_type") or node.child_by_field_name("parameters"),
                parent=parent,
                exported=is_public(name),
            )
        elif kind == "class_definition":
            name = found.text(node.child_by_field_name("name"))
            body = node.child_by_field_name("body")
            last = node.child_by_field_name("superclasses") or node.child_by_field_name("name")
            found.add(name, "class", node, first=first, last=last, parent=parent, exported=is_public(name))
            if body is not None:
                _walk(body, found, name, True, depth + 1, set())
        elif kind == "expression_statement":
            if node.named_child_count:
                _assignment(node, found, parent, in_class, seen)
        elif kind == "type_alias_statement":
            name = found.text(first_named(node)).split("[", 1)[0]
            found.add(name, "type", node, parent=parent, exported=is_public(name))
        elif kind in _TRANSPARENT:
            _walk(node, found, parent, in_class, depth + 1, seen)


def _assignment(statement: Node, found: Collector, parent: str, in_class: bool, seen: set[str]) -> None:
    """A name bound at module level for the first time, or a constant of a class."""
    node = first_named(statement)
    if node is None or node.type != "assignment":
        return
    left = node.child_by_field_name("left")
    if left is None or left.type != "identifier":
        return
    name = found.text(left)
    if name in seen or (in_class and not name.isupper()):
        return
    seen.add(name)
    found.add(name, "constant", statement, parent=parent, exported=is_public(name))


def is_public(name: str) -> bool:
    """Whether a name is public by Python's convention: no leading underscore, or a dunder."""
    return not name.startswith("_") or (name.startswith("__") and name.endswith("__"))
