"""Definitions in C and C++: functions and prototypes, types with members, macros, file-level variables."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from workbench.project.grammars.tree import MAX_DEPTH, Collector, first_named
from workbench.records.project import Symbol

if TYPE_CHECKING:
    from tree_sitter import Node

_TYPES = {
    "struct_specifier": "class",
    "class_specifier": "class",
    "union_specifier": "class",
    "enum_specifier": "class",
}
_TRANSPARENT = frozenset(
    """
    preproc_if preproc_ifdef preproc_else preproc_elif preproc_elifdef linkage_specification declaration_list
    ERROR
    """.split()
)
_WRAPPERS = frozenset(
    """
    pointer_declarator reference_declarator parenthesized_declarator attributed_declarator array_declarator
    init_declarator
    """.split()
)
_NAMES = frozenset(
    """
    identifier field_identifier type_identifier destructor_name operator_name qualified_identifier
    operator_cast template_function
    """.split()
)
_ARGUMENTS = re.compile(r"<[^<>]*>")
_GUARD = re.compile(r"^_*[A-Z0-9_]+_H(?:PP|XX|_)?_*$|^_+\w+$")


def collect(root: Node, found: Collector) -> None:
    """Collect the definitions of a C or C++ file; a prototype whose definition follows is left out."""
    _walk(root, found, "", "", True, 0)
    defined = {(symbol.parent, symbol.name) for symbol in found.symbols if symbol.kind in _DEFINED}
    found.symbols = [
        replace(symbol, kind=_DEFINED[_PROTOTYPES[symbol.kind]])
        if symbol.kind in _PROTOTYPES
        else _plain(symbol)
        for symbol in found.symbols
        if symbol.kind not in _PROTOTYPES or (symbol.parent, symbol.name) not in defined
    ]


# During the walk definitions and prototypes have kinds of their own, to distinguish them at the end.
_DEFINED = {"function definition": "function", "method definition": "method"}
_PROTOTYPES = {"function prototype": "function definition", "method prototype": "method definition"}


def _plain(symbol: Symbol) -> Symbol:
    return replace(symbol, kind=_DEFINED[symbol.kind]) if symbol.kind in _DEFINED else symbol


def _walk(block: Node, found: Collector, parent: str, access: str, exported: bool, depth: int) -> None:
    """Access: '' outside classes, else the access that holds at this point of the class body."""
    if depth > MAX_DEPTH or found.full:
        return
    for child in block.named_children:
        first, node = child, child
        kind = node.type
        while kind == "template_declaration":
            inner = node.named_children[-1] if node.named_child_count else None
            if inner is None:
                break
            node, kind = inner, inner.type
        if kind == "access_specifier":
            access = found.text(node).strip(" :")
        elif kind == "function_definition":
            _function(node, first, found, parent, access, "definition", exported)
            specifier = node.child_by_field_name("type")
            if specifier is not None and specifier.type in _TYPES:
                _type(specifier, node, found, parent, access, exported, depth)
        elif kind in ("declaration", "field_declaration"):
            if block.type == "ERROR" and child.start_point[1] > 0:
                continue  # most likely a local variable of a function that could not be parsed
            _declaration(node, first, found, parent, access, exported, depth)
        elif kind in _TYPES:
            _type(node, first, found, parent, access, exported, depth)
        elif kind == "type_definition":
            _typedef(node, found, parent, access, exported, depth)
        elif kind in ("alias_declaration", "concept_definition"):
            found.add(
                found.text(node.child_by_field_name("name")),
                "type",
                node,
                parent=parent,
                exported=access != "private",
            )
        elif kind == "namespace_definition":
            _namespace(node, found, depth)
        elif kind in ("preproc_def", "preproc_function_def"):
            _macro(node, found, kind)
        elif kind in _TRANSPARENT:
            _walk(node, found, parent, access, exported, depth + 1)


def _namespace(node: Node, found: Collector, depth: int) -> None:
    name = found.text(node.child_by_field_name("name"))
    body = node.child_by_field_name("body")
    found.add(name, "module", node, body=body)
    if body is not None:
        _walk(body, found, name, "", bool(name), depth + 1)


def _macro(node: Node, found: Collector, kind: str) -> None:
    name = found.text(node.child_by_field_name("name"))
    value = node.child_by_field_name("value")
    if kind == "preproc_function_def":
        found.add(name, "function", node, body=value)
    elif value is not None and not _GUARD.match(name):
        found.add(name, "constant", node)


def _type(
    node: Node,
    whole: Node,
    found: Collector,
    parent: str,
    access: str,
    exported: bool,
    depth: int,
    name: str = "",
) -> None:
    body = node.child_by_field_name("body")
    if body is None:
        return
    name = name or _last(found.text(node.child_by_field_name("name")))
    found.add(
        name,
        _TYPES[node.type],
        node,
        first=whole,
        head=whole,
        body=body,
        parent=parent,
        exported=exported and access != "private",
    )
    if node.type != "enum_specifier":
        inner = "private" if node.type == "class_specifier" else "public"
        _walk(body, found, name, inner, exported, depth + 1)


def _typedef(node: Node, found: Collector, parent: str, access: str, exported: bool, depth: int) -> None:
    names = [_declared(declarator) for declarator in node.children_by_field_name("declarator")]
    name = next((found.text(name) for name in names if name is not None), "")
    inner = node.child_by_field_name("type")
    if inner is not None and inner.type in _TYPES and inner.child_by_field_name("body") is not None:
        _type(inner, node, found, parent, access, exported, depth, name)
    else:
        found.add(name, "type", node, parent=parent)


def _declaration(
    node: Node, first: Node, found: Collector, parent: str, access: str, exported: bool, depth: int
) -> None:
    specifier = node.child_by_field_name("type")
    if (
        specifier is not None
        and specifier.type in _TYPES
        and specifier.child_by_field_name("body") is not None
    ):
        _type(specifier, node, found, parent, access, exported, depth)
        if not access:
            _variables(node, found, parent, exported)
        return
    declarators = node.children_by_field_name("declarator")
    for declarator in declarators:
        if _function_declarator(declarator) is not None:
            if not (_is_static(node, found) and not access):
                _function(node, first, found, parent, access, "prototype", exported)
            return
    if not access:
        _variables(node, found, parent, exported)


def _variables(node: Node, found: Collector, parent: str, exported: bool) -> None:
    """Variables at file or namespace level; `extern` ones only refer to another file's."""
    static = _is_static(node, found)
    for declarator in node.children_by_field_name("declarator"):
        name = _declared(declarator)
        if name is None:
            continue
        body = declarator.child_by_field_name("value") if declarator.type == "init_declarator" else None
        found.add(
            _last(found.text(name)),
            "constant",
            node,
            body=body,
            parent=parent,
            exported=exported and not static,
        )


