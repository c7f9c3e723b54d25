"""How much room what is kept takes, by kind, how it grows, and on which day a limit is reached."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from workbench.entry.project import MAX_RUNS_TOTAL, ROTATED, StoredSize, directory_sizes, journal_sizes
from workbench.records.answers.project import StorageReport, StoredKind
from workbench.text.counts import shown_bytes

if TYPE_CHECKING:
    from workbench.entry.project import OpenedProject

_DAY: Final = 86_400.0
_FAR: Final = 3_650.0
"""Days beyond which nothing is forecast."""
_SETTLING: Final = frozenset({"sessions", "handovers"})


def storage_report(project: OpenedProject) -> StorageReport:
    """Return the room that a project's state takes, the largest kind first. Raises: StoreError."""
    now, config = project.clock.now(), project.config
    journals = journal_sizes(project.state, now)
    days, limits = config.store.keep_days, _limits(config.sessions.archive_mb)
    kinds = [
        *(_kind(journal, _limit(journal, days), now) for journal in journals),
        *(_kind(one, limits.get(one.name, (None, "")), now) for one in directory_sizes(project.state, now)),
    ]
    growing = sum(kind.growth or 0.0 for kind in kinds if kind.limit is None or kind.bytes < kind.limit)
    free = shutil.disk_usage(project.state).free if project.state.is_dir() else 0
    return StorageReport(
        state_directory=str(project.state),
        kinds=tuple(sorted(kinds, key=lambda one: (-one.bytes, one.name))),
        bytes=sum(kind.bytes for kind in kinds),
        growth=round(growing, 1),
        free=free,
        full_on=_day(now, free, growing),
        keep_days=days,
    )


_Limit = tuple[int | None, str]
"""Bytes at which something stops growing, and what happens then."""


def _limits(archive_mb: int) -> dict[str, _Limit]:
    return {
        "archive": (archive_mb << 20, "then the oldest copies go (sessions.archive_mb)"),
        "runs": (MAX_RUNS_TOTAL, "then the oldest runs go"),
    }


def _limit(journal: StoredSize, days: int) -> _Limit:
    rotation = ROTATED.get(journal.name)
    if rotation is not None:
        return rotation.max_bytes * (rotation.keep + 1), "then the oldest figures go"
    if journal.name in _SETTLING and days and journal.growth:
        return round(journal.growth * days), f"at this rate, of {days} days (store.keep_days)"
    return None, ""


def _kind(found: StoredSize, limited: _Limit, now: float) -> StoredKind:
    limit, note = limited
    growth = None if found.growth is None else round(found.growth, 1)
    left = 0 if limit is None else limit - found.bytes
    on = _day(now, left, growth or 0.0) if left > 0 else ""
    return StoredKind(found.name, found.bytes, found.records, growth, limit, on, note)


def _day(now: float, left: float, growth: float) -> str:
    """Return the day on which so many bytes are used up, empty if that is far away or never."""
    if growth <= 0 or left / growth > _FAR:
        return ""
    return datetime.fromtimestamp(now + left / growth * _DAY, UTC).date().isoformat()


def storage_lines(report: StorageReport) -> list[str]:
    """Return the report as aligned lines: kinds, then all of it and the disk."""
    head = ("kind", "bytes", "records", "a day", "limit")
    rows: Sequence[tuple[str, ...]] = [
        head,
        *(
            (
                kind.name,
                shown_bytes(kind.bytes),
                "" if kind.records is None else f"{kind.records:,}",
                "" if not kind.growth else shown_bytes(kind.growth),
                "" if kind.limit is None else shown_bytes(kind.limit),
            )
            for kind in report.kinds
        ),
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
    notes = ["", *(f"{kind.note}{f', on {kind.limit_on}' if kind.limit_on else ''}" for kind in report.kinds)]
    lines = [
        "  ".join(
            [
                row[0].ljust(widths[0]),
                *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)),
                note,
            ]
        ).rstrip()
        for row, note in zip(rows, notes, strict=True)
    ]
    return [*lines, storage_sentence(report)]


def storage_sentence(report: StorageReport) -> str:
    """Return in a line what all of it takes, how it grows and when the disk is full."""
    text = f"{shown_bytes(report.bytes)} in all"
    if report.growth:
        text += f", {shown_bytes(report.growth)} more a day"
    full = f", full on {report.full_on} at this rate" if report.full_on else ""
    return f"{text}; {shown_bytes(report.free)} free on the disk{full}"
