"""From the raw output of an iteration to what is worth keeping of it: bounded, free of secrets, in order.

Secrets are taken out of every text before it is cut to its bound, so that no half of one survives the cut.
Extraction reads the raw output and changes nothing of it: the fingerprint of stagnation was taken before.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final

from workbench.memory.extraction.decisions import find_decisions
from workbench.memory.extraction.errors import errors_of
from workbench.memory.extraction.patterns import FoundError, is_foreign
from workbench.records.episodes import ChangeKind
from workbench.records.iterations import (
    MAX_SUMMARY,
    DecisionEntry,
    ErrorEntry,
    ExtractionResult,
    FileAction,
    FileTouched,
    IterationOutcome,
    RawIterationOutput,
    ToolUseEvent,
    cut,
    model_tier,
    unsafe_path,
)
from workbench.sessions.importers.touches import absolute, touches
from workbench.sessions.importers.transcripts import ToolUse
from workbench.text.redact import redact

TERMINATED = "terminated"
INTERRUPTED = "interrupted"
TRUNCATED = "truncated"

_LIMITED = re.compile(
    r"(?:usage|rate|session|weekly|quota|request|token) limit(?: has been)? (?:reached|exceeded)|"
    r"rate[ _-]?limit(?:ed|_error)|hit your (?:\w+ )?limit|limit reached|too many requests|"
    r"\b429\b|overloaded_error|\bquota exceeded\b|"
    r"you've hit your|out of (?:extra )?usage|insufficient_quota",
    re.IGNORECASE,
)
_TIMED_OUT = re.compile(r"\btime(?:d)?[ _-]?out\b|deadline exceeded", re.IGNORECASE)
_HEAD = 600
_UNFINISHED = (
    "error_max_turns",
    "error_max_budget_usd",
    "max_tokens",
    "interrupted",
    "error_max_structured_output_retries",
)


def outcome_of(raw: RawIterationOutput) -> IterationOutcome:
    """Return the outcome: the result's word, else a refusal of the provider, else how the stream ended."""
    result = raw.result
    if result is not None:
        head = result.text[:_HEAD]
        if result.subtype == "success" and not result.is_error:
            return IterationOutcome.SUCCESS
        if raw.limited or _LIMITED.search(head):
            return IterationOutcome.RATE_LIMITED
        if "timeout" in result.subtype or (result.is_error and _TIMED_OUT.search(head)):
            return IterationOutcome.TIMEOUT
        if result.subtype in _UNFINISHED:
            return IterationOutcome.PARTIAL
        return IterationOutcome.FAILURE
    if raw.stopped == TERMINATED:
        return IterationOutcome.TIMEOUT
    if raw.limited or _LIMITED.search(raw.api_error[:_HEAD]):
        return IterationOutcome.RATE_LIMITED
    if raw.api_error:
        return (
            IterationOutcome.TIMEOUT if _TIMED_OUT.search(raw.api_error[:_HEAD]) else IterationOutcome.FAILURE
        )
    if raw.stopped:
        return IterationOutcome.PARTIAL
    return IterationOutcome.SUCCESS


OUTSIDE = "paths outside of the project"
_STATE = ".workbench/"
_GIT = ".git/"


def relative(path: str, roots: Sequence[str], cwd: str = "") -> str:
    """Return a path relative to the root it is in, empty where it is in none or cannot be a file's.

    `roots` are absolute, the deepest that holds the path counts; a relative path is one from `cwd`.
    """
    if not path or "\0" in path or path.startswith("~"):
        return ""
    whole = absolute(path, cwd)
    if not _is_absolute(whole):
        return "" if unsafe_path(whole) else whole
    for root in sorted(roots, key=lambda root: (-len(root), root)):
        base = root.replace("\\", "/").rstrip("/")
        if base and whole.startswith(f"{base}/"):
            inner = whole[len(base) + 1 :]
            return "" if unsafe_path(inner) else inner
    return ""


