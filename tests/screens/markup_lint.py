"""Finds places in `screens` where a string that may be data is read as markup, by the syntax tree.

Textual reads a string as markup wherever a widget shows one, unless it was told not to. So at each such place
only three things are let through: a literal without a bracket, something that is `Content` by the way it is
made or annotated, and a widget that gets `markup=False`. What cannot be told is refused: `shown(x)` is short.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

# Constructor: (positions, keywords) of what it shows, whether `markup=False` makes it literal.
SHOWN: Final[Mapping[str, tuple[tuple[int, ...], tuple[str, ...], bool]]] = {
    "Static": ((0,), ("content",), True),
    "Label": ((0,), ("content",), True),
    "Link": ((0,), ("text",), False),
    "Button": ((0,), ("label",), False),
    "Checkbox": ((0,), ("label",), False),
    "RadioButton": ((0,), ("label",), False),
    "Option": ((0,), ("prompt",), False),
    "Selection": ((0,), ("prompt",), False),
    "Tab": ((0,), ("label",), False),
    "TabPane": ((0,), ("title",), False),
    "Collapsible": ((), ("title",), False),
    "Tree": ((0,), ("label",), False),
    "Select": ((), ("prompt",), False),
    "Hit": ((1,), ("match_display", "help"), False),
    "DiscoveryHit": ((0,), ("display", "help"), False),
    "SystemCommand": ((0, 1), ("title", "help"), False),
}
METHODS: Final = frozenset(
    """add_leaf add_option replace_option_prompt replace_option_prompt_at_index set_label add_column
    add_columns add_row add_rows highlight""".split()
)
"""Methods whose first argument is shown; `update` is one too, unless it is that of a dictionary or a set."""
ATTRIBUTES: Final = frozenset({"border_title", "border_subtitle", "tooltip", "label", "prompt"})
FORBIDDEN: Final = frozenset({"from_markup", "render_str", "Markdown", "MarkdownViewer", "markup_to_content"})
CONTENT: Final = frozenset({"Content", "Text", "shown", "shown_lines", "joined", "Strip", "RenderableType"})
VISUAL: Final = frozenset({"RenderResult", "RenderableType", "VisualType", "str", "ContentText"})
HELPER: Final = ("screens/safe_text.py", "toast")
"""The one function that may call `notify`."""

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class Known:
    """What all modules together say: names that are always Content, and subclasses of shown widgets."""

    contents: frozenset[str]
    bases: Mapping[str, str]


def violations(sources: Mapping[str, str]) -> list[str]:
    """Return `path:line: what` for each violation in sources by path, in order."""
    trees = {path: ast.parse(source) for path, source in sources.items()}
    known = Known(_contents(trees.values()), _bases(trees.values()))
    found = [
        (path, line, what) for path, tree in trees.items() for line, what in _Checker(path, known).check(tree)
    ]
    return [f"{path}:{line}: {what}" for path, line, what in sorted(set(found))]


def _contents(trees: Iterable[ast.Module]) -> frozenset[str]:
    """Return names of functions and attributes that are annotated as Content wherever they are defined."""
    named: dict[str, list[bool]] = {}
    for tree in trees:
        for node in ast.walk(tree):
            if isinstance(node, Function):
                named.setdefault(node.name, []).append(_is_content(node.returns))
            elif isinstance(node, ast.AnnAssign):
                target = node.target
                name = target.attr if isinstance(target, ast.Attribute) else getattr(target, "id", "")
                named.setdefault(name, []).append(_is_content(node.annotation))
            elif isinstance(node, ast.Assign):
                for attribute in [each for each in node.targets if isinstance(each, ast.Attribute)]:
                    named.setdefault(attribute.attr, []).append(_makes_content(node.value))
    return frozenset(name for name, kinds in named.items() if all(kinds))


def _bases(trees: Iterable[ast.Module]) -> dict[str, str]:
    """Return {class: shown widget} of subclasses that take what they show as the widget does."""
    classes = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    bases: dict[str, str] = {}
    for _ in classes:
        for each in classes:
            own = [node.name for node in each.body if isinstance(node, Function)]
            for base in map(_name, each.bases):
                if (base in SHOWN or base in bases) and each.name not in SHOWN and "__init__" not in own:
                    bases[each.name] = bases.get(base, base)
    return bases


class _Checker:
    """Goes through a module with the functions and classes it is in."""

    def __init__(self, path: str, known: Known) -> None:
        self.path, self.known = path, known
        self.scopes: list[ast.Module | Function] = []
        self.classes: list[ast.ClassDef] = []

    def check(self, node: ast.AST) -> Iterator[tuple[int, str]]:
        """Yield (line, what) of violations in a node and all it holds."""
        scope = isinstance(node, (ast.Module, ast.FunctionDef, ast.AsyncFunctionDef))
        if scope:
            self.scopes.append(node)  # type: ignore[arg-type]
        if isinstance(node, ast.ClassDef):
            self.classes.append(node)
        yield from self._node(node)
        for child in ast.iter_child_nodes(node):
            yield from self.check(child)
        if isinstance(node, ast.ClassDef):
            self.classes.pop()
        if scope:
            self.scopes.pop()

    def _node(self, node: ast.AST) -> Iterator[tuple[int, str]]:
        if isinstance(node, ast.Call):
            yield from ((node.lineno, what) for what in self._call(node))
        elif isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                shown = isinstance(target, ast.Attribute) and target.attr in ATTRIBUTES
                if shown and not self._safe(node.value):
                    yield node.lineno, f"{_name(target)} is read as markup: give it shown(…)"
        elif isinstance(node, ast.Return) and node.value is not None:
            if self._renders() and not self._safe(node.value):
                yield node.lineno, "what render returns is read as markup: return shown(…)"
        elif isinstance(node, (ast.Name, ast.Attribute)) and _name(node) in FORBIDDEN:
            yield node.lineno, f"{_name(node)} reads markup"

    def _renders(self) -> bool:
        scope = self.scopes[-1]
        return bool(
            isinstance(scope, Function)
            and scope.name == "render"
            and self.classes
            and _name(scope.returns) in VISUAL
        )

    def _call(self, call: ast.Call) -> Iterator[str]:
        name = _name(call.func)
        method = isinstance(call.func, ast.Attribute)
        # What bindings say is written in the program, of the type str.
        yield from (
            "tooltip is read as markup: give it shown(…)"
            for keyword in call.keywords
            if keyword.arg == "tooltip" and name != "Binding" and not self._safe(keyword.value)
        )
        if name == "notify" and not self._in_helper():
            yield "notify reads markup: call screens.safe_text.toast"
        elif name == "from_text" and not _literally(call):
            yield "from_text reads markup: use Content(…) or shown(…)"
        elif name == "__init__" and self.classes:
            for base in map(_name, self.classes[-1].bases):
                yield from self._constructor(self.known.bases.get(base, base), call)
        elif method and (name in METHODS or (name == "update" and not _updates_a_mapping(call))):
            if not all(self._safe(each) for each in call.args[:1]):
                yield f"{name}() reads markup: give it shown(…)"
        else:
            yield from self._constructor(self.known.bases.get(name, name), call)

    def _constructor(self, name: str, call: ast.Call) -> Iterator[str]:
        if name not in SHOWN:
            return
        places, keywords, literal = SHOWN[name]
        if literal and _literally(call):
            return
        given = [call.args[place] for place in places if place < len(call.args)]
        given += [keyword.value for keyword in call.keywords if keyword.arg in keywords]
        if not all(self._safe(each) for each in given):
            yield f"{name} reads markup: give it shown(…)" + (" or markup=False" if literal else "")

    def _in_helper(self) -> bool:
        return self.path.endswith(HELPER[0]) and getattr(self.scopes[-1], "name", "") == HELPER[1]

    def _safe(self, node: ast.expr, seen: tuple[str, ...] = ()) -> bool:
        """Whether an expression is a literal without brackets, or Content."""
        if isinstance(node, ast.Constant):
            return not (isinstance(node.value, str) and "[" in node.value)
        if isinstance(node, ast.IfExp):
            return self._safe(node.body, seen) and self._safe(node.orelse, seen)
        if isinstance(node, ast.BoolOp):
            return all(self._safe(value, seen) for value in node.values)
        if isinstance(node, ast.BinOp):
            return self._content(node.left, seen) or self._content(node.right, seen)
        if isinstance(node, ast.Starred):
            return False
        if isinstance(node, ast.Name):
            # A name that is made of itself is what its other values are.
            values = [] if node.id in seen else list(self._assigned(node.id))
            safe = (value is not None and self._safe(value, (*seen, node.id)) for value in values)
            return node.id in seen or (bool(values) and all(safe))
        return self._content(node, seen)

    def _content(self, node: ast.expr, seen: tuple[str, ...] = ()) -> bool:
        """Whether an expression is Content: made as such, a method of it, or annotated as such."""
        if isinstance(node, ast.Name) and node.id not in seen:
            made = [value for value in self._assigned(node.id) if value is not None]
            return self._safe(node, seen) and any(self._content(each, (*seen, node.id)) for each in made)
        if isinstance(node, ast.Attribute):
            return node.attr in self.known.contents
        if isinstance(node, ast.Call):
            return self._makes(node, seen)
        if isinstance(node, ast.Subscript):
            return self._content(node.value, seen)
        kinds = (ast.IfExp, ast.BinOp, ast.BoolOp, ast.Name)
        return isinstance(node, kinds) and self._safe(node, seen)

    def _makes(self, call: ast.Call, seen: tuple[str, ...]) -> bool:
        name = _name(call.func)
        own = [each for each in self.scopes[0].body if isinstance(each, Function) and each.name == name]
        if isinstance(call.func, ast.Name) and own:
            return _is_content(own[0].returns)
        # What an option shows is looked at where it is made.
        if _makes_content(call) or name in self.known.contents or name in ("Option", "Selection"):
            return True
        return isinstance(call.func, ast.Attribute) and self._content(call.func.value, seen)

    def _assigned(self, name: str) -> Iterator[ast.expr | None]:
        """Yield what a name is set to in the innermost scope that sets it; None where that cannot be told."""
        for scope in reversed(self.scopes):
            found = list(_bindings(scope, name))
            if any(_makes_content(value) for value in _declared(scope, name)):
                yield from _declared(scope, name)
                return
            if found:
                yield from found
                return


def _bindings(scope: ast.Module | Function, name: str) -> Iterator[ast.expr | None]:
    if isinstance(scope, Function):
        arguments = [*scope.args.posonlyargs, *scope.args.args, *scope.args.kwonlyargs]
        yield from (_as_value(each.annotation) for each in arguments if each.arg == name)
        yield from (None for each in (scope.args.vararg, scope.args.kwarg) if each and each.arg == name)
    for node in _walk_scope(scope):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    yield from [node.value] if target.id == name else []
                elif name in _names(target):
                    yield None
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.target.id == name:
            yield _as_value(node.annotation) or node.value
        elif isinstance(node, (ast.NamedExpr, ast.AugAssign)):
            yield from [node.value] if isinstance(node.target, ast.Name) and node.target.id == name else []
        elif isinstance(node, (ast.For, ast.AsyncFor, ast.comprehension)):
            yield from [None] if name in _names(node.target) else []
        elif isinstance(node, ast.withitem) and node.optional_vars is not None:
            yield from [None] if name in _names(node.optional_vars) else []


def _declared(scope: ast.AST, name: str) -> list[ast.expr]:
    """Return what a name is said to be where it is declared before it is set: `text: Content`."""
    return [
        value
        for node in _walk_scope(scope)
        if isinstance(node, ast.AnnAssign) and node.value is None and _name(node.target) == name
        if isinstance(node.target, ast.Name) and (value := _as_value(node.annotation)) is not None
    ]


def _walk_scope(scope: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a scope without those of functions and classes in it."""
    for child in ast.iter_child_nodes(scope):
        if not isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            yield child
            yield from _walk_scope(child)


