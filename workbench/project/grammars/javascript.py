"""Definitions in JavaScript and TypeScript: functions in all their spellings, classes, types, tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.project.grammars.tree import MAX_DEPTH, Collector, first_named, with_exports

if TYPE_CHECKING:
    from tree_sitter import Node

_FUNCTIONS = frozenset({"function_declaration", "generator_function_declaration", "function_signature"})
_FUNCTION_VALUES = frozenset({"arrow_function", "function_expression", "generator_function", "function"})
_CLASSES = frozenset({"class_declaration", "abstract_class_declaration", "class"})
_METHODS = frozenset(
    {
        "method_definition",
        "method_signature",
        "abstract_method_signature",
        "construct_signature",
        "call_signature",
    }
)
_FIELDS = frozenset({"field_definition", "public_field_definition"})
_TRANSPARENT = frozenset(
    {"statement_block", "if_statement", "else_clause", "try_statement", "ERROR", "program"}
)
_TESTS = frozenset(
    """
    describe it test suite context bench xit xdescribe fit fdescribe beforeEach afterEach beforeAll afterAll
    """.split()
)
_OBJECT_SECTIONS = frozenset({"methods", "computed", "watch", "actions", "getters", "mutations", "filters"})


def collect(root: Node, found: Collector) -> None:
    """Collect the definitions of a JavaScript or TypeScript module."""
    exports: set[str] = set()
    _walk(root, found, "", False, 0, exports)
    if exports:
        found.symbols = with_exports(found.symbols, exports)


def _walk(block: Node, found: Collector, parent: str, exported: bool, depth: int, exports: set[str]) -> None:
    if depth > MAX_DEPTH or found.full:
        return
    for node in block.named_children:
        _statement(node, node, found, parent, exported, depth, exports)


def _statement(
    node: Node, whole: Node, found: Collector, parent: str, exported: bool, depth: int, exports: set[str]
) -> None:
    kind = node.type
    if kind == "export_statement":
        _export(node, found, parent, depth, exports)
    elif kind in _FUNCTIONS:
        name = found.text(node.child_by_field_name("name"))
        body = node.child_by_field_name("body")
        found.add(
            name, "function", node, first=whole, head=whole, body=body, parent=parent, exported=exported
        )
    elif kind in _CLASSES:
        _class(node, whole, found, found.text(node.child_by_field_name("name")), parent, exported)
    elif kind == "interface_declaration":
        _interface(node, whole, found, parent, exported)
    elif kind == "type_alias_declaration":
        name = found.text(node.child_by_field_name("name"))
        found.add(name, "type", node, first=whole, head=whole, parent=parent, exported=exported)
    elif kind == "enum_declaration":
        name = found.text(node.child_by_field_name("name"))
        body = node.child_by_field_name("body")
        found.add(name, "class", node, first=whole, head=whole, body=body, parent=parent, exported=exported)
    elif kind in ("internal_module", "module"):
        name = found.text(node.child_by_field_name("name")).strip("\"'")
        body = node.child_by_field_name("body")
        found.add(name, "module", node, first=whole, head=whole, body=body, parent=parent, exported=exported)
        if body is not None:
            _walk(body, found, name, exported, depth + 1, exports)
    elif kind == "ambient_declaration":
        for child in node.named_children:
            _statement(child, whole, found, parent, True, depth + 1, exports)
    elif kind in ("lexical_declaration", "variable_declaration"):
        for declarator in node.named_children:
            if declarator.type == "variable_declarator":
                _variable(declarator, whole, found, parent, exported, depth)
    elif kind == "expression_statement":
        inner = first_named(node)
        if inner is not None:
            _expression(inner, node, found, parent, depth, exports)
    elif kind in _TRANSPARENT and depth < MAX_DEPTH:
        _walk(node, found, parent, exported, depth + 1, exports)


def _export(node: Node, found: Collector, parent: str, depth: int, exports: set[str]) -> None:
    declaration = node.child_by_field_name("declaration")
    value = node.child_by_field_name("value")
    if declaration is not None:
        if declaration.type in _CLASSES | _FUNCTIONS and declaration.child_by_field_name("name") is None:
            _value(declaration, node, found, "default", parent, True)
        else:
            _statement(declaration, node, found, parent, True, depth, exports)
    elif value is not None:
        if value.type == "identifier":
            exports.add(found.text(value))
        else:
            _value(_unwrapped(value), node, found, "default", parent, True)
    elif node.child_by_field_name("source") is None:
        for clause in node.named_children:
            if clause.type == "export_clause":
                exports.update(found.text(item.child_by_field_name("name")) for item in clause.named_children)


def _class(node: Node, whole: Node, found: Collector, name: str, parent: str, exported: bool) -> None:
    body = node.child_by_field_name("body")
    first = next((child for child in whole.children[:1] if child.type == "decorator"), None)
    head = whole
    if first is not None:
        head = next((child for child in whole.children if child.type != "decorator"), whole)
    found.add(name, "class", node, first=whole, head=head, body=body, parent=parent, exported=exported)
    if body is not None:
        _members(body, found, name, exported)


def _members(body: Node, found: Collector, parent: str, exported: bool) -> None:
    decorator: Node | None = None
    for member in body.named_children:
        kind = member.type
        if kind == "decorator":
            decorator = decorator or member
            continue
        if kind in _METHODS:
            name_node = member.child_by_field_name("name")
            name = found.text(name_node) or "constructor"
            found.add(
                name,
                "method",
                member,
                first=decorator,
                body=member.child_by_field_name("body"),
                parent=parent,
                exported=exported and _is_public(member, name),
            )
        elif kind in _FIELDS:
            value = member.child_by_field_name("value")
            if value is not None and value.type in _FUNCTION_VALUES:
                name = found.text(
                    member.child_by_field_name("name") or member.child_by_field_name("property")
                )
                found.add(
                    name,
                    "method",
                    member,
                    first=decorator,
                    body=value.child_by_field_name("body"),
                    parent=parent,
                    exported=exported and _is_public(member, name),
                )
        decorator = None


def _is_public(member: Node, name: str) -> bool:
    if name.startswith("#"):
        return False
    first = member.child(0)
    return not (first is not None and first.type == "accessibility_modifier" and first.text == b"private")


def _interface(node: Node, whole: Node, found: Collector, parent: str, exported: bool) -> None:
    name = found.text(node.child_by_field_name("name"))
    body = node.child_by_field_name("body")
    found.add(name, "type", node, first=whole, head=whole, body=body, parent=parent, exported=exported)
    if body is not None:
        _members(body, found, name, exported)


def _unwrapped(node: Node) -> Node:
    """The value inside parentheses, casts, `await`, and wrapping calls such as `memo(() => …)`."""
    for _ in range(6):
        kind = node.type
        inner: Node | None = None
        if kind in ("parenthesized_expression", "as_expression", "satisfies_expression", "await_expression"):
            inner = first_named(node)
        elif kind == "call_expression":
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


def _variable(
    declarator: Node, whole: Node, found: Collector, parent: str, exported: bool, depth: int
) -> None:
    name_node = declarator.child_by_field_name("name")
    if name_node is None or name_node.type != "identifier":
        return
    name = found.text(name_node)
    value = declarator.child_by_field_name("value")
    if value is None:
        found.add(name, "constant", whole, parent=parent, exported=exported)
        return
    if value.type == "call_expression" and found.text(value.child_by_field_name("function")) == "require":
        return  # an import
    _value(_unwrapped(value), whole, found, name, parent, exported)


def _value(value: Node, whole: Node, found: Collector, name: str, parent: str, exported: bool) -> None:
    """A value bound to a name: a function, a class, an object with functions, or a constant."""
    kind = value.type
    if kind in _FUNCTION_VALUES or kind in _FUNCTIONS:
        body = value.child_by_field_name("body")
        found.add(name, "function", whole, body=body, parent=parent, exported=exported)
    elif kind in _CLASSES:
        _class(value, whole, found, name, parent, exported)
    elif kind == "object":
        found.add(name, "constant", whole, body=value, parent=parent, exported=exported)
        _object(value, found, name, exported, 0)
    else:
        found.add(name, "constant", whole, parent=parent, exported=exported)


def _object(value: Node, found: Collector, parent: str, exported: bool, depth: int) -> None:
    """The functions in an object literal, and those in the sections components are written in."""
    for member in value.named_children:
        if member.type == "method_definition":
            name = found.text(member.child_by_field_name("name"))
            body = member.child_by_field_name("body")
            found.add(name, "method", member, body=body, parent=parent, exported=exported)
        elif member.type == "pair":
            inner = member.child_by_field_name("value")
            name = found.text(member.child_by_field_name("key")).strip("\"'")
            if inner is None:
                continue
            if inner.type in _FUNCTION_VALUES:
                body = inner.child_by_field_name("body")
                found.add(name, "method", member, body=body, parent=parent, exported=exported)
            elif inner.type == "object" and depth == 0 and name in _OBJECT_SECTIONS:
                _object(inner, found, parent, exported, 1)


def _expression(
    node: Node, statement: Node, found: Collector, parent: str, depth: int, exports: set[str]
) -> None:
    kind = node.type
    if kind == "assignment_expression":
        _assignment(node, statement, found, exports)
    elif kind == "call_expression":
        _call(node, statement, found, parent, depth, exports)
    elif kind == "internal_module":
        _statement(node, statement, found, parent, False, depth, exports)
    elif kind == "unary_expression":
        inner = node.child_by_field_name("argument")
        if inner is not None and inner.type == "call_expression":
            _call(inner, statement, found, parent, depth, exports)


def _assignment(node: Node, statement: Node, found: Collector, exports: set[str]) -> None:
    """`module.exports = …`, `exports.name = …`, `Type.prototype.name = …`, `thing.name = function …`."""
    left = node.child_by_field_name("left")
    right = node.child_by_field_name("right")
    if left is None or right is None or left.type != "member_expression":
        return
    target = found.text(left)
    value = _unwrapped(right) if right.type != "call_expression" else right
    if value.type == "assignment_expression":  # `module.exports = exports.x = …`
        _assignment(value, statement, found, exports)
        return
    owner, _, name = target.rpartition(".")
    if target == "module.exports":
        if value.type == "identifier":
            exports.add(found.text(value))
        elif value.type == "object":
            exports.update(_exported_names(value, found))
            _object(value, found, "exports", True, 0)
        else:
            inner = found.text(value.child_by_field_name("name"))
            _value(value, statement, found, inner or "exports", "", True)
    elif owner in ("exports", "module.exports"):
        if value.type == "identifier":
            exports.add(found.text(value))
        else:
            _value(value, statement, found, name, "", True)
    elif value.type in _FUNCTION_VALUES:
        parent = owner.removesuffix(".prototype")
        body = value.child_by_field_name("body")
        found.add(name, "method", statement, body=body, parent=parent, exported=not name.startswith("_"))


def _exported_names(value: Node, found: Collector) -> set[str]:
    names = set()
    for member in value.named_children:
        if member.type == "shorthand_property_identifier":
            names.add(found.text(member))
        elif member.type == "pair":
            inner = member.child_by_field_name("value")
            if inner is not None and inner.type == "identifier":
                names.add(found.text(inner))
    return names


def _call(node: Node, statement: Node, found: Collector, parent: str, depth: int, exports: set[str]) -> None:
    """Tests (`describe("…", () => {…})`) and modules wrapped in a function that is called at once."""
    callee = node.child_by_field_name("function")
    arguments = node.child_by_field_name("arguments")
    if callee is None or arguments is None:
        return
    if callee.type == "parenthesized_expression":
        inner = first_named(callee)
        body = (
            inner.child_by_field_name("body")
            if inner is not None and inner.type in _FUNCTION_VALUES
            else None
        )
        if body is not None:
            _walk(body, found, parent, False, depth + 1, exports)
        return
    word = found.text(callee)[:40].split("(", 1)[0].split(".", 1)[0]
    if word not in _TESTS:
        return
    items = arguments.named_children
    function = next((item for item in items[:3] if item.type in _FUNCTION_VALUES), None)
    if function is None:
        return
    title = found.text(items[0]).strip("\"'`") if items[0].type in ("string", "template_string") else ""
    body = function.child_by_field_name("body")
    if title:
        found.add(title, "test", statement, body=body, parent=parent, exported=False)
    if (
        body is not None
        and body.type == "statement_block"
        and word in ("describe", "suite", "context", "test")
    ):
        _tests_inside(body, found, title or parent, depth + 1, exports)


def _tests_inside(body: Node, found: Collector, parent: str, depth: int, exports: set[str]) -> None:
    if depth > MAX_DEPTH:
        return
    for child in body.named_children:
        if child.type == "expression_statement":
            inner = first_named(child)
            if inner is not None and inner.type == "await_expression":
                inner = first_named(inner)
            if inner is not None and inner.type == "call_expression":
                _call(inner, child, found, parent, depth, exports)
        elif child.type in _FUNCTIONS:
            _statement(child, child, found, parent, False, depth, exports)
