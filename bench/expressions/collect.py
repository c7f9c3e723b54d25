"""Every regular expression of the product, found by importing each module and reading its code.

Two places are looked at: what modules hold, also in containers, and calls of `re` in functions, whose
expression is a literal or put together of literals, values of the module and `re.escape`. What is put
together of anything else cannot be read so: `built` says for each such call what it makes.
"""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from workbench.text.expressions import LazyPattern

PACKAGES: Final = ("workbench", "store", "screens")
ANCHORED: Final = ("match", "fullmatch")
SEARCH: Final = frozenset({"search"})
_IMPORTED: Final = re.compile(r"^ *(?:import|from) re\b", re.MULTILINE)
_STARS: Final = "'[^/]*'.join((re.escape(part) for part in pattern.split('*')))"
_CALLS: Final = {"compile", "search", "match", "fullmatch", "sub", "subn", "split", "findall", "finditer"}


@dataclass(frozen=True, slots=True)
class Expression:
    """An expression, where it is, and how it is used: `search`, or only `match`, `fullmatch` or both."""

    place: str
    pattern: re.Pattern[Any]
    uses: frozenset[str] = SEARCH


def modules() -> Iterator[ModuleType]:
    for package in PACKAGES:
        root = importlib.import_module(package)
        yield root
        for found in pkgutil.walk_packages(root.__path__, f"{package}."):
            if not found.name.endswith("__main__"):
                yield importlib.import_module(found.name)


@cache
def collect() -> tuple[list[Expression], list[str]]:
    """Return the expressions in the order of their places, and the calls whose expression cannot be found."""
    found: dict[tuple[Any, int, frozenset[str]], Expression] = {}
    unknown: list[str] = []
    for module in modules():
        own, others = of_module(module)
        unknown += others
        for one in own:
            found.setdefault((one.pattern.pattern, one.pattern.flags, one.uses), one)
    return sorted(found.values(), key=lambda one: one.place), unknown


def of_module(module: ModuleType) -> tuple[list[Expression], list[str]]:
    """Return the expressions of a module, and its calls whose expression cannot be found."""
    if module.__file__ is None:
        return [], []
    source = Path(module.__file__).read_text(encoding="utf-8")
    if not _IMPORTED.search(source) and not any(_held(module, {})):
        return [], []  # most modules: no tree is needed to see that they have none
    tree = ast.parse(source)
    unknown: list[str] = []
    return [*_held(module, _uses(tree)), *_called(module, tree, unknown)], unknown


def every_expression() -> list[Expression]:
    """Return all expressions, each once, those that functions put together included."""
    found, _ = collect()
    together = (expression for expressions in built().values() for expression in expressions)
    distinct = {(one.pattern.pattern, one.pattern.flags, one.uses): one for one in (*found, *together)}
    return list(distinct.values())


def _held(module: ModuleType, uses: Mapping[str, frozenset[str]]) -> Iterator[Expression]:
    """Yield what the names of a module hold."""
    for name, value in vars(module).items():
        own = getattr(value, "__module__", None) == module.__name__
        parts = vars(value) if isinstance(value, type) and own else {"": value}
        for part, inner in parts.items():
            if not name.startswith("__"):
                for keys, pattern, method in _patterns(inner):
                    at = ".".join(filter(None, (name, part))) + keys
                    how = uses.get(name + keys) if name.startswith("_") else None
                    if method in ANCHORED:
                        how = frozenset({method})
                    yield Expression(f"{module.__name__}.{at}", pattern, how or SEARCH)


def _called(module: ModuleType, tree: ast.Module, unknown: list[str]) -> Iterator[Expression]:
    """Yield what calls in functions are given."""
    functions = (
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
    )
    inside = {
        node: f"{module.__name__}.{getattr(function, 'name', '')}"
        for function in functions
        for node in ast.walk(function)
        if isinstance(node, ast.Call)
    }
    counts: dict[str, int] = {}
    for call, at in inside.items():
        method = _method(call)
        if method is None:
            continue
        counts[at] = counts.get(at, 0) + 1
        place = f"{at}:{counts[at]}"
        source = _source(call.args[0], module)
        if isinstance(source, str | bytes):
            how = frozenset({method if method in ANCHORED else "search"})
            yield Expression(place, re.compile(source, _flags(call, module)), how)
        elif source is None:
            unknown.append(f"{module.__name__}: {ast.unparse(call.args[0])}")
    for node in ast.walk(tree):
        names = node.names if isinstance(node, ast.Import | ast.ImportFrom) else []
        of_re = isinstance(node, ast.ImportFrom) and node.module == "re"
        if any((of_re and name.name in _CALLS) or (name.name == "re" and name.asname) for name in names):
            unknown.append(f"{module.__name__}: {ast.unparse(node)}")  # calls of another name are not seen