def _names(node: ast.AST) -> set[str]:
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}


def _as_value(annotation: ast.expr | None) -> ast.expr | None:
    """Return an expression that is Content if the annotation says so."""
    return ast.Call(ast.Name("Content", ast.Load()), [], []) if _is_content(annotation) else None


def _is_content(annotation: ast.expr | None) -> bool:
    if isinstance(annotation, ast.BinOp):
        return _is_content(annotation.left) and _is_content(annotation.right)
    if isinstance(annotation, ast.Constant):
        return annotation.value is None or annotation.value == "Content"
    return _name(annotation) in ("Content", "Text")


def _makes_content(node: ast.expr) -> bool:
    """Whether an expression calls something that makes Content of literal text."""
    if not isinstance(node, ast.Call):
        return False
    if isinstance(node.func, ast.Attribute) and _name(node.func.value) in ("Content", "Text"):
        return node.func.attr in ("styled", "assemble", "blank", "empty", "from_rich_text", "from_ansi")
    return isinstance(node.func, ast.Name) and node.func.id in CONTENT


def _name(node: ast.AST | None) -> str:
    """Return the last name of a dotted one: `textual.widgets.Static`, `super().__init__`."""
    if isinstance(node, ast.Subscript):
        return _name(node.value)
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def _literally(call: ast.Call) -> bool:
    return any(
        each.arg == "markup" and isinstance(each.value, ast.Constant) and each.value.value is False
        for each in call.keywords
    )


def _updates_a_mapping(call: ast.Call) -> bool:
    """Whether `update` is that of a dictionary or a set: keywords, or a display or comprehension of one."""
    kinds = (ast.Dict, ast.DictComp, ast.Set, ast.SetComp, ast.GeneratorExp)
    layouts = [each for each in call.keywords if each.arg != "layout"]
    return bool(layouts) or not call.args or isinstance(call.args[0], kinds)
