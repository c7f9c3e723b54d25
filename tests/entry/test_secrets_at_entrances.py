"""Secrets at every entrance beside the command line: none is in any byte that is kept, handed out or shown.

Hooks of every agent, tools over MCP, requests over HTTP, the environment, the app, the clipboard and exports.
`tests/entry/cli/test_secrets_masked.py` holds the same for every field of every command.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="the package fastapi is not installed here")
pytest.importorskip("mcp", reason="the package mcp is not installed here")

from bench.secret_formats import FORMATS
from screens.app import WorkbenchApp
from screens.plan.screen import PlanScreen
from tests.conftest import Work
from tests.entry.http.conftest import asking, service_of
from tests.screens.conftest import press, settle
from tests.screens.golden import screen_text
from workbench.entry.cli import exits, main
from workbench.entry.hooks.handlers import respond
from workbench.entry.hooks.payloads import EVENTS
from workbench.entry.http.openapi import document
from workbench.entry.mcp.project import ServedProject
from workbench.entry.mcp.server import answer
from workbench.entry.mcp.tools import listed_tools

_RANDOM = Random(11)
SECRETS = [value for form in FORMATS if form.alone and len(value := form.make(_RANDOM)) <= 70][40:46]
TEXT = f"refresh the token with {' '.join(SECRETS)} at once"
EXPORTS = (
    ("export", "sessions", "--out", "{}"),
    ("stash", "export", "--out", "{}"),
    ("memory", "list", "--json"),
    ("rules", "list", "--json"),
    ("stats", "--json"),
    ("episode", "list", "--json"),
)


@pytest.fixture
def kept(shop: Work, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory for what is copied and exported; secrets are in the environment, too."""
    monkeypatch.chdir(shop.root)
    for number, secret in enumerate(SECRETS):
        monkeypatch.setenv(f"SERVICE_TOKEN_{number}", secret)
    out = tmp_path / "out"
    out.mkdir()
    monkeypatch.setenv("WORKBENCH_CLIPBOARD_MODE", "file")
    monkeypatch.setenv("WORKBENCH_CLIPBOARD_FILE", str(out / "clipboard.txt"))
    monkeypatch.setenv("WORKBENCH_MODELS_BACKGROUND", "false")
    return out