def _patterns(value: Any, keys: str = "", depth: int = 0) -> Iterator[tuple[str, re.Pattern[Any], str]]:
    """Yield the expressions in a value, the keys that lead to each, and its method if only that is held."""
    if isinstance(value, re.Pattern):
        yield keys, value, ""
    elif isinstance(value, LazyPattern):
        yield keys, re.compile(*value.source), ""
    elif isinstance(getattr(value, "__self__", None), re.Pattern):
        yield keys, value.__self__, value.__name__
    elif depth < 4:
        parts: Iterable[tuple[Any, Any]] = ()
        if isinstance(value, Mapping):
            parts = [*value.items(), *((key, key) for key in value if isinstance(key, re.Pattern))]
        elif isinstance(value, tuple | list | set | frozenset):
            parts = enumerate(value)
        elif is_dataclass(value) and not isinstance(value, type):
            parts = [(field.name, getattr(value, field.name, None)) for field in fields(value)]
        for key, part in parts:
            yield from _patterns(part, f"{keys}[{key!r}]", depth + 1)


def _uses(tree: ast.Module) -> dict[str, frozenset[str]]:
    """Return by name of a module how its expression is used, where that is at the beginning of texts only."""
    found: dict[str, set[str]] = {}
    for node in ast.walk(tree):
        for child in ast.iter_child_nodes(node):
            child.parent = node  # type: ignore[attr-defined]
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            name = node.id
            parent = node.parent  # type: ignore[attr-defined]
            if (
                isinstance(parent, ast.Subscript)
                and parent.value is node
                and isinstance(parent.slice, ast.Constant)
            ):
                name = f"{name}[{parent.slice.value!r}]"
                parent = parent.parent  # type: ignore[attr-defined]
            call = getattr(parent, "parent", None)
            anchored = (
                isinstance(parent, ast.Attribute)
                and parent.attr in ANCHORED
                and isinstance(call, ast.Call)
                and call.func is parent
                and len(call.args) == 1
                and not call.keywords
            )
            found.setdefault(name, set()).add(parent.attr if anchored else "search")
    return {
        name: frozenset(how)
        for name, how in found.items()
        if "search" not in how and (name.partition("[")[0] == name or name.partition("[")[0] not in found)
    }


def _method(call: ast.Call) -> str | None:
    func = call.func
    if (
        isinstance(func, ast.Attribute)
        and isinstance(func.value, ast.Name)
        and func.value.id == "re"
        and func.attr in _CALLS
    ):
        return func.attr
    return None


def _flags(call: ast.Call, module: ModuleType) -> int:
    places = {"compile": 1, "sub": 4, "subn": 4, "split": 3}
    place = places.get(_method(call) or "", 2)
    given = [word.value for word in call.keywords if word.arg == "flags"] + call.args[place : place + 1]
    return int(eval(ast.unparse(given[0]), vars(module))) if given else 0


def _source(node: ast.expr, module: ModuleType) -> Any:
    """Return the expression that a call is given, None where only its run decides it."""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Name):
        return vars(module).get(node.id)
    if isinstance(node, ast.JoinedStr):
        parts = [
            _source(part.value if isinstance(part, ast.FormattedValue) else part, module)
            for part in node.values
        ]
        return None if None in parts else "".join(map(str, parts))
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = _source(node.left, module), _source(node.right, module)
        if isinstance(left, bytes) and isinstance(right, str):
            right = right.encode()
        return None if left is None or right is None else left + right
    if isinstance(node, ast.Call) and ast.unparse(node.func) == "re.escape":
        return "some name"
    return None


