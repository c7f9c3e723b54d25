"""Definitions in C and C++: functions and prototypes, types with members, macros, file-level variables.

No query finds these: a declarator nests without a bound around its name, and what is `private` depends on the
last label before it.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from workbench.project.grammars.definitions import MAX_DEPTH, Definitions, first_named

if TYPE_CHECKING:
    from tree_sitter import Node

_TYPES = frozenset({"struct_specifier", "class_specifier", "union_specifier", "enum_specifier"})
_DECLARATIONS = frozenset({"declaration", "field_declaration"})
_NAMED_TYPES = frozenset({"alias_declaration", "concept_definition"})
_MACROS = frozenset({"preproc_def", "preproc_function_def"})
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
_GUARD = re.compile(r"^[A-Z0-9_]+_H(?:PP|XX|_)?_*$|^_\w+$")

# During the walk definitions and prototypes have kinds of their own, to distinguish them at the end.
_DEFINED = {"function definition": "function", "method definition": "method"}
_PROTOTYPES = {"function prototype": "function", "method prototype": "method"}


class _Scope(NamedTuple):
    """Where definitions are. `access` is '' outside classes, else what holds at this point of the body."""

    parent: str = ""
    access: str = ""
    exported: bool = True

    @property
    def public(self) -> bool:
        """Whether what is defined here is seen from outside."""
        return self.exported and self.access != "private"


def collect(root: Node, found: Definitions) -> None:
    """Collect the definitions of a C or C++ file; a prototype whose definition follows is left out."""
    _Reader(found).walk(root, _Scope(), 0)
    defined = {(symbol.parent, symbol.name) for symbol in found.symbols if symbol.kind in _DEFINED}
    kinds = {**_DEFINED, **_PROTOTYPES}
    found.symbols = [
        replace(symbol, kind=kinds.get(symbol.kind, symbol.kind))
        for symbol in found.symbols
        if symbol.kind not in _PROTOTYPES or (symbol.parent, symbol.name) not in defined
    ]


class _Reader:
    """The walk over one file. `first` is where the lines and the signature of a definition begin."""

    def __init__(self, found: Definitions) -> None:
        self._found = found

    def walk(self, block: Node, scope: _Scope, depth: int) -> None:
        """Collect what the children of a file, a namespace or the body of a class define."""
        if depth > MAX_DEPTH or self._found.full:
            return
        for child in block.named_children:
            node = child
            while node.type == "template_declaration" and node.named_child_count:
                node = node.named_children[-1]
            if node.type == "access_specifier":
                scope = scope._replace(access=self._found.text(node).strip(" :"))
            elif node.type in _DECLARATIONS and block.type == "ERROR" and child.start_point[1] > 0:
                continue  # most likely a local variable of a function that could not be parsed
            elif node.type in _TRANSPARENT:
                self.walk(node, scope, depth + 1)
            else:
                self._define(node, child, scope, depth)

    def _define(self, node: Node, first: Node, scope: _Scope, depth: int) -> None:
        kind = node.type
        if kind == "function_definition":
            self._function(node, first, scope, "definition")
            specifier = node.child_by_field_name("type")
            if specifier is not None and specifier.type in _TYPES:
                self._type(specifier, node, scope, depth)
        elif kind in _DECLARATIONS:
            self._declaration(node, first, scope, depth)
        elif kind in _TYPES:
            self._type(node, first, scope, depth)
        elif kind == "type_definition":
            self._typedef(node, scope, depth)
        elif kind in _NAMED_TYPES:
            exported = scope.access != "private"
            self._found.add(self._name(node), "type", node, parent=scope.parent, exported=exported)
        elif kind == "namespace_definition":
            name, body = self._name(node), node.child_by_field_name("body")
            self._found.add(name, "module", node, body=body)
            if body is not None:
                self.walk(body, _Scope(name, exported=bool(name)), depth + 1)
        elif kind in _MACROS:
            self._macro(node)

    def _name(self, node: Node) -> str:
        return self._found.text(node.child_by_field_name("name"))

    def _macro(self, node: Node) -> None:
        name, value = self._name(node), node.child_by_field_name("value")
        if node.type == "preproc_function_def":
            self._found.add(name, "function", node, body=value)
        elif value is not None and not _GUARD.match(name):
            self._found.add(name, "constant", node)

    def _type(self, node: Node, whole: Node, scope: _Scope, depth: int, name: str = "") -> None:
        body = node.child_by_field_name("body")
        if body is None:
            return
        name = name or _last(self._name(node))
        parent, exported = scope.parent, scope.public
        self._found.add(
            name, "class", node, first=whole, head=whole, body=body, parent=parent, exported=exported
        )
        if node.type != "enum_specifier":
            inner = "private" if node.type == "class_specifier" else "public"
            self.walk(body, _Scope(name, inner, scope.exported), depth + 1)

    def _typedef(self, node: Node, scope: _Scope, depth: int) -> None:
        names = [_declared_name(declarator) for declarator in node.children_by_field_name("declarator")]
        name = next((self._found.text(name) for name in names if name is not None), "")
        inner = _type_with_body(node)
        if inner is not None:
            self._type(inner, node, scope, depth, name)
        else:
            self._found.add(name, "type", node, parent=scope.parent)

    def _declaration(self, node: Node, first: Node, scope: _Scope, depth: int) -> None:
        specifier = _type_with_body(node)
        if specifier is not None:
            self._type(specifier, node, scope, depth)
        elif any(map(_function_declarator, node.children_by_field_name("declarator"))):
            if scope.access or not self._is_static(node):
                self._function(node, first, scope, "prototype")
            return
        if not scope.access:
            self._variables(node, scope)

    def _variables(self, node: Node, scope: _Scope) -> None:
        """Variables at file or namespace level; `extern` ones only refer to another file's."""
        exported = scope.exported and not self._is_static(node)
        for declarator in node.children_by_field_name("declarator"):
            name = self._found.text(_declared_name(declarator))
            body = declarator.child_by_field_name("value") if declarator.type == "init_declarator" else None
            self._found.add(_last(name), "constant", node, body=body, parent=scope.parent, exported=exported)

    def _function(self, node: Node, first: Node, scope: _Scope, form: str) -> None:
        function = _function_declarator(node.child_by_field_name("declarator"))
        named = _declared_name(function.child_by_field_name("declarator")) if function is not None else None
        if named is None:
            return
        full = self._found.text(named)
        name = _last(full)
        owner = _last(full[: -len(name)].rstrip(":")) if full.endswith(name) else ""
        body = node.child_by_field_name("body")
        if body is None and form == "definition":
            children = node.named_children
            body = next((child for child in children if child.type == "field_initializer_list"), None)
        self._found.add(
            name,
            f"{'method' if scope.access or owner else 'function'} {form}",
            node,
            first=first,
            head=first,
            body=body,
            parent=owner or scope.parent,
            exported=scope.public and (bool(scope.access) or not self._is_static(node)),
        )

    def _is_static(self, node: Node) -> bool:
        return any(
            child.type == "storage_class_specifier" and self._found.text(child) == "static"
            for child in node.children[:3]
        )


def _type_with_body(node: Node) -> Node | None:
    """Return the type that a declaration defines, None if it only names one."""
    found = node.child_by_field_name("type")
    defines = found is not None and found.type in _TYPES and found.child_by_field_name("body") is not None
    return found if defines else None


def _function_declarator(node: Node | None) -> Node | None:
    """Return the function declarator inside pointer and reference declarators; not a pointer to one."""
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


def _declared_name(node: Node | None) -> Node | None:
    for _ in range(MAX_DEPTH):
        if node is None or node.type in _NAMES:
            return node
        node = node.child_by_field_name("declarator") or first_named(node)
    return None


def _last(name: str) -> str:
    """Return the name without its scope and template arguments: `ns::Box<T>::get` is `get`."""
    if "operator" in name:
        return name[name.index("operator") :]
    for _ in range(6):
        if "<" not in name:
            break
        name = _ARGUMENTS.sub("", name)
    return name.rsplit("::", 1)[-1].strip()
