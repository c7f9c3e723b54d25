"""Rules as messages, and messages as rules."""

from __future__ import annotations

import json
from typing import Any

from workbench.entry.grpc.stubs import messages
from workbench.records.rules import Authority, Category, Rule

_TEXTS = ("id", "name", "rule", "source", "created_at", "updated_at")
_LISTS = ("scope", "replaces", "tool_targets", "tags")
_NUMBERS = ("priority", "token_cost", "usage_count")
_MAYBE = ("project_id", "last_used")


def rule_message(rule: Rule, score: float = 0.0) -> Any:  # noqa: ANN401 - generated
    """Return a rule as a message; `score` is its relevance to a search."""
    return messages.MemoryRule(
        category=rule.category,
        authority=rule.authority,
        relevance_score=score,
        conditions=_json(rule.conditions),
        metadata=_json(rule.metadata),
        **{name: _text(getattr(rule, name)) for name in _TEXTS},
        **{name: list(map(_text, getattr(rule, name))) for name in _LISTS},
        **{name: getattr(rule, name) for name in (*_NUMBERS, *_MAYBE)},
    )


def rule_of(message: Any) -> Rule:  # noqa: ANN401 - generated
    """Return the rule of a message. Raises: ValueError for a category or an authority that there is not."""
    values: dict[str, Any] = {name: getattr(message, name) for name in (*_TEXTS, *_NUMBERS)}
    values |= {name: tuple(getattr(message, name)) for name in _LISTS}
    values |= {name: getattr(message, name) for name in _MAYBE if message.HasField(name)}
    return Rule(
        category=Category(message.category),
        authority=Authority(message.authority),
        conditions=json.loads(message.conditions or "{}"),
        metadata=json.loads(message.metadata or "{}"),
        **values,
    )


def _text(text: str) -> str:
    """Return a text as UTF-8 can say it: halves of characters become the replacement character."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _json(value: dict[str, Any]) -> str | None:
    return json.dumps(value, sort_keys=True) if value else None
