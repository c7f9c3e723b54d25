"""A server of a project's rules over gRPC: fetched through the caches, searched, shown, their use noted.

It owns nothing: what it is asked goes to the services that every face asks.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from hmac import compare_digest
from typing import Any, Final

from workbench.entry.grpc.records import METHODS, SERVICE, grpc, messages, rule_message
from workbench.entry.http.serving import ListeningPlace
from workbench.entry.services.opening import ProjectHost
from workbench.entry.services.rules import RuleReads
from workbench.errors import ProjectError, StoreBusy, UnknownRecord, UsageError, WorkbenchError
from workbench.records.requests import FilterFields
from workbench.rules.fetching.facets import RuleFilter
from workbench.rules.fetching.queries import rule_request
from workbench.rules.matching.relevance import Mode

BY: Final = "grpc"
THREADS: Final = 8
MOST_CALLS: Final = 256
"""Calls at once, those that wait for a thread included; the next one is refused."""

LIMIT: Final = 10
THRESHOLD: Final = 0.5
"""What a search that does not say gets [rules]."""

_GRACE: Final = 3.0
MODES: Final[tuple[Mode, ...]] = ("hybrid", "dense", "sparse")
_CODES: Final = (
    (UnknownRecord, grpc.StatusCode.NOT_FOUND),
    (UsageError, grpc.StatusCode.INVALID_ARGUMENT),
    (ProjectError, grpc.StatusCode.FAILED_PRECONDITION),
    (StoreBusy, grpc.StatusCode.UNAVAILABLE),
    (WorkbenchError, grpc.StatusCode.INTERNAL),
)


class RuleService:
    """Answers the four methods for one project."""

    def __init__(self, host: ProjectHost) -> None:
        self._host = host
        self._reads = host.keep(RuleReads)
        self._answers = {
            "GetMemoryRules": self._page,
            "SearchMemoryRules": self._search,
            "GetMemoryRuleById": lambda request: rule_message(self._reads.rule(request.rule_id)),
            "UpdateRuleUsage": self._use,
        }

    def handlers(self) -> Any:  # noqa: ANN401 - without types
        """Return the handlers of its methods, as a server takes them."""
        named = {name: METHODS[name].handler(_guard(answer)) for name, answer in self._answers.items()}
        return grpc.method_handlers_generic_handler(SERVICE, named)

    def _page(self, request: Any) -> Any:  # noqa: ANN401 - generated
        cursor = request.cursor if request.HasField("cursor") else None
        asked = _filters(request)
        asked["tags"] = tuple(request.tags)
        page = self._reads.page(request.limit or 100, cursor, request.bypass_cache, asked)
        rules = [rule_message(rule) for rule in page.rows]
        return messages.MemoryRulesResponse(rules=rules, total_count=page.total, next_cursor=page.cursor)

    def _search(self, request: Any) -> Any:  # noqa: ANN401 - generated
        mode = next((mode for mode in MODES if mode == (request.search_mode or MODES[0])), None)
        if mode is None:
            hint = f"Use one of {', '.join(MODES)}."
            raise UsageError(f"unknown search_mode {request.search_mode!r}", hint=hint)
        if not request.query.strip():
            raise UsageError("query is empty", hint="GetMemoryRules fetches by filters alone.")
        if not 0 <= request.score_threshold <= 1:
            raise UsageError("score_threshold is outside 0 to 1", hint="0.5 is as likely relevant as not.")
        least = request.score_threshold or THRESHOLD
        limit = rule_request(RuleFilter(), limit=request.limit or LIMIT).limit
        found = self._reads.search(request.query, mode, limit, least, _filters(request))
        rules = [rule_message(rule, score) for rule, score in found]
        return messages.MemoryRulesResponse(rules=rules, total_count=len(rules))

    def _use(self, request: Any) -> Any:  # noqa: ANN401 - generated
        if not (request.session_id and request.tool):
            raise UsageError("session_id and tool are missing", hint="Say who was given the rules.")
        count = self._reads.record_usage(tuple(request.rule_ids), request.session_id, request.tool)
        everyone = count == len(set(request.rule_ids))
        return messages.UpdateRuleUsageResponse(updated_count=count, success=everyone)


def _guard(answer: Callable[[Any], Any]) -> Callable[[Any, Any], Any]:
    def guarded(request: Any, context: Any) -> Any:  # noqa: ANN401 - generated
        try:
            return answer(request)
        except WorkbenchError as error:
            code = next(code for kind, code in _CODES if isinstance(error, kind))
            context.abort(code, f"{error.message}. {error.hint}" if error.hint else error.message)

    return guarded


class _TokenCheck(grpc.ServerInterceptor):  # type: ignore[misc] # without types
    """Lets calls through that bear the token."""

    def __init__(self, token: str) -> None:
        self._wanted = f"Bearer {token}".encode()
        self._refusal = grpc.unary_unary_rpc_method_handler(
            lambda _, context: context.abort(
                grpc.StatusCode.UNAUTHENTICATED, "the bearer token is missing or wrong"
            )
        )

    def intercept_service(self, continuation: Callable[[Any], Any], details: Any) -> Any:  # noqa: ANN401 - without types
        """Return the handler of a call, or of its refusal."""
        given = dict(details.invocation_metadata).get("authorization", "")
        known = isinstance(given, str) and compare_digest(given.encode(), self._wanted)
        return continuation(details) if known else self._refusal


def _filters(request: Any) -> FilterFields:  # noqa: ANN401 - generated
    asked: FilterFields = {"scope": tuple(request.scope), "tool_targets": tuple(request.tool_targets)}
    if request.HasField("project_id"):
        asked["project_id"] = request.project_id
    if request.HasField("category"):
        asked["category"] = request.category
    if request.HasField("authority"):
        asked["authority"] = request.authority
    return asked


def start_server(host: ProjectHost, place: ListeningPlace) -> tuple[Any, str]:
    """Return a server that listens, and the address that clients connect to. Raises: UsageError."""
    server = grpc.server(
        ThreadPoolExecutor(THREADS, thread_name_prefix="workbench"),
        interceptors=[_TokenCheck(place.token)] if place.socket is None else [],
        options=[("grpc.so_reuseport", 0)],
        maximum_concurrent_rpcs=MOST_CALLS,
    )
    server.add_generic_rpc_handlers((RuleService(host).handlers(),))
    if place.socket is None:
        address = f"[{place.host}]" if ":" in place.host else place.host
        port = _bind(server, f"{address}:{place.port}")
        server.start()
        return server, f"{address}:{port}"
    mask = os.umask(0o177)  # only its owner may connect, from the first moment on
    try:
        _bind(server, f"unix:{place.socket}")
        server.start()
    finally:
        os.umask(mask)
    return server, f"unix:{place.socket}"


def _bind(server: Any, address: str) -> int:  # noqa: ANN401 - without types
    try:
        return int(server.add_insecure_port(address))
    except RuntimeError as error:
        raise UsageError(
            f"{address} cannot be listened at", hint="Give another --port or --socket."
        ) from error


def serve(host: ProjectHost, place: ListeningPlace, ready: Callable[[str], object]) -> None:
    """Serve until Ctrl-C or SIGTERM; `ready` gets the address once it can be asked. Raises: UsageError."""
    server, address = start_server(host, place)
    over = threading.Event()
    before = {one: signal.signal(one, lambda *_: over.set()) for one in (signal.SIGINT, signal.SIGTERM)}
    try:
        ready(address)
        over.wait()
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)
        server.stop(_GRACE).wait()
        if place.socket is not None:
            place.socket.unlink(missing_ok=True)
