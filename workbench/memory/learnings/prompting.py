"""The learnings an iteration gets, as text: observations to verify, with age and source, within a budget.

The text stands between marks by which it is known again in a transcript. It never has more tokens than the
budget, counted over the whole text by the tokenizer given; the same state and the same request give the same
bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from workbench.memory.learnings.confidence import stale_days
from workbench.memory.learnings.framing import CLOSING, FRAME, OPENING
from workbench.memory.learnings.selecting import Candidate, candidates, known_of
from workbench.records.learnings import FeatureLearning
from workbench.text.counts import counted
from workbench.text.sanitize import visible_line

if TYPE_CHECKING:
    from workbench.memory.learnings.ledger import LearningLedger

UNREVIEWED_AT_MOST = 5
_SLACK = 8  # tokens by which a line may cost less inside of a text than alone


@dataclass(frozen=True, slots=True)
class MemoryPrompt:
    """A finished text of `tokens` <= the budget, what is in it, and (id, reason) of what is not."""

    text: str
    tokens: int
    given: tuple[FeatureLearning, ...]
    left_out: tuple[tuple[str, str], ...]


def memory_prompt(
    ledger: LearningLedger,
    now: float,
    count: Callable[[str], int],
    *,
    feature: str,
    task: str | None = None,
    budget: int,
) -> MemoryPrompt:
    """Return the best learnings for a feature and a task as text; '' where there are none or none fits.

    A learning longer than what is left is passed over for shorter ones after it. At most five that nobody
    reviewed are told.
    """
    tasks = () if task is None else (task,)
    claims = candidates(known_of(ledger), now, feature=feature, tasks=tasks)
    left_out = list(claims.left_out)
    given: list[Candidate] = []
    text, tokens = "", 0
    for claim in claims.candidates:
        unreviewed = sum(not one.learning.reviewed for one in given)
        if not claim.learning.reviewed and unreviewed >= UNREVIEWED_AT_MOST:
            left_out.append((claim.learning.id, f"more than {UNREVIEWED_AT_MOST} that nobody reviewed"))
            continue
        alone = count(_line(claim.learning, now))
        longer, size = "", budget + 1
        if tokens + alone <= budget + _SLACK:  # the whole is measured only where it may fit
            longer = render([one.learning for one in (*given, claim)], now)
            size = count(longer)
        if size > budget:
            left_out.append((claim.learning.id, f"it does not fit into the {budget:,} tokens"))
            continue
        given.append(claim)
        text, tokens = longer, size
    return MemoryPrompt(text, tokens, tuple(one.learning for one in given), tuple(left_out))


def render(learnings: Sequence[FeatureLearning], now: float) -> str:
    """Return learnings as text between the workbench's marks; nothing in them can close the marks."""
    lines = [OPENING, FRAME]
    lines += [_line(one, now) for one in learnings]
    return "\n".join((*lines, CLOSING)) + "\n"


def _line(learning: FeatureLearning, now: float) -> str:
    return f"- {told(learning)} ({source_of(learning, now)})"


def told(learning: FeatureLearning) -> str:
    """Return a learning's text as it may stand between the marks."""
    text = visible_line(learning.text)
    return text.replace(CLOSING, "</ workbench-memory>").replace(OPENING, "< workbench-memory>")


def source_of(learning: FeatureLearning, now: float | None) -> str:
    """Return where a learning comes from and how old it is: `reviewed; auth #7, 2026-02-07, 12 days ago`.

    Without `now` the age is left out, so that the text stays the same from day to day.
    """
    place = visible_line(learning.feature if learning.project_id else "your own")
    if learning.iteration is not None:
        place = f"{place} #{learning.iteration}"
    parts = [place, learning.timestamp[:10]]
    if now is not None:
        days = stale_days(replace(learning, last_hit="", reviewed_at=""), now)
        parts.append("today" if days == 0 else f"{counted(days, 'day')} ago")
    if learning.hit_count > 1:
        parts.append(f"seen {learning.hit_count} times")
    state = "reviewed" if learning.reviewed else "unreviewed"
    return f"{state}; {', '.join(filter(None, parts))}"
