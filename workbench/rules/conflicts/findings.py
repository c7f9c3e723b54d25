"""What was found among the rules, kept with a stamp of each: all for the queue, duplicates for plans."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec

from workbench.records.conflicts import Action, Conflict, ConflictKind
from workbench.records.conversion import convert
from workbench.records.rules import Authority, Rule
from workbench.rules.conflicts.duplicates import DUPLICATES, Duplicate, Stamp
from workbench.rules.curation.rulestore import CONFLICTS, RuleStore

METHOD: Final = 3
"""Raised when the same rules give other conflicts than before, or something else is kept of them."""

_FILE: Final = "conflicts.json"


@dataclass(frozen=True, slots=True)
class Findings:
    """All conflicts that were found, and the stamps of the rules they were found among, by id.

    `model` is the one that compared the rules by meaning, '' where words alone did.
    """

    model: str
    stamps: Mapping[str, Stamp]
    conflicts: tuple[Conflict, ...]


def read_findings(store: RuleStore, model: str) -> Findings | None:
    """Return what was found with a model, None if it is to be found again."""
    directory = store.latest(CONFLICTS)
    if directory is None:
        return None
    try:
        document = json.loads((directory / _FILE).read_bytes())
        if (document["method"], document["model"]) != (METHOD, model):
            return None
        stamps = convert(document["stamps"], dict[str, Stamp])
        return Findings(model, stamps, convert(document["conflicts"], tuple[Conflict, ...]))
    except (OSError, ValueError, KeyError, TypeError, msgspec.MsgspecError):
        return None  # damaged: found anew


def write_findings(store: RuleStore, findings: Findings, rules: Iterable[Rule]) -> None:
    """Keep what was found among rules for the next run. Raises: StoreError."""
    document: dict[str, Any] = {
        "method": METHOD,
        "model": findings.model,
        "stamps": findings.stamps,
        "conflicts": [msgspec.to_builtins(conflict) for conflict in findings.conflicts],
    }
    found = _duplicates(findings, {rule.id: rule for rule in rules})
    files = {_FILE: document, DUPLICATES: [msgspec.to_builtins(one) for one in found]}
    payloads = {name: json.dumps(content).encode("ascii") for name, content in files.items()}
    store.publish(CONFLICTS, lambda directory: _write(directory, payloads))


def _duplicates(findings: Findings, rules: Mapping[str, Rule]) -> list[Duplicate]:
    found = []
    for conflict in findings.conflicts:
        keep = _kept_of(conflict, rules)
        if keep:
            drop = conflict.right if keep == conflict.left else conflict.left
            stamps = findings.stamps[keep], findings.stamps[drop]
            found.append(Duplicate(conflict.id, keep, drop, *stamps, meaning=bool(findings.model)))
    return found


def _kept_of(conflict: Conflict, rules: Mapping[str, Rule]) -> str:
    """Return the rule of a conflict to which the other one adds nothing, '' where neither can be missed.

    Where one says more, the suggestion has weighed which one that is; otherwise either would do.
    """
    suggestion = conflict.suggestion
    if conflict.kind is ConflictKind.CONTRADICTORY or suggestion.action is Action.KEEP_BOTH:
        return ""
    if conflict.kind is ConflictKind.SUBSUMED:
        return suggestion.keep
    return min(
        (rules[conflict.left], rules[conflict.right]),
        key=lambda rule: (
            rule.authority is not Authority.ABSOLUTE,
            -rule.priority,
            rule.id != suggestion.keep,
            rule.id,
        ),
    ).id


def _write(directory: Path, payloads: Mapping[str, bytes]) -> None:
    for name, payload in payloads.items():
        (directory / name).write_bytes(payload)
