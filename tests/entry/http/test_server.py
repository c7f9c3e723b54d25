"""The server under what clients do to it: refusals, crowds, hang-ups, signals."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
import stat
import sys
import threading
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.conftest import Work
from tests.entry.conftest import TASK
from tests.entry.http.conftest import asking, service_of
from tests.processes import LONG, running
from workbench.entry.hooks.client import ask_server
from workbench.entry.hooks.payloads import read_call
from workbench.entry.http import app, guard, projects
from workbench.entry.http.projects import ServedProjects, Workers
from workbench.entry.http.serving import ListeningPlace, read_token, serve
from workbench.entry.mcp.calls import call_tool
from workbench.entry.mcp.project import ServedProject
from workbench.entry.services import rule_checks
from workbench.errors import StoreError, UsageError
from workbench.places import serve_socket

PLAN = "/v1/plan-context"


def code_of(found: httpx.Response) -> tuple[int, str]:
    """Return the status and code of a failure, which has a message and a form of its own."""
    failure = found.json()["error"]
    assert failure["message"]
    assert failure.keys() == {"code", "message", "hint"}
    assert "Traceback" not in found.text
    return found.status_code, failure["code"]


async def test_what_makes_no_sense_is_refused_with_the_next_step(shop: Work, tmp_path: Path) -> None:
    """Wrong types, unknown fields, ids and addresses, paths that lead elsewhere: one form, a hint."""
    (tmp_path / "elsewhere").mkdir()
    (shop.root / "out").symlink_to(tmp_path / "elsewhere")
    root = str(shop.root)
    refused: list[tuple[Any, tuple[int, str]]] = [
        ({}, (400, "invalid_request")),
        ({"task": 7}, (400, "invalid_request")),
        ({"task": " \n"}, (400, "invalid_request")),
        ({"task": TASK, "tasks": "x"}, (400, "invalid_request")),
        ({"task": TASK, "token_budget": 0}, (400, "invalid_request")),
        ({"task": TASK, "token_budget": 10**30}, (400, "invalid_request")),
        ({"task": TASK, "ml_mode": "magic"}, (400, "invalid_request")),
        ({"task": TASK, "pinned": ["../../etc/passwd"]}, (400, "invalid_request")),
        ({"task": TASK, "project_root": "shop"}, (400, "invalid_request")),
        ({"task": TASK, "project_root": f"{root}\0"}, (400, "invalid_request")),
        ({"task": TASK, "project_root": f"{root}\x1b[2J"}, (400, "invalid_request")),
        ({"task": TASK, "project_root": "/"}, (403, "outside")),
        ({"task": TASK, "project_root": "/nobody/has/this"}, (403, "outside")),
        ({"task": TASK, "project_root": f"{root}/../elsewhere"}, (403, "outside")),
        ({"task": TASK, "project_root": f"{root}/out"}, (403, "outside")),
        ({"task": TASK, "project_root": f"{root}/gone"}, (404, "not_found")),
    ]
    malformed = (b"{", b"[]", b"[" * 100_000, b'{"task": "\xff"}', b'{"task": NaN}')
    sent: dict[str, Any] = {"headers": {"content-type": "application/json"}}

    async def endless() -> AsyncIterator[bytes]:
        while True:
            yield b"x" * 1000

    async with asking(service_of(shop.root)) as client:
        for body, expected in refused:
            found = await client.post(PLAN, json=body)
            assert code_of(found) == expected, body
            assert found.json()["error"]["hint"], body
            assert str(tmp_path / "elsewhere") not in found.text
        for data in malformed:
            found = await client.post(PLAN, content=data, **sent)
            assert code_of(found) == (400, "invalid_request"), data[:20]
        with pytest.MonkeyPatch.context() as patch:
            for module in (guard, app):
                patch.setattr(module, "MAX_BODY", 5000)
            for large in (b"x" * 5001, endless()):
                assert code_of(await client.post(PLAN, content=large, **sent)) == (413, "too_large")
        assert code_of(await client.post(PLAN, data={"task": TASK})) == (415, "not_json")
        assert code_of(await client.get("/v1/nothing")) == (404, "not_found")
        assert code_of(await client.get("/v1/rules/%00%1b")) == (400, "invalid_request")
        assert code_of(await client.get("/v1/stash/..%2f..%2fetc")) == (404, "not_found")
        assert code_of(await client.get("/v1/sessions/nobody")) == (404, "not_found")
        assert code_of(await client.put("/v1/health")) == (405, "method_not_allowed")
        assert code_of(await client.get("/v1/rules", params={"limit": "many"})) == (400, "invalid_request")
        assert code_of(await client.get("/v1/rules?limit=1&limit=2")) == (400, "invalid_request")
        assert code_of(await client.get("/v1/rules", params={"cursor": "x"})) == (400, "invalid_request")
        shop.write("shop/auth.py", "changed = True\n")
        stale = await client.post(PLAN, json={"task": TASK, "strict": True})
        assert code_of(stale) == (409, "stale")


async def test_a_check_of_a_call_says_what_is_odd_about_the_rules(
    shop: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What reading the rules noted comes with the decision."""
    current = rule_checks.current_rules

    def odd(*asked: Any) -> Any:
        return current(*asked)[0], ("a rule file cannot be read",)

    monkeypatch.setattr(rule_checks, "current_rules", odd)
    async with asking(service_of(shop.root)) as client:
        found = await client.post("/v1/rules/check", json={"tool": "Bash", "input": {"command": "ls"}})
    assert found.json()["notes"] == ["a rule file cannot be read"]


