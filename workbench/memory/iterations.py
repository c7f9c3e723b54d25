"""From raw output to an entry of the journal, in the one right order: fingerprint first, then the rest.

The fingerprint shows whether an iteration did anything that the one before it did not. It is taken from the
raw output before anything is extracted (F28): a loop without progress shows, whatever extraction makes of it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Final

import msgspec

from workbench.memory.extraction.extract import MAX_TITLE, Redactor, extract
from workbench.memory.journal import VERSION, JournalEntry, feature_name
from workbench.records.dataclass import dataclass
from workbench.records.iterations import ExtractionResult, IterationRecord, RawIterationOutput, Task, cut
from workbench.sessions.importers.exclusions import Excluded, withhold

STAGNANT_AFTER: Final = 3
"""So many iterations alike in a row are a loop that does not get anywhere."""

WITHHELD: Final = "calls about excluded paths"

Extract = Callable[[RawIterationOutput, Sequence[str]], ExtractionResult]


@dataclass(frozen=True, slots=True)
class DigestedOutput:
    """An iteration's raw output and what came of it; `extent` is how much the output holds."""

    raw: RawIterationOutput
    fingerprint: str
    extraction: ExtractionResult
    extent: int = 0


def iteration_fingerprint(raw: RawIterationOutput) -> str:
    """Return a digest of what the agent said and did, without what differs between any two runs.

    Times, ids, tokens and what tools answered are left out: runs with one fingerprint went the same way.
    """
    digest = hashlib.sha256()
    for text in raw.texts:
        digest.update(b"\0text\0" + text.encode("utf-8", "surrogatepass"))
    for use in raw.tool_uses:
        given = msgspec.json.encode(_surrogates_shown(use.input), order="deterministic")
        digest.update(b"\0tool\0" + use.name.encode("utf-8", "surrogatepass") + b"\0" + given)
        digest.update(b"\1" if use.failed else b"\0")
    if raw.result is not None:
        said = f"{raw.result.subtype}\0{raw.result.text}"
        digest.update(b"\0result\0" + said.encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def _surrogates_shown(value: object) -> object:
    """Return a JSON value without unpaired surrogates, which UTF-8 cannot hold."""
    match value:
        case str():
            return value if value.isascii() else value.encode("utf-8", "backslashreplace").decode("utf-8")
        case dict():
            return {str(_surrogates_shown(str(key))): _surrogates_shown(one) for key, one in value.items()}
        case list() | tuple():
            return [_surrogates_shown(one) for one in value]
        case _:
            return value


def is_stagnant(fingerprints: Iterable[str], after: int = STAGNANT_AFTER) -> bool:
    """Whether the last `after` fingerprints, oldest first, are one and the same."""
    last = list(fingerprints)[-after:]
    return len(last) == after and len(set(last)) == 1 and bool(last[0])


def digest_output(
    raw: RawIterationOutput,
    roots: Sequence[str],
    extracting: Extract = extract,
    excluded: Excluded | None = None,
) -> DigestedOutput:
    """Take the fingerprint of an iteration's output, then extract what it reports.

    What tools reported of `excluded` paths is taken out before anything is extracted or learned.
    """
    fingerprint = iteration_fingerprint(raw)
    safe, count = (raw, 0) if excluded is None else withhold(raw, excluded)
    extraction = extracting(safe, roots)
    if count:
        extraction = replace(extraction, dropped={**extraction.dropped, WITHHELD: count})
    return DigestedOutput(safe, fingerprint, extraction, extent_of(raw))


def extent_of(raw: RawIterationOutput) -> int:
    """Return how much is in an output, in things said and done."""
    return len(raw.texts) + len(raw.tool_uses) + (raw.result is not None)


def iteration_key(raw: RawIterationOutput, fingerprint: str) -> str:
    """Return what identifies an iteration, the same however often and from wherever it is read."""
    identity = raw.anchor or (f"{raw.session}\0{raw.place}" if raw.session else fingerprint)
    return hashlib.sha256(identity.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def journal_entry(found: DigestedOutput, task: Task, number: int, now: str) -> JournalEntry:
    """Return the entry of an iteration. `now` (ISO 8601) is used where the output has no times of its own."""
    raw, extraction = found.raw, found.extraction
    redactor = Redactor()
    title = redactor.clean(task.title or _title(raw.prompt), MAX_TITLE)
    record = IterationRecord(
        iteration_number=number,
        task_id=cut(redactor.clean(task.task_id, MAX_TITLE), MAX_TITLE),
        task_title=title,
        feature=feature_name(task.feature),
        discipline=redactor.clean(task.discipline, MAX_TITLE),
        timestamp=raw.ended_at or now,
        outcome=extraction.outcome,
        summary=extraction.summary,
        errors=extraction.errors,
        decisions=extraction.decisions,
        files_touched=extraction.files_touched,
        tokens_used=extraction.tokens_used,
        duration_ms=extraction.duration_ms,
        model_tier=extraction.model_tier,
        model=extraction.model,
    )
    return JournalEntry(
        version=VERSION,
        record=record,
        key=iteration_key(raw, found.fingerprint),
        digest=_digest(record),
        fingerprint=found.fingerprint,
        source=raw.source,
        extent=found.extent,
    )


def _digest(record: IterationRecord) -> str:
    """Return a digest of what was recorded, not of when and as what it was recorded."""
    plain = replace(record, iteration_number=0, timestamp="", duration_ms=None, task_id="", task_title="")
    plain = replace(plain, discipline="", feature="")
    return hashlib.sha256(msgspec.json.encode(plain, order="deterministic")).hexdigest()[:32]


def _title(prompt: str) -> str:
    """Return the first line of a prompt that says something: "Implement the following plan:" does not."""
    lines = [line.strip().lstrip("#").strip() for line in prompt.splitlines() if line.strip()]
    return next((line for line in lines if line and not line.endswith(":")), lines[0] if lines else "")
