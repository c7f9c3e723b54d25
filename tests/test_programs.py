"""Programs are found in the directories of PATH that are always the same."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from workbench.beneath import find_program, safe_path


def make(directory: Path, name: str = "tool") -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    program = directory / name
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    return program


@pytest.mark.parametrize("entries", [(".",), ("",), ("bin",), ("", ".", "bin", "../here")])
def test_the_current_directory_is_no_place_for_programs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, entries: tuple[str, ...]
) -> None:
    """Empty and relative entries are left out, and the next absolute one is taken."""
    make(tmp_path / "here")
    make(tmp_path / "here" / "bin")
    real = make(tmp_path / "real")
    monkeypatch.chdir(tmp_path / "here")
    environment = {"PATH": os.pathsep.join((*entries, str(real.parent)))}
    assert find_program("tool", environment) == str(real)
    assert safe_path(environment) == str(real.parent)
    assert find_program("tool", {"PATH": os.pathsep.join(entries)}) is None


def test_a_name_with_a_directory_is_the_callers_choice(tmp_path: Path) -> None:
    """It is taken as it is, whatever PATH says."""
    real = make(tmp_path)
    assert find_program(str(real), {"PATH": ""}) == str(real)
