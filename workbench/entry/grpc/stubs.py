"""What is generated from `ingestion.proto`, and how its methods are called; both need the extra `grpc`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Final

from workbench.errors import UsageError

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
    one.name: GrpcMethod(
        f"/{SERVICE}/{one.name}", GetMessageClass(one.input_type), GetMessageClass(one.output_type)
    )
    for one in messages.DESCRIPTOR.services_by_name[SERVICE].methods
}
