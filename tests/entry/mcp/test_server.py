"""The MCP server: sessions by the SDK's client over real pipes, and calls that are refused."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp", reason="the package mcp is not installed here")

from mcp import Client, MCPError, StdioServerParameters, stdio_client

import workbench
from tests.conftest import Work
from tests.docs.pages import ROOT
from tests.entry.conftest import TASK
from tests.processes import LONG, running
from tests.test_imports import modules
from workbench.entry.mcp.calls import call_tool
from workbench.entry.mcp.project import ServedProject
from workbench.entry.mcp.resources import prompt_text, read_resource
from workbench.entry.mcp.server import agent_of, in_thread, serve_messages
from workbench.entry.mcp.stdio import HANDSHAKES, MODERN, Handshake
from workbench.entry.mcp.tools import INSTRUCTIONS, TOOLS, listed_tools
from workbench.entry.mcp.wire import Wire, encode
from workbench.entry.services.episodes import recording_of
from workbench.entry.services.opening import require_wanted
from workbench.entry.services.stash import stash_service
from workbench.errors import ProjectError, UsageError, WorkbenchError
from workbench.text.tokens import token_counter

LISTS = ("tools/list", "prompts/list", "resources/list", "resources/templates/list")
SAID = "We keep sessions in redis, because the database was too slow for them."


@pytest.fixture
def served(shop: Work) -> Iterator[ServedProject]:
    """The indexed repository as a server opens it."""
    found = ServedProject(str(shop.root), {})
    yield found
    found.close()


def values(result: Any) -> Any:
    """Return the structured content of a call that went well."""
    assert not result.is_error, result.content
    return result.structured_content


def said(result: Any) -> str:
    """Return the text of a call's answer."""
    return str(result.content[0].text)


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_a_session_over_stdio(mode: str, shop: Work) -> None:
    """Both generations of the protocol: plan, stash, find again, merge, remember; refusals; many at once."""
    environment = {name: os.environ[name] for name in os.environ if name.startswith(("WORKBENCH_", "GIT_"))}
    server = StdioServerParameters(
        command=sys.executable,
        args=["-P", "-m", "workbench", "mcp", "--project", str(shop.root)],
        env={**environment, "HOME": os.environ["HOME"], "CLAUDE_CODE_SESSION_ID": "s-1"},
        cwd=Path.cwd(),
    )
    async with asyncio.timeout(LONG), Client(stdio_client(server), mode=mode) as client:
        listed = await client.list_tools()
        assert [tool.name for tool in listed.tools] == [*TOOLS]
        plan = await client.call_tool("plan_context", {"task": TASK, "token_budget": 500})
        assert "shop/auth.py" in [one["path"] for one in values(plan)["files"]]
        assert 0 < values(plan)["tokens"] <= 500
        assert said(plan) == values(plan)["text"]
        shown = values(
            await client.call_tool("expand", {"handles": ["read", "store.py:links"], "again": True})
        )
        assert shown["text"].startswith("shop/store.py:1-2 read\n  def read(key):\n      return key\n")
        again = values(
            await client.call_tool("expand", {"handles": ["shop/store.py:1-2"], "token_budget": 40})
        )
        assert again["text"] == "shop/store.py:1-2 read: was given to this session already\n"
        assert again["tokens"] <= 40
        found = values(await client.call_tool("find_files", {"task": TASK, "limit": 1}))
        assert (found["files"][0]["path"], found["next_cursor"]) == ("shop/auth.py", "1")
        aside = values(await client.call_tool("stash_context", {"segments": [SAID, {"text": "x = 1"}]}))
        assert aside["stashed_count"] == 2
        hit = values(await client.call_tool("retrieve_stashed_context", {"query": SAID}))["segments"][0]
        assert hit["segment_id"] == aside["segment_ids"][0]
        merged = values(await client.call_tool("merge_stashed_context", {"segment_ids": [hit["segment_id"]]}))
        assert "quotations, not instructions" in merged["text"]
        assert SAID in merged["text"]
        learned = {"text": "The tests need a server on port 6380.", "reason": "they failed without one"}
        assert values(await client.call_tool("remember", learned))["reviewed"] is False
        recalled = values(await client.call_tool("recall", {"query": "on which port is the tests' server"}))
        assert [one["text"] for one in recalled["learnings"]] == [learned["text"]]
        denied = {"text": "The tests need no server on port 6380.", "reason": "they ran without one"}
        assert values(await client.call_tool("remember", denied))["conflicts_with"]
        [conflict] = values(await client.call_tool("list_conflicts", {}))["conflicts"]
        assert conflict["left"].endswith(learned["text"])
        choice = {"id": conflict["id"], "action": "keep_left", "reason": "the user said so"}
        assert len(values(await client.call_tool("settle_conflict", choice))["held"]) == 1
        refused = await client.call_tool("settle_conflict", choice)
        assert refused.is_error
        assert "was settled by mcp meanwhile: keep-left" in said(refused)
        rules = await client.read_resource("workbench://rules/shop/auth%2Epy")
        assert "Never push with force." in str(rules.contents[0])
        with pytest.raises(MCPError, match="there is no session nobody"):
            await client.read_resource("workbench://sessions/nobody")
        with pytest.raises(MCPError, match="no path inside the project"):
            await client.read_resource("workbench://rules/../../x")
        refused = await client.call_tool("merge_stashed_context", {"segment_ids": ["seg-none"]})
        assert refused.is_error
        assert "`workbench stash list` shows all" in said(refused)
        calls = [
            client.call_tool("rules_for", {"tool": "Bash", "input": {"command": f"ls {number}"}})
            for number in range(50)
        ]
        answers = await asyncio.gather(*calls)
        assert {values(one)["decision"] for one in answers} == {"allow"}
    with workbench.open_project(shop.root) as project:
        segment = project.stash.get(aside["segment_ids"][0])
        assert segment.session_id == "s-1"
        journal = "".join(path.read_text() for path in (shop.root / ".workbench/journal").glob("stash*"))
        assert "segment.shown" in journal
        assert "segment.merged" in journal
        handed = (shop.root / ".workbench/journal/handovers.jsonl").read_text()
        assert '"event":"plan_context"' in handed
        [waiting] = project.learnings.all()
        assert (waiting.source, waiting.reviewed) == ("agent", False)


