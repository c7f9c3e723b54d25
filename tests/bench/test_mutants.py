"""Small faults are where a program runs, each is one, and what notices them is the tests beside."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from bench import mutants
from bench.mutants import draw, main, neighbours
from tests.deep import only_deep

SOURCE = """
from typing import Literal

def largest(values: list[int], most: Literal[5] = 5) -> int:
    if not values or most < 1:
        return 0
    return max(values) + len(values) * 2
"""


def test_each_mutant_has_one_fault() -> None:
    """Comparisons, conditions, operators and numbers change; annotations do not. A draw is repeatable."""
    drawn = draw(SOURCE, 100)
    plain = ast.unparse(ast.parse(SOURCE))
    for _, mutant in drawn:
        changed = [
            pair for pair in zip(plain.splitlines(), mutant.splitlines(), strict=True) if len(set(pair)) > 1
        ]
        assert len(changed) == 1
    faults = {fault for _, fault in (name.split(": ") for name, _ in drawn)}
    assert {"'most >= 1'", "'6'", "'values'", "'not values and most < 1'"} <= faults
    assert all("Literal[5]" in mutant for _, mutant in drawn)
    assert draw(SOURCE, 3) == draw(SOURCE, 3)
    assert len(draw(SOURCE, 3)) == 3


def test_tests_mirror_modules() -> None:
    """Those of a module have its path and begin with its name."""
    assert neighbours("store/journal_copies.py") == ["tests/store/test_journal_copies.py"]
    assert "tests/rules/test_rulebook_changes.py" in neighbours("workbench/rules/rulebook.py")


def test_who_survives_is_listed_and_modules_are_put_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Tests that look at one number notice what changes it, and nothing else."""
    module = tmp_path / "module.py"

    def passes(tests: Sequence[str]) -> bool:
        found: dict[str, Any] = {}
        exec(module.read_text(), found)
        try:
            return bool(found["largest"]([]) == 0 and found["largest"]([3]) == 5)
        except ValueError:
            return False

    monkeypatch.setattr(mutants, "ROOT", tmp_path)
    monkeypatch.setattr(mutants, "passes", passes)
    module.write_text(SOURCE)
    assert main(["module.py", "--count", "100", "--tests", "test_module.py"]) == 0
    row = capsys.readouterr().out.splitlines()[-1]
    assert "5: '2'" in row
    assert "'max(values) - len(values) * 2'" not in row
    assert module.read_text() == SOURCE


@only_deep
def test_modules_whose_tests_fail_anyway_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every mutant would be killed."""
    monkeypatch.setattr(mutants, "ROOT", tmp_path)
    (tmp_path / "module.py").write_text(SOURCE)
    (tmp_path / "test_module.py").write_text("def test_it():\n    assert False\n")
    assert main(["module.py", "--tests", "test_module.py"]) == 2
    assert "fail without a mutant" in capsys.readouterr().err
