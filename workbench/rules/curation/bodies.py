"""Rules as journal bodies (`rule.put`) and back, checked on the way in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from workbench.errors import ParseError
from workbench.records.rule_values import value_problems
from workbench.records.rules import Rule

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


def to_body(rule: Rule) -> dict[str, Any]:
    """Return a rule as a journal body: plain values only, one key per field."""
    import msgspec

    body: dict[str, Any] = msgspec.to_builtins(rule)
    return body


def from_body(body: Mapping[str, Any]) -> Rule:
    """Return the rule of a journal body. Keys that this version doesn't know are ignored.

    Raises: ParseError if a field is missing, of a wrong type or out of range; it names the field.
    """
    import msgspec

    from workbench.records.conversion import convert

    try:
        rule = convert(dict(body), Rule)
    except msgspec.ValidationError as error:
        raise ParseError(
            f"rule {_label(body)}: {error}", hint="Correct the field or remove the rule."
        ) from error
    for problem in problems(rule):
        raise ParseError(f"rule {_label(body)}: {problem}", hint="Correct the field or remove the rule.")
    return rule


def decided(rule: Rule) -> dict[str, Any]:
    """Return what people decide of a rule, by field: neither its place nor what is counted or derived."""
    derived = UNTOLD | {"version", "provenance", "action_text"}
    return {name: value for name, value in to_body(rule).items() if name not in derived}


def problems(rule: Rule) -> tuple[str, ...]:
    """Return what is wrong with a rule's values, one sentence each; empty for a good one."""
    found = list(value_problems(rule))
    if rule.check is not None:
        from workbench.rules.enforcement.checking import problems as check_problems  # few rules have one

        found.extend(check_problems(rule.check))
    return tuple(found)


def _label(body: Mapping[str, Any]) -> str:
    return repr(str(body.get("id", "?"))[:80])
