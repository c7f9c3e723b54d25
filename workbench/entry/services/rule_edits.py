"""Rules added and edited by what people give of them: options, lines of JSON, arguments of Python."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from workbench.entry.services.opening import ProjectHost, report
from workbench.entry.services.rules import curate_rules
from workbench.errors import UsageError
from workbench.records.rules import PATH_SCOPE, Rule
from workbench.rules.curation.curator import standing_in
from workbench.rules.curation.rulestore import RuleStore
from workbench.rules.fields import Line, check_fields, file_of, new_rule
from workbench.rules.formats.families import FAMILIES, family_of
from workbench.rules.globs import escape
from workbench.text.sanitize import visible_line


def add_rule(
    host: ProjectHost, fields: Mapping[str, Any], *, home: bool = False, file: str = "", reason: str = ""
) -> Rule:
    """Add a rule of fields as people give them; what is odd about them without being wrong is reported.

    `home` makes it the person's own, in all projects; `file` is the rule file it is to be written into.
    Raises: UsageError, with what was probably meant; StoreError.
    """
    from workbench.entry.services.rule_patterns import with_proposals

    found = _check_fields(host, fields)
    asked, note = with_proposals(
        host.project.config, new_rule(found, None)
    )  # nobody waits for a model's turn
    with curate_rules(host, "rules-edit") as curator:
        new = whole_rule(curator.store, Line("", found, home, file))
        rule = curator.add(replace(new, metadata={**new.metadata, **asked.metadata}), reason=reason)
    _report_unenforced(rule)
    if note:
        report(note)
    return rule


def edit_rule(
    host: ProjectHost,
    identifier: str,
    fields: Mapping[str, Any],
    *,
    reason: str = "",
    seen: Rule | None = None,
) -> Rule:
    """Change fields of a rule, as people give them; new words make a new version with an id of its own.

    `seen` is the rule as it was when that was decided. Raises: as `add_rule`; RecordChanged.
    """
    with curate_rules(host, "rules-edit") as curator:
        rule = curator.edit(identifier, reason=reason, seen=seen, **_check_fields(host, fields))
    if not {"rule", "authority", "check"}.isdisjoint(fields):
        _report_unenforced(rule)
    return rule


def _report_unenforced(rule: Rule) -> None:
    from workbench.rules.enforcement.suggestions import unenforced_sentence

    sentence = unenforced_sentence([rule])
    if sentence:
        report(sentence)


def _check_fields(host: ProjectHost, fields: Mapping[str, Any]) -> dict[str, Any]:
    found, notes = check_fields(fields, host.project.config.rules.tags)
    for note in notes:
        report(note)
    return found


def whole_rule(store: RuleStore, line: Line) -> Rule:
    """Return the rule of a line with its home and its file. Raises UsageError, naming the line."""
    rule = new_rule(line.fields, None if line.home else store.project_id)
    if not line.file:
        return rule
    try:
        return _place_rule(store, rule, line.file)
    except UsageError as error:
        place = f"{line.place}: " if line.place else ""
        raise UsageError(f"{place}{error.message}", hint=error.hint) from error


def _place_rule(store: RuleStore, rule: Rule, given: str) -> Rule:
    own = rule.project_id is None
    file = file_of(given, store.root, store.home, own=own)
    family = family_of(file.removeprefix("~/"))
    known = store.ledger().files.get(file)
    if family is None and known is None:
        names = ", ".join(found.name for found in FAMILIES)
        raise UsageError(
            f"{visible_line(file)} is not a rule file of a known format ({names})",
            hint=f"If it is one, import it first: workbench rules import {visible_line(given)}",
        )
    form = known.format if known is not None else family[0].name if family is not None else "plain"
    directory = "" if own or family is None else family[1]
    scope = rule.scope or ((f"{PATH_SCOPE}/{escape(directory)}/",) if directory else ())
    return replace(rule, scope=scope, provenance=standing_in(file, form, home=own))
