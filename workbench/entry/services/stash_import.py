"""Import into the stash: transcripts and JSON lines, batch by batch, as one step that can be undone."""

from __future__ import annotations

import shutil
import sys
import tempfile
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any, Final

from workbench.errors import UsageError
from workbench.records.answers.stash import ImportedFile, ImportResponse, MalformedLine
from workbench.records.ids import new_id
from workbench.records.segments import ContextSegment, text_digest
from workbench.sessions.importers.lines import open_transcript, read_trimmed
from workbench.sessions.importers.readers import FORMATS, format_of
from workbench.sessions.importers.transcripts import TranscriptRecord, find_transcripts
from workbench.stash.jsonl import MalformedSegment, is_segment, read_jsonl, write_segment
from workbench.stash.reading import TranscriptSegments, read_segments
from workbench.stash.segmenttype import segment_id
from workbench.stash.service import StashService
from workbench.stash.stashstore import StashLedger
from workbench.stash.times import utc_time
from workbench.text.redact import redact_values

JSONL: Final = "jsonl"
AUTO: Final = "auto"
_TOGETHER: Final = 256  # segments that are written at once
_HELD: Final = 4 << 20  # characters of their texts
_PEEKED: Final = 50  # lines that show a file's format
_MOST_ERRORS: Final = 1_000  # of a file that are kept by line

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class StashImportRequest:
    """What is asked of an import. `session` replaces that of the files; `expires_at` is ISO 8601 or None.

    With `again` segments of transcripts come back that were removed since an earlier import.
    """

    session: str = ""
    format: str = AUTO
    expires_at: str | None = None
    reason: str = ""
    again: bool = False


@dataclass(slots=True)
class StashFileReport:
    """What was read of a file; `format` is empty for what nobody known wrote.

    `added`, `known` and `removed` count segments: new ones, those of earlier imports, and those that were
    removed since and stay so. `malformed` lines are named in `errors`, at most a thousand. `cut` bytes were
    in texts too large to be held, `fault` is why it could not be read to its end.
    """

    path: str
    format: str = ""
    lines: int = 0
    added: int = 0
    known: int = 0
    removed: int = 0
    types: Counter[str] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)
    masked: Counter[str] = field(default_factory=Counter)
    malformed: int = 0
    errors: list[MalformedSegment] = field(default_factory=list)
    cut: int = 0
    fault: str = ""
    named: bool = True  # by the user, and not found in a directory

    @property
    def failed(self) -> bool:
        """Whether something that was asked for could not be read."""
        return bool(self.malformed or self.fault or (self.named and not self.format))

    def reject(self, line: int, reason: str) -> None:
        """Note a line that is no segment."""
        self.malformed += 1
        if len(self.errors) < _MOST_ERRORS:
            self.errors.append(MalformedSegment(line, reason))


def import_files(
    service: StashService,
    places: Sequence[Path],
    request: StashImportRequest,
    progress: Progress | None = None,
) -> Iterator[StashFileReport]:
    """Put the segments of files aside, yielding a report of each. All are one step, which `undo` takes back.

    Of directories the JSONL files below them are read, `-` is stdin. What a batch wrote is kept whatever
    comes after it. Raises: UsageError for a file that is not there; StoreError.
    """
    for place in places:
        if str(place) != "-" and not place.exists():
            raise UsageError(
                f"{place} does not exist", hint="Give a transcript, a directory, JSON lines or -."
            )
    # What sub-agents reported is kept where it was asked for, so that their own transcripts come last.
    paths = sorted(find_transcripts(places), key=lambda path: path.name.startswith("agent-"))
    sizes = [path.stat().st_size if path.is_file() else 0 for path in paths]
    batches = SegmentBatches(service, request, f"import {', '.join(path.name for path in places[:3])}")
    seen: set[bytes] = set()
    before = 0
    for path, size in zip(paths, sizes, strict=True):
        report = StashFileReport(str(path), named=path in places)
        try:
            with _open_from_start(path) as handle:
                for line, one in _segments(handle, path, request, report, seen):
                    batches.add(one, line, report)
                    if progress is not None:
                        progress(before + min(handle.tell(), size), sum(sizes))
                batches.flush()
        except (OSError, EOFError, zlib.error) as error:
            batches.flush()
            report.fault = getattr(error, "strerror", None) or str(error) or type(error).__name__
        before += size
        yield report