def built() -> dict[str, list[Expression]]:
    """Return by call what functions put together of data, for each call that `collect` cannot read.

    What is put together of the product's own data is here; where people write it, a sample is.
    """
    from fnmatch import translate

    from screens import filter_matching
    from workbench.expand import lookup
    from workbench.plan import kinds
    from workbench.project import patterns, specifiers
    from workbench.rules import globs
    from workbench.text import injection

    symbols = patterns.read_table()
    languages = sorted({*symbols["rules"], *symbols["same"]})
    imports = specifiers._table()["patterns"]
    fullmatch, match = frozenset({"fullmatch"}), frozenset({"match"})
    found: dict[str, list[tuple[re.Pattern[Any] | None, frozenset[str]]]] = {
        r"workbench.expand.lookup: f'^[ \\t]*(?:[\\w@]+[ \\t]+){{0,4}}(?:{_WORDS})[ \\t]+{escaped}"
        r"(?![\\w$])'": [(lookup.declared_line("name"), SEARCH | match)],
        r"workbench.expand.lookup: f'^[ \\t]*(?:[\\w.]+\\.)?{escaped}[ \\t]*"
        r"(?::[^=\\n]{{0,200}}=|:?=|:[ \\t]*(?:function|async)\\b)(?![=>~])'": [
            (lookup.assigned_line("name"), SEARCH | match)
        ],
        "workbench.entry.hooks.stopgap: spelled.encode()": [(re.compile(b"refresh|token"), SEARCH)],
        "workbench.entry.hooks.stopgap: spelled": [(re.compile("refresh|token"), SEARCH)],
        "workbench.memory.extraction.patterns: source": [],  # `PARSERS` holds them
        r"workbench.plan.kinds: f'\\b{one}\\b'": [(re.compile(r"\bpolish\b"), SEARCH)],
        r"workbench.plan.kinds: f'\\bin(?:to)? (?:the )?{name}\\b'": [
            (re.compile(r"\bin(?:to)? (?:the )?polish\b"), SEARCH)
        ],
        r"workbench.plan.kinds: f'(?:^|[/._-])(?:{code})(?:[-_](?:[a-z]{{2}}|hans|hant))?(?=[/.])'": [
            (kinds._named_locales(f"translate into {name}"), SEARCH) for name in kinds._languages()
        ],
        "workbench.project.patterns: pattern": [
            (one, SEARCH) for name in languages for _, one in patterns.rules_of(name)
        ],
        "workbench.project.specifiers: pattern.encode()": [
            (specifiers._pattern(name), SEARCH) for name in imports
        ],
        "workbench.rules.globs: expression": [
            (one, match) for _, one in globs._plain_globs(("a*a*a*b", "**/x*y*z/*.py", "src/**/a*")) or ()
        ],
        "workbench.rules.formats.families: f'(?>{whole}){rest}' if rest else whole": [],  # `FAMILIES`
        f"workbench.sessions.importers.places: {_STARS}": [(re.compile("/src/[^/]*/work\\-[^/]*"), match)],
        "workbench.stash.retrieval: '|'.join(map(translate, filters.sources))": [
            (re.compile("|".join(map(translate, ("*src/*.py*", "a*b*c")))), fullmatch)
        ],
        "workbench.text.expressions: source": [],  # the modules that read them hold them
        "workbench.text.expressions: *self.source": [],
        "workbench.text.injection: source": [(one, SEARCH) for one in injection._strong().values()],
        "store.generations: f'{kind}-(\\\\d{{1,18}})'": [(re.compile(r"stash-(\d{1,18})"), fullmatch)],
        "store.postgres.server_url: spelled": [(re.compile("(?:a|(?i:%61))(?:@|(?i:%40))"), SEARCH)],
        "screens.filter_matching: start + ''.join((f'[^\\\\s{each}]*[{each}]' for each in rest))": [
            (filter_matching._subsequence("axa"), SEARCH)
        ],
        "screens.filter_matching: translate(value.lower())": [(re.compile(translate("*a*b*")), match)],
    }
    return {
        call: [Expression(call, pattern, uses) for pattern, uses in expressions if pattern is not None]
        for call, expressions in found.items()
    }
