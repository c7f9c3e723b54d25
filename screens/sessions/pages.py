"""Opening a transcript and turning its pages: what runs in jobs' threads for the screen that shows one."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from screens.engine import AppEngine
from screens.jobs import Job
from screens.sessions.conversation import Row, lay_out_turns
from screens.sessions.story import END, EVENT, FILE, StoryLine
from workbench.errors import UsageError
from workbench.sessions.conversation import Turn
from workbench.sessions.importers.fold import seconds
from workbench.sessions.importers.lines import TranscriptSource
from workbench.sessions.transcript_pages import (
    PromptMark,
    Prompts,
    TranscriptPage,
    first_turn,
    mark_of,
    names_file,
    read_page,
)

if TYPE_CHECKING:
    from workbench.entry.services.transcripts import SessionFile
    from workbench.records.episodes import Episode

BACK: Final = 60
"""Lines that turning a page back goes back at most."""

_BACK_BYTES: Final = 256 << 10


@dataclass(frozen=True, slots=True)
class Point:
    """Where in a session a transcript is opened: a line of its story, the prompt if none is given."""

    episode: Episode
    line: StoryLine | None = None


@dataclass(slots=True)
class OpenTranscript:
    """A transcript that is open: the file, its prompts as far as they are known, and where it was opened."""

    file: SessionFile
    source: TranscriptSource
    prompts: Prompts
    root: Path
    mark: PromptMark | None = None

    def close(self) -> None:
        """Close the file."""
        self.source.close()


@dataclass(frozen=True, slots=True)
class ShownPage:
    """A page and its lines; the cursor goes to turn `at`, -1 is the last line."""

    page: TranscriptPage
    rows: list[Row]
    at: int = 0


@contextmanager
def reading(path: str) -> Iterator[None]:
    """Report what cannot be read in words people understand. Raises: UsageError."""
    try:
        yield
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise UsageError(
            f"{path} cannot be read: {reason}", hint="`workbench import sessions --again` reads it again."
        ) from error


def find_transcript(engine: AppEngine, episode: Episode, job: Job) -> SessionFile:
    """Return where the transcript of an episode is, or why there is none. Raises: WorkbenchError."""
    from workbench.entry.services.transcripts import session_file

    with reading("the directory of transcripts"), engine.workspace(job.progress) as place:
        return session_file(place, episode)


def open_at(
    engine: AppEngine, point: Point, width: int, keep: Callable[[OpenTranscript], None], job: Job
) -> tuple[SessionFile, ShownPage | None]:
    """Open the transcript of an episode at a point; without one the file says why.

    `keep` gets what has to be closed as soon as it is open. Raises: WorkbenchError.
    """
    file = find_transcript(engine, point.episode, job)
    if file.open is None:
        return file, None
    with reading(file.path):
        source = TranscriptSource(file.open(), lambda read: job.progress("Unpacking, MB", read >> 20))
        made = OpenTranscript(file, source, Prompts(source), engine.root)
        keep(made)
        tell = progress_of(job)
        if made.prompts.until(point.episode.session_id, tell) is None and not made.prompts.conversation:
            raise UsageError(
                f"{file.path} is not a transcript", hint="An export of sessions holds no conversation."
            )
        made.mark = mark_of(made.prompts.marks, point.episode)
        return file, _first_page(made, point, width, job)


def _first_page(made: OpenTranscript, point: Point, width: int, job: Job) -> ShownPage:
    mark, line, prompts = made.mark, point.line, made.prompts
    if mark is None:
        return page_at(made, 0, 1, width, job)
    start = (mark.offset, mark.line)
    if line is None or line.kind not in (FILE, EVENT, END):
        return page_at(made, *start, width, job)
    end = prompts.after(mark, progress_of(job))
    if line.kind == END:
        last = next((n for n, at in enumerate(prompts.offsets, 1) if at >= end), len(prompts.offsets) + 1)
        place = prompts.before(last, min(BACK, max(last - mark.line, 1)), _BACK_BYTES) or start
        return _up_to(page_at(made, *place, width, job), end)
    found = first_turn(made.source, *start, end, _turn_filter(line))
    shown = page_at(made, *(found or start), width, job)
    at = next((n for n, turn in enumerate(shown.page.turns) if _turn_filter(line)(turn)), 0) if found else 0
    return ShownPage(shown.page, shown.rows, at)


def _turn_filter(line: StoryLine) -> Callable[[Turn], bool]:
    if line.kind == FILE or line.target:
        return lambda turn: names_file(turn, line.target)
    at = line.at or 0
    return lambda turn: seconds(turn.at) >= at


def _up_to(shown: ShownPage, end: int) -> ShownPage:
    """Return a page with the cursor on the last turn before an offset."""
    inside = [number for number, turn in enumerate(shown.page.turns) if turn.offset < end]
    return ShownPage(shown.page, shown.rows, inside[-1] if inside else 0)


def page_at(made: OpenTranscript, offset: int, line: int, width: int, job: Job) -> ShownPage:
    """Return the page that begins at a line. Raises: WorkbenchError."""
    with reading(made.file.path):
        page = _name_files(read_page(made.source, offset, line), made.root)
    return ShownPage(page, lay_out_turns(page.turns, (), width, job.check))


def page_before(made: OpenTranscript, page: TranscriptPage, width: int, job: Job) -> ShownPage | None:
    """Return the page that ends where this one begins, None where nothing is. Raises: WorkbenchError."""
    place = made.prompts.before(page.line, BACK, _BACK_BYTES)
    if place is None or place[0] >= page.start:
        return None
    with reading(made.file.path):
        before = _name_files(read_page(made.source, *place, until=page.start), made.root)
    if not before.turns:
        return page_before(made, before, width, job)
    return ShownPage(before, lay_out_turns(before.turns, (), width, job.check), -1)


def last_page(made: OpenTranscript, width: int, job: Job) -> ShownPage | None:
    """Return the page at the file's end, which is read to it first. Raises: WorkbenchError."""
    read_on(made, job)
    offsets = made.prompts.offsets
    if not offsets:
        return None
    place = made.prompts.before(len(offsets), BACK, _BACK_BYTES)
    with reading(made.file.path):
        last = read_page(made.source, *(place or (0, 1)), until=made.source.size)
    page = _name_files(last, made.root)
    return ShownPage(page, lay_out_turns(page.turns, (), width, job.check), -1)


def _name_files(page: TranscriptPage, root: Path) -> TranscriptPage:
    """Return the page with the project's files called what the project calls them."""
    here = f"{root}/"
    return replace(page, turns=tuple(replace(turn, head=turn.head.replace(here, "")) for turn in page.turns))


def read_on(made: OpenTranscript, job: Job) -> None:
    """Find the rest of the prompts. Raises: WorkbenchError."""
    with reading(made.file.path):
        made.prompts.until("", progress_of(job))


def progress_of(job: Job) -> Callable[[int, int], None]:
    """Return what reports to a job how many bytes were read."""
    return lambda read, total: job.progress("Reading the transcript, MB", read >> 20, max(total >> 20, 1))
