"""From the raw output of an iteration to what is worth keeping of it: bounded, free of secrets, in order.

Secrets are taken out of every text before it is cut to its bound, so that no half of one survives the cut.
Extraction reads the raw output and changes nothing of it: what tells stagnation was taken before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import Final

from workbench.memory.extraction.decisions import find_decisions
from workbench.memory.extraction.errors import errors_of
from workbench.memory.extraction.files import files_touched, relative
from workbench.memory.extraction.found import Found, foreign
from workbench.memory.extraction.outcome import outcome_of
from workbench.records.iterations import (
    MAX_SUMMARY,
    DecisionEntry,
    ErrorEntry,
    ExtractionResult,
    FileTouched,
    RawIterationOutput,
    cut,
    model_tier,
)
from workbench.text.redact import redact

MAX_ERRORS: Final = 50
MAX_DECISIONS: Final = 30
MAX_FILES: Final = 300
MAX_ERROR: Final = 500  # characters
MAX_DECISION: Final = 300
MAX_TITLE: Final = 200
_READ_OF_SUMMARY = 4 * MAX_SUMMARY  # characters in which secrets are looked for before the cut


class Redactor:
    """Takes secrets out of texts and counts them by kind."""

    __slots__ = ("counts",)

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()

    def clean(self, text: str, limit: int) -> str:
        """Return a text without secrets, of at most `limit` characters."""
        safe = redact(text[: max(4 * limit, _READ_OF_SUMMARY)])
        self.counts.update(safe.counts)
        return cut(safe.text.strip(), limit)


def extract(raw: RawIterationOutput, roots: Sequence[str]) -> ExtractionResult:
    """Return what an iteration's output tells. `roots` are the absolute directories that are the project."""
    redactor = Redactor()
    dropped: Counter[str] = Counter()
    files = tuple(
        file
        for file in files_touched(raw.tool_uses, raw.cwd, roots, dropped)
        if not _secret(file.path, dropped)
    )
    errors = _errors(raw, roots, files, redactor, dropped)
    decisions: list[DecisionEntry] = []
    for found in find_decisions(raw.texts):
        if len(decisions) == MAX_DECISIONS:
            dropped["decisions beyond the bound"] += 1
            continue
        why = None if found.rationale is None else redactor.clean(found.rationale, MAX_DECISION)
        decisions.append(DecisionEntry(redactor.clean(found.description, MAX_DECISION), why))
    if len(files) > MAX_FILES:
        dropped["files beyond the bound"] += len(files) - MAX_FILES
    if raw.omitted:
        dropped["bytes of long outputs"] += raw.omitted
    result = raw.result
    return ExtractionResult(
        outcome=outcome_of(raw),
        summary=redactor.clean(_summary(raw), MAX_SUMMARY),
        errors=errors,
        decisions=tuple(decisions),
        files_touched=files[:MAX_FILES],
        tokens_used=raw.tokens if result is None or result.tokens is None else result.tokens,
        duration_ms=_duration(raw),
        model_tier=model_tier(raw.model),
        model=cut(raw.model, MAX_TITLE),
        dropped={what: count for what, count in dropped.items() if count},
        redacted=dict(sorted(redactor.counts.items())),
    )


def _secret(path: str, dropped: Counter[str]) -> bool:
    """Whether a path holds a secret, as those of downloads do; it is counted."""
    found = bool(redact(path).counts)
    dropped["paths that hold a secret"] += found
    return found


def _duration(raw: RawIterationOutput) -> int | None:
    """Return how long a run took in milliseconds: as it says, as its times say, as it was measured."""
    if raw.result is not None and raw.result.duration_ms is not None:
        return raw.result.duration_ms
    try:
        spent = datetime.fromisoformat(raw.ended_at) - datetime.fromisoformat(raw.started_at)
        return max(int(spent.total_seconds() * 1000), 0)
    except (ValueError, TypeError):  # no times, or one with a zone and one without
        return raw.elapsed_ms


def _summary(raw: RawIterationOutput) -> str:
    """Return what the run says of itself: its result, else the agent's last words."""
    if raw.result is not None and raw.result.text.strip():
        return raw.result.text
    return next((text for text in reversed(raw.texts) if text.strip()), raw.api_error)


def _errors(
    raw: RawIterationOutput,
    roots: Sequence[str],
    files: Sequence[FileTouched],
    redactor: Redactor,
    dropped: Counter[str],
) -> tuple[ErrorEntry, ...]:
    found: dict[tuple[str, str | None, int | None], ErrorEntry] = {}
    for use in raw.tool_uses:
        for one in errors_of(use, raw.cwd):
            path, line = _place(one, roots, raw.cwd, files)
            message = redactor.clean(" ".join(one.message.split()), MAX_ERROR)
            entry = ErrorEntry(message, one.type, path, line)
            key = (message, path, line)
            if key in found:
                continue
            if len(found) == MAX_ERRORS:
                dropped["errors beyond the bound"] += 1
                continue
            found[key] = entry
    return tuple(found.values())


def _place(
    found: Found, roots: Sequence[str], cwd: str, files: Sequence[FileTouched]
) -> tuple[str | None, int | None]:
    """Return the first place inside of the project; a bare name counts as the touched file that has it."""
    for path, line in found.places:
        inner = "" if foreign(path) else relative(path, roots, cwd)
        if not inner or redact(inner).counts:
            continue
        if "/" not in path and "\\" not in path:
            ends = [file.path for file in files if file.path.endswith(f"/{path}") or file.path == path]
            inner = ends[0] if len(set(ends)) == 1 else inner
        return inner, line or None
    return None, None
