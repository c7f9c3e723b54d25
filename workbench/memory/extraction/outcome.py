"""How an iteration ended, by what its run said of itself, else by how its output ended."""

from __future__ import annotations

import re

from workbench.records.iterations import IterationOutcome, RawIterationOutput

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
        told = result.text[:_HEAD]
        if result.subtype == "success" and not result.is_error:
            return IterationOutcome.SUCCESS
        if raw.limited or _LIMITED.search(told):
            return IterationOutcome.RATE_LIMITED
        if "timeout" in result.subtype or (result.is_error and _TIMED_OUT.search(told)):
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
