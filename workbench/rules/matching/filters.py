"""Which rules a query considers at all: the business filters [adr2], with the reason for each no."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from workbench.records.rules import Activation, Rule
from workbench.rules.matching.context import RuleContext, left_out


@dataclass(frozen=True, slots=True)
class RuleQuery:
    """What is asked: a message, in a context. Without a context rules hold whatever they are limited to.

    `now` is in seconds since the epoch, None ignores cooldowns. `project_id` None means any.
    """

    text: str = ""
    project_id: str | None = None
    context: RuleContext | None = None
    now: float | None = None


def reject(rule: Rule, query: RuleQuery) -> str:
    """Return why a rule can't apply to a query whatever it says, or ''."""
    if not rule.enabled:
        return "is disabled"
    if query.project_id is not None and rule.project_id not in (None, query.project_id):
        return "belongs to another project"
    if query.context is not None and (reason := left_out(rule, query.context)):
        return reason
    return reject_alone(rule, query)


def reject_alone(rule: Rule, query: RuleQuery) -> str:
    """Return why a rule can't apply for what is about it alone: its cooldown, or a file to be named."""
    if rule.cooldown and rule.last_used and query.now is not None:
        until = _seconds(rule.last_used) + rule.cooldown
        if until > query.now:
            return f"was used at {rule.last_used} and cools down until {_moment(until)}"
    if rule.provenance is not None and rule.provenance.activation is Activation.MANUAL:
        return "" if _named(rule, query.text) else "is used only when its file is named"
    return ""


def _named(rule: Rule, text: str) -> bool:
    """Whether a message names a manual rule's file, as agents do: `@name` or `#name`."""
    file = rule.provenance.file if rule.provenance else ""
    name = file.rpartition("/")[2].partition(".")[0].lower()
    lowered = text.lower()
    return bool(name) and (f"@{name}" in lowered or f"#{name}" in lowered)


def _seconds(moment: str) -> float:
    """Return seconds since the epoch of an ISO time; an unreadable one is long ago."""
    try:
        return datetime.fromisoformat(moment.replace("Z", "+00:00")).timestamp()
    except ValueError:
        return float("-inf")


def _moment(seconds: float) -> str:
    try:
        return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    except (ValueError, OverflowError, OSError):
        return "the end of time"
