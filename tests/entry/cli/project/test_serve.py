"""`workbench serve-web` and `workbench --serve-web`: what is refused before anything is served."""

from __future__ import annotations

import socket
from typing import Any

import pytest

from workbench.entry.cli import exits, main


@pytest.mark.parametrize("host", ["0.0.0.0", "192.168.1.5", "desk.example"])
def test_other_machines_are_let_in_only_if_asked(work: Any, run: Any, host: str) -> None:
    """Nothing is encrypted: a host that others reach is refused, with what to do instead."""
    done = run("--serve-web", "--host", host)
    assert (done.code, done.out) == (exits.USAGE, "")
    assert "nothing is encrypted" in done.err
    assert "--allow-remote" in done.err


def test_letting_them_in_is_warned_of(work: Any, run: Any) -> None:
    """Who allows it is told what that means; an address of another machine cannot be listened at."""
    done = run("serve-web", "--host", "192.0.2.1", "--port", "0", "--allow-remote")
    assert (done.code, done.out) == (exits.USAGE, "")
    assert "warning: whoever reads the address of http://192.0.2.1:0/ uses the app as you" in done.err
    assert "cannot be listened at" in done.err


def test_a_port_that_is_taken_is_told(work: Any, run: Any) -> None:
    """The next step is another port."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        done = run("serve-web", "--port", port)
    assert (done.code, done.out) == (exits.USAGE, "")
    assert f"127.0.0.1:{port} is taken by another program" in done.err
    assert "--port 0" in done.err
    assert run("serve-web", "--port", "65536").code == exits.USAGE


def test_the_flag_is_the_command() -> None:
    """`--serve-web` in place of a command is the command, with its options."""
    assert main.as_command(["--project", "p", "--serve-web", "--port", "0"]) == [
        "--project",
        "p",
        "serve-web",
        "--port",
        "0",
    ]
    assert main.as_command(["rank", "--serve-web"]) == ["rank", "--serve-web"]
