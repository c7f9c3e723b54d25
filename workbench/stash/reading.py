"""Reads the segments of a transcript of any known agent as they come: a file of any size is streamed."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import IO, Any, Final

from workbench.records.segments import ContextSegment
from workbench.sessions.importers.lines import read_trimmed
from workbench.sessions.importers.readers import FORMATS, format_of
from workbench.sessions.importers.transcripts import Moment, TranscriptRecord, Unreadable
from workbench.stash.drafts import SegmentMaker
from workbench.stash.segmenting import Segmenter

TAIL: Final = 1 << 16
"""Bytes of the end of a gigantic text that are kept besides its beginning."""


@dataclass(slots=True)
class TranscriptSegments:
    """What was read of a transcript. `source` is empty for what no known agent wrote.

    `left_out` counts what is no segment, by reason; `cut` bytes were in texts too large to be held. `fault`
    is why the file could not be read to its end.
    """

    source: str = ""
    lines: int = 0
    left_out: Counter[str] = field(default_factory=Counter)
    masked: Counter[str] = field(default_factory=Counter)
    cut: int = 0
    fault: str = ""


def read_segments(
    handle: IO[bytes],
    reading: TranscriptSegments,
    *,
    name: str = "",
    session: str = "",
    fallback_at: str = "",
    seen: set[bytes] | None = None,
    source: str = "",
) -> Iterator[ContextSegment]:
    """Yield the segments of a transcript as they end, none twice; `reading` gets what else there was.

    `name` is the file's, `session` replaces the transcript's own, `fallback_at` the times that it does not
    record. With `seen`, which files of one session share, a content comes once; without as often as it is
    there. `source` is the format, empty to find out.
    """
    steps = read_steps(
        handle, reading, name=name, session=session, fallback_at=fallback_at, seen=seen, source=source
    )
    for _, segments in steps:
        yield from segments


def read_steps(
    handle: IO[bytes],
    reading: TranscriptSegments,
    *,
    name: str = "",
    session: str = "",
    fallback_at: str = "",
    seen: set[bytes] | None = None,
    source: str = "",
) -> Iterator[tuple[Moment | None, Iterator[ContextSegment]]]:
    """Yield the events of a transcript with the segments of each, last what waited for the end.

    Segments are to be taken before the next event is asked for. Arguments are those of `read_segments`.
    """
    cuts: list[int] = []
    try:
        found, records = format_of(read_trimmed(handle, cuts, tail=TAIL))
        found = next((one for one in FORMATS if one.source == source), found)
        if found is None or found.moments is None:
            return
        reading.source = found.source
        stem = PurePath(name).name.split(".jsonl")[0]
        agent = stem.removeprefix("agent-") if stem.startswith("agent-") else ""
        make = SegmentMaker(found.source, fallback_at, seen, reading.left_out, reading.masked)
        segmenter = Segmenter(make, session=session, fallback=stem, agent=agent)
        current = _Current(records, reading)
        for moment in found.moments(current):
            yield moment, segmenter.take(moment, current.value)
        yield None, segmenter.finish()
    except (OSError, EOFError, zlib.error) as error:
        reading.fault = getattr(error, "strerror", None) or str(error) or type(error).__name__
    finally:
        reading.cut = sum(cuts)


class _Current:
    """Counts records and remembers the one whose events are read: readers take one at a time."""

    def __init__(self, records: Iterable[TranscriptRecord | Unreadable], reading: TranscriptSegments) -> None:
        self.value: Mapping[str, Any] = {}
        self._records = records
        self._reading = reading

    def __iter__(self) -> Iterator[TranscriptRecord | Unreadable]:
        for record in self._records:
            self._reading.lines += 1
            self.value = record.value if isinstance(record, TranscriptRecord) else {}
            yield record
