"""Requests drawn from the published document: no defect, no answer that is not described (`make fuzz`)."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest
import uvicorn
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.strategies import one_of

from tests.conftest import Work
from tests.deep import searches, times
from tests.entry.http.conftest import TOKEN, service_of

EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", times(1, 2)))
"""Requests for each operation."""

OPTIONS = settings(
    max_examples=EXAMPLES,
    derandomize=EXAMPLES < 10,
    database=None,
    phases=[Phase.generate],
    deadline=None,
    suppress_health_check=[*HealthCheck],
)
HEADERS = {"Authorization": f"Bearer {TOKEN}"}


@pytest.fixture
def described(shop: Work) -> Iterator[Any]:
    """The document of a server that listens at a port meanwhile."""
    schemathesis = pytest.importorskip(
        "schemathesis", reason="the package schemathesis is not installed here"
    )
    service = service_of(shop.root, host="127.0.0.1", token=TOKEN)
    with socket.socket() as port:
        port.bind(("127.0.0.1", 0))
        server = uvicorn.Server(uvicorn.Config(service.guard, log_config=None, lifespan="on"))
        serving = threading.Thread(target=server.run, kwargs={"sockets": [port]})
        port.listen()
        serving.start()
        try:
            base = f"http://127.0.0.1:{port.getsockname()[1]}"
            found = schemathesis.openapi.from_url(f"{base}/v1/openapi.json", headers=HEADERS)
            found.config.update(base_url=base)
            yield found
        finally:
            server.should_exit = True
            serving.join()
            service.projects.close()


@searches
def test_what_is_sent_is_answered_as_described(described: Any) -> None:
    """Whatever fits the document, or just does not, gets a described status, form and content type."""
    from schemathesis import GenerationMode
    from schemathesis.specs.openapi.checks import positive_data_acceptance

    checked = set()
    for result in described.get_all_operations():
        operation = result.ok()
        if operation.path == "/v1/model/train":  # it starts a process where there are tasks enough
            continue
        both = [operation.as_strategy(generation_mode=mode) for mode in GenerationMode]

        @settings(OPTIONS)
        @given(one_of(both))
        def ask(case: Any) -> None:
            case.call_and_validate(headers=HEADERS, excluded_checks=[positive_data_acceptance])

        ask()
        checked.add(operation.label)
    assert len(checked) > 40
