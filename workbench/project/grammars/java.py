"""Definitions in Java: types, methods, constructors and constants; annotations belong to the lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.project.grammars.tree import MAX_DEPTH, Collector

if TYPE_CHECKING:
    from tree_sitter import Node

_TYPES = {
    "class_declaration": "class",
    "record_declaration": "class",
    "enum_declaration": "class",
    "interface_declaration": "type",
    "annotation_type_declaration": "type",
}
_METHODS = frozenset(
    """
    method_declaration constructor_declaration compact_constructor_declaration
    annotation_type_element_declaration
    """.split()
)
_TRANSPARENT = frozenset({"enum_body_declarations", "ERROR", "class_body", "interface_body"})
_NOT_KEYWORDS = frozenset({"annotation", "marker_annotation", "line_comment", "block_comment"})


def collect(root: Node, found: Collector) -> None:
    """Collect the definitions of a Java file."""
    _walk(root, found, "", False, 0)


def _walk(block: Node, found: Collector, parent: str, in_interface: bool, depth: int) -> None:
    if depth > MAX_DEPTH or found.full:
        return
    for node in block.named_children:
        kind = node.type
        if kind in _TYPES:
            name = found.text(node.child_by_field_name("name"))
            head, modifiers = _modifiers(node)
            body = node.child_by_field_name("body")
            exported = in_interface or bool(modifiers & {"public", "protected"})
            found.add(name, _TYPES[kind], node, head=head, body=body, parent=parent, exported=exported)
            if body is not None:
                _walk(body, found, name, _TYPES[kind] == "type", depth + 1)
        elif kind in _METHODS:
            name = found.text(node.child_by_field_name("name"))
            head, modifiers = _modifiers(node)
            exported = in_interface or bool(modifiers & {"public", "protected"})
            body = node.child_by_field_name("body")
            found.add(name, "method", node, head=head, body=body, parent=parent, exported=exported)
        elif kind == "enum_constant":
            name = found.text(node.child_by_field_name("name"))
            found.add(name, "constant", node, body=node.child_by_field_name("body"), parent=parent)
        elif kind in ("field_declaration", "constant_declaration"):
            _constant(node, found, parent, in_interface)
        elif kind in _TRANSPARENT:
            _walk(node, found, parent, in_interface, depth + 1)


def _constant(node: Node, found: Collector, parent: str, in_interface: bool) -> None:
    head, modifiers = _modifiers(node)
    if not in_interface and not modifiers >= {"static", "final"}:
        return
    exported = in_interface or bool(modifiers & {"public", "protected"})
    for declarator in node.children_by_field_name("declarator"):
        name = found.text(declarator.child_by_field_name("name"))
        found.add(name, "constant", node, head=head, parent=parent, exported=exported)


def _modifiers(node: Node) -> tuple[Node, set[str]]:
    """Return the node the signature begins at (annotations left out) and the modifier keywords."""
    head, keywords = node, set()
    children = node.children
    if children and children[0].type == "modifiers":
        words = [child for child in children[0].children if child.type not in _NOT_KEYWORDS]
        keywords = {child.type for child in words}
        head = words[0] if words and not _mixed(children[0]) else (words[-1] if words else children[1])
    return head, keywords


def _mixed(modifiers: Node) -> bool:
    """Whether an annotation follows a keyword."""
    kinds = [child.type in _NOT_KEYWORDS for child in modifiers.children]
    return True in kinds[kinds.index(False) :] if False in kinds else False
