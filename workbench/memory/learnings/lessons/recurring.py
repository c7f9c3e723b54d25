"""Errors that came back iteration after iteration, until a change made them go away.

The iterations of a feature are compared: an error that two of them met, and that the newest one met no more
after it changed the file the error was in, is worth telling with that file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from workbench.memory.learnings.lessons.lesson import Lesson
from workbench.memory.learnings.texts import should_exclude_from_auto_accumulation, too_vague
from workbench.records.iterations import ErrorType, FileAction, IterationOutcome, IterationRecord
from workbench.records.learnings import LearningKind

LOOK_BACK: Final = 8  # iterations
_MOST_MESSAGE: Final = 160
_VOLATILE = re.compile(
    r"0x[0-9a-f]+|\b[0-9a-f]{7,40}\b|\d+(?:\.\d+)*|'/[^']*'|\"/[^\"]*\"|/\S+", re.IGNORECASE
)
_KINDS = frozenset({ErrorType.RUNTIME, ErrorType.COMPILE, ErrorType.TEST, ErrorType.LINT})


def error_signature(message: str) -> str:
    """Return an error in the form in which it is recognised again: without numbers, addresses and paths."""
    return " ".join(_VOLATILE.sub("#", message.casefold()).split())[:200]


def recurring_lessons(record: IterationRecord, before: Sequence[IterationRecord]) -> Iterator[Lesson]:
    """Yield errors that two earlier iterations met and this one got rid of; `before` is oldest first."""
    if record.outcome is not IterationOutcome.SUCCESS:
        return
    changed = {
        file.path
        for file in record.files_touched
        if file.action in (FileAction.CREATED, FileAction.MODIFIED)
        and not should_exclude_from_auto_accumulation(file.path)
    }
    now = {error_signature(error.message) for error in record.errors}
    met: dict[str, list[IterationRecord]] = {}
    told: dict[str, tuple[str, str]] = {}
    for earlier in before[-LOOK_BACK:]:
        for error in earlier.errors:
            key = error_signature(error.message)
            if error.error_type in _KINDS and error.file_path in changed and earlier not in met.get(key, ()):
                met.setdefault(key, []).append(earlier)
                told[key] = (error.message[:_MOST_MESSAGE], error.file_path or "")
    for key, iterations in met.items():
        message, path = told[key]
        if len(iterations) < 2 or key in now or too_vague(f"in {message}"):
            continue
        numbers = ", ".join(str(one.iteration_number) for one in iterations)
        yield Lesson(
            LearningKind.ERROR,
            f"`{path}`: `{message}` came back in iterations {numbers}; a change of that file ended it.",
            f"an error of {len(iterations)} iterations that a change made go away",
            evidence=message,
            files=(path,),
            trigger=key,
            observed=True,
        )
