"""What is asked before a first index is counted as it is."""

from __future__ import annotations

from pathlib import Path

from workbench.config import Config
from workbench.entry.project import open_workspace
from workbench.entry.services.index import first_look
from workbench.project.scan import ScanLimits


def test_what_is_left_out_is_counted_beyond_what_is_listed(tmp_path: Path) -> None:
    """The number of skipped files is no cap of a list of their names."""
    root = tmp_path / "shop"
    root.mkdir()
    count = ScanLimits().max_skipped + 1
    for number in range(count):
        (root / f"{number}.png").touch()
    (root / "a.py").write_text("x = 1\n")
    found = first_look(open_workspace(root, Config()))
    assert (found.files, found.skipped) == (1, count + 1)  # and the state itself
