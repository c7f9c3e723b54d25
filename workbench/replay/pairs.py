"""Which system is compared with the baseline, and whose rows a reader is shown side by side."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from workbench.records.replay import BASELINE, ReplayRun

HYBRID: Final = "hybrid"


def counterpart(run: ReplayRun) -> str:
    """Return the system to show beside the baseline: hybrid, else one that begins so, else the last.

    Empty if nothing but the baseline was run.
    """
    names = [score.system for score in run.systems if score.system != BASELINE]
    if HYBRID in names or not names:
        return HYBRID if names else ""
    return next((name for name in names if name.startswith(f"{HYBRID}+")), names[-1])


def alone(run: ReplayRun, system: str, name: str) -> ReplayRun:
    """Return a run of one of its systems under a name: what two systems did can then be compared."""
    return replace(
        run,
        systems=tuple(replace(one, system=name) for one in run.systems if one.system == system),
        rows=tuple(
            replace(row, systems={name: row.systems[system]} if system in row.systems else {})
            for row in run.rows
        ),
    )
