"""Which rules are known to say the same, for plans.

A plan searches for nothing. It reads which pairs were known when the conflicts were last listed, in a small
file that is there for it alone, and takes those whose rules are as they were.
"""

from __future__ import annotations

import hashlib
from collections.abc import Container, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from workbench.records.conversion import decode_json
from workbench.records.rules import Rule
from workbench.rules.curation.lineage import text_digest

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
    told = (
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
    rest = hashlib.blake2b(repr(told).encode("utf-8", "surrogatepass"), digest_size=10).hexdigest()
    return text_digest(rule.rule), rest
