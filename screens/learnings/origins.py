"""Where a learning was found: its files, and the part of the transcript that it was learned from."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from screens.curation.excerpt import Excerpt, read_excerpt
from screens.engine import AppEngine
from screens.jobs import Job
from screens.sessions.pages import reading
from workbench.errors import UsageError
from workbench.records.learnings import FeatureLearning

if TYPE_CHECKING:
    from workbench.sessions.conversation import Turn

_BEFORE: Final = 12  # turns shown before the one it was learned from
_AFTER: Final = 12
_NEEDLE: Final = 60  # characters of what was seen that are looked for
_LONG: Final = 2_000  # characters of a turn that are shown
_EVERY: Final = 200  # lines between two looks whether to go on


@dataclass(frozen=True, slots=True)
class LearningOrigin:
    """Something that can be opened: a file of the project with a line (0: unknown), or else a session."""

    name: str
    file: str = ""
    line: int = 0
    session: str = ""


def origins(one: FeatureLearning) -> tuple[LearningOrigin, ...]:
    """Return what a learning says it is from, files first; a line where one is named."""
    found = []
    words = " ".join((one.evidence, one.trigger, one.text, one.reason))
    for file in one.files:
        at = re.search(re.escape(file) + r":(\d{1,7})\b", words)
        line = int(at[1]) if at else 0
        found.append(LearningOrigin(f"{file}:{line}" if line else file, file=file, line=line))
    if one.session_id:
        found.append(LearningOrigin(f"session {one.session_id}", session=one.session_id))
    return tuple(found)


def read_origin(engine: AppEngine, one: FeatureLearning, origin: LearningOrigin, job: Job) -> Excerpt:
    """Return the text of an origin, and the lines that matter. Raises: UsageError if there is none."""
    if origin.file:
        return _file(engine.root, origin)
    return _extract(engine, one, origin.session, job)


def _file(root: Path, origin: LearningOrigin) -> Excerpt:
    inside = False
    if "\0" not in origin.file and not origin.file.startswith("~"):
        inside = (root / origin.file).resolve().is_relative_to(root.resolve())
    if not inside:
        raise UsageError(f"{origin.file} leads out of the project", hint="Such files are not opened here.")
    return read_excerpt(root, origin.file, (origin.line, origin.line))


def _extract(engine: AppEngine, one: FeatureLearning, session: str, job: Job) -> Excerpt:
    from workbench.entry.services.transcripts import transcript_of
    from workbench.sessions.importers.lines import TranscriptSource

    with reading("the directory of transcripts"), engine.workspace(job.progress) as place:
        file = transcript_of(place, session)
    if file.open is None:
        raise UsageError(file.why, hint="What was seen of it is in the pane.")
    with reading(file.path):
        source = TranscriptSource(file.open())
        try:
            text, line = extract(source, needles(one), job)
        finally:
            source.close()
    return Excerpt(file.path, text, (line, line) if line else (0, 0))


def needles(one: FeatureLearning) -> tuple[str, ...]:
    """Return what a transcript is searched for, the surest first."""
    return tuple(
        " ".join(text.split())[:_NEEDLE] for text in (one.evidence, one.trigger, one.remedy, one.text) if text
    )


def extract(source: object, wanted: Sequence[str], job: Job) -> tuple[str, int]:
    """Return the turns around the first that holds what is looked for, as text, and its line in that text.

    Where nothing is found the beginning of the session is returned, and line 0.
    """
    from workbench.sessions.conversation import turns_of
    from workbench.sessions.importers.lines import TranscriptSource, lines_from

    assert isinstance(source, TranscriptSource)
    head: list[Turn] = []
    before: deque[Turn] = deque(maxlen=_BEFORE)
    found: list[Turn] = []
    for number, line in enumerate(lines_from(source, 0, 1)):
        if number % _EVERY == 0:
            job.check()
        for turn in turns_of(line):
            if found:
                found.append(turn)
                if len(found) > _AFTER:
                    return _excerpt_of(before, found)
            elif _holds(turn, wanted):
                found.append(turn)
            else:
                before.append(turn)
                if len(head) < _BEFORE + _AFTER:
                    head.append(turn)
    return _excerpt_of(before, found) if found else _excerpt_of(head, ())


def _holds(turn: Turn, wanted: Sequence[str]) -> bool:
    text = " ".join(f"{turn.head} {turn.text}".split())
    return any(one in text for one in wanted)


def _excerpt_of(before: Iterable[Turn], found: Sequence[Turn]) -> tuple[str, int]:
    lines: list[str] = []
    place = 0
    for turn in (*before, *found):
        if found and turn is found[0]:
            place = len(lines) + 1
        head = f"— line {turn.line:,} · {turn.role}{f' · {turn.head}' if turn.head else ''}"
        lines += [head, *turn.text[:_LONG].split("\n"), ""]
    return "\n".join(lines), place
