"""The command lines that do what the screen did, for its log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from screens.learnings.form_fields import MINE, OWNER
from workbench.records.rules import PATH_SCOPE, Authority

SHORT: Final = 17  # characters that tell learnings apart
_EDIT: Final = {
    "text": "--text",
    "reason": "--why",
    "feature": "--feature",
    "kind": "--kind",
}


def decide_command(verb: str, identifiers: Sequence[str]) -> list[str]:
    """Return the command that accepts, rejects, retires or restores learnings."""
    return ["memory", verb, *(one[:SHORT] for one in identifiers)]


def edit_command(identifier: str, changes: Mapping[str, Any]) -> list[str]:
    """Return the command that edits a learning."""
    words = ["memory", "edit", identifier[:SHORT]]
    for name, value in changes.items():
        if name == "task_id":
            words += ["--whole-feature"] if value is None else ["--task", value]
        elif name == "scope":
            words += [word for glob in value for word in ("--scope", glob)] or ["--everywhere"]
        else:
            words += [_EDIT[name], str(value)]
    return words


def add_command(values: Mapping[str, Any]) -> list[str]:
    """Return the command that adds a learning."""
    words = ["memory", "add", values["text"], "--feature", values["feature"], "--reason", values["reason"]]
    words += ["--task", values["task_id"]] if values["task_id"] else []
    words += ["--kind", str(values["kind"])]
    words += [word for file in values["files"] for word in ("--file", file)]
    return [*words, "--personal"] if values[OWNER] == MINE else words


def promote_command(identifier: str, text: str, fields: Mapping[str, Any]) -> list[str]:
    """Return the command that makes a rule of a learning whose text is `text`."""
    words = ["memory", "promote", identifier[:SHORT]]
    words += ["--text", fields["rule"]] if fields["rule"] != text else []
    words += ["--absolute"] if fields.get("authority") is Authority.ABSOLUTE else []
    words += [word for one in fields["scope"] for word in ("--scope", one.removeprefix(PATH_SCOPE))]
    return [*words, "--reason", fields["reason"]] if fields["reason"] else words


def rule_command(fields: Mapping[str, Any]) -> list[str]:
    """Return the command that adds a rule."""
    words = ["rules", "add", fields["rule"]]
    words += ["--authority", "absolute"] if fields.get("authority") is Authority.ABSOLUTE else []
    words += [word for one in fields["scope"] for word in ("--scope", one)]
    return [*words, "--reason", fields["reason"]]


def prompt_command(feature: str, task: str, budget: int) -> list[str]:
    """Return the command that prints what was learned for a prompt."""
    words = ["memory", "prompt", "--feature", feature, *(("--task", task) if task else ())]
    return [*words, "--budget", str(budget)]
