"""Rules over gRPC: a server of its own, our client and another's, and what is refused."""

from __future__ import annotations

import asyncio
import json
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("grpc", reason="the extra grpc is not installed here")

import workbench
from tests.conftest import Work
from tests.processes import running
from workbench.entry.grpc import client as client_module
from workbench.entry.grpc.client import AsyncIngestClient
from workbench.entry.grpc.records import METHODS, SERVICE, grpc, messages, rule_message, rule_of
from workbench.entry.grpc.server import BY, RuleService, start_server
from workbench.entry.http.serving import ListeningPlace
from workbench.entry.services.opening import ProjectHost, host_project, report_progress
from workbench.errors import UsageError
from workbench.records.rules import Authority, Category, Rule
from workbench.rules.fetching.cache import PROCESS, STORE, CacheLevel

PROTO = Path(workbench.__file__).parent / "entry" / "grpc" / "ingestion.proto"
TOKEN = "t" * 40

OTHER = """
import json, sys
import grpc
from grpc_tools import protoc
place = sys.argv[1]
protoc.main(["", "-I", place, "--python_out=" + place, "--grpc_python_out=" + place, "spec.proto"])
sys.path.insert(0, place)
import spec_pb2, spec_pb2_grpc
with grpc.insecure_channel(sys.argv[2]) as channel:
    stub = spec_pb2_grpc.IngestServiceStub(channel)
    page = stub.GetMemoryRules(spec_pb2.GetMemoryRulesRequest(authority="absolute", limit=1))
    one = stub.GetMemoryRuleById(spec_pb2.GetMemoryRuleByIdRequest(rule_id=page.rules[0].id))
    given = {"rule_ids": [one.id, "x"], "session_id": "s-2", "tool": "codex"}
    used = stub.UpdateRuleUsage(spec_pb2.UpdateRuleUsageRequest(**given))
    print(json.dumps([page.total_count, bool(page.next_cursor), one.rule, used.updated_count, used.success]))
"""


@pytest.fixture
def shop(work: Work) -> Work:
    """A repository with two absolute rules and three others."""
    work.write("AGENTS.md", "- Never push with force.\n- Never log access tokens.\n- Prefer uv over pip.\n")
    work.commit()
    with workbench.open_project(work.root) as project:
        project.rules.add("Write a migration for every change of a table.", tags=["domain:backend"])
        project.rules.add("Use pytest fixtures.", category="preference", tool_targets=["claude"])
    return work


@pytest.fixture
def host(shop: Work) -> Iterator[ProjectHost]:
    """The repository, kept open as a server does."""
    found = host_project(shop.root, {}, BY, report_progress)
    yield found
    found.close()


async def test_a_server_of_its_own_process(shop: Work, tmp_path: Path) -> None:
    """Pages by cursor, warm-up, composite, search, one rule, usage; and a client of the specification."""
    socket = tmp_path / "rules.sock"
    command = [
        sys.executable,
        "-P",
        "-m",
        "workbench",
        "--project",
        str(shop.root),
        "grpc",
        "--socket",
        str(socket),
    ]
    with running(command) as process:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        assert address == f"unix:{socket}"
        assert stat.S_IMODE(socket.stat().st_mode) == 0o600
        async with AsyncIngestClient(address) as client:
            every = await client.get_memory_rules()
            await client.warm_up("", "claude")
            first = await client.get_page(limit=2)
            second = await client.get_page(limit=4, cursor=first.next_cursor)
            assert [*first.rules, *second.rules] == every
            assert (len(every), first.total_count, second.next_cursor) == (5, 5, None)
            assert [rule.authority for rule in every[:2]] == [Authority.ABSOLUTE] * 2
            rules = await client.search_memory_rules(
                "migration of a table", search_mode="sparse", score_threshold=0.1
            )
            assert rules[0][0].tags == ("domain:backend",)
            assert 0.1 <= rules[0][1] <= 1
            context = await client.get_context_rules(
                "migration of a table", tool_targets=["claude"], score_threshold=0.1
            )
            assert list(context.absolute) == every[:2]
            assert rules[0][0] in context.rules
            assert await client.get_memory_rule_by_id(every[0].id) == every[0]
            assert await client.get_memory_rule_by_id("rule-none") is None
            assert await client.update_rule_usage([every[0].id], "s-1", "claude")
            assert not await client.update_rule_usage(["rule-none"], "s-1", "claude")
            with pytest.raises(grpc.RpcError, match=r"unknown category 'x'\. Use one of"):
                await client.get_memory_rules(category="x")
        lines = PROTO.read_text(encoding="utf-8").splitlines()
        spec = "\n".join(line for line in lines if not any(f"= {number};" in line for number in (17, 18)))
        (tmp_path / "spec.proto").write_text(spec, encoding="utf-8")
        other = [sys.executable, "-c", OTHER, str(tmp_path), address]
        done = await asyncio.to_thread(subprocess.run, other, capture_output=True, text=True, check=True)
        assert json.loads(done.stdout) == [2, True, every[0].rule, 1, False]
        process.terminate()
        assert process.wait() == 0
    assert not socket.exists()
    journals = "".join(path.read_text() for path in (shop.root / ".workbench/journal").glob("rule-usage*"))
    assert ['"s-1"' in journals, '"s-2"' in journals, '"codex"' in journals] == [True] * 3


