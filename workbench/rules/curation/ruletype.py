"""Rules as a type of curated records: their journal entries, checked on the way in, and what is decided."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, Final

from workbench.curation.records import RecordType, Settling
from workbench.errors import UsageError
from workbench.records.rules import Authority, Rule, past_ids, rule_file, value_problems
from workbench.rules.curation.versions import CONTENT, free_id, next_version

STREAM: Final = "rules"
PUT: Final = "rule.put"
REMOVED: Final = "rule.removed"
SYNCED: Final = "file.synced"
FORGOTTEN: Final = "file.forgotten"

UNTOLD: Final = frozenset(
    {
        "id",
        "source",
        "created_at",
        "updated_at",
        "metadata",
        "replaces",
        "usage_count",
        "last_used",
        "token_cost",
    }
)
"""Fields that follow from a change or count; they are not part of what somebody decided."""


_PLACE: Final = frozenset({"project_id", "version", "provenance"})


def decided_fields(rule: Rule) -> dict[str, Any]:
    """Return what people decide of a rule, by field: neither its place nor what is counted or derived."""
    derived = UNTOLD | {"version", "provenance", "action_text"}
    return {name: value for name, value in RULES.to_body(rule).items() if name not in derived}


def problems(rule: Rule) -> tuple[str, ...]:
    """Return what is wrong with a rule's values, one sentence each; empty for a good one."""
    found = list(value_problems(rule))
    if rule.check is not None:
        from workbench.rules.enforcement.checks import problems as check_problems  # few rules have one

        found.extend(check_problems(rule.check))
    return tuple(found)


class RuleType(RecordType[Rule]):
    """Rules: new words make a new version that replaces the old one, all else changes in place [rules]."""

    record = Rule
    noun = "rule"
    group = "rules"
    shown = 13
    put = PUT
    removed = REMOVED
    settled = "conflict.resolved"
    reopened = "conflict.reopened"
    facts = frozenset({SYNCED, FORGOTTEN})
    editable = frozenset(item.name for item in fields(Rule)) - UNTOLD - _PLACE
    derived = frozenset({"token_cost", "metadata"})
    stamps = frozenset({"updated_at"})
    words = "rule"
    one_stream = STREAM

    def problems(self, record: Rule) -> tuple[str, ...]:
        """Return what is wrong with a rule's values."""
        return problems(record)

    def is_confirmed(self, record: Rule) -> bool:
        """Whether a rule binds always, or is the person's own in all projects."""
        return record.authority is Authority.ABSOLUTE or record.project_id is None

    def is_verbatim(self, record: Rule) -> bool:
        """Whether a rule is in a file: it is kept as the file words it."""
        return record.provenance is not None

    def replaced_ids(self, record: Rule) -> Sequence[str]:
        """Return the versions that a rule takes the place of."""
        return record.replaces

    def record_ids(self, body: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the id of the rule of a journal body, and those of the versions that it replaces."""
        return (str(body.get("id", "")), *map(str, body.get("replaces") or ()))

    def root(self, record: Rule) -> str:
        """Return the id of the first version of a rule."""
        return next(iter(past_ids(record)), record.id)

    def essence(self, record: Rule) -> Rule:
        """Return a rule without its lines, its times, its use, and what a file says of it."""
        return replace(record, updated_at="", provenance=None, metadata={}, usage_count=0, last_used=None)

    def decisions_of(self, record: Rule) -> object:
        """Return what people decide of a rule; lines and counts may move."""
        return decided_fields(record)

    def create(self, record: Rule, *, now: str, taken: Mapping[str, object]) -> Rule:
        """Return a new rule with an id that no text ever had."""
        return replace(record, id=_free(record, record.rule, taken), created_at=now, updated_at=now)

    def revise(
        self, before: Rule, after: Rule, *, reason: str, now: str, taken: Mapping[str, object]
    ) -> Rule:
        """Return the next version for new words, else the rule with its new values."""
        if all(getattr(after, name) == getattr(before, name) for name in CONTENT):
            return replace(after, updated_at=now)
        fresh = _free(before, after.rule, taken)
        return next_version(before, replace(after, id=fresh), reason=reason or "edited", now=now)

    def merge_settled(self, left: Rule, right: Rule, text: str, settling: Settling) -> Rule:
        """Return the left rule where the words are its own, else a new one in the place of both."""
        if not text or text == left.rule:
            return left
        words = replace(left, id=_free(left, text, settling.taken), rule=text, action_text=text)
        merged = next_version(left, words, reason=settling.reason, now=settling.now)
        return replace(merged, token_cost=settling.count(text), replaces=(left.id, right.id))

    def narrow_settled(self, record: Rule, scope: Sequence[str], settling: Settling) -> Rule:
        """Return a rule with another scope. Raises: UsageError without one."""
        if not scope:
            raise UsageError(
                "narrowing needs a scope", hint="--scope path:src/**/*.ts, or a context such as --scope git"
            )
        return replace(record, scope=tuple(scope), updated_at=settling.now)

    def superseding(self, old: Rule, new: Rule, settling: Settling) -> Rule:
        """Return the rule that is kept as the next version of the other."""
        after = next_version(old, new, reason=settling.reason, now=settling.now)
        return replace(after, created_at=new.created_at)


RULES: Final = RuleType()

to_body = RULES.to_body
from_body = RULES.from_body


def _free(owner: Rule, text: str, taken: Mapping[str, object]) -> str:
    return free_id(owner.project_id or "home", rule_file(owner), text, taken)