def _function(
    node: Node, first: Node, found: Collector, parent: str, access: str, form: str, exported: bool
) -> None:
    declarator = node.child_by_field_name("declarator")
    function = _function_declarator(declarator)
    inner = function.child_by_field_name("declarator") if function is not None else None
    name_node = _declared(inner)
    if name_node is None:
        return
    full = found.text(name_node)
    name = _last(full)
    scope = _last(full[: -len(name)].rstrip(":")) if full.endswith(name) else ""
    kind = "method" if access or scope else "function"
    body = node.child_by_field_name("body")
    if body is None and form == "definition":
        body = next((child for child in node.named_children if child.type == "field_initializer_list"), None)
    public = exported and access != "private" and not (_is_static(node, found) and not access)
    found.add(
        name,
        f"{kind} {form}",
        node,
        first=first,
        head=first,
        body=body,
        parent=scope or parent,
        exported=public,
    )


def _function_declarator(node: Node | None) -> Node | None:
    """The function declarator inside pointer and reference declarators; not a pointer to one."""
    for _ in range(MAX_DEPTH):
        if node is None:
            return None
        if node.type == "function_declarator":
            inner = node.child_by_field_name("declarator")
            if inner is not None and inner.type == "parenthesized_declarator" and b"*" in (inner.text or b""):
                return None
            return node
        if node.type not in _WRAPPERS:
            return None
        node = node.child_by_field_name("declarator") or first_named(node)
    return None


def _declared(node: Node | None) -> Node | None:
    """The name inside a declarator."""
    for _ in range(MAX_DEPTH):
        if node is None or node.type in _NAMES:
            return node
        node = node.child_by_field_name("declarator") or first_named(node)
    return None


def _is_static(node: Node, found: Collector) -> bool:
    return any(
        child.type == "storage_class_specifier" and found.text(child) == "static"
        for child in node.children[:3]
    )


def _last(name: str) -> str:
    """The name without its scope and template arguments: `ns::Box<T>::get` is `get`."""
    if "operator" in name:
        return name[name.index("operator") :]
    return _without_arguments(name).rsplit("::", 1)[-1].strip()


def _without_arguments(name: str) -> str:
    for _ in range(6):
        if "<" not in name:
            break
        name = _ARGUMENTS.sub("", name)
    return name
