"""Recorded plans are the same bytes until something that decides them changes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench.plans import main
from tests.conftest import Work


def test_plans_are_recorded_and_compared(
    work: Work, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same version gives the same bytes; a difference is shown where it begins, and is exit 1."""
    work.write("token.py", "def refresh_token(): ...\n")
    work.commit("Refresh the token")
    work.write("login.py", "import token\n")
    work.commit("Log in")
    out = tmp_path / "plans"
    for name in ("HOME", "WORKBENCH_HOME"):  # the bench chooses its own, and they are put back
        monkeypatch.setenv(name, str(tmp_path))
    assert main(["record", str(out), "--repos", str(work.root.parent)]) == 0
    rows = [json.loads(line) for line in out.read_text("utf-8").splitlines()]
    assert [(row["task"], row["budget"]) for row in rows] == [("Log in", 1000), ("Refresh the token", 2000)]
    assert main(["compare", str(out)]) == 0
    assert capsys.readouterr().out == "2 plans, the same bytes\n"
    rows[1]["plan"] = rows[1]["plan"].replace('"files": ["', '"files": ["gone.py", "')
    out.write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    assert main(["compare", str(out)]) == 1
    shown = capsys.readouterr().out
    assert "gone.py" in shown
    assert shown.endswith("2 plans, 1 differ\n")
