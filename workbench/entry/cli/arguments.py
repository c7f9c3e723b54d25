"""Arguments as people write them: the beginning of an id, as lists show it, moments and spans of time."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from workbench.errors import UsageError
from workbench.text.sanitize import visible_line

if TYPE_CHECKING:
    from workbench.entry.cli.session import RuleSession
    from workbench.records.rules import Rule
    from workbench.rules.curation.ledger import RuleLedger


PREFIX = 13
"""Characters of a rule's id that are shown: `rule-` and eight digits are unique in a project."""


def find_live(work: RuleSession, identifier: str) -> Rule:
    """Return the rule in force whose id begins with the text given.

    Raises: UsageError for none or several; for a superseded one it names the rule in its place.
    """
    forms = _forms(identifier)
    found = [rule for rule in work.book.rules if rule.id.startswith(forms)]
    if len(found) == 1:
        return found[0]
    exact = [rule for rule in found if rule.id in forms]
    if exact:
        return exact[0]
    ledger = work.store.ledger()
    return ledger.require(find_any(ledger, identifier))


def find_among(rules: Sequence[Rule], identifier: str) -> Rule:
    """Return the rule whose id begins with the text given. Raises UsageError for none or several."""
    found = _beginning({rule.id for rule in rules}, identifier)
    return next(rule for rule in rules if rule.id == found)


def find_any(ledger: RuleLedger, identifier: str) -> str:
    """Return the id of a rule that is or was in force, by its beginning; one in force comes first.

    Raises: UsageError for none or several.
    """
    live = [known for known in ledger.live if known.startswith(_forms(identifier))]
    if len(live) == 1:
        return live[0]
    return _beginning(set(ledger.versions), identifier)


def _forms(identifier: str) -> tuple[str, ...]:
    return (identifier, f"rule-{identifier}")


def _beginning(known: Collection[str], identifier: str) -> str:
    forms = _forms(identifier)
    found = [one for one in known if one in forms] or [one for one in known if one.startswith(forms)]
    if len(found) == 1:
        return found[0]
    shown = visible_line(identifier)[:40]
    if found:
        some = ", ".join(sorted(found)[:3])
        raise UsageError(f"{len(found)} rules begin with {shown!r}", hint=f"Give more of the id: {some}, …")
    from workbench.suggest import did_you_mean

    ids = sorted(one[:PREFIX] for one in known)
    hint = did_you_mean(forms[-1] if not identifier.startswith("rule-") else identifier, ids)
    raise UsageError(f"there is no rule {shown}", hint=hint or "`workbench rules list` shows all of them.")


_SPAN = re.compile(r"(\d+)\s*(m|h|d|w)")
_SECONDS = {"m": 60, "h": 3600, "d": 86_400, "w": 604_800}


def parse_span(text: str) -> int:
    """Return the seconds of a span like 30m, 24h, 7d or 2w. Raises UsageError."""
    match = _SPAN.fullmatch(text.strip().lower())
    if match is None or len(match[1]) > 6:
        raise UsageError(
            f"{text!r} is not a span of time", hint="Use a number and m, h, d or w: 30m, 24h, 7d."
        )
    return int(match[1]) * _SECONDS[match[2]]


def since_time(text: str) -> datetime:
    """Return the time in UTC that a span before now or a date names. Raises: UsageError."""
    try:
        found = datetime.fromisoformat(text)
        return (found if found.tzinfo else found.astimezone()).astimezone(UTC)
    except (ValueError, OverflowError, OSError):
        pass
    try:
        return datetime.now(UTC) - timedelta(seconds=parse_span(text))
    except (UsageError, OverflowError):
        hint = "Use a span (24h, 7d) or a date (2026-01-31)."
        raise UsageError(f"{text!r} is not a time", hint=hint) from None


def moment(text: str) -> str:
    """Return the time that a date or datetime names, as journals write it: a date means its end, in UTC.

    Raises: UsageError.
    """
    try:
        found = datetime.fromisoformat(text.strip())
        if len(text.strip()) <= len("2026-01-31"):
            found += timedelta(days=1, microseconds=-1)
        found = found.astimezone(UTC) if found.tzinfo else found.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        raise UsageError(
            f"{text!r} is not a date", hint="Write 2026-01-31, or 2026-01-31T18:30, both in UTC."
        ) from None
    return found.isoformat(timespec="microseconds")[:-6] + "Z"
