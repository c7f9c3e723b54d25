"""Plans in a process of their own: one that never ends holds up the plans of its project alone."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.conftest import Work
from tests.entry.conftest import TASK
from tests.entry.http.conftest import asking, service_of
from workbench.entry.http import planner, projects
from workbench.entry.http.app import Service

PLAN = "/v1/plan-context"
STUCK = "this is the task that never ends"

PLANT = """
import ctypes, os, sys
from pathlib import Path

if "workbench.entry.http.planning" in sys.orig_argv:  # what is imported first in each process
    from workbench.entry.services import plan

    def planted(original):
        def plan_or_hang(project, measurement, request, **options):
            if request.task == "this is the task that never ends":
                Path(os.environ["REACHED"], str(os.getpid())).touch()
                ctypes.PyDLL(None).sleep(10**9)  # C, which keeps the interpreter's lock for years
            if request.task == "this is the task that crashes":
                os.abort()
            return original(project, measurement, request, **options)
        return plan_or_hang

    plan.plan_for = planted(plan.plan_for)
    plan.preview_for = planted(plan.preview_for)
"""


@pytest.fixture
def reached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[str]]:
    """Plant a plan that never ends into the processes of planners; say which of them have begun it."""
    planted, seen = tmp_path / "planted", tmp_path / "seen"
    for one in (planted, seen):
        one.mkdir()
    (planted / "sitecustomize.py").write_text(PLANT, encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(planted))
    monkeypatch.setenv("REACHED", str(seen))
    return lambda: sorted(one.name for one in seen.iterdir())


async def until(met: Callable[[], Any]) -> None:
    """Wait for something that happens in another process."""
    while not met():
        await asyncio.sleep(0.01)


def ask(client: httpx.AsyncClient, task: str, **more: Any) -> asyncio.Task[httpx.Response]:
    return asyncio.create_task(client.post(PLAN, json={"task": task, **more}))


async def test_a_plan_that_never_ends_holds_up_the_plans_of_its_project_alone(
    make_work: Any, tmp_path: Path, reached: Callable[[], list[str]]
) -> None:
    """Rules, stash, sessions, health and hooks of the same project are answered, and plans of others."""
    works = [make_work(name) for name in ("a", "b")]
    for work in works:
        work.write("shop/auth.py", "def refresh_token(): ...\n")
        work.commit()
    first, second = (str(work.root) for work in works)
    service = service_of(tmp_path)
    async with asking(service) as client:
        assert (await ask(client, TASK, project_root=first)).status_code == 200
        stuck = ask(client, STUCK, project_root=first)
        await until(reached)
        waiting = ask(client, TASK, project_root=first)
        own = {"project_root": first}
        for address in ("/v1/rules", "/v1/stash", "/v1/learnings", "/v1/status", "/v1/sessions"):
            assert (await client.get(address, params=own)).status_code == 200, address
        added = await client.post(
            "/v1/stash", json={**own, "segments": [{"text": "kept", "type": "decision"}]}
        )
        assert added.status_code == 201
        assert (await client.get("/v1/health")).json()["status"] == "ok"
        assert (await ask(client, TASK, project_root=second)).status_code == 200
        prompt = {"session_id": "h77", "cwd": first, "prompt": TASK}
        late = asyncio.create_task(client.post("/v1/hooks/UserPromptSubmit", json=prompt))
        edit = {"tool_name": "Edit", "tool_input": {"file_path": f"{first}/shop/auth.py"}}
        while (await client.get("/v1/sessions/h77", params=own)).status_code != 200:
            await asyncio.sleep(0.01)
        for event, given in (("PostToolUse", edit), ("Stop", {})):
            hook = {"session_id": "h77", "cwd": first, **given}
            assert (await client.post(f"/v1/hooks/{event}", json=hook)).status_code == 200
        trace = (await client.get("/v1/sessions/h77", params=own)).json()
        assert (trace["episode"]["task_text"], len(trace["events"])) == (TASK, 1)
        assert trace["episode"]["ended_at"] is not None
        assert not stuck.done()
        assert not waiting.done()
        service.projects.close_planners()
        failed = await stuck
        assert (failed.status_code, failed.json()["error"]["code"]) == (500, "failed")
        assert (await waiting).status_code == 200
        await late


def leaving(service: Service, task: str) -> tuple[asyncio.Task[None], Callable[[], None]]:
    """Ask for a plan as a client that hangs up; return what becomes of it, and what hangs up."""
    body = json.dumps({"task": task}).encode()
    headers = [(b"host", b"localhost"), (b"content-type", b"application/json")]
    scope: dict[str, Any] = {
        "type": "http",
        "method": "POST",
        "path": PLAN,
        "raw_path": PLAN.encode(),
        "headers": headers,
    }
    scope |= {"query_string": b"", "http_version": "1.1", "scheme": "http", "root_path": "", "client": None}
    hung_up, coming = asyncio.Event(), [{"type": "http.request", "body": body}]

    async def receive() -> Any:
        if coming:
            return coming.pop()
        await hung_up.wait()
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        del message

    async def run() -> None:
        await service.guard({**scope, "server": ("localhost", 80)}, receive, send)

    return asyncio.create_task(run()), hung_up.set


async def test_a_plan_that_nobody_waits_for_ends_with_its_process(
    shop: Work, reached: Callable[[], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What C does not give back is taken; the next plan is made by another process."""
    monkeypatch.setattr(planner, "GRACE", 0.1)
    service = service_of(shop.root)
    async with asking(service) as client:
        asked, hang_up = leaving(service, STUCK)
        await until(reached)
        hang_up()
        assert (await ask(client, TASK)).status_code == 200
        await asked
        assert service.workers.running == 0


async def test_a_planner_that_crashes_is_an_error_of_one_request(
    shop: Work, reached: Callable[[], list[str]]
) -> None:
    """The answer names the signal and what to do; the next plan is made."""
    del reached
    async with asking(service_of(shop.root)) as client:
        failure = (await ask(client, "this is the task that crashes")).json()["error"]
        assert failure["code"] == "failed"
        assert failure["message"] == f"the process that plans for {shop.root} ended by signal 6"
        assert failure["hint"].startswith("Ask again")
        assert (await ask(client, TASK)).status_code == 200


async def test_few_processes_plan_at_a_time(
    make_work: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process that planned longest ago ends for another project's; its project is planned for again."""
    monkeypatch.setattr(projects, "MOST_PLANNERS", 1)
    works = [make_work(name) for name in ("a", "b")]
    service = service_of(tmp_path)
    async with asking(service) as client:
        for work in (*works, works[0]):
            work.write(f"{work.root.name}.py", "def refresh_token(): ...\n")
            work.commit()
            assert (await ask(client, TASK, project_root=str(work.root))).status_code == 200
        running = [project for project in service.projects.opened_projects() if project.planner.is_running]
        await until(lambda: len([one for one in running if one.planner.is_running]) <= 2)
        assert (await client.get("/v1/rules", params={"project_root": str(works[0].root)})).status_code == 200
        await until(lambda: [one.root for one in running if one.planner.is_running] == [works[0].root])


async def test_what_fails_in_a_planner_is_what_failed(shop: Work) -> None:
    """Errors of plans keep their status, code and hint on the way from another process."""
    shop.write("shop/auth.py", "changed = True\n")
    async with asking(service_of(shop.root)) as client:
        stale = await client.post(PLAN, json={"task": TASK, "strict": True})
        assert (stale.status_code, stale.json()["error"]["code"]) == (409, "stale")
        assert stale.json()["error"]["hint"]
