"""`python -m bench.mutants MODULE…`: small faults in modules, and which of them the tests beside notice.

A mutant is a module with one fault: a comparison turned round, a condition negated, "and" for "or", another
operator or number. They are drawn by a fixed seed. The tests of a mutant are those that mirror the module's
path, or those that `--tests` names. It is killed if one fails; who survives is listed with its line.
Modules are overwritten meanwhile: run it in a clone.
"""

from __future__ import annotations

import argparse
import ast
import copy
import random
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
LIMIT: Final = 300
"""Seconds for the tests of one mutant; a mutant that hangs is killed, too."""

_COMPARISONS: Final[dict[type[ast.cmpop], type[ast.cmpop]]] = {
    ast.Lt: ast.GtE, ast.LtE: ast.Gt, ast.Gt: ast.LtE, ast.GtE: ast.Lt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
_OPERATORS: Final[dict[type[ast.operator], type[ast.operator]]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv, ast.BitOr: ast.BitAnd,
}  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    """Print how many mutants of each module are killed, and which are not; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m bench.mutants", description=__doc__)
    parser.add_argument(
        "modules", nargs="+", metavar="MODULE", help="a file, from the root of the repository"
    )
    parser.add_argument("--count", type=int, default=10, help="mutants of a module at most")
    parser.add_argument("--tests", nargs="*", default=(), help="the tests to run, of every module")
    given = parser.parse_args(arguments)
    print("| module | mutants | killed | survived |\n|---|--:|--:|---|")
    for module in given.modules:
        source = (ROOT / module).read_text(encoding="utf-8")
        drawn = draw(source, given.count)
        tests = given.tests or neighbours(module)
        if not tests or not passes(tests):
            print(f"{module}: its tests are missing or fail without a mutant: {tests}", file=sys.stderr)
            return 2
        survived = [name for name, mutant in drawn if survives(module, source, mutant, tests)]
        print(
            f"| {module} | {len(drawn)} | {len(drawn) - len(survived)} | {'; '.join(survived)} |", flush=True
        )
    return 0


def neighbours(module: str) -> list[str]:
    """Return the files of tests that mirror a module: of its own name, or that begin with it."""
    _, _, inner = module.rpartition("workbench/")
    path = Path(inner if module.startswith("workbench/") else module)
    folder = ROOT / "tests" / path.parent
    return sorted(str(one.relative_to(ROOT)) for one in folder.glob(f"test_{path.stem}*.py"))


def draw(source: str, count: int) -> list[tuple[str, str]]:
    """Return mutants of a module as (line and fault, source), in the order of lines."""
    tree = ast.parse(source)
    every = list(mutations(tree))
    chosen = sorted(random.Random(0).sample(range(len(every)), min(count, len(every))))
    mutants = []
    for at in chosen:
        place, node = every[at]
        mutant = copy.deepcopy(tree)
        replace(mutant, place, node)
        mutants.append((f"{place.lineno}: {ast.unparse(node)[:50]!r}", ast.unparse(mutant)))
    return mutants


def mutations(tree: ast.Module) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Yield every expression that can be replaced by a faulty one, with that one."""
    skipped = {id(node) for node in _not_run(tree)}
    for node in ast.walk(tree):
        if id(node) in skipped or not isinstance(node, ast.expr):
            continue
        faulty = copy.deepcopy(node)
        if isinstance(faulty, ast.Compare) and type(faulty.ops[0]) in _COMPARISONS:
            faulty.ops[0] = _COMPARISONS[type(faulty.ops[0])]()
        elif isinstance(faulty, ast.BoolOp):
            faulty.op = ast.Or() if isinstance(faulty.op, ast.And) else ast.And()
        elif isinstance(faulty, ast.BinOp) and type(faulty.op) in _OPERATORS:
            faulty.op = _OPERATORS[type(faulty.op)]()
        elif isinstance(faulty, ast.UnaryOp) and isinstance(faulty.op, ast.Not):
            faulty = faulty.operand
        elif isinstance(faulty, ast.Constant) and isinstance(faulty.value, bool | int):
            faulty.value = not faulty.value if isinstance(faulty.value, bool) else faulty.value + 1
        else:
            continue
        yield node, faulty


def _not_run(tree: ast.Module) -> Iterator[ast.AST]:
    """Yield what of a module only type checkers read: annotations, and branches for them alone."""
    for node in ast.walk(tree):
        hints: list[ast.AST | None] = []
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            every = (
                *node.args.posonlyargs,
                *node.args.args,
                *node.args.kwonlyargs,
                node.args.vararg,
                node.args.kwarg,
            )
            hints = [node.returns, *node.decorator_list, *(one.annotation for one in every if one)]
        elif isinstance(node, ast.AnnAssign):
            hints = [node.annotation]
        elif isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            hints = [node]
        for hint in hints:
            yield from ast.walk(hint) if hint is not None else ()


def replace(tree: ast.AST, place: ast.expr, node: ast.expr) -> None:
    """Put an expression into a copy of the tree where another one, of the same position and kind, is."""
    where = (place.lineno, place.col_offset, place.end_lineno, place.end_col_offset, type(place))
    for parent in ast.walk(tree):
        for name, value in ast.iter_fields(parent):
            for at, child in enumerate(value if isinstance(value, list) else [value]):
                if not isinstance(child, ast.expr):
                    continue
                if where == (
                    child.lineno,
                    child.col_offset,
                    child.end_lineno,
                    child.end_col_offset,
                    type(child),
                ):
                    if isinstance(value, list):
                        value[at] = node
                    else:
                        setattr(parent, name, node)
                    return


def survives(module: str, source: str, mutant: str, tests: Sequence[str]) -> bool:
    """Whether all tests pass with a mutant in the place of its module, which is put back afterwards."""
    path = ROOT / module
    path.write_text(mutant, encoding="utf-8")
    try:
        return passes(tests)
    finally:
        path.write_text(source, encoding="utf-8")


def passes(tests: Sequence[str]) -> bool:
    command = [sys.executable, "-B", "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *tests]
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, timeout=LIMIT, check=False)
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


if __name__ == "__main__":
    sys.exit(main())
