"""Actions as command lines: what a change of rules is called headless, for the log."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

_OPTIONS: Final[Mapping[str, str]] = {
    "rule": "--text",
    "name": "--name",
    "scope": "--scope",
    "category": "--category",
    "authority": "--authority",
    "priority": "--priority",
    "tags": "--tag",
    "tool_targets": "--tool",
    "level": "--level",
    "condition_text": "--condition",
    "conditions": "--when",
    "examples": "--example",
    "cooldown": "--cooldown",
    "check": "--check",
}
_CLEARED: Final[Mapping[str, str]] = {
    "scope": "scope",
    "tags": "tags",
    "tool_targets": "tools",
    "conditions": "when",
    "examples": "examples",
    "condition_text": "condition",
    "check": "check",
}


def edit_command(identifier: str, changes: Mapping[str, Any]) -> list[str]:
    """Return the command that makes changes of one rule."""
    if set(changes) == {"enabled"}:
        return switch_command([identifier], on=bool(changes["enabled"]))
    return ["rules", "edit", identifier, *_options(changes)]


def add_command(fields: Mapping[str, Any], *, home: bool = False) -> list[str]:
    """Return the command that adds a rule of these fields."""
    rest = {name: value for name, value in fields.items() if name != "rule" and value}
    return ["rules", "add", str(fields["rule"]), *_options(rest), *(["--home"] if home else [])]


def switch_command(identifiers: Sequence[str], *, on: bool) -> list[str]:
    """Return the command that switches rules on or off."""
    return ["rules", "enable" if on else "disable", *identifiers]


def _options(changes: Mapping[str, Any]) -> list[str]:
    found: list[str] = []
    for name, value in changes.items():
        if name not in _OPTIONS:
            continue
        if not value and name in _CLEARED:
            found += ["--clear", _CLEARED[name]]
        else:
            for text in _texts(name, value):
                found += [_OPTIONS[name], text]
    return found


def _texts(name: str, value: Any) -> list[str]:
    if name == "conditions":
        return condition_lines(value)
    if name == "check":
        told = msgspec.to_builtins(value)
        return [json.dumps({key: item for key, item in told.items() if item}, ensure_ascii=False)]
    return list(value) if isinstance(value, (tuple, list)) else [str(value)]


def condition_lines(conditions: Mapping[str, Any]) -> list[str]:
    """Return conditions as `NAME=VALUE`, a line for each value."""
    found = []
    for name, wanted in conditions.items():
        items = wanted if isinstance(wanted, (list, tuple)) else [wanted]
        found += [f"{name}={item}" for item in items]
    return found