def _is_absolute(path: str) -> bool:
    return path.startswith("/") or (len(path) > 1 and path[1] == ":")


def files_touched(
    uses: Iterable[ToolUseEvent], cwd: str, roots: Sequence[str], dropped: Counter[str]
) -> tuple[FileTouched, ...]:
    """Return each file once with what was done to it in the end, in the order of the first touch.

    A file that was made and deleted again is left out. `dropped` counts the paths outside of all roots.
    """
    actions: dict[str, FileAction] = {}
    made: set[str] = set()
    outside: set[str] = set()
    for use in uses:
        if use.failed or use.rejected:
            continue
        call = ToolUse(use.id, use.name, use.input, "", "", cwd, "")
        for touch in touches(call):
            moves = ((touch.old_path, FileAction.DELETED),) if touch.old_path else ()
            action = _action(touch.kind, created=use.created or bool(touch.old_path))
            for path, done in (*moves, (touch.path, action)):
                inner = relative(path, roots, cwd)
                if not inner:
                    outside.add(path)
                elif not inner.startswith((_STATE, _GIT)):
                    _note(actions, made, inner, done)
    if outside:
        dropped[OUTSIDE] += len(outside)
    return tuple(FileTouched(path, action) for path, action in actions.items())


def _action(kind: ChangeKind | None, *, created: bool) -> FileAction:
    if kind is None:
        return FileAction.READ
    if kind is ChangeKind.REMOVED:
        return FileAction.DELETED
    return FileAction.CREATED if created or kind is ChangeKind.ADDED else FileAction.MODIFIED


def _note(actions: dict[str, FileAction], made: set[str], path: str, done: FileAction) -> None:
    before = actions.get(path)
    if done is FileAction.CREATED and before is not FileAction.DELETED and before is None:
        made.add(path)
    if done is FileAction.DELETED and path in made:
        made.discard(path)
        del actions[path]
    elif done is FileAction.READ and before is not None:
        return
    elif done is FileAction.MODIFIED and path in made:
        actions[path] = FileAction.CREATED
    else:
        actions[path] = done


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
    """Return what an iteration's output reports. `roots` are the absolute directories of the project."""
    redactor = Redactor()
    dropped: Counter[str] = Counter()
    files = tuple(
        file
        for file in files_touched(raw.tool_uses, raw.cwd, roots, dropped)
        if not _secret(file.path, dropped)
    )
    errors = _errors(raw, roots, files, redactor, dropped)
    decisions: list[DecisionEntry] = []
    for decision in find_decisions(raw.texts):
        if len(decisions) == MAX_DECISIONS:
            dropped["decisions beyond the bound"] += 1
            continue
        why = None if decision.rationale is None else redactor.clean(decision.rationale, MAX_DECISION)
        decisions.append(DecisionEntry(redactor.clean(decision.description, MAX_DECISION), why))
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
        for error in errors_of(use, raw.cwd):
            path, line = _place(error, roots, raw.cwd, files)
            message = redactor.clean(" ".join(error.message.split()), MAX_ERROR)
            entry = ErrorEntry(message, error.type, path, line)
            key = (message, path, line)
            if key in found:
                continue
            if len(found) == MAX_ERRORS:
                dropped["errors beyond the bound"] += 1
                continue
            found[key] = entry
    return tuple(found.values())


def _place(
    found: FoundError, roots: Sequence[str], cwd: str, files: Sequence[FileTouched]
) -> tuple[str | None, int | None]:
    """Return the first place inside of the project; a bare name counts as the touched file that has it."""
    for path, line in found.places:
        inner = "" if is_foreign(path) else relative(path, roots, cwd)
        if not inner or redact(inner).counts:
            continue
        if "/" not in path and "\\" not in path:
            ends = [file.path for file in files if file.path.endswith(f"/{path}") or file.path == path]
            inner = ends[0] if len(set(ends)) == 1 else inner
        return inner, line or None
    return None, None