async def test_a_port_wants_the_token(host: ProjectHost) -> None:
    """Without the token nothing is answered; a second server cannot share the port."""
    server, address = start_server(host, ListeningPlace(host="127.0.0.1", token=TOKEN))
    try:
        async with AsyncIngestClient(address, TOKEN) as client:
            assert len(await client.get_memory_rules()) == 5
        for token in ("", "wrong"):
            async with AsyncIngestClient(address, token) as client:
                with pytest.raises(grpc.RpcError, match="bearer token"):
                    await client.get_memory_rules()
        with pytest.raises(UsageError, match="cannot be listened at"):
            start_server(
                host, ListeningPlace(host="127.0.0.1", port=int(address.rpartition(":")[2]), token=TOKEN)
            )
    finally:
        server.stop(None).wait()


def test_levels_of_the_cache_and_bad_requests(host: ProjectHost) -> None:
    """What was asked before comes from the process; what makes no sense is refused with a hint."""
    service = RuleService(host)
    answer = service._answers
    for _ in range(3):
        answer["GetMemoryRules"](messages.GetMemoryRulesRequest())
    answer["GetMemoryRules"](messages.GetMemoryRulesRequest(bypass_cache=True))
    fetcher = service._reads._fetcher
    assert fetcher is not None
    assert fetcher.figures() == {PROCESS: CacheLevel(2, 1, 1), STORE: CacheLevel(2)}
    refused: list[tuple[str, Any, str]] = [
        ("GetMemoryRules", messages.GetMemoryRulesRequest(limit=-1), "limit -1 is outside"),
        ("GetMemoryRules", messages.GetMemoryRulesRequest(cursor="x"), "cursor"),
        ("GetMemoryRules", messages.GetMemoryRulesRequest(authority="x"), "unknown authority"),
        ("SearchMemoryRules", messages.SearchMemoryRulesRequest(query=" "), "query is empty"),
        ("SearchMemoryRules", messages.SearchMemoryRulesRequest(query="a", search_mode="x"), "search_mode"),
        ("SearchMemoryRules", messages.SearchMemoryRulesRequest(query="a", limit=-1), "limit"),
        ("SearchMemoryRules", messages.SearchMemoryRulesRequest(query="a", score_threshold=7), "score"),
        ("GetMemoryRuleById", messages.GetMemoryRuleByIdRequest(), "there is no rule"),
        ("UpdateRuleUsage", messages.UpdateRuleUsageRequest(rule_ids=["a"]), "session_id and tool"),
    ]  # fmt: skip
    for name, request, message in refused:
        with pytest.raises(UsageError, match=message) as caught:
            answer[name](request)
        assert caught.value.hint


async def test_a_busy_server_is_asked_again_and_a_silent_one_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three times more at most; a call that takes longer than its timeout ends."""
    monkeypatch.setattr(client_module, "_WAITS", (0.0, 0.0, 0.0))
    asked, over = [], threading.Event()

    def busy(request: Any, context: Any) -> Any:
        asked.append(request.rule_id)
        if request.rule_id == "silent":
            over.wait()
        if request.rule_id == "never" or len(asked) < 3:
            context.abort(grpc.StatusCode.UNAVAILABLE, "not now")
        return messages.MemoryRule(id="a", category="agent", authority="default")

    name = "GetMemoryRuleById"
    handlers = grpc.method_handlers_generic_handler(SERVICE, {name: METHODS[name].handler(busy)})
    server = grpc.server(pool := ThreadPoolExecutor(4))
    server.add_generic_rpc_handlers((handlers,))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        async with AsyncIngestClient(f"127.0.0.1:{port}") as client:
            rule = await client.get_memory_rule_by_id("a")
            assert rule is not None
            assert (rule.id, rule.category, asked) == ("a", Category.AGENT, ["a"] * 3)
            with pytest.raises(grpc.RpcError, match="not now"):
                await client.get_memory_rule_by_id("never")
            assert asked[3:] == ["never"] * 4
            with pytest.raises(grpc.RpcError) as caught:
                await client.get_memory_rule_by_id("silent", timeout=0.05)
            assert caught.value.code() == grpc.StatusCode.DEADLINE_EXCEEDED
    finally:
        over.set()
        server.stop(None).wait()
        pool.shutdown()


def test_a_rule_survives_the_way() -> None:
    """Every field of the specification, and half a character that UTF-8 cannot say."""
    rule = Rule(
        *("r", "name", "Use \N{SNOWMAN} uv.", Category.AGENT, Authority.ABSOLUTE, ("git",), "file"),
        *({"os": ["linux"]}, ("old",), "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z", {"a": 1}, "shop-1"),
        *(("claude",), 90, 12, 3, "2026-01-03T00:00:00Z", ("tool:git",)),
    )  # fmt: skip
    message = messages.MemoryRule.FromString(rule_message(rule, 0.5).SerializeToString())
    assert (rule_of(message), message.relevance_score) == (rule, 0.5)
    assert rule_message(Rule("r", "n", "a\ud800b")).rule == "a\N{REPLACEMENT CHARACTER}b"


def test_without_the_extra_the_hint_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The command and the client say what to install."""
    monkeypatch.setitem(sys.modules, "grpc", None)
    monkeypatch.delitem(sys.modules, "workbench.entry.grpc.records")
    with pytest.raises(UsageError, match="which is not installed") as caught:
        __import__("workbench.entry.grpc.records")
    assert caught.value.hint == "pip install 'context-workbench[grpc]'"


def test_what_is_generated_is_up_to_date(tmp_path: Path) -> None:
    """`make stubs` writes what is committed."""
    protoc = pytest.importorskip("grpc_tools.protoc", reason="grpcio-tools is not installed here")
    root = Path(workbench.__file__).parents[1]
    name = "workbench/entry/grpc/ingestion"
    assert protoc.main(["", "-I", str(root), f"--python_out={tmp_path}", f"{name}.proto"]) == 0
    assert (tmp_path / f"{name}_pb2.py").read_text() == (root / f"{name}_pb2.py").read_text()
