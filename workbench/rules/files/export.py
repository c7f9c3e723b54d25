"""Rules written to the files of another agent: what is exported where, and what those files say afterwards.

Rules in a file of the target stay there and are edited in place. Rules from elsewhere go into the
parts and files that the workbench keeps: one part at the end of a single file, or one file for each way that
rules apply. Pure: callers read the files and write what comes back. A second export changes nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from workbench.errors import UsageError
from workbench.records.rules import Authority, Rule
from workbench.rules.files.edits import try_edits
from workbench.rules.files.head_edits import rescope_file
from workbench.rules.files.managed_part import Anchor, write_managed_part
from workbench.rules.files.placement import TARGETS, ManagedContent, Target, limits_of, place, target_name
from workbench.rules.files.unit_edits import Delete, Edit, Parsed, Replace, as_written, parse
from workbench.rules.formats.families import IMPORTING, family_of
from workbench.rules.formats.managed import managed_lines
from workbench.rules.formats.markdown import Kind
from workbench.rules.reading.construction import PROSE, rule_text
from workbench.rules.reading.discovery import RuleSource
from workbench.rules.reading.imports import imported_paths


@dataclass(frozen=True, slots=True)
class ExportedFile:
    """A file of the target. `data` is None for a file that is to be removed, `before` for a new one.

    `anchors` (rule id, first line, last line) say where each rule is in it now, in order of lines.
    `notes` are sentences for people: what could not be written as it is, and why.
    """

    path: str
    before: bytes | None
    data: bytes | None
    anchors: tuple[Anchor, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def changed(self) -> bool:
        """Whether there is something to write."""
        return self.data != self.before


def export_files(
    rules: Sequence[Rule],
    target: str,
    existing: Mapping[str, bytes],
    *,
    anchors: Mapping[str, Sequence[Anchor]] | None = None,
    removed: Collection[str] = (),
    directories: Collection[str] | None = None,
    include_home: bool = False,
) -> tuple[ExportedFile, ...]:
    """Return the files of a target with these rules in them, in order of their paths.

    `existing` are files by project-relative path, of which the target's are looked at; `anchors` say which
    rules stand in them, copies that an earlier export made included (rules imported from a file are found in
    it by their words, too); `removed` are ids whose lines are to go.
    Without `directories` (the project's) any directory may get a nested file. Rules of the user's home stay
    out unless asked for, and so do disabled rules and those for other tools; none of them leaves a place that
    people gave it. Rules of a file that the target's file pulls in (`@AGENTS.md`) are there already.
    Raises: UsageError for an unknown target; ParseError with path and line where a file can't be added to.
    """
    kind = TARGETS.get(target_name(target))
    if kind is None:
        raise UsageError(f"nothing exports to {target!r}", hint=f"Use one of: {', '.join(sorted(TARGETS))}.")
    known = {rule.id: rule for rule in rules}
    by_file = _by_file(known.values())
    drafts = {
        path: _in_place(
            path, data, (anchors or {}).get(path, ()), by_file.get(path, ()), known, frozenset(removed)
        )
        for path, data in sorted(existing.items())
        if is_of(path, kind)
    }
    there = {identifier for draft in drafts.values() for identifier, _, _ in draft.own}
    read = {other for path, draft in drafts.items() for other in _pulled_in(path, draft.data)}
    there.update(rule.id for path in read - drafts.keys() for rule in by_file.get(path, ()))
    said = {_statement(known[identifier]) for identifier in there}
    going = _each_once(
        rule
        for rule in known.values()
        if rule.id not in there
        and _statement(rule) not in said
        and _exportable(rule, kind, drafts, include_home=include_home)
    )
    wanted = place(going, kind, {path: draft.data for path, draft in drafts.items()}, directories)
    return tuple(
        _finish(path, drafts.get(path), wanted.get(path, ManagedContent()))
        for path in sorted({*drafts, *wanted})
    )


@dataclass(frozen=True, slots=True)
class _Draft:
    """A file whose own rules are brought up to date. `copies` are texts in it that an export wrote."""

    before: bytes
    data: bytes
    own: tuple[Anchor, ...]
    copies: frozenset[str]
    notes: tuple[str, ...]


def is_of(path: str, kind: Target) -> bool:
    """Whether a file is one of a target's, by its path."""
    found = family_of(path)
    return found is not None and found[0].name in kind.families


def _pulled_in(path: str, data: bytes) -> tuple[str, ...]:
    """Return the files that the agent reads because this one names them: their rules need no second place."""
    found = family_of(path)
    if found is None or found[0].name not in IMPORTING or b"@" not in data:
        return ()
    return imported_paths(RuleSource(path, found[0].name, path, found[1]), parse(data).units)


def _by_file(rules: Iterable[Rule]) -> dict[str, list[Rule]]:
    """Return rules by the files they were imported from, under all names of those."""
    found: dict[str, list[Rule]] = {}
    for rule in rules:
        if rule.provenance is not None:
            for name in dict.fromkeys((rule.provenance.file, *rule.provenance.names)):
                found.setdefault(name, []).append(rule)
    return found


def _in_place(
    path: str,
    data: bytes,
    anchors: Sequence[Anchor],
    here: Sequence[Rule],
    known: Mapping[str, Rule],
    removed: frozenset[str],
) -> _Draft:
    """Edit the rules in a file outside of the managed part."""
    parsed = parse(data)
    part = managed_lines(parsed.lines) or range(0)
    anchors = [*anchors, *_find_unanchored(parsed, {anchor[0] for anchor in anchors}, here)]
    own = [anchor for anchor in anchors if anchor[1] - 1 not in part]
    stay = [anchor for anchor in own if anchor[0] in known]
    edits = list(_edits(parsed, own, known, removed))
    result = try_edits(data, [edit for _, edit in edits])
    refused = [
        f"{path}:{one.line}: rule {edits[one.at][0]} stays as it is: {one.reason}" for one in result.refused
    ]
    lines = [
        (identifier, *result.lines.get((line, end_line), (line, end_line)))
        for identifier, line, end_line in stay
    ]
    after, moved, notes = rescope_file(path, result.data, [known[identifier] for identifier, _, _ in lines])
    texts = {(unit.line, unit.end_line): unit.text for unit in parsed.units if unit.stated is not None}
    copies = frozenset(texts[line, end] for _, line, end in anchors if (line, end) in texts)
    return _Draft(
        data,
        after,
        tuple((identifier, line + moved, end + moved) for identifier, line, end in lines),
        copies,
        (*refused, *(f"{path}: {note}" for note in result.notes), *notes),
    )


def _find_unanchored(parsed: Parsed, anchored: Collection[str], here: Iterable[Rule]) -> Iterable[Anchor]:
    """Yield where rules are that were imported from this file, or from one like it, and have no anchor."""
    missing = [rule for rule in here if rule.id not in anchored]
    if not missing:
        return
    places: dict[str, list[tuple[int, int]]] = {}
    for unit in parsed.units:
        if unit.kind in PROSE or unit.kind is Kind.TABLE_ROW:
            places.setdefault(_normal(rule_text(unit)), []).append((unit.line, unit.end_line))
    for rule in missing:
        lines = places.get(_normal(as_written(rule.rule)), [])
        where = rule.provenance
        if lines and where is not None:
            place = (where.line, where.end_line)
            yield (rule.id, *(place if place in lines else lines[0]))


def _edits(
    parsed: Parsed, own: Iterable[Anchor], known: Mapping[str, Rule], removed: frozenset[str]
) -> Iterable[tuple[str, Edit]]:
    """Yield (rule id, edit) for the rules that read differently now, or are to go."""
    seen: set[tuple[int, int]] = set()
    for identifier, line, end_line in own:
        at = parsed.by_lines.get((line, end_line))
        if (line, end_line) in seen:
            continue  # two rules with the same words are in one place
        seen.add((line, end_line))
        if identifier in known:
            text = known[identifier].rule
            if at is None or _normal(rule_text(parsed.units[at])) != _normal(as_written(text)):
                yield identifier, Replace(line, end_line, text)
        elif identifier in removed and at is not None:
            yield identifier, Delete(line, end_line)


def _exportable(rule: Rule, kind: Target, files: Collection[str], *, include_home: bool) -> bool:
    """Whether a rule that has no place of its own in the target's files gets one."""
    where = rule.provenance
    if not as_written(rule.rule) or (where is not None and where.home and not include_home):
        return False
    if not rule.enabled and (where is None or where.file not in files):
        return False
    tools = {tool.casefold().replace("_", "-") for tool in rule.tool_targets}
    return not tools or not tools.isdisjoint(kind.tools)


def _statement(rule: Rule) -> tuple[str, tuple[str, ...]]:
    return _normal(rule.rule), tuple(sorted(rule.scope))


def _each_once(rules: Iterable[Rule]) -> list[Rule]:
    """Return rules of which no two say the same in the same places: the most binding one of each."""
    found: dict[tuple[str, tuple[str, ...]], Rule] = {}
    order = sorted(
        rules,
        key=lambda one: (one.authority is not Authority.ABSOLUTE, len(limits_of(one)), -one.priority, one.id),
    )
    for rule in order:
        found.setdefault(_statement(rule), rule)
    return list(found.values())


def _normal(text: str) -> str:
    return " ".join(text.split())


def _finish(path: str, draft: _Draft | None, wanted: ManagedContent) -> ExportedFile:
    """Write the managed part of a file and say where everything is."""
    if draft is None:
        part = write_managed_part(path, None, wanted, ())
        return ExportedFile(path, None, part.data, part.anchors, part.notes)
    part = write_managed_part(path, draft.data, wanted, draft.copies)
    own = [(identifier, part.line(line), part.line(end)) for identifier, line, end in draft.own]
    anchors = (
        () if part.data is None else sorted([*own, *part.anchors], key=lambda found: (found[1], found[0]))
    )
    return ExportedFile(path, draft.before, part.data, tuple(anchors), (*draft.notes, *part.notes))