@contextmanager
def _open_from_start(path: Path) -> Iterator[IO[bytes]]:
    """Open a file from its beginning; stdin is copied, as it is read twice."""
    if str(path) == "-":
        with tempfile.TemporaryFile() as copy:
            shutil.copyfileobj(sys.stdin.buffer, copy)
            copy.seek(0)
            yield copy
        return
    with open_transcript(path) as handle:
        yield handle


def _segments(
    handle: IO[bytes],
    path: Path,
    request: StashImportRequest,
    report: StashFileReport,
    seen: set[bytes],
) -> Iterator[tuple[int, ContextSegment]]:
    report.format = request.format if request.format != AUTO else _format_of(handle, report.named)
    handle.seek(0)
    if report.format == JSONL:
        for found in read_jsonl(handle, request.session):
            if isinstance(found, MalformedSegment):
                report.lines = found.line
                report.reject(found.line, found.reason)
            else:
                report.lines = found[0]
                yield found
        return
    if not report.format:
        return
    reading = TranscriptSegments(left_out=report.left_out, masked=report.masked)
    for segment in read_segments(
        handle,
        reading,
        name=path.name,
        session=request.session,
        fallback_at=utc_time(path.stat().st_mtime) if path.is_file() else "",
        seen=seen,
        source=report.format,
    ):
        yield reading.lines, segment
    report.lines, report.cut, report.fault = reading.lines, reading.cut, reading.fault


def _format_of(handle: IO[bytes], named: bool) -> str:
    """Return the format of the first lines that have one, empty if none has.

    One segment makes a file JSON lines, whatever else is in it: each other line is named. Only a transcript
    has more lines of an agent than lines that read as segments. Of a file that was `named` a text alone is
    meant as a segment, and lines without any format are passed over to the last.
    """
    head = handle.read(16).strip(b"\xef\xbb\xbf \t\r\n")
    handle.seek(0)
    if head[:1] == b"[" or head == b"{":
        return JSONL
    segments = texts = 0
    agents: list[TranscriptRecord] = []
    for number, one in enumerate(read_trimmed(handle)):
        if number >= _PEEKED and (segments or texts or agents or not named):
            break
        if not isinstance(one, TranscriptRecord):
            continue
        if is_segment(one.value) or isinstance(one.value.get("segments"), list):
            segments += 1
        elif any(each.belongs(one.value) for each in FORMATS):
            agents.append(one)
        elif named and isinstance(one.value.get("text"), str):
            texts += 1
    if segments and segments >= len(agents):
        return JSONL
    found, _ = format_of(iter(agents))
    if found is not None:
        return found.source if found.moments is not None else ""
    return JSONL if texts else ""