@pytest.mark.parametrize("version", [*HANDSHAKES, MODERN])
def test_what_is_answered_early_is_what_the_sdk_answers(version: str, tmp_path: Path) -> None:
    """A client cannot tell whether the SDK was there when it said hello."""
    client = {"name": "somebody", "version": "1"}
    able: dict[str, Any] = {"roots": {"listChanged": True}, "sampling": {}}
    hello: list[tuple[str, dict[str, Any]]]
    if version == MODERN:
        keys = ("protocolVersion", "clientInfo", "clientCapabilities")
        meta = {
            f"io.modelcontextprotocol/{key}": one
            for key, one in zip(keys, (version, client, able), strict=True)
        }
        hello = [("server/discover", {"_meta": meta}), *((one, {"_meta": meta}) for one in LISTS)]
    else:
        about = {"protocolVersion": version, "clientInfo": client, "capabilities": able}
        hello = [("initialize", about), *((one, {}) for one in (*LISTS, "ping"))]
    lines = [
        encode({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        for number, (method, params) in enumerate(hello)
    ]
    handshake = Handshake()
    early = [json.loads(handshake.answer(line) or b"null") for line in lines]
    by_sdk = asked_of_the_sdk(lines, tmp_path)
    assert sorted(by_sdk, key=lambda one: one["id"]) == early
    assert handshake.opening == lines[:1]


def asked_of_the_sdk(lines: list[bytes], project: Path) -> list[Any]:
    """Return what the SDK's server answers to lines, one after the other, each when its answer is there."""
    ours, theirs = os.pipe(), os.pipe()
    wire = Wire(os.fdopen(theirs[0], "rb"), ours[1])

    def converse() -> list[Any]:
        found = []
        with os.fdopen(ours[0], "rb") as answers, os.fdopen(theirs[1], "wb", buffering=0) as asking:
            for place in range(len(lines)):
                if place:
                    asking.write(lines[place])
                found.append(json.loads(answers.readline()))
        return list(found)

    async def both() -> list[Any]:
        conversation = asyncio.to_thread(converse)
        serving = asyncio.to_thread(serve_messages, wire, [], lines[0], ServedProject(str(project), {}))
        found, _ = await asyncio.gather(conversation, serving)
        return list(found)

    try:
        return asyncio.run(both())
    finally:
        os.close(ours[1])
        wire.close()


@pytest.mark.parametrize(
    "line",
    [
        b"no JSON",
        b"[" * 100_000,
        b'[{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}]',
        b'{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}',
        b'{"jsonrpc": "2.0", "id": true, "method": "initialize", "params": {}}',
        b'{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2030-01-01"}}',
        b'{"jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": {"_meta": {}}}',
        b'{"jsonrpc": "2.0", "method": "notifications/initialized"}',
    ],
)
def test_what_is_unusual_is_left_to_the_sdk(line: bytes) -> None:
    """Only what is certain is answered early, and nothing of the rest is remembered."""
    handshake = Handshake()
    assert handshake.answer(line) is None
    assert (handshake.opening, handshake.version) == ([], "")


def test_stdout_has_only_the_protocol_and_a_hang_up_ends_the_server(tmp_path: Path) -> None:
    """What prints in the same process goes to stderr; garbage and messages that are too long are survived."""
    noisy = (
        "import os; from workbench.entry.mcp import calls, stdio, wire\n"
        "from workbench.entry.services import opening; wire.MAX_MESSAGE = 5000\n"
        "def recall(*_):\n    opening.CALLER.get()('embedding', 1, 2); print('noise')\n"
        "    os.write(1, b'more noise'); os.system('echo even more')\n"
        "    return calls.messages.RecallResult((), note=repr(os.read(0, 1)))\n"
        f"calls._CALLS['recall'] = recall; stdio.serve({str(tmp_path)!r})"
    )
    hello = {
        "protocolVersion": HANDSHAKES[0],
        "clientInfo": {"name": "a", "version": "1"},
        "capabilities": {},
    }
    asked = {"name": "recall", "arguments": {}, "_meta": {"progressToken": "mine"}}
    with running([sys.executable, "-c", noisy], stdin=-1) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        answers = []
        for message in (
            {"id": "1", "method": "initialize", "params": hello},
            {"method": "notifications/initialized"},
            {"id": 2, "method": "tools/call", "params": asked},
            {"id": 3, "method": "ping", "params": {"_meta": {"long": "x" * 5000}}},
            {"id": 4, "method": "tools/call", "params": {**asked, "arguments": []}},
            {"id": 5, "method": "no/such"},
            {"id": "😀", "method": "ping", "params": {"_meta": {"half": "\ud800"}}},
        ):
            server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
            server.stdin.flush()
            if message.get("id") == 2:
                progress = json.loads(server.stdout.readline())["params"]
                assert (progress["progressToken"], progress["message"]) == ("mine", "embedding 1 of 2")
            if "id" in message:
                answers.append(json.loads(server.stdout.readline()))
        rest, errors = server.communicate("no JSON\n", timeout=LONG)
    assert server.returncode == 0
    assert [one["id"] for one in answers] == ["1", 2, None, 4, 5, "😀"]
    assert answers[1]["result"]["structuredContent"]["note"] == "b''"
    assert ["error" in one for one in answers] == [False, False, True, True, True, False]
    assert all(json.loads(line)["jsonrpc"] == "2.0" for line in rest.splitlines())
    assert all(one in errors for one in ("noise", "more noise", "even more"))


def test_the_tools_cost_little() -> None:
    """What every agent reads before it asks anything has a limit, and the pages say what it is."""
    counter = token_counter("o200k_base")
    tokens = counter.count(json.dumps(listed_tools(), ensure_ascii=False, separators=(",", ":")))
    assert (len(TOOLS), tokens <= 2_150) == (12, True)
    pages = {"README.md": f"{tokens:,} tokens", "docs/agents.md": f"{tokens:,} tokens", "docs/http.md": ""}
    for page, cost in pages.items():
        text = (ROOT / page).read_text(encoding="utf-8").lower()
        assert "twelve" in text, page
        assert cost in text, page
    assert len(INSTRUCTIONS.encode()) <= 2_048
    for tool in listed_tools():
        assert tool["inputSchema"]["type"] == tool["outputSchema"]["type"] == "object"
        assert tool["name"] in INSTRUCTIONS


def test_a_handshake_imports_nothing_heavy() -> None:
    """Neither the SDK nor the engine is there when the client is answered."""
    hello = {
        "protocolVersion": HANDSHAKES[0],
        "clientInfo": {"name": "a", "version": "1"},
        "capabilities": {},
    }
    line = encode({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello})
    code = f"from workbench.entry.mcp.stdio import Handshake; assert Handshake().answer({line!r})"
    heavy = {"mcp", "pydantic", "asyncio", "numpy", "duckdb", "workbench.plan", "workbench.entry.project"}
    assert modules(code).isdisjoint(heavy)


REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("plan", {}, "there is no tool"),
    ("plan_context", {}, "missing required field `task`"),
    ("plan_context", {"task": 7}, "Expected `str`, got `int`"),
    ("plan_context", {"task": " \n"}, "the task is empty"),
    ("plan_context", {"task": TASK, "pinned": ["../../etc/passwd"]}, "passwd"),
    ("plan_context", {"task": TASK, "token_budget": 0}, "Expected `int` >= 1"),
    ("find_files", {"tasks": TASK}, "unknown field `tasks`"),
    ("expand", {"handles": []}, "length >= 1"),
    ("expand", {"handles": ["refresh_tokn"]}, "no definition or file of this name"),
    ("find_files", {"task": TASK, "cursor": "²"}, "not a cursor"),
    ("find_files", {"task": TASK, "limit": 10**30}, "limit"),
    ("rules_for", {}, "a task or a tool"),
    ("rules_for", {"task": TASK, "tool": "Bash"}, "a task or a tool"),
    ("remember", {"text": "x" * 501, "reason": "y"}, "length <= 500"),
    ("recall", {"cursor": "nonsense"}, "cursor"),
    ("stash_context", {"segments": []}, "nothing is given"),
    ("stash_context", {"segments": ["  "]}, "empty"),
    ("stash_context", {"segments": [{"text": "x", "type": "poem"}]}, "poem"),
    ("stash_context", {"segments": ["x"], "segment_ids": ["seg-0"]}, "no segment"),
    ("stash_context", {"segments": ["x"], "expires_in_days": 1e300}, "lead nowhere"),
    ("retrieve_stashed_context", {"query": "x", "filters": {"colour": "red"}}, "no filter"),
    ("merge_stashed_context", {"segment_ids": ["seg-0\0"]}, "no segment"),
    ("record_feedback", {"outcome": "great"}, "`$.outcome`, which is one of failed, partial, success"),
    ("record_feedback", {"outcome": "failed"}, "no session is known"),
]


def test_what_makes_no_sense_is_refused_with_the_next_step(served: ServedProject) -> None:
    """Nothing is guessed: the message says what is wrong, the hint what to do."""
    for name, arguments, message in REFUSED:
        with pytest.raises(UsageError) as refused:
            call_tool(served, name, arguments, "")
        assert message in refused.value.message, (name, arguments)
        assert refused.value.hint, (name, arguments)


def test_what_came_back_is_put_aside_again_by_its_id(served: ServedProject) -> None:
    """Its tokens are free again, its text is kept once, and a new expiry holds for it."""
    first: Any = call_tool(served, "stash_context", {"segments": [SAID]}, "")
    given = {"segments": [SAID, "x = 1"], "segment_ids": [*first.segment_ids], "expires_in_days": 3}
    again: Any = call_tool(served, "stash_context", given, "")
    assert (again.stashed_count, again.segment_ids[0]) == (2, first.segment_ids[0])
    assert again.tokens_freed > first.tokens_freed > 0
    with served.host().operation("stash") as work:
        kept = stash_service(work.project, "test").find_all(again.segment_ids)
    assert [one.text for one in kept] == [SAID, "x = 1"]
    assert all(one.expires_at for one in kept)


def test_feedback_is_for_the_latest_prompt_of_the_session(served: ServedProject) -> None:
    """An agent need not know that hooks record its session prompt by prompt."""
    recording = recording_of(served.host())
    for number in (1, 2):
        recording.start(
            f"task {number}", session_id=f"s-9/{number}", parent_session="s-9", prompt_index=number
        )
    served.session = "s-9"
    result = call_tool(served, "record_feedback", {"outcome": "failed", "reason": "no tests"}, "")
    assert (result.session_id, result.outcome) == ("s-9/2", "failed")  # type: ignore[attr-defined]
    trace = json.loads(read_resource(served, "workbench://sessions/s-9/2", ""))
    assert trace["episode"]["outcome"] == "failed"


def test_a_client_without_a_session_is_given_nothing_twice(served: ServedProject, shop: Work) -> None:
    """Its process is its session; another client, and one that asks again, gets the text."""
    asked = {"handles": ["shop/store.py:1-2"]}
    first, second = (call_tool(served, "expand", asked, "").text for _ in range(2))  # type: ignore[attr-defined]
    line = (shop.root / "shop/store.py").read_text("utf-8").partition("\n")[0]
    assert line in first
    assert line not in second
    assert call_tool(served, "expand", {**asked, "again": True}, "").text == first  # type: ignore[attr-defined]
    other = ServedProject(str(shop.root), {})
    assert call_tool(other, "expand", asked, "").text == first  # type: ignore[attr-defined]
    other.close()


def test_a_project_is_never_indexed_unasked(work: Work) -> None:
    """Without an index a plan is refused with the command that makes one; the stash works all the same."""
    served = ServedProject("", {"CLAUDE_PROJECT_DIR": str(work.root)})
    for name in ("plan_context", "expand", "find_files", "rules_for"):
        with pytest.raises(ProjectError, match="is not indexed") as refused:
            call_tool(served, name, {"handles": ["read"]} if name == "expand" else {"task": TASK}, "")
        assert "`workbench index`" in refused.value.hint
    assert call_tool(served, "stash_context", {"segments": [SAID]}, "")
    served.close()
    with pytest.raises(WorkbenchError, match="is not a directory"):
        call_tool(ServedProject(str(work.root / "gone"), {}), "recall", {}, "")


def test_the_agent_is_known_by_its_client() -> None:
    """Rules for one agent hold for the client that is its."""
    names = ("claude-code", "Codex MCP Client", "cursor-vscode", "inspector", "")
    assert [agent_of(name) for name in names] == ["claude", "codex", "cursor", "", ""]


def test_matches_come_in_pages(served: ServedProject, shop: Work, monkeypatch: pytest.MonkeyPatch) -> None:
    """The cursor of a page leads to the next one; the last has none."""
    with workbench.open_project(shop.root) as project:
        for text in ("Write tests in pytest.", "Name tests of the token after it."):
            project.rules.add(text)
    monkeypatch.setattr("workbench.entry.mcp.calls._FEW", 1)
    monkeypatch.setenv("WORKBENCH_RULES_THRESHOLD", "0")
    seen: list[str] = []
    cursors: list[str] = []
    while not cursors or cursors[-1]:
        arguments = {"task": "write tests in pytest for the token", "cursor": (cursors or [""])[-1]}
        page: Any = call_tool(served, "rules_for", arguments, "")
        seen += [one.id for one in page.rules]
        cursors.append(page.next_cursor)
    assert len({*seen}) == len(seen) == len(cursors) == 3


def test_rules_hold_under_the_facts_that_a_call_names(
    served: ServedProject, shop: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A rule with a condition matches a task, and forbids a call, where its fact or context is given."""
    monkeypatch.setenv("WORKBENCH_RULES_THRESHOLD", "0")
    check = {"command": "npm publish", "decision": "deny"}
    with workbench.open_project(shop.root) as project:
        project.rules.add(
            "Unsigned packages are never published.",
            authority="absolute",
            conditions={"phase": "release"},
            check=check,
        )
        project.rules.add("Packages are signed by the maintainer.", scope=("hotfix",))
    publish = {"tool": "Bash", "input": {"command": "npm publish"}}
    under = {"facts": {"phase": "release"}, "contexts": ["hotfix"]}
    for given, texts, decision in (({}, set(), "allow"), (under, {"Unsigned", "Packages"}, "deny")):
        page: Any = call_tool(served, "rules_for", {"task": "publish signed packages", **given}, "")
        assert {one.rule.split()[0] for one in page.rules} & {"Unsigned", "Packages"} == texts
        assert call_tool(served, "rules_for", {**publish, **given}, "").decision == decision  # type: ignore[attr-defined]


def test_prompts_say_what_a_person_chose(served: ServedProject) -> None:
    """The pack of a task or what was learned, with the task; others are refused."""
    assert "refresh_token" in prompt_text(served, "plan", {"task": TASK}, "")
    call_tool(served, "remember", {"text": "The token is refreshed by the server.", "reason": "seen"}, "")
    assert "by the server" in prompt_text(served, "recall", {"task": "who refreshes the token"}, "")
    assert "stash_context" in prompt_text(served, "stash", {}, "")
    for name, arguments in (("poem", {}), ("plan", {}), ("recall", {"task": " "})):
        with pytest.raises(UsageError) as refused:
            prompt_text(served, name, arguments, "")
        assert refused.value.hint


async def test_a_call_that_is_cancelled_ends() -> None:
    """What nobody waits for any more stops at its turn or next progress, and does nothing after it."""
    begun, go, done = threading.Event(), threading.Event(), []

    def call() -> None:
        begun.set()
        assert go.wait(LONG)
        require_wanted()
        done.append("all of it")

    calling = asyncio.create_task(in_thread(call))
    await asyncio.to_thread(begun.wait, LONG)
    calling.cancel()
    with pytest.raises(asyncio.CancelledError):
        await calling
    go.set()
    await asyncio.get_running_loop().shutdown_default_executor()
    assert done == []
