"""Which system stands beside the baseline, and whose rows a reader is shown side by side."""

from __future__ import annotations

from workbench.records.replay import BASELINE, ReplayRun

HYBRID = "hybrid"


def counterpart(run: ReplayRun) -> str:
    """Return the system to show beside the baseline: hybrid, else one that begins so, else the last.

    Empty if nothing but the baseline was run.
    """
    names = [score.system for score in run.systems if score.system != BASELINE]
    if HYBRID in names or not names:
        return HYBRID if names else ""
    return next((name for name in names if name.startswith(f"{HYBRID}+")), names[-1])
