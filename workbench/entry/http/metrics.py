"""What Prometheus reads: the figures of [img §13] for each open project, and what the server itself did."""

from __future__ import annotations

import os
import resource
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from workbench.entry.project import OpenedProject
from workbench.entry.services.metrics import FIGURES, specified_figures, statistics, waits_for_locks

SINCE: Final = 24 * 3600.0
"""Seconds of calls that the figures of a project are about."""

_HELP: Final = {
    **{name: text.format(span="24 hours") for name, text in FIGURES.items()},
    "workbench_plans": "Plans in the last 24 hours.",
    "workbench_lock_wait_p95_ms": "What calls of the last 24 hours waited for locks that others held.",
    "workbench_lock_wait_longest_ms": "The longest that one of them waited.",
}


class RequestCounts:
    """How many requests came and how long they took, by address and status. Only the event loop counts."""

    def __init__(self) -> None:
        self._counts: defaultdict[tuple[str, int], int] = defaultdict(int)
        self._seconds: defaultdict[str, float] = defaultdict(float)

    def add(self, path: str, status: int, seconds: float) -> None:
        """Count a request; `path` is the address as it is published."""
        self._counts[path, status] += 1
        self._seconds[path] += seconds

    def lines(self, running: int, projects: int, planners: int) -> Iterator[str]:
        """Yield the figures of the server; `planners` is the memory of the processes that plan."""
        yield from _head("workbench_http_requests_total", "Requests answered.", "counter")
        for (path, status), count in sorted(self._counts.items()):
            yield f'workbench_http_requests_total{{path="{path}",status="{status}"}} {count}'
        yield from _head("workbench_http_request_seconds_total", "Time until they were answered.", "counter")
        for path, seconds in sorted(self._seconds.items()):
            yield f'workbench_http_request_seconds_total{{path="{path}"}} {seconds:.6f}'
        for name, text, value in (
            ("workbench_http_running", "Requests that are worked on or wait.", running),
            ("workbench_projects_open", "Projects that are kept open.", projects),
            ("process_resident_memory_bytes", "Memory of the server.", resident_bytes()),
            ("workbench_planners_resident_memory_bytes", "Memory of the processes that plan.", planners),
            ("process_open_fds", "Open file descriptors of the server.", open_descriptors()),
        ):
            yield from _head(name, text, "gauge")
            yield f"{name} {value}"


def project_figures(project: OpenedProject) -> dict[str, float]:
    """Return the figures of a project by name, of the last 24 hours. Raises: StoreError."""
    since = time.time() - SINCE
    plans = next((one for one in statistics(project, since) if one.operation == "plan"), None)
    found = specified_figures(project, plans, since)
    if plans is not None:
        found["workbench_plans"] = plans.count
    for waits in waits_for_locks(project, since)[:1]:
        found["workbench_lock_wait_p95_ms"] = waits.p95
        found["workbench_lock_wait_longest_ms"] = waits.longest
    return found


def metrics_text(server: Iterator[str], projects: Mapping[Path, Mapping[str, float]]) -> str:
    """Return all figures in the text format of Prometheus."""
    lines = [*server]
    for name, text in _HELP.items():
        rows = [(root, found[name]) for root, found in sorted(projects.items()) if name in found]
        if rows:
            lines.extend(_head(name, text, "gauge"))
            lines.extend(f'{name}{{project="{_label(str(root))}"}} {value:.6g}' for root, value in rows)
    return "\n".join(lines) + "\n"


def resident_bytes(pid: int | None = None) -> int:
    """Return the memory that a process has now, where the system says so; else what this one ever had."""
    with suppress(OSError, ValueError):
        pages = int(Path(f"/proc/{pid or 'self'}/statm").read_text(encoding="ascii").split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")
    if pid is not None:
        return 0
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024


def open_descriptors() -> int:
    """Return how many file descriptors are open, 0 where the system does not say."""
    for directory in ("/proc/self/fd", "/dev/fd"):
        with suppress(OSError):
            return len(os.listdir(directory))
    return 0


def _head(name: str, text: str, kind: str) -> Iterator[str]:
    yield f"# HELP {name} {text}"
    yield f"# TYPE {name} {kind}"


def _label(value: str) -> str:
    shown = value.encode("utf-8", "replace").decode()
    return shown.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
