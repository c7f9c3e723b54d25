"""What commands ask of the store besides planning: measurements, tables, and its soundness.

Together with `bootstrap` the only module that imports `store`; everything heavy is imported when called.
"""

from __future__ import annotations

from workbench.entry.bootstrap import Opened
from workbench.entry.measuring import Measured, Record


def recorder(opened: Opened, by: str = "cli") -> Record | None:
    """Return what writes measurements into the project's journal, None where the settings say no."""
    if not opened.config.store.metrics:
        return None

    def record(operation: str, duration_ms: float, told: Measured, ok: bool) -> None:
        from store import metrics

        metrics.record(
            opened.journal,
            operation,
            duration_ms,
            by=by,
            stages=told.stages,
            cache=told.cache,
            tokens=told.tokens,
            candidates=told.candidates,
            degraded=told.degraded,
            ok=ok,
        )

    return record