@dataclass(frozen=True, slots=True)
class Limited:
    """A rule that holds only in some work, and what a request says of such work."""

    text: str
    limits: dict[str, Any]
    known: dict[str, Any]


LIMITED = (
    Limited("Never push on a Friday.", {"scope": ["release"]}, {"contexts": ["release"]}),
    Limited("Tag what was signed.", {"conditions": {"phase": "release"}}, {"facts": {"phase": "release"}}),
    Limited("Read the notes aloud.", {"level": "step", "scope": ["review"]}, {"step": "review"}),
    Limited("Ask Anna about money.", {"level": "scenario", "scope": ["cut"]}, {"scenario": "cut"}),
)


async def test_rules_hold_where_a_request_says_the_work_is(shop: Work) -> None:
    """Plans name what rules depend on; without it the reason names that, and no option of another face."""
    asked = {"task": "cut the release of the token"}
    requests = [asked, *({**asked, **rule.known} for rule in LIMITED)]
    served = ServedProject(str(shop.root), {})
    async with asking(service_of(shop.root)) as client:
        ids = []
        for rule in LIMITED:
            body = {"rule": rule.text, "authority": "absolute", **rule.limits}
            ids.append((await client.post("/v1/rules", json=body)).json()["id"])
        answers = [(await client.post(PLAN, json=request)).json() for request in requests]
    try:
        given: list[Any] = [call_tool(served, "plan_context", request, "") for request in requests]
    finally:
        served.close()
    for texts in ([one.text for one in given], [one["context"]["text"] for one in answers]):
        for number, text in enumerate(texts):
            assert [rule.text in text for rule in LIMITED] == [number == at for at in range(1, 5)], number
    for identifier in ids:
        (reason,) = (one["reason"] for one in answers[0]["dropped_candidates"] if identifier in one.values())
        assert "name the" in reason
        assert "--" not in reason


async def test_who_may_ask(shop: Work) -> None:
    """Over TCP the token and the server's own name; from no page in any case; nothing for browsers."""
    async with asking(
        service_of(shop.root, host="127.0.0.1", token="t" * 32), "http://127.0.0.1:80"
    ) as client:
        bearer = {"Authorization": f"Bearer {'t' * 32}"}
        found = await client.get("/v1/health", headers=bearer)
        assert found.status_code == 200
        assert "access-control-allow-origin" not in found.headers
        assert found.headers["cache-control"] == "no-store"
        for headers, expected in (
            ({}, (401, "unauthorized")),
            ({"Authorization": "Bearer ttt"}, (401, "unauthorized")),
            ({"Authorization": f"Basic {'t' * 32}"}, (401, "unauthorized")),
            ({"Authorization": "Bearer ttt ttt"}, (401, "unauthorized")),
            ({**bearer, "Host": "evil.example"}, (403, "forbidden")),
            ({**bearer, "Origin": "http://evil.example"}, (403, "forbidden")),
            ({**bearer, "Origin": "null"}, (403, "forbidden")),
        ):
            found = await client.get("/v1/health", headers=headers)
            assert code_of(found) == expected, headers
        assert (await client.get("/v1/health")).headers["www-authenticate"] == "Bearer"
    async with asking(service_of(shop.root)) as client:
        assert code_of(await client.get("/v1/health", headers={"Origin": "http://localhost"}))[0] == 403
        assert (await client.get("/v1/health", headers={"Host": "anything"})).status_code == 200


