"""The MCP server over HTTP: sessions by the SDK's client over a real port."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

pytest.importorskip("mcp", reason="the package mcp is not installed here")

import httpx2
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client

from tests.conftest import Work
from tests.entry.conftest import TASK
from tests.entry.http.conftest import TOKEN, listening
from tests.processes import LONG
from workbench.entry.mcp.tools import TOOLS


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_a_session_over_http(mode: Any, shop: Work) -> None:
    """Both generations of the protocol: the same as over stdio, refusals, and nothing twice in a session."""
    bearer = {"Authorization": f"Bearer {TOKEN}"}
    async with (
        asyncio.timeout(LONG),
        listening(shop.root) as base,
        httpx2.AsyncClient(headers=bearer, timeout=LONG) as asking,
        Client(streamable_http_client(f"{base}/mcp", http_client=asking), mode=mode) as client,
    ):
        listed = await client.list_tools()
        assert [tool.name for tool in listed.tools] == [*TOOLS]
        calls = [client.call_tool("plan_context", {"task": TASK, "token_budget": 500}) for _ in range(5)]
        for plan in await asyncio.gather(*calls):
            assert plan.structured_content is not None
            assert "shop/auth.py" in [one["path"] for one in plan.structured_content["files"]]
        shown = str((await client.call_tool("expand", {"handles": ["refresh_token"]})).content[0])
        has_session = mode == "legacy"  # in the later protocol each message stands alone
        assert ("was given to this session already" in shown) == has_session
        assert ("def refresh_token" in shown) != has_session
        refused = await client.call_tool("find_files", {"tasks": TASK})
        assert refused.is_error
        rules = await client.read_resource("workbench://rules/shop/auth.py")
        assert "Never push with force." in str(rules.contents[0])
        assert [one.name for one in (await client.list_prompts()).prompts] == ["plan", "recall", "stash"]
        prompt = await client.get_prompt("plan", {"task": TASK})
        assert "refresh_token" in str(prompt.messages[0].content)
        with pytest.raises(MCPError, match="there is no prompt"):
            await client.get_prompt("poem", {})
        for headers, status in (
            ({}, 401),
            ({**bearer, "Origin": "http://evil.example"}, 403),
            ({**bearer, "Host": "evil.example"}, 403),
        ):
            async with httpx2.AsyncClient(headers=headers) as stranger:
                found = await stranger.post(f"{base}/mcp", json={"jsonrpc": "2.0", "id": 1, "method": "ping"})
                assert found.status_code == status
