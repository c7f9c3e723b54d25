"""How often rules were used, as the journal of uses has it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Final

from workbench.ports import Entry, Journal
from workbench.records.dataclass import dataclass
from workbench.records.rules import Rule
from workbench.rules.curation.versions import past_ids

USAGE_STREAM: Final = "rule-usage"
USED: Final = "rule.used"


@dataclass(frozen=True, slots=True)
class Use:
    """One time that a session of a tool was given a rule."""

    at: str
    by: str
    rule_id: str
    session_id: str
    tool: str


def read_uses(journals: Sequence[Journal], until: str = "") -> Iterator[Use]:
    """Yield every use of rules up to and with a moment, journal by journal in the order of their entries."""
    for journal in journals:
        for _, entry in journal.read(USAGE_STREAM):
            identifiers = entry.body.get("rule_ids")
            if entry.kind != USED or not isinstance(identifiers, list) or (until and entry.at > until):
                continue
            session, tool = str(entry.body.get("session_id", "")), str(entry.body.get("tool", ""))
            for identifier in identifiers:
                yield Use(entry.at, entry.by, str(identifier), session, tool)


def read_usage(
    journals: Mapping[str, Journal],
    since: Mapping[str, int] = MappingProxyType({}),
    until: str = "",
    ends: Mapping[str, int] | None = None,
) -> dict[str, tuple[int, str]]:
    """Return (times used, last time) of each rule used between the journals' offsets `since` and `ends`.

    A journal that is not in those has the offset 0. What came after the moment `until` does not count.
    """
    counts: dict[str, tuple[int, str]] = {}
    for origin, journal in journals.items():
        for after, entry in journal.read(USAGE_STREAM, since.get(origin, 0)):
            if ends is not None and after > ends.get(origin, 0):
                break
            if entry.kind == USED and not (until and entry.at > until):
                _count(counts, entry)
    return counts


def _count(counts: dict[str, tuple[int, str]], entry: Entry) -> None:
    identifiers = entry.body.get("rule_ids")
    for identifier in identifiers if isinstance(identifiers, list) else ():
        times, last = counts.get(str(identifier), (0, ""))
        counts[str(identifier)] = (times + 1, max(last, entry.at))


def with_use(rule: Rule, counts: Mapping[str, tuple[int, str]]) -> Rule:
    """Return a rule with its use so far; what earlier versions of it were used for counts as its own."""
    found = [counts[identifier] for identifier in (rule.id, *past_ids(rule)) if identifier in counts]
    if not found:
        return rule
    times = rule.usage_count + sum(count for count, _ in found)
    return replace(rule, usage_count=times, last_used=max(rule.last_used or "", *(at for _, at in found)))
