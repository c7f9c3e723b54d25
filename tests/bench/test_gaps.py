"""The benchmark of gaps: its figures, and that each screen can be driven as it says."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench import gaps
from bench.loop import Gaps, Phase, smooth


def test_the_percentile_is_the_nearest_rank() -> None:
    """Of a hundred gaps the 99th is the second longest; of none it is 0."""
    assert Gaps([float(each) for each in range(1, 101)]).p99 == 99.0
    assert Gaps([3.0]).p99 == 3.0
    assert (Gaps().p99, Gaps().longest) == (0.0, 0.0)


def test_all_phases_are_judged_together(capsys: pytest.CaptureFixture[str]) -> None:
    """One long gap is too much; so are many that are not that long."""
    short = Phase("short", 1.0, Gaps([0.001] * 100), Gaps())
    assert smooth([short])
    assert not smooth([short, Phase("once", 1.0, Gaps([0.2]), Gaps())])
    assert not smooth([short, Phase("often", 1.0, Gaps([0.03] * 9), Gaps())])
    assert "200 ms at most" in capsys.readouterr().out


async def test_every_step_can_be_taken(tmp_path: Path) -> None:
    """On a run that is filled in, the steps lead where they say."""
    from sample_data.build import build

    root = build(tmp_path)[0]
    gaps.fill_runs(root, 30)
    found = await gaps.browse(root, "run")
    assert [one.name for one in found] == ["run: open", "run: open, filter, sort"]
    assert all(one.processor.seconds for one in found)
