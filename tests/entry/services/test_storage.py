"""The day on which a limit is reached follows from what there is, what is added a day, and what is free."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from store.storage import StoredSize
from tests.adapters import ManualClock
from workbench.config import Config
from workbench.entry.project import open_project
from workbench.entry.services import storage
from workbench.entry.services.storage import storage_lines, storage_report

NOW = 1_800_000_000.0


@pytest.fixture
def sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A state that grows by three thousand bytes a day, on a disk with room for ten days."""
    journals = [
        StoredSize("sessions", 9_000, 40, 1_000.0),
        StoredSize("rules", 500, 3, 1_000.0),
        StoredSize("metrics", 20 << 20, 9, 8.0),
    ]
    others = [StoredSize("archive", 1 << 20, 2, 1_000.0), StoredSize("tables", 700)]
    monkeypatch.setattr(storage, "journal_sizes", lambda root, now: journals)
    monkeypatch.setattr(storage, "directory_sizes", lambda root, now: others)
    usage = type("Usage", (), {"free": 30_000})
    monkeypatch.setattr("shutil.disk_usage", lambda path: usage)


@pytest.mark.usefixtures("sizes")
def test_limits_and_their_days(work: Any) -> None:
    """Sessions settle at ninety days of growth, copies at their limit; what reached one does not grow."""
    opened = replace(open_project(work.root, Config()), clock=ManualClock(NOW))
    opened.state.mkdir(exist_ok=True)
    report = storage_report(opened)
    kinds = {kind.name: kind for kind in report.kinds}
    assert [kind.name for kind in report.kinds] == ["metrics", "archive", "sessions", "tables", "rules"]
    assert (kinds["sessions"].limit, kinds["sessions"].limit_on) == (90_000, "2027-04-06")
    assert (kinds["archive"].limit, kinds["archive"].limit_on) == (500 << 20, "")  # in 1,400 years
    assert (kinds["metrics"].limit, kinds["metrics"].limit_on) == (16 << 20, "")
    assert (kinds["rules"].limit, kinds["tables"].growth) == (None, None)
    assert (report.growth, report.free, report.full_on) == (3_000.0, 30_000, "2027-01-25")
    lines = storage_lines(report)
    assert lines[3].split() == "sessions 9.0 kB 40 1.0 kB 90.0 kB".split() + (
        "at this rate, of 90 days (store.keep_days), on 2027-04-06".split()
    )
    assert lines[-1] == (
        "22.0 MB in all, 3.0 kB more a day; 30.0 kB free on the disk, full on 2027-01-25 at this rate"
    )
