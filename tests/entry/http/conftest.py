"""A server of an indexed repository, asked without a network."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn

pytest.importorskip("fastapi", reason="the package fastapi is not installed here")

from workbench.entry.http.app import Service
from workbench.entry.http.projects import ServedProjects
from workbench.entry.http.serving import server_config
from workbench.entry.web.connections import ConnectionLimits

USUAL = ConnectionLimits()
TOKEN = "t" * 32


@pytest.fixture(scope="session")
def _caches(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("caches")


@pytest.fixture(autouse=True)
def _shared_cache(_caches: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have planners of all tests compile and parse what the program brings once, as a user's do."""
    monkeypatch.setenv("WORKBENCH_CACHE", str(_caches))


def service_of(root: Path, **options: Any) -> Service:
    """Return a server of the projects below a directory."""
    return Service(ServedProjects([root], root), **options)


@asynccontextmanager
async def asking(service: Service, base: str = "http://localhost") -> AsyncIterator[httpx.AsyncClient]:
    """Give a client of a server in this process, and end the server afterwards."""
    transport = httpx.ASGITransport(app=service.guard)
    try:
        async with httpx.AsyncClient(transport=transport, base_url=base) as client:
            yield client
    finally:
        service.workers.end()
        service.projects.close()


@asynccontextmanager
async def listening(root: Path, limits: ConnectionLimits = USUAL) -> AsyncIterator[str]:
    """Give the address of a server in this process that listens at a port, with the token TOKEN."""
    service = service_of(root, host="127.0.0.1", token=TOKEN)
    with socket.socket() as port:
        port.bind(("127.0.0.1", 0))
        server = uvicorn.Server(server_config(service, limits))
        serving = asyncio.create_task(server.serve(sockets=[port]))
        while not server.started:
            await asyncio.sleep(0)
        try:
            yield f"http://127.0.0.1:{port.getsockname()[1]}"
        finally:
            server.should_exit = True
            await serving
            service.projects.close()
