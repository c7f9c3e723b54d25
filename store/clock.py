"""The system's clock (port `Clock`)."""

from __future__ import annotations

import time


class SystemClock:
    """The time of the machine."""

    def now(self) -> float:
        """Return the time in seconds since the epoch."""
        return time.time()
