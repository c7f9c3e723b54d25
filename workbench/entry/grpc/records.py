"""Rules as messages, and messages as rules; what is generated from `ingestion.proto`, and its methods.

All of it needs the extra `grpc`.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Final

from workbench.errors import UsageError
from workbench.records.rules import Authority, Category, Rule

_TEXTS = ("id", "name", "rule", "source", "created_at", "updated_at")
_LISTS = ("scope", "replaces", "tool_targets", "tags")
_NUMBERS = ("priority", "token_cost", "usage_count")
_MAYBE = ("project_id", "last_used")

try:
    import grpc
    import grpc.aio
    from google.protobuf.message_factory import GetMessageClass

    messages: Final[Any] = import_module("workbench.entry.grpc.ingestion_pb2")
except ModuleNotFoundError as error:
    raise UsageError(
        f"gRPC needs the package {error.name}, which is not installed",
        hint="pip install 'context-workbench[grpc]'",
    ) from error

__all__ = ["METHODS", "SERVICE", "GrpcMethod", "grpc", "messages"]

SERVICE: Final = "IngestService"


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


@dataclass(frozen=True, slots=True)
class GrpcMethod:
    """A method of the service: its address, and the classes of what it takes and answers."""

    path: str
    request: Any
    response: Any

    def handler(self, answer: Callable[[Any, Any], Any]) -> Any:  # noqa: ANN401 - without types
        """Return what a server calls `answer` by."""
        return grpc.unary_unary_rpc_method_handler(
            answer,
            request_deserializer=self.request.FromString,
            response_serializer=self.response.SerializeToString,
        )

    def call(self, channel: Any) -> Any:  # noqa: ANN401 - without types
        """Return what calls it over a channel."""
        return channel.unary_unary(
            self.path,
            request_serializer=self.request.SerializeToString,
            response_deserializer=self.response.FromString,
        )


METHODS: Final = {
    method.name: GrpcMethod(
        f"/{SERVICE}/{method.name}", GetMessageClass(method.input_type), GetMessageClass(method.output_type)
    )
    for method in messages.DESCRIPTOR.services_by_name[SERVICE].methods
}
