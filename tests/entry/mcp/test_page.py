"""The session that `docs/agents.md` shows is one: a real server gives its answers to its requests."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import workbench
from tests.conftest import Work
from tests.processes import running

PAGE = Path(__file__).parents[3] / "docs" / "agents.md"
LINE = re.compile(r"^→ (\{.+\})(?:\n← ?(.*))?$", re.MULTILINE)
ID = re.compile(r"\b(seg|learning|rule)-[0-9a-f]{20}\b")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00")
MORE = "…"


def shortened(answer: Any) -> Any:
    result = answer["result"]
    if "tools" in result:
        result["tools"] = [*(tool for tool in result["tools"] if tool["name"] == "recall"), MORE]
    content, structured = result.get("content"), result.get("structuredContent")
    if structured and content[0]["text"] == structured.get("text"):
        structured["text"] = MORE
    elif structured:
        content[0]["text"] = MORE
    if structured and len(structured.get("files", ())) > 1:
        structured["files"][1:] = [MORE]
    if "instructions" in result:
        result["instructions"] = result["instructions"].partition("\n")[0] + f"\n{MORE}"
    return answer


def test_the_page_shows_a_session(work: Work) -> None:
    """Request by request the server answers as shown (UPDATE_GOLDENS=1); ids and times are the page's."""
    work.write("AGENTS.md", "- Never push with force.\n")
    work.write("shop/auth.py", 'def refresh_token():\n    """Refresh the token after a 401."""\n')
    work.write("shop/store.py", "def read(key):\n    return key\n")
    work.commit("Refresh tokens")
    with workbench.open_project(work.root) as project:
        project.preview("the token is not refreshed")
    shown: dict[str, str] = {}

    def shown_id(found: re.Match[str]) -> str:
        number = sum(one.startswith(found[1]) for one in shown) + 1
        return shown.setdefault(found[0], f"{found[1]}-{number:020}")

    def again(found: re.Match[str]) -> str:
        request = found[1]
        for real, one in shown.items():
            request = request.replace(one, real)
        print(request, file=process.stdin, flush=True)
        if found[2] is None:
            return found[0]
        assert process.stdout is not None
        answer = shortened(json.loads(process.stdout.readline()))
        text = ID.sub(shown_id, json.dumps(answer, ensure_ascii=False))
        return f"→ {found[1]}\n← {TIME.sub('2026-11-22T13:15:12+00:00', text)}"

    page = PAGE.read_text(encoding="utf-8")
    command = [sys.executable, "-P", "-m", "workbench", "mcp", "--project", str(work.root)]
    environment = {**os.environ, "WORKBENCH_MODELS_EMBEDDING": "none"}
    with running(command, stdin=subprocess.PIPE, env=environment) as process:
        now = LINE.sub(again, page)
    if os.environ.get("UPDATE_GOLDENS"):
        PAGE.write_text(now, encoding="utf-8")
    assert now.count("\n← ") == 11
    assert now == page
