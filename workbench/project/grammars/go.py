"""Definitions in Go: functions, methods by receiver, types with their methods, constants, variables."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from workbench.project.grammars.tree import Collector

if TYPE_CHECKING:
    from tree_sitter import Node

_RECEIVER = re.compile(r"(\w+)\s*(?:\[[^\]]*\])?\s*\)\s*$")
_TYPE_KINDS = {"struct_type": "class", "interface_type": "type"}


def collect(root: Node, found: Collector) -> None:
    """Collect the definitions of a Go file."""
    for node in root.named_children:
        kind = node.type
        if kind in ("function_declaration", "method_declaration"):
            _function(node, found)
        elif kind == "type_declaration":
            _types(node, found)
        elif kind in ("const_declaration", "var_declaration"):
            _values(node, found)
        elif kind == "ERROR":
            for child in node.named_children:
                if child.type in ("function_declaration", "method_declaration"):
                    _function(child, found)


def _function(node: Node, found: Collector) -> None:
    name = found.text(node.child_by_field_name("name"))
    receiver = found.text(node.child_by_field_name("receiver"))
    owner = _RECEIVER.search(receiver)
    found.add(
        name,
        "method" if receiver else "function",
        node,
        body=node.child_by_field_name("body"),
        parent=owner.group(1) if owner else "",
        exported=is_exported(name),
    )


def _types(declaration: Node, found: Collector) -> None:
    specs = declaration.named_children
    for spec in specs:
        if spec.type not in ("type_spec", "type_alias"):
            continue
        whole = declaration if len(specs) == 1 else spec
        name = found.text(spec.child_by_field_name("name"))
        type_ = spec.child_by_field_name("type")
        kind = _TYPE_KINDS.get(type_.type, "type") if type_ is not None else "type"
        body = None
        if type_ is not None and type_.type in _TYPE_KINDS:
            body = next(
                (child for child in type_.children if child.type in ("{", "field_declaration_list")), None
            )
        found.add(name, kind, whole, body=body, exported=is_exported(name))
        if type_ is not None and type_.type == "interface_type":
            for member in type_.named_children:
                if member.type in ("method_elem", "method_spec"):
                    method = found.text(member.child_by_field_name("name"))
                    found.add(method, "method", member, parent=name, exported=is_exported(method))


def _values(declaration: Node, found: Collector) -> None:
    specs = declaration.named_children
    if len(specs) == 1 and specs[0].type == "var_spec_list":
        specs = specs[0].named_children
    for spec in specs:
        if spec.type not in ("const_spec", "var_spec"):
            continue
        whole = declaration if len(specs) == 1 else spec
        for name_node in spec.children_by_field_name("name"):
            name = found.text(name_node)
            if name_node.type == "identifier" and name != "_":
                found.add(name, "constant", whole, exported=is_exported(name))


def is_exported(name: str) -> bool:
    """Whether Go exports a name: it starts with an upper-case letter."""
    return name[:1].isupper()
