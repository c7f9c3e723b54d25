"""The OpenAPI document of the server, of the same structs that requests and answers are checked with."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any, Final

import msgspec

from workbench import __version__
from workbench.entry.http.answers import ErrorAnswer, Health
from workbench.entry.http.operations import OPERATIONS, HttpOperation

_PARTS: Final = "#/components/schemas/"
_SPECIFICATION: Final = re.compile(r" \[\w+ §?[\d.]+\]")  # chapters that readers of the document do not have
_FAILURES: Final = {
    "400": "The request makes no sense: `error.message` says why, `error.hint` what to try.",
    "401": "The bearer token is missing or wrong (TCP only).",
    "403": "It came by another name or page, or is about a project outside of the allowed roots.",
    "404": "There is no such address, project directory or record.",
    "409": "It contradicts the state of the project: files or records changed, or there is no repository.",
    "413": "The body is larger than the server takes.",
    "500": "It could not be done: the store, git or a model failed.",
    "503": "Too much is to be done, or a lock is held; Retry-After says when to ask again.",
}
_HOOK: Final = "Answer a hook of a coding agent: the payload it has on stdin in, what goes to its stdout out."


def document() -> dict[str, Any]:
    """Return the OpenAPI 3.1 document."""
    kinds = {kind for one in OPERATIONS for kind in (one.takes, one.answers)} | {ErrorAnswer, Health}
    ordered = sorted(kinds, key=lambda kind: str(kind.__name__))
    _, parts = msgspec.json.schema_components(ordered, ref_template=f"{_PARTS}{{name}}")
    paths: dict[str, dict[str, Any]] = {}
    for one in OPERATIONS:
        paths.setdefault(one.path, {})[one.method.lower()] = _describe(one, parts)
    paths.update(_OWN)
    found: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {
            "title": "Context workbench",
            "version": __version__,
            "description": "What a coding agent should read for a task, and what is known and kept for that.",
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "servers": [{"url": "/"}],
        "security": [{"token": []}],
        "paths": dict(sorted(paths.items())),
        "components": {
            "responses": {code: _failure(text) for code, text in _FAILURES.items()},
            "schemas": dict(sorted(parts.items())),
            "securitySchemes": {
                "token": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "Not needed over the unix socket.",
                }
            },
        },
    }
    cleaned: dict[str, Any] = json.loads(
        _SPECIFICATION.sub("", json.dumps(found)), object_hook=_without_false
    )
    return cleaned


def _without_false(schema: dict[str, Any]) -> dict[str, Any]:
    """Leave out `items: false`, which `maxItems` says as well and generators of clients cannot read."""
    return {key: value for key, value in schema.items() if key != "items" or value is not False}


def document_text() -> str:
    """Return the text of the published document."""
    return json.dumps(document(), ensure_ascii=False, indent=2) + "\n"


def _describe(one: HttpOperation, parts: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {"operationId": one.id, "summary": one.title, "tags": [one.path.split("/")[2]]}
    fields = dict(parts[one.takes.__name__]["properties"])
    placed = [(name, "path") for name in one.in_path]
    if not one.has_body:
        placed += [(name, "query") for name in fields if name not in one.in_path]
    if placed:
        found["parameters"] = [_parameter(name, where, fields[name]) for name, where in placed]
    if one.has_body:
        found["requestBody"] = {
            "required": True,
            "content": {"application/json": {"schema": _body(one, parts)}},
        }
    found["responses"] = {
        str(one.status): {
            "description": "Done.",
            "content": {"application/json": {"schema": {"$ref": _PARTS + one.answers.__name__}}},
        },
        **_REFUSED,
    }
    return found


def _body(one: HttpOperation, parts: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a body: the struct's own, without the fields that the path has."""
    whole = parts[one.takes.__name__]
    if not one.in_path:
        return {"$ref": _PARTS + one.takes.__name__}
    return {
        **whole,
        "properties": {name: value for name, value in whole["properties"].items() if name not in one.in_path},
        "required": [name for name in whole["required"] if name not in one.in_path],
    }


def _parameter(name: str, where: str, schema: dict[str, Any]) -> dict[str, Any]:
    described = {key: value for key, value in schema.items() if key != "description"}
    found = {"name": name, "in": where, "required": where == "path", "schema": described}
    return found | ({"description": schema["description"]} if "description" in schema else {})


def _failure(text: str) -> dict[str, Any]:
    schema = {"$ref": f"{_PARTS}ErrorAnswer"}
    return {"description": text, "content": {"application/json": {"schema": schema}}}


def _response_content(text: str, media: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"200": {"description": text, "content": {media: {"schema": schema}}}}


_REFUSED: Final = {code: {"$ref": f"#/components/responses/{code}"} for code in _FAILURES}
_OWN: Final[dict[str, dict[str, Any]]] = {
    "/v1/health": {
        "get": {
            "operationId": "health",
            "summary": "Say that the server answers; it waits for nothing.",
            "responses": _response_content("It does.", "application/json", {"$ref": f"{_PARTS}Health"})
            | _REFUSED,
        }
    },
    "/v1/metrics": {
        "get": {
            "operationId": "metrics",
            "summary": "Show what was measured, as Prometheus reads it.",
            "responses": _response_content("Metrics.", "text/plain", {"type": "string"}) | _REFUSED,
        }
    },
    "/v1/openapi.json": {
        "get": {
            "operationId": "openapi",
            "summary": "Show this document.",
            "responses": _response_content("This document.", "application/json", {"type": "object"})
            | _REFUSED,
        }
    },
    "/v1/hooks/{event}": {
        "post": {
            "operationId": "hook",
            "summary": _HOOK,
            "parameters": [
                _parameter("event", "path", {"type": "string", "minLength": 1}),
                _parameter("agent", "query", {"type": "string", "default": "claude"}),
            ],
            "requestBody": {
                "required": True,
                "content": {"application/json": {"schema": {"type": "object"}}},
            },
            "responses": _response_content(
                "Empty where there is nothing to say.", "application/octet-stream", {}
            )
            | _REFUSED,
        }
    },
}


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(document_text(), encoding="utf-8")
