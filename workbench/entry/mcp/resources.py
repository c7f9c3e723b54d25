"""What an agent may read by an address: the rules that hold for a file, and what a session did."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any, Final
from urllib.parse import unquote

from workbench.entry.mcp.project import ServedProject
from workbench.errors import UsageError

JSON: Final = "application/json"
RULES: Final = "workbench://rules/"
SESSIONS: Final = "workbench://sessions/"

TEMPLATES: Final[tuple[Mapping[str, Any], ...]] = (
    {
        "name": "rules",
        "uriTemplate": f"{RULES}{{+path}}",
        "description": "The rules that hold for a file.",
        "mimeType": JSON,
    },
    {
        "name": "session",
        "uriTemplate": f"{SESSIONS}{{+id}}",
        "description": "What a session was for, was given, read and edited, and how it ended.",
        "mimeType": JSON,
    },
)
"""As `resources/templates/list` has them; there is no list of every address."""


def read_resource(served: ServedProject, address: str, agent: str) -> str:
    """Return the JSON at an address. Raises: UsageError for an unknown one; WorkbenchError."""
    for beginning, read in _READERS.items():
        name = unquote(address.removeprefix(beginning))
        if address.startswith(beginning) and name:
            return json.dumps(read(served, name, agent), ensure_ascii=False, indent=2, default=str)
    known = " and ".join(str(one["uriTemplate"]) for one in TEMPLATES)
    raise UsageError(f"there is nothing at {address[:200]!r}", hint=f"There are {known}.")


def _rules(served: ServedProject, path: str, agent: str) -> object:
    from workbench.entry.services.rule_checks import current_rules, origin_of
    from workbench.rules.matching.context import left_out, make_context

    with served.host().turn() as project:
        rules, notes = current_rules(project.root, project.config)
        context = make_context(paths=[path], tool=agent or project.config.rules.tool)
    found = [
        {"id": one.id, "rule": one.rule, "origin": origin_of(one), "authority": str(one.authority)}
        for one in rules
        if one.enabled and not left_out(one, context)
    ]
    return {"path": path, "rules": found, "notes": notes}


def _session(served: ServedProject, identifier: str, agent: str) -> object:
    from workbench.entry.services.episodes import recording_of

    return asdict(recording_of(served.host()).trace(identifier))


_READERS: Final[Mapping[str, Callable[[ServedProject, str, str], object]]] = {
    RULES: _rules,
    SESSIONS: _session,
}
