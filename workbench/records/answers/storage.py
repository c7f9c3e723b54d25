"""The answer about the room that what is kept takes, and when there is none left."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from workbench.records.answers.base import Answer, Count, Text


class StoredKind(Answer, frozen=True):
    """A kind of what is kept: a journal with its copy, an index, tables, copies of transcripts."""

    name: Text
    bytes: Count
    records: Annotated[Count | None, Meta(description="Entries or files; null where they are not counted.")]
    growth: Annotated[float | None, Meta(description="Bytes a day, over the last 30 days; null if unknown.")]
    limit: Annotated[int | None, Meta(description="Bytes at which it stops growing; null without a limit.")]
    limit_on: Annotated[
        str, Meta(description="The day on which that is reached as it grows; empty if never.")
    ]
    note: Annotated[str, Meta(description="What happens at the limit.")]


class StorageReport(Answer, frozen=True):
    """What `workbench stats --storage --json` prints: room by kind, and when the disk is full."""

    state_directory: Text
    kinds: Annotated[tuple[StoredKind, ...], Meta(description="The largest first.")]
    bytes: Count
    growth: Annotated[float, Meta(description="Bytes a day of all that has no limit or has not reached it.")]
    free: Annotated[Count, Meta(description="Bytes free on the disk.")]
    full_on: Annotated[str, Meta(description="The day on which the disk is full by that; empty if never.")]
    keep_days: Annotated[Count, Meta(description="Days that records of sessions are kept; 0 for ever.")]
