"""Definitions in Rust: items of modules, traits and impl blocks, from their first attribute on."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from workbench.project.grammars.tree import MAX_DEPTH, Collector

if TYPE_CHECKING:
    from tree_sitter import Node

_ITEMS = {
    "function_item": "function",
    "function_signature_item": "function",
    "struct_item": "class",
    "enum_item": "class",
    "union_item": "class",
    "trait_item": "type",
    "type_item": "type",
    "const_item": "constant",
    "static_item": "constant",
    "macro_definition": "function",
    "mod_item": "module",
    "impl_item": "impl",
}
_BODIES = frozenset({"trait_item", "mod_item", "impl_item"})
_TRANSPARENT = frozenset({"foreign_mod_item", "declaration_list", "ERROR"})
_TYPE_NAME = re.compile(r"(\w+)\s*(?:<.*)?$", re.DOTALL)


def collect(root: Node, found: Collector) -> None:
    """Collect the definitions of a Rust file."""
    _walk(root, found, "", "", True, 0)


def _walk(block: Node, found: Collector, parent: str, inside: str, exported: bool, depth: int) -> None:
    if depth > MAX_DEPTH or found.full:
        return
    attributes: Node | None = None
    macro_exported = False
    for node in block.named_children:
        kind = node.type
        if kind == "attribute_item":
            attributes = attributes or node
            macro_exported = macro_exported or b"macro_export" in found.data[node.start_byte : node.end_byte]
            continue
        if kind in ("line_comment", "block_comment"):
            continue
        if kind in _ITEMS:
            public = exported if inside in ("trait", "trait impl") else _is_public(node)
            if kind == "macro_definition":
                public = macro_exported
            _item(node, kind, attributes, found, parent, inside, public, depth)
        elif kind in _TRANSPARENT:
            _walk(node, found, parent, inside, exported, depth + 1)
        attributes, macro_exported = None, False


def _item(
    node: Node,
    type_: str,
    attributes: Node | None,
    found: Collector,
    parent: str,
    inside: str,
    public: bool,
    depth: int,
) -> None:
    body = node.child_by_field_name("body")
    kind = _ITEMS[type_]
    owner = node.child_by_field_name("name")
    name = found.text(owner)
    within = {"trait_item": "trait", "mod_item": "module"}.get(type_, "")
    if type_ == "impl_item":
        name = _type_name(found.text(node.child_by_field_name("type")))
        within = "impl" if node.child_by_field_name("trait") is None else "trait impl"
        public = True
    if type_ == "mod_item" and body is None:
        return  # `mod name;` only points at a file: it is an import
    if kind in ("function", "constant", "type") and inside in ("trait", "impl", "trait impl"):
        if kind == "type":
            return
        kind = "method" if kind == "function" else kind
    stop = None if kind in ("constant", "type") and type_ != "trait_item" else body
    if type_ == "macro_definition":
        stop = node.child_by_field_name("rules") or next(iter(node.named_children[1:]), None)
    found.add(name, kind, node, first=attributes, body=stop, parent=parent, exported=public)
    if body is not None and type_ in _BODIES:
        _walk(body, found, name, within, public, depth + 1)


def _is_public(node: Node) -> bool:
    return any(child.type == "visibility_modifier" for child in node.children[:2])


def _type_name(text: str) -> str:
    """The last path segment of a type without its generics: `fmt::Wrapper<'a, T>` is `Wrapper`."""
    head = text.split("<", 1)[0].strip()
    match = _TYPE_NAME.search(head)
    return match.group(1) if match else text.strip()
