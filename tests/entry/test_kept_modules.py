"""Modules whose code is kept are what Python imports, and an edit of a source is seen at once."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from importlib import import_module, invalidate_caches
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from workbench.entry.kept_modules import KeptLoader, KeptModules

NAMES = ("kept_example.inner", "kept_example.inner.leaf")


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A package on the path, not imported before or afterwards."""
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.syspath_prepend(str(tmp_path))
    folder = tmp_path / "kept_example" / "inner"
    folder.mkdir(parents=True)
    (folder.parent / "__init__.py").touch()
    (folder / "__init__.py").write_text("from kept_example.inner.leaf import VALUE\n", encoding="utf-8")
    (folder / "leaf.py").write_text("VALUE = 1\n", encoding="utf-8")
    yield folder
    forget()


def forget() -> None:
    """Have the package be imported again."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "kept_example"]:
        del sys.modules[name]
    invalidate_caches()


def load(path: Path) -> tuple[KeptModules, list[ModuleType]]:
    """Import the package as a process does that uses what is kept at a path."""
    forget()
    modules: Any = KeptModules(path)
    sys.meta_path.insert(0, modules)
    try:
        return modules, [import_module(name) for name in NAMES]
    finally:
        sys.meta_path.remove(modules)


def are_kept(modules: list[ModuleType]) -> list[bool]:
    """Return which modules came from code that is kept."""
    return [type(module.__loader__) is KeptLoader for module in modules]


def test_the_second_process_imports_what_the_first_kept(package: Path, tmp_path: Path) -> None:
    """Its modules have the same names, places and values; the package itself is Python's to find."""
    path = tmp_path / "cache" / "modules.bin"
    modules, first = load(path)
    modules.keep()
    written = path.read_bytes()
    again, second = load(path)
    again.keep()

    assert (are_kept(first), are_kept(second)) == ([False, False], [True, True])
    assert type(sys.modules["kept_example"].__loader__) is not KeptLoader
    for name in ("__name__", "__file__", "__cached__", "__package__", "VALUE"):
        assert [vars(module)[name] for module in first] == [vars(module)[name] for module in second]
    assert list(second[0].__path__) == [str(package)]
    assert path.read_bytes() == written


def test_an_edit_is_seen_and_kept(package: Path, tmp_path: Path) -> None:
    """A source of another size or time is imported, and its code takes the place of the old one."""
    path = tmp_path / "modules.bin"
    load(path)[0].keep()
    (package / "leaf.py").write_text("VALUE = 22\n", encoding="utf-8")
    modules, edited = load(path)
    modules.keep()
    kept = load(path)[1]

    assert (are_kept(edited), are_kept(kept)) == ([True, False], [True, True])
    assert [vars(module)["VALUE"] for module in (*edited, *kept)] == [22] * 4


def test_another_package_of_the_name_is_imported(package: Path, tmp_path: Path) -> None:
    """What is kept is of one place: a package that comes before it on the path has its own modules."""
    path = tmp_path / "modules.bin"
    load(path)[0].keep()
    other = tmp_path / "other"
    package.parent.rename(other.with_name("away"))
    other.mkdir()
    (tmp_path / "away").rename(other / "kept_example")
    sys.path.insert(0, str(other))
    try:
        assert are_kept(load(path)[1]) == [False, False]
    finally:
        sys.path.remove(str(other))


@pytest.mark.parametrize("damage", [b"", b"no", b"modules 1\n", None])
def test_a_damaged_file_is_not_used(package: Path, tmp_path: Path, damage: bytes | None) -> None:
    """An empty, foreign or cut file means that modules are imported as always, and are kept again."""
    path = tmp_path / "modules.bin"
    load(path)[0].keep()
    path.write_bytes(path.read_bytes()[:-9] if damage is None else damage)
    modules, imported = load(path)
    modules.keep()

    assert are_kept(imported) == [False, False]
    assert are_kept(load(path)[1]) == [True, True]


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="no owners of files on this platform")
def test_a_file_that_others_may_write_is_not_used(package: Path, tmp_path: Path) -> None:
    """Code comes from the user alone."""
    path = tmp_path / "modules.bin"
    load(path)[0].keep()
    assert path.stat().st_mode & 0o077 == 0
    path.chmod(0o622)

    assert are_kept(load(path)[1]) == [False, False]