class SegmentBatches:
    """Puts segments aside, many with one write, as one step; what is known is counted and not written."""

    def __init__(self, service: StashService, request: StashImportRequest, title: str) -> None:
        self._service = service
        self._request = request
        self._title = title
        self._step = new_id()
        self._waiting: list[tuple[ContextSegment, int, StashFileReport]] = []
        self._held = 0

    def add(self, segment: ContextSegment, line: int, report: StashFileReport) -> None:
        """Take a segment of a line; it is written with those after it."""
        segment = redact_values(segment)
        if not segment.segment_id:
            segment = replace(
                segment, segment_id=segment_id(segment.session_id, segment.source, segment.text)
            )
        if segment.expires_at is None:
            segment = replace(segment, expires_at=self._request.expires_at)
        self._waiting.append((segment, line, report))
        self._held += len(segment.text)
        if len(self._waiting) >= _TOGETHER or self._held >= _HELD:
            self.flush()

    def flush(self) -> None:
        """Write what waits. Raises: StoreError."""
        waiting, self._waiting, self._held = self._waiting, [], 0
        if not waiting:
            return
        there, gone = self._known_digests([one.segment_id for one, _, _ in waiting])
        new: dict[str, ContextSegment] = {}
        owners: dict[str, StashFileReport] = {}
        for one, line, report in waiting:
            before = there.get(one.id) or gone.get(one.id)
            if one.id in new:
                before = text_digest(new[one.id].text)
            if before is not None and before != text_digest(one.text):
                report.reject(line, f"the id {one.id} is that of another text")
            elif one.id in there or one.id in new:
                report.known += 1
            elif one.id in gone and report.format != JSONL and not self._request.again:
                report.removed += 1
            elif problem := self._problem(one):
                report.reject(line, problem)
            else:
                new[one.id], owners[one.id] = one, report
        if not new:
            return
        done = self._service.add_many(
            list(new.values()), reason=self._request.reason, title=self._title, step=self._step
        )
        for one in done.segments:  # another process may have added some meanwhile
            report = owners[one.id]
            if one.id in done.added:
                report.added += 1
                report.types[one.type.value] += 1
            else:
                report.known += 1

    def _known_digests(self, identifiers: Sequence[str]) -> tuple[dict[str, str], dict[str, str]]:
        """Return the digests of the texts of ids that are there, and of those that were removed."""
        return self._service.store.reader.read(
            lambda ledger: (
                {key: ledger.records[key].digest for key in identifiers if key in ledger.records},
                {
                    key: ledger.versions[key].digest
                    for key in identifiers
                    if key in ledger.versions and key not in ledger.records
                },
            )
        )

    def _problem(self, one: ContextSegment) -> str:
        """Return why a segment cannot be kept, empty if it can."""
        return "its id has more than 200 characters" if len(one.segment_id) > 200 else ""


def import_response(
    reports: Sequence[StashFileReport], notes: Sequence[str] = (), timing: Mapping[str, float] | None = None
) -> ImportResponse:
    """Return the reports of an import as one answer."""
    counts: dict[str, Counter[str]] = {"types": Counter(), "left_out": Counter(), "masked": Counter()}
    for one in reports:
        for name, counter in counts.items():
            counter.update(getattr(one, name))
    ordered = {
        name: dict(sorted(counter.items(), key=lambda item: (-item[1], item[0])))
        for name, counter in counts.items()
    }
    return ImportResponse(
        added=sum(report.added for report in reports),
        known=sum(report.known for report in reports),
        removed=sum(report.removed for report in reports),
        malformed=sum(report.malformed for report in reports),
        lines=sum(report.lines for report in reports),
        files=tuple(_file(report) for report in reports),
        notes=tuple(notes),
        timing=dict(timing or {}),
        **ordered,
    )


def _file(report: StashFileReport) -> ImportedFile:
    errors = tuple(map(MalformedLine.of, sorted(report.errors, key=lambda error: error.line)))
    return ImportedFile.of(report, errors=errors, bytes_cut=report.cut)


def exported_segments(
    service: StashService, types: Collection[str], sessions: Collection[str]
) -> Iterator[dict[str, Any]]:
    """Yield the segments of types and sessions, all if none are given, as lines of an export, oldest first.

    Raises: StoreError.
    """

    def read(ledger: StashLedger) -> list[ContextSegment]:
        return [
            record
            for record in ledger.records.values()
            if (not types or record.type.value in types) and (not sessions or record.session_id in sessions)
        ]

    found = sorted(service.store.reader.read(read), key=lambda one: (one.timestamp, one.stashed_at, one.id))
    for at in range(0, len(found), _TOGETHER):
        for one in service.with_texts(found[at : at + _TOGETHER]):
            yield write_segment(one)
