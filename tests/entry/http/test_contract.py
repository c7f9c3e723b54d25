"""What the server answers, field for field: stored examples, and the document that describes them."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import jsonschema

import workbench
from tests.conftest import Work
from tests.entry.conftest import TASK
from tests.entry.http.conftest import asking, service_of
from workbench.entry.http.openapi import document, document_text
from workbench.entry.http.operations import OPERATIONS

EXAMPLES = Path(__file__).with_name("examples.json")
PUBLISHED = Path(__file__).parents[3] / "docs" / "openapi.json"
_VOLATILE = re.compile(
    r"-[0-9a-f]{8,20}\b|\b[0-9a-f]{16,40}\b|\d{4}-\d\d-\d\dT[\d:]+\S*|\d+ days (?:ago|old)"
)
_MEASURED = frozenset(
    "timing started_at last_at ended_at at latency_ms indexes tables state_directory root head cursor "
    "created_at embedding_model timestamp since notes digest age age_days recency temporal last_used "
    "usage_count".split()
)
SPECIFIED = {
    "": (
        "cache_status",
        "freshness",
        "intent",
        "budget_report",
        "context",
        "decision_trace",
        "dropped_candidates",
    ),
    "intent": ("predicted", "confidence", "task_fingerprint"),
    "budget_report": ("token_budget", "estimated_used", "efficiency_score"),
    "context": ("layers", "files", "text"),
}
"""The fields of the answer to plan-context that the specification names [img §8.1]."""


def settled(value: Any) -> Any:
    """Return an answer without what differs from run to run."""
    if isinstance(value, dict):
        return {key: type(one).__name__ if key in _MEASURED else settled(one) for key, one in value.items()}
    if isinstance(value, list):
        return [*map(settled, value)]
    if isinstance(value, float):
        return round(value, 1)
    return _VOLATILE.sub("…", value) if isinstance(value, str) else value


async def test_every_request_answers_as_its_example_does(shop: Work) -> None:
    """The examples are requests one after the other, with ids of earlier answers (UPDATE_GOLDENS=1)."""
    examples = json.loads(EXAMPLES.read_text(encoding="utf-8"))
    known: dict[str, str] = {"ROOT": str(shop.root)}
    described = document()
    asked = set()
    with workbench.open_project(shop.root) as project:
        project.preview(TASK)  # the files of a copy are looked at again once
    async with asking(service_of(shop.root)) as client:
        for one in examples:
            method, path = filled(one["request"], known).split(" ", 1)
            body = json.loads(filled(json.dumps(one.get("body")), known))
            found = await client.request(method, path, json=body)
            answer = found.json()
            place = operation_at(method, path)
            asked.add(place)
            schema = described["paths"][place[1]][place[0].lower()]["responses"][str(found.status_code)]
            if "$ref" in schema:
                schema = described["components"]["responses"][schema["$ref"].rpartition("/")[2]]
            whole = {**schema["content"]["application/json"]["schema"], "components": described["components"]}
            jsonschema.Draft202012Validator(whole).validate(answer)
            assert found.is_success or "keep" not in one, answer
            for name, where in one.get("keep", {}).items():
                value = answer
                for key in where.split("."):
                    value = value[int(key) if key.isdigit() else key]
                known[name] = value
            if os.environ.get("UPDATE_GOLDENS"):
                one["status"], one["answer"] = found.status_code, settled(answer)
            assert (found.status_code, settled(answer)) == (one["status"], one["answer"]), one["request"]
            if place[1] == "/v1/plan-context":
                for part, fields in SPECIFIED.items():
                    assert set(fields) <= (answer[part] if part else answer).keys()
        task = {"project_root": str(shop.root), "task": examples[0]["body"]["task"]}
        why = (await client.post("/v1/explain", json={**task, "path": "./shop/auth.py"})).json()
        assert (why["path"], why["state"], why["file"]["place"]) == ("shop/auth.py", "shown", 1)
    if os.environ.get("UPDATE_GOLDENS"):
        EXAMPLES.write_text(json.dumps(examples, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    assert asked >= {(operation.method, operation.path) for operation in OPERATIONS}


def filled(text: str, known: dict[str, str]) -> str:
    """Return a text with the values of earlier answers in place of `$NAME`."""
    for name, value in known.items():
        text = text.replace(f"${name}", value)
    return text


def operation_at(method: str, path: str) -> tuple[str, str]:
    plain = path.partition("?")[0]
    for operation in OPERATIONS:
        if operation.method == method and re.fullmatch(operation.path.replace("{id}", "[^/]+"), plain):
            return operation.method, operation.path
    return method, plain


def test_the_published_document_is_current() -> None:
    """The file is what `make docs` writes now, each request has a sentence, each schema is one that
    generators of clients read: they fail at `items: false`.
    """
    found = document()
    assert '"items": false' not in document_text()
    assert PUBLISHED.read_text(encoding="utf-8") == document_text()
    names = [one["operationId"] for path in found["paths"].values() for one in path.values()]
    assert len(set(names)) == len(names)
    for one in OPERATIONS:
        assert set(one.in_path) <= set(one.takes.__struct_fields__)
        assert found["paths"][one.path][one.method.lower()]["summary"].endswith("."), one.path
    for name, schema in found["components"]["schemas"].items():
        assert name.startswith(("Outcome", "Rule")) or schema.get("description") or "enum" in schema, name
        jsonschema.Draft202012Validator.check_schema(schema)
