"""Definitions in Ruby: modules, classes, methods with their visibility, constants, and blocks of tests."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from workbench.project.grammars.definitions import MAX_DEPTH, Definitions, first_named

if TYPE_CHECKING:
    from tree_sitter import Node

_TRANSPARENT = frozenset(
    {"body_statement", "if", "unless", "else", "elsif", "begin", "then", "ERROR", "block_body"}
)
_VISIBILITY = frozenset({"private", "public", "protected", "private_class_method", "module_function"})
_TESTS = frozenset(
    """
    describe context it specify should test feature scenario shared_examples shared_context
    shared_examples_for task namespace RSpec.describe xit fit xdescribe
    """.split()
)
_CLASS_MAKERS = frozenset({"Struct.new", "Class.new", "Module.new", "Data.define"})


def collect(root: Node, found: Definitions) -> None:
    """Collect the definitions of a Ruby file."""
    _walk(root, found, "", 0)


def _walk(block: Node, found: Definitions, parent: str, depth: int) -> None:
    if depth > MAX_DEPTH or found.full:
        return
    exported = True
    for node in block.named_children:
        kind = node.type
        if kind in ("method", "singleton_method"):
            _method(node, found, parent, exported or kind == "singleton_method")
        elif kind in ("class", "module"):
            name = _last(found.text(node.child_by_field_name("name")))
            body = node.child_by_field_name("body")
            last = node.child_by_field_name("superclass") or node.child_by_field_name("name")
            found.add(name, kind, node, last=last, parent=parent)
            if body is not None:
                _walk(body, found, name, depth + 1)
        elif kind == "singleton_class":
            body = node.child_by_field_name("body")
            if body is not None:
                _walk(body, found, parent, depth + 1)
        elif kind == "assignment":
            _constant(node, found, parent, depth)
        elif kind == "identifier":
            word = found.text(node)
            if word in _VISIBILITY:
                exported = word not in ("private", "private_class_method")
        elif kind == "call":
            _call(node, found, parent, depth)
        elif kind == "alias":
            found.add(found.text(node.child_by_field_name("name")).lstrip(":"), "method", node, parent=parent)
        elif kind in _TRANSPARENT:
            _walk(node, found, parent, depth + 1)


def _method(node: Node, found: Definitions, parent: str, exported: bool) -> None:
    name = node.child_by_field_name("name")
    found.add(
        found.text(name),
        "method" if parent else "function",
        node,
        last=node.child_by_field_name("parameters") or name,
        parent=parent,
        exported=exported,
    )


def _constant(node: Node, found: Definitions, parent: str, depth: int) -> None:
    left = node.child_by_field_name("left")
    if left is None or left.type != "constant":
        return
    name = found.text(left)
    right = node.child_by_field_name("right")
    block = right.child_by_field_name("block") if right is not None and right.type == "call" else None
    if right is not None and right.type == "call" and _callee(right, found) in _CLASS_MAKERS:
        found.add(name, "class", node, body=block, parent=parent)
        body = block.child_by_field_name("body") if block is not None else None
        if body is not None:
            _walk(body, found, name, depth + 1)
    else:
        found.add(name, "constant", node, parent=parent)


def _callee(node: Node, found: Definitions) -> str:
    receiver = node.child_by_field_name("receiver")
    method = found.text(node.child_by_field_name("method"))
    return f"{found.text(receiver)}.{method}" if receiver is not None else method


def _call(node: Node, found: Definitions, parent: str, depth: int) -> None:
    """Calls that define something: `private def x`, `private :x`, `attr_reader :x`, `describe "…" do`."""
    callee = _callee(node, found)
    arguments = node.child_by_field_name("arguments")
    if callee in _VISIBILITY and arguments is not None:
        exported = callee not in ("private", "private_class_method")
        for argument in arguments.named_children:
            if argument.type in ("method", "singleton_method"):
                _method(argument, found, parent, exported)
            elif argument.type == "simple_symbol":
                _set_visibility(found, found.text(argument)[1:], parent, exported)
    elif callee == "define_method" and arguments is not None and arguments.named_child_count:
        name = found.text(first_named(arguments)).lstrip(":").strip("\"'")
        found.add(name, "method", node, body=node.child_by_field_name("block"), parent=parent)
    elif callee in _TESTS or callee.endswith(".describe"):
        block = node.child_by_field_name("block")
        if block is None:
            return
        title = found.text(first_named(arguments)) if arguments is not None else callee
        name = title.strip("\"':") or callee
        found.add(name, "test", node, body=block, parent=parent, exported=False)
        body = block.child_by_field_name("body")
        if body is not None:
            _walk(body, found, name, depth + 1)
    elif depth == 0 or parent:
        block = node.child_by_field_name("block")
        body = block.child_by_field_name("body") if block is not None and depth < 3 else None
        if body is not None and callee in (
            "included",
            "class_methods",
            "class_eval",
            "module_eval",
            "instance_eval",
        ):
            _walk(body, found, parent, depth + 1)


def _set_visibility(found: Definitions, name: str, parent: str, exported: bool) -> None:
    for position in range(len(found.symbols) - 1, -1, -1):
        symbol = found.symbols[position]
        if symbol.parent != parent and symbol.kind == "class":
            return
        if symbol.name == name and symbol.parent == parent:
            found.symbols[position] = replace(symbol, exported=exported)
            return


def _last(name: str) -> str:
    return name.rsplit("::", 1)[-1]