async def test_a_crowd_is_answered_or_asked_to_come_again(shop: Work) -> None:
    """Of 200 calls at once as many are worked on as there is room for; the others hear when to ask again."""
    service = service_of(shop.root)
    service.workers = Workers(threads=2, waiting=38)
    async with asking(service) as client:
        begun, release = threading.Event(), threading.Event()

        def hold() -> None:
            begun.set()
            assert release.wait(LONG)

        holding = asyncio.create_task(service.workers.run(hold, project=service.projects.find("")))
        calls = [asyncio.create_task(client.get("/v1/status")) for _ in range(200)]
        refused = [await one for one in asyncio.as_completed(calls[39:])]
        assert {code_of(one) for one in refused} == {(503, "busy")}
        assert {one.headers["retry-after"] for one in refused} == {"1"}
        impatient = await client.post(PLAN, json={"task": TASK, "latency_budget_ms": 1})
        assert code_of(impatient) == (503, "busy")
        assert (await client.get("/v1/health")).json()["running"] == 40
        release.set()
        await holding
        assert {(await call).status_code for call in calls[:39]} == {200}
        waiting = asyncio.create_task(service.workers.run(begun.wait, project=service.projects.find("")))
        assert await waiting
        assert service.workers.running == 0


async def test_nobody_works_for_a_client_that_is_gone(shop: Work) -> None:
    """What waits for its turn is not begun, what runs ends where it reports progress."""
    service = service_of(shop.root)
    project = service.projects.find("")
    async with asking(service) as client:
        await project.turn.acquire()
        sent: list[Any] = []
        body = json.dumps({"task": TASK}).encode()
        coming = [{"type": "http.request", "body": body}, {"type": "http.disconnect"}]

        async def receive() -> Any:
            return coming.pop(0) if coming else {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            sent.append(message)

        headers = [(b"host", b"localhost"), (b"content-type", b"application/json")]
        scope: dict[str, Any] = {
            "type": "http",
            "method": "POST",
            "path": PLAN,
            "raw_path": PLAN.encode(),
            "headers": headers,
        }
        scope |= {
            "query_string": b"",
            "http_version": "1.1",
            "scheme": "http",
            "root_path": "",
            "client": None,
        }
        gone = asyncio.create_task(service.guard({**scope, "server": ("localhost", 80)}, receive, send))
        while not any(one.is_set() for one in service.workers._ended):
            await asyncio.sleep(0)
        project.turn.release()
        await gone
        assert sent[0]["status"] == 499
        journal = shop.root / ".workbench/journal/metrics.jsonl"
        before = journal.read_bytes() if journal.exists() else b""
        assert b'"by":"http"' not in before
        assert (await client.post(PLAN, json={"task": TASK})).status_code == 200


async def test_several_projects_and_their_settings(make_work: Any, tmp_path: Path) -> None:
    """Projects below a root are opened when asked about; what is set meanwhile holds; few are kept open."""
    works = [make_work(name) for name in ("a", "b", "c")]
    for work in works:
        work.write(f"{work.root.name}.py", "def refresh_token(): ...\n")
        work.commit()
    service = service_of(tmp_path)
    service.projects.usual = None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(projects, "MOST_OPEN", 2)
        async with asking(service) as client:
            assert code_of(await client.post(PLAN, json={"task": TASK})) == (400, "invalid_request")
            for work in works:
                asked = {"task": TASK, "project_root": str(work.root)}
                found = (await client.post(PLAN, json=asked)).json()
                assert found["context"]["files"] == [f"{work.root.name}.py"]
                assert found["cache_status"] == "miss"
            assert (await client.get("/v1/health")).json()["projects"] == 2
            (works[2].root / ".workbench/config.toml").write_text("[plan]\nbudget = 77\n")
            again = (await client.post(PLAN, json=asked)).json()
            assert again["budget_report"]["token_budget"] == 77


async def test_metrics_have_the_names_of_the_specification(shop: Work) -> None:
    """Figures of plans and sessions by project, and of the server itself."""
    async with asking(service_of(shop.root)) as client:
        for number, task in enumerate((TASK, "read keys")):
            await client.post(PLAN, json={"task": task, "session_id": f"s-{number}"})
        await client.post("/v1/episode/end", json={"session_id": "s-0", "outcome": "success"})
        await client.get("/v1/nothing")
        text = (await client.get("/v1/metrics")).text
    rows = dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
    label = f'{{project="{shop.root}"}}'
    assert rows['workbench_http_requests_total{path="/v1/plan-context",status="200"}'] == "2"
    assert rows['workbench_http_requests_total{path="other",status="404"}'] == "1"
    assert rows[f"workbench_plans{label}"] == "3"  # and the one that made the index
    assert float(rows[f"plan_context_p50_ms{label}"]) <= float(rows[f"plan_context_p95_ms{label}"])
    assert float(rows[f"context_tokens_median{label}"]) > 0
    assert rows[f"fallback_rate_ml_unavailable{label}"] in ("0", "1")
    assert rows[f"causal_trace_completeness{label}"] == "0"
    assert f"first_pass_success_rate{label}" not in rows  # nothing was replayed
    assert int(rows["process_open_fds"]) > 0


def test_the_token_is_its_owners_alone(home: Path) -> None:
    """It is made once, for nobody else to read; a file that others can read is not used."""
    token, path = read_token(home)
    assert len(token) >= 32
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert read_token(home) == (token, path)
    path.chmod(0o644)
    with pytest.raises(StoreError, match="others may read"):
        read_token(home)
    path.unlink()
    path.symlink_to("/etc/hostname")
    with pytest.raises(StoreError, match=r"others may read|no token|cannot be read"):
        read_token(home)


def test_an_address_that_is_taken_is_refused(tmp_path: Path) -> None:
    """Another server's socket, a file of somebody's, a path that is too long, a port in use."""
    served = ServedProjects([tmp_path], tmp_path)
    path = tmp_path / "run" / "s.sock"
    path.parent.mkdir()
    with socket.socket(socket.AF_UNIX) as other, socket.socket() as port:
        other.bind(str(path))
        other.listen()
        with pytest.raises(UsageError, match=r"listens at .* already"):
            serve(served, ListeningPlace(socket=path), print)
        port.bind(("127.0.0.1", 0))
        port.listen()
        with pytest.raises(UsageError, match="taken by another program"):
            serve(served, ListeningPlace(host="127.0.0.1", port=port.getsockname()[1], token="t"), print)
    (tmp_path / "file").write_text("mine")
    with pytest.raises(UsageError, match="no socket"):
        serve(served, ListeningPlace(socket=tmp_path / "file"), print)
    assert (tmp_path / "file").read_text() == "mine"
    with pytest.raises(UsageError, match="too long"):
        serve(served, ListeningPlace(socket=tmp_path / ("x" * 100)), print)


def test_a_server_that_was_killed_leaves_nothing_in_the_way(shop: Work) -> None:
    """Its socket is its owner's alone; after a kill the next server takes the place, and ends with Ctrl-C."""
    command = [sys.executable, "-P", "-m", "workbench", "--project", str(shop.root), "serve"]
    path = serve_socket(shop.root)
    transport = httpx.HTTPTransport(uds=str(path))
    with running(command) as killed:
        assert killed.stdout is not None
        assert killed.stdout.readline().strip() == str(path)
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        with httpx.Client(transport=transport, base_url="http://localhost", timeout=LONG) as client:
            prompt = {"session_id": "s-9", "cwd": str(shop.root), "prompt": TASK}
            data = json.dumps(prompt).encode()
            call = read_call(data, "UserPromptSubmit", "claude")
            answered = ask_server(data, call)
            assert b"shop/auth.py" in (answered or b"")
            assert client.post("/v1/hooks/Stop?agent=nobody", json=prompt).status_code == 400
            recorded = client.post("/v1/episode/start", json={"task": TASK, "session_id": "s-1"})
            assert recorded.json() == {"session_id": "s-1"}
            client.get("/v1/status")  # waits for its turn, behind what the hook records
            prompted = client.get("/v1/sessions/s-9%2F1").json()["episode"]
            assert (prompted["task_text"], prompted["source"]) == (TASK, "hook")
        killed.kill()
        killed.wait()
    assert path.is_socket()
    assert ask_server(data, call) is None
    with running(command) as next_one:
        assert next_one.stdout is not None
        assert next_one.stdout.readline().strip() == str(path)
        transport = httpx.HTTPTransport(uds=str(path))
        with httpx.Client(transport=transport, base_url="http://localhost", timeout=LONG) as client:
            assert client.get("/v1/sessions/s-1").json()["episode"]["task_text"] == TASK
            next_one.send_signal(signal.SIGINT)
            _, errors = next_one.communicate(timeout=LONG)
    assert (next_one.returncode, errors.strip().splitlines()[-1]) == (0, "stopped serving")
    assert not path.exists()
