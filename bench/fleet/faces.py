"""How an agent reaches its machine: Python in this process, `workbench serve`, or a command for each call.

All of them do the same few things by the services that every face uses. A text is written once in the whole
fleet, so that it can be looked for afterwards.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Mapping
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, Final, Protocol

from workbench.api.project import Project
from workbench.config_layers import load
from workbench.entry.project import open_workspace
from workbench.entry.services.opening import ProjectHost

PATIENCE: Final = 120.0
"""Seconds in which a call has to return."""
SCOPES: Final = (("git",), ("shell",), ("path:src/billing/invoice.py",), ())


class Face(Protocol):
    """What an agent does on its machine. All raise what the face raises."""

    def fetch(self, turn: int) -> None:
        """Fetch the rules that hold in one of some contexts, by turns: the same question by every face."""
        ...

    def add_rule(self, text: str) -> str: ...

    def edit_rule(self, identifier: str, text: str) -> str:
        """Give a rule other words and return the id of the version."""
        ...

    def add_learning(self, text: str) -> None: ...

    def stash(self, text: str) -> None: ...

    def use(self, session: str) -> None:
        """Match rules with a task of a session, which records their use."""
        ...

    def close(self) -> None: ...


def compiled_once(place: Path) -> dict[str, str]:
    """Return an environment whose programs keep compiled modules below a directory, as installed ones do."""
    given = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**given, "PYTHONPYCACHEPREFIX": str(place / "compiled")}


def machine_environment(home: Path) -> dict[str, str]:
    return {**compiled_once(home.parent), "HOME": str(home), "WORKBENCH_HOME": str(home / "state")}


class LibraryFace:
    """A project that is open in this process, as MCP and Python keep it."""

    def __init__(self, root: Path, home: Path) -> None:
        environment = machine_environment(home)
        config = load(project=root, env=environment).config
        self.host = ProjectHost(open_workspace(root, config, environment), "fleet")
        self.project = Project(self.host)

    def fetch(self, turn: int) -> None:
        """Fetch the rules that hold in one of some contexts, by turns."""
        self.project.rules.fetch(tool_targets=("claude",), scope=SCOPES[turn % len(SCOPES)])

    def add_rule(self, text: str) -> str:
        return self.project.rules.add(text).id

    def edit_rule(self, identifier: str, text: str) -> str:
        """Give a rule other words and return the id of the version."""
        return self.project.rules.edit(identifier, text=text).id

    def add_learning(self, text: str) -> None:
        self.project.learnings.add(text, feature="billing", reason="A test failed.")

    def stash(self, text: str) -> None:
        self.project.stash.add(text)

    def use(self, session: str) -> None:
        """Match rules with a task of a session, which records their use."""
        self.project.rules.match("round invoices to cents", session=session)

    def close(self) -> None:
        self.project.close()


class _UnixConnection(HTTPConnection):
    def __init__(self, path: Path) -> None:
        super().__init__("localhost", timeout=PATIENCE)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self._path))


class HttpFace:
    """`workbench serve` in a process of its own, asked over its socket, a connection for each call."""

    def __init__(self, root: Path, home: Path) -> None:
        command = [sys.executable, "-P", "-m", "workbench", "--project", str(root), "serve"]
        self.server = subprocess.Popen(
            command, env=machine_environment(home), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        assert self.server.stdout is not None
        self._socket = Path(self.server.stdout.readline().decode().strip())

    def fetch(self, turn: int) -> None:
        """Fetch the rules that hold in one of some contexts, by turns."""
        asked = {"tool_targets": ["claude"], "scope": SCOPES[turn % len(SCOPES)]}
        self._ask("POST", "/v1/rules/fetch", asked)

    def add_rule(self, text: str) -> str:
        return str(self._ask("POST", "/v1/rules", {"rule": text})["id"])

    def edit_rule(self, identifier: str, text: str) -> str:
        """Give a rule other words and return the id of the version."""
        return str(self._ask("PATCH", f"/v1/rules/{identifier}", {"rule": text})["id"])

    def add_learning(self, text: str) -> None:
        self._ask("POST", "/v1/learnings", {"text": text, "feature": "billing", "reason": "A test failed."})

    def stash(self, text: str) -> None:
        self._ask("POST", "/v1/stash", {"segments": [{"text": text}]})

    def use(self, session: str) -> None:
        """Match rules with a task of a session, which records their use."""
        self._ask("POST", "/v1/rules/match", {"task": "round invoices to cents", "session_id": session})

    def close(self) -> None:
        self.server.terminate()
        self.server.wait(PATIENCE)

    def _ask(self, method: str, address: str, body: Mapping[str, Any] | None = None) -> Any:
        data = None if body is None else json.dumps(body)
        connection = _UnixConnection(self._socket)
        with closing(connection):
            connection.request(method, address, data, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            found = answer.read()
        if answer.status >= 300:
            raise OSError(f"{method} {address}: {answer.status} {found[:300]!r}")
        return json.loads(found)


class CommandFace:
    """A process for every call, as a person or a hook runs commands."""

    def __init__(self, root: Path, home: Path) -> None:
        self._command = [sys.executable, "-P", "-m", "workbench", "--project", str(root)]
        self._environment = machine_environment(home)

    def fetch(self, turn: int) -> None:
        """Fetch the rules that hold in one of some contexts, by turns."""
        scope = [word for one in SCOPES[turn % len(SCOPES)] for word in ("--scope", one)]
        self.run("rules", "list", "--limit", "100", "--tool", "claude", *scope)

    def add_rule(self, text: str) -> str:
        return str(json.loads(self.run("rules", "add", text, "--json"))["rules"][0]["id"])

    def edit_rule(self, identifier: str, text: str) -> str:
        """Give a rule other words and return the id of the version."""
        return str(json.loads(self.run("rules", "edit", identifier, "--text", text, "--json"))["rule"]["id"])

    def add_learning(self, text: str) -> None:
        self.run("memory", "add", text, "--reason", "A test failed.")

    def stash(self, text: str) -> None:
        self.run("stash", "add", text)

    def use(self, session: str) -> None:
        """Match rules with a task of a session, which records their use."""
        self.run("rules", "match", "round invoices to cents", "--session", session)

    def close(self) -> None:
        """Nothing runs between calls."""

    def run(self, *arguments: str) -> str:
        """Run a command and return what it prints. Raises: OSError with what it says if it fails."""
        done = subprocess.run(
            [*self._command, *arguments],
            env=self._environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        if done.returncode:
            raise OSError(f"{arguments[0]} {arguments[1]}: {done.stderr.strip()[-300:]}")
        return done.stdout
