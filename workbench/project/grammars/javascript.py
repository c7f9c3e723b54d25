"""Definitions in JavaScript and TypeScript: functions in all their spellings, classes, types, tests.

No query finds these: what a name is bound to is behind any number of parentheses, casts and calls, what is
exported can be said at the end of the file, and tests are calls whose callbacks hold further tests.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from workbench.project.grammars.definitions import MAX_DEPTH, Definitions, first_named

if TYPE_CHECKING:
    from tree_sitter import Node

_FUNCTIONS = frozenset({"function_declaration", "generator_function_declaration", "function_signature"})
_FUNCTION_VALUES = frozenset({"arrow_function", "function_expression", "generator_function", "function"})
_CLASSES = frozenset({"class_declaration", "abstract_class_declaration", "class"})
_MODULES = frozenset({"internal_module", "module"})
_WITH_MEMBERS = _CLASSES | {"interface_declaration"}
_KINDS = {
    **dict.fromkeys(_FUNCTIONS, "function"),
    **dict.fromkeys(_CLASSES, "class"),
    **dict.fromkeys(_MODULES, "module"),
    "interface_declaration": "type",
    "type_alias_declaration": "type",
    "enum_declaration": "class",
}
_METHODS = frozenset(
    """
    method_definition method_signature abstract_method_signature construct_signature call_signature
    """.split()
)
_FIELDS = frozenset({"field_definition", "public_field_definition"})
_VARIABLES = frozenset({"lexical_declaration", "variable_declaration"})
_TRANSPARENT = frozenset(
    {"statement_block", "if_statement", "else_clause", "try_statement", "ERROR", "program"}
)
_WRAPPERS = frozenset(
    {"parenthesized_expression", "as_expression", "satisfies_expression", "await_expression"}
)
_TESTS = frozenset(
    """
    describe it test suite context bench xit xdescribe fit fdescribe beforeEach afterEach beforeAll afterAll
    """.split()
)
_SUITES = frozenset({"describe", "suite", "context", "test"})
_OBJECT_SECTIONS = frozenset({"methods", "computed", "watch", "actions", "getters", "mutations", "filters"})


def collect(root: Node, found: Definitions) -> None:
    """Collect the definitions of a JavaScript or TypeScript module."""
    reader = _Reader(found)
    reader.walk(root, _Scope("", False), 0)
    if reader.exports:
        found.symbols = [
            replace(symbol, exported=True) if (symbol.parent or symbol.name) in reader.exports else symbol
            for symbol in found.symbols
        ]


class _Scope(NamedTuple):
    """Where definitions are: what they belong to, and whether they are exported as they are."""

    parent: str
    exported: bool


class _Reader:
    """The walk over one module. `exports` are names that are exported apart from where they are defined.

    `whole` is the statement that a definition is a part of: its lines and its signature begin there.
    """

    def __init__(self, found: Definitions) -> None:
        self.exports: set[str] = set()
        self._found = found

    def walk(self, block: Node, scope: _Scope, depth: int) -> None:
        """Collect what the statements of a module or block define."""
        if depth > MAX_DEPTH or self._found.full:
            return
        for node in block.named_children:
            self._statement(node, node, scope, depth)

    def _statement(self, node: Node, whole: Node, scope: _Scope, depth: int) -> None:
        kind = node.type
        if kind in _KINDS:
            self._declaration(node, whole, self._name(node).strip("\"'"), scope, depth)
        elif kind == "export_statement":
            self._export(node, scope.parent, depth)
        elif kind in _VARIABLES:
            for declarator in node.named_children:
                if declarator.type == "variable_declarator":
                    self._variable(declarator, whole, scope)
        elif kind == "expression_statement":
            inner = first_named(node)
            if inner is not None:
                self._expression(inner, node, scope.parent, depth)
        elif kind == "ambient_declaration":
            for child in node.named_children:
                self._statement(child, whole, _Scope(scope.parent, True), depth + 1)
        elif kind in _TRANSPARENT and depth < MAX_DEPTH:
            self.walk(node, scope, depth + 1)

    def _name(self, node: Node, field: str = "name") -> str:
        return self._found.text(node.child_by_field_name(field))

    def _declaration(self, node: Node, whole: Node, name: str, scope: _Scope, depth: int) -> None:
        """A function, class, type, enumeration or namespace, with what it holds."""
        body = node.child_by_field_name("body")
        head, start = whole, whole.child(0)
        if start is not None and start.type == "decorator":
            head = next((child for child in whole.children if child.type != "decorator"), whole)
        self._found.add(
            name,
            _KINDS[node.type],
            node,
            first=whole,
            head=head,
            body=body,
            parent=scope.parent,
            exported=scope.exported,
        )
        if body is not None and node.type in _WITH_MEMBERS:
            self._members(body, _Scope(name, scope.exported))
        elif body is not None and node.type in _MODULES:
            self.walk(body, _Scope(name, scope.exported), depth + 1)

    def _export(self, node: Node, parent: str, depth: int) -> None:
        declaration = node.child_by_field_name("declaration")
        value = node.child_by_field_name("value")
        scope = _Scope(parent, True)
        if declaration is not None:
            if declaration.type in _CLASSES | _FUNCTIONS and declaration.child_by_field_name("name") is None:
                self._value(declaration, node, "default", scope)
            else:
                self._statement(declaration, node, scope, depth)
        elif value is not None:
            if value.type == "identifier":
                self.exports.add(self._found.text(value))
            else:
                self._value(_unwrap(value), node, "default", scope)
        elif node.child_by_field_name("source") is None:
            for clause in node.named_children:
                if clause.type == "export_clause":
                    self.exports.update(self._name(item) for item in clause.named_children)

    def _members(self, body: Node, scope: _Scope) -> None:
        decorator: Node | None = None
        for member in body.named_children:
            if member.type == "decorator":
                decorator = decorator or member
                continue
            name, function = "", None
            if member.type in _METHODS:
                name, function = self._name(member) or "constructor", member
            elif member.type in _FIELDS:
                function = _function_value(member)
                name = self._name(member) or self._name(member, "property")
            if function is not None:
                self._found.add(
                    name,
                    "method",
                    member,
                    first=decorator,
                    body=function.child_by_field_name("body"),
                    parent=scope.parent,
                    exported=scope.exported and _is_public(member, name),
                )
            decorator = None

    def _variable(self, declarator: Node, whole: Node, scope: _Scope) -> None:
        name = declarator.child_by_field_name("name")
        if name is None or name.type != "identifier":
            return
        value = declarator.child_by_field_name("value")
        if (
            value is not None
            and value.type == "call_expression"
            and self._name(value, "function") == "require"
        ):
            return  # an import
        self._value(None if value is None else _unwrap(value), whole, self._found.text(name), scope)

    def _value(self, value: Node | None, whole: Node, name: str, scope: _Scope) -> None:
        """A value bound to a name: a function, a class, an object with functions, or a constant."""
        if value is not None and value.type in _CLASSES:
            self._declaration(value, whole, name, scope, 0)
            return
        function = value is not None and value.type in _FUNCTION_VALUES | _FUNCTIONS
        body = value if value is not None and value.type == "object" else None
        if value is not None and function:
            body = value.child_by_field_name("body")
        kind = "function" if function else "constant"
        self._found.add(name, kind, whole, body=body, parent=scope.parent, exported=scope.exported)
        if value is not None and value.type == "object":
            self._object(value, _Scope(name, scope.exported))

    def _object(self, value: Node, scope: _Scope, *, section: bool = False) -> None:
        """The functions in an object literal, and those in the sections components are written in."""
        for member in value.named_children:
            function, name = None, ""
            if member.type == "method_definition":
                function, name = member, self._name(member)
            elif member.type == "pair":
                function, name = _function_value(member), self._name(member, "key").strip("\"'")
                inner = member.child_by_field_name("value")
                if inner is not None and inner.type == "object" and not section and name in _OBJECT_SECTIONS:
                    self._object(inner, scope, section=True)
            if function is not None:
                body = function.child_by_field_name("body")
                self._found.add(
                    name, "method", member, body=body, parent=scope.parent, exported=scope.exported
                )

    def _expression(self, node: Node, statement: Node, parent: str, depth: int) -> None:
        kind = node.type
        if kind == "assignment_expression":
            self._assignment(node, statement)
        elif kind == "call_expression":
            self._call(node, statement, parent, depth)
        elif kind == "internal_module":
            self._statement(node, statement, _Scope(parent, False), depth)
        elif kind == "unary_expression":
            inner = node.child_by_field_name("argument")
            if inner is not None and inner.type == "call_expression":
                self._call(inner, statement, parent, depth)

    def _assignment(self, node: Node, statement: Node) -> None:
        """`module.exports = …`, `exports.name = …`, `Type.prototype.name = …`, `thing.name = function …`."""
        left = node.child_by_field_name("left")
        right = node.child_by_field_name("right")
        if left is None or right is None or left.type != "member_expression":
            return
        target = self._found.text(left)
        value = _unwrap(right) if right.type != "call_expression" else right
        owner, _, name = target.rpartition(".")
        if value.type == "assignment_expression":  # `module.exports = exports.x = …`
            self._assignment(value, statement)
        elif target == "module.exports" or owner in ("exports", "module.exports"):
            self._read_export(value, statement, "" if target == "module.exports" else name)
        elif value.type in _FUNCTION_VALUES:
            body = value.child_by_field_name("body")
            parent = owner.removesuffix(".prototype")
            exported = not name.startswith("_")
            self._found.add(name, "method", statement, body=body, parent=parent, exported=exported)

    def _read_export(self, value: Node, statement: Node, name: str) -> None:
        """A value given to `exports.name`, or to `module.exports` if there is no name."""
        if value.type == "identifier":
            self.exports.add(self._found.text(value))
        elif name or value.type != "object":
            self._value(value, statement, name or self._name(value) or "exports", _Scope("", True))
        else:
            for member in value.named_children:
                inner = member.child_by_field_name("value") if member.type == "pair" else member
                if inner is not None and inner.type in ("identifier", "shorthand_property_identifier"):
                    self.exports.add(self._found.text(inner))
            self._object(value, _Scope("exports", True))

    def _call(self, node: Node, statement: Node, parent: str, depth: int) -> None:
        """Tests (`describe("…", () => {…})`) and modules wrapped in a function that is called at once."""
        callee = node.child_by_field_name("function")
        arguments = node.child_by_field_name("arguments")
        if callee is None or arguments is None:
            return
        if callee.type == "parenthesized_expression":
            inner = first_named(callee)
            body = _body(inner) if inner is not None and inner.type in _FUNCTION_VALUES else None
            if body is not None:
                self.walk(body, _Scope(parent, False), depth + 1)
            return
        word = self._found.text(callee)[:40].split("(", 1)[0].split(".", 1)[0]
        items = arguments.named_children
        function = next((item for item in items[:3] if item.type in _FUNCTION_VALUES), None)
        if word not in _TESTS or function is None:
            return
        named = items[0].type in ("string", "template_string")
        title = self._found.text(items[0]).strip("\"'`") if named else ""
        body = _body(function)
        if title:
            self._found.add(title, "test", statement, body=body, parent=parent, exported=False)
        if body is not None and body.type == "statement_block" and word in _SUITES:
            self._tests_inside(body, title or parent, depth + 1)

    def _tests_inside(self, body: Node, parent: str, depth: int) -> None:
        if depth > MAX_DEPTH:
            return
        for child in body.named_children:
            if child.type == "expression_statement":
                inner = first_named(child)
                if inner is not None and inner.type == "await_expression":
                    inner = first_named(inner)
                if inner is not None and inner.type == "call_expression":
                    self._call(inner, child, parent, depth)
            elif child.type in _FUNCTIONS:
                self._statement(child, child, _Scope(parent, False), depth)


def _body(node: Node) -> Node | None:
    return node.child_by_field_name("body")


def _function_value(member: Node) -> Node | None:
    """Return the function that a field or a pair holds, None if it holds anything else."""
    value = member.child_by_field_name("value")
    return value if value is not None and value.type in _FUNCTION_VALUES else None


def _is_public(member: Node, name: str) -> bool:
    if name.startswith("#"):
        return False
    first = member.child(0)
    return not (first is not None and first.type == "accessibility_modifier" and first.text == b"private")


def _unwrap(node: Node) -> Node:
    """Return the value inside parentheses, casts, `await`, and wrapping calls such as `memo(() => …)`."""
    for _ in range(6):
        inner: Node | None = None
        if node.type in _WRAPPERS:
            inner = first_named(node)
        elif node.type == "call_expression":
            arguments = node.child_by_field_name("arguments")
            inner = next(
                (
                    argument
                    for argument in (arguments.named_children[:2] if arguments is not None else ())
                    if argument.type in _FUNCTION_VALUES or argument.type in ("call_expression", "object")
                ),
                None,
            )
        if inner is None:
            return node
        node = inner
    return node
