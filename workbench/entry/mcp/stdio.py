"""The server over stdin and stdout: what a client asks first is answered before anything heavy is imported.

The SDK takes longer to import than agents' patience is worth, so the handshake and the list of tools are
answered from here, exactly as the SDK answers them; the first message that is anything else starts it. It is
then given what opened the connection, whose answer the client has already, and goes on with the rest.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from workbench import __version__
from workbench.entry.mcp.resources import PROMPTS, TEMPLATES
from workbench.entry.mcp.tools import INSTRUCTIONS, NAME, listed_tools
from workbench.entry.mcp.wire import Wire, encode

if TYPE_CHECKING:
    from workbench.entry.mcp.project import ServedProject

HANDSHAKES: Final = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
"""Versions of the protocol that begin with `initialize`."""
MODERN: Final = "2026-07-28"
"""The version in which every message says by itself who sends it."""

_VERSION_KEY: Final = "io.modelcontextprotocol/protocolVersion"
_CAPABILITIES_KEY: Final = "io.modelcontextprotocol/clientCapabilities"
_CLIENT_KEY: Final = "io.modelcontextprotocol/clientInfo"
_SERVER: Final = {"name": NAME, "version": __version__}


class Handshake:
    """What was said before the SDK was needed: `opening` are the messages that it has to be given."""

    def __init__(self) -> None:
        self.opening: list[bytes] = []
        self.version = ""

    def answer(self, line: bytes) -> bytes | None:
        """Return the answer to a message, empty for none; None for what only the SDK can answer."""
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            return None
        if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
            return None
        params = message.get("params", {})
        if not isinstance(params, dict):
            return None
        if "id" not in message:
            return self._answer_notification(message, line)
        number = message["id"]
        if isinstance(number, bool) or not isinstance(number, str | int):
            return None
        method = message.get("method")
        first = not self.version
        if first and not self._opens(method, params):
            return None
        result = self._result(method, params, first=first)
        if result is None:
            self.version = "" if first else self.version
            return None
        if first:
            self.opening.append(line)
        return encode({"jsonrpc": "2.0", "id": number, "result": result})

    def _answer_notification(self, message: dict[str, Any], line: bytes) -> bytes | None:
        if self.version in HANDSHAKES and message.get("method") == "notifications/initialized":
            self.opening.append(line)
            return b""
        return None

    def _opens(self, method: object, params: dict[str, Any]) -> bool:
        """Whether a request begins a connection of a version that is known here, which is noted."""
        if method == "initialize":
            known = (
                is_client(params.get("clientInfo"))
                and are_capabilities(params.get("capabilities"))
                and params.get("protocolVersion") in HANDSHAKES
                and "_meta" not in params
            )
            self.version = params["protocolVersion"] if known else ""
        else:
            self.version = MODERN if is_modern(params) else ""
        return bool(self.version)

    def _result(self, method: object, params: dict[str, Any], *, first: bool) -> dict[str, Any] | None:
        if self.version == MODERN:
            if not is_modern(params) or params.keys() != {"_meta"}:
                return None
            found = _DISCOVERED if method == "server/discover" else _static_listing(method)
            return None if found is None else {**_MODERN_RESULT, **found}
        if method == "initialize" and first:
            return {
                "protocolVersion": self.version,
                "capabilities": CAPABILITIES,
                "serverInfo": _SERVER,
                "instructions": INSTRUCTIONS,
            }
        if params.keys() - {"_meta"} or is_enveloped(params):
            return None
        return {} if method == "ping" else _static_listing(method)


def _static_listing(method: object) -> dict[str, Any] | None:
    """Return what a method lists, None for one that lists nothing that is always the same."""
    if method == "tools/list":
        return {"tools": listed_tools()}
    if method == "resources/templates/list":
        return {"resourceTemplates": TEMPLATES}
    if method == "prompts/list":
        return {"prompts": PROMPTS}
    return {"resources": []} if method == "resources/list" else None


CAPABILITIES: Final = {
    "prompts": {"listChanged": False},
    "resources": {"listChanged": False, "subscribe": False},
    "tools": {"listChanged": False},
}
_MODERN_RESULT: Final = {
    "_meta": {"io.modelcontextprotocol/serverInfo": _SERVER},
    "resultType": "complete",
    "ttlMs": 0,
    "cacheScope": "private",
}
_DISCOVERED: Final = {
    "supportedVersions": [MODERN],
    "capabilities": CAPABILITIES,
    "instructions": INSTRUCTIONS,
}


def is_enveloped(params: dict[str, Any]) -> bool:
    """Whether a message says by itself which version of the protocol it is of."""
    meta = params.get("_meta")
    return isinstance(meta, dict) and _VERSION_KEY in meta


def is_modern(params: dict[str, Any]) -> bool:
    """Whether a message is of the modern version, and complete."""
    meta = params.get("_meta")
    if not isinstance(meta, dict) or meta.get(_VERSION_KEY) != MODERN:
        return False
    named = _CLIENT_KEY not in meta or is_client(meta[_CLIENT_KEY])
    return named and are_capabilities(meta.get(_CAPABILITIES_KEY))


def is_client(value: object) -> bool:
    """Whether a value names a client and its version."""
    return isinstance(value, dict) and all(isinstance(value.get(one), str) for one in ("name", "version"))


def are_capabilities(value: object) -> bool:
    """Whether a value is what a client says that it can do: objects, in which what it can do is true."""
    return isinstance(value, dict) and all(
        isinstance(one, dict) and all(isinstance(part, bool | dict) for part in one.values())
        for one in value.values()
    )


def serve(given: str = "") -> None:
    """Serve the project given, else that of the agent, else that around here, until the client hangs up."""
    from workbench.entry.mcp.project import ServedProject

    served = ServedProject(given)
    wire, handshake = Wire.claim(), Handshake()
    try:
        while line := wire.read():
            answer = handshake.answer(line)
            if answer is None:
                _serve_rest(wire, handshake.opening, line, served)
                break
            wire.write(answer)
    except OSError:  # nobody reads any more
        pass
    finally:
        served.close()


def _serve_rest(wire: Wire, opening: list[bytes], line: bytes, served: ServedProject) -> None:
    from workbench.entry.mcp.server import serve_messages

    serve_messages(wire, opening, line, served)
