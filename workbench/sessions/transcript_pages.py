"""A transcript page by page: its turns, and where its prompts are.

Prompts are found by the readers that imported them, so that an episode leads to the very line it came from,
in the original and in the copy of it.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from workbench.records.episodes import Episode
from workbench.sessions.conversation import MOST_TEXT, Turn, turns_of
from workbench.sessions.importers.fold import Fold
from workbench.sessions.importers.lines import BLOCK, TranscriptSource, lines_from
from workbench.sessions.importers.readers import format_of
from workbench.sessions.importers.transcripts import TranscriptRecord, Unreadable
from workbench.text.redact import redact

MOST_TURNS: Final = 200
MOST_BYTES: Final = 1 << 20
_CLOSE: Final = 5  # seconds between the agent's clock and whoever recorded the session


@dataclass(frozen=True, slots=True)
class TranscriptPage:
    """Turns of the lines from `start` up to `end` (byte offsets); `line` is the number of the first line.

    At the file's end `more` is False.
    """

    turns: tuple[Turn, ...]
    start: int
    end: int
    line: int
    end_line: int
    more: bool


@dataclass(frozen=True, slots=True)
class PromptMark:
    """A prompt of a transcript: the id its episode has, its place, its text without secrets, and when."""

    id: str
    offset: int
    line: int
    text: str
    at: int


class Prompts:
    """Finds the prompts of a transcript, reading it once and no further than it is asked to."""

    def __init__(self, source: TranscriptSource) -> None:
        self.marks: list[PromptMark] = []
        self.offsets = array("Q")
        self.read = 0
        self.complete = False
        self.conversation = True
        self._source = source
        self._steps = self._walk()

    def until(self, session_id: str, tell: Callable[[int, int], None]) -> PromptMark | None:
        """Read up to the prompt of an episode and return it; to the end if it is not there or "".

        Raises: OSError.
        """
        return self._further(tell, lambda found: found.id == session_id)

    def _further(
        self, tell: Callable[[int, int], None], enough: Callable[[PromptMark], bool]
    ) -> PromptMark | None:
        for step in self._steps:
            if step is None:
                tell(self.read, self._source.size)
                continue
            self.marks.append(step)
            if enough(step):
                return step
        self.complete = True
        return None

    def after(self, mark: PromptMark, tell: Callable[[int, int], None]) -> int:
        """Return the offset at which the prompt after this one begins, the file's end if none does.

        Reads on as far as it has to. Raises: OSError.
        """
        while not self.complete and not any(one.offset > mark.offset for one in self.marks):
            self._further(tell, lambda found: True)
        later = (one.offset for one in self.marks if one.offset > mark.offset)
        return min(later, default=self._source.size)

    def before(self, line: int, lines: int, size: int) -> tuple[int, int] | None:
        """Return (offset, number) of a line so many lines or bytes before a line, None if not read so far."""
        if line > len(self.offsets):
            return None
        first = max(line - 1 - lines, 0)
        while first < line - 2 and self.offsets[line - 1] - self.offsets[first] > size:
            first += 1
        return self.offsets[first], first + 1

    def _walk(self) -> Iterator[PromptMark | None]:
        found, records = format_of(self._records())
        self.conversation = found is not None and found.moments is not None
        if found is None or found.moments is None:
            return
        fold, heard = Fold(found.source), 0
        for moment in found.moments(records):
            known = len(fold.story.tasks)
            fold.take((moment,))
            if len(fold.story.tasks) > known:
                task = fold.story.tasks[-1]
                head = redact(task.text[:MOST_TEXT]).text
                yield PromptMark(task.id, self.offsets[moment.line - 1], moment.line, head, task.started)
            if self.read - heard >= BLOCK:
                heard = self.read
                yield None

    def _records(self) -> Iterator[TranscriptRecord | Unreadable]:
        for line in lines_from(self._source, 0, 1):
            self.offsets.append(line.offset)
            self.read = line.end
            if line.record is not None:
                yield line.record


def mark_of(marks: Sequence[PromptMark], episode: Episode) -> PromptMark | None:
    """Return the prompt that an episode began with: by its id, else by when it began, else its number."""
    for mark in marks:
        if mark.id == episode.session_id:
            return mark
    earlier = [mark for mark in marks if 0 <= mark.at <= episode.started_at + _CLOSE]
    if earlier and episode.started_at - earlier[-1].at <= _CLOSE:
        return earlier[-1]
    place = episode.prompt_index
    if place is not None and 0 <= place < len(marks):
        return marks[place]
    return earlier[-1] if earlier else marks[0] if marks else None


def first_turn(
    source: TranscriptSource, start: int, number: int, end: int, wanted: Callable[[Turn], bool]
) -> tuple[int, int] | None:
    """Return (offset, number) of the first line from `start` up to `end` with a turn that is wanted.

    Raises: OSError.
    """
    for line in lines_from(source, start, number):
        if line.offset >= end:
            break
        if any(map(wanted, turns_of(line))):
            return line.offset, line.number
    return None


def names_file(turn: Turn, path: str) -> bool:
    """Whether a call names a file of the project."""
    return any(one == path or one.endswith(f"/{path}") for one in turn.paths)


def read_page(
    source: TranscriptSource,
    offset: int,
    number: int,
    *,
    turns: int = MOST_TURNS,
    size: int = MOST_BYTES,
    until: int | None = None,
) -> TranscriptPage:
    """Return the turns from an offset on, at most so many or of so many bytes, or up to a line's offset.

    Raises: OSError.
    """
    found: list[Turn] = []
    end, line, more = offset, number, False
    for each in lines_from(source, offset, number):
        full = len(found) >= turns or end - offset >= size
        if each.offset == until or (full and found and until is None):
            more = True
            break
        found += turns_of(each)
        end, line = each.end, each.number + 1
    return TranscriptPage(tuple(found), offset, end, number, line, more)
