"""What is asked before a first index is counted as it is."""

from __future__ import annotations

from pathlib import Path

from tests.conftest import Work
from workbench.config import Config, IndexConfig
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


def test_commits_beyond_the_limit_are_counted_as_left_out(work: Work) -> None:
    """What would be read is what the first index reads."""
    for number in range(3):
        work.write(f"{number}.py")
        work.commit()
    found = first_look(open_workspace(work.root, Config(index=IndexConfig(history_commits=2))))
    assert (found.commits, found.older) == (2, 1)
