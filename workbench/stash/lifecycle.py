"""Which segments the stash gives up, and why: retention as data; nothing is removed here [rag §8].

In this order: what expired, what nobody needed for `keep_days`, further copies of a text (of a few words only
those of the same moment and place), and then the least recently needed until the stash is as small as it has
to be. Protected segments are never given up. A segment is needed when it is created, stashed or merged, so
that an old conversation that is imported today has all its days. Times in the future count as now, so that
clocks that go back give nothing up early.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Final

from workbench.records.dataclass import dataclass
from workbench.records.segments import ContextSegment
from workbench.stash.stashstore import StashLedger
from workbench.text.counts import plural

MEANINGFUL: Final = 12
"""Tokens from which a text that is there twice says the same: a "Yes!" is the answer to its own question."""

_SECOND: Final = 19  # characters of a time up to its second


class Retention(StrEnum):
    """Why a segment is given up."""

    EXPIRED = "expired"
    UNUSED = "unused"
    DUPLICATE = "duplicate"
    LIMIT = "limit"


@dataclass(frozen=True, slots=True)
class RetentionPolicy:
    """How long and how much is kept; 0 is without a limit."""

    keep_days: float = 30
    max_segments: int = 0
    max_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Disposal:
    """A segment that is given up: `why` is a sentence, `successor` the id of the same text that stays."""

    segment: ContextSegment
    reason: Retention
    why: str
    successor: str = ""


@dataclass(frozen=True, slots=True)
class StashCollection:
    """What was, or would be, given up, and how much stays: segments and their tokens."""

    disposals: tuple[Disposal, ...]
    kept: int
    kept_tokens: int
    protected: int

    @property
    def tokens(self) -> int:
        """The tokens of what is given up."""
        return sum(disposal.segment.tokens for disposal in self.disposals)


def plan_collection(ledger: StashLedger, policy: RetentionPolicy, now: float) -> StashCollection:
    """Return what a policy gives up at a time, in seconds since the epoch."""
    at = datetime.fromtimestamp(now, UTC)
    moment = at.isoformat(timespec="seconds")
    left = dict(ledger.records.items())
    needed = {one.id: min(_last_needed(one, ledger), moment)[:_SECOND] for one in left.values()}
    disposals: list[Disposal] = []
    for found in (
        _find_expired(left, moment),
        _find_unused(left, needed, policy.keep_days, at),
        _duplicates(left, ledger, needed),
        _beyond(left, needed, policy),
    ):
        for disposal in [*found]:
            disposals.append(disposal)
            del left[disposal.segment.id]
    return StashCollection(
        tuple(disposals),
        len(left),
        sum(one.tokens for one in left.values()),
        sum(one.protected for one in left.values()),
    )


def _last_needed(one: ContextSegment, ledger: StashLedger) -> str:
    return max(one.timestamp, one.stashed_at, ledger.merged_at.get(one.id, ""))


def _find_expired(left: dict[str, ContextSegment], moment: str) -> Iterator[Disposal]:
    for one in left.values():
        if one.is_expired(moment):
            yield Disposal(one, Retention.EXPIRED, f"it expired on {(one.expires_at or '')[:10]}")


def _find_unused(
    left: dict[str, ContextSegment], needed: dict[str, str], days: float, at: datetime
) -> Iterator[Disposal]:
    if not days:
        return
    try:
        before = (at - timedelta(days=days)).isoformat(timespec="seconds")[:_SECOND]
    except OverflowError:
        return
    for one in left.values():
        if needed[one.id] < before and not one.protected:
            why = f"nobody needed it since {needed[one.id][:10]}, more than {days:g} days"
            yield Disposal(one, Retention.UNUSED, why)


def _duplicates(
    left: dict[str, ContextSegment], ledger: StashLedger, needed: dict[str, str]
) -> Iterator[Disposal]:
    copies: dict[tuple[str, ...], list[ContextSegment]] = {}
    for one in left.values():
        place = () if one.tokens >= MEANINGFUL else (one.session_id, one.source, one.timestamp)
        copies.setdefault((one.digest, *place), []).append(one)
    for same in copies.values():
        if len(same) > 1:
            first, *others = sorted(
                same,
                key=lambda one: (one.protected, ledger.merged.get(one.id, 0), needed[one.id], one.id),
                reverse=True,
            )
            for one in others:
                if not one.protected:
                    yield Disposal(one, Retention.DUPLICATE, f"{first.id} has the same text", first.id)


def _beyond(
    left: dict[str, ContextSegment], needed: dict[str, str], policy: RetentionPolicy
) -> Iterator[Disposal]:
    segments, tokens = len(left), sum(one.tokens for one in left.values())
    for one in sorted(left.values(), key=lambda one: (needed[one.id], one.id)):
        many = bool(policy.max_segments) and segments > policy.max_segments
        if not many and not (policy.max_tokens and tokens > policy.max_tokens):
            return
        if not one.protected:
            most = plural(policy.max_segments, "segment") if many else plural(policy.max_tokens, "token")
            yield Disposal(one, Retention.LIMIT, f"the stash keeps {most}, and it was needed least recently")
            segments, tokens = segments - 1, tokens - one.tokens
