"""What was found among the rules, kept with a stamp of each: conflicts for the queue, duplicates for plans.

A plan searches for nothing: it reads which pairs were known when the conflicts were last listed, in a small
file that is there for it alone, and takes those whose rules are as they were.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Container, Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from workbench.records.conflicts import Action, Conflict, ConflictKind
from workbench.records.conversion import convert, decode_json
from workbench.records.dataclass import dataclass
from workbench.records.rules import Authority, Rule
from workbench.rules.curation.lineage import text_digest
from workbench.rules.curation.rulestore import CONFLICTS, RuleStore

DUPLICATES: Final = "duplicates.json"

Stamp = tuple[str, str]
"""Digests of a rule's text and of what else decides about its conflicts."""


@dataclass(frozen=True, slots=True)
class Duplicate:
    """A rule, `drop`, that adds nothing to the rule `keep`. `meaning` is set where a model compared them."""

    conflict: str
    keep: str
    drop: str
    keep_stamp: Stamp
    drop_stamp: Stamp
    meaning: bool = False


def known_duplicates(
    directory: Path, rules: Mapping[str, Rule], settled: Container[str]
) -> tuple[Duplicate, ...]:
    """Return which of some rules, by id, are known to add nothing to another of them.

    `directory` has what was found. Pairs with a rule that changed since, and settled ones, are left out.
    """
    try:
        known = decode_json((directory / DUPLICATES).read_bytes(), tuple[Duplicate, ...])
    except (OSError, ValueError, msgspec.MsgspecError):
        return ()  # of another version, or damaged: known again when conflicts are listed
    return tuple(
        one
        for one in known
        if one.keep in rules
        and one.drop in rules
        and one.conflict not in settled
        and one.keep_stamp == stamp_of(rules[one.keep])
        and one.drop_stamp == stamp_of(rules[one.drop])
    )


def stamp_of(rule: Rule) -> Stamp:
    """Return a rule's stamp."""
    where = rule.provenance
    decides = (
        rule.enabled,
        rule.scope,
        rule.project_id,
        rule.tool_targets,
        sorted(rule.conditions),
        rule.priority,
        str(rule.authority),
        rule.condition_text,
        rule.updated_at,
        None if where is None else (where.file, where.section),
    )
    rest = hashlib.blake2b(repr(decides).encode("utf-8", "surrogatepass"), digest_size=10).hexdigest()
    return text_digest(rule.rule), rest


METHOD: Final = 4
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
        return None  # damaged: found again


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