def leaked(text: str | bytes) -> list[str]:
    data = text if isinstance(text, bytes) else text.encode("utf-8", "replace")
    return [secret for secret in SECRETS if secret[len(secret) // 2 :].encode() in data]


def leaks_in(*roots: Path) -> list[str]:
    """Return the files below directories that hold a secret, in their name or in any byte."""
    paths = [path for root in roots for path in root.rglob("*")]
    held = {path: path.name.encode() + (path.read_bytes() if path.is_file() else b"") for path in paths}
    return [f"{path}: {found}" for path, data in held.items() if (found := leaked(data))]


def filled(schema: Mapping[str, Any], parts: Mapping[str, Any]) -> Any:
    """Return a value of a JSON schema with the secrets in each text."""
    if "$ref" in schema:
        return filled(parts[schema["$ref"].rpartition("/")[2]], parts)
    if options := schema.get("anyOf") or schema.get("allOf"):
        return filled(options[0], parts)
    if "enum" in schema:
        return schema["enum"][0]
    kind = schema.get("type")
    if kind == "object":
        found = {name: filled(one, parts) for name, one in schema.get("properties", {}).items()}
        return found or {"command": TEXT, TEXT: TEXT}
    if kind == "array":
        return [filled(schema.get("items", {}), parts)]
    return {"integer": 1, "number": 1, "boolean": False}.get(
        str(kind), TEXT[: schema.get("maxLength", 10_000)]
    )


def without(body: Any, *names: str) -> Any:
    """Return a body without fields that would have the whole request refused."""
    return {name: one for name, one in body.items() if name not in names} if isinstance(body, dict) else body


def test_what_agents_report_and_ask_is_masked(
    shop: Work, kept: Path, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each event of each agent's hooks, each tool of the MCP server; then what commands export and copy."""
    for agent, events in EVENTS.items():
        for name in events:
            given = {"command": f"deploy {TEXT}", "file_path": "shop/auth.py", "content": TEXT}
            payload = {
                "session_id": f"s-{agent}",
                "cwd": str(shop.root),
                "hook_event_name": name,
                "prompt": TEXT,
                "tool_name": "Bash",
                "tool_input": given,
                "tool_response": TEXT,
                "reason": TEXT,
                "message": TEXT,
                "last_assistant_message": TEXT,
                "error": TEXT,
            }
            reply = respond(json.dumps(payload).encode(), name, agent)
            reply.then()
            assert leaked(reply.output) == [], (agent, name)
    served = ServedProject(str(shop.root), {})
    for tool in listed_tools():
        arguments = filled(tool["inputSchema"], {})
        for left_out in (
            (),
            ("session_id", "cursor", "filters", "segment_ids", "pinned", "excluded", "tool"),
        ):
            done = answer(served, tool["name"], without(arguments, *left_out), "claude")
            assert leaked(done.model_dump_json()) == [], (tool["name"], left_out)
    served.close()
    shop.write("shop/keys.py", "".join(f'TOKEN_{at} = "{secret}"\n' for at, secret in enumerate(SECRETS)))
    assert main.run(["plan", "the TOKEN_1 of shop/keys.py", "--copy", "--budget", "4000"]) == exits.OK
    assert "TOKEN_1" in (kept / "clipboard.txt").read_text()
    for number, words in enumerate(EXPORTS):
        assert main.run([word.format(kept / f"export{number}") for word in words]) == exits.OK, words
    shown = capsys.readouterr()
    assert [one for one in (shown.out + shown.err).splitlines() if leaked(one)] == []
    assert "refresh the token with" in shown.out
    assert leaks_in(shop.root / ".workbench", home, kept) == []


async def test_what_is_asked_over_http_is_masked(shop: Work, kept: Path, home: Path) -> None:
    """Each operation of the document, with secrets in each text that it takes, in queries and addresses."""
    described = document()
    parts = described["components"]["schemas"]
    accepted = set()
    async with asking(service_of(shop.root)) as client:
        for path, methods in described["paths"].items():
            for method, operation in methods.items():
                if path == "/v1/model/train":  # it starts a process where there are tasks enough
                    continue
                place = path.replace("{event}", "UserPromptSubmit").replace(
                    "{id}", SECRETS[0].replace("/", "_")
                )
                content = operation.get("requestBody", {}).get("content", {})
                body = filled(content["application/json"]["schema"], parts) if content else None
                if isinstance(body, dict) and "project_root" in body:
                    body["project_root"] = str(shop.root)
                query = {"project_root": str(shop.root), "filter": TEXT} if method == "get" else {}
                queries = (query, without(query, "filter"))
                for number, one in enumerate((body, without(body, *_FORMED))):
                    asked = await client.request(method, place, json=one, params=queries[number])
                    if asked.is_success:  # it may name what was sent, to who sent it
                        accepted.add(f"{method} {path}")
        for name in ("metrics", "rules", "learnings", "sessions", "stash", "status", "model/status"):
            asked = await client.get(f"/v1/{name}", params={"project_root": str(shop.root)})
            assert (asked.status_code, leaked(asked.content)) == (200, []), name
    assert len(accepted) > 20
    assert leaks_in(shop.root / ".workbench", home, kept) == []


_FORMED = (
    *("session_id", "cursor", "filters", "filter", "pinned", "excluded", "segment_ids", "contexts", "since"),
    *("authority", "category", "as_of", "sort", "step", "agent", "query_type", "mode", "detail", "type"),
)


async def test_what_is_typed_into_the_app_is_masked(shop: Work, kept: Path, home: Path) -> None:
    """A task with secrets is planned, copied and left: no byte of the state and nothing copied has them."""
    app = WorkbenchApp(shop.root, watch=False)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        assert isinstance(app.section, PlanScreen)
        app.section.editor.text = TEXT
        app.section.editor.focus()
        await press(pilot, "enter")
        await settle(pilot)
        await press(pilot, "y")
        await settle(pilot)
        assert "token" in screen_text(app)
    assert leaks_in(shop.root / ".workbench", home, kept) == []
    assert os.environ["SERVICE_TOKEN_0"] == SECRETS[0]
